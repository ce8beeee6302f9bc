//! Requests over sockets that are kept: one is in flight on each.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::SocketAddr;
use std::time::Instant;

use line_echo::option;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::options;
use crate::place::{Account, Place, Plan};
use crate::response;

const READ_BYTES: usize = 256 * 1024;

struct Lane {
    stream: TcpStream,
    request: Vec<u8>,
    input: Vec<u8>,
    place: Place,
}

pub fn run(args: &[String]) -> Result<()> {
    let plan = Plan::new(args)?;
    let address = address(args)?;
    let sessions = options(args, "--session");
    let mut poll = Poll::new()?;
    let mut lanes = Vec::new();
    for index in 0..plan.in_flight {
        let mut stream = connect(address)?;
        poll.registry()
            .register(&mut stream, Token(index), Interest::READABLE)?;
        let place = plan.place(index);
        let mut head = head("POST", args, address)?;
        if !sessions.is_empty() {
            head.push_str(&format!("Mcp-Session-Id: {}\r\n", sessions[index % sessions.len()]));
        }
        let request = format!("{head}Content-Length: {}\r\n\r\n{}", place.message.len(), place.message);
        lanes.push(Lane {
            stream,
            request: request.into_bytes(),
            input: Vec::new(),
            place,
        });
    }
    let mut events = Events::with_capacity(1024);
    let mut buffer = vec![0; READ_BYTES];
    let mut account = Account::begin();
    for lane in &mut lanes {
        lane.send(Instant::now())?;
    }
    let mut open = lanes.len();
    while open > 0 {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            outcome => outcome?,
        }
        for event in &events {
            let Some(lane) = lanes.get_mut(event.token().0) else {
                continue;
            };
            if lane.take(&mut buffer)? {
                let now = Instant::now();
                account.add(now.saturating_duration_since(lane.place.sent));
                if account.is_over(plan.length, now) {
                    open -= 1;
                } else {
                    lane.send(now)?;
                }
            }
        }
    }
    account.print();
    Ok(())
}

impl Lane {
    /// One request is in flight on a connection, and far smaller than what a socket takes at once.
    fn send(&mut self, now: Instant) -> Result<()> {
        self.place.sent = now;
        self.stream.write_all(&self.request)
    }

    /// Whether the response is there.
    fn take(&mut self, buffer: &mut [u8]) -> Result<bool> {
        loop {
            let read = match self.stream.read(buffer) {
                Ok(0) => return Err(Error::other("the server went away")),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            };
            let bytes = if self.input.is_empty() {
                &buffer[..read]
            } else {
                self.input.extend_from_slice(&buffer[..read]);
                &self.input
            };
            let Some(response) = response::parse(bytes)? else {
                if self.input.is_empty() {
                    self.input.extend_from_slice(&buffer[..read]);
                }
                continue;
            };
            if response.status != 200 {
                let body = String::from_utf8_lossy(&response.body).into_owned();
                return Err(Error::other(format!("status {}: {body}", response.status)));
            }
            if response.taken != bytes.len() {
                return Err(Error::other("the server sent more than its response"));
            }
            self.place.check(&response.body)?;
            self.input.clear();
            return Ok(true);
        }
    }
}

pub fn address(args: &[String]) -> Result<SocketAddr> {
    let address = option(args, "--address").ok_or_else(|| Error::other("--address is missing"))?;
    address.parse().map_err(Error::other)
}

pub fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = std::net::TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(TcpStream::from_std(stream))
}

/// The head of a request, but for its end.
pub fn head(method: &str, args: &[String], address: SocketAddr) -> Result<String> {
    let path = option(args, "--path").ok_or_else(|| Error::other("--path is missing"))?;
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n");
    for header in options(args, "--header") {
        head.push_str(header);
        head.push_str("\r\n");
    }
    Ok(head)
}
