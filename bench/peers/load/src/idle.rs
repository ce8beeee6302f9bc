//! Connections that are opened and then only there: event streams, or what became of an upgrade.

use std::io::{Error, ErrorKind, Read, Result, Write};

use line_echo::{number, option};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::http::{address, connect, head};
use crate::response;

const END: Token = Token(usize::MAX);
/// So many are opened without waiting for the answer to the first of them.
const TOGETHER: usize = 64;

pub fn run(args: &[String]) -> Result<()> {
    let address = address(args)?;
    let count = number(args, "--connections", 1.0)? as usize;
    let expected = number(args, "--status", 200.0)? as u16;
    let request = match option(args, "--body") {
        None => format!("{}\r\n", head("GET", args, address)?),
        Some(body) => format!(
            "{}Content-Length: {}\r\n\r\n{body}",
            head("POST", args, address)?,
            body.len()
        ),
    };
    let mut poll = Poll::new()?;
    let waker = std::sync::Arc::new(Waker::new(poll.registry(), END)?);
    let mut streams: Vec<TcpStream> = Vec::with_capacity(count);
    let mut events = Events::with_capacity(1024);
    let mut buffer = vec![0; 64 * 1024];
    let mut answered = 0;
    let mut is_said = false;
    std::thread::spawn({
        let waker = std::sync::Arc::clone(&waker);
        move || {
            // Nothing is ever sent: its end is the end.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            let _ = waker.wake();
        }
    });
    let mut heads = vec![Vec::new(); count];
    loop {
        while streams.len() < count && streams.len() < answered + TOGETHER {
            let mut stream = connect(address)?;
            poll.registry()
                .register(&mut stream, Token(streams.len()), Interest::READABLE)?;
            stream.write_all(request.as_bytes())?;
            streams.push(stream);
        }
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            outcome => outcome?,
        }
        for event in &events {
            if event.token() == END {
                return Ok(());
            }
            let index = event.token().0;
            let (Some(stream), Some(seen)) = (streams.get_mut(index), heads.get_mut(index)) else {
                continue;
            };
            loop {
                match stream.read(&mut buffer) {
                    Ok(0) => return Err(Error::other(format!("connection {index} was closed"))),
                    Ok(read) => answered += usize::from(opens(seen, &buffer[..read], expected)?),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        if answered == count && !is_said {
            is_said = true;
            println!("{{\"open\":{count}}}");
        }
    }
}

/// Whether these bytes are those with which the head of a response is there. What comes after it is not looked at.
fn opens(seen: &mut Vec<u8>, bytes: &[u8], expected: u16) -> Result<bool> {
    if response::head(seen).is_some() {
        return Ok(false);
    }
    seen.extend_from_slice(bytes);
    let Some(end) = response::head(seen) else {
        return Ok(false);
    };
    seen.truncate(end);
    let status = response::status(seen)?;
    if status == expected {
        return Ok(true);
    }
    Err(Error::other(format!(
        "status {status}: {}",
        String::from_utf8_lossy(bytes)
    )))
}
