//! One live connection to a server: requests go in from any thread, and what became of it is known afterwards. Owns the
//! driver's task and the figures; knows neither the transport nor what a tool is called in the map.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::handlers::Handlers;
use super::inbound::Inbound;
use super::tasks::Tasks;
use crate::diagnostic::{Diagnostic, Rule};
use crate::driver::{self, Command, Ended, Observer, Waiter};
use crate::error::Error;
use crate::guard::redact::Redactor;
use crate::host::http::HttpClient;
use crate::host::{Clock, Listener};
use crate::json::{self, Object};
use crate::limits;
use crate::protocol::codes::WireError;
use crate::protocol::message::{Mirror, Params};
use crate::protocol::peer::{Asked, Patience, ProgressUse, Request, Violation};
use crate::protocol::revision::Revision;
use crate::transport::Transport;

/// A handle; dropping it closes the connection.
pub(super) struct Connection {
    commands: mpsc::Sender<Command>,
    lost: Arc<OnceLock<Arc<Error>>>,
    /// Fires when nothing is left of it.
    ended: CancellationToken,
    tasks: Tasks,
}

/// A request that was not even queued.
pub(super) enum Refused {
    Busy,
    /// The connection is gone, and why; nothing when it was closed.
    Gone(Option<Arc<Error>>),
}

/// Who a connection belongs to, for whoever is told about it.
#[derive(Clone)]
pub(super) struct Context {
    /// The configured name.
    pub(super) server: String,
    pub(super) redactor: Arc<Redactor>,
    pub(super) listener: Arc<dyn Listener>,
    pub(super) clock: Arc<dyn Clock>,
    /// There where any server is remote.
    pub(super) http: Option<Arc<dyn HttpClient>>,
    pub(super) handlers: Arc<Handlers>,
    /// Hears what the server announces. Called from the driver's task; must not block.
    pub(super) hear: Arc<dyn Fn(Notice) + Send + Sync>,
}

/// What a server says without being asked.
#[derive(Debug)]
pub(super) enum Notice {
    ToolsChanged,
    PromptsChanged,
    ResourcesChanged,
    /// The resource of this URI; `of` is the name of the request that subscribed, where that is known.
    ResourceUpdated {
        uri: String,
        of: Option<u64>,
    },
    /// It honours subscriptions to the resources of these URIs; `of` as above.
    Acknowledged {
        uris: Vec<String>,
        of: Option<u64>,
    },
    /// It forgot the session, and has a new one.
    Renewed,
    /// Its connection is gone.
    Lost,
}

impl Connection {
    /// Starts the driver's task over a transport. It has ended, transport and all, when the tracker says so.
    pub(super) fn start(transport: impl Transport, context: Context, tasks: Tasks) -> Self {
        let (commands, queue) = mpsc::channel(limits::MAX_CALLS_IN_FLIGHT);
        let lost = Arc::new(OnceLock::new());
        let clock = Arc::clone(&context.clock);
        let inbound = Inbound::new(
            context.server.clone(),
            Arc::clone(&context.handlers),
            Arc::clone(&context.listener),
            tasks.clone(),
            commands.downgrade(),
        );
        let witness = Witness {
            context,
            inbound,
            lost: Arc::clone(&lost),
            told: HashMap::new(),
        };
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        let closing = tasks.closing.clone();
        tasks.spawn(async move {
            driver::run(transport, queue, closing, clock, witness).await;
            drop(end);
        });
        Self {
            commands,
            lost,
            ended,
            tasks,
        }
    }

    /// Queues a request; its waiter is told how it ended.
    ///
    /// # Errors
    /// Gives the waiter back when the request was not queued.
    pub(super) fn request(&self, request: Request<Waiter>) -> Result<(), (Refused, Waiter)> {
        self.commands.try_send(Command::Request(request)).map_err(|error| {
            let (refused, command) = match error {
                mpsc::error::TrySendError::Full(command) => (Refused::Busy, command),
                mpsc::error::TrySendError::Closed(command) => (Refused::Gone(self.lost.get().cloned()), command),
            };
            match command {
                Command::Request(request) => (refused, request.waiter),
                // The command that was sent is the command that comes back.
                _ => (refused, Box::new(|_| {}) as Waiter),
            }
        })
    }

