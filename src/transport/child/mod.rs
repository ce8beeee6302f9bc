//! A server that is a child process, spoken to over its standard input and output. Owns the process and everything that
//! belongs to its group; knows framing, but no message.

mod env;
mod gate;
mod group;
mod launch;
mod plugin;
#[cfg(any(windows, test))]
mod program;
mod starter;
mod stderr;
mod stop;
#[cfg(unix)]
mod watchdog;

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

pub(crate) use gate::Gate;
pub(crate) use group::ProcessGroup;
pub(crate) use launch::{CwdRoot, Launch, Plugin};
pub(crate) use plugin::Escape;

use super::{Received, Transport};
use crate::error::{Error, ErrorCode, Result};
use crate::guard::redact::Redactor;
use crate::host::Clock;
use crate::limits;
use crate::protocol::message::Outgoing;
use crate::protocol::peer::Violation;
use crate::protocol::wire::lines::{Line, Lines};

pub(crate) struct ChildTransport {
    child: Child,
    /// Gone once the child cannot be written to, or is being stopped.
    stdin: Option<ChildStdin>,
    /// Gone once it ended.
    stdout: Option<ChildStdout>,
    group: Arc<ProcessGroup>,
    clock: Arc<dyn Clock>,
    lines: Lines,
    chunk: Vec<u8>,
    unsent: Unwritten,
    exited: Option<Exit>,
    /// Set when its input broke under a write: until when its end is waited for.
    deaf_until: Option<Instant>,
    /// Set when its output ended: until when its exit status, and then its last words, are waited for. Points in time,
    /// because the waiting may be cut short and taken up again any number of times.
    status_until: Option<Instant>,
    words_until: Option<Instant>,
    /// Whether what is left of the group after the child's own end was told to end, too.
    orphans_told: bool,
    violation: Option<Violation>,
    stderr: stderr::Tail,
    redactor: Arc<Redactor>,
    stderr_drain: JoinHandle<()>,
}

/// Bytes on their way to the child.
#[derive(Default)]
struct Unwritten {
    bytes: Vec<u8>,
    written: usize,
}

#[derive(Clone, Copy)]
struct Exit {
    /// Nothing when the system would not tell.
    status: Option<ExitStatus>,
    /// Until when what is left in the pipe is read.
    drain_until: Instant,
}

impl ChildTransport {
    /// Starts the child. `offer` gets each line of its standard error; what `redactor` knows is in no error.
    ///
    /// # Errors
    /// `unavailable` when it cannot be started.
    pub(crate) async fn start(
        launch: &Launch,
        max_message_bytes: usize,
        clock: Arc<dyn Clock>,
        redactor: Arc<Redactor>,
        gate: Arc<Gate>,
        offer: impl Fn(String) + Send + 'static,
    ) -> Result<Self> {
        let (mut child, group) = launch.start(gate).await?;
        let missing = || Error::new(ErrorCode::Unavailable, "the child was started without its pipes");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let tail = stderr::Tail::default();
        Ok(Self {
            group,
            child,
            stdin: Some(stdin),
            stdout: Some(stdout),
            clock,
            lines: Lines::new(max_message_bytes),
            chunk: vec![0; limits::READ_CHUNK],
            unsent: Unwritten::default(),
            exited: None,
            deaf_until: None,
            status_until: None,
            words_until: None,
            orphans_told: false,
            violation: None,
            redactor,
            stderr_drain: tokio::spawn(stderr::drain(stderr, tail.clone(), offer)),
            stderr: tail,
        })
    }

    fn pop(&mut self) -> Option<Received> {
        if let Some(violation) = self.violation.take() {
            return Some(Received::Violation(violation));
        }
        let line = self.lines.pop()?;
        Some(self.received(line))
    }

    fn received(&mut self, line: Line) -> Received {
        match line {
            Line::Text { text, lossy } => {
                self.violation = lossy.then_some(Violation::NotUtf8);
                Received::Message(text)
            }
            Line::TooLong { bytes, answers } => Received::TooLong { bytes, answers },
        }
    }

    /// Moves bytes until there is something to tell, or the output ended.
    async fn step(&mut self) {
        let drained = self.exited.map(|exit| self.clock.sleep_until(exit.drain_until));
        let deaf = self.deaf_until.map(|until| self.clock.sleep_until(until));
        tokio::select! {
            read = read(self.stdout.as_mut(), &mut self.chunk) => match read {
                Some(count) => self.lines.push(self.chunk.get(..count).unwrap_or_default()),
                None => self.stdout = None,
            },
            written = write(self.stdin.as_mut(), self.unsent.rest()), if !self.unsent.is_empty() => {
                if let Some(count) = written {
                    self.unsent.advance(count);
                } else {
                    // It does not read any more. What it still writes is worth reading, for the moment that its end takes.
                    self.stop_writing();
                    self.deaf_until = Some(self.clock.now() + limits::EXIT_STATUS_WAIT);
                }
            }
            status = self.child.wait(), if self.exited.is_none() => self.note_exit(status.ok()),
            () = wait(drained) => self.stdout = None,
            () = wait(deaf) => self.stdout = None,
        }
    }

