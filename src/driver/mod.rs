//! One task per connection: it pumps one transport through one peer and tells whoever waits. Knows no method by name.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::host::{Clock, Sleep};
use crate::limits;
use crate::protocol::codes::WireError;
use crate::protocol::message::Params;
use crate::protocol::peer::{Action, Answered, Asked, Outcome, Peer, Request, Violation};
use crate::protocol::revision::Revision;
use crate::transport::{Received, Transport};

/// Who waits for the end of a request. Called once, from the driver's task; must not block.
pub(crate) type Waiter = Box<dyn FnOnce(Ended) + Send>;

/// How a request ended, seen from outside.
#[derive(Debug)]
pub(crate) enum Ended {
    Result(Answered),
    Error(WireError),
    TimedOut {
        waited: Duration,
    },
    /// It was answered, with more than the size limit.
    TooLong {
        bytes: u64,
    },
    /// The transport could not carry the request.
    Failed(Error),
    Cancelled,
    /// The connection went away while the request was under way.
    Lost(Arc<Error>),
    /// The connection was gone before the request was sent.
    NotSent(Arc<Error>),
    /// The connection was closed while the request was under way.
    Closed,
    /// The request was not sent: the other side does not read, or too many are under way.
    Busy,
}

/// What can be asked of a connection.
pub(crate) enum Command {
    Request(Request<Waiter>),
    Notify {
        method: &'static str,
        params: Params,
    },
    /// The handshake settled on this revision.
    Settle(Revision),
    /// The stateless era: what every request says of itself.
    Envelope(String),
    Cancel {
        key: u64,
    },
    /// Answers a question of the other side.
    Respond {
        ticket: u64,
        answer: Result<String, WireError>,
    },
}

/// Who is told what nobody asked for. Called from the driver's task; must not block.
pub(crate) trait Observer: Send {
    fn progress(&mut self, key: u64, params: Box<RawValue>);
    fn violation(&mut self, violation: Violation, now: Instant);
    /// The other side asks for something. What is returned answers it at once; otherwise `Command::Respond` does.
    fn asked(&mut self, asked: Asked) -> Option<Result<String, WireError>>;
    /// Nobody waits for the answer under this ticket any more.
    fn withdrawn(&mut self, ticket: u64);
    /// `of` is the name of the request that it belongs to, where it is part of a subscription.
    fn notified(&mut self, method: &str, params: Option<&RawValue>, of: Option<u64>);
    /// The other side knows nothing any more of what it was told.
    fn renewed(&mut self);
    /// The connection is gone. Told before anybody who waits is; what is returned is what they are told.
    fn lost(&mut self, error: Error) -> Arc<Error>;
}

/// Runs until `closing`, or until the connection is lost, or until nobody is left to give commands; then closes the
/// transport.
pub(crate) async fn run<T: Transport>(
    transport: T,
    mut commands: mpsc::Receiver<Command>,
    closing: CancellationToken,
    clock: Arc<dyn Clock>,
    observer: impl Observer,
) {
    let mut driver = Driver {
        transport,
        peer: Peer::new(),
        clock,
        timer: None,
        observer,
    };
    let end = driver.pump(&mut commands, &closing).await;
    commands.close();
    for waiter in driver.peer.abandon() {
        waiter(end.told());
    }
    while let Some(command) = commands.recv().await {
        if let Command::Request(request) = command {
            (request.waiter)(end.told_unsent());
        }
    }
    let Driver {
        transport, observer, ..
    } = driver;
    // Whoever answers a question is told before the transport takes its time.
    drop(observer);
    transport.close().await;
}

struct Driver<T, O> {
    transport: T,
    peer: Peer<Waiter>,
    clock: Arc<dyn Clock>,
    /// The armed timer. It may fire early, when what it was armed for is over: arming anew for every answer costs more.
    timer: Option<(Instant, Sleep)>,
    observer: O,
}

enum End {
    Closed,
    Lost(Arc<Error>),
}

