//! Where a message comes in. What is at hand is answered at once; what needs the program is a future that its transport
//! polls, and that gives the request up when it is dropped.

use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::value::RawValue;

use super::answer::{self, Answer, Fault};
use super::claims::Around;
use super::connection::{Connection, NotTaken};
use super::exchange::{Caller, Exchange, LogLevel, Origin};
use super::lifecycle::{Server, UnderWay};
use super::list_kind::ListKind;
use super::lists::Wanted;
use super::read::{unknown_resource, uri_of};
use super::routes::Route;
use super::slots::{Held, Slot};
use super::tenants::Load;
use crate::error::{Error, ErrorCode};
use crate::guard::server_limits::ServerLimits;
use crate::host::server::Abort;
use crate::json::Object;
use crate::protocol::codes::{self, WireError};
use crate::protocol::envelope::{self, Envelope};
use crate::protocol::id;
use crate::protocol::message::Id;
use crate::protocol::request::{self, Incoming, Request};
use crate::protocol::revision::{Era, Revision};

/// What becomes of a message.
pub(crate) enum Accepted {
    /// It needs no answer.
    Nothing,
    Now(Answer),
    Later(Pending),
}

/// An answer to come; nothing when the client gave the request up.
pub(crate) type Pending = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Initialize,
    Ping,
    Discover,
    List(ListKind),
    CallTool,
    ReadResource,
    Subscribe,
    Unsubscribe,
    Listen,
    GetPrompt,
    Complete,
    SetLevel,
}

impl Method {
    fn parse(name: &str, era: Era) -> Option<Self> {
        Some(match (name, era) {
            ("initialize", Era::Session) => Self::Initialize,
            ("ping", Era::Session) => Self::Ping,
            ("server/discover", Era::Stateless) => Self::Discover,
            ("tools/list", _) => Self::List(ListKind::Tools),
            ("tools/call", _) => Self::CallTool,
            ("resources/list", _) => Self::List(ListKind::Resources),
            ("resources/templates/list", _) => Self::List(ListKind::Templates),
            ("resources/read", _) => Self::ReadResource,
            ("resources/subscribe", Era::Session) => Self::Subscribe,
            ("resources/unsubscribe", Era::Session) => Self::Unsubscribe,
            ("subscriptions/listen", Era::Stateless) => Self::Listen,
            ("prompts/list", _) => Self::List(ListKind::Prompts),
            ("prompts/get", _) => Self::GetPrompt,
            ("completion/complete", _) => Self::Complete,
            ("logging/setLevel", Era::Session) => Self::SetLevel,
            _ => return None,
        })
    }
}

impl Method {
    /// Of those that may ask the client.
    const fn name(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::ReadResource => "resources/read",
            Self::GetPrompt => "prompts/get",
            _ => "",
        }
    }
}

/// A request on its way to its method.
struct Arrived<'a> {
    method: Method,
    key: String,
    origin: Origin,
    params: Option<&'a RawValue>,
}

/// A request that has entered its connection; leaves it when it ends.
struct Entered {
    exchange: Arc<Exchange>,
    key: String,
    _under_way: UnderWay,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.exchange.connection.leave(&self.key);
    }
}

/// What ended the work on a request before it was done.
enum Cut {
    GivenUp(Abort),
    OutOfTime,
}

impl Server {
    /// Takes one message of a connection.
    pub(crate) fn accept(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        limits: &ServerLimits,
        text: &str,
    ) -> Accepted {
        match request::read(text, limits.max_json_depth) {
            Ok(incoming) => self.take(connection, limits, incoming, Around::default()),
            Err(refusal) => {
                let answer = self.refuse(&refusal);
                // Nobody waits for the answer to a notification.
                if refusal.is_notification {
                    Accepted::Nothing
                } else {
                    Accepted::Now(answer)
                }
            }
        }
    }

    /// Takes what was read.
    pub(crate) fn take(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        limits: &ServerLimits,
        incoming: Incoming<'_>,
        around: Around<'_>,
    ) -> Accepted {
        match incoming {
            Incoming::Batch(items) => self.accept_batch(connection, limits, items, around),
            one => self.accept_one(connection, limits, one, around),
        }
    }

    /// Answers what is no message.
    pub(crate) fn refuse(&self, refusal: &request::Refusal<'_>) -> Answer {
        self.counters().malformed.add();
        Answer::refusal(refusal.id, &refusal.error, Fault::Malformed)
    }

