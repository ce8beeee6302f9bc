//! Bringing one server up: start, handshake, complete listing, all within one time limit. Owns the order of these steps;
//! what is listed is judged elsewhere.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::connection::{Connection, Context, Refused, Tasks};
use super::options::Options;
use crate::catalog::listing::{ListedTool, Listing, Next};
use crate::diagnostic::Diagnostic;
use crate::driver::Ended;
use crate::error::{Error, ErrorCode, Result};
use crate::host::Clock;
use crate::limits::Timeout;
use crate::protocol::handshake::{self, Established};
use crate::protocol::message::Params;
use crate::protocol::peer::{INITIALIZE, Patience};
use crate::transport::child::{ChildTransport, Launch};

/// A server that answers, and what it lists.
pub(super) struct Connected {
    pub(super) connection: Connection,
    pub(super) established: Established,
    pub(super) tools: Vec<ListedTool>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) took: Duration,
}

/// What is brought up, and where it is told about.
pub(super) struct Attempt<'a> {
    pub(super) projected_name: &'a str,
    pub(super) launch: &'a Launch,
    pub(super) timeout: Timeout,
    pub(super) options: &'a Options,
    pub(super) context: Context,
    pub(super) tasks: &'a Tasks,
}

impl Attempt<'_> {
    /// Connects. When this fails, or is dropped, whatever it started is on its way out.
    ///
    /// # Errors
    /// Whatever kept the server from answering; secrets are already out of the text.
    pub(super) async fn run(self) -> Result<Connected> {
        let redactor = Arc::clone(&self.context.redactor);
        let limit = self.timeout.duration();
        self.steps().await.map_err(|error| {
            let mut message = redactor.redact(error.message());
            if let (ErrorCode::Timeout, Some(limit)) = (error.code(), limit) {
                // Writing to a string cannot fail.
                let _ = write!(message, " after {} ms", limit.as_millis());
            }
            Error::new(error.code(), message)
        })
    }

    async fn steps(self) -> Result<Connected> {
        let deadline = Deadline::new(Arc::clone(&self.context.clock), self.timeout);
        let transport = self.start(&deadline).await?;
        let connection = Connection::start(transport, self.context, self.tasks.clone());
        let established = shake_hands(&connection, &deadline).await?;
        let mut listing = Listing::new(self.projected_name, self.options.listing);
        list(&connection, &established, &deadline, &mut listing).await?;
        let (tools, diagnostics) = listing.finish();
        Ok(Connected {
            connection,
            established,
            tools,
            diagnostics,
            took: deadline.elapsed(),
        })
    }

    async fn start(&self, deadline: &Deadline) -> Result<ChildTransport> {
        if self.tasks.closing.is_cancelled() {
            return Err(Error::new(ErrorCode::Closed, CLOSED));
        }
        let listener = Arc::clone(&self.context.listener);
        let server = self.context.server.clone();
        let start = ChildTransport::start(
            self.launch,
            self.options.max_message_bytes,
            Arc::clone(&self.context.clock),
            Arc::clone(&self.context.redactor),
            Arc::clone(&self.tasks.gate),
            move |line| listener.stderr(&server, line),
        );
        // Looking for a file can block for ever, too. What starts after all is killed unheard.
        tokio::select! {
            transport = start => transport,
            () = self.tasks.closing.cancelled() => Err(Error::new(ErrorCode::Closed, CLOSED)),
            () = deadline.passed() => {
                Err(Error::new(ErrorCode::Timeout, "it did not start in time: connecting timed out"))
            }
        }
    }
}

async fn shake_hands(connection: &Connection, deadline: &Deadline) -> Result<Established> {
    let params = handshake::initialize_params(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    let result = answer(
        INITIALIZE,
        connection.ask(INITIALIZE, params, deadline.patience()).await,
    )?;
    let established = handshake::read_initialize_result(&result)?;
    connection.settle(established.revision).await;
    connection.notify("notifications/initialized", Params::new()).await;
    Ok(established)
}

/// Lists all pages. A server that does not announce tools is asked all the same: some forget to. Then it may refuse.
async fn list(
    connection: &Connection,
    established: &Established,
    deadline: &Deadline,
    listing: &mut Listing,
) -> Result<()> {
    const LIST: &str = "tools/list";
    let mut params = Params::new();
    loop {
        let ended = connection.ask(LIST, params, deadline.patience()).await;
        if matches!(ended, Ok(Ended::Error(_))) && !established.announces_tools {
            return Ok(());
        }
        match listing.add_page(&answer(LIST, ended)?)? {
            Next::Page(cursor) => params = Params::new().text("cursor", &cursor),
            Next::Complete => return Ok(()),
        }
    }
}

/// The result of a request of our own, or why there is none.
fn answer(method: &str, ended: Result<Ended, Refused>) -> Result<Box<RawValue>> {
    let (code, problem) = match ended {
        Ok(Ended::Result(result)) => return Ok(result),
        Ok(Ended::Error(error)) => (
            ErrorCode::ServerError,
            format!("it answered `{method}` with error {}: {}", error.code, error.message),
        ),
        Ok(Ended::TimedOut { .. }) => (
            ErrorCode::Timeout,
            format!("it did not answer `{method}` in time: connecting timed out"),
        ),
        Ok(Ended::TooLong { bytes }) => (
            ErrorCode::TooLarge,
            format!("its answer to `{method}` has {bytes} bytes, more than `maxMessageBytes`"),
        ),
        Ok(Ended::Lost(error) | Ended::NotSent(error)) | Err(Refused::Gone(Some(error))) => {
            (error.code(), format!("{error}; it had not answered `{method}`"))
        }
        Ok(Ended::Busy) | Err(Refused::Busy) => {
            (ErrorCode::Unavailable, "it does not read what is sent to it".to_owned())
        }
        Ok(Ended::Cancelled | Ended::Closed) | Err(Refused::Gone(None)) => (ErrorCode::Closed, CLOSED.to_owned()),
    };
    Err(Error::new(code, problem))
}

const CLOSED: &str = "the toolset was closed while it was connecting";

/// One time limit over several steps.
struct Deadline {
    clock: Arc<dyn Clock>,
    started: Instant,
    timeout: Timeout,
}

impl Deadline {
    fn new(clock: Arc<dyn Clock>, timeout: Timeout) -> Self {
        Self {
            started: clock.now(),
            clock,
            timeout,
        }
    }

    fn elapsed(&self) -> Duration {
        self.clock.now().saturating_duration_since(self.started)
    }

    async fn passed(&self) {
        match self
            .timeout
            .duration()
            .and_then(|timeout| self.started.checked_add(timeout))
        {
            Some(end) => self.clock.sleep_until(end).await,
            None => std::future::pending().await,
        }
    }

    /// What is left for the next step.
    fn patience(&self) -> Patience {
        let left = self
            .timeout
            .duration()
            .map(|timeout| timeout.saturating_sub(self.elapsed()));
        Patience::flat(left.map_or(Timeout::NONE, Timeout::after))
    }
}
