//! The memory store, for the facade: rows cross as JSON text, and never as live objects.

use std::sync::{Mutex, PoisonError};

use napi_derive::napi;

use super::reply::NativeReply;
use crate::catalog::snapshot::PersistedServer;
use crate::store::memory::MemoryStore;

#[napi]
#[derive(Default)]
pub struct NativeMemoryStore {
    store: Mutex<MemoryStore>,
}

#[napi]
impl NativeMemoryStore {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// All rows, as a JSON array.
    #[napi(catch_unwind)]
    pub fn list(&self) -> String {
        let rows = self.store.lock().unwrap_or_else(PoisonError::into_inner).list();
        let rows: Vec<_> = rows.iter().map(PersistedServer::to_json).collect();
        format!("[{}]", rows.join(","))
    }

    #[napi(catch_unwind)]
    pub fn save(&self, row: String) -> NativeReply {
        PersistedServer::from_json(&row)
            .map(|row| {
                self.store.lock().unwrap_or_else(PoisonError::into_inner).save(row);
                None
            })
            .into()
    }

    #[napi(catch_unwind)]
    pub fn remove(&self, id: String) {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}
