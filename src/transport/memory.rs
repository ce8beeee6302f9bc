//! A transport without a wire, for tests: what the driver sends, and what it receives, are two channels.

use tokio::sync::mpsc;

use super::{Received, Transport};
use crate::protocol::message::Outgoing;

pub(crate) struct MemoryTransport {
    outgoing: mpsc::UnboundedSender<String>,
    incoming: mpsc::Receiver<Received>,
    congested: bool,
}

/// The other end.
pub(crate) struct Remote {
    pub(crate) heard: mpsc::UnboundedReceiver<String>,
    pub(crate) says: mpsc::Sender<Received>,
}

pub(crate) fn pair(congested: bool) -> (MemoryTransport, Remote) {
    let (outgoing, heard) = mpsc::unbounded_channel();
    let (says, incoming) = mpsc::channel(16);
    (
        MemoryTransport {
            outgoing,
            incoming,
            congested,
        },
        Remote { heard, says },
    )
}

impl Transport for MemoryTransport {
    fn send(&mut self, message: Outgoing) {
        // A remote that hung up hears nothing.
        drop(self.outgoing.send(message.text));
    }

    fn is_congested(&self) -> bool {
        self.congested
    }

    async fn next(&mut self) -> Received {
        match self.incoming.recv().await {
            Some(received) => received,
            None => std::future::pending().await,
        }
    }

    async fn close(self) {}
}