    fn note_exit(&mut self, status: Option<ExitStatus>) {
        self.stop_writing();
        self.exited = Some(Exit {
            status,
            drain_until: self.clock.now() + limits::EXIT_DRAIN,
        });
    }

    fn stop_writing(&mut self) {
        self.stdin = None;
        self.unsent = Unwritten::default();
    }

    /// The output has ended. Why is known when the child exits, which it usually does at once.
    async fn loss(&mut self) -> Error {
        if self.exited.is_none() {
            let until = *self
                .status_until
                .get_or_insert(self.clock.now() + limits::EXIT_STATUS_WAIT);
            let patience = self.clock.sleep_until(until);
            let status = tokio::select! {
                status = self.child.wait() => Some(status.ok()),
                () = patience => None,
            };
            if let Some(status) = status {
                self.note_exit(status);
            }
        }
        // Its last words may still be in the pipe.
        if self.exited.is_some() && !self.stderr_drain.is_finished() {
            let until = *self.words_until.get_or_insert(self.clock.now() + limits::EXIT_DRAIN);
            let patience = self.clock.sleep_until(until);
            tokio::select! {
                _ = &mut self.stderr_drain => {}
                () = patience => {}
            }
        }
        let mut message = match self.exited {
            Some(Exit {
                status: Some(status), ..
            }) => format!("it ended with {}", describe(status)),
            Some(Exit { status: None, .. }) => "it ended".to_owned(),
            None if self.deaf_until.is_some() => "it closed its standard input".to_owned(),
            None => "it closed its standard output".to_owned(),
        };
        if let Some(words) = self.stderr.quote(&self.redactor) {
            message.push_str("; the end of its stderr: ");
            message.push_str(&words);
        }
        Error::new(ErrorCode::ConnectionLost, message)
    }
}

impl Transport for ChildTransport {
    fn send(&mut self, message: Outgoing) {
        if self.stdin.is_some() {
            self.unsent.push(message.text);
        }
    }

    fn is_congested(&self) -> bool {
        self.unsent.len() > limits::MAX_UNSENT_BYTES
    }

    async fn next(&mut self) -> Received {
        loop {
            if let Some(received) = self.pop() {
                return received;
            }
            if self.stdout.is_none() {
                if let Some(line) = self.lines.finish() {
                    return self.received(line);
                }
                return Received::Lost(self.loss().await);
            }
            self.step().await;
        }
    }

    async fn close(mut self) {
        self.stop().await;
        let patience = self.clock.sleep_until(self.clock.now() + limits::STOP_GRACE);
        tokio::select! {
            () = self.group.release() => {}
            () = patience => {}
        }
        // Its last words, which may be without a line end, are offered as well. Somebody else may hold the pipe open.
        if !self.stderr_drain.is_finished() {
            let patience = self.clock.sleep_until(self.clock.now() + limits::EXIT_DRAIN);
            tokio::select! {
                _ = &mut self.stderr_drain => {}
                () = patience => {}
            }
        }
    }
}

impl Drop for ChildTransport {
    fn drop(&mut self) {
        self.stderr_drain.abort();
    }
}

impl Unwritten {
    fn push(&mut self, line: String) {
        if self.bytes.is_empty() {
            self.bytes = line.into_bytes();
        } else {
            self.bytes.extend_from_slice(line.as_bytes());
        }
        self.bytes.push(b'\n');
    }

    fn advance(&mut self, count: usize) {
        self.written += count;
        if self.written >= self.bytes.len() {
            self.bytes.clear();
            self.written = 0;
        } else if self.written > self.bytes.len() / 2 {
            // Half of it is behind: moving the other half costs no more than writing it did.
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    fn len(&self) -> usize {
        self.bytes.len() - self.written
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How many bytes were read; nothing at the end.
async fn read(from: Option<&mut ChildStdout>, chunk: &mut [u8]) -> Option<usize> {
    match from {
        Some(stdout) => stdout.read(chunk).await.ok().filter(|count| *count > 0),
        None => None,
    }
}

/// How many bytes were written; nothing when the other end is closed.
async fn write(to: Option<&mut ChildStdin>, bytes: &[u8]) -> Option<usize> {
    match to {
        Some(stdin) => stdin.write(bytes).await.ok().filter(|count| *count > 0),
        None => None,
    }
}

async fn wait(sleep: Option<crate::host::Sleep>) {
    match sleep {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
}

fn describe(status: ExitStatus) -> String {
    if let Some(code) = status.code() {
        return format!("exit status {code}");
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.to_string()
}

#[cfg(test)]
mod tests;
