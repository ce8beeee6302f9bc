//! The SQL of every SQLite store, ours on a file and the one over a database of the caller's, and the one decision behind
//! each write: a recorded baseline stays. Executes nothing itself. Each statement stands alone, so that a process that
//! dies between two of them leaves no baseline lost or replaced.

use super::trust;
use crate::catalog::snapshot::{Fingerprints, PersistedServer, PersistedTool, RemoteKind, decode_tools, encode_tools};
use crate::error::{Error, ErrorCode, Result};
use crate::json;

/// The tables (client specification, section 9).
pub(crate) const CREATE: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS mcp_servers (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, \
     type TEXT NOT NULL CHECK (type IN ('streamable-http','sse')), url TEXT NOT NULL, tools TEXT, tool_fingerprints TEXT)",
    "CREATE TABLE IF NOT EXISTS mcp_trusted_tools (id TEXT PRIMARY KEY NOT NULL, tools TEXT NOT NULL)",
];

/// Gives the columns of a table as rows with a `name`; none for a table that does not exist.
pub(crate) const COLUMNS: [&str; 2] = ["PRAGMA table_info(mcp_servers)", "PRAGMA table_info(mcp_trusted_tools)"];

/// All rows in the order in which they came, as the six fields. Cast, because a cell of another type is no text.
pub(crate) const LIST: &str = "SELECT CAST(id AS TEXT) AS id, CAST(name AS TEXT) AS name, CAST(type AS TEXT) AS type, \
     CAST(url AS TEXT) AS url, CAST(tools AS TEXT) AS tools, CAST(tool_fingerprints AS TEXT) AS tool_fingerprints \
     FROM mcp_servers ORDER BY rowid";

/// What a row of an id holds before it is saved.
pub(crate) const STORED: &str = "SELECT CAST(tools AS TEXT) AS tools, \
     CAST(tool_fingerprints AS TEXT) AS tool_fingerprints FROM mcp_servers WHERE id = ?";

/// The trusted definitions of an id, with the baseline that they have to fit.
pub(crate) const TRUSTED: &str = "SELECT CAST(t.tools AS TEXT) AS tools, \
     CAST(s.tool_fingerprints AS TEXT) AS tool_fingerprints \
     FROM mcp_trusted_tools t JOIN mcp_servers s ON s.id = t.id WHERE t.id = ?";

/// The row goes first: definitions without a row are seen by nobody and replaced with the next baseline.
pub(crate) const REMOVE: [&str; 2] = [
    "DELETE FROM mcp_servers WHERE id = ?",
    "DELETE FROM mcp_trusted_tools WHERE id = ?",
];

/// The last value is the text of a baseline that is none, or nothing. Only that may be replaced, whatever another process
/// recorded since it was read.
const SAVE: &str = "INSERT INTO mcp_servers (id, name, type, url, tools, tool_fingerprints) VALUES (?, ?, ?, ?, ?, ?) \
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, type = excluded.type, url = excluded.url, \
     tools = excluded.tools, tool_fingerprints = CASE WHEN mcp_servers.tool_fingerprints IS NULL \
     OR CAST(mcp_servers.tool_fingerprints AS TEXT) = ? THEN excluded.tool_fingerprints \
     ELSE mcp_servers.tool_fingerprints END";

const TRUST: &str = "INSERT INTO mcp_trusted_tools (id, tools) SELECT ?, ? WHERE NOT EXISTS \
     (SELECT 1 FROM mcp_servers WHERE id = ? AND tool_fingerprints IS NOT NULL \
     AND CAST(tool_fingerprints AS TEXT) IS NOT ?) ON CONFLICT (id) DO UPDATE SET tools = excluded.tools";

/// The columns that older tables lack.
const ADDED_COLUMNS: [(&str, &str); 2] = [
    ("tools", "ALTER TABLE mcp_servers ADD COLUMN tools TEXT"),
    (
        "tool_fingerprints",
        "ALTER TABLE mcp_servers ADD COLUMN tool_fingerprints TEXT",
    ),
];

