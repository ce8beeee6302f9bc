//! A client that sends whatever bytes a test likes.

use std::fmt::Write as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::server::testing::within;

pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    read: Vec<u8>,
    is_chunked: bool,
    /// Of a stream of events: what was read and not looked at.
    events: String,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) retry: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) is_comment: bool,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A request with a length; `Host` is there unless a header says otherwise.
pub(crate) fn request(method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {target} HTTP/1.1\r\n");
    let has = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    if !has("host") {
        text.push_str("Host: 127.0.0.1\r\n");
    }
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    if !body.is_empty() || method == "POST" {
        write!(text, "Content-Length: {}\r\n", body.len()).unwrap();
    }
    text.push_str("\r\n");
    text.push_str(body);
    text
}

/// As clients of MCP send it: of each header of theirs the one that is given, without a value none.
pub(crate) fn post(target: &str, headers: &[(&str, &str)], body: &str) -> String {
    let defaults = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let is_given = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let all: Vec<_> = defaults
        .into_iter()
        .filter(|(name, _)| !is_given(name))
        .chain(headers.iter().copied().filter(|(_, value)| !value.is_empty()))
        .collect();
    request("POST", target, &all, body)
}

pub(crate) fn get(target: &str, headers: &[(&str, &str)]) -> String {
    let all: Vec<_> = [("accept", "text/event-stream")]
        .into_iter()
        .chain(headers.iter().copied())
        .collect();
    request("GET", target, &all, "")
}

impl Peer {
    pub(crate) async fn connect(port: u16) -> Self {
        Self::over(TcpStream::connect(("127.0.0.1", port)).await.unwrap())
    }

    pub(crate) fn over(stream: TcpStream) -> Self {
        Self {
            stream,
            read: Vec::new(),
            is_chunked: false,
            events: String::new(),
        }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        within("room to write", self.stream.write_all(bytes.as_ref()))
            .await
            .unwrap();
    }

    /// Sends what the other side may have stopped to read.
    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        within("room to write", self.stream.write_all(bytes.as_ref()))
            .await
            .is_ok()
    }

    /// More bytes; none at the end.
    pub(crate) async fn more(&mut self) -> usize {
        let mut chunk = vec![0; 64 * 1024];
        let count = within("an answer", self.stream.read(&mut chunk)).await.unwrap_or(0);
        self.read.extend_from_slice(&chunk[..count]);
        count
    }

    /// Takes so many bytes.
    pub(crate) async fn bytes(&mut self, count: usize) -> Vec<u8> {
        while self.read.len() < count {
            assert!(self.more().await > 0, "it ended early");
        }
        self.read.drain(..count).collect()
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.read.drain(..end + 2).collect();
                return String::from_utf8(line[..end].to_vec()).unwrap();
            }
            assert!(self.more().await > 0, "it ended early");
        }
    }

    /// Status and headers, and nothing of the body.
    pub(crate) async fn head(&mut self) -> Response {
        let status = self.line().await;
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let head = Response {
            status,
            headers,
            body: String::new(),
        };
        self.is_chunked = head.header("transfer-encoding") == Some("chunked");
        head
    }

    /// A whole response. One without a length and without chunks has no body.
    pub(crate) async fn response(&mut self) -> Response {
        let mut head = self.head().await;
        if self.is_chunked {
            while let Some(chunk) = self.chunk().await {
                head.body.push_str(&chunk);
            }
        } else if let Some(length) = head.header("content-length") {
            let length = length.parse().unwrap();
            head.body = String::from_utf8(self.bytes(length).await).unwrap();
        }
        head
    }

    /// One chunk of a body; nothing at its end.
    pub(crate) async fn chunk(&mut self) -> Option<String> {
        let length = usize::from_str_radix(&self.line().await, 16).unwrap();
        let chunk = self.bytes(length).await;
        assert_eq!(self.bytes(2).await, b"\r\n");
        (length > 0).then(|| String::from_utf8(chunk).unwrap())
    }

    /// One event of a stream; nothing at its end.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.events.find("\n\n") {
                let text: String = self.events.drain(..end + 2).collect();
                let mut event = Event::default();
                for line in text.lines() {
                    match line.split_once(':') {
                        Some(("id", value)) => event.id = Some(value.trim().to_owned()),
                        Some(("event", value)) => event.name = Some(value.trim().to_owned()),
                        Some(("retry", value)) => event.retry = Some(value.trim().to_owned()),
                        Some(("data", value)) => event.data = Some(value.trim().to_owned()),
                        Some(("", _)) => event.is_comment = true,
                        _ => {}
                    }
                }
                return Some(event);
            }
            let chunk = self.chunk().await?;
            self.events.push_str(&chunk);
        }
    }

    /// The data of the next event.
    pub(crate) async fn data(&mut self) -> String {
        self.event().await.unwrap().data.unwrap()
    }

    /// Reads until the other side has ended it.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while self.more().await > 0 {}
        std::mem::take(&mut self.read)
    }
}
