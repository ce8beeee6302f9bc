//! HTTP/1.1 requests, as far as clients of benchmarks send them: a head, and a body of known length or in chunks.

/// A complete request at the start of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    pub body: Vec<u8>,
    /// How many of the bytes it took.
    pub taken: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Post,
    Get,
    Delete,
    Other,
}

/// What cannot be read; the connection is closed.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken;

/// The request that `bytes` begin with; nothing while it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<Request>, Broken> {
    let Some(end) = find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = &bytes[..end];
    let method = match head.split(|byte| *byte == b' ').next() {
        Some(b"POST") => Method::Post,
        Some(b"GET") => Method::Get,
        Some(b"DELETE") => Method::Delete,
        _ => Method::Other,
    };
    let body = end + 4;
    if header(head, b"transfer-encoding").is_some() {
        return Ok(chunked(bytes, body)?.map(|(body, taken)| Request { method, body, taken }));
    }
    let length = match header(head, b"content-length") {
        None => 0,
        Some(value) => number(value, 10).ok_or(Broken)?,
    };
    let taken = body.checked_add(length).ok_or(Broken)?;
    let complete = bytes.get(body..taken).map(|body| Request {
        method,
        body: body.to_vec(),
        taken,
    });
    Ok(complete)
}

/// The value of a header, by its lower-case name.
pub fn header<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    head.split(|byte| *byte == b'\n').skip(1).find_map(|line| {
        let (found, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        found.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
    })
}

pub fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

pub fn number(digits: &[u8], radix: u32) -> Option<usize> {
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

fn chunked(bytes: &[u8], mut at: usize) -> Result<Option<(Vec<u8>, usize)>, Broken> {
    let mut body = Vec::new();
    loop {
        let Some(line) = find(&bytes[at..], b"\r\n") else {
            return Ok(None);
        };
        let length = number(&bytes[at..at + line], 16).ok_or(Broken)?;
        let start = at + line + 2;
        let end = start.checked_add(length).ok_or(Broken)?;
        match bytes.get(end..end.saturating_add(2)) {
            None => return Ok(None),
            Some(b"\r\n") => {}
            Some(_) => return Err(Broken),
        }
        if length == 0 {
            return Ok(Some((body, end + 2)));
        }
        body.extend_from_slice(&bytes[start..end]);
        at = end + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &[u8] = b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-length:  5 \r\n\r\nhello";
    const CHUNKED: &[u8] = b"POST /mcp HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    const BARE: &[u8] = b"DELETE /mcp HTTP/1.1\r\nhost: x\r\n\r\n";

    fn request(method: Method, body: &[u8], taken: usize) -> Option<Request> {
        let body = body.to_vec();
        Some(Request { method, body, taken })
    }

    #[test]
    fn a_request_is_read_whatever_follows() {
        for (bytes, method, body) in [
            (PLAIN, Method::Post, &b"hello"[..]),
            (CHUNKED, Method::Post, b"hello"),
            (BARE, Method::Delete, b""),
        ] {
            let two = [bytes, bytes].concat();
            assert_eq!(parse(&two), Ok(request(method, body, bytes.len())));
        }
    }

    #[test]
    fn a_part_of_a_request_is_none() {
        for bytes in [PLAIN, CHUNKED, BARE] {
            for cut in 0..bytes.len() {
                assert_eq!(parse(&bytes[..cut]), Ok(None), "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_broken() {
        for bytes in [
            &b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n"[..],
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc",
            b"POST / HTTP/1.1\r\ncontent-length: 18446744073709551615\r\n\r\n",
        ] {
            assert_eq!(parse(bytes), Err(Broken), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
