//! Stopping a child that nobody calls, for as long as nobody does. The next call brings it up again as one that was lost
//! (`revive`).

use std::sync::Arc;

use super::state::activity::{Activity, InUse};
use super::state::server::{Server, State};
use super::state::shared::Shared;
use crate::error::{Error, ErrorCode};

impl Server {
    /// Keeps the server from being stopped as idle. Taken under the lock of its state, or before anything is asked of it.
    pub(super) fn in_use(&self) -> Option<InUse> {
        self.activity.as_ref().map(Activity::begin)
    }
}

impl Shared {
    /// A server came up: from here on it is watched, where it is to be stopped when nobody calls it.
    pub(super) fn watch_idleness(self: &Arc<Self>, index: usize, server: &Server) {
        let Some(activity) = server.activity.clone() else {
            return;
        };
        let ended = match &*server.state() {
            State::Ready(live) => live.connection.ended(),
            _ => return,
        };
        activity.touch();
        let shared = Arc::clone(self);
        self.tasks.spawn(async move {
            let stopping = async {
                loop {
                    activity.idle().await;
                    if shared.stop_idle(index, &activity) {
                        return;
                    }
                    activity.touch();
                }
            };
            tokio::select! {
                () = shared.tasks.closing.cancelled() => {}
                () = ended => {}
                () = stopping => {}
            }
        });
    }

    /// True when there is nothing left to stop.
    fn stop_idle(&self, index: usize, activity: &Activity) -> bool {
        let Some(server) = self.servers.get(index) else {
            return true;
        };
        let mut state = server.state();
        let State::Ready(live) = &mut *state else { return true };
        if live.connection.lost().is_some() {
            return true;
        }
        // Who subscribed to a resource waits to hear of it.
        if !activity.is_due() || !server.subscriptions().is_empty() {
            return false;
        }
        let why = format!(
            "it was stopped, as nobody had called it for {} ms",
            activity.limit.as_millis()
        );
        // The handle goes, and with it the child.
        live.connection = live.connection.let_go(Error::new(ErrorCode::Unavailable, why));
        live.is_stopped = true;
        drop(state);
        server.cache.forget("");
        self.tell_status(server);
        true
    }
}
