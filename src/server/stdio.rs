//! A server on a stream of lines: one connection, whose client is the operator of this machine.

use std::sync::Arc;

use futures_util::future::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, Fault};
use super::connection::{Connection, Identity, Outbox, Weight};
use super::dispatch::{Accepted, Pending};
use super::lifecycle::Server;
use super::slots::Slots;
use crate::guard::server_limits::ServerLimits;
use crate::host::server::Abort;
use crate::protocol::codes::{self, WireError};
use crate::protocol::revision::Era;
use crate::protocol::wire::lines::{Line, Lines};
use crate::transport::outlet::Outlet;

/// Where bytes come from.
pub(crate) trait Source: Send {
    /// What came next; nothing at the end.
    fn next(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send;
}

impl Source for crate::transport::stdio::Input {
    async fn next(&mut self) -> Option<Vec<u8>> {
        Self::next(self).await
    }
}

struct Lane(Arc<Outlet>);

impl Outbox for Lane {
    fn send(&self, _about: Option<&str>, text: String, weight: Weight) {
        if weight == Weight::Needed || !self.0.is_full() {
            self.0.push(&text);
        }
    }
}

/// Serves until the input ends, nobody reads the output, or it is stopped; then what is under way comes to its end, and
/// everything is written.
pub(crate) async fn serve(
    server: Arc<Server>,
    limits: ServerLimits,
    mut source: impl Source,
    outlet: Arc<Outlet>,
    stop: CancellationToken,
) {
    let slots = Slots::new(limits.max_concurrent_requests, limits.max_queued_requests);
    let lane = Box::new(Lane(Arc::clone(&outlet)));
    // There is no other way to refuse it than not to start: it counts, and is never one too many.
    let membership = server.admit(&None, Era::Session).ok().flatten();
    let connection = server.connect(Identity::default(), true, Arc::new(slots), lane, membership);
    let mut service = Service {
        server: Arc::clone(&server),
        limits,
        connection,
        outlet: Arc::clone(&outlet),
        running: FuturesUnordered::new(),
    };
    let mut lines = Lines::new(service.limits.max_body_bytes);
    loop {
        let chunk = async {
            // A client that does not read is not read from.
            outlet.until_roomy().await;
            source.next().await
        };
        tokio::select! {
            chunk = chunk => {
                let Some(chunk) = chunk else {
                    while let Some(line) = lines.finish() {
                        service.take(line);
                    }
                    break;
                };
                lines.push(&chunk);
                while let Some(line) = lines.pop() {
                    service.take(line);
                }
            }
            Some(answer) = service.running.next() => service.answer(answer),
            () = outlet.until_broken() => break,
            () = stop.cancelled() => break,
        }
    }
    service.end().await;
}

struct Service {
    server: Arc<Server>,
    limits: ServerLimits,
    connection: Arc<Connection>,
    outlet: Arc<Outlet>,
    /// What is under way, given up with the service. All of it belongs to one task: answers that the program gives together
    /// wake it once, and no other thread.
    running: FuturesUnordered<Pending>,
}

impl Service {
    fn take(&mut self, line: Line) {
        let text = match line {
            Line::Text { text, lossy: false } => text,
            Line::Text { lossy: true, .. } => {
                return self.refuse(&WireError::new(codes::PARSE_ERROR, "the line is no valid UTF-8"));
            }
            Line::TooLong { bytes, .. } => {
                let text = format!(
                    "the line has {bytes} bytes, and {} are taken",
                    self.limits.max_body_bytes
                );
                return self.refuse(&WireError::new(codes::INVALID_REQUEST, text));
            }
        };
        match self.server.accept(&self.connection, &self.limits, &text) {
            Accepted::Nothing => {}
            Accepted::Now(answer) => self.outlet.push(&answer.text),
            Accepted::Later(pending) => self.running.push(pending),
        }
    }

    /// Writes an answer, and all others that are there.
    fn answer(&mut self, first: Option<Answer>) {
        let mut next = Some(first);
        while let Some(answer) = next {
            if let Some(answer) = answer {
                self.outlet.push(&answer.text);
            }
            next = self.running.next().now_or_never().flatten();
        }
    }

    fn refuse(&self, error: &WireError) {
        self.outlet.push(&Answer::refusal(None, error, Fault::Malformed).text);
    }

    async fn end(mut self) {
        let (server, limits) = (Arc::clone(&self.server), self.limits.clone());
        let finishing = async {
            // Whatever was given up answers at once.
            while let Some(answer) = self.running.next().await {
                self.answer(answer);
            }
        };
        tokio::join!(server.stop(&limits), finishing);
        self.server.disconnect(&self.connection, Abort::Stopped);
        let clock = self.server.clock();
        let patience = async {
            match clock.now().checked_add(self.limits.shutdown_timeout) {
                Some(until) => clock.sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.outlet.finish() => {}
            () = patience => self.outlet.break_off(),
        }
        self.server.stopped();
    }
}
