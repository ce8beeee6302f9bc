//! Where the work of a toolset runs, and how all of it is ended.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::transport::child::Gate;

/// Where the tasks of a toolset run, and who waits for their end.
#[derive(Clone)]
pub(super) struct Tasks {
    pub(super) runtime: Handle,
    pub(super) tracker: TaskTracker,
    /// Ends them all.
    pub(super) closing: CancellationToken,
    /// Every child of the toolset, from the moment it starts.
    pub(super) gate: Arc<Gate>,
}

impl Tasks {
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.tracker.spawn_on(task, &self.runtime).abort_handle()
    }
}
