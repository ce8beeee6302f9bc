//! A server on a stream of lines: one connection, whose client is the operator of this machine.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, Fault};
use super::connection::{Connection, Identity, Outbox, Weight};
use super::dispatch::Accepted;
use super::lifecycle::Server;
use super::slots::Slots;
use crate::guard::server_limits::ServerLimits;
use crate::host::server::Abort;
use crate::protocol::codes::{self, WireError};
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
    let connection = server.connect(Identity::default(), true, Arc::new(slots), lane);
    let mut service = Service {
        server: Arc::clone(&server),
        limits,
        connection,
        outlet: Arc::clone(&outlet),
        running: JoinSet::new(),
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
            Some(_) = service.running.join_next() => {}
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
    /// What is under way: aborted with the service.
    running: JoinSet<()>,
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
            Accepted::Later(pending) => {
                let outlet = Arc::clone(&self.outlet);
                self.running.spawn(async move {
                    if let Some(answer) = pending.await {
                        outlet.push(&answer.text);
                    }
                });
            }
        }
    }

    fn refuse(&self, error: &WireError) {
        self.outlet.push(&Answer::refusal(None, error, Fault::Malformed).text);
    }

    async fn end(mut self) {
        self.server.stop(&self.limits).await;
        // Whatever was given up answers at once.
        while self.running.join_next().await.is_some() {}
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
