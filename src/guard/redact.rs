//! Keeps secrets out of what we say. A server may print what it was given; before its text becomes part of a diagnostic
//! or an error of ours, every configured value in it and every bearer token is blanked out.

use std::collections::VecDeque;
use std::sync::{PoisonError, RwLock};

use crate::json;
use crate::limits;

const BLANK: &str = "[redacted]";
const BEARER: &str = "bearer";

/// What must not be repeated. It has no `Debug`: its values are the secrets.
#[derive(Default)]
pub(crate) struct Redactor {
    /// Longest first, so that no value is cut short by one that it contains.
    secrets: Vec<String>,
    /// Credentials that came later, the most recent ones.
    learned: RwLock<VecDeque<String>>,
}

impl Redactor {
    /// Short values are left out: they would blank out ordinary words.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets: Vec<String> = values
            .into_iter()
            .flat_map(spellings)
            .filter(|value| value.chars().count() >= limits::REDACTED_VALUE_MIN_CHARS)
            .collect();
        secrets.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self {
            secrets,
            learned: RwLock::default(),
        }
    }

    /// Takes in a credential that was given later.
    pub(crate) fn learn(&self, secret: &str) {
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        if learned.iter().any(|known| known == secret) {
            return;
        }
        if learned.len() == limits::LEARNED_CREDENTIALS {
            learned.pop_front();
        }
        learned.push_back(secret.to_owned());
    }

    /// Whether a text holds one of the values, or of the credentials, that it knows.
    pub(crate) fn is_repeated_in(&self, text: &str) -> bool {
        let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
        let mut known = self.secrets.iter().chain(learned.iter());
        known.any(|secret| !secret.is_empty() && text.contains(secret.as_str()))
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        let blank = |text: String, secret: &str| {
            if text.contains(secret) {
                text.replace(secret, BLANK)
            } else {
                text
            }
        };
        let blanked = self
            .secrets
            .iter()
            .fold(text.to_owned(), |text, secret| blank(text, secret));
        let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
        let blanked = learned
            .iter()
            .filter(|secret| !secret.is_empty())
            .fold(blanked, |text, secret| blank(text, secret));
        blank_bearer_tokens(&blanked)
    }
}

/// The forms in which a server may print a value: as it is, without the space around it, and as JSON.
fn spellings(value: &str) -> [String; 3] {
    let quoted = json::quote(value.trim());
    let escaped = quoted
        .trim_start_matches('"')
        .strip_suffix('"')
        .unwrap_or_default()
        .to_owned();
    [value.to_owned(), value.trim().to_owned(), escaped]
}

/// The scheme is compared without case (RFC 9110, section 11.1), and may be set off by space, `:` or `=`; the token
/// reaches to the next character that no token has (RFC 6750, section 2.1, taken generously).
fn blank_bearer_tokens(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(found) = lower.get(from..).and_then(|rest| rest.find(BEARER)) {
        let after = from + found + BEARER.len();
        let rest = text.get(after..).unwrap_or_default();
        let token = rest.trim_start_matches(is_separator);
        let separators = rest.len() - token.len();
        let length = if separators == 0 {
            0
        } else {
            token.find(|c| !is_token_char(c)).unwrap_or(token.len())
        };
        out.push_str(text.get(from..after + separators).unwrap_or_default());
        if length > 0 {
            out.push_str(BLANK);
        }
        from = after + separators + length;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || c == ':' || c == '='
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
            "a [redacted] b [redacted] short Authorization: BEARER  [redacted] end"
        );
    }

    #[test]
    fn a_value_is_found_in_every_spelling() {
        let redactor = Redactor::new(["line one\nline \"two\"\n"]);
        assert_eq!(redactor.redact("a line one\nline \"two\" b"), "a [redacted] b");
        assert_eq!(
            redactor.redact(r#"{"KEY":"line one\nline \"two\""}"#),
            r#"{"KEY":"[redacted]"}"#
        );
        assert_eq!(
            redactor.redact("bearer\tabc123 Bearer:abc bearer=abc"),
            "bearer\t[redacted] Bearer:[redacted] bearer=[redacted]"
        );
    }

    #[test]
    fn what_is_known_is_found_and_what_only_looks_like_it_is_not() {
        let redactor = Redactor::new(["hunter2-hunter2", "short"]);
        redactor.learn("tok");
        redactor.learn("");
        assert!(redactor.is_repeated_in("a hunter2-hunter2") && redactor.is_repeated_in("a tok"));
        assert!(!redactor.is_repeated_in("short, and Authorization: Bearer <yours>"));
    }

    #[test]
    fn text_without_secrets_stays_as_it_is() {
        for text in ["", "bearer ", "the bearer of news\nü", "bear"] {
            let expected = text.replace("bearer of", "bearer [redacted]");
            assert_eq!(Redactor::new(["x"]).redact(text), expected);
        }
    }
}
