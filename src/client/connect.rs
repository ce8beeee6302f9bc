//! Bringing one server up: start, handshake, complete listing, all within one time limit. Owns the order of these steps;
//! what is listed is judged elsewhere.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::connection::{Connection, Context, Refused, Tasks};
use super::era;
use super::options::{Options, ProtocolMode, Remote};
use super::start::start;
use crate::catalog::listing::{ListedTool, Listing, Next};
use crate::diagnostic::{Diagnostic, Rule};
use crate::driver::Ended;
use crate::error::{Error, ErrorCode, Result};
use crate::guard::headers::Credential;
use crate::host::Clock;
use crate::json;
use crate::limits::Timeout;
use crate::protocol::codes::UNSUPPORTED_VERSION;
use crate::protocol::handshake::{self, Established};
use crate::protocol::message::{self, Message, Params};
use crate::protocol::peer::{INITIALIZE, Patience};
use crate::protocol::revision::{Era, Revision};
use crate::protocol::wire::http::probe::{self, Failure, Probed};
use crate::protocol::wire::param_header;
use crate::transport::child::Launch;
use crate::transport::http::endpoint::Endpoint;
use crate::transport::http::sse::SseTransport;
use crate::transport::http::streamable::{DISCOVER, StreamableTransport, discover};

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
    pub(super) target: Target<'a>,
    pub(super) timeout: Timeout,
    pub(super) options: &'a Options,
    pub(super) context: Context,
    pub(super) tasks: &'a Tasks,
}

#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    Child(&'a Launch, ProtocolMode),
    Remote(&'a Remote, ProtocolMode),
}

