//! What a server is to tell on its own account: changes of its lists, and updates of single resources. In the stateless era
//! each is a request that stays open (`subscriptions/listen`) and is opened again when it is cut; in the session era the
//! changes come by themselves.

use std::sync::{Arc, Weak};
use std::time::Instant;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::connection::Notice;
use super::failure::{failure, unavailable};
use super::features::{Feature, described};
use super::server::{Server, State};
use super::shared::Shared;
use crate::driver::{Ended, Waiter};
use crate::error::{Error, ErrorCode, Result};
use crate::host::CallId;
use crate::limits::{self, Timeout};
use crate::protocol::message::{Mirror, Params};
use crate::protocol::peer::{Patience, ProgressUse, Request};
use crate::protocol::revision::Era;
use crate::transport::backoff::backoff;

const LISTEN: &str = "subscriptions/listen";
/// Names of requests of our own, beside those that the caller numbers.
const OWN_KEYS: u64 = 1 << 63;

/// A resource that somebody subscribed to.
#[derive(Default)]
pub(super) struct Subscription {
    /// Ends it; in the stateless era, where it is a request that stays open.
    end: CancellationToken,
    /// Whoever waits until it stands.
    stands: Vec<oneshot::Sender<Result<(), Error>>>,
}

/// A subscription of the stateless era: what it is for, and how it ends.
struct Listening {
    shared: Weak<Shared>,
    server: usize,
    /// The JSON text of the filter.
    filter: String,
    /// What may have happened unheard while it was cut.
    missed: Vec<fn() -> Notice>,
    uri: Option<String>,
    end: CancellationToken,
}

impl Shared {
    /// A server came up, or has a new session: what it is to tell is asked for. What it says to that is not waited for.
    pub(super) fn attend(self: &Arc<Self>, index: usize, server: &Server) {
        let (era, lists) = match &*server.state() {
            State::Ready(live) => {
                let is_session = live.established.revision.era() == Era::Session;
                // In the stateless era each request says it.
                if is_session && self.options.handlers.log && live.established.announces("logging") {
                    let params = Params::new().text("level", "debug");
                    live.connection.send("logging/setLevel", params, self.patience(server));
                }
                let lists: Vec<_> = LISTS
                    .iter()
                    .filter(|list| live.established.announces_member(list.capability, "listChanged"))
                    .collect();
                (live.established.revision.era(), lists)
            }
            _ => return,
        };
        let uris: Vec<_> = server.subscriptions().keys().cloned().collect();
        if era == Era::Session {
            for uri in uris {
                let params = Params::new().text("uri", &uri);
                if let State::Ready(live) = &*server.state() {
                    live.connection
                        .send(Feature::Subscribe.method(), params, self.patience(server));
                }
            }
            return;
        }
        for uri in uris {
            self.open_subscription(index, server, &uri);
        }
        if lists.is_empty() {
            return;
        }
        let mut filter = Params::new();
        for list in &lists {
            filter = filter.raw(list.wanted, "true");
        }
        self.listen(Listening {
            shared: Arc::downgrade(self),
            server: index,
            filter: filter.object(),
            missed: lists.iter().map(|list| list.notice).collect(),
            uri: None,
            end: CancellationToken::new(),
        });
    }

    /// Subscribes to a resource, and waits until the subscription stands.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) async fn subscribe(
        self: &Arc<Self>,
        index: usize,
        server: &Server,
        uri: String,
        id: CallId,
    ) -> Result<()> {
        let (era, announced) = match &*server.state() {
            State::Ready(live) => (
                live.established.revision.era(),
                live.established.announces_member("resources", "subscribe"),
            ),
            _ => (Era::Session, true),
        };
        if !announced {
            let refusal = Error::new(
                ErrorCode::Unavailable,
                "it does not announce that resources can be subscribed to",
            );
            return Err(unavailable(server, &refusal));
        }
        if era == Era::Session {
            let params = Params::new().text("uri", &uri).object();
            let bearer = self.bearer(server).await?;
            let (ended, _) = self.request(server, Feature::Subscribe, &params, bearer, id).await?;
            let Ended::Result(_) = ended else {
                return Err(failure(ended, &described(Feature::Subscribe, server), server));
            };
            server.subscriptions().entry(uri).or_default();
            return Ok(());
        }
        let (tell, stands) = oneshot::channel();
        server.subscriptions().entry(uri.clone()).or_default().stands.push(tell);
        self.open_subscription(index, server, &uri);
        let patience = self.patience(server).timeout.duration();
        let late = async {
            match patience.and_then(|patience| self.clock.now().checked_add(patience)) {
                Some(end) => self.clock.sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        let outcome = tokio::select! {
            outcome = stands => outcome.unwrap_or_else(|_| Err(Error::new(ErrorCode::Unavailable, "it was ended meanwhile"))),
            () = late => Err(Error::new(ErrorCode::Timeout, "it was not acknowledged in time")),
        };
        outcome.map_err(|error| {
            server.end_subscription(&uri);
            Error::new(
                error.code(),
                format!("{} failed: {error}", described(Feature::Subscribe, server)),
            )
        })
    }

    /// # Errors
    /// What the server says to it.
    pub(super) async fn unsubscribe(&self, server: &Server, uri: &str, id: CallId) -> Result<()> {
        if !server.end_subscription(uri) {
            return Ok(());
        }
        let is_session = match &*server.state() {
            State::Ready(live) => live.established.revision.era() == Era::Session,
            // There is nobody to tell.
            _ => false,
        };
        if !is_session {
            return Ok(());
        }
        let params = Params::new().text("uri", uri).object();
        let bearer = self.bearer(server).await?;
        match self.request(server, Feature::Unsubscribe, &params, bearer, id).await?.0 {
            Ended::Result(_) => Ok(()),
            ended => Err(failure(ended, &described(Feature::Unsubscribe, server), server)),
        }
    }

    /// The time limits of a request to this server.
    pub(super) fn patience(&self, server: &Server) -> Patience {
        Patience {
            timeout: server.config.timeout.unwrap_or(self.options.patience.timeout),
            ..self.options.patience
        }
    }

    fn open_subscription(self: &Arc<Self>, index: usize, server: &Server, uri: &str) {
        let end = CancellationToken::new();
        if let Some(subscription) = server.subscriptions().get_mut(uri) {
            // One that was open before this is of a connection that is gone.
            std::mem::replace(&mut subscription.end, end.clone()).cancel();
        }
        let uris = format!("[{}]", crate::json::quote(uri));
        self.listen(Listening {
            shared: Arc::downgrade(self),
            server: index,
            filter: Params::new().raw("resourceSubscriptions", &uris).object(),
            missed: Vec::new(),
            uri: Some(uri.to_owned()),
            end,
        });
    }

    fn listen(&self, listening: Listening) {
        let key = OWN_KEYS | self.own_requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let closing = self.tasks.closing.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = listening.end.cancelled() => listening.give_up(key),
                () = listening.run(key) => {}
            }
        });
    }
}

