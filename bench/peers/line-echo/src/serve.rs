//! The server: bytes in, lines out, one write per read.

use std::io::{Read, Write};

use crate::{option, scan, usage};

/// Lines of 64 calls with a 4 KiB text fit in one read.
const READ_BYTES: usize = 512 * 1024;
/// Answered when the client asks for a revision that is none of `REVISIONS`.
const LATEST: &[u8] = b"\"2025-11-25\"";
const REVISIONS: [&[u8]; 4] = [b"\"2024-11-05\"", b"\"2025-03-26\"", b"\"2025-06-18\"", LATEST];
const TOOLS: &[u8] = br#"{"tools":[{"name":"echo","description":"Returns its text.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}"#;

pub fn run(args: &[String]) -> std::io::Result<()> {
    let mut server = Server::default();
    let mut stdin = std::io::stdin().lock();
    let mut stdout = std::io::stdout().lock();
    let mut input = vec![0_u8; READ_BYTES];
    let mut held = 0;
    let mut out = Vec::with_capacity(READ_BYTES);
    loop {
        if held == input.len() {
            input.resize(input.len() * 2, 0);
        }
        let read = stdin.read(&mut input[held..])?;
        if read == 0 {
            break;
        }
        let filled = held + read;
        let consumed = server.take(&input[..filled], held, &mut out);
        input.copy_within(consumed..filled, 0);
        held = filled - consumed;
        if !out.is_empty() {
            stdout.write_all(&out)?;
            stdout.flush()?;
            out.clear();
        }
    }
    if let Some(path) = option(args, "--stats") {
        let cpu = usage::cpu_ns().map_or_else(|| "null".to_owned(), |ns| ns.to_string());
        std::fs::write(
            path,
            format!(
                "{{\"calls\":{},\"reads\":{},\"cpuNs\":{cpu}}}\n",
                server.calls, server.reads
            ),
        )?;
    }
    Ok(())
}

#[derive(Default)]
pub struct Server {
    calls: u64,
    reads: u64,
}

impl Server {
    /// Answers every complete line of `bytes` into `out`; returns how many bytes those lines took. The first `known`
    /// bytes were seen before and hold no line end.
    pub fn take(&mut self, bytes: &[u8], known: usize, out: &mut Vec<u8>) -> usize {
        self.reads += 1;
        let mut start = 0;
        let mut from = known;
        while let Some(length) = scan::position(&bytes[from..], |byte| byte == b'\n') {
            let end = from + length;
            self.answer(&bytes[start..end], out);
            start = end + 1;
            from = start;
        }
        start
    }

    fn answer(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let Some(message) = scan::message(line) else {
            return;
        };
        let Some(id) = message.id else { return };
        let params = message.params.unwrap_or(b"{}");
        match message.method {
            b"tools/call" => {
                self.calls += 1;
                let text = scan::member(params, b"arguments").and_then(|arguments| scan::member(arguments, b"text"));
                match text {
                    Some(text) if text.starts_with(b"\"") && scan::member(params, b"name") == Some(b"\"echo\"") => {
                        reply(
                            out,
                            id,
                            b"result",
                            &[br#"{"content":[{"type":"text","text":"#, text, b"}]}"],
                        );
                    }
                    _ => reply(
                        out,
                        id,
                        b"error",
                        &[br#"{"code":-32602,"message":"one tool: echo { text: string }"}"#],
                    ),
                }
            }
            b"initialize" => {
                let asked = scan::member(params, b"protocolVersion").unwrap_or(LATEST);
                let version = if REVISIONS.contains(&asked) { asked } else { LATEST };
                let rest = br#","capabilities":{"tools":{}},"serverInfo":{"name":"line-echo","version":"0.1.0"}}"#;
                reply(out, id, b"result", &[br#"{"protocolVersion":"#, version, rest]);
            }
            b"tools/list" => reply(out, id, b"result", &[TOOLS]),
            b"ping" => reply(out, id, b"result", &[b"{}"]),
            // An answer to a request of ours: there are none, so it is dropped.
            b"" => {}
            _ => reply(out, id, b"error", &[br#"{"code":-32601,"message":"method not found"}"#]),
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
    out.extend_from_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &[u8]) -> String {
        let mut out = Vec::new();
        Server::default().take(input, 0, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn calls_are_echoed_as_they_came() {
        let input = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\\n\\u00e9\"}}}\n";
        assert_eq!(
            answers(input),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\\n\\u00e9\"}]}}\n"
        );
    }

    #[test]
    fn an_unknown_tool_and_an_unknown_method_are_errors_and_a_notification_is_silent() {
        let input = b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{\"text\":\"\"}}}\n{\"id\":2,\"method\":\"server/discover\"}\n{\"method\":\"notifications/initialized\"}\n";
        let text = answers(input);
        assert!(text.contains("-32602") && text.contains("-32601"), "{text}");
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn a_known_revision_is_echoed_and_an_unknown_one_is_not() {
        for (asked, answered) in [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")] {
            let line =
                format!("{{\"id\":1,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"{asked}\"}}}}\n");
            assert!(answers(line.as_bytes()).contains(&format!("\"protocolVersion\":\"{answered}\"")));
        }
    }

    #[test]
    fn any_split_answers_like_one_piece() {
        let input = b"{\"id\":1,\"method\":\"ping\"}\n{\"id\":2,\"method\":\"ping\"}\n{\"id\":3,\"meth";
        let whole = answers(input);
        for cut in 0..input.len() {
            let mut server = Server::default();
            let mut out = Vec::new();
            let consumed = server.take(&input[..cut], 0, &mut out);
            let rest = &input[consumed..];
            server.take(rest, cut - consumed, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), whole, "cut at {cut}");
        }
    }
}
