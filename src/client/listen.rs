//! What a server is to tell on its own account: changes of its lists, and updates of single resources. In the stateless era
//! each is a request that stays open (`subscriptions/listen`) and is opened again when it is cut; in the session era the
//! changes come by themselves.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Instant;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::connection::{Notice, Refused};
use super::failure::{failure, unavailable};
use super::features::{Feature, described};
use super::state::server::{Server, State};
use super::state::shared::Shared;
use super::state::subscription::Subscription;
use crate::diagnostic::{Diagnostic, Rule};
use crate::driver::{Ended, Waiter};
use crate::error::{Error, ErrorCode, Result};
use crate::host::CallId;
use crate::json;
use crate::limits::{self, Timeout};
use crate::protocol::message::{Mirror, Params};
use crate::protocol::peer::{LISTEN, Patience, ProgressUse, Request};
use crate::protocol::revision::Era;
use crate::transport::backoff::backoff;

/// Names of requests of our own, beside those that the caller numbers.
const OWN_KEYS: u64 = 1 << 63;

/// A subscription of the stateless era: what it is for, and how it ends.
struct Listening {
    shared: Weak<Shared>,
    server: usize,
    /// The name of its request.
    key: u64,
    /// The JSON text of the filter.
    filter: String,
    subject: Subject,
    end: CancellationToken,
}

enum Subject {
    /// What may have happened unheard while it was cut.
    Lists(Vec<fn() -> Notice>),
    /// This URI.
    Resource(String),
}

/// Whether to go on with a subscription that came to an end.
enum Verdict {
    Again(Error),
    /// The connection is gone, and with it whoever could be asked.
    Gone(Error),
    Refused(Error),
}

