//! What the headers of a request say of its body, in the stateless era: it has to be the same (protocol, section 5.3.5).

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::json::Object;
use crate::protocol::codes::{self, WireError};
use crate::protocol::wire::param_header::{self, ParamHeader};

/// The headers that repeat what is in the body. One that is doubled, or no text, is there and agrees with nothing.
#[derive(Default)]
pub(crate) struct Claims {
    pub(crate) version: Option<String>,
    pub(crate) method: Option<String>,
    /// As it was sent.
    pub(crate) name: Option<String>,
    /// The headers that begin with `mcp-param-`, in lower case, as they were sent.
    pub(crate) params: Arc<[(String, String)]>,
}

/// What the wire says of a message besides.
#[derive(Clone, Copy, Default)]
pub(crate) struct Around<'a> {
    /// There in the stateless era alone.
    pub(crate) claims: Option<&'a Claims>,
    /// Whose it is, where each message of a session says that by itself: JSON text.
    pub(crate) auth: Option<&'a Arc<str>>,
}

impl Claims {
    /// # Errors
    /// `-32020` for the first header that is missing or differs.
    pub(crate) fn agree(&self, version: &str, method: &str, params: Option<&RawValue>) -> Result<(), WireError> {
        same("MCP-Protocol-Version", self.version.as_deref(), version)?;
        same("Mcp-Method", self.method.as_deref(), method)?;
        let member = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return Ok(()),
        };
        let named = params
            .and_then(|params| Object::parse(params.get()))
            .and_then(|params| params.string(member));
        let Some(named) = named else {
            // The params are wrong, and are refused as such.
            return Ok(());
        };
        let claimed = self.name.as_deref().map(param_header::decode);
        match claimed {
            Some(Some(claimed)) if claimed == named => Ok(()),
            claimed => Err(mismatch("Mcp-Name", claimed.is_some())),
        }
    }
}

/// Holds the headers of a call against the arguments that they repeat.
///
/// # Errors
/// `-32020` for the first header that is missing or differs.
pub(crate) fn agree_on_arguments(
    claimed: &[(String, String)],
    wanted: &[ParamHeader],
    arguments: &str,
) -> Result<(), WireError> {
    for (name, expected) in param_header::mirrored(wanted, arguments) {
        let mut claims = claimed
            .iter()
            .filter(|(claimed, _)| claimed.eq_ignore_ascii_case(&name));
        let agrees = match (claims.next(), claims.next()) {
            (Some((_, value)), None) => {
                let value = param_header::decode(value);
                let expected = param_header::decode(&expected);
                value.is_some() && (value == expected || is_same_number(value.as_deref(), expected.as_deref()))
            }
            _ => false,
        };
        if !agrees {
            return Err(mismatch(
                &name,
                claimed.iter().any(|(claimed, _)| claimed.eq_ignore_ascii_case(&name)),
            ));
        }
    }
    Ok(())
}

/// `42.0` is the integer `42`.
fn is_same_number(one: Option<&str>, other: Option<&str>) -> bool {
    let number = |text: Option<&str>| {
        let text = text?;
        let whole = text.strip_suffix(".0").unwrap_or(text);
        whole.parse::<i64>().ok()
    };
    number(one).is_some_and(|one| number(other) == Some(one))
}

fn same(header: &str, claimed: Option<&str>, actual: &str) -> Result<(), WireError> {
    if claimed == Some(actual) {
        Ok(())
    } else {
        Err(mismatch(header, claimed.is_some()))
    }
}

fn mismatch(header: &str, is_there: bool) -> WireError {
    let what = if is_there {
        "disagrees with the body"
    } else {
        "is missing"
    };
    WireError::new(codes::HEADER_MISMATCH, format!("the header {header} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(name: Option<&str>) -> Claims {
        Claims {
            version: Some("2026-07-28".to_owned()),
            method: Some("tools/call".to_owned()),
            name: name.map(ToOwned::to_owned),
            params: Arc::default(),
        }
    }

    fn agree(claims: &Claims, method: &str, params: &str) -> Result<(), i64> {
        let params = RawValue::from_string(params.to_owned()).unwrap();
        claims
            .agree("2026-07-28", method, Some(&params))
            .map_err(|error| error.code)
    }

    #[test]
    fn headers_have_to_say_what_the_body_says() {
        let params = r#"{"name":"Z\u00fcrich"}"#;
        assert_eq!(
            agree(&claims(Some("=?base64?WsO8cmljaA==?=")), "tools/call", params),
            Ok(())
        );
        for wrong in [None, Some("Bern"), Some("=?base64?!?="), Some("Z\u{fc}rich2")] {
            assert_eq!(
                agree(&claims(wrong), "tools/call", params),
                Err(codes::HEADER_MISMATCH),
                "{wrong:?}"
            );
        }
        assert_eq!(agree(&claims(None), "tools/list", "{}"), Err(codes::HEADER_MISMATCH));
        let other = Claims {
            version: Some("2025-11-25".to_owned()),
            ..claims(None)
        };
        assert_eq!(agree(&other, "tools/call", "{}"), Err(codes::HEADER_MISMATCH));
    }

    #[test]
    fn arguments_are_compared_where_the_schema_asks_for_it() {
        let wanted = param_header::read(
            r#"{"type":"object","properties":{"port":{"type":"string","x-mcp-header":"Port"},"depth":{"type":"integer","x-mcp-header":"Depth"}}}"#,
        )
        .unwrap();
        let claim = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let arguments = r#"{"port":"Brest","depth":42}"#;
        let agree = |claimed: &[(String, String)], arguments: &str| {
            agree_on_arguments(claimed, &wanted, arguments).map_err(|error| error.code)
        };
        let both = [claim("mcp-param-port", "Brest"), claim("mcp-param-depth", "42.0")];
        assert_eq!(agree(&both, arguments), Ok(()));
        assert_eq!(agree(&both, "{}"), Ok(()));
        assert_eq!(
            agree(&[claim("mcp-param-depth", "42")], arguments),
            Err(codes::HEADER_MISMATCH)
        );
        let doubled = [&both[..], &both[..]].concat();
        assert_eq!(agree(&doubled, arguments), Err(codes::HEADER_MISMATCH));
        let other = [claim("mcp-param-port", "Bern"), claim("mcp-param-depth", "42")];
        assert_eq!(agree(&other, arguments), Err(codes::HEADER_MISMATCH));
    }
}
