//! One walk over a JSON line: finds where the interesting values lie, and copies nothing.
//!
//! The lines come from JSON writers that work, so malformed input only has to end in `None`, not in a good message.

/// The parts of a JSON-RPC message that decide the answer, as slices of the line.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The raw id, `None` for a notification.
    pub id: Option<&'a [u8]>,
    /// The method without its quotes.
    pub method: &'a [u8],
    /// The raw `params` object.
    pub params: Option<&'a [u8]>,
}

pub fn message(line: &[u8]) -> Option<Message<'_>> {
    let mut found = Message::default();
    members(line, |key, value| match key {
        b"id" => found.id = Some(value),
        b"method" => found.method = unquote(value),
        b"params" => found.params = Some(value),
        _ => {}
    })?;
    Some(found)
}

/// The raw value of member `name` of a raw object.
pub fn member<'a>(object: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut found = None;
    members(object, |key, value| {
        if key == name {
            found = Some(value);
        }
    })?;
    found
}

/// A raw string without its quotes; its escapes stay as they are.
pub fn unquote(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] => inner,
        other => other,
    }
}

/// Calls `each` with every key (unquoted) and raw value of the object at the start of `bytes`.
fn members<'a>(bytes: &'a [u8], mut each: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    let mut at = space(bytes, 0);
    if *bytes.get(at)? != b'{' {
        return None;
    }
    at = space(bytes, at + 1);
    if *bytes.get(at)? == b'}' {
        return Some(());
    }
    loop {
        let key_end = string(bytes, at)?;
        let key = &bytes[at + 1..key_end - 1];
        at = space(bytes, key_end);
        if *bytes.get(at)? != b':' {
            return None;
        }
        at = space(bytes, at + 1);
        let end = value(bytes, at)?;
        each(key, &bytes[at..end]);
        at = space(bytes, end);
        match *bytes.get(at)? {
            b',' => at = space(bytes, at + 1),
            b'}' => return Some(()),
            _ => return None,
        }
    }
}

/// The end of the value that starts at `at`.
fn value(bytes: &[u8], mut at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        b'"' => string(bytes, at),
        b'{' | b'[' => {
            let mut depth = 0_usize;
            loop {
                match *bytes.get(at)? {
                    b'"' => {
                        at = string(bytes, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
        }
        _ => {
            let rest = &bytes[at..];
            let length = rest
                .iter()
                .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'))
                .unwrap_or(rest.len());
            Some(at + length)
        }
    }
}

/// The end of the string whose opening quote is at `at`.
fn string(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let mut at = at + 1;
    loop {
        at += position(bytes.get(at..)?, |byte| matches!(byte, b'"' | b'\\'))?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
        .unwrap_or(rest.len())
}

/// The first byte that `hit` accepts. Whole blocks without one are passed over in a form that compiles to vector code.
pub fn position(bytes: &[u8], hit: impl Fn(u8) -> bool) -> Option<usize> {
    const BLOCK: usize = 32;
    let mut blocks = bytes.chunks_exact(BLOCK);
    let clean = blocks
        .position(|block| block.iter().fold(false, |any, byte| any | hit(*byte)))
        .unwrap_or(bytes.len() / BLOCK);
    let from = clean * BLOCK;
    Some(from + bytes[from..].iter().position(|byte| hit(*byte))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_of_members_is_read() {
        let line = br#"{"method":"tools/call","params":{"name":"echo","arguments":{"text":"a \"b\" }{ \\"}},"jsonrpc":"2.0","id":7}"#;
        let found = message(line).unwrap();
        assert_eq!(found.id, Some(&b"7"[..]));
        assert_eq!(found.method, b"tools/call");
        let arguments = member(found.params.unwrap(), b"arguments").unwrap();
        assert_eq!(member(arguments, b"text").unwrap(), br#""a \"b\" }{ \\""#);
    }

    #[test]
    fn white_space_string_ids_and_nesting_are_read() {
        let line = br#" { "id" : "x-1" , "params" : [ {"a":[1,2,{"b":"]"}]} , null ] , "method" : "ping" } "#;
        let found = message(line).unwrap();
        assert_eq!(found.id, Some(&br#""x-1""#[..]));
        assert_eq!(found.method, b"ping");
        assert_eq!(found.params, Some(&br#"[ {"a":[1,2,{"b":"]"}]} , null ]"#[..]));
    }

    #[test]
    fn a_byte_is_found_wherever_it_lies() {
        for length in 0..100 {
            let mut bytes = vec![b'x'; length];
            assert_eq!(position(&bytes, |byte| byte == b'\n'), None);
            for at in 0..length {
                bytes[at] = b'\n';
                assert_eq!(position(&bytes, |byte| byte == b'\n'), Some(at));
                bytes[at] = b'x';
            }
        }
    }

    #[test]
    fn a_broken_line_is_nothing() {
        for line in [
            &b""[..],
            b"[]",
            b"{",
            b"{\"a\"",
            b"{\"a\":",
            b"{\"a\":\"b",
            b"{\"a\":{]",
            b"{\"a\" 1}",
            b"hello",
            b"{\"a\\",
        ] {
            assert_eq!(message(line), None, "{}", String::from_utf8_lossy(line));
        }
        assert_eq!(message(b"{}"), Some(Message::default()));
    }
}
