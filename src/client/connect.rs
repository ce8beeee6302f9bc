//! Bringing one server up: start, handshake, complete listing, all within one time limit. Owns the order of these steps;
//! what is listed is judged elsewhere.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use super::connection::{Connection, Context};
use super::listing::{self, LIST, Walked};
use super::options::{Endpoint as Configured, Options, ProtocolMode, Remote};
use super::own_request::{CLOSED, answer};
use super::start::start;
use super::state::server::Server;
use super::state::shared::Shared;
use super::tasks::Tasks;
use super::{discover, era};
use crate::catalog::snapshot::RemoteKind;
use crate::driver::Ended;
use crate::error::{Error, ErrorCode, Result};
use crate::guard::headers::Credential;
use crate::host::{Clock, Question, QuestionKind};
use crate::limits::Timeout;
use crate::protocol::handshake::{self, Established, Introduction};
use crate::protocol::message::Params;
use crate::protocol::peer::{INITIALIZE, Patience};
use crate::protocol::revision::{Era, Revision};
use crate::transport::child::{Escape, Launch};
use crate::transport::http::endpoint::Endpoint;
use crate::transport::http::sse::SseTransport;
use crate::transport::http::streamable::StreamableTransport;

/// A server that answers.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) established: Established,
    pub(super) took: Duration,
}

/// A server that answers, and what it lists.
pub(super) struct Connected {
    pub(super) opened: Opened,
    pub(super) walked: Walked,
}

/// What is brought up, and where it is told about.
pub(super) struct Attempt<'a> {
    pub(super) projected_name: &'a str,
    pub(super) target: Target<'a>,
    pub(super) timeout: Timeout,
    pub(super) options: &'a Options,
    pub(super) context: Context,
    /// What this client declares: JSON text.
    pub(super) capabilities: String,
    pub(super) tasks: &'a Tasks,
}

#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    Child(&'a Launch, ProtocolMode),
    Remote(&'a Remote, ProtocolMode),
}

impl<'a> Attempt<'a> {
    /// What it takes to connect this server; `before` is what it spoke when it was connected, and will be held to its era.
    /// Nothing where child processes are switched off.
    pub(super) fn of(
        shared: &'a Arc<Shared>,
        index: usize,
        server: &'a Server,
        before: Option<Revision>,
    ) -> Option<Self> {
        let configured = server.config.protocol.unwrap_or(shared.options.protocol);
        let mode = match before {
            Some(revision) if revision.era() == Era::Stateless => ProtocolMode::Pin(revision),
            Some(_) if configured == ProtocolMode::Auto => ProtocolMode::Legacy,
            _ => configured,
        };
        let target = match &server.config.endpoint {
            Configured::Stdio(launch) if shared.options.stdio => Target::Child(launch, mode),
            Configured::Stdio(_) => return None,
            Configured::Remote(remote) => Target::Remote(remote, mode),
        };
        Some(Self {
            projected_name: &server.projected_name,
            target,
            timeout: server.config.timeout.unwrap_or(shared.options.patience.timeout),
            options: &shared.options,
            context: shared.context(index, server),
            capabilities: shared.options.handlers.capabilities(),
            tasks: &shared.tasks,
        })
    }
}

