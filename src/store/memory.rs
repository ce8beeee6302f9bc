//! The connection store that lives as long as the process: rows in the order in which they were first saved. Owns the
//! rows and the rule that a recorded baseline stays; whether a tool drifted is decided elsewhere.

use crate::catalog::snapshot::PersistedServer;

/// Rows go in and out as copies, so changing one that was handed out changes nothing here.
#[derive(Debug, Default)]
pub(crate) struct MemoryStore {
    rows: Vec<PersistedServer>,
}

impl MemoryStore {
    /// Inserts a row, or replaces the one of its id in its place. A baseline that is already recorded stays whatever the
    /// new row says: one that follows the server follows an attacker too (seed, "Tool drift"). The only way to another
    /// is to remove the row first.
    pub(crate) fn save(&mut self, mut row: PersistedServer) {
        match self.rows.iter_mut().find(|stored| stored.id == row.id) {
            Some(stored) => {
                if let Some(baseline) = stored.fingerprints.take() {
                    row.fingerprints = Some(baseline);
                }
                *stored = row;
            }
            None => self.rows.push(row),
        }
    }

    /// Removes a row with its baseline; an unknown id changes nothing.
    pub(crate) fn remove(&mut self, id: &str) {
        self.rows.retain(|stored| stored.id != id);
    }

    pub(crate) fn list(&self) -> Vec<PersistedServer> {
        self.rows.clone()
    }
}
