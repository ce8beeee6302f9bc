//! The credential of a request (RFC 6750): one `Authorization` header, and nothing from the query.

use http::header::{AUTHORIZATION, HeaderMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credential<'a> {
    /// There is none, or one of another kind.
    None,
    Token(&'a str),
    /// More than one header, or something that can be no token.
    Malformed,
}

impl<'a> Credential<'a> {
    pub(crate) fn of(headers: &'a HeaderMap) -> Self {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (value, None) = (values.next(), values.next()) else {
            return Self::Malformed;
        };
        let Some(value) = value else {
            return Self::None;
        };
        let Ok(value) = value.to_str() else {
            return Self::Malformed;
        };
        let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
        let token = token.trim_matches(' ');
        if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
            return Self::None;
        }
        if is_token(token) {
            Self::Token(token)
        } else {
            Self::Malformed
        }
    }
}

/// `b64token` of RFC 6750, section 2.1.
fn is_token(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    !body.is_empty() && body.bytes().all(is_fit)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(values: &[&str]) -> HeaderMap {
        let values = values
            .iter()
            .map(|value| HeaderValue::from_bytes(value.as_bytes()).unwrap());
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, value);
        }
        headers
    }

    #[test]
    fn one_header_with_one_token() {
        for (values, credential) in [
            (&[][..], Credential::None),
            (&["Bearer abc-._~+/=="], Credential::Token("abc-._~+/==")),
            (&["bEARER  abc "], Credential::Token("abc")),
            (&["Basic abc"], Credential::None),
            (&["Bearer"], Credential::None),
            (&["Bearer  "], Credential::None),
            (&[""], Credential::None),
            (&["Bearerabc"], Credential::None),
            (&["Bearer abc", "Bearer abc"], Credential::Malformed),
            (&["Bearer abc", "Basic abc"], Credential::Malformed),
            (&["Bearer abc, Bearer def"], Credential::Malformed),
            (&["Bearer a b"], Credential::Malformed),
            (&["Bearer ="], Credential::Malformed),
            (&["Bearer a=b"], Credential::Malformed),
            (&["Bearer \"abc\""], Credential::Malformed),
            (&["Bearer \u{e9}"], Credential::Malformed),
        ] {
            assert_eq!(Credential::of(&of(values)), credential, "{values:?}");
        }
    }
}
