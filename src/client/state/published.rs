//! What is published now, and where each name leads. It is replaced as a whole, so that a call under way keeps the route
//! that it started with.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::route::Route;
use crate::catalog::project::Projection;
use crate::limits;

/// The catalogue of a toolset. Empty until every server was tried.
#[derive(Default)]
pub(in crate::client) struct Catalogue {
    pub(in crate::client) published: RwLock<Arc<Published>>,
    /// Held while a new one is made, so that each is made of the latest listings.
    pub(in crate::client) latest: Mutex<Latest>,
}

#[derive(Default)]
pub(in crate::client) struct Latest {
    /// The text that the facade builds its tools from, until it takes it.
    pub(in crate::client) text: Option<String>,
    pub(in crate::client) digest: [u8; 32],
    /// Origins and messages of what was told of it.
    pub(in crate::client) told: HashSet<(String, String)>,
}

#[derive(Default)]
pub(in crate::client) struct Published {
    pub(in crate::client) tools: HashMap<String, Entry>,
    /// Whether the tool that describes tools was ever among them.
    pub(in crate::client) describes: bool,
}

/// Where a name leads.
#[derive(Clone)]
pub(in crate::client) enum Entry {
    Callable(Arc<Route>),
    /// The tool is not what was trusted; nothing is sent.
    Quarantined(Arc<Route>),
    /// It led somewhere once.
    Withdrawn {
        server: usize,
    },
}

impl Entry {
    pub(in crate::client) fn server(&self) -> usize {
        match self {
            Self::Callable(route) | Self::Quarantined(route) => route.server,
            Self::Withdrawn { server } => *server,
        }
    }
}

impl Catalogue {
    pub(in crate::client) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The text that nobody has taken yet.
    pub(in crate::client) fn take_text(&self) -> Option<String> {
        self.latest().text.take()
    }

    pub(in crate::client) fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Published {
    pub(in crate::client) fn after(before: &Self, projection: &Projection) -> Self {
        let mut tools: HashMap<_, _> = projection
            .tools
            .iter()
            .map(|tool| {
                let route = Arc::new(Route::new(tool.server, Arc::clone(&tool.tool)));
                let entry = if tool.quarantined {
                    Entry::Quarantined(route)
                } else {
                    Entry::Callable(route)
                };
                (tool.name.clone(), entry)
            })
            .collect();
        let was = |entry: &Entry| matches!(entry, Entry::Withdrawn { .. });
        let (older, recent): (Vec<_>, Vec<_>) = before
            .tools
            .iter()
            .filter(|(name, _)| !tools.contains_key(*name))
            .partition(|(_, entry)| was(entry));
        for (name, entry) in recent.into_iter().chain(older).take(limits::MAX_WITHDRAWN_NAMES) {
            let server = entry.server();
            tools.insert(name.clone(), Entry::Withdrawn { server });
        }
        Self {
            tools,
            describes: before.describes || projection.describes,
        }
    }
}
