//! The server behind every transport: one message in, at most one out.

use std::fmt::Write as _;

use crate::scan;

/// Answered when the client asks for a revision that is none of `REVISIONS`.
const LATEST: &[u8] = b"\"2025-11-25\"";
const REVISIONS: [&[u8]; 4] = [b"\"2024-11-05\"", b"\"2025-03-26\"", b"\"2025-06-18\"", LATEST];
const ECHO: &str = r#"{"name":"echo","description":"Returns its text.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}"#;

/// What a message was, for whoever counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    Call,
    List,
    /// Its answer has the client's session begin.
    Opening,
    Other,
    /// A message without an answer.
    Nothing,
}

pub struct Echo {
    tools: Vec<u8>,
}

impl Echo {
    /// Lists `tools` tools, of which the first is `echo` and the others are there to be listed.
    pub fn new(tools: usize) -> Self {
        let mut text = format!("{{\"tools\":[{ECHO}");
        for i in 1..tools {
            // Writing to a string cannot fail. As long as the tools of a server that does something.
            let _ = write!(
                text,
                r#",{{"name":"tool_{i}","title":"Tool {i}","description":"Looks through the records of collection {i} and returns those that match, newest first.","inputSchema":{{"type":"object","properties":{{"query":{{"type":"string","description":"What to look for; words are joined by and"}},"limit":{{"type":"integer","minimum":1,"maximum":100,"description":"How many to return"}},"archived":{{"type":"boolean","description":"Whether those that were put away count"}}}},"required":["query"],"additionalProperties":false}}}}"#
            );
        }
        text.push_str("]}");
        Self {
            tools: text.into_bytes(),
        }
    }

    /// Appends the answer to `message` to `out`, without anything around it.
    pub fn answer(&self, message: &[u8], out: &mut Vec<u8>) -> Answered {
        let Some(message) = scan::message(message) else {
            return Answered::Nothing;
        };
        let Some(id) = message.id else {
            return Answered::Nothing;
        };
        let params = message.params.unwrap_or(b"{}");
        match message.method {
            b"tools/call" => {
                let text = scan::member(params, b"arguments").and_then(|arguments| scan::member(arguments, b"text"));
                match text {
                    Some(text) if text.starts_with(b"\"") && scan::member(params, b"name") == Some(b"\"echo\"") => {
                        let body: [&[u8]; 3] = [br#"{"content":[{"type":"text","text":"#, text, b"}]}"];
                        reply(out, id, b"result", &body);
                    }
                    _ => {
                        let body = br#"{"code":-32602,"message":"one tool can be called: echo { text: string }"}"#;
                        reply(out, id, b"error", &[body]);
                    }
                }
                Answered::Call
            }
            b"initialize" => {
                let asked = scan::member(params, b"protocolVersion").unwrap_or(LATEST);
                let version = if REVISIONS.contains(&asked) { asked } else { LATEST };
                let rest = br#","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"0.1.0"}}"#;
                reply(out, id, b"result", &[br#"{"protocolVersion":"#, version, rest]);
                Answered::Opening
            }
            b"tools/list" => {
                reply(out, id, b"result", &[&self.tools]);
                Answered::List
            }
            b"ping" => {
                reply(out, id, b"result", &[b"{}"]);
                Answered::Other
            }
            // An answer to a request of ours: there are none, so it is dropped.
            b"" => Answered::Nothing,
            _ => {
                reply(out, id, b"error", &[br#"{"code":-32601,"message":"method not found"}"#]);
                Answered::Other
            }
        }
    }
}

fn reply(out: &mut Vec<u8>, id: &[u8], kind: &[u8], body: &[&[u8]]) {
    for part in [&br#"{"jsonrpc":"2.0","id":"#[..], id, b",\"", kind, b"\":"] {
        out.extend_from_slice(part);
    }
    for part in body {
        out.extend_from_slice(part);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(message: &str) -> (Answered, String) {
        let mut out = Vec::new();
        let answered = Echo::new(3).answer(message.as_bytes(), &mut out);
        (answered, String::from_utf8(out).unwrap())
    }

    #[test]
    fn calls_are_echoed_as_they_came() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a\n\u00e9"}}}"#;
        let echoed = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\n\u00e9"}]}}"#;
        assert_eq!(answer(call), (Answered::Call, echoed.to_owned()));
    }

    #[test]
    fn an_unknown_tool_and_an_unknown_method_are_errors_and_a_notification_is_silent() {
        let (answered, text) =
            answer(r#"{"id":1,"method":"tools/call","params":{"name":"x","arguments":{"text":""}}}"#);
        assert!(answered == Answered::Call && text.contains("-32602"), "{text}");
        let (answered, text) = answer(r#"{"id":2,"method":"server/discover"}"#);
        assert!(answered == Answered::Other && text.contains("-32601"), "{text}");
        let silent = (Answered::Nothing, String::new());
        assert_eq!(answer(r#"{"method":"notifications/initialized"}"#), silent);
        assert_eq!(answer(r#"{"id":3,"result":{}}"#), silent);
        assert_eq!(answer("hello"), silent);
    }

    #[test]
    fn a_known_revision_is_echoed_and_an_unknown_one_is_not() {
        for (asked, answered) in [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")] {
            let line = format!(r#"{{"id":1,"method":"initialize","params":{{"protocolVersion":"{asked}"}}}}"#);
            let (kind, text) = answer(&line);
            assert_eq!(kind, Answered::Opening);
            assert!(text.contains(&format!("\"protocolVersion\":\"{answered}\"")), "{text}");
        }
    }

    #[test]
    fn as_many_tools_are_listed_as_were_asked_for() {
        let (answered, text) = answer(r#"{"id":1,"method":"tools/list"}"#);
        assert_eq!(answered, Answered::List);
        assert_eq!(text.matches("\"inputSchema\":").count(), 3);
        assert!(
            text.contains("\"name\":\"echo\"") && text.contains("\"name\":\"tool_2\""),
            "{text}"
        );
    }
}
