//! Which definitions a baseline vouches for: what a person is shown as "before" when a tool has changed.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::catalog::fingerprint::Fingerprint;
use crate::catalog::snapshot::{Fingerprints, PersistedTool};

/// For each tool of a baseline the definition that has its digest, from the first listing that has one. What only bears
/// the name was never trusted.
pub(crate) fn definitions<'a>(
    baseline: &Fingerprints,
    listings: impl IntoIterator<Item = &'a [PersistedTool]>,
) -> Vec<PersistedTool> {
    let mut missing: HashMap<&str, &str> = baseline.iter().collect();
    let mut found: HashMap<&str, &PersistedTool> = HashMap::new();
    for tool in listings.into_iter().flatten() {
        let name = tool.name.as_str();
        let Some(digest) = missing.get(name) else { continue };
        let text = |value: &'a Option<Box<RawValue>>| value.as_deref().map(RawValue::get);
        if Fingerprint::of(text(&tool.description), text(&tool.input_schema)).digest == **digest {
            missing.remove(name);
            found.insert(name, tool);
        }
    }
    baseline
        .iter()
        .filter_map(|(name, _)| found.get(name).copied().cloned())
        .collect()
}
