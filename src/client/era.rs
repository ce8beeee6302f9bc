//! The era of each remote server, remembered in the process: an old server costs one extra request once (client
//! specification, section 4).

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::options::{ProtocolMode, Remote};
use crate::limits;
use crate::protocol::revision::Era;

static KNOWN: LazyLock<Mutex<HashMap<String, Era>>> = LazyLock::new(Mutex::default);

/// The era to begin with; nothing when the server has to be asked.
pub(super) fn known(remote: &Remote, mode: ProtocolMode) -> Option<Era> {
    match mode {
        ProtocolMode::Legacy => Some(Era::Session),
        ProtocolMode::Pin(revision) => Some(revision.era()),
        ProtocolMode::Auto => KNOWN
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key(remote))
            .copied(),
    }
}

pub(super) fn remember(remote: &Remote, era: Era) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= limits::MAX_REMEMBERED_ERAS {
        // Which one is forgotten does not matter: it is asked again.
        known.clear();
    }
    known.insert(key(remote), era);
}

pub(super) fn forget(remote: &Remote) {
    KNOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&key(remote));
}

/// The URL without its query, which may hold secrets.
fn key(remote: &Remote) -> String {
    let mut url = remote.configured.url().clone();
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}
