//! What goes back, with the headers that a server on Node sends.

use line_echo::echo::{Answered, Echo};

use crate::request::{Method, Request};

const KEPT: &str = "Date: Mon, 01 Jan 2024 00:00:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n";
/// All clients get the same one: nobody keeps sessions here.
const SESSION: &str = "mcp-session-id: 6f1d1b3e-2f1c-4bd0-8a44-5b7d3c9a2e10\r\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Json,
    Sse,
}

/// Appends the response to `request` to `out`.
pub fn respond(echo: &Echo, reply: Reply, request: &Request, out: &mut Vec<u8>) -> Answered {
    match request.method {
        Method::Post => {}
        Method::Delete => return empty(out, "200 OK"),
        // No stream is offered.
        Method::Get | Method::Other => return empty(out, "405 Method Not Allowed"),
    }
    let mut message = Vec::with_capacity(request.body.len() + 128);
    let answered = echo.answer(&request.body, &mut message);
    if answered == Answered::Nothing {
        return empty(out, "202 Accepted");
    }
    let session = if answered == Answered::Opening { SESSION } else { "" };
    match reply {
        Reply::Json => {
            let length = message.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{session}{KEPT}Content-Length: {length}\r\n\r\n"
            );
            out.extend_from_slice(head.as_bytes());
            out.extend_from_slice(&message);
        }
        Reply::Sse => {
            const BEFORE: &str = "event: message\ndata: ";
            const AFTER: &str = "\n\n";
            let length = BEFORE.len() + message.len() + AFTER.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n{session}{KEPT}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{BEFORE}"
            );
            out.extend_from_slice(head.as_bytes());
            out.extend_from_slice(&message);
            out.extend_from_slice(AFTER.as_bytes());
            out.extend_from_slice(b"\r\n0\r\n\r\n");
        }
    }
    answered
}

fn empty(out: &mut Vec<u8>, status: &str) -> Answered {
    out.extend_from_slice(format!("HTTP/1.1 {status}\r\n{KEPT}Content-Length: 0\r\n\r\n").as_bytes());
    Answered::Nothing
}

/// Whether `bytes` are a whole response of the above: how a driver without a parser knows that it may go on.
pub fn is_complete(bytes: &[u8]) -> bool {
    use crate::request::{find, header, number};
    let Some(end) = find(bytes, b"\r\n\r\n") else {
        return false;
    };
    match header(&bytes[..end], b"content-length") {
        Some(length) => number(length, 10).is_some_and(|length| bytes.len() == end + 4 + length),
        None => bytes.ends_with(b"\r\n0\r\n\r\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(method: Method, body: &str, reply: Reply) -> (Answered, String) {
        let mut out = Vec::new();
        let request = Request {
            method,
            body: body.as_bytes().to_vec(),
            taken: 0,
        };
        let answered = respond(&Echo::new(1), reply, &request, &mut out);
        (answered, String::from_utf8(out).unwrap())
    }

    const CALL: &str =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}"#;
    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}"#;

    #[test]
    fn an_answer_is_json_or_one_event() {
        let (answered, text) = response(Method::Post, CALL, Reply::Json);
        assert_eq!(answered, Answered::Call);
        assert!(
            text.ends_with(&format!("Content-Length: {}\r\n\r\n{ANSWER}", ANSWER.len())),
            "{text}"
        );
        let (answered, text) = response(Method::Post, CALL, Reply::Sse);
        assert_eq!(answered, Answered::Call);
        let event = format!("event: message\ndata: {ANSWER}\n\n");
        let chunks = format!("\r\n\r\n{:x}\r\n{event}\r\n0\r\n\r\n", event.len());
        assert!(text.ends_with(&chunks), "{text}");
    }

    #[test]
    fn a_session_is_opened_once_and_notifications_are_accepted() {
        let (_, text) = response(
            Method::Post,
            r#"{"id":0,"method":"initialize","params":{}}"#,
            Reply::Json,
        );
        assert!(text.contains(SESSION));
        let (_, text) = response(Method::Post, CALL, Reply::Json);
        assert!(!text.contains(SESSION));
        let (_, text) = response(Method::Post, r#"{"method":"notifications/initialized"}"#, Reply::Sse);
        assert!(
            text.starts_with("HTTP/1.1 202 ") && text.contains("Content-Length: 0\r\n"),
            "{text}"
        );
        assert!(response(Method::Get, "", Reply::Json).1.starts_with("HTTP/1.1 405 "));
        assert!(response(Method::Delete, "", Reply::Json).1.starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn the_end_of_a_response_is_seen() {
        for (reply, body) in [(Reply::Json, CALL), (Reply::Sse, CALL), (Reply::Json, "")] {
            let (_, text) = response(Method::Post, body, reply);
            for cut in 0..text.len() {
                assert!(!is_complete(&text.as_bytes()[..cut]), "cut at {cut}");
            }
            assert!(is_complete(text.as_bytes()));
        }
    }
}
