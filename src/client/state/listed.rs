//! What one server lists, and what it is trusted by.

use std::collections::HashSet;
use std::sync::Arc;

use crate::catalog::drift::Baseline;
use crate::catalog::listing::ListedTool;
use crate::catalog::project::Disclosed;

/// What one server lists.
pub(in crate::client) struct Listed {
    pub(in crate::client) tools: Arc<Vec<Arc<ListedTool>>>,
    /// What it is trusted by.
    pub(in crate::client) baseline: Option<Arc<Baseline>>,
    /// Not so when it was given up at a limit, or refused: what is missing was not withdrawn.
    pub(in crate::client) is_whole: bool,
    pub(in crate::client) disclosed: Disclosed,
    /// What was told of the listing.
    pub(in crate::client) told: HashSet<String>,
}

impl Default for Listed {
    fn default() -> Self {
        Self {
            tools: Arc::default(),
            baseline: None,
            is_whole: false,
            disclosed: Disclosed::NOTHING,
            told: HashSet::new(),
        }
    }
}

impl Listed {
    /// Of a server that a store remembers.
    pub(in crate::client) fn guarded_by(baseline: Option<Baseline>) -> Self {
        Self {
            baseline: baseline.map(Arc::new),
            ..Self::default()
        }
    }

    /// Of a server that is woken: what its row says.
    pub(in crate::client) fn remembered(tools: Vec<Arc<ListedTool>>, baseline: Option<Baseline>) -> Self {
        Self {
            tools: Arc::new(tools),
            is_whole: true,
            ..Self::guarded_by(baseline)
        }
    }

    pub(in crate::client) fn parts(&self) -> (Arc<Vec<Arc<ListedTool>>>, Option<Arc<Baseline>>) {
        (Arc::clone(&self.tools), self.baseline.clone())
    }
}
