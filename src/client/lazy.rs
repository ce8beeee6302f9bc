//! Servers that are left alone until they are called, because what they list is known: it was given by hand, or a store
//! remembers it. The first call starts the server; behind it the server is listed once, and the map is corrected.

use std::fmt::Write as _;
use std::sync::{Arc, PoisonError};

use sha2::{Digest as _, Sha256};

use super::options::{Endpoint, OnListChanged, ServerConfig};
use super::rows::Rows;
use super::state::listed::Listed;
use super::state::row_mark::RowMark;
use super::state::server::{Server, State};
use super::state::shared::Shared;
use super::stored_tools;
use crate::catalog::drift::Baseline;
use crate::catalog::listing::ListedTool;
use crate::guard::redact::Redactor;
use crate::host::QuestionKind;
use crate::limits;
use crate::store::listings::PersistedListing;
use crate::transport::child::Launch;

/// Gives a stdio server the listing that a store remembers of it, unless it has one. What is returned stands for what the
/// store has.
pub(super) fn recall(config: &mut ServerConfig, id: &str, rows: Option<Rows<'_>>) -> Option<RowMark> {
    let Endpoint::Stdio(launch) = &config.endpoint else {
        return None;
    };
    let launch = digest(launch);
    let mut listings = rows?.listings?.iter();
    let listing = listings.find(|listing| listing.id == id && listing.launch == launch)?;
    let tools = stored_tools::all_listed(listing.tools.clone())?;
    let mark = mark(id, &launch, &tools);
    if config.given.as_ref().is_none_or(Vec::is_empty) {
        config.given = Some(tools);
    }
    Some(mark)
}

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
        let stored = row
            .as_ref()
            .and_then(|row| stored_tools::all_listed(row.tools.clone()?));
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

    /// Saves what a lazy server listed that has no row. It is a cache, and no baseline: the trust in a stdio server begins
    /// anew with each toolset.
    pub(super) async fn keep_listing(&self, server: &Server) {
        let Endpoint::Stdio(launch) = &server.config.endpoint else {
            return;
        };
        if !self.keeps_listings || !server.config.lazy.unwrap_or(self.options.lazy) {
            return;
        }
        let (tools, _) = server.listed().parts();
        let mark = mark(&server.projected_name, &digest(launch), &tools);
        if *server.kept() == Some(mark) {
            return;
        }
        let listing = PersistedListing {
            id: server.projected_name.clone(),
            launch: digest(launch),
            tools: tools.iter().map(|tool| stored_tools::persisted(tool)).collect(),
        };
        let text = listing.to_json();
        let secret = Redactor::new(launch.env.iter().map(|(_, value)| value.as_str()));
        // What is not kept costs a start the next time.
        let is_kept = text.len() <= limits::MAX_TEXT_TO_JS_BYTES / 2 && !secret.is_repeated_in(&text);
        let saved = if is_kept {
            self.save(server, QuestionKind::SaveListing, text).await
        } else {
            Ok(())
        };
        self.note_saved(server, mark, saved);
    }
}

/// How a server is started, without anything that may be secret: of its variables the names.
fn digest(launch: &Launch) -> String {
    let mut names: Vec<_> = launch.env.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    let text = format!(
        "{:?} {:?} {names:?} {:?} {:?}",
        launch.command, launch.args, launch.cwd, launch.plugin
    );
    let mut digest = String::new();
    for byte in Sha256::digest(text) {
        // Writing to a string cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

fn mark(id: &str, launch: &str, tools: &[Arc<ListedTool>]) -> RowMark {
    let mut hash = Sha256::new();
    let digests = tools.iter().map(|tool| tool.fingerprint().digest.as_str());
    for text in [id, launch]
        .into_iter()
        .chain(tools.iter().map(|tool| tool.name.as_str()))
        .chain(digests)
    {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    hash.finalize().into()
}

fn digests(tools: &[Arc<ListedTool>]) -> impl Iterator<Item = (String, String)> {
    tools
        .iter()
        .map(|tool| (tool.name.clone(), tool.fingerprint().digest.clone()))
}
