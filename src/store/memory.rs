//! The connection store that lives as long as the process: rows in the order in which they were first saved. Owns the
//! rows and the rule that a recorded baseline stays; whether a tool drifted is decided elsewhere.

use super::trust;
use crate::catalog::snapshot::{PersistedServer, PersistedTool};

/// Rows go in and out as copies, so changing one that was handed out changes nothing here.
#[derive(Debug, Default)]
pub(crate) struct MemoryStore {
    rows: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    row: PersistedServer,
    /// Written with the baseline and never after.
    trusted: Option<Vec<PersistedTool>>,
}

impl MemoryStore {
    /// Inserts a row, or replaces the one of its id in its place. A baseline that is already recorded stays whatever the
    /// new row says: one that follows the server follows an attacker too (seed, "Tool drift"). The only way to another
    /// is to remove the row first.
    pub(crate) fn save(&mut self, mut row: PersistedServer) {
        let stored = self.rows.iter_mut().find(|stored| stored.row.id == row.id);
        let earlier = match &stored {
            Some(stored) if stored.row.fingerprints.is_some() => {
                row.fingerprints.clone_from(&stored.row.fingerprints);
                None
            }
            Some(stored) => Some(stored.row.tools.as_deref().unwrap_or_default()),
            None => Some(&[][..]),
        };
        let trusted = earlier.and_then(|earlier| {
            let baseline = row.fingerprints.as_ref()?;
            let tools = row.tools.as_deref().unwrap_or_default();
            Some(trust::definitions(baseline, [tools, earlier]))
        });
        match stored {
            Some(stored) => {
                stored.row = row;
                if trusted.is_some() {
                    stored.trusted = trusted;
                }
            }
            None => self.rows.push(Entry { row, trusted }),
        }
    }

    /// Removes a row with its baseline; an unknown id changes nothing.
    pub(crate) fn remove(&mut self, id: &str) {
        self.rows.retain(|stored| stored.row.id != id);
    }

    pub(crate) fn list(&self) -> Vec<PersistedServer> {
        self.rows.iter().map(|stored| stored.row.clone()).collect()
    }

    /// The definitions behind the baseline of a row; nothing where there is no baseline.
    pub(crate) fn trusted(&self, id: &str) -> Option<Vec<PersistedTool>> {
        let stored = self.rows.iter().find(|stored| stored.row.id == id)?;
        stored.trusted.clone()
    }
}
