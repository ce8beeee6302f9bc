//! The solo rate: a second copy of this program as the server, and the lightest client that can keep it busy. A connection
//! for each call in flight; requests are made from one template, and of a response no more is read than where it ends.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use line_echo::{number, option};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::response::is_complete;

const READ_BYTES: usize = 64 * 1024;

pub fn run(args: &[String]) -> std::io::Result<()> {
    let in_flight = number(args, "--in-flight", 1.0)?.max(1.0) as usize;
    let text_bytes = number(args, "--text-bytes", 40.0)?.max(0.0) as usize;
    let length = Duration::try_from_secs_f64(number(args, "--seconds", 1.0)?).map_err(Error::other)?;

    let mut child = Command::new(std::env::current_exe()?)
        .args(["--reply", option(args, "--reply").unwrap_or("json")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or_else(|| Error::other("no stdout"))?;
    let mut urls = String::new();
    BufReader::new(output).read_line(&mut urls)?;
    let address = address(&urls).ok_or_else(|| Error::other("the server gave no URL"))?;

    let text = "x".repeat(text_bytes);
    let body = format!(
        "{{\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"text\":\"{text}\"}}}},\"jsonrpc\":\"2.0\",\"id\":1}}"
    );
    let call = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes();

    let mut poll = Poll::new()?;
    let mut lanes = Vec::new();
    for index in 0..in_flight {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry()
            .register(&mut stream, Token(index), Interest::READABLE)?;
        lanes.push(Lane {
            stream,
            input: Vec::new(),
        });
    }
    let mut events = Events::with_capacity(1024);
    let mut buffer = vec![0; READ_BYTES];
    let mut calls = 0_usize;
    let began = Instant::now();
    for lane in &mut lanes {
        lane.send(&call)?;
    }
    while began.elapsed() < length {
        match poll.poll(&mut events, Some(length)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            outcome => outcome?,
        }
        for event in &events {
            if let Some(lane) = lanes.get_mut(event.token().0)
                && lane.take(&mut buffer)?
            {
                calls += 1;
                lane.send(&call)?;
            }
        }
    }
    let elapsed = began.elapsed();
    drop(child.stdin.take());
    child.wait()?;
    let rate = calls as f64 / elapsed.as_secs_f64();
    println!(
        "{{\"calls\":{calls},\"seconds\":{},\"rate\":{rate}}}",
        elapsed.as_secs_f64()
    );
    Ok(())
}

struct Lane {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Lane {
    /// One call is in flight on a connection, and far smaller than what a socket takes at once.
    fn send(&mut self, call: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(call)
    }

    /// Whether the response is there.
    fn take(&mut self, buffer: &mut [u8]) -> std::io::Result<bool> {
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Err(Error::other("the server went away")),
                Ok(read) => self.input.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let is_there = is_complete(&self.input);
        if is_there {
            self.input.clear();
        }
        Ok(is_there)
    }
}

/// The address in the first of the server's URLs.
fn address(urls: &str) -> Option<SocketAddr> {
    urls.split("http://").nth(1)?.split('/').next()?.parse().ok()
}
