//! What a connection store remembers of remote servers: the baseline that each is guarded by, and the row that is saved
//! once a server has listed. Owns what a row says and when it is written; the store is the caller's, and asked through
//! the listener.

use std::sync::Arc;

use super::options::{Endpoint, Remote};
use super::state::row_mark::{RowMark, mark};
use super::state::server::Server;
use super::state::shared::Shared;
use super::stored_tools::persisted;
use crate::catalog::drift::Baseline;
use crate::catalog::listing::ListedTool;
use crate::catalog::snapshot::{PersistedServer, encode_tools};
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, ErrorCode, Result};
use crate::host::{Question, QuestionKind};
use crate::json;
use crate::limits;
use crate::store::listings::PersistedListing;

/// What a store gave.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) stored: &'a [Arc<PersistedServer>],
    /// Of servers that have no rows; nothing from a store that keeps none.
    pub(crate) listings: Option<&'a [PersistedListing]>,
    pub(crate) purpose: Purpose,
}

impl<'a> Rows<'a> {
    /// The row of an id; the first, where a store has several.
    pub(super) fn of(&self, id: &str) -> Option<&'a Arc<PersistedServer>> {
        self.stored.iter().find(|row| row.id == id)
    }
}

/// What the rows are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be compared with what the servers list. Nothing is saved.
    Review,
    /// To guard what the servers list, and to be kept up to date.
    Guard,
    /// To be woken, and kept up to date.
    Wake,
}

/// Reads all rows that a store gave.
///
/// # Errors
/// `store`: what it gave is no array, or a row is none. Who leaves one out trusts its server anew.
pub(crate) fn parse_rows(text: &str) -> Result<Vec<Arc<PersistedServer>>> {
    let rows = PersistedServer::all_from_json(text).unwrap_or_else(|| {
        let message = "the `list` of the connection store gave no array of rows";
        Err(Error::new(ErrorCode::Store, message))
    })?;
    Ok(rows.into_iter().map(Arc::new).collect())
}

/// When a row is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Always,
    /// Unless the store has it already.
    IfChanged,
}

impl Shared {
    /// Saves what a server listed, whole and unfiltered, with what it is trusted by. A store that fails costs the server
    /// nothing but its row: the baseline is in memory as well.
    pub(super) async fn keep_row(&self, server: &Server, keep: Keep) {
        let Endpoint::Remote(remote) = &server.config.endpoint else {
            return self.keep_listing(server).await;
        };
        if !self.keeps_rows {
            return;
        }
        let (tools, baseline) = server.listed().parts();
        let Some(baseline) = baseline else { return };
        let listed = tools
            .iter()
            .map(|tool| (tool.name.as_str(), tool.fingerprint().digest.as_str()));
        let mark = mark(&bare_row(server, remote), listed, Some(&baseline.to_fingerprints()));
        if keep == Keep::IfChanged && *server.kept() == Some(mark) {
            return;
        }
        let saved = match row_text(server, remote, &tools, &baseline) {
            Ok(row) => self.save(server, QuestionKind::Save, row).await,
            Err(error) => Err(error),
        };
        self.note_saved(server, mark, saved);
    }

    /// What became of saving something of a server; the mark stands for it.
    pub(super) fn note_saved(&self, server: &Server, mark: RowMark, saved: Result<()>) {
        match saved {
            Ok(()) => *server.kept() = Some(mark),
            // Whoever closes the toolset knows.
            Err(error) if error.code() == ErrorCode::Closed => {}
            Err(error) => {
                *server.kept() = None;
                let what = if server.config.is_remote() { "row" } else { "listing" };
                let message = format!(
                    "MCP server {}: its {what} could not be saved: {error}",
                    json::quote(&server.config.name)
                );
                self.tell(
                    server,
                    Diagnostic::new(Rule::ConnectionFailure, &server.config.name, message),
                );
            }
        }
    }

    pub(super) async fn save(&self, server: &Server, kind: QuestionKind, row: String) -> Result<()> {
        let question = Question {
            kind,
            server: server.config.name.clone(),
            during: None,
            text: row,
        };
        let timeout = server.config.timeout.unwrap_or(self.options.patience.timeout);
        let time_is_up = async {
            match timeout.duration().and_then(|limit| self.clock.now().checked_add(limit)) {
                Some(end) => self.clock.sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            answer = self.listener.ask(question) => answer.map(drop),
            () = self.tasks.closing.cancelled() => Err(Error::new(ErrorCode::Closed, "the toolset was closed")),
            () = time_is_up => {
                let limit = timeout.duration().unwrap_or_default().as_millis();
                Err(Error::new(ErrorCode::Timeout, format!("the connection store did not save it within {limit} ms")))
            }
        }
    }
}

impl Server {
    /// The store has this row, with these tools.
    pub(super) fn note_kept(&self, row: &PersistedServer, tools: &[Arc<ListedTool>]) {
        let digests = tools
            .iter()
            .map(|tool| (tool.name.as_str(), tool.fingerprint().digest.as_str()));
        *self.kept() = Some(mark(row, digests, row.fingerprints.as_ref()));
    }
}

/// The row as JSON text. Nothing secret gets in: a listing that repeats a credential, or a value that was configured, is
/// left out, which costs one `tools/list`.
fn row_text(server: &Server, remote: &Remote, tools: &[Arc<ListedTool>], baseline: &Baseline) -> Result<String> {
    let fingerprints = baseline.to_fingerprints();
    if server.redactor.is_repeated_in(&fingerprints.encode()) {
        let message = "the name of a tool repeats a credential or a configured value";
        return Err(Error::new(ErrorCode::Store, message));
    }
    let mut row = bare_row(server, remote);
    row.fingerprints = Some(fingerprints);
    let tools: Vec<_> = tools.iter().map(|tool| persisted(tool)).collect();
    let listing = encode_tools(&tools);
    if listing.len() <= limits::MAX_TEXT_TO_JS_BYTES / 2 && !server.redactor.is_repeated_in(&listing) {
        row.tools = Some(tools);
    }
    Ok(row.to_json())
}

fn bare_row(server: &Server, remote: &Remote) -> PersistedServer {
    PersistedServer::new(
        server.projected_name.as_str(),
        server.config.name.as_str(),
        remote.kind,
        &remote.url,
    )
}
