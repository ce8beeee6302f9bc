//! What each request of the stateless era says of itself in `params._meta` (protocol, 7.1), and what is wrong with it. A
//! transport with headers looks at `version` first, compares its headers with that, and reads the rest after: `_meta`,
//! headers, version is the order in which they are refused.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::codes::{self, WireError};
use super::id::is_id;
use super::revision::{Era, Revision};
use crate::json::{self, Object};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const PROGRESS_TOKEN: &str = "progressToken";

/// From the least severe to the most (RFC 5424).
const LOG_LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// What a request says of itself, with nothing wrong.
#[derive(Debug)]
pub(crate) struct Envelope<'a> {
    pub(crate) revision: Revision,
    /// An object.
    pub(crate) capabilities: &'a RawValue,
    /// An object. A client that says nothing of use about itself is served as well.
    /// One of the eight names.
    pub(crate) log_level: Option<Cow<'a, str>>,
    /// A string or a whole number.
    pub(crate) progress_token: Option<&'a RawValue>,
}

/// The members of `params._meta`, read once for all that is asked of them.
#[derive(Debug, Default)]
pub(crate) struct Meta<'a>(Object<'a>);

impl<'a> Meta<'a> {
    pub(crate) fn of(params: Option<&'a RawValue>) -> Self {
        let members = params.and_then(|params| Object::parse(params.get())?.object("_meta"));
        Self(members.unwrap_or_default())
    }

    /// Whether a request is one of the stateless era: it names its version itself.
    pub(crate) fn is_stateless(&self) -> bool {
        self.0.get(VERSION).is_some()
    }

    /// The version that a request names, in the client's own spelling.
    ///
    /// # Errors
    /// `-32602`, naming what of `_meta` is missing or of the wrong type.
    pub(crate) fn version(&self) -> Result<Cow<'a, str>, WireError> {
        self.required().map(|(version, _)| version)
    }

    /// Reads all of it. `served` are the revisions that the server speaks, of whatever era.
    ///
    /// # Errors
    /// `-32602`, naming the key, for what is missing or wrong; `-32022` for a version that is not served.
    pub(crate) fn read(&self, served: &[Revision]) -> Result<Envelope<'a>, WireError> {
        let (version, capabilities) = self.required()?;
        let revision = Revision::parse(&version)
            .filter(|revision| revision.era() == Era::Stateless && served.contains(revision))
            .ok_or_else(|| unsupported(served, &version))?;
        // What another version may have more of is looked at after the version.
        let log_level = match self.0.present(LOG_LEVEL) {
            None => None,
            Some(level) => Some(
                json::string(level.get())
                    .filter(|level| LOG_LEVELS.contains(&level.as_ref()))
                    .ok_or_else(|| wrong(LOG_LEVEL, "must be one of the levels of RFC 5424"))?,
            ),
        };
        let progress_token = self.0.present(PROGRESS_TOKEN);
        if progress_token.is_some_and(|token| !is_id(token.get())) {
            return Err(wrong(PROGRESS_TOKEN, "must be a string or an integer"));
        }
        Ok(Envelope {
            revision,
            capabilities,
            log_level,
            progress_token,
        })
    }

    /// The token of a request of either era that wants to hear of progress. One that is neither a string nor a whole number
    /// could not be repeated, and is as good as none.
    pub(crate) fn progress_token(&self) -> Option<&'a RawValue> {
        self.0.get(PROGRESS_TOKEN).filter(|token| is_id(token.get()))
    }

    fn required(&self) -> Result<(Cow<'a, str>, &'a RawValue), WireError> {
        let there = |key| self.0.get(key).ok_or_else(|| wrong(key, "is missing"));
        let version = json::string(there(VERSION)?.get()).ok_or_else(|| wrong(VERSION, "must be a string"))?;
        let capabilities = there(CAPABILITIES)?;
        if !is_object(capabilities) {
            return Err(wrong(CAPABILITIES, "must be an object"));
        }
        Ok((version, capabilities))
    }
}

/// The refusal of a version. `data.supported` lists the revisions of the stateless era alone: a client must not take one
/// of the others for something to put into `_meta`.
pub(crate) fn unsupported(served: &[Revision], requested: &str) -> WireError {
    let supported: Vec<_> = served
        .iter()
        .filter(|revision| revision.era() == Era::Stateless)
        .map(|revision| json::quote(revision.name()))
        .collect();
    WireError::new(codes::UNSUPPORTED_VERSION, "Unsupported protocol version").with_data(format!(
        "{{\"supported\":[{}],\"requested\":{}}}",
        supported.join(","),
        json::quote(requested)
    ))
}

fn wrong(key: &str, what: &str) -> WireError {
    WireError::invalid_params(format!("Invalid params: _meta[\"{key}\"] {what}"))
}

fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVED: &[Revision] = &Revision::ALL;

    #[test]
    fn a_complete_envelope_is_read() {
        let params = params(
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/logLevel":"warning","progressToken":7"#,
        );
        assert!(Meta::of(Some(&params)).is_stateless());
        let envelope = Meta::of(Some(&params)).read(SERVED).unwrap();
        assert_eq!(envelope.revision, Revision::V2026_07_28);
        assert_eq!(envelope.capabilities.get(), r#"{"elicitation":{}}"#);
        assert_eq!(envelope.log_level.as_deref(), Some("warning"));
        assert_eq!(envelope.progress_token.unwrap().get(), "7");
        assert_eq!(Meta::of(Some(&params)).version().unwrap(), "2026-07-28");
    }

    #[test]
    fn version_and_capabilities_are_enough() {
        for more in [
            "",
            r#","io.modelcontextprotocol/clientInfo":7"#,
            r#","progressToken":null"#,
        ] {
            let params = params(&format!("{MINIMAL}{more}"));
            let envelope = Meta::of(Some(&params)).read(SERVED).unwrap();
            assert!(envelope.log_level.is_none() && envelope.progress_token.is_none());
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (meta, key, what) in [
            ("", VERSION, "is missing"),
            (
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#,
                CAPABILITIES,
                "is missing",
            ),
            (
                r#""io.modelcontextprotocol/clientCapabilities":{}"#,
                VERSION,
                "is missing",
            ),
            (
                r#""io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}"#,
                VERSION,
                "must be a string",
            ),
            (
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]"#,
                CAPABILITIES,
                "must be an object",
            ),
            (
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null"#,
                CAPABILITIES,
                "must be an object",
            ),
            (
                &format!("{MINIMAL},\"io.modelcontextprotocol/logLevel\":\"loud\""),
                LOG_LEVEL,
                "must be one of the levels of RFC 5424",
            ),
            (
                &format!("{MINIMAL},\"io.modelcontextprotocol/logLevel\":3"),
                LOG_LEVEL,
                "must be one of the levels of RFC 5424",
            ),
            (
                &format!("{MINIMAL},\"progressToken\":1.5"),
                PROGRESS_TOKEN,
                "must be a string or an integer",
            ),
        ] {
            let error = Meta::of(Some(&params(meta))).read(SERVED).unwrap_err();
            assert_eq!(error.code, codes::INVALID_PARAMS, "{meta}");
            assert_eq!(
                error.message,
                format!("Invalid params: _meta[\"{key}\"] {what}"),
                "{meta}"
            );
        }
        for none in [r#"{"_meta":5}"#, r#"{"_meta":null}"#, "{}"] {
            let params = RawValue::from_string(none.to_owned()).unwrap();
            assert!(!Meta::of(Some(&params)).is_stateless());
            assert_eq!(
                Meta::of(Some(&params)).read(SERVED).unwrap_err().code,
                codes::INVALID_PARAMS
            );
        }
        assert!(!Meta::of(None).is_stateless());
        assert!(Meta::of(None).version().unwrap_err().message.contains(VERSION));
    }

    #[test]
    fn a_version_that_is_not_served_is_told_with_those_that_are() {
        for requested in ["2027-01-01", "2025-11-25", "", "\u{1f} \""] {
            let params = params(&format!(
                "\"io.modelcontextprotocol/protocolVersion\":{},\"io.modelcontextprotocol/clientCapabilities\":{{}},\"io.modelcontextprotocol/logLevel\":\"loud\"",
                json::quote(requested)
            ));
            let error = Meta::of(Some(&params)).read(SERVED).unwrap_err();
            assert_eq!(error.code, codes::UNSUPPORTED_VERSION);
            assert_eq!(
                error.data.unwrap().get(),
                format!(
                    r#"{{"supported":["2026-07-28"],"requested":{}}}"#,
                    json::quote(requested)
                )
            );
        }
        let params = params(MINIMAL);
        let error = Meta::of(Some(&params)).read(&[Revision::V2025_11_25]).unwrap_err();
        assert_eq!(
            error.data.unwrap().get(),
            r#"{"supported":[],"requested":"2026-07-28"}"#
        );
    }

    #[test]
    fn what_is_missing_is_told_before_the_version_is_looked_at() {
        let params = params(r#""io.modelcontextprotocol/protocolVersion":"1999-01-01""#);
        assert_eq!(
            Meta::of(Some(&params)).read(SERVED).unwrap_err().code,
            codes::INVALID_PARAMS
        );
        assert!(Meta::of(Some(&params)).is_stateless());
    }

    #[test]
    fn a_token_of_the_session_era_is_a_string_or_a_whole_number() {
        for (token, taken) in [
            ("1", true),
            ("\"a\"", true),
            ("1.5", false),
            ("{}", false),
            ("null", false),
        ] {
            let params = params(&format!("\"progressToken\":{token}"));
            let found = Meta::of(Some(&params)).progress_token().map(RawValue::get);
            assert_eq!(found, taken.then_some(token));
        }
        assert!(Meta::of(None).progress_token().is_none());
    }

    const MINIMAL: &str =
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

    fn params(meta: &str) -> Box<RawValue> {
        RawValue::from_string(format!("{{\"a\":1,\"_meta\":{{{meta}}}}}")).unwrap()
    }
}
