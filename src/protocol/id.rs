//! What may name a request, or a stream of progress: a string or a whole number, compared by what it means and not by how
//! it is spelt.

use serde_json::value::RawValue;

use super::message::Id;
use crate::json;

impl Id<'_> {
    /// The same text for every spelling of one id, for maps: `1`, `1.0` and `10e-1` are one number, `"1"` is another id.
    pub(crate) fn key(self) -> String {
        if json::is_string(self.text()) {
            return json::respelt(self.text());
        }
        Number::parse(self.text()).map_or_else(|| self.text().to_owned(), Number::key)
    }
}

/// The key of what names a request, or a stream of progress: nothing for what may be neither.
pub(crate) fn key(raw: &RawValue) -> Option<String> {
    is_id(raw.get()).then(|| Id::new(raw).map(Id::key)).flatten()
}

/// A string, or a whole number.
pub(super) fn is_id(text: &str) -> bool {
    json::is_string(text) || Number::parse(text).is_some_and(Number::is_whole)
}

/// A JSON number by its digits, so that long ones stay apart: the digits, without the zeros around them, times a power of
/// ten.
#[derive(Clone, Copy)]
struct Number<'a> {
    is_negative: bool,
    /// Before the point and after it, as they were written.
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> Number<'a> {
    /// Reads a number of a valid JSON text. None where the exponent is beyond all reason, or where it is no number.
    fn parse(text: &'a str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, i64::from(exponent.parse::<i32>().ok()?)),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (is_negative, whole) = match whole.strip_prefix('-') {
            Some(whole) => (true, whole),
            None => (false, whole),
        };
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        (!whole.is_empty() && are_digits(whole) && are_digits(fraction)).then_some(Self {
            is_negative,
            whole,
            fraction,
            exponent,
        })
    }

    /// The power of ten of the last digit that is no zero; none for zero itself.
    fn lowest(self) -> Option<i64> {
        let fraction = self.fraction.trim_end_matches('0');
        if !fraction.is_empty() {
            return Some(self.exponent - length(fraction));
        }
        let whole = self.whole.trim_end_matches('0');
        (!whole.is_empty()).then(|| self.exponent + length(self.whole) - length(whole))
    }

    fn is_whole(self) -> bool {
        self.lowest().is_none_or(|lowest| lowest >= 0)
    }

    fn key(self) -> String {
        let Some(lowest) = self.lowest() else {
            return "0".to_owned();
        };
        let sign = if self.is_negative { "-" } else { "" };
        // An integer as it is usually written is its own key.
        if self.fraction.is_empty() && self.exponent == 0 && lowest < Self::PLAIN_ZEROS {
            return format!("{sign}{}", self.whole);
        }
        let digits = format!("{}{}", self.whole, self.fraction);
        let digits = digits.trim_matches('0');
        match usize::try_from(lowest) {
            Ok(zeros) if lowest < Self::PLAIN_ZEROS => format!("{sign}{digits}{}", "0".repeat(zeros)),
            _ => format!("{sign}{digits}e{lowest}"),
        }
    }

    /// Up to how many zeros at its end a number is written out with: no short text makes a long key.
    const PLAIN_ZEROS: i64 = 32;
}

fn length(digits: &str) -> i64 {
    i64::try_from(digits.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_ids_have_one_key_and_others_have_others() {
        for (same, key) in [
            (&["1", "1.0", "1e0", "10e-1", "0.1e1", "100E-2"][..], "1"),
            (&["-1", "-1.0"], "-1"),
            (&["0", "-0", "0.0", "0e5", "-0e-5"], "0"),
            (&["1200", "12e2", "1.2E+3"], "1200"),
            (&["\"1\"", r#""\u0031""#], "\"1\""),
            (&["\"1.0\""], "\"1.0\""),
            (&["\"a/b\"", r#""a\/b""#, r#""\u0061/\u0062""#], "\"a/b\""),
            (&[r#""\ud800""#, r#""\uD800""#], r#""\ud800""#),
            (&["\"é\"", r#""\u00e9""#], "\"é\""),
            (&["9007199254740993"], "9007199254740993"),
            (&["9007199254740992", "9007199254740992.0"], "9007199254740992"),
            (&["1e400", "10e399"], "1e400"),
            (&["1e40", "10000000000000000000000000000000000000000"], "1e40"),
        ] {
            for id in same {
                assert_eq!(key_of(id), key, "{id}");
            }
        }
        for none in ["null", "1.5", "{}", "[]", "false"] {
            let raw: &RawValue = json::parse(none).unwrap();
            assert_eq!(key(raw), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn whole_numbers_have_equal_keys_exactly_when_they_are_equal(a in -2_000_i64..2_000, b in -2_000_i64..2_000, shift in 0_u32..4) {
            let spelt = format!("{}e-{shift}", a * 10_i64.pow(shift));
            prop_assert_eq!(key_of(&spelt), key_of(&a.to_string()));
            prop_assert_eq!(key_of(&a.to_string()) == key_of(&b.to_string()), a == b);
        }

        #[test]
        fn strings_have_equal_keys_exactly_when_they_are_equal(a in "[ab\"\\\\\u{e9}]{0,2}", b in "[ab\"\\\\\u{e9}]{0,2}") {
            let escaped: Vec<_> = a.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            let escaped = escaped.concat();
            prop_assert_eq!(key_of(&format!("\"{escaped}\"")), key_of(&json::quote(&a)));
            prop_assert_eq!(key_of(&json::quote(&a)) == key_of(&json::quote(&b)), a == b);
        }
    }

    fn key_of(text: &str) -> String {
        key(json::parse(text).unwrap()).unwrap()
    }
}