impl Shared {
    /// A server came up, for the first time or again, or has a new session: what it is to tell is asked for. What it says to
    /// that is not waited for.
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
        for uri in uris {
            match era {
                Era::Session => {
                    let params = Params::new().text("uri", &uri);
                    if let State::Ready(live) = &*server.state() {
                        live.connection
                            .send(Feature::Subscribe.method(), params, self.patience(server));
                    }
                }
                Era::Stateless => self.open_subscription(index, server, &uri, None),
            }
            self.missed(index, uri);
        }
        if era == Era::Session || lists.is_empty() {
            return;
        }
        let mut filter = Params::new();
        for list in &lists {
            filter = filter.raw(list.wanted, "true");
        }
        let listening = Listening {
            shared: Arc::downgrade(self),
            server: index,
            key: self.own_key(),
            filter: filter.object(),
            subject: Subject::Lists(lists.iter().map(|list| list.notice).collect()),
            end: CancellationToken::new(),
        };
        self.listen(listening, None);
    }

    /// Subscribes to a resource, unless that was done already, and waits until the subscription stands.
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
        let patience = self.patience(server);
        let (tell, mut stands) = oneshot::channel();
        let is_first = {
            let mut subscriptions = server.subscriptions();
            let is_first = !subscriptions.contains_key(&uri);
            let subscription = subscriptions.entry(uri.clone()).or_default();
            if subscription.stands {
                return Ok(());
            }
            subscription.waiting.push(tell);
            is_first
        };
        if is_first {
            let begun = match era {
                Era::Session => self.subscribe_in_session(server, &uri, patience, id).await,
                Era::Stateless => {
                    let bearer = self.bearer(server, Feature::Subscribe, patience).await;
                    bearer.map(|bearer| self.open_subscription(index, server, &uri, bearer))
                }
            };
            if let Err(error) = begun {
                server.lose(&uri, error, |one| !one.stands);
            }
        }
        let outcome = tokio::select! {
            biased;
            outcome = &mut stands => outcome,
            () = self.time_is_up(patience.timeout) => {
                let message = format!("{} was not acknowledged in time", described(Feature::Subscribe, server));
                server.lose(&uri, Error::new(ErrorCode::Timeout, message), |one| !one.stands);
                // There is an answer now: that one, or one that came just before it.
                stands.await
            }
        };
        let ended = || Err(Arc::new(Error::new(ErrorCode::Unavailable, "it was ended meanwhile")));
        outcome.unwrap_or_else(|_| ended()).map_err(|error| again(&error))
    }

    async fn subscribe_in_session(&self, server: &Server, uri: &str, patience: Patience, id: CallId) -> Result<()> {
        let params = Params::new().text("uri", uri).object();
        let bearer = self.bearer(server, Feature::Subscribe, patience).await?;
        let request = self.request(server, Feature::Subscribe, &params, bearer, patience, id);
        match request.await?.0 {
            Ended::Result(_) => {
                server.stand(uri);
                Ok(())
            }
            ended => Err(failure(ended, &described(Feature::Subscribe, server), server)),
        }
    }

    /// # Errors
    /// What the server says to it.
    pub(super) async fn unsubscribe(&self, server: &Server, uri: &str, id: CallId) -> Result<()> {
        if !server.end_subscription(uri) {
            return Ok(());
        }
        let is_session = match &*server.state() {
            State::Ready(live) => live.established.revision.era() == Era::Session && live.connection.lost().is_none(),
            // There is nobody to tell.
            _ => false,
        };
        if !is_session {
            return Ok(());
        }
        let params = Params::new().text("uri", uri).object();
        let patience = self.patience(server);
        let bearer = self.bearer(server, Feature::Unsubscribe, patience).await?;
        let request = self.request(server, Feature::Unsubscribe, &params, bearer, patience, id);
        match request.await?.0 {
            Ended::Result(_) => Ok(()),
            ended => Err(failure(ended, &described(Feature::Unsubscribe, server), server)),
        }
    }

    /// A server honours a subscription to these resources; `of` names the request that it answers with that.
    pub(super) fn acknowledged(&self, server: &Server, uris: &[String], of: Option<u64>) {
        let meant: Vec<_> = {
            let subscriptions = server.subscriptions();
            let is_meant = |uri: &str, subscription: &Subscription| match of {
                Some(key) => subscription.key == Some(key),
                None => uris.iter().any(|one| one == uri),
            };
            let meant = subscriptions.iter().filter(|(uri, one)| is_meant(uri, one));
            meant.map(|(uri, _)| uri.clone()).collect()
        };
        for uri in meant {
            if uris.is_empty() {
                let refusal = Error::new(
                    ErrorCode::Unavailable,
                    "it does not honour a subscription to this resource",
                );
                self.lost_subscription(server, &uri, of, unavailable(server, &refusal));
            } else {
                server.stand(&uri);
            }
        }
    }

    /// The time limits of a request to this server.
    pub(super) fn patience(&self, server: &Server) -> Patience {
        Patience {
            timeout: server.config.timeout.unwrap_or(self.options.patience.timeout),
            ..self.options.patience
        }
    }

    pub(super) async fn time_is_up(&self, timeout: Timeout) {
        match timeout
            .duration()
            .and_then(|timeout| self.clock.now().checked_add(timeout))
        {
            Some(end) => self.clock.sleep_until(end).await,
            None => std::future::pending().await,
        }
    }

    /// What may have become of a resource meanwhile was told to nobody.
    fn missed(self: &Arc<Self>, index: usize, uri: String) {
        self.heard(index, Notice::ResourceUpdated { uri, of: None });
    }

    /// A subscription is over for good, unless another request than that of this name keeps it open by now. Whoever waits
    /// for it hears why; where it stood already, nobody does, so that it is told.
    fn lost_subscription(&self, server: &Server, uri: &str, key: Option<u64>, error: Error) {
        let message = format!(
            "MCP server {}: the subscription to {} is over: {error}",
            json::quote(&server.config.name),
            json::quote_short(uri.split(['?', '#']).next().unwrap_or_default())
        );
        if server.lose(uri, error, |one| one.key == key) {
            let diagnostic = Diagnostic::new(Rule::ConnectionFailure, &server.config.name, message);
            self.tell(server, diagnostic);
        }
    }

    fn own_key(&self) -> u64 {
        OWN_KEYS | self.own_requests.fetch_add(1, Ordering::Relaxed)
    }

    /// `bearer` is for the request that opens it; it is opened again with whatever is the newest one then.
    fn open_subscription(self: &Arc<Self>, index: usize, server: &Server, uri: &str, bearer: Option<String>) {
        let end = CancellationToken::new();
        let key = self.own_key();
        {
            let mut subscriptions = server.subscriptions();
            // Without one, it was ended meanwhile.
            let Some(subscription) = subscriptions.get_mut(uri) else {
                return;
            };
            subscription.key = Some(key);
            // One that was open before this is of a connection that is gone.
            std::mem::replace(&mut subscription.end, end.clone()).cancel();
        }
        let uris = format!("[{}]", json::quote(uri));
        let listening = Listening {
            shared: Arc::downgrade(self),
            server: index,
            key,
            filter: Params::new().raw("resourceSubscriptions", &uris).object(),
            subject: Subject::Resource(uri.to_owned()),
            end,
        };
        self.listen(listening, bearer);
    }

    fn listen(&self, listening: Listening, bearer: Option<String>) {
        let closing = self.tasks.closing.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = listening.end.cancelled() => listening.give_up(),
                () = listening.run(bearer) => {}
            }
        });
    }
}

