//! How messages travel: the trait that the driver pumps, and what implements it. A transport knows no method and no id.

pub(crate) mod backoff;
pub(crate) mod child;
pub(crate) mod clock;
pub(crate) mod http;
pub(crate) mod listen;
#[cfg(test)]
pub(crate) mod memory;
pub(crate) mod outlet;
mod patience;
pub(crate) mod stdio;

use std::future::Future;

use crate::error::Error;
use crate::protocol::message::Outgoing;
use crate::protocol::peer::Violation;
use crate::protocol::revision::Revision;

/// One connection to a server.
pub(crate) trait Transport: Send + 'static {
    /// Takes a message over for sending and never waits. Nothing moves until `next` is polled.
    fn send(&mut self, message: Outgoing);

    /// Nobody waits for the answer to this request any more.
    fn abandon(&mut self, _id: u64) {}

    /// The handshake settled on this revision.
    fn settle(&mut self, _revision: Revision) {}

    /// Whether so much waits to be sent, because the other side does not read, that nothing more should be handed over.
    fn is_congested(&self) -> bool;

    /// Sends what waits, and receives. Cancel-safe: a dropped future loses nothing.
    fn next(&mut self) -> impl Future<Output = Received> + Send;

    /// Ends the connection in order. Everything it started is gone when this returns.
    fn close(self) -> impl Future<Output = ()> + Send;
}

#[derive(Debug)]
pub(crate) enum Received {
    Message(String),
    /// A message over the size limit, which is gone; the request that it answered, where it was an answer.
    TooLong {
        bytes: u64,
        answers: Option<u64>,
    },
    /// A request that could not be carried, or whose answer is lost.
    Failed {
        id: u64,
        error: Error,
    },
    /// A breach of the framing that cost nothing but itself.
    Violation(Violation),
    /// The other side forgot the session, and a new one was opened: it knows nothing of what it was told in the old one.
    Renewed,
    /// The connection is gone, and why. Nothing follows.
    Lost(Error),
}
