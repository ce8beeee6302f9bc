//! What the program holds for a request.

use std::sync::Arc;

use crate::host::server::{Application, JobId};

/// A runtime that the program named for one request, and keeps for it. It is let go with the request.
pub(crate) struct Lease {
    pub(super) application: Arc<dyn Application>,
    pub(super) id: JobId,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.application.released(self.id);
    }
}