impl Server {
    /// Whether there was such a subscription.
    fn end_subscription(&self, uri: &str) -> bool {
        let ended = self.subscriptions().remove(uri);
        if let Some(subscription) = &ended {
            subscription.end.cancel();
        }
        ended.is_some()
    }

    /// The server honours a subscription to these resources.
    pub(super) fn acknowledge(&self, uris: impl Iterator<Item = String>) {
        let mut subscriptions = self.subscriptions();
        for uri in uris {
            if let Some(subscription) = subscriptions.get_mut(&uri) {
                for stands in subscription.stands.drain(..) {
                    // Whoever waited may have given up.
                    drop(stands.send(Ok(())));
                }
            }
        }
    }

    fn refuse_subscription(&self, uri: &str, why: &dyn Fn() -> Error) {
        if let Some(subscription) = self.subscriptions().get_mut(uri) {
            for stands in subscription.stands.drain(..) {
                drop(stands.send(Err(why())));
            }
        }
    }
}

impl Listening {
    /// Keeps the subscription open until the server says that it has none, or fails too often, or its connection is gone.
    async fn run(&self, key: u64) {
        let mut failures = 0;
        loop {
            let Some((told, since)) = self.begin(key) else { return };
            let ended = told.await.unwrap_or(Ended::Closed);
            let Some(shared) = self.shared.upgrade() else { return };
            let refused = match &ended {
                Ended::Error(error) => Some(error.message.clone()),
                Ended::Failed(error) if error.code() == ErrorCode::Unauthorized => Some(error.to_string()),
                _ => None,
            };
            if let (Some(uri), Some(server)) = (&self.uri, shared.servers.get(self.server))
                && (refused.is_some() || failures > 0)
            {
                let why = || {
                    Error::new(
                        ErrorCode::ServerError,
                        refused.clone().unwrap_or_else(|| "it is cut".to_owned()),
                    )
                };
                server.refuse_subscription(uri, &why);
            }
            let is_over = matches!(
                ended,
                Ended::Closed | Ended::Cancelled | Ended::Lost(_) | Ended::NotSent(_) | Ended::Busy
            );
            if refused.is_some() || is_over {
                return;
            }
            let now = shared.clock.now();
            let was_steady = now.saturating_duration_since(since) >= limits::STEADY_SUBSCRIPTION;
            failures = if was_steady { 0 } else { failures + 1 };
            if failures >= limits::MAX_STREAM_FAILURES {
                return;
            }
            let wait = shared
                .clock
                .sleep_until(now + backoff(limits::DEFAULT_RETRY, failures.saturating_sub(1)));
            drop(shared);
            wait.await;
            // What changed meanwhile was told to nobody.
            if let Some(shared) = self.shared.upgrade() {
                for notice in &self.missed {
                    shared.heard(self.server, notice());
                }
            }
        }
    }

    /// Sends the request, and says since when it is open; nothing where there is no connection for it.
    fn begin(&self, key: u64) -> Option<(oneshot::Receiver<Ended>, Instant)> {
        let shared = self.shared.upgrade()?;
        let server = shared.servers.get(self.server)?;
        let (tell, told) = oneshot::channel();
        let request = Request {
            method: LISTEN,
            params: Params::new().raw("notifications", &self.filter),
            patience: Patience::flat(Timeout::NONE),
            key: Some(key),
            progress: ProgressUse::None,
            mirror: Mirror::default(),
            may_ask: false,
            waiter: Box::new(move |ended| drop(tell.send(ended))) as Waiter,
        };
        match &*server.state() {
            State::Ready(live) => live.connection.request(request).ok()?,
            _ => return None,
        }
        Some((told, shared.clock.now()))
    }

    fn give_up(&self, key: u64) {
        let Some(shared) = self.shared.upgrade() else { return };
        if let Some(State::Ready(live)) = shared.servers.get(self.server).map(Server::state).as_deref() {
            live.connection.cancel(key);
        }
    }
}

/// A list whose changes can be listened to.
struct List {
    capability: &'static str,
    /// The member of the filter.
    wanted: &'static str,
    notice: fn() -> Notice,
}

const LISTS: [List; 3] = [
    List {
        capability: "tools",
        wanted: "toolsListChanged",
        notice: || Notice::ToolsChanged,
    },
    List {
        capability: "prompts",
        wanted: "promptsListChanged",
        notice: || Notice::PromptsChanged,
    },
    List {
        capability: "resources",
        wanted: "resourcesListChanged",
        notice: || Notice::ResourcesChanged,
    },
];
