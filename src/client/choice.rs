//! Which configured servers are woken, and from which rows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use url::Url;

use super::options::{Endpoint, Remote, ServerConfig};
use crate::catalog::snapshot::{PersistedServer, without_userinfo};
use crate::diagnostic::{Diagnostic, Rule};
use crate::json;

/// The servers that rows remember, in the order of the rows: each with its projected name. What keeps a row from being
/// woken is told.
pub(super) fn choose(
    servers: Vec<(ServerConfig, String)>,
    rows: &[Arc<PersistedServer>],
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
            .map(|row| Arc::new(PersistedServer::from_json(row).unwrap()))
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