impl Attempt<'_> {
    /// Connects, without a listing. When this fails, or is dropped, whatever it started is on its way out.
    ///
    /// # Errors
    /// Whatever kept the server from answering; secrets are already out of the text.
    pub(super) async fn reopen(self) -> Result<(Connection, Established)> {
        let deadline = Deadline::new(Arc::clone(&self.context.clock), self.timeout);
        self.bring_up(&deadline).await.map_err(|error| self.told(error))
    }

    /// Connects and lists. The same holds for what it started.
    ///
    /// # Errors
    /// The same.
    pub(super) async fn run(self) -> Result<Connected> {
        let (opened, walked) = self.carefully(true).await?;
        Ok(Connected {
            opened,
            walked: walked.unwrap_or_default(),
        })
    }

    /// Connects for the first time, without a listing. The same holds for what it started.
    ///
    /// # Errors
    /// The same.
    pub(super) async fn open_alone(self) -> Result<Opened> {
        Ok(self.carefully(false).await?.0)
    }

    /// What was remembered of a server may be what went wrong: then it is asked anew, once.
    async fn carefully(&self, lists: bool) -> Result<(Opened, Option<Walked>)> {
        let deadline = Deadline::new(Arc::clone(&self.context.clock), self.timeout);
        let remembered = match self.target {
            Target::Remote(remote, ProtocolMode::Auto) => era::known(remote, ProtocolMode::Auto).is_some(),
            _ => false,
        };
        let mut outcome = self.steps(&deadline, lists).await;
        if let (Err(error), Target::Remote(remote, _)) = (&outcome, self.target) {
            era::forget(remote);
            let is_about_the_era = matches!(
                error.code(),
                ErrorCode::ServerError | ErrorCode::InvalidResponse | ErrorCode::ConnectionLost
            );
            if remembered && is_about_the_era {
                outcome = self.steps(&deadline, lists).await;
            }
        }
        outcome.map_err(|error| self.told(error))
    }

    fn told(&self, error: Error) -> Error {
        if error.is_from::<Escape>() {
            // It is about what was configured, and has to show it as it is.
            return error;
        }
        let mut message = self.context.redactor.redact(error.message());
        if let (ErrorCode::Timeout, Some(limit)) = (error.code(), self.timeout.duration()) {
            // Writing to a string cannot fail.
            let _ = write!(message, " after {} ms", limit.as_millis());
        }
        error.with_message(message)
    }

    async fn bring_up(&self, deadline: &Deadline) -> Result<(Connection, Established)> {
        if self.tasks.closing.is_cancelled() {
            return Err(Error::new(ErrorCode::Closed, CLOSED));
        }
        let (connection, opened) = match self.target {
            Target::Child(launch, _) => {
                let launch = launch.on_host(self.options.fs_root.as_deref());
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
            None => self.open(&connection, deadline).await?,
        };
        Ok((connection, established))
    }

    async fn steps(&self, deadline: &Deadline, lists: bool) -> Result<(Opened, Option<Walked>)> {
        let (connection, established) = self.bring_up(deadline).await?;
        let walked = if lists {
            let walk = listing::list(
                self.projected_name,
                (established.revision.era(), established.announces("tools")),
                self.options.listing,
                |params| connection.ask(LIST, params, deadline.patience()),
                |ended| answer(LIST, ended),
            );
            Some(walk.await?)
        } else {
            None
        };
        let opened = Opened {
            connection,
            established,
            took: deadline.elapsed(),
        };
        Ok((opened, walked))
    }

    /// Opens a connection that says nothing of its era yet. A child is asked for the stateless era only when it cannot be
    /// spoken to otherwise, and then the same child: nothing is started twice (client specification, section 4).
    async fn open(&self, connection: &Connection, deadline: &Deadline) -> Result<Established> {
        let pinned = self.pinned();
        let is_child = matches!(self.target, Target::Child(..));
        if let Some(revision) = pinned.filter(|revision| revision.era() == Era::Stateless) {
            return discover::on(connection, || deadline.patience(), revision, self.introduction()).await;
        }
        let refusal = match shake_hands(connection, deadline, pinned, self.introduction()).await {
            Err(Unopened::Refused(error)) if is_child && self.mode() == ProtocolMode::Auto => error,
            Err(Unopened::Refused(error) | Unopened::Failed(error)) => return Err(error),
            Ok(established) => return Ok(established),
        };
        discover::on(
            connection,
            || deadline.patience(),
            Revision::NEWEST,
            self.introduction(),
        )
        .await
        // What the handshake said is what the reader knows how to mend.
        .map_err(|error| {
            if error.code() == ErrorCode::Timeout {
                error
            } else {
                refusal
            }
        })
    }

    fn introduction(&self) -> Introduction<'_> {
        Introduction {
            name: CLIENT_NAME,
            version: CLIENT_VERSION,
            capabilities: &self.capabilities,
            wants_logs: self.context.handlers.log,
        }
    }

    const fn mode(&self) -> ProtocolMode {
        match self.target {
            Target::Child(_, mode) | Target::Remote(_, mode) => mode,
        }
    }

    /// The revision that alone will do.
    const fn pinned(&self) -> Option<Revision> {
        match self.mode() {
            ProtocolMode::Pin(revision) => Some(revision),
            ProtocolMode::Auto | ProtocolMode::Legacy => None,
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
        if remote.kind == RemoteKind::Sse {
            let transport = SseTransport::open(endpoint, Arc::clone(&self.context.clock)).await?;
            return Ok((
                Connection::start(transport, self.context.clone(), self.tasks.clone()),
                None,
            ));
        }
        let (revision, result) = match era::known(remote, mode) {
            Some(Era::Session) => (None, None),
            _ => discover::over_http(&endpoint, &*self.context.clock, mode, self.introduction()).await?,
        };
        era::remember(remote, revision.map_or(Era::Session, Revision::era));
        let era = revision.map_or(Era::Session, Revision::era);
        let clock = Arc::clone(&self.context.clock);
        let transport = StreamableTransport::new(endpoint, era, revision, clock);
        let connection = Connection::start(transport, self.context.clone(), self.tasks.clone());
        let Some((revision, result)) = revision.zip(result) else {
            return Ok((connection, None));
        };
        connection.envelope(self.introduction().envelope(revision)).await;
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
        let question = Question {
            kind: QuestionKind::Credential,
            server: self.context.server.clone(),
            during: None,
            text: String::new(),
        };
        let token = self.context.listener.ask(question).await?;
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
}

/// Why there was no handshake.
enum Unopened {
    /// The server answered, with a refusal or with a version that cannot be used.
    Refused(Error),
    Failed(Error),
}

async fn shake_hands(
    connection: &Connection,
    deadline: &Deadline,
    pinned: Option<Revision>,
    introduction: Introduction<'_>,
) -> Result<Established, Unopened> {
    let offer = pinned.unwrap_or(Revision::NEWEST_SESSION);
    let params = introduction.initialize_params(offer);
    let ended = connection.ask(INITIALIZE, params, deadline.patience()).await;
    let is_refused = matches!(ended, Ok(Ended::Error(_)));
    let result = answer(INITIALIZE, ended).map_err(|error| {
        if is_refused {
            Unopened::Refused(error)
        } else {
            Unopened::Failed(error)
        }
    })?;
    let established = handshake::read_initialize_result(&result).map_err(Unopened::Refused)?;
    if pinned.is_some_and(|pinned| pinned != established.revision) {
        let message = format!(
            "it speaks {}, not the pinned {}",
            established.revision.name(),
            offer.name()
        );
        return Err(Unopened::Failed(Error::new(ErrorCode::InvalidResponse, message)));
    }
    connection.settle(established.revision).await;
    connection.notify("notifications/initialized", Params::new()).await;
    Ok(established)
}

const CLIENT_NAME: &str = env!("CARGO_PKG_NAME");
const CLIENT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// One time limit over several steps.
pub(super) struct Deadline {
    clock: Arc<dyn Clock>,
    started: Instant,
    timeout: Timeout,
}

impl Deadline {
    pub(super) fn new(clock: Arc<dyn Clock>, timeout: Timeout) -> Self {
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
    pub(super) fn patience(&self) -> Patience {
        let left = self
            .timeout
            .duration()
            .map(|timeout| timeout.saturating_sub(self.elapsed()));
        Patience::flat(left.map_or(Timeout::NONE, Timeout::after))
    }
}
