//! Requests as lines over a pair of pipes. As many new ones leave in one write as one read brought answers.

use std::fs::File;
use std::io::{Error, Read, Result, Write};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use line_echo::option;

use crate::options;
use crate::place::{Account, Place, Plan};

const READ_BYTES: usize = 512 * 1024;

struct Server {
    input: Box<dyn Write>,
    output: Box<dyn Read>,
    child: Option<Child>,
}

pub fn run(args: &[String]) -> Result<()> {
    let plan = Plan::new(args)?;
    let mut server = server(args)?;
    let mut reader = Lines::default();
    for hello in options(args, "--hello") {
        server.input.write_all(format!("{hello}\n").as_bytes())?;
        // Only what has an id is answered.
        if hello.contains("\"id\":") {
            reader.read(&mut server.output)?;
            if reader.next().is_none_or(|line| find(&line, b"\"result\":").is_none()) {
                return Err(Error::other(format!("no answer to {hello}")));
            }
        }
    }
    let mut places: Vec<Place> = (0..plan.in_flight).map(|index| plan.place(index)).collect();
    let mut batch: Vec<u8> = Vec::new();
    let mut account = Account::begin();
    for place in &mut places {
        place.sent = Instant::now();
        batch.extend_from_slice(place.message.as_bytes());
        batch.push(b'\n');
    }
    server.input.write_all(&batch)?;
    let mut open = places.len();
    while open > 0 {
        reader.read(&mut server.output)?;
        let now = Instant::now();
        let is_over = account.is_over(plan.length, now);
        batch.clear();
        while let Some(line) = reader.next() {
            let place = id(&line)
                .and_then(|id| places.get_mut(id.checked_sub(1)?))
                .ok_or_else(|| Error::other("an answer to what was not asked"))?;
            place.check(&line)?;
            account.add(now.saturating_duration_since(place.sent));
            if is_over {
                open -= 1;
            } else {
                place.sent = now;
                batch.extend_from_slice(place.message.as_bytes());
                batch.push(b'\n');
            }
            reader.give_back(line);
        }
        server.input.write_all(&batch)?;
    }
    account.print();
    drop(server.input);
    if let Some(mut child) = server.child {
        child.wait()?;
    }
    Ok(())
}

/// The server behind two named pipes, or the one of the command.
fn server(args: &[String]) -> Result<Server> {
    if let Some(at) = args.iter().position(|arg| arg == "--") {
        let program = args.get(at + 1).ok_or_else(|| Error::other("no command"))?;
        let mut child = Command::new(program)
            .args(&args[at + 2..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or_else(|| Error::other("no stdin"))?;
        let output = child.stdout.take().ok_or_else(|| Error::other("no stdout"))?;
        return Ok(Server {
            input: Box::new(input),
            output: Box::new(output),
            child: Some(child),
        });
    }
    let file = |name| option(args, name).ok_or_else(|| Error::other(format!("{name} is missing")));
    Ok(Server {
        input: Box::new(File::options().write(true).open(file("--in")?)?),
        output: Box::new(File::open(file("--out")?)?),
        child: None,
    })
}

/// The id of an answer. Those of ours are small numbers, and stand where a server puts them: at one of both ends.
fn id(line: &[u8]) -> Option<usize> {
    const KEY: &[u8] = b"\"id\":";
    let head = &line[..line.len().min(64)];
    let tail = line.len().saturating_sub(64);
    let at = match find(head, KEY) {
        Some(at) => at,
        None => tail + find(&line[tail..], KEY)?,
    };
    let digits = &line[at + KEY.len()..];
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Lines, as they come in.
struct Lines {
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    /// Up to where there is no line end.
    seen: usize,
    spare: Vec<u8>,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            buffer: vec![0; READ_BYTES],
            start: 0,
            filled: 0,
            seen: 0,
            spare: Vec::new(),
        }
    }
}

impl Lines {
    /// Reads until there is a whole line.
    fn read(&mut self, from: &mut impl Read) -> Result<()> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.seen -= self.start;
        self.start = 0;
        loop {
            if self.filled == self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            let read = from.read(&mut self.buffer[self.filled..])?;
            if read == 0 {
                return Err(Error::other("the server went away"));
            }
            let came = self.filled;
            self.filled += read;
            if self.buffer[came..self.filled].contains(&b'\n') {
                return Ok(());
            }
            self.seen = self.filled;
        }
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let from = self.seen.max(self.start);
        let Some(at) = self.buffer[from..self.filled].iter().position(|byte| *byte == b'\n') else {
            self.seen = self.filled;
            return None;
        };
        let mut line = std::mem::take(&mut self.spare);
        line.clear();
        line.extend_from_slice(&self.buffer[self.start..from + at]);
        self.start = from + at + 1;
        self.seen = self.start;
        Some(line)
    }

    /// A line that is not needed any more.
    fn give_back(&mut self, line: Vec<u8>) {
        self.spare = line;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_at_both_ends() {
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":12,"result":{}}"#), Some(12));
        let far = format!(
            "{{\"result\":{{\"x\":\"{}\"}},\"jsonrpc\":\"2.0\",\"id\":7}}",
            "y".repeat(300)
        );
        assert_eq!(id(far.as_bytes()), Some(7));
        assert_eq!(id(b"{}"), None);
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        struct Pieces(Vec<u8>, usize);
        impl Read for Pieces {
            fn read(&mut self, into: &mut [u8]) -> Result<usize> {
                let count = self.1.min(self.0.len()).min(into.len());
                for (to, from) in into.iter_mut().zip(self.0.drain(..count)) {
                    *to = from;
                }
                Ok(count)
            }
        }
        for size in 1..20 {
            let mut pieces = Pieces(b"one\nthree\n\nfive\n".to_vec(), size);
            let mut lines = Lines::default();
            let mut seen = Vec::new();
            while lines.read(&mut pieces).is_ok() {
                while let Some(line) = lines.next() {
                    seen.push(line);
                }
            }
            assert_eq!(seen, [&b"one"[..], b"three", b"", b"five"], "{size}");
        }
    }
}
