//! Starting a server's child so that nothing is left of it, whenever the connecting of it ends: what was started is taken
//! over by whoever waits for it, or stopped and reaped here.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::connection::{Context, Tasks};
use crate::error::{Error, ErrorCode, Result};
use crate::limits;
use crate::transport::Transport;
use crate::transport::child::{ChildTransport, Launch};

/// Starts the child. When this is dropped, the start runs on in a task of the toolset's, which then ends what it started.
///
/// # Errors
/// `unavailable` when it cannot be started.
pub(super) async fn start(
    launch: &Launch,
    max_message_bytes: usize,
    context: &Context,
    tasks: &Tasks,
) -> Result<ChildTransport> {
    let (hand_over, handed) = oneshot::channel();
    let task = run(
        launch.clone(),
        max_message_bytes,
        context.clone(),
        tasks.clone(),
        hand_over,
    );
    tasks.spawn(task);
    let mut handed = Handed {
        transport: handed,
        tasks,
    };
    let outcome = (&mut handed.transport).await;
    // The task always answers; only a torn-down runtime drops it.
    outcome.unwrap_or_else(|_| Err(given_up()))
}

async fn run(
    launch: Launch,
    max_message_bytes: usize,
    context: Context,
    tasks: Tasks,
    hand_over: oneshot::Sender<Result<ChildTransport>>,
) {
    let clock = Arc::clone(&context.clock);
    let listener = context.listener;
    let server = context.server;
    let start = ChildTransport::start(
        &launch,
        max_message_bytes,
        context.clock,
        context.redactor,
        tasks.gate,
        move |line| listener.stderr(&server, line),
    );
    let patience = async {
        tasks.closing.cancelled().await;
        clock.sleep_until(clock.now() + limits::LAST_START_WAIT).await;
    };
    tokio::select! {
        started = start => {
            if let Err(Ok(transport)) = hand_over.send(started) {
                transport.close().await;
            }
        }
        // Looking for a file can block for ever, and closing must not. The gate is shut: what starts yet is killed by it.
        () = patience => drop(hand_over.send(Err(given_up()))),
    }
}

fn given_up() -> Error {
    Error::new(ErrorCode::Closed, "the toolset was closed while its server was started")
}

/// What is being handed over. It may have arrived when nobody wants it any more.
struct Handed<'a> {
    transport: oneshot::Receiver<Result<ChildTransport>>,
    tasks: &'a Tasks,
}

impl Drop for Handed<'_> {
    fn drop(&mut self) {
        // From here on the task keeps what it started.
        self.transport.close();
        if let Ok(Ok(transport)) = self.transport.try_recv() {
            self.tasks.spawn(transport.close());
        }
    }
}