impl Attempt<'_> {
    /// Connects. When this fails, or is dropped, whatever it started is on its way out.
    ///
    /// # Errors
    /// Whatever kept the server from answering; secrets are already out of the text.
    pub(super) async fn run(self) -> Result<Connected> {
        let deadline = Deadline::new(Arc::clone(&self.context.clock), self.timeout);
        let remembered = match self.target {
            Target::Remote(remote, ProtocolMode::Auto) => era::known(remote, ProtocolMode::Auto).is_some(),
            _ => false,
        };
        let mut outcome = self.steps(&deadline).await;
        if let (Err(error), Target::Remote(remote, _)) = (&outcome, self.target) {
            era::forget(remote);
            // What was remembered of it may be what went wrong: it is asked anew, once.
            let is_about_the_era = matches!(
                error.code(),
                ErrorCode::ServerError | ErrorCode::InvalidResponse | ErrorCode::ConnectionLost
            );
            if remembered && is_about_the_era {
                outcome = self.steps(&deadline).await;
            }
        }
        outcome.map_err(|error| {
            let mut message = self.context.redactor.redact(error.message());
            if let (ErrorCode::Timeout, Some(limit)) = (error.code(), self.timeout.duration()) {
                // Writing to a string cannot fail.
                let _ = write!(message, " after {} ms", limit.as_millis());
            }
            Error::new(error.code(), message)
        })
    }

    async fn steps(&self, deadline: &Deadline) -> Result<Connected> {
        if self.tasks.closing.is_cancelled() {
            return Err(Error::new(ErrorCode::Closed, CLOSED));
        }
        let (connection, opened) = match self.target {
            Target::Child(launch, mode) => {
                if let ProtocolMode::Pin(revision) = mode
                    && revision.era() == Era::Stateless
                {
                    let message = format!("{} is not spoken over stdio in this version", revision.name());
                    return Err(Error::new(ErrorCode::Unavailable, message));
                }
                let starting = start(launch, self.options.max_message_bytes, &self.context, self.tasks);
                let transport = self.within(deadline, "start", starting).await?;
                (
                    Connection::start(transport, self.context.clone(), self.tasks.clone()),
                    None,
                )
            }
            Target::Remote(remote, mode) => self.within(deadline, "answer", self.reach(remote, mode)).await?,
        };
        let established = match opened {
            Some(established) => established,
            None => shake_hands(&connection, deadline, self.pinned()).await?,
        };
        let mut listing = Listing::new(self.projected_name, self.options.listing);
        list(&connection, &established, deadline, &mut listing).await?;
        let (mut tools, mut diagnostics) = listing.finish();
        if established.revision.era() == Era::Stateless {
            tools.retain(|tool| {
                match tool
                    .input_schema
                    .as_deref()
                    .map(|schema| param_header::read(schema.get()))
                {
                    Some(Err(invalid)) => {
                        let message = format!(
                            "MCP server {}: its tool {} was skipped: {invalid}",
                            json::quote(self.projected_name),
                            json::quote(&tool.name)
                        );
                        diagnostics.push(Diagnostic::new(Rule::HeaderIgnored, self.projected_name, message));
                        false
                    }
                    _ => true,
                }
            });
        }
        Ok(Connected {
            connection,
            established,
            tools,
            diagnostics,
            took: deadline.elapsed(),
        })
    }

    /// The revision that alone will do.
    fn pinned(&self) -> Option<Revision> {
        match self.target {
            Target::Child(_, ProtocolMode::Pin(revision)) | Target::Remote(_, ProtocolMode::Pin(revision)) => {
                Some(revision)
            }
            _ => None,
        }
    }

    /// A step that knows no time limit of its own.
    async fn within<T>(&self, deadline: &Deadline, what: &str, step: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            outcome = step => outcome,
            () = self.tasks.closing.cancelled() => Err(Error::new(ErrorCode::Closed, CLOSED)),
            () = deadline.passed() => {
                Err(Error::new(ErrorCode::Timeout, format!("it did not {what} in time: connecting timed out")))
            }
        }
    }

    /// Finds out what a remote server speaks. In the stateless era that is all there is to opening a connection.
    async fn reach(&self, remote: &Remote, mode: ProtocolMode) -> Result<(Connection, Option<Established>)> {
        let endpoint = Arc::new(self.endpoint(remote).await?);
        if remote.kind == "sse" {
            let transport = SseTransport::open(endpoint, Arc::clone(&self.context.clock)).await?;
            return Ok((
                Connection::start(transport, self.context.clone(), self.tasks.clone()),
                None,
            ));
        }
        let (revision, result) = match era::known(remote, mode) {
            Some(Era::Session) => (None, None),
            _ => self.probe(&endpoint, mode).await?,
        };
        era::remember(remote, revision.map_or(Era::Session, Revision::era));
        let era = revision.map_or(Era::Session, Revision::era);
        let clock = Arc::clone(&self.context.clock);
        let transport = StreamableTransport::new(endpoint, era, revision, clock);
        let connection = Connection::start(transport, self.context.clone(), self.tasks.clone());
        let Some((revision, result)) = revision.zip(result) else {
            return Ok((connection, None));
        };
        connection
            .envelope(handshake::envelope(revision, CLIENT_NAME, CLIENT_VERSION))
            .await;
        Ok((connection, Some(handshake::read_discover_result(&result, revision))))
    }

    async fn endpoint(&self, remote: &Remote) -> Result<Endpoint> {
        let allowed = match &remote.allowed_hosts {
            Some(Ok(hosts)) => hosts.clone(),
            Some(Err(problem)) => return Err(Error::new(ErrorCode::HostBlocked, problem.clone())),
            None => self.options.allowed_hosts.clone(),
        };
        // Before anybody is asked for a secret, and before any socket.
        allowed.check(remote.configured.url())?;
        let token = self.context.listener.credential(&self.context.server).await?;
        if let Some(token) = &token {
            self.context.redactor.learn(token);
        }
        let credential = token.as_deref().map(Credential::bearer).transpose()?;
        let listener = Arc::clone(&self.context.listener);
        let client = self
            .context
            .http
            .clone()
            .ok_or_else(|| Error::new(ErrorCode::Unavailable, "there is no HTTP stack"))?;
        Ok(Endpoint {
            server: self.context.server.clone(),
            configured: Arc::clone(&remote.configured),
            allowed,
            redactor: Arc::clone(&self.context.redactor),
            client,
            max_message_bytes: self.options.max_message_bytes,
            credential: RwLock::new(credential),
            tell: Box::new(move |diagnostic| listener.diagnostic(diagnostic)),
            withheld: Mutex::default(),
        })
    }

    /// Asks for the era; nothing means the session era.
    async fn probe(
        &self,
        endpoint: &Endpoint,
        mode: ProtocolMode,
    ) -> Result<(Option<Revision>, Option<Box<RawValue>>)> {
        let mut revision = match mode {
            ProtocolMode::Pin(revision) => revision,
            ProtocolMode::Auto | ProtocolMode::Legacy => Revision::NEWEST,
        };
        let mut insisted = false;
        loop {
            let envelope = handshake::envelope(revision, CLIENT_NAME, CLIENT_VERSION);
            let text = message::request(u64::from(insisted), DISCOVER, &Params::new(), None, &envelope);
            let (status, reply) = discover(endpoint, &*self.context.clock, revision, &text).await?;
            let probed = Probed::Reply {
                status,
                message: reply.as_deref(),
            };
            let failure = match probe::read(probed, revision) {
                probe::Next::Stateless(revision) => {
                    let result = reply.as_deref().and_then(|reply| match Message::parse(reply) {
                        Ok(Message::Response {
                            outcome: Ok(result), ..
                        }) => Some(result.to_owned()),
                        _ => None,
                    });
                    return Ok((Some(revision), result));
                }
                probe::Next::Initialize if matches!(mode, ProtocolMode::Pin(_)) => {
                    format!("it does not speak {}", revision.name())
                }
                probe::Next::Initialize => return Ok((None, None)),
                probe::Next::RetryWithVersion(other) if other != revision => {
                    revision = other;
                    continue;
                }
                probe::Next::RetryWithVersion(_) => "it refuses the revision that it says it speaks".to_owned(),
                // Some refuse the very revision that they list, once.
                probe::Next::Fail(Failure::Refused(error)) if error.code == UNSUPPORTED_VERSION && !insisted => {
                    insisted = true;
                    continue;
                }
                probe::Next::Fail(failure) => return Err(refused(failure)),
            };
            return Err(Error::new(ErrorCode::InvalidResponse, failure));
        }
    }
}

