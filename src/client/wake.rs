//! Waking: a toolset out of stored rows. Its map is made of what the servers listed last, held against what they are
//! trusted by, before any of them is asked. Then each is connected and listed once, and map and row are corrected where
//! they differ. Only what was stored is woken: a configuration without a row is a cold start, and not this.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::task::JoinSet;
use url::Url;

use super::catalogue::Listed;
use super::options::{Endpoint, Remote, ServerConfig};
use super::revive::Down;
use super::rows::{Keep, all_listed};
use super::server::{Server, State};
use super::shared::Shared;
use super::toolset::Toolset;
use crate::catalog::drift::Baseline;
use crate::catalog::snapshot::{PersistedServer, without_userinfo};
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, ErrorCode, Result};
use crate::json;
use crate::limits;

/// The servers that rows remember, in the order of the rows: each with its projected name. What keeps a row from being
/// woken is told.
pub(super) fn choose(
    servers: Vec<(ServerConfig, String)>,
    rows: &[PersistedServer],
    tell: impl Fn(Diagnostic),
) -> Vec<(ServerConfig, String)> {
    let mut configured: HashMap<_, _> = servers.into_iter().map(|(config, name)| (name, config)).collect();
    let mut seen = HashSet::new();
    let mut chosen = Vec::new();
    for row in rows.iter().filter(|row| seen.insert(row.id.as_str())) {
        let problem = match configured.remove(&row.id) {
            None => "no server of that name is configured".to_owned(),
            Some(config) => match difference(&config, row) {
                None => {
                    chosen.push((config, row.id.clone()));
                    continue;
                }
                Some(difference) => difference,
            },
        };
        let message = format!(
            "MCP server {} is not woken from its stored row {}: {problem}",
            json::quote(&row.name),
            json::quote(&row.id)
        );
        tell(Diagnostic::new(Rule::ConnectionFailure, &row.name, message));
    }
    chosen
}

/// Why a row says nothing of the server that is configured now. Another endpoint is another catalogue. No URL is told: its
/// query may be secret.
fn difference(config: &ServerConfig, row: &PersistedServer) -> Option<String> {
    let Endpoint::Remote(remote) = &config.endpoint else {
        return Some("it is configured as a stdio server, and those are not stored".to_owned());
    };
    if remote.kind != row.kind {
        return Some(format!(
            "its type was {} and is configured as {} now",
            row.kind.name(),
            remote.kind.name()
        ));
    }
    (!is_at(remote, row.url())).then(|| "its url is configured differently now".to_owned())
}

fn is_at(remote: &Remote, stored: &str) -> bool {
    let configured = without_userinfo(&remote.url);
    let parsed = |url: &str| Url::parse(url).ok();
    configured == stored || parsed(&configured).is_some_and(|url| parsed(stored) == Some(url))
}

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
        let Some((server, row)) = awake.and_then(|server| Some((server, server.take_row()?))) else {
            return;
        };
        let baseline = Baseline::of_row(&row);
        let stored = row.tools.as_deref().unwrap_or_default();
        let is_within_limits = stored.len() as u64 <= self.options.listing.max_tools;
        let tools = all_listed(stored).filter(|_| is_within_limits).unwrap_or_default();
        server.note_kept(&row, &tools);
        *server.listed() = Listed::remembered(tools, baseline);
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn chosen(servers: &str, rows: &[&str]) -> (Vec<String>, Vec<String>) {
        let servers = ServerConfig::parse_all(servers).unwrap();
        let servers = servers.into_iter().map(|config| {
            let name = config.name.clone();
            (config, name)
        });
        let rows: Vec<_> = rows
            .iter()
            .map(|row| PersistedServer::from_json(row).unwrap())
            .collect();
        let told = RefCell::new(Vec::new());
        let tell = |diagnostic: Diagnostic| {
            assert_eq!(diagnostic.rule, Rule::ConnectionFailure);
            told.borrow_mut().push(diagnostic.message);
        };
        let chosen = choose(servers.collect(), &rows, tell);
        (chosen.into_iter().map(|(_, name)| name).collect(), told.into_inner())
    }

    fn row(id: &str, kind: &str, url: &str) -> String {
        format!(r#"{{"id":"{id}","name":"{id}","type":"{kind}","url":"{url}"}}"#)
    }

    #[test]
    fn rows_choose_and_order_the_servers() {
        let servers = r#"[{"type":"sse","name":"a","url":"https://a/"},{"type":"sse","name":"b","url":"https://b/"},
            {"type":"sse","name":"cold","url":"https://c/"}]"#;
        let rows = [
            row("b", "sse", "https://b/"),
            row("a", "sse", "https://a/"),
            row("b", "sse", "https://b/"),
        ];
        let (names, told) = chosen(servers, &rows.each_ref().map(String::as_str));
        assert_eq!(names, ["b", "a"]);
        assert_eq!(told, Vec::<String>::new());
    }

    #[test]
    fn another_endpoint_is_not_woken() {
        let servers = r#"[{"type":"stdio","name":"files","command":"x"},{"type":"sse","name":"kind","url":"https://a/"},
            {"type":"sse","name":"moved","url":"https://new.example/?token=s3cret"}]"#;
        let rows = [
            row("files", "sse", "https://a/"),
            row("kind", "streamable-http", "https://a/"),
            row("moved", "sse", "https://old.example/?token=oldkey99"),
            row("gone", "sse", "https://a/"),
        ];
        let (names, told) = chosen(servers, &rows.each_ref().map(String::as_str));
        assert_eq!(names, Vec::<String>::new());
        for (message, words) in told.iter().zip(["stdio", "streamable-http", "url", "\"gone\""]) {
            assert!(message.contains(words), "{message}");
        }
        assert_eq!(told.len(), 4);
        assert!(!told.concat().contains("s3cret") && !told.concat().contains("oldkey99"));
    }

    #[test]
    fn spellings_of_one_url_are_one_endpoint() {
        let servers = r#"[{"type":"sse","name":"a","url":"https://user:pass@HOST.example:443"}]"#;
        for url in ["https://HOST.example:443", "https://host.example/"] {
            assert_eq!(chosen(servers, &[&row("a", "sse", url)]).0, ["a"], "{url}");
        }
        assert!(
            chosen(servers, &[&row("a", "sse", "https://host.example/other")])
                .0
                .is_empty()
        );
    }
}