/// A statement with its values.
pub(crate) struct Write {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<Option<String>>,
}

/// Two cells of a row that is there, as [`STORED`] and [`TRUSTED`] give them.
pub(crate) struct Stored {
    pub(crate) tools: Option<String>,
    pub(crate) fingerprints: Option<String>,
}

/// What brings a database up to date that has these columns.
pub(crate) fn missing(servers: &[String], trusted: &[String]) -> Vec<&'static str> {
    let [create_servers, create_trusted] = CREATE;
    let mut statements = Vec::new();
    if servers.is_empty() {
        statements.push(create_servers);
    } else {
        let lacks = |column: &str| !servers.iter().any(|there| there == column);
        statements.extend(
            ADDED_COLUMNS
                .iter()
                .filter(|(column, _)| lacks(column))
                .map(|(_, statement)| *statement),
        );
    }
    if trusted.is_empty() {
        statements.push(create_trusted);
    }
    statements
}

/// Reads the six cells of [`LIST`]. A listing or baseline that does not parse counts as absent.
///
/// # Errors
/// `store`, naming the row, for what is no row.
pub(crate) fn row(cells: [Option<String>; 6]) -> Result<PersistedServer> {
    let [id, name, kind, url, tools, fingerprints] = cells;
    let none = |message: String| Error::new(ErrorCode::Store, message);
    let id = id.ok_or_else(|| none("a stored row has no id".to_owned()))?;
    let there = |key: &str, cell: Option<String>| {
        cell.ok_or_else(|| none(format!("the stored row {} has no {key}", json::quote(&id))))
    };
    let (name, kind, url) = (there("name", name)?, there("type", kind)?, there("url", url)?);
    let mut server = PersistedServer::new(id.as_str(), name, RemoteKind::of_row(&id, &kind)?, &url);
    server.tools = tools.as_deref().and_then(decode_tools);
    server.fingerprints = fingerprints.as_deref().and_then(Fingerprints::decode);
    Ok(server)
}

/// What saves a row where this is stored. A baseline that parses stays, whatever the new row says; the definitions
/// that are trusted are written with the first one, before it.
pub(crate) fn save(row: &PersistedServer, stored: Option<&Stored>) -> Vec<Write> {
    let text = stored.and_then(|stored| stored.fingerprints.as_deref());
    let is_recorded = text.and_then(Fingerprints::decode).is_some();
    let unreadable = text.filter(|_| !is_recorded).map(ToOwned::to_owned);
    let id = || Some(row.id.clone());
    let mut writes = Vec::new();
    if let Some(baseline) = row.fingerprints.as_ref().filter(|_| !is_recorded) {
        let earlier = stored
            .and_then(|stored| stored.tools.as_deref())
            .and_then(decode_tools)
            .unwrap_or_default();
        let trusted = trust::definitions(baseline, [row.tools.as_deref().unwrap_or_default(), &earlier]);
        writes.push(Write {
            sql: TRUST,
            values: vec![id(), Some(encode_tools(&trusted)), id(), unreadable.clone()],
        });
    }
    writes.push(Write {
        sql: SAVE,
        values: vec![
            id(),
            Some(row.name.clone()),
            Some(row.kind.name().to_owned()),
            Some(row.url().to_owned()),
            row.tools.as_deref().map(encode_tools),
            row.fingerprints.as_ref().map(Fingerprints::encode),
            unreadable,
        ],
    });
    writes
}

/// The definitions of [`TRUSTED`] that the baseline vouches for; nothing where either does not parse.
pub(crate) fn trusted(stored: &Stored) -> Option<Vec<PersistedTool>> {
    let baseline = Fingerprints::decode(stored.fingerprints.as_deref()?)?;
    let tools = decode_tools(stored.tools.as_deref()?)?;
    Some(trust::definitions(&baseline, [tools.as_slice()]))
}
