//! A WebSocket as one connection: each text frame is a message, and who is behind it was settled when it opened. Messages
//! of both eras may follow each other.

mod lane;
pub(crate) mod opening;
mod socket;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::stream::{FuturesUnordered, Stream as _};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use self::lane::{Lane, LaneOutbox};
use self::opening::Opening;
use self::socket::{Breach, End, Event, Progress, Socket};
use super::reply::{HttpReply, full, limited};
use super::site::{Caller, Site};
use crate::host::server::Abort;
use crate::limits;
use crate::protocol::request;
use crate::protocol::revision::Era;
use crate::server::answer::Answer;
use crate::server::claims::Around;
use crate::server::connection::{Connection, Identity};
use crate::server::dispatch::{Accepted, Pending};
use crate::server::tenants::Membership;
use crate::transport::listen::Afterwards;

impl Site {
    pub(crate) fn websocket(self: &Arc<Self>, opening: &Opening<'_>, upgrade: OnUpgrade, caller: Caller) -> HttpReply {
        let mut reply = match opening.accept() {
            Ok(reply) => reply,
            Err(refusal) => return refusal,
        };
        if self.server().is_stopping() {
            return full();
        }
        let membership = match self.server().admit(&caller.identity.tenant, Era::Session) {
            Ok(membership) => membership,
            Err(error) => return limited(None, &error),
        };
        let site = Arc::clone(self);
        reply.extensions_mut().insert(Afterwards::new(async move {
            // One that did not come about has no client either.
            if let Ok(upgraded) = upgrade.await {
                serve(&site, TokioIo::new(upgraded), caller.identity, membership).await;
            }
        }));
        reply
    }
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Close {
    By(End),
    Idle,
    Heartbeat,
    Stopped,
}

impl Close {
    /// What those who are at work for it are told.
    const fn reason(self) -> Abort {
        match self {
            Self::By(_) => Abort::Closed,
            Self::Idle => Abort::Idle,
            Self::Heartbeat => Abort::Heartbeat,
            Self::Stopped => Abort::Stopped,
        }
    }

    /// What the other side is told (RFC 6455, section 7.4.1); nothing where it is gone, or has said so itself.
    const fn frame(self) -> Option<(u16, &'static str)> {
        Some(match self {
            Self::By(End::Gone | End::Closed) => return None,
            Self::By(End::Breach(Breach::Binary)) => (1003, "only text is taken"),
            Self::By(End::Breach(Breach::TooLong)) => (1009, "the message is too long"),
            Self::By(End::Breach(Breach::NotText)) => (1007, "the text is not UTF-8"),
            Self::By(End::Breach(Breach::Protocol)) => (1002, "protocol error"),
            Self::By(End::Slow) => (1008, "messages are read too slowly"),
            Self::Idle => (1001, "idle for too long"),
            Self::Heartbeat => (1001, "a heartbeat was missed"),
            Self::Stopped => (1001, "the server stops"),
        })
    }
}

struct Line<'a, S> {
    site: &'a Site,
    connection: Arc<Connection>,
    lane: Arc<Lane>,
    socket: Socket<S>,
    running: FuturesUnordered<Pending>,
    /// So many requests can be under way, before more are not read.
    max_running: usize,
    /// When the last message came, or the last request ended.
    heard: Instant,
    /// How far it was at the last heartbeat.
    beat: Progress,
    is_pong_due: bool,
}

/// What a connection wakes up for.
enum Turn {
    Socket(Event),
    Answered,
    Due,
    Stop,
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    site: &Site,
    io: S,
    identity: Identity,
    membership: Option<Membership>,
) {
    let limits = site.limits();
    let waiting = Arc::new(Lane::new(limits.max_buffered_bytes));
    let outbox = Box::new(LaneOutbox(Arc::clone(&waiting)));
    let connection = site
        .server()
        .connect(identity, false, site.own_slots(), outbox, membership);
    let mut line = Line {
        site,
        connection,
        socket: Socket::new(io, Arc::clone(&waiting), limits.max_body_bytes).await,
        lane: waiting,
        running: FuturesUnordered::new(),
        max_running: limits
            .max_concurrent_requests
            .saturating_add(limits.max_queued_requests)
            .saturating_add(limits::MAX_LISTENERS),
        heard: site.clock().now(),
        beat: Progress::default(),
        is_pong_due: false,
    };
    let close = line.run().await;
    line.end(close).await;
}

