//! What became of the tools that were trusted: for a person who has to decide whether to trust them again. Shows the old
//! and the new definition as data, and changes nothing.

use std::sync::Arc;

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::options::Endpoint;
use super::state::server::Server;
use super::stored_tools::persisted;
use super::toolset::Toolset;
use crate::catalog::drift::Baseline;
use crate::catalog::fingerprint::Fingerprint;
use crate::catalog::snapshot::{PersistedServer, PersistedTool, decode_tools, encode_tools};
use crate::json::{self, Object};
use crate::store::trust;

impl Toolset {
    /// Holds what each server lists now against its row: a JSON array with an entry for each that has a baseline and
    /// was listed. `trusted` is an object with the trusted definitions by id, as far as a store has them.
    pub(crate) fn review(&self, rows: &[Arc<PersistedServer>], trusted: &str) -> String {
        let trusted = Object::parse(trusted).unwrap_or_default();
        let mut out = String::from("[");
        for server in &self.0.servers {
            let row = rows.iter().find(|row| row.id == server.projected_name);
            let Some((row, baseline)) = row.and_then(|row| Some((row, Baseline::of_row(row)?))) else {
                continue;
            };
            if !matches!(server.config.endpoint, Endpoint::Remote(_)) || !server.listed().is_whole {
                continue;
            }
            let definitions = trusted.get(&row.id).and_then(|tools| decode_tools(tools.get()));
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(&entry(server, row, &baseline, &definitions.unwrap_or_default()));
        }
        out.push(']');
        out
    }
}

fn entry(server: &Server, row: &PersistedServer, baseline: &Baseline, definitions: &[PersistedTool]) -> String {
    let (listed, _) = server.listed().parts();
    let now: HashMap<&str, PersistedTool> = listed
        .iter()
        .map(|tool| (tool.name.as_str(), persisted(tool)))
        .collect();
    // In a row from before there were baselines, its tools are what was trusted.
    let derived = match row.fingerprints {
        None => row.tools.as_deref().unwrap_or_default(),
        Some(_) => &[],
    };
    let before = trust::definitions(&baseline.to_fingerprints(), [definitions, derived]);
    let before: HashMap<&str, &PersistedTool> = before.iter().map(|tool| (tool.name.as_str(), tool)).collect();
    let drift = baseline.drift(
        listed
            .iter()
            .map(|tool| (tool.name.as_str(), tool.fingerprint().digest.as_str())),
    );
    let mut changed = Vec::new();
    for name in &drift.changed {
        let Some(after) = now.get(name.as_str()) else { continue };
        changed.push(change(name, before.get(name.as_str()).copied(), after));
    }
    let added: Vec<_> = drift
        .added
        .iter()
        .filter_map(|name| now.get(name.as_str()).cloned())
        .collect();
    let removed: Vec<_> = drift.removed.iter().map(|name| json::quote(name)).collect();
    format!(
        "{{\"server\":{},\"id\":{},\"changed\":[{}],\"added\":{},\"removed\":[{}]}}",
        json::quote(&server.config.name),
        json::quote(&row.id),
        changed.join(","),
        encode_tools(&added),
        removed.join(",")
    )
}

/// One changed tool. Which of its fields differ is only known where the old definition is.
fn change(name: &str, before: Option<&PersistedTool>, after: &PersistedTool) -> String {
    let mut out = format!("{{\"name\":{}", json::quote(name));
    let mut fields = Vec::new();
    if let Some(before) = before {
        // Writing to a string cannot fail.
        let _ = write!(out, ",\"before\":{}", before.to_json());
        let description = |tool: &PersistedTool| Fingerprint::of(tool.description.as_deref().map(RawValue::get), None);
        let schema = |tool: &PersistedTool| Fingerprint::of(None, tool.input_schema.as_deref().map(RawValue::get));
        if description(before).digest != description(after).digest {
            fields.push("\"description\"");
        }
        if schema(before).digest != schema(after).digest {
            fields.push("\"inputSchema\"");
        }
    }
    let _ = write!(
        out,
        ",\"after\":{},\"fields\":[{}]}}",
        after.to_json(),
        fields.join(",")
    );
    out
}
