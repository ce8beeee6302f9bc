//! Starting a server's child so that nothing is left of it, whenever the connecting of it ends: what was started is taken
//! over by whoever waits for it, or stopped and reaped here.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::connection::Context;
use super::tasks::Tasks;
use crate::diagnostic::Rule;
use crate::error::{Error, ErrorCode, Result};
use crate::host::Clock;
use crate::limits;
use crate::transport::Transport;
use crate::transport::child::{ChildTransport, Escape, Launch};

/// Starts the child. When this is dropped, the start runs on in a task of the toolset's, which then ends what it started.
///
/// # Errors
/// `unavailable` when it cannot be started.
pub(super) async fn start(
    launch: Launch,
    max_message_bytes: usize,
    context: &Context,
    tasks: &Tasks,
) -> Result<ChildTransport> {
    let (hand_over, handed) = oneshot::channel();
    let starting = {
        let context = context.clone();
        let gate = Arc::clone(&tasks.gate);
        async move {
            let (listener, server) = (context.listener, context.server);
            let offer = move |line| listener.stderr(&server, line);
            ChildTransport::start(&launch, max_message_bytes, context.clock, context.redactor, gate, offer).await
        }
    };
    tasks.spawn(run(
        starting,
        Arc::clone(&context.clock),
        tasks.closing.clone(),
        hand_over,
    ));
    let mut handed = Handed {
        transport: handed,
        tasks,
    };
    let outcome = (&mut handed.transport).await;
    // The task always answers; only a torn-down runtime drops it.
    outcome.unwrap_or_else(|_| Err(given_up()))
}

async fn run<T: Transport>(
    starting: impl Future<Output = Result<T>>,
    clock: Arc<dyn Clock>,
    closing: CancellationToken,
    hand_over: oneshot::Sender<Result<T>>,
) {
    let patience = async {
        closing.cancelled().await;
        clock.sleep_until(clock.now() + limits::LAST_START_WAIT).await;
    };
    tokio::select! {
        started = starting => {
            if let Err(Ok(transport)) = hand_over.send(started) {
                transport.close().await;
            }
        }
        // Looking for a file can block for ever, and closing must not. The gate is shut: what starts yet is killed by it.
        () = patience => drop(hand_over.send(Err(given_up()))),
    }
}

/// The rule under which a failure to connect is told.
pub(super) fn rule_of_failure(error: &Error) -> Rule {
    if error.is_from::<Escape>() {
        Rule::PathEscapesPluginRoot
    } else {
        Rule::ConnectionFailure
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::clock::SystemClock;

    #[tokio::test(start_paused = true)]
    async fn a_start_that_hangs_is_given_up_a_moment_after_closing_and_not_before() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let closing = CancellationToken::new();
        let (hand_over, handed) = oneshot::channel();
        let starting = std::future::pending::<Result<ChildTransport>>();
        let task = tokio::spawn(run(starting, Arc::clone(&clock), closing.clone(), hand_over));
        clock.sleep_until(clock.now() + limits::LAST_START_WAIT * 100).await;
        assert!(!task.is_finished());
        let closed_at = clock.now();
        closing.cancel();
        task.await.unwrap();
        assert_eq!(clock.now() - closed_at, limits::LAST_START_WAIT);
        assert!(handed.await.unwrap().is_err());
    }
}
