//! The threads that serve all connections of the process. They start with the first toolset, hold no event loop, and end
//! with the process.

use std::sync::LazyLock;
use std::thread;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::limits;

static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    let threads = thread::available_parallelism()
        .map_or(1, std::num::NonZero::get)
        .min(limits::MAX_RUNTIME_THREADS);
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("espalier")
        .enable_all()
        .build()
});

/// # Errors
/// When the system has no more threads or descriptors.
pub(super) fn handle() -> napi::Result<Handle> {
    match &*RUNTIME {
        Ok(runtime) => Ok(runtime.handle().clone()),
        Err(error) => Err(napi::Error::from_reason(format!(
            "the threads of espalier cannot be started: {error}"
        ))),
    }
}