impl Server {
    /// The subscriptions that an update of a resource is for: the one that the server says, or those to the resource or to
    /// one that it is part of.
    pub(super) fn subscribed(&self, uri: &str, of: Option<u64>) -> Vec<String> {
        let subscriptions = self.subscriptions();
        let named = subscriptions.iter().find(|(_, one)| of.is_some() && one.key == of);
        if let Some((subscribed, _)) = named {
            return vec![subscribed.clone()];
        }
        let meant = subscriptions.keys().filter(|subscribed| is_part(uri, subscribed));
        meant.cloned().collect()
    }

    /// Whether there was such a subscription.
    fn end_subscription(&self, uri: &str) -> bool {
        let ended = self.subscriptions().remove(uri);
        if let Some(subscription) = &ended {
            subscription.end.cancel();
        }
        ended.is_some()
    }

    /// Whoever waits for the subscription hears that it stands.
    fn stand(&self, uri: &str) {
        if let Some(subscription) = self.subscriptions().get_mut(uri) {
            subscription.stands = true;
            for waiting in subscription.waiting.drain(..) {
                // Whoever waited may have given up.
                drop(waiting.send(Ok(())));
            }
        }
    }

    /// Ends a subscription, if it is the one that is meant; whoever waits for it hears why. True where it stood, and nobody
    /// waited.
    fn lose(&self, uri: &str, error: Error, is_meant: impl FnOnce(&Subscription) -> bool) -> bool {
        let subscription = {
            let mut subscriptions = self.subscriptions();
            if !subscriptions.get(uri).is_some_and(is_meant) {
                return false;
            }
            subscriptions.remove(uri)
        };
        let Some(subscription) = subscription else { return false };
        subscription.end.cancel();
        let error = Arc::new(error);
        for waiting in subscription.waiting {
            drop(waiting.send(Err(Arc::clone(&error))));
        }
        subscription.stands
    }
}

/// Whether an update of `uri` is news of the resource `subscribed`: of itself, or of what is part of it.
fn is_part(uri: &str, subscribed: &str) -> bool {
    uri.strip_prefix(subscribed)
        .is_some_and(|rest| rest.is_empty() || subscribed.ends_with('/') || rest.starts_with(['/', '?', '#']))
}

/// The same error for one more who waits.
fn again(error: &Error) -> Error {
    let copy = Error::new(error.code(), error.message());
    match error.data() {
        Some(data) => copy.with_data(data),
        None => copy,
    }
}

impl Listening {
    /// Keeps the subscription open until the server says that it has none, or fails too often, or its connection is gone.
    async fn run(&self, mut bearer: Option<String>) {
        let mut failures = 0;
        loop {
            let bearer = bearer.take();
            let Some((ended, since)) = self.open(bearer.clone(), failures > 0).await else {
                return;
            };
            let Some(shared) = self.shared.upgrade() else { return };
            let Some(server) = shared.servers.get(self.server) else {
                return;
            };
            if bearer.is_some() {
                shared.note_credentials(server, &ended, bearer);
            }
            let problem = match verdict(ended, server) {
                Verdict::Again(error) | Verdict::Gone(error) if !self.stood(server) => {
                    return self.over(&shared, server, error);
                }
                Verdict::Refused(error) => return self.over(&shared, server, error),
                // One that stood is opened again when the server is brought up again.
                Verdict::Gone(_) => return,
                Verdict::Again(error) => error,
            };
            let now = shared.clock.now();
            let was_steady = now.saturating_duration_since(since) >= limits::STEADY_SUBSCRIPTION;
            failures = if was_steady { 1 } else { failures + 1 };
            if failures >= limits::MAX_STREAM_FAILURES {
                return self.over(&shared, server, problem);
            }
            let wait = shared
                .clock
                .sleep_until(now + backoff(limits::DEFAULT_RETRY, failures - 1));
            drop(shared);
            wait.await;
        }
    }

