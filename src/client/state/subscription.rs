//! A resource that somebody wants to hear of.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};

/// A resource that somebody subscribed to.
#[derive(Default)]
pub(in crate::client) struct Subscription {
    /// The server has said yes.
    pub(in crate::client) stands: bool,
    /// The name of the request that stays open, in the stateless era.
    pub(in crate::client) key: Option<u64>,
    /// Ends that request.
    pub(in crate::client) end: CancellationToken,
    /// Whoever waits until it stands.
    pub(in crate::client) waiting: Vec<oneshot::Sender<Result<(), Arc<Error>>>>,
}
