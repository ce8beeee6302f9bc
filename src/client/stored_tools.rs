//! Tools as they are listed, and as they are kept.

use std::sync::Arc;

use crate::catalog::listing::ListedTool;
use crate::catalog::snapshot::PersistedTool;
use crate::{json, limits};

/// As a row keeps it.
pub(super) fn persisted(tool: &ListedTool) -> PersistedTool {
    PersistedTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
    }
}

/// A stored tool as a listed one; nothing for one that no listing would hold.
pub(super) fn listed(tool: PersistedTool) -> Option<ListedTool> {
    let schema = tool.input_schema.as_deref();
    let is_shallow = schema.is_none_or(|schema| !json::is_deeper_than(schema.get(), limits::MAX_SCHEMA_DEPTH));
    (is_shallow && tool.name.len() <= limits::MAX_LISTED_NAME_BYTES).then(|| tool.into())
}

/// All of them, or nothing: a listing with holes would pass the missing ones off as withdrawn.
pub(super) fn all_listed(tools: Vec<PersistedTool>) -> Option<Vec<Arc<ListedTool>>> {
    tools.into_iter().map(|tool| listed(tool).map(Arc::new)).collect()
}