    /// Sends the request, waits for its end, and says since when it was open; nothing where the toolset is gone.
    async fn open(&self, bearer: Option<String>, is_again: bool) -> Option<(Ended, Instant)> {
        let (told, since) = {
            let shared = self.shared.upgrade()?;
            let server = shared.servers.get(self.server)?;
            let (tell, told) = oneshot::channel();
            let request = Request {
                method: LISTEN,
                params: Params::new().raw("notifications", &self.filter),
                patience: Patience::flat(Timeout::NONE),
                key: Some(self.key),
                progress: ProgressUse::None,
                mirror: Mirror {
                    bearer,
                    ..Mirror::default()
                },
                may_ask: false,
                waiter: Box::new(move |ended| drop(tell.send(ended))) as Waiter,
            };
            let since = shared.clock.now();
            let sent = if let State::Ready(live) = &*server.state() {
                live.connection.request(request).map_err(|(refused, _)| refused)
            } else {
                let gone = Error::new(ErrorCode::ConnectionLost, "its connection is gone");
                Err(Refused::Gone(Some(Arc::new(gone))))
            };
            match sent {
                Ok(()) => {}
                Err(Refused::Busy) => return Some((Ended::Busy, since)),
                Err(Refused::Gone(Some(error))) => return Some((Ended::NotSent(error), since)),
                Err(Refused::Gone(None)) => return Some((Ended::Closed, since)),
            }
            if is_again {
                self.tell_missed(&shared);
            }
            (told, since)
        };
        Some((told.await.unwrap_or(Ended::Closed), since))
    }

    fn tell_missed(&self, shared: &Arc<Shared>) {
        match &self.subject {
            Subject::Lists(notices) => notices.iter().for_each(|notice| shared.heard(self.server, notice())),
            Subject::Resource(uri) => shared.missed(self.server, uri.clone()),
        }
    }

    /// Lists count as what stood: nobody waits for them.
    fn stood(&self, server: &Server) -> bool {
        match &self.subject {
            Subject::Lists(_) => true,
            Subject::Resource(uri) => server
                .subscriptions()
                .get(uri)
                .is_some_and(|one| one.key == Some(self.key) && one.stands),
        }
    }

    fn over(&self, shared: &Shared, server: &Server, error: Error) {
        // Lists stay as they are: to be told of their changes is a favour.
        if let Subject::Resource(uri) = &self.subject {
            shared.lost_subscription(server, uri, Some(self.key), error);
        }
    }

    fn give_up(&self) {
        let Some(shared) = self.shared.upgrade() else { return };
        if let Some(State::Ready(live)) = shared.servers.get(self.server).map(Server::state).as_deref() {
            live.connection.cancel(self.key);
        }
    }
}

fn verdict(ended: Ended, server: &Server) -> Verdict {
    let what = described(Feature::Subscribe, server);
    match ended {
        Ended::Result(_) => Verdict::Again(Error::new(
            ErrorCode::ConnectionLost,
            format!("{what} was ended by the server"),
        )),
        Ended::Closed | Ended::Cancelled | Ended::Lost(_) | Ended::NotSent(_) => {
            Verdict::Gone(failure(ended, &what, server))
        }
        Ended::Error(_) => Verdict::Refused(failure(ended, &what, server)),
        Ended::Failed(error) if matches!(error.code(), ErrorCode::Unauthorized | ErrorCode::HostBlocked) => {
            Verdict::Refused(failure(Ended::Failed(error), &what, server))
        }
        ended => Verdict::Again(failure(ended, &what, server)),
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
