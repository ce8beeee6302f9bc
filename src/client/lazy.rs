//! Servers that are left alone until they are called, because what they list is known: it was given by hand, or a store
//! remembers it. The first call starts the server; behind it the server is listed once, and the map is corrected.

use std::sync::{Arc, PoisonError};

use super::catalogue::Listed;
use super::options::{Endpoint, OnListChanged};
use super::rows;
use super::server::{Server, State};
use super::shared::Shared;
use crate::catalog::drift::Baseline;
use crate::catalog::listing::ListedTool;

impl Shared {
    /// Leaves a server alone that is lazy and whose listing is known. False when it is to be connected.
    pub(super) fn leave_asleep(&self, server: &Server) -> bool {
        let is_off = matches!(server.config.endpoint, Endpoint::Stdio(_)) && !self.options.stdio;
        if !self.may_sleep || is_off || !server.config.lazy.unwrap_or(self.options.lazy) {
            return false;
        }
        let Some((tools, baseline)) = self.known_listing(server) else {
            return false;
        };
        // It may have been closed meanwhile, and stays so.
        let mut state = server.state();
        if matches!(*state, State::Connecting) {
            *server.listed() = Listed::remembered(tools, baseline);
            *state = State::Asleep;
        }
        true
    }

    /// What a server lists as far as that is known, and what it is trusted by. A stored baseline guards whatever is given.
    fn known_listing(&self, server: &Server) -> Option<(Vec<Arc<ListedTool>>, Option<Baseline>)> {
        let row = server.row.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = row.as_ref().and_then(|row| rows::all_listed(row.tools.as_deref()?));
        if let Some(row) = row.as_ref() {
            server.note_kept(row, stored.as_deref().unwrap_or_default());
        }
        let is_there = |tools: &Vec<Arc<ListedTool>>| !tools.is_empty();
        let given = server.config.given.clone().filter(is_there);
        let tools = given.or_else(|| stored.filter(is_there))?;
        if tools.len() as u64 > self.options.listing.max_tools {
            return None;
        }
        let recorded = server.listed().parts().1.map(|baseline| (*baseline).clone());
        let guards = self.options.on_list_changed == OnListChanged::Guard;
        let baseline = recorded.or_else(|| guards.then(|| Baseline::new(digests(&tools))));
        Some((tools, baseline))
    }

    /// The first call of a server that was left alone.
    pub(super) fn begin_start(self: &Arc<Self>, index: usize, state: &mut State) {
        *state = State::Connecting;
        let shared = Arc::clone(self);
        self.tasks
            .spawn(async move { shared.check_against_server(index).await });
    }
}

fn digests(tools: &[Arc<ListedTool>]) -> impl Iterator<Item = (String, String)> {
    tools
        .iter()
        .map(|tool| (tool.name.clone(), tool.fingerprint().digest.clone()))
}