impl<S: AsyncRead + AsyncWrite + Unpin> Line<'_, S> {
    async fn run(&mut self) -> Close {
        let clock = self.site.clock();
        let heartbeat = self.site.limits().heartbeat_interval;
        let idle = self.site.limits().idle_timeout.duration();
        let mut stop = pin!(self.site.close().cancelled());
        let mut beat_at = self.heard.checked_add(heartbeat);
        let mut idle_at = idle.and_then(|idle| self.heard.checked_add(idle));
        loop {
            let mut due = match [beat_at, idle_at].into_iter().flatten().min() {
                Some(until) => clock.sleep_until(until),
                None => Box::pin(std::future::pending()),
            };
            loop {
                let turn = poll_fn(|cx| {
                    if stop.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(Turn::Stop);
                    }
                    // Before what comes in, so that those who talk without a pause are not kept for that.
                    if due.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(Turn::Due);
                    }
                    self.poll(cx)
                })
                .await;
                match turn {
                    Turn::Socket(Event::Text(text)) => self.take(&text),
                    Turn::Socket(Event::Pong) => self.is_pong_due = false,
                    Turn::Socket(Event::Control) => {}
                    Turn::Socket(Event::End(end)) => return Close::By(end),
                    Turn::Answered => self.heard = clock.now(),
                    Turn::Stop => return Close::Stopped,
                    Turn::Due => break,
                }
            }
            let now = clock.now();
            if idle_at.is_some_and(|at| at <= now)
                && let Some(idle) = idle
            {
                if self.is_busy() {
                    self.heard = now;
                } else if now.saturating_duration_since(self.heard) >= idle {
                    return Close::Idle;
                }
                idle_at = self.heard.checked_add(idle);
            }
            if beat_at.is_some_and(|at| at <= now) {
                if self.is_dead() {
                    return Close::Heartbeat;
                }
                beat_at = now.checked_add(heartbeat);
            }
        }
    }

    /// Writing and answering come first: whoever does not read is not read from.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        if let Some(end) = self.socket.poll_write(cx) {
            return Poll::Ready(Turn::Socket(Event::End(end)));
        }
        if let Poll::Ready(Some(answer)) = Pin::new(&mut self.running).poll_next(cx) {
            self.tell(answer);
            return Poll::Ready(Turn::Answered);
        }
        if self.lane.is_full() || self.is_full() {
            return Poll::Pending;
        }
        self.socket.poll_read(cx).map(Turn::Socket)
    }

    /// Takes one message.
    fn take(&mut self, text: &str) {
        let limits = self.site.limits();
        let server = self.site.server();
        let accepted = match request::read(text, limits.max_json_depth) {
            Ok(incoming) => {
                self.heard = self.site.clock().now();
                server.take(&self.connection, limits, incoming, Around::default())
            }
            Err(refusal) => {
                let answer = server.refuse(&refusal);
                // Nobody waits for the answer to a notification.
                if refusal.is_notification {
                    Accepted::Nothing
                } else {
                    Accepted::Now(answer)
                }
            }
        };
        match accepted {
            Accepted::Nothing => {}
            Accepted::Now(answer) => self.tell(Some(answer)),
            Accepted::Later(pending) => self.running.push(pending),
        }
    }

    fn tell(&self, answer: Option<Answer>) {
        if let Some(answer) = answer {
            self.lane.push(answer.text, answer.load);
        }
    }

    /// Those above the bound are refused at once, and so need no client to end.
    fn is_full(&self) -> bool {
        self.running.len() > self.max_running
    }

    fn is_busy(&self) -> bool {
        !self.running.is_empty() || self.connection.is_busy()
    }

    /// One heartbeat: whether the last one was missed. A side that is in the middle of a long message cannot answer, and
    /// is not dead while that message moves.
    fn is_dead(&mut self) -> bool {
        let progress = self.socket.progress();
        let since = std::mem::replace(&mut self.beat, progress);
        if self.is_pong_due {
            let writes = self.socket.is_writing() && progress.has_written(since);
            return !writes && !progress.is_within_a_frame(since) && !self.is_full();
        }
        self.is_pong_due = true;
        self.socket.ping();
        false
    }

    async fn end(mut self, close: Close) {
        if close == Close::Stopped {
            // Whatever was given up answers at once.
            while let Some(answer) = poll_fn(|cx| Pin::new(&mut self.running).poll_next(cx)).await {
                self.tell(answer);
            }
        }
        self.site.server().disconnect(&self.connection, close.reason());
        let network = &self.site.server().counters().network;
        match close {
            Close::Idle => network.idle.add(),
            Close::Heartbeat => network.silent.add(),
            Close::By(End::Slow) => network.slow_readers.add(),
            Close::By(_) | Close::Stopped => {}
        }
        self.running.clear();
        if close == Close::Stopped && !self.write_all().await {
            return;
        }
        let clock = self.site.clock();
        let patience = clock.sleep_until(clock.now() + limits::WEBSOCKET_CLOSE_WAIT);
        tokio::select! {
            () = self.say_goodbye(close) => {}
            () = patience => {}
        }
    }

    /// Writes whatever waits; false when nobody reads it. The port has a patience of its own with all that it closes.
    async fn write_all(&mut self) -> bool {
        poll_fn(|cx| match self.socket.poll_write(cx) {
            Some(_) => Poll::Ready(false),
            None if self.socket.is_writing() => Poll::Pending,
            None => Poll::Ready(true),
        })
        .await
    }

    async fn say_goodbye(&mut self, close: Close) {
        // What is on its way is written to its end, or nothing could follow it.
        if poll_fn(|cx| self.socket.poll_flush(cx)).await.is_err() {
            return;
        }
        if let Some((code, reason)) = close.frame() {
            self.socket.close(code, reason);
            if poll_fn(|cx| self.socket.poll_flush(cx)).await.is_err() {
                return;
            }
        }
        let io = self.socket.io();
        let _is_over = io.shutdown().await;
        if close.frame().is_none() {
            // The server ends the connection first (RFC 6455, section 7.1.1).
            return;
        }
        // What the other side has sent has to be read, or its system drops what it was told.
        let mut sink = vec![0; limits::WEBSOCKET_READ_BYTES];
        while io.read(&mut sink).await.is_ok_and(|read| read > 0) {}
    }
}