    /// Sends a request of our own and waits for its end.
    pub(super) async fn ask(&self, method: &'static str, params: Params, patience: Patience) -> Result<Ended, Refused> {
        // The driver settles every request it was given; only a torn-down runtime drops one.
        Ok(self.begin(method, params, patience)?.await.unwrap_or(Ended::Closed))
    }

    /// Sends a request of our own; its end can be waited for without the connection.
    pub(super) fn begin(
        &self,
        method: &'static str,
        params: Params,
        patience: Patience,
    ) -> Result<oneshot::Receiver<Ended>, Refused> {
        let (tell, told) = oneshot::channel();
        let waiter: Waiter = Box::new(move |ended| drop(tell.send(ended)));
        let request = Request {
            method,
            params,
            patience,
            key: None,
            progress: ProgressUse::None,
            mirror: Mirror::default(),
            may_ask: false,
            waiter,
        };
        self.request(request).map_err(|(refused, _)| refused)?;
        Ok(told)
    }

    /// Sends a request whose end nobody waits for.
    pub(super) fn send(&self, method: &'static str, params: Params, patience: Patience) {
        let request = Request {
            method,
            params,
            patience,
            key: None,
            progress: ProgressUse::None,
            mirror: Mirror::default(),
            may_ask: false,
            waiter: Box::new(|_| {}) as Waiter,
        };
        drop(self.request(request));
    }

    pub(super) async fn settle(&self, revision: Revision) {
        // It fails when the connection is gone, which the next request finds out.
        drop(self.commands.send(Command::Settle(revision)).await);
    }

    /// From here on the stateless era.
    pub(super) async fn envelope(&self, members: String) {
        drop(self.commands.send(Command::Envelope(members)).await);
    }

    pub(super) async fn notify(&self, method: &'static str, params: Params) {
        drop(self.commands.send(Command::Notify { method, params }).await);
    }

    /// Gives up the request of this name, if it is still under way.
    pub(super) fn cancel(&self, key: u64) {
        // Otherwise it was queued, or the connection is gone, and the request with it.
        if let Err(mpsc::error::TrySendError::Full(command)) = self.commands.try_send(Command::Cancel { key }) {
            let commands = self.commands.clone();
            self.tasks.spawn(async move { drop(commands.send(command).await) });
        }
    }

    /// A handle to put in place of this one, which closes with the last that is left of it. Whoever asks something of the
    /// new one hears why.
    pub(super) fn let_go(&self, why: Error) -> Self {
        let (commands, _) = mpsc::channel(1);
        Self {
            commands,
            lost: Arc::new(OnceLock::from(Arc::new(why))),
            ended: self.ended.clone(),
            tasks: self.tasks.clone(),
        }
    }

    pub(super) fn lost(&self) -> Option<&Arc<Error>> {
        self.lost.get()
    }

    /// Resolves when nothing is left of it: its child has been stopped, its sockets are closed.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        self.ended.clone().cancelled_owned()
    }
}

/// Hears for the toolset what the driver has to tell.
struct Witness {
    context: Context,
    inbound: Inbound,
    lost: Arc<OnceLock<Arc<Error>>>,
    /// When each kind of violation was told last.
    told: HashMap<Violation, Instant>,
}

impl Observer for Witness {
    fn progress(&mut self, key: u64, params: Box<RawValue>) {
        self.context.listener.progress(key, params.get().to_owned());
    }

    fn violation(&mut self, violation: Violation, now: Instant) {
        let recently = |told: &Instant| now.saturating_duration_since(*told) < limits::VIOLATION_INTERVAL;
        if self.told.get(&violation).is_some_and(recently) {
            return;
        }
        self.told.insert(violation, now);
        let server = &self.context.server;
        let message = format!("MCP server {}: {}", json::quote(server), violation.text());
        self.context
            .listener
            .diagnostic(Diagnostic::new(Rule::ProtocolViolation, server, message));
    }