    fn accept_batch(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        limits: &ServerLimits,
        items: Vec<Result<Incoming<'_>, request::Refusal<'_>>>,
        around: Around<'_>,
    ) -> Accepted {
        let has_batches = connection
            .session()
            .is_some_and(|session| session.revision.has_batches());
        if !has_batches {
            self.counters().malformed.add();
            let error = WireError::new(codes::INVALID_REQUEST, "a batch is not taken in this protocol version");
            return Accepted::Now(Answer::refusal(None, &error, Fault::Malformed));
        }
        let mut answers = Vec::new();
        for item in items {
            let accepted = match item {
                Ok(incoming) => self.accept_one(connection, limits, incoming, around),
                Err(refusal) if refusal.is_notification => Accepted::Nothing,
                Err(refusal) => Accepted::Now(self.refuse(&refusal)),
            };
            match accepted {
                Accepted::Nothing => {}
                Accepted::Now(answer) => answers.push(Box::pin(std::future::ready(Some(answer))) as Pending),
                Accepted::Later(pending) => answers.push(pending),
            }
        }
        if answers.is_empty() {
            return Accepted::Nothing;
        }
        Accepted::Later(Box::pin(async move {
            let mut load: Option<Load> = None;
            let mut texts = Vec::new();
            for answer in join_all(answers).await.into_iter().flatten() {
                texts.push(answer.text);
                match (&mut load, answer.load) {
                    (Some(load), Some(other)) => load.absorb(other),
                    (None, other) => load = other,
                    (Some(_), None) => {}
                }
            }
            (!texts.is_empty()).then(|| Answer {
                text: format!("[{}]", texts.join(",")),
                fault: None,
                load,
            })
        }))
    }

    fn accept_one(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        limits: &ServerLimits,
        incoming: Incoming<'_>,
        around: Around<'_>,
    ) -> Accepted {
        match incoming {
            Incoming::Request(request) => {
                self.counters().requests.add();
                let id = request.id.text();
                match self.origin(connection, &request, around) {
                    Err(error) => {
                        self.counters().errors.add();
                        Accepted::Now(Answer::refusal(Some(id), &error, Fault::Envelope))
                    }
                    Ok(origin) => self
                        .accept_request(connection, limits, &request, origin)
                        .unwrap_or_else(|error| Accepted::Now(self.answer(id, Err::<&str, _>(error)))),
                }
            }
            Incoming::Notification { method, params } => {
                Self::notified(connection, &method, params);
                Accepted::Nothing
            }
            Incoming::Response { id, outcome } => {
                if let Some(asked) = id.and_then(Id::number).and_then(|number| connection.take_asked(number)) {
                    asked.exchange.timer.resume(self.clock().now());
                    let outcome = outcome.map(|result| result.get().to_owned()).map_err(|error| {
                        let message = format!("the client answered with an error: {}", error.message);
                        Error::new(ErrorCode::ServerError, message).with_data(error.to_json())
                    });
                    self.application().answered(asked.inquiry, outcome);
                }
                Accepted::Nothing
            }
            // A batch within a batch is none.
            Incoming::Batch(_) => Accepted::Nothing,
        }
    }