fn refused(failure: Failure) -> Error {
    match failure {
        Failure::Unauthorized => Error::new(ErrorCode::Unauthorized, "it rejected authorization (HTTP 401)"),
        Failure::Forbidden => Error::new(ErrorCode::Unauthorized, "it denied access (HTTP 403)"),
        Failure::NoAnswer => Error::new(ErrorCode::ConnectionLost, "it did not answer `server/discover`"),
        Failure::Status(status) => Error::new(
            ErrorCode::InvalidResponse,
            format!("it answered `server/discover` with HTTP {}", status.as_u16()),
        ),
        Failure::NoCommonVersion(versions) => Error::new(
            ErrorCode::InvalidResponse,
            format!("it speaks no revision that this client speaks: {}", versions.join(", ")),
        ),
        Failure::Refused(error) => Error::new(
            ErrorCode::ServerError,
            format!(
                "it answered `server/discover` with error {}: {}",
                error.code, error.message
            ),
        ),
    }
}

async fn shake_hands(connection: &Connection, deadline: &Deadline, pinned: Option<Revision>) -> Result<Established> {
    let offer = pinned.unwrap_or(Revision::NEWEST_SESSION);
    let params = handshake::initialize_params(offer, CLIENT_NAME, CLIENT_VERSION);
    let result = answer(
        INITIALIZE,
        connection.ask(INITIALIZE, params, deadline.patience()).await,
    )?;
    let established = handshake::read_initialize_result(&result)?;
    if pinned.is_some_and(|pinned| pinned != established.revision) {
        let message = format!(
            "it speaks {}, not the pinned {}",
            established.revision.name(),
            offer.name()
        );
        return Err(Error::new(ErrorCode::InvalidResponse, message));
    }
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
        Ok(Ended::Failed(error)) => (error.code(), format!("{error}; it had not answered `{method}`")),
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

const CLIENT_NAME: &str = env!("CARGO_PKG_NAME");
const CLIENT_VERSION: &str = env!("CARGO_PKG_VERSION");
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
