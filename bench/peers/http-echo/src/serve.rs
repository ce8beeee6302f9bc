//! The servers: one port each, all in one thread. Replies that are held back wait in the order in which they are due.

use std::collections::{HashMap, VecDeque};
use std::io::{Error, ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use line_echo::echo::{Answered, Echo};
use line_echo::{number, option, usage};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use crate::request;
use crate::response::{Reply, respond};

const READ_BYTES: usize = 64 * 1024;
const END: Token = Token(usize::MAX);

pub fn reply(args: &[String]) -> std::io::Result<Reply> {
    match option(args, "--reply") {
        None | Some("json") => Ok(Reply::Json),
        Some("sse") => Ok(Reply::Sse),
        Some(other) => Err(Error::other(format!("--reply takes json or sse, not {other}"))),
    }
}

pub fn run(args: &[String]) -> std::io::Result<()> {
    let servers = number(args, "--servers", 1.0)?.max(1.0) as usize;
    let mut poll = Poll::new()?;
    let mut listeners = Vec::new();
    for index in 0..servers {
        let mut listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0).into())?;
        poll.registry()
            .register(&mut listener, Token(index), Interest::READABLE)?;
        listeners.push(listener);
    }
    let urls = listeners
        .iter()
        .map(|listener| Ok(format!("\"http://127.0.0.1:{}/mcp\"", listener.local_addr()?.port())))
        .collect::<std::io::Result<Vec<_>>>()?;
    println!("[{}]", urls.join(","));

    // Held until the end: a waker that is gone wakes nobody, not even for what it was told before.
    let waker = Arc::new(Waker::new(poll.registry(), END)?);
    std::thread::spawn({
        let waker = Arc::clone(&waker);
        move || {
            // Nothing is ever sent: its end is the end.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            let _ = waker.wake();
        }
    });

    let mut server = Server {
        echo: Echo::new(number(args, "--tools", 1.0)?.max(1.0) as usize),
        reply: reply(args)?,
        delay: Duration::try_from_secs_f64(number(args, "--delay-ms", 0.0)? / 1000.0).map_err(Error::other)?,
        connections: HashMap::new(),
        next: servers,
        held: VecDeque::new(),
        buffer: vec![0; READ_BYTES],
        calls: 0,
        listings: 0,
    };
    let mut events = Events::with_capacity(1024);
    loop {
        let wait = server
            .held
            .front()
            .map(|held| held.due.saturating_duration_since(Instant::now()));
        match poll.poll(&mut events, wait) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            outcome => outcome?,
        }
        for event in &events {
            match event.token() {
                END => {
                    return match option(args, "--stats") {
                        Some(path) => server.write_stats(path),
                        None => Ok(()),
                    };
                }
                Token(index) => match listeners.get(index) {
                    Some(listener) => server.accept(listener, &poll)?,
                    None => server.serve(index),
                },
            }
        }
        server.release();
    }
}

struct Server {
    echo: Echo,
    reply: Reply,
    delay: Duration,
    connections: HashMap<usize, Connection>,
    /// Never used twice, so that a reply that was held back finds its own connection or none.
    next: usize,
    held: VecDeque<Held>,
    buffer: Vec<u8>,
    calls: u64,
    listings: u64,
}

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
}

struct Held {
    due: Instant,
    connection: usize,
    response: Vec<u8>,
}

impl Server {
    fn accept(&mut self, listener: &TcpListener, poll: &Poll) -> std::io::Result<()> {
        loop {
            let mut stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            stream.set_nodelay(true)?;
            let index = self.next;
            self.next += 1;
            poll.registry()
                .register(&mut stream, Token(index), Interest::READABLE | Interest::WRITABLE)?;
            let connection = Connection {
                stream,
                input: Vec::new(),
                output: Vec::new(),
            };
            self.connections.insert(index, connection);
        }
    }

    /// Reads what there is, answers what is complete, and writes what can be written.
    fn serve(&mut self, index: usize) {
        let Some(mut connection) = self.connections.remove(&index) else {
            return;
        };
        // A connection that failed is dropped, and with it closed.
        if self.turn(index, &mut connection).is_ok() {
            self.connections.insert(index, connection);
        }
    }

    fn turn(&mut self, index: usize, connection: &mut Connection) -> std::io::Result<()> {
        loop {
            let read = match connection.stream.read(&mut self.buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            connection.input.extend_from_slice(&self.buffer[..read]);
        }
        while let Some(request) =
            request::parse(&connection.input).map_err(|request::Broken| Error::from(ErrorKind::InvalidData))?
        {
            connection.input.drain(..request.taken);
            if self.delay.is_zero() {
                let answered = respond(&self.echo, self.reply, &request, &mut connection.output);
                self.count(answered);
            } else {
                let mut response = Vec::new();
                let answered = respond(&self.echo, self.reply, &request, &mut response);
                self.count(answered);
                self.held.push_back(Held {
                    due: Instant::now() + self.delay,
                    connection: index,
                    response,
                });
            }
        }
        connection.write()
    }

    fn release(&mut self) {
        while let Some(held) = self.held.front()
            && held.due <= Instant::now()
            && let Some(held) = self.held.pop_front()
        {
            if let Some(connection) = self.connections.get_mut(&held.connection) {
                connection.output.extend_from_slice(&held.response);
                if connection.write().is_err() {
                    self.connections.remove(&held.connection);
                }
            }
        }
    }

    fn count(&mut self, answered: Answered) {
        self.calls += u64::from(answered == Answered::Call);
        self.listings += u64::from(answered == Answered::List);
    }

    fn write_stats(&self, path: &str) -> std::io::Result<()> {
        let cpu = usage::cpu_ns().map_or_else(|| "null".to_owned(), |ns| ns.to_string());
        let stats = format!(
            "{{\"calls\":{},\"listings\":{},\"connections\":{},\"cpuNs\":{cpu}}}\n",
            self.calls, self.listings, self.next
        );
        std::fs::write(path, stats)
    }
}

impl Connection {
    fn write(&mut self) -> std::io::Result<()> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.output.drain(..written);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
