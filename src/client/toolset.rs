//! The servers of one `mcpTools` call, together: connecting them side by side, the map from projected names to what they
//! call, calling, and closing. Each server is isolated: what one does costs only itself.

use std::mem;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::cache::Cache;
use super::call::Call;
use super::choice;
use super::connect::{Attempt, Connected, Opened};
use super::connection::Figures;
use super::lazy;
use super::options::{Endpoint, Options, ServerConfig};
use super::rows::{Keep, Purpose, Rows};
use super::start::rule_of_failure;
use super::state::activity::Activity;
use super::state::listed::Listed;
use super::state::published::Catalogue;
use super::state::relisting::Relisting;
use super::state::server::{Live, Server, State};
use super::state::shared::{Shared, closed};
use super::tasks::Tasks;
use crate::catalog::collision::{self, Candidate};
use crate::catalog::drift::Baseline;
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, ErrorCode, Result};
use crate::guard::headers;
use crate::guard::redact::Redactor;
use crate::host::http::HttpClient;
use crate::host::{CallEnd, CallId, Clock, Listener};
use crate::json;

/// A handle; the toolset lives until `close`, or until the last handle and the last call are gone.
#[derive(Clone)]
pub(crate) struct Toolset(pub(super) Arc<Shared>);

impl Toolset {
    /// Takes the configuration, with the rows of a store where there is one. Nothing is started yet. Without an HTTP
    /// client, remote servers get one of our own.
    pub(crate) fn new(
        servers: Vec<ServerConfig>,
        options: Options,
        rows: Option<Rows<'_>>,
        listener: Arc<dyn Listener>,
        clock: Arc<dyn Clock>,
        http: Option<Arc<dyn HttpClient>>,
        runtime: Handle,
    ) -> Self {
        let candidates: Vec<_> = servers
            .iter()
            .map(|server| Candidate {
                name: server.name.clone(),
                identity: server.identity(),
                extras: server.extras(),
            })
            .collect();
        let resolution = collision::resolve(&candidates);
        for diagnostic in resolution.diagnostics {
            listener.diagnostic(diagnostic);
        }
        let mut configs: Vec<_> = servers.into_iter().map(Some).collect();
        let servers = resolution.servers.into_iter().filter_map(|kept| {
            let config = configs.get_mut(kept.index)?.take()?;
            Some((config, kept.name))
        });
        let woken = rows.filter(|rows| rows.purpose == Purpose::Wake);
        let servers = match woken {
            Some(rows) => choice::choose(servers.collect(), rows.stored, |told| listener.diagnostic(told)),
            None => servers.collect(),
        };
        let servers = servers
            .into_iter()
            .map(|(mut config, projected_name)| {
                let kept = lazy::recall(&mut config, &projected_name, rows);
                let row = rows
                    .filter(|_| config.is_remote())
                    .and_then(|rows| rows.of(&projected_name));
                Server {
                    activity: Activity::of(&config, &options, &clock),
                    retries: Mutex::default(),
                    redactor: Arc::new(Redactor::new(config.secrets())),
                    config,
                    projected_name,
                    state: Mutex::new(State::Connecting),
                    listed: Mutex::new(Listed::guarded_by(row.and_then(|row| Baseline::of_row(row)))),
                    turns: watch::Sender::default(),
                    relisting: Relisting::default(),
                    row: Mutex::new(row.cloned()),
                    kept: Mutex::new(kept),
                    figures: Figures::default(),
                    credentials: Mutex::default(),
                    cache: Cache::default(),
                    subscriptions: Mutex::default(),
                }
            })
            .collect();
        let tasks = Tasks {
            runtime,
            tracker: TaskTracker::new(),
            closing: CancellationToken::new(),
            gate: Arc::default(),
        };
        Self(Arc::new(Shared {
            options,
            servers,
            catalogue: Catalogue::default(),
            keeps_rows: rows.is_some_and(|rows| rows.purpose != Purpose::Review),
            keeps_listings: rows.is_some_and(|rows| rows.listings.is_some() && rows.purpose == Purpose::Guard),
            may_sleep: rows.is_none_or(|rows| rows.purpose != Purpose::Review),
            listener,
            clock,
            http: http.map_or_else(OnceLock::new, OnceLock::from),
            tasks,
            held: Arc::default(),
            asks: Mutex::default(),
            own_requests: AtomicU64::new(0),
        }))
    }