    fn asked(&mut self, asked: Asked) -> Option<Result<String, WireError>> {
        self.inbound.asked(&asked)
    }

    fn withdrawn(&mut self, ticket: u64) {
        self.inbound.withdrawn(ticket);
    }

    fn notified(&mut self, method: &str, params: Option<&RawValue>, of: Option<u64>) {
        let notice = match method {
            "notifications/message" => return self.log(params),
            "notifications/tools/list_changed" => Notice::ToolsChanged,
            "notifications/prompts/list_changed" => Notice::PromptsChanged,
            "notifications/resources/list_changed" => Notice::ResourcesChanged,
            "notifications/resources/updated" => {
                let object = params.and_then(|params| Object::parse(params.get()));
                let Some(uri) = object.and_then(|object| object.string("uri").map(Cow::into_owned)) else {
                    return;
                };
                Notice::ResourceUpdated { uri, of }
            }
            "notifications/subscriptions/acknowledged" => Notice::Acknowledged {
                uris: acknowledged(params),
                of,
            },
            // The others are for features that this side did not ask for.
            _ => return,
        };
        (self.context.hear)(notice);
    }

    fn renewed(&mut self) {
        (self.context.hear)(Notice::Renewed);
    }

    fn lost(&mut self, error: Error) -> Arc<Error> {
        let redacted = Error::new(error.code(), self.context.redactor.redact(error.message()));
        let lost = Arc::clone(self.lost.get_or_init(|| Arc::new(redacted)));
        (self.context.hear)(Notice::Lost);
        lost
    }
}

/// The resources that an acknowledgement names.
fn acknowledged(params: Option<&RawValue>) -> Vec<String> {
    let filter = params
        .and_then(|params| Object::parse(params.get()))
        .and_then(|params| params.object("notifications"));
    let uris = filter.and_then(|filter| filter.array("resourceSubscriptions"));
    let text = |uri: &RawValue| json::string(uri.get()).map(Cow::into_owned);
    uris.unwrap_or_default().into_iter().filter_map(text).collect()
}

impl Witness {
    fn log(&self, params: Option<&RawValue>) {
        let is_object = |params: &&RawValue| Object::parse(params.get()).is_some();
        if let Some(params) = params.filter(|_| self.context.handlers.log).filter(is_object) {
            self.context.listener.log(&self.context.server, params.get().to_owned());
        }
    }
}

/// What the calls of one server came to.
#[derive(Default)]
pub(super) struct Figures(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    calls: u64,
    errors: u64,
    last_error: Option<String>,
    /// The most recent ones.
    latencies: VecDeque<Duration>,
}

pub(super) struct Summary {
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) last_error: Option<String>,
    /// Median, 95th and 99th percentile; nothing before the first call ended.
    pub(super) latency: Option<[Duration; 3]>,
}

impl Figures {
    /// `latency` is there for a call that the server answered.
    pub(super) fn note(&self, latency: Option<Duration>, error: Option<&str>) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.calls += 1;
        if let Some(error) = error {
            counted.errors += 1;
            counted.last_error = Some(error.to_owned());
        }
        let Some(latency) = latency else { return };
        if counted.latencies.len() == limits::LATENCY_SAMPLES {
            counted.latencies.pop_front();
        }
        counted.latencies.push_back(latency);
    }

    pub(super) fn summary(&self) -> Summary {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: Vec<Duration> = counted.latencies.iter().copied().collect();
        sorted.sort_unstable();
        let percentile = |percent: usize| {
            sorted
                .get((sorted.len() * percent).div_ceil(100).saturating_sub(1))
                .copied()
        };
        Summary {
            calls: counted.calls,
            errors: counted.errors,
            last_error: counted.last_error.clone(),
            latency: percentile(50)
                .zip(percentile(95))
                .zip(percentile(99))
                .map(|((p50, p95), p99)| [p50, p95, p99]),
        }
    }
}
