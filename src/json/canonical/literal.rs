//! String literals in their escaped form: their UTF-16 code units, their order, and their spelling in canonical text.

use std::char::decode_utf16;
use std::cmp::Ordering;
use std::fmt::Write as _;
use std::ops::Range;
use std::str::Chars;

use memchr::memchr2;

/// Where the body of the literal whose quote is at `start` stands, and whether there is an escape in it.
pub(super) fn body(bytes: &[u8], start: usize) -> Option<(Range<usize>, bool)> {
    let mut at = start + 1;
    let mut has_escape = false;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at)? == &b'"' {
            return Some((start + 1..at, has_escape));
        }
        has_escape = true;
        at += 2;
    }
}

/// The UTF-16 code units that the body of a literal stands for.
pub(crate) fn units(body: &str) -> impl Iterator<Item = u16> + '_ {
    Units {
        chars: body.chars(),
        second: None,
    }
}

/// The order of two keys, by the code units of what their bodies stand for.
pub(super) fn compare(a: &str, b: &str, has_escape: bool) -> Ordering {
    if has_escape {
        return units(a).cmp(units(b));
    }
    // UTF-8 has the order of code points. UTF-16 has it too, but for the characters above the surrogates, which come last.
    let rank = |byte: &u8| u16::from(*byte) + if matches!(byte, 0xee | 0xef) { 0x100 } else { 0 };
    a.bytes()
        .zip(b.bytes())
        .find(|(a, b)| a != b)
        .map_or_else(|| a.len().cmp(&b.len()), |(a, b)| rank(&a).cmp(&rank(&b)))
}

/// Writes the body of a literal as `JSON.stringify` would, in quotes.
pub(crate) fn write_literal(body: &str, out: &mut String) {
    out.push('"');
    write_body(body, body.contains('\\'), out);
    out.push('"');
}

pub(super) fn write_body(body: &str, has_escape: bool, out: &mut String) {
    // Without an escape there is nothing that needs one: control characters are not allowed as they are.
    if !has_escape {
        return out.push_str(body);
    }
    for unit in decode_utf16(units(body)) {
        // Writing to a string cannot fail.
        let _ = match unit {
            Ok('"') => out.write_str("\\\""),
            Ok('\\') => out.write_str("\\\\"),
            Ok('\u{8}') => out.write_str("\\b"),
            Ok('\t') => out.write_str("\\t"),
            Ok('\n') => out.write_str("\\n"),
            Ok('\u{c}') => out.write_str("\\f"),
            Ok('\r') => out.write_str("\\r"),
            Ok(control @ '\0'..='\u{1f}') => write!(out, "\\u{:04x}", u32::from(control)),
            Ok(other) => out.write_char(other),
            Err(lone) => write!(out, "\\u{:04x}", lone.unpaired_surrogate()),
        };
    }
}

struct Units<'a> {
    chars: Chars<'a>,
    second: Option<u16>,
}

impl Iterator for Units<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if let Some(second) = self.second.take() {
            return Some(second);
        }
        let char = match self.chars.next()? {
            '\\' => match self.chars.next()? {
                'u' => {
                    let digits = self.chars.as_str().get(..4)?;
                    self.chars = self.chars.as_str().get(4..)?.chars();
                    return u16::from_str_radix(digits, 16).ok();
                }
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            },
            other => other,
        };
        let mut pair = [0; 2];
        let encoded = char.encode_utf16(&mut pair);
        if let [_, second] = encoded {
            self.second = Some(*second);
        }
        encoded.first().copied()
    }
}