    fn notified(connection: &Connection, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/initialized" => connection.make_ready(),
            "notifications/cancelled" => {
                let params = params.and_then(|params| Object::parse(params.get()));
                let key = params.and_then(|params| params.get("requestId")).and_then(id::key);
                if let Some(key) = key {
                    connection.cancel(&key);
                }
            }
            _ => {}
        }
    }

    fn accept_request(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        limits: &ServerLimits,
        request: &Request<'_>,
        origin: Origin,
    ) -> Result<Accepted, WireError> {
        let key = request.id.key();
        if connection.is_in_flight(&key) {
            return Err(repeated());
        }
        let era = origin.revision.era();
        let Some(method) = Method::parse(&request.method, era).filter(|method| self.offers(*method)) else {
            return Err(WireError::new(codes::METHOD_NOT_FOUND, "Method not found"));
        };
        let arrived = Arrived {
            method,
            key,
            origin,
            params: request.params,
        };
        // Whoever it is: it says nothing but that somebody is there.
        if method == Method::Ping {
            return Ok(Accepted::Now(Answer::of(&arrived.origin.id, Ok("{}"))));
        }
        if self.is_stopping() {
            return Err(answer::stopping(era));
        }
        let route = self.route_at_hand(connection).transpose()?;
        // Nobody who is refused anyway is counted: whoever may invent tenants would invent records of them.
        let load = self.arrive(&connection.identity.tenant, request.params, era)?;
        match route {
            Some(route) => {
                let Arrived {
                    method, origin, params, ..
                } = &arrived;
                if let Some(outcome) = self.at_hand(connection, *method, *params, origin.revision, &route) {
                    return Ok(Accepted::Now(self.answer(&arrived.origin.id, outcome).carrying(load)));
                }
                self.later(connection, limits, arrived, Some(route), load)
            }
            None => self.later(connection, limits, arrived, None, load),
        }
    }

    /// By which rules a request is read, and whose it is.
    fn origin(&self, connection: &Connection, request: &Request<'_>, around: Around<'_>) -> Result<Origin, WireError> {
        let id: Box<str> = request.id.text().into();
        let claims = around.claims;
        let meta = request.meta();
        if meta.is_stateless() {
            // In this order they are refused: what is missing, what disagrees, what is not spoken.
            let version = meta.version()?;
            if let Some(claims) = claims {
                claims.agree(&version, &request.method, request.params)?;
            }
            let Envelope {
                revision,
                capabilities,
                log_level,
                progress_token,
            } = meta.read(&self.options().revisions)?;
            return Ok(Origin {
                id,
                revision,
                caller: Caller::With(Some(capabilities.get().into())),
                progress_token: progress_token.map(|token| token.get().into()),
                log_level: log_level.and_then(|level| LogLevel::parse(&level)),
                params: claims.map(|claims| Arc::clone(&claims.params)),
            });
        }
        let progress_token = meta.progress_token().map(|token| token.get().into());
        if let Some(session) = connection.session() {
            return Ok(Origin {
                id,
                revision: session.revision,
                caller: Caller::Known(connection.caller_in(&session, around.auth)),
                progress_token,
                log_level: Some(session.log_level),
                params: None,
            });
        }
        // Nothing was agreed on: the rules of the oldest revision that needs no agreement over HTTP.
        let revision = match self.options().newest(Era::Session) {
            None => return Err(envelope::unsupported(&self.options().revisions, "")),
            Some(_) if self.options().speaks(Revision::V2025_03_26) => Revision::V2025_03_26,
            Some(newest) => newest,
        };
        Ok(Origin {
            id,
            revision,
            caller: Caller::With(None),
            progress_token,
            log_level: Some(LogLevel::Debug),
            params: None,
        })
    }

    fn offers(&self, method: Method) -> bool {
        let offer = self.offer();
        match method {
            Method::List(ListKind::Resources | ListKind::Templates)
            | Method::ReadResource
            | Method::Subscribe
            | Method::Unsubscribe => offer.has_resources,
            Method::List(ListKind::Prompts) | Method::GetPrompt => offer.has_prompts,
            Method::Complete => offer.has_completions,
            _ => true,
        }
    }

    /// What needs nobody else.
    fn at_hand(
        &self,
        connection: &Connection,
        method: Method,
        params: Option<&RawValue>,
        revision: Revision,
        route: &Route,
    ) -> Option<Result<Arc<str>, WireError>> {
        match method {
            Method::Initialize => Some(self.initialize(connection, params).map(Arc::from)),
            Method::Discover => Some(Ok(self.discover(revision).into())),
            Method::SetLevel => Some(set_level(connection, params)),
            Method::Unsubscribe => Some(uri_of(params).map(|uri| {
                connection.unsubscribe(&uri);
                "{}".into()
            })),
            Method::List(kind) => {
                let wanted = Wanted { kind, route, revision };
                self.page_at_hand(&wanted, params)
            }
            _ => None,
        }
    }

    fn later(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        limits: &ServerLimits,
        arrived: Arrived<'_>,
        route: Option<Route>,
        load: Option<Load>,
    ) -> Result<Accepted, WireError> {
        let limit = limits.request_timeout.duration();
        let Arrived {
            method,
            key,
            origin,
            params,
        } = arrived;
        let exchange = Arc::new(Exchange::new(
            Arc::clone(connection),
            method.name(),
            origin,
            limit,
            self.clock().now(),
        ));
        match connection.enter(key.clone(), &exchange) {
            Err(NotTaken::Repeated) => return Err(repeated()),
            Err(NotTaken::Closed) => return Ok(Accepted::Nothing),
            Ok(()) => {}
        }
        let entered = Entered {
            exchange,
            key,
            _under_way: self.begin(),
        };
        // What listens is under way for as long as it likes, and carries nothing.
        let load = load.filter(|_| method != Method::Listen);
        let params = params.map(ToOwned::to_owned);
        let server = Arc::clone(self);
        Ok(Accepted::Later(Box::pin(async move {
            let outcome = server.carry_out(&entered, method, params.as_deref(), route).await?;
            Some(server.answer(&entered.exchange.id, outcome).carrying(load))
        })))
    }

    /// Nothing when nobody waits for an answer any more.
    async fn carry_out(
        &self,
        entered: &Entered,
        method: Method,
        params: Option<&RawValue>,
        route: Option<Route>,
    ) -> Option<Result<String, WireError>> {
        let exchange = &entered.exchange;
        let era = exchange.revision.era();
        if method == Method::Listen {
            let routed = match route {
                Some(route) => Ok(route),
                None => self.route(exchange, None).await,
            };
            return match routed {
                Err(error) => Some(Err(error)),
                Ok(_) => self.listen(exchange, &entered.key, params).await.transpose(),
            };
        }
        let mut work = pin!(self.work(exchange, method, params, route));
        let cut = tokio::select! {
            biased;
            outcome = &mut work => return Some(outcome),
            inquiries = exchange.until_inquired() => {
                // The reason has to be known before the work is dropped.
                exchange.give_up(Abort::Asked);
                return Some(self.input_required(exchange, inquiries, params));
            }
            reason = exchange.until_given_up() => Cut::GivenUp(reason),
            () = exchange.timer.expired(self.clock()) => Cut::OutOfTime,
            () = self.until_halted() => {
                exchange.give_up(Abort::Stopped);
                Cut::GivenUp(Abort::Stopped)
            }
        };
        match cut {
            Cut::OutOfTime => {
                self.counters().timed_out.add();
                exchange.give_up(Abort::Timeout);
                Some(Err(answer::timed_out(era)))
            }
            Cut::GivenUp(Abort::Stopped) => Some(Err(answer::stopping(era))),
            Cut::GivenUp(_) => {
                self.counters().cancelled.add();
                None
            }
        }
    }

    async fn work(
        &self,
        exchange: &Arc<Exchange>,
        method: Method,
        params: Option<&RawValue>,
        route: Option<Route>,
    ) -> Result<String, WireError> {
        let era = exchange.revision.era();
        let Ok(own) = exchange.connection.slots.take().await else {
            self.counters().refused_busy.add();
            return Err(answer::busy(era));
        };
        let of_tenant = match self.tenants() {
            None => None,
            Some(tenants) => {
                let place = tenants.enter(&exchange.connection.identity.tenant).await;
                Some(place.map_err(|refused| self.refused(refused, era))?)
            }
        };
        let slot = Held::new(own, of_tenant);
        let route = if let Some(route) = route {
            route
        } else {
            let route = self.route(exchange, Some(&slot)).await?;
            let outcome = self.at_hand(&exchange.connection, method, params, exchange.revision, &route);
            if let Some(outcome) = outcome {
                return outcome.map(|text| text.as_ref().to_owned());
            }
            route
        };
        self.run(exchange, &slot, method, params, &route).await
    }

    async fn run(
        &self,
        exchange: &Arc<Exchange>,
        slot: &Slot,
        method: Method,
        params: Option<&RawValue>,
        route: &Route,
    ) -> Result<String, WireError> {
        match method {
            Method::List(kind) => {
                let wanted = Wanted {
                    kind,
                    route,
                    revision: exchange.revision,
                };
                let page = self.page(exchange, slot, &wanted, params).await?;
                Ok(page.as_ref().to_owned())
            }
            Method::CallTool => self.call(exchange, slot, route, params).await,
            Method::ReadResource => self.read(exchange, slot, route, params).await,
            Method::GetPrompt => self.prompt(exchange, slot, route, params).await,
            Method::Complete => self.complete(exchange, slot, route, params).await,
            Method::Subscribe => {
                let uri = uri_of(params)?;
                if !self.is_visible(exchange, Some(slot), route, &uri).await? {
                    return Err(unknown_resource(exchange.revision, &uri));
                }
                if !exchange.connection.subscribe(uri.into_owned()) {
                    return Err(WireError::internal("too many subscriptions"));
                }
                Ok("{}".to_owned())
            }
            Method::Initialize
            | Method::Ping
            | Method::Discover
            | Method::Unsubscribe
            | Method::SetLevel
            | Method::Listen => Err(WireError::internal("Internal error")),
        }
    }

    fn answer(&self, id: &str, outcome: Result<impl AsRef<str>, WireError>) -> Answer {
        if outcome.is_err() {
            self.counters().errors.add();
        }
        Answer::of(id, outcome)
    }
}

fn set_level(connection: &Connection, params: Option<&RawValue>) -> Result<Arc<str>, WireError> {
    let level = params
        .and_then(|params| Object::parse(params.get()))
        .and_then(|params| LogLevel::parse(&params.string("level")?))
        .ok_or_else(|| WireError::invalid_params("`level` must be one of the log levels of RFC 5424"))?;
    connection.set_log_level(level);
    Ok("{}".into())
}

fn repeated() -> WireError {
    WireError::new(codes::INVALID_REQUEST, "the id is that of a request under way")
}
