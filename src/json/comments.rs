//! JSON as people write it into files: with comments, commas at the end, a byte order mark.

/// The same text as plain JSON: what JSON does not have is blanked out, so that every place keeps its line and column.
/// What is wrong besides stays wrong.
pub(crate) fn without_comments(text: &str) -> String {
    let mut plain = Vec::with_capacity(text.len());
    // Where the latest comma stands that follows a value, and that nothing but blanks has followed.
    let mut comma = None;
    let mut latest = b'[';
    let mut rest = text.as_bytes();
    if let Some(after) = rest.strip_prefix(b"\xef\xbb\xbf") {
        plain.extend_from_slice(b"   ");
        rest = after;
    }
    while let Some((first, after)) = rest.split_first() {
        let token = match first {
            b'"' => string_end(rest),
            b'/' if after.starts_with(b"/") => line_end(rest),
            b'/' if after.starts_with(b"*") => comment_end(rest),
            _ => 1,
        };
        let (token, after) = rest.split_at_checked(token).unwrap_or((rest, &[]));
        match token {
            [b'/', _, ..] => plain.extend(token.iter().map(|byte| if is_blank(*byte) { *byte } else { b' ' })),
            [byte] if is_blank(*byte) => plain.push(*byte),
            [b','] => {
                comma = (!matches!(latest, b'[' | b'{' | b',' | b':')).then_some(plain.len());
                latest = b',';
                plain.push(b',');
            }
            _ => {
                if matches!(first, b'}' | b']')
                    && let Some(comma) = comma.and_then(|at| plain.get_mut(at))
                {
                    *comma = b' ';
                }
                comma = None;
                latest = *first;
                plain.extend_from_slice(token);
            }
        }
        rest = after;
    }
    String::from_utf8(plain).unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned())
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn string_end(text: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn line_end(text: &[u8]) -> usize {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    end.unwrap_or(text.len())
}

fn comment_end(text: &[u8]) -> usize {
    let inside = text.get(2..).unwrap_or_default();
    let end = inside.windows(2).position(|pair| pair == b"*/");
    end.map_or(text.len(), |at| at + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> serde_json::Result<serde_json::Value> {
        serde_json::from_str(&without_comments(text))
    }

    #[test]
    fn what_json_does_not_have_is_blanked_out() {
        for (text, plain) in [
            ("\u{feff}{}", "   {}"),
            ("{ // one\n}", "{       \n}"),
            ("{ /* a\r\n \"b\" é */ }", "{     \r\n           }"),
            ("[1, 2,]", "[1, 2 ]"),
            ("[1, /* , */ // ,\n]", "[1              \n]"),
            ("{\"a\": [1,], }", "{\"a\": [1 ]  }"),
            (
                "[\"// no\", \"/* no */\", \"\\\"//\", \",]\"]",
                "[\"// no\", \"/* no */\", \"\\\"//\", \",]\"]",
            ),
        ] {
            assert_eq!(without_comments(text), plain, "{text}");
            assert!(parsed(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_stays_wrong() {
        for text in [
            "[,]",
            "[1,,]",
            "{,}",
            "[1 2]",
            "/",
            "[1] /",
            "{\"a\" /* unfinished",
            "\"unfinished // ]",
            "[1]]",
            "#",
        ] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
