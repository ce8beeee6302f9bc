//! Keeps secrets out of what we say. A server may print what it was given; before its text becomes part of a diagnostic
//! or an error of ours, every configured value in it and every bearer token is blanked out.

use crate::limits;

const BLANK: &str = "[redacted]";
const BEARER: &str = "bearer ";

/// What must not be repeated. It has no `Debug`: its values are the secrets.
#[derive(Default)]
pub(crate) struct Redactor {
    /// Longest first, so that no value is cut short by one that it contains.
    secrets: Vec<String>,
}

impl Redactor {
    /// Short values are left out: they would blank out ordinary words.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets: Vec<String> = values
            .into_iter()
            .filter(|value| value.chars().count() >= limits::REDACTED_VALUE_MIN_CHARS)
            .map(ToOwned::to_owned)
            .collect();
        secrets.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        let blanked = self.secrets.iter().fold(text.to_owned(), |text, secret| {
            if text.contains(secret.as_str()) {
                text.replace(secret.as_str(), BLANK)
            } else {
                text
            }
        });
        blank_bearer_tokens(&blanked)
    }
}

/// The scheme is compared without case (RFC 9110, section 11.1); the token reaches to the next character that no token
/// has (RFC 6750, section 2.1, taken generously).
fn blank_bearer_tokens(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(found) = lower.get(from..).and_then(|rest| rest.find(BEARER)) {
        let token = from + found + BEARER.len();
        out.push_str(text.get(from..token).unwrap_or_default());
        let rest = text.get(token..).unwrap_or_default();
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        let length = rest
            .trim_start_matches(' ')
            .find(|c: char| !is_token_char(c))
            .unwrap_or(rest.len() - spaces);
        if length > 0 {
            out.push_str(BLANK);
        }
        from = token + spaces + length;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~+/=:%[]".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_values_and_bearer_tokens_are_blanked() {
        let redactor = Redactor::new(["hunter2-hunter2", "hunter2-hunter2-long", "short"]);
        assert_eq!(
            redactor.redact("a hunter2-hunter2-long b hunter2-hunter2 short Authorization: BEARER  abc.DEF-1= end"),
            "a [redacted] b [redacted] short Authorization: BEARER [redacted] end"
        );
    }

    #[test]
    fn text_without_secrets_stays_as_it_is() {
        for text in ["", "bearer ", "the bearer of news\nü", "bear"] {
            let expected = text.replace("bearer of", "bearer [redacted]");
            assert_eq!(Redactor::new(["x"]).redact(text), expected);
        }
    }
}