    /// Connects all servers at once, but for those that are left alone until they are called, and projects what they list.
    /// A server that fails is told as a diagnostic.
    ///
    /// # Errors
    /// `invalid-option`; `closed` when the toolset is closed meanwhile.
    pub(crate) async fn connect(&self) -> Result<()> {
        self.0.prepare_http()?;
        let eager = self.indices(|shared, server| {
            let is_asleep = shared.leave_asleep(server);
            // From here on it is only in the way.
            drop(server.take_row());
            !is_asleep
        });
        self.connect_all(&eager, Keep::Always).await?;
        self.0.publish();
        for index in eager {
            self.0.begin_relisting(index);
        }
        Ok(())
    }

    /// Connects and lists these servers side by side, and has their rows saved.
    ///
    /// # Errors
    /// `closed` when the toolset is closed meanwhile.
    pub(super) async fn connect_all(&self, servers: &[usize], keep: Keep) -> Result<()> {
        self.side_by_side(servers, move |shared, index, permit| async move {
            let is_whole = shared.connect_server(index).await;
            drop(permit);
            if let Some(server) = shared.servers.get(index).filter(|_| is_whole) {
                shared.keep_row(server, keep).await;
            }
        })
        .await
    }

    /// Tries these servers side by side; a permit is had for as long as one is being connected.
    ///
    /// # Errors
    /// `closed` when the toolset is closed meanwhile.
    pub(super) async fn side_by_side<F>(
        &self,
        servers: &[usize],
        attempt: impl Fn(Arc<Shared>, usize, Option<OwnedSemaphorePermit>) -> F + Copy + Send + 'static,
    ) -> Result<()>
    where
        F: Future<Output = ()> + Send,
    {
        let permits = Arc::new(Semaphore::new(
            self.0.options.max_parallel_connects.min(Semaphore::MAX_PERMITS),
        ));
        let mut attempts = JoinSet::new();
        for index in servers.iter().copied() {
            let shared = Arc::clone(&self.0);
            let permits = Arc::clone(&permits);
            let attempt = async move {
                // The semaphore is never closed.
                let permit = permits.acquire_owned().await.ok();
                attempt(shared, index, permit).await;
            };
            // Tracked, so that `close` waits for what is only just being started.
            attempts.spawn_on(self.0.tasks.tracker.track_future(attempt), &self.0.tasks.runtime);
        }
        while attempts.join_next().await.is_some() {}
        if self.0.tasks.closing.is_cancelled() {
            return Err(closed("while it was connecting"));
        }
        for server in servers.iter().filter_map(|index| self.0.servers.get(*index)) {
            // A task that failed left it connecting.
            let error = Error::new(ErrorCode::Unavailable, "the task that connects it failed");
            self.0.fail(server, error);
        }
        Ok(())
    }

    /// The text that the tools are built from, where it is another one than was taken last.
    pub(crate) fn catalogue(&self) -> Option<String> {
        self.0.catalogue.take_text()
    }

    /// Starts a call; the listener hears of its end.
    pub(crate) fn call(&self, call: Call) {
        let id = call.id;
        if let Err(error) = self.0.start_call(call) {
            self.0.listener.settled(id, CallEnd::Failed(error));
        }
    }

    /// Gives a call the credential that it waits for.
    pub(crate) fn authorize(&self, id: CallId, bearer: String) {
        self.0.held.authorize(id, bearer);
    }

    /// Gives up a call of this tool, if it is still under way.
    pub(crate) fn cancel(&self, id: CallId, tool: &str) {
        // In this order: a call that is held looks for this under the lock that the next lines take.
        self.0.held.give_up(id);
        let server = self.0.entry(tool).and_then(|entry| self.0.servers.get(entry.server()));
        if let Some(State::Ready(live)) = server.map(Server::state).as_deref() {
            live.connection.cancel(id);
        }
    }