impl<T: Transport, O: Observer> Driver<T, O> {
    async fn pump(&mut self, commands: &mut mpsc::Receiver<Command>, closing: &CancellationToken) -> End {
        loop {
            self.arm();
            let timer = self.timer.as_mut().map(|(_, sleep)| sleep);
            tokio::select! {
                () = closing.cancelled() => return End::Closed,
                command = commands.recv() => {
                    let Some(command) = command else { return End::Closed };
                    self.take_turn(command, commands);
                }
                received = self.transport.next() => match received {
                    Received::Message(text) => self.peer.handle(&text, self.clock.now()),
                    Received::TooLong { bytes, answers } => self.peer.handle_too_long(bytes, answers),
                    Received::Failed { id, error } => self.peer.handle_failure(id, error),
                    Received::Violation(violation) => self.observer.violation(violation, self.clock.now()),
                    Received::Renewed => self.observer.renewed(),
                    Received::Lost(error) => return End::Lost(self.observer.lost(error)),
                },
                () = fire(timer) => {
                    self.timer = None;
                    self.peer.handle_timeout(self.clock.now());
                }
            }
            self.act();
        }
    }

    fn arm(&mut self) {
        let Some(due) = self.peer.poll_timeout() else { return };
        if self.timer.as_ref().is_none_or(|(armed, _)| *armed > due) {
            self.timer = Some((due, self.clock.sleep_until(due)));
        }
    }

    /// Takes the commands that wait, so that they are sent together.
    fn take_turn(&mut self, first: Command, commands: &mut mpsc::Receiver<Command>) {
        let rest = std::iter::from_fn(|| commands.try_recv().ok());
        for command in std::iter::once(first).chain(rest).take(limits::COMMANDS_PER_TURN) {
            match command {
                Command::Request(request) if self.is_busy() => (request.waiter)(Ended::Busy),
                Command::Request(request) => self.peer.request(request, self.clock.now()),
                Command::Notify { method, params } => self.peer.notify(method, &params),
                Command::Settle(revision) => {
                    self.peer.set_revision(revision);
                    self.transport.settle(revision);
                }
                Command::Envelope(members) => self.peer.set_envelope(members),
                Command::Cancel { key } => self.peer.cancel(key),
                Command::Respond { ticket, answer } => self.peer.respond(ticket, answer, self.clock.now()),
            }
            self.act();
        }
    }

    fn is_busy(&self) -> bool {
        self.transport.is_congested() || self.peer.pending() >= limits::MAX_CALLS_IN_FLIGHT
    }

    fn act(&mut self) {
        while let Some(action) = self.peer.poll_action() {
            match action {
                Action::Send(_) if self.transport.is_congested() => {
                    self.observer.violation(Violation::Unsent, self.clock.now());
                }
                Action::Send(message) => self.transport.send(message),
                Action::Abandon { id } => self.transport.abandon(id),
                Action::Settled { waiter, outcome } => waiter(outcome.into()),
                Action::Progress { key, params } => self.observer.progress(key, params),
                Action::Asked(asked) => {
                    let ticket = asked.ticket;
                    if let Some(answer) = self.observer.asked(asked) {
                        self.peer.respond(ticket, answer, self.clock.now());
                    }
                }
                Action::Withdrawn { ticket } => self.observer.withdrawn(ticket),
                Action::Notified { method, params, of } => self.observer.notified(&method, params.as_deref(), of),
                Action::Violation(violation) => self.observer.violation(violation, self.clock.now()),
            }
        }
    }
}

impl End {
    fn told(&self) -> Ended {
        match self {
            Self::Closed => Ended::Closed,
            Self::Lost(error) => Ended::Lost(Arc::clone(error)),
        }
    }

    fn told_unsent(&self) -> Ended {
        match self {
            Self::Closed => Ended::Closed,
            Self::Lost(error) => Ended::NotSent(Arc::clone(error)),
        }
    }
}

impl From<Outcome> for Ended {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Result(result) => Self::Result(result),
            Outcome::Error(error) => Self::Error(error),
            Outcome::TimedOut { waited } => Self::TimedOut { waited },
            Outcome::TooLong { bytes } => Self::TooLong { bytes },
            Outcome::Failed(error) => Self::Failed(error),
            Outcome::Cancelled => Self::Cancelled,
        }
    }
}

async fn fire(timer: Option<&mut Sleep>) {
    match timer {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
