//! Waking: a toolset out of stored rows. Its map is made of what the servers listed last, held against what they are
//! trusted by, before any of them is asked. Then each is connected and listed once, and map and row are corrected where
//! they differ. Only what was stored is woken: a configuration without a row is a cold start, and not this.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::revive::Down;
use super::rows::Keep;
use super::state::server::{Server, State};
use super::state::shared::Shared;
use super::stored_tools::all_listed;
use super::toolset::Toolset;
use crate::error::{Error, ErrorCode, Result};
use crate::limits;

impl Toolset {
    /// Makes the map of what the rows list. A server whose row lists nothing is connected for it, as if it were new.
    ///
    /// # Errors
    /// `invalid-option`; `closed` when the toolset is closed meanwhile.
    pub(crate) async fn wake(&self) -> Result<()> {
        // Side by side: whoever wakes waits for all of it.
        let mut work = JoinSet::new();
        let shared = Arc::clone(&self.0);
        work.spawn_on(async move { shared.prepare_http() }, &self.0.tasks.runtime);
        for index in 0..self.0.servers.len() {
            let shared = Arc::clone(&self.0);
            work.spawn_on(
                async move {
                    shared.remember(index);
                    Ok(())
                },
                &self.0.tasks.runtime,
            );
        }
        while let Some(done) = work.join_next().await {
            done.unwrap_or(Ok(()))?;
        }
        let unlisted = self.indices(|_, server| server.listed().tools.is_empty());
        self.connect_all(&unlisted, Keep::IfChanged).await?;
        self.0.publish();
        for index in unlisted {
            self.0.begin_relisting(index);
        }
        Ok(())
    }

    /// Connects and lists those that were woken, each on its own. Ends when all were tried, or the toolset was closed.
    pub(crate) async fn reconcile(&self) {
        let woken = self.indices(|_, server| server.is_connecting());
        let tried = self
            .side_by_side(&woken, |shared, index, permit| async move {
                shared.check_against_server(index).await;
                drop(permit);
            })
            .await;
        // Whoever closed the toolset knows.
        drop(tried);
    }

    pub(super) fn indices(&self, are: impl Fn(&Shared, &Server) -> bool) -> Vec<usize> {
        let servers = self.0.servers.iter().enumerate();
        servers
            .filter(|(_, server)| are(&self.0, server))
            .map(|(index, _)| index)
            .collect()
    }
}

impl Shared {
    /// A server that has tools without ever having been connected was down when it was woken, or called for the first time:
    /// a call has it tried again, but for a moment after each failure, and a child no more often than one that died.
    ///
    /// # Errors
    /// Why a child may not be started now.
    pub(super) fn try_woken_again(
        self: &Arc<Self>,
        index: usize,
        server: &Server,
        state: &mut State,
    ) -> Result<(), Down> {
        let State::Unavailable { at, cause } = state else {
            return Ok(());
        };
        let is_left_alone = self.clock.now().saturating_duration_since(*at) < limits::REVIVAL_PAUSE;
        if is_left_alone || server.listed().tools.is_empty() {
            return Ok(());
        }
        self.begin_retry(server, cause)?;
        self.begin_start(index, state);
        Ok(())
    }

    /// Connects a server whose tools are known already, and lists it. It can be called as soon as it is connected.
    pub(super) async fn check_against_server(self: &Arc<Self>, index: usize) {
        let Some(server) = self.servers.get(index) else {
            return;
        };
        let _trying = Trying { shared: self, server };
        // Only a child may be switched off, and then it is neither woken nor left alone.
        let Some(attempt) = self.attempt(index, server) else {
            return;
        };
        match attempt.open_alone().await {
            Ok(opened) => {
                self.welcome(index, server, opened);
                let problem = "was connected, and could not be listed; its tools stay as they were known";
                self.list_and_publish(server, problem).await;
            }
            Err(error) => self.fail(server, error),
        }
        self.begin_relisting(index);
    }

    /// Takes what the row of a server says, unless the server is left alone for now.
    fn remember(&self, index: usize) {
        let awake = self.servers.get(index).filter(|server| !self.leave_asleep(server));
        let Some((server, mut row)) = awake.and_then(|server| Some((server, server.take_row()?))) else {
            return;
        };
        let stored = row.tools.take().unwrap_or_default();
        let is_within_limits = stored.len() as u64 <= self.options.listing.max_tools;
        let tools = all_listed(stored).filter(|_| is_within_limits).unwrap_or_default();
        server.note_kept(&row, &tools);
        // The baseline of the row is there already.
        let mut listed = server.listed();
        listed.tools = Arc::new(tools);
        listed.is_whole = true;
    }
}

/// An attempt under way. However it ends, the server is not connecting any more.
struct Trying<'a> {
    shared: &'a Shared,
    server: &'a Server,
}

impl Drop for Trying<'_> {
    fn drop(&mut self) {
        let error = Error::new(ErrorCode::Unavailable, "the task that connects it failed");
        self.shared.fail(self.server, error);
    }
}
