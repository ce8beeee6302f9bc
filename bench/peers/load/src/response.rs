//! HTTP/1.1 responses, as far as servers of benchmarks send them: a head, and a body of known length or in chunks.

use std::borrow::Cow;
use std::io::{Error, ErrorKind, Result};

/// A whole response at the start of some bytes.
pub struct Response<'a> {
    pub status: u16,
    pub body: Cow<'a, [u8]>,
    /// How many of the bytes it took.
    pub taken: usize,
}

/// How long the head of a response is; nothing while it is incomplete.
pub fn head(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == b'\n') {
        let end = from + at + 1;
        if bytes[end..].starts_with(b"\r\n") {
            return Some(end + 2);
        }
        from = end;
    }
    None
}

pub fn status(head: &[u8]) -> Result<u16> {
    let digits = head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(broken)
}

/// The response that `bytes` begin with; nothing while it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<Response<'_>>> {
    let Some(body) = head(bytes) else {
        return Ok(None);
    };
    let head = &bytes[..body];
    let status = status(head)?;
    if let Some(length) = header(head, b"content-length") {
        let length = number(length, 10)?;
        let taken = body + length;
        return Ok(bytes.get(body..taken).map(|body| Response {
            status,
            body: Cow::Borrowed(body),
            taken,
        }));
    }
    if header(head, b"transfer-encoding").is_none() {
        return Err(broken());
    }
    let mut whole = Vec::new();
    let mut at = body;
    loop {
        let Some(line) = bytes[at..].windows(2).position(|pair| pair == b"\r\n") else {
            return Ok(None);
        };
        let length = number(&bytes[at..at + line], 16)?;
        let start = at + line + 2;
        let end = start + length;
        let Some(chunk) = bytes.get(start..end + 2) else {
            return Ok(None);
        };
        at = end + 2;
        if length == 0 {
            return Ok(Some(Response {
                status,
                body: Cow::Owned(whole),
                taken: at,
            }));
        }
        whole.extend_from_slice(&chunk[..length]);
    }
}

fn header<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    head.split(|byte| *byte == b'\n').skip(1).find_map(|line| {
        let (found, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        found.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
    })
}

fn number(digits: &[u8], radix: u32) -> Result<usize> {
    let digits = std::str::from_utf8(digits).map_err(|_| broken())?;
    usize::from_str_radix(digits, radix).map_err(|_| broken())
}

fn broken() -> Error {
    Error::new(ErrorKind::InvalidData, "the server answered with what is no response")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_read_when_it_is_whole_and_not_before() {
        let plain: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let chunked: &[u8] =
            b"HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
        for (bytes, status) in [(plain, 200), (chunked, 404)] {
            for cut in 0..bytes.len() {
                assert!(parse(&bytes[..cut]).unwrap().is_none(), "{cut}");
            }
            let more = [bytes, b"HTTP/1.1"].concat();
            let response = parse(&more).unwrap().unwrap();
            assert_eq!(
                (response.status, &*response.body, response.taken),
                (status, &b"hello"[..], bytes.len())
            );
        }
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
