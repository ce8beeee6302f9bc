//! Bringing a server up again whose connection was lost: by the next call, once for all calls that come meanwhile. Nothing
//! is listed, and the routes stay. What was under way when the connection was lost has failed and is never sent again.

use std::mem;
use std::sync::Arc;

use tokio::sync::watch;

use super::connect::Attempt;
use super::connection::Connection;
use super::options::Endpoint;
use super::start::rule_of_failure;
use super::state::server::{Live, Server, State};
use super::state::shared::Shared;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorCode, Result};
use crate::json;
use crate::protocol::handshake::Established;
use crate::protocol::revision::Revision;

/// Why a server cannot be called.
#[derive(Debug)]
pub(super) enum Down {
    /// The toolset is closed.
    Closed,
    Because(Arc<Error>),
}

/// A server that can be called, or will be told about when connecting it has ended.
pub(super) struct Coming(Option<watch::Receiver<u64>>);

impl Coming {
    pub(super) const fn is_there(&self) -> bool {
        self.0.is_none()
    }

    /// # Errors
    /// Why it cannot be called after all.
    pub(super) async fn end(self, server: &Server) -> Result<(), Down> {
        let Some(mut turn) = self.0 else { return Ok(()) };
        // The sender lives as long as the server.
        drop(turn.changed().await);
        // Where a newer attempt is under way by now, the one that was waited for has failed, or was lost at once.
        standing(server, &server.state()).map(|_| ())
    }
}

impl Shared {
    /// Resolves as soon as a server can be called, and has it brought up again where it was lost.
    ///
    /// # Errors
    /// Why it cannot be called. What an attempt failed with is told to all who waited for that one.
    pub(super) async fn up(self: &Arc<Self>, index: usize) -> Result<(), Down> {
        let Some(server) = self.servers.get(index) else {
            return Err(Down::Closed);
        };
        let coming = self.look(index, server, &mut server.state())?;
        coming.end(server).await
    }

    /// Begins to bring a server up again where it was lost.
    ///
    /// # Errors
    /// Why it cannot be called.
    pub(super) fn look(self: &Arc<Self>, index: usize, server: &Server, state: &mut State) -> Result<Coming, Down> {
        match state {
            State::Asleep => self.begin_start(index, state),
            State::Ready(live) => {
                if let Some(lost) = live.connection.lost().cloned() {
                    // Only what was not meant counts.
                    if !live.is_stopped {
                        self.begin_retry(server, &lost)?;
                    }
                    self.begin_revival(index, state);
                }
            }
            State::Unavailable { .. } => self.try_woken_again(index, server, state)?,
            State::Connecting | State::Reviving(_) | State::Closed => {}
        }
        match state {
            State::Connecting | State::Reviving(_) => Ok(Coming(Some(server.turns.subscribe()))),
            other => standing(server, other).map(|_| Coming(None)),
        }
    }

    /// # Errors
    /// Why a server that `cause` keeps from its calls may not be tried now.
    pub(super) fn begin_retry(&self, server: &Server, cause: &Arc<Error>) -> Result<(), Down> {
        let is_child = matches!(server.config.endpoint, Endpoint::Stdio(_));
        server
            .retries()
            .begin(is_child, cause, self.clock.now())
            .map_err(Down::Because)
    }

    fn begin_revival(self: &Arc<Self>, index: usize, state: &mut State) {
        let State::Ready(live) = mem::replace(state, State::Connecting) else {
            return;
        };
        let before = live.established.revision;
        let ended = live.connection.ended();
        *state = State::Reviving(live);
        let attempted = Attempted {
            shared: Arc::clone(self),
            index,
            outcome: None,
        };
        self.tasks.spawn(attempted.run(before, ended));
    }

    fn end_revival(self: &Arc<Self>, index: usize, server: &Server, outcome: Result<(Connection, Established)>) {
        let mut state = server.state();
        let State::Reviving(mut live) = mem::replace(&mut *state, State::Closed) else {
            // It was closed meanwhile, and stays so. What was opened ends with its handle.
            return;
        };
        live.is_stopped = false;
        let problem = match outcome {
            Ok((connection, established)) => {
                server.retries().succeeded();
                live = Live {
                    connection,
                    established,
                    ..live
                };
                None
            }
            Err(error) => {
                let text = format!(
                    "MCP server {} could not be brought up again: {error}",
                    json::quote(&server.config.name)
                );
                let diagnostic = Diagnostic::new(rule_of_failure(&error), &server.config.name, text);
                server.retries().failed(error, self.clock.now());
                Some(diagnostic)
            }
        };
        *state = State::Ready(live);
        server.turns.send_modify(|turn| *turn += 1);
        drop(state);
        if problem.is_none() {
            self.attend(index, server);
            self.watch_idleness(index, server);
        }
        self.tell_status(server);
        if let Some(diagnostic) = problem {
            self.listener.diagnostic(diagnostic);
        }
    }
}

/// The connection that a call can take, or why there is none.
pub(super) fn standing<'a>(server: &Server, state: &'a State) -> Result<&'a Connection, Down> {
    match state {
        State::Ready(live) => match live.connection.lost() {
            None => Ok(&live.connection),
            Some(lost) => Err(Down::Because(server.retries().cause(lost))),
        },
        State::Reviving(live) => Err(Down::Because(match live.connection.lost() {
            Some(lost) => server.retries().cause(lost),
            None => Arc::new(Error::new(ErrorCode::Unavailable, "it is being brought up again")),
        })),
        State::Connecting | State::Asleep => Err(Down::Because(Arc::new(Error::new(
            ErrorCode::Unavailable,
            "the toolset is still connecting",
        )))),
        State::Unavailable { cause, .. } => Err(Down::Because(Arc::clone(cause))),
        State::Closed => Err(Down::Closed),
    }
}

/// An attempt under way. However its task ends, the attempt does.
struct Attempted {
    shared: Arc<Shared>,
    index: usize,
    outcome: Option<Result<(Connection, Established)>>,
}

impl Attempted {
    async fn run(mut self, before: Revision, old: impl Future<Output = ()>) {
        let shared = Arc::clone(&self.shared);
        let Some(server) = shared.servers.get(self.index) else {
            return;
        };
        shared.tell_status(server);
        // What the old one holds, a file or a port, the new one may need.
        old.await;
        // It was connected before, so that there is a way to.
        if let Some(attempt) = Attempt::of(&shared, self.index, server, Some(before)) {
            self.outcome = Some(attempt.reopen().await);
        }
    }
}

impl Drop for Attempted {
    fn drop(&mut self) {
        if let Some(server) = self.shared.servers.get(self.index) {
            let failed = || Err(Error::new(ErrorCode::Unavailable, "the task that connects it failed"));
            self.shared
                .end_revival(self.index, server, self.outcome.take().unwrap_or_else(failed));
        }
    }
}