    /// Closes every connection and waits until nothing is left running. Calls under way fail with `closed`.
    pub(crate) async fn close(&self) {
        self.shut();
        self.0.tasks.tracker.close();
        self.0.tasks.tracker.wait().await;
    }

    /// From here on calls find the toolset closed. Waits for nothing.
    pub(crate) fn shut(&self) {
        self.0.tasks.closing.cancel();
        self.0.tasks.gate.shut();
        for server in &self.0.servers {
            // The handle goes, and with it the connection; calls after this find the toolset closed.
            let before = mem::replace(&mut *server.state(), State::Closed);
            server.turns.send_modify(|turn| *turn += 1);
            if !matches!(before, State::Closed) {
                self.0.tell_status(server);
            }
        }
    }

    /// Ends every child at once, without waiting: for the end of the environment that the toolset lives in.
    pub(crate) fn kill(&self) {
        self.0.tasks.closing.cancel();
        self.0.tasks.gate.kill();
    }

    /// The state of every server, as JSON text.
    pub(crate) fn servers(&self) -> String {
        let servers: Vec<_> = self.0.servers.iter().map(Server::to_json).collect();
        format!("[{}]", servers.join(","))
    }
}

impl Shared {
    /// Brings one server up, or tells why not. True when all that it lists is known.
    async fn connect_server(self: &Arc<Self>, index: usize) -> bool {
        let Some(server) = self.servers.get(index) else {
            return false;
        };
        let Some(attempt) = self.attempt(index, server) else {
            self.refuse(server);
            return false;
        };
        match attempt.run().await {
            Ok(connected) => {
                let is_whole = connected.walked.is_whole;
                self.admit(index, server, connected);
                is_whole
            }
            Err(error) => {
                self.fail(server, error);
                false
            }
        }
    }

    /// What it takes to connect a server for the first time.
    pub(super) fn attempt<'a>(self: &'a Arc<Self>, index: usize, server: &'a Server) -> Option<Attempt<'a>> {
        if let Endpoint::Remote(remote) = &server.config.endpoint {
            for name in &remote.ignored {
                self.listener.diagnostic(headers::ignored(&server.config.name, name));
            }
        }
        Attempt::of(self, index, server, None)
    }

    fn admit(self: &Arc<Self>, index: usize, server: &Server, connected: Connected) {
        self.take_listing(server, connected.walked);
        self.welcome(index, server, connected.opened);
    }

    /// From here on a server can be called.
    pub(super) fn welcome(self: &Arc<Self>, index: usize, server: &Server, opened: Opened) {
        let live = Live {
            connection: opened.connection,
            established: opened.established,
            took: opened.took,
            is_stopped: false,
        };
        server.connected(State::Ready(live));
        self.attend(index, server);
        self.watch_idleness(index, server);
        self.tell_status(server);
    }

    fn refuse(&self, server: &Server) {
        let text = format!(
            "MCP server {} uses stdio, which is off here: this entry point starts no processes, as Workers cannot \
             (workerd has none). On Node or Bun import `espalier/node`, which stands where @kuralle-agents/mcp/node does \
             for users of that package",
            json::quote(&server.config.name)
        );
        let error = Error::new(ErrorCode::Unavailable, text.clone());
        self.turn_down(server, Rule::UnsupportedTransport, error, text);
    }

    pub(super) fn fail(&self, server: &Server, error: Error) {
        let name = json::quote(&server.config.name);
        let text = format!("MCP server {name} is not available: {error}");
        self.turn_down(server, rule_of_failure(&error), error, text);
    }

    fn turn_down(&self, server: &Server, rule: Rule, error: Error, text: String) {
        let unavailable = State::Unavailable {
            cause: Arc::new(error),
            at: self.clock.now(),
        };
        let is_news = server.connected(unavailable);
        // What becomes of servers when their toolset is closed, whoever closed it knows.
        if is_news && !self.tasks.closing.is_cancelled() {
            self.tell_status(server);
            self.listener
                .diagnostic(Diagnostic::new(rule, &server.config.name, text));
        }
    }
}
