//! Resources, prompts and completions of the connected servers: what a caller asks for beside tools. A list of all servers
//! is asked of those that announce it, side by side, and one that fails costs only itself.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::cache::Key;
use super::connect::Deadline;
use super::connection::Refused;
use super::failure::{failure, unavailable};
use super::revive::Down;
use super::state::server::{Server, State};
use super::state::shared::{Shared, closed};
use super::toolset::Toolset;
use crate::catalog::pages::{Next, Pages};
use crate::diagnostic::{Diagnostic, Rule};
use crate::driver::{Ended, Waiter};
use crate::error::{Error, ErrorCode, Result};
use crate::host::{CallEnd, CallId, Question, QuestionKind};
use crate::json::{self, Object};
use crate::protocol::message::{Mirror, Params};
use crate::protocol::peer::{Answered, Patience, ProgressUse, Request};
use crate::protocol::revision::Era;

/// One thing to ask for, as the facade hands it over.
pub(crate) struct Ask {
    pub(crate) id: CallId,
    pub(crate) feature: Feature,
    /// By its projected or configured name; nothing asks all servers, where the feature is a list.
    pub(crate) server: Option<String>,
    /// JSON text of an object: the params of the request.
    pub(crate) params: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    Resources,
    Templates,
    Prompts,
    Read,
    Prompt,
    Complete,
    Subscribe,
    Unsubscribe,
}

impl Feature {
    pub(crate) fn parse(method: &str) -> Option<Self> {
        const ALL: [Feature; 8] = [
            Feature::Resources,
            Feature::Templates,
            Feature::Prompts,
            Feature::Read,
            Feature::Prompt,
            Feature::Complete,
            Feature::Subscribe,
            Feature::Unsubscribe,
        ];
        ALL.into_iter().find(|feature| feature.method() == method)
    }

    pub(super) const fn method(self) -> &'static str {
        match self {
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Prompts => "prompts/list",
            Self::Read => "resources/read",
            Self::Prompt => "prompts/get",
            Self::Complete => "completion/complete",
            Self::Subscribe => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
        }
    }

    /// What a server announces that has it.
    const fn capability(self) -> &'static str {
        match self {
            Self::Resources | Self::Templates | Self::Read | Self::Subscribe | Self::Unsubscribe => "resources",
            Self::Prompts | Self::Prompt => "prompts",
            Self::Complete => "completions",
        }
    }

    /// Where a page has its entries; nothing for what is no list.
    const fn entries(self) -> Option<&'static str> {
        match self {
            Self::Resources => Some("resources"),
            Self::Templates => Some("resourceTemplates"),
            Self::Prompts => Some("prompts"),
            _ => None,
        }
    }

    /// The member that an answer has to have, and whether it is an array.
    const fn answer(self) -> Option<(&'static str, bool)> {
        match self {
            Self::Read => Some(("contents", true)),
            Self::Prompt => Some(("messages", true)),
            Self::Complete => Some(("completion", false)),
            _ => None,
        }
    }

    /// The member of the params that headers repeat.
    const fn named_by(self) -> Option<&'static str> {
        match self {
            Self::Read => Some("uri"),
            Self::Prompt => Some("name"),
            _ => None,
        }
    }

    /// What has caching hints (protocol, 7.14).
    const fn is_cached(self) -> bool {
        matches!(self, Self::Resources | Self::Templates | Self::Prompts | Self::Read)
    }
}

/// A result, and whether it was kept from an earlier request.
struct Fetched {
    result: Box<RawValue>,
    was_kept: bool,
}

impl Toolset {
    /// Asks in a task of its own; the listener hears of the end.
    pub(crate) fn ask(&self, ask: Ask) {
        let shared = Arc::clone(&self.0);
        let id = ask.id;
        let given_up = CancellationToken::new();
        self.0.asks().insert(id, given_up.clone());
        self.0.tasks.spawn(async move {
            let end = tokio::select! {
                () = shared.tasks.closing.cancelled() => CallEnd::Failed(closed("before it was answered")),
                () = given_up.cancelled() => {
                    for server in &shared.servers {
                        if let State::Ready(live) = &*server.state() {
                            live.connection.cancel(id);
                        }
                    }
                    CallEnd::Aborted
                }
                outcome = shared.answer(&ask) => outcome.map_or_else(CallEnd::Failed, CallEnd::Value),
            };
            shared.asks().remove(&id);
            shared.listener.settled(id, end);
        });
    }

    /// Gives up what was asked for, if it is still under way.
    pub(crate) fn cancel_ask(&self, id: CallId) {
        if let Some(given_up) = self.0.asks().get(&id) {
            given_up.cancel();
        }
    }
}

impl Shared {
    async fn answer(self: &Arc<Self>, ask: &Ask) -> Result<String> {
        let Some(name) = &ask.server else {
            return self.list_all(ask).await;
        };
        let (index, server) = self.find(name)?;
        let _in_use = server.in_use();
        if ask.feature != Feature::Unsubscribe {
            self.reach(index, server).await?;
        }
        match ask.feature {
            feature if feature.entries().is_some() => Ok(format!("[{}]", self.list(server, feature, ask.id).await?)),
            Feature::Subscribe | Feature::Unsubscribe => {
                let uri = Object::parse(&ask.params)
                    .and_then(|params| params.string("uri").map(std::borrow::Cow::into_owned));
                let uri = uri.ok_or_else(|| Error::new(ErrorCode::InvalidArguments, "the uri must be a string"))?;
                if ask.feature == Feature::Subscribe {
                    self.subscribe(index, server, uri, ask.id).await?;
                } else {
                    self.unsubscribe(server, &uri, ask.id).await?;
                }
                Ok("null".to_owned())
            }
            feature => {
                let patience = self.patience(server);
                let result = self.fetch(server, feature, &ask.params, patience, ask.id).await?.result;
                check(&result, feature).map_err(|problem| {
                    let code = ErrorCode::InvalidResponse;
                    Error::new(code, format!("{} failed: {problem}", described(feature, server)))
                })?;
                Ok(result.get().to_owned())
            }
        }
    }

    async fn list_all(self: &Arc<Self>, ask: &Ask) -> Result<String> {
        if ask.feature.entries().is_none() {
            return Err(Error::new(
                ErrorCode::InvalidArguments,
                "the name of a server must be a string",
            ));
        }
        let lists = self.servers.iter().enumerate().map(|(index, server)| async move {
            let _in_use = server.in_use();
            let list = async {
                self.reach(index, server).await?;
                self.list(server, ask.feature, ask.id).await
            };
            let list = list.await;
            list.unwrap_or_else(|error| {
                // Those that never came up were told of then.
                if error.code() != ErrorCode::Unavailable {
                    let name = &server.config.name;
                    self.tell(server, Diagnostic::new(Rule::ConnectionFailure, name, error.message()));
                }
                String::new()
            })
        });
        let lists = futures_util::future::join_all(lists).await;
        let lists: Vec<_> = lists.into_iter().filter(|list| !list.is_empty()).collect();
        Ok(format!("[{}]", lists.join(",")))
    }

    /// A server that was lost is brought up again for this, as for a call.
    async fn reach(self: &Arc<Self>, index: usize, server: &Server) -> Result<()> {
        self.up(index).await.map_err(|down| match down {
            Down::Closed => closed("before it was asked"),
            Down::Because(cause) => unavailable(server, &cause),
        })
    }

    /// The entries of one server, as JSON texts separated by commas; none where it does not announce any.
    async fn list(&self, server: &Server, feature: Feature, id: CallId) -> Result<String> {
        let announces = match &*server.state() {
            State::Ready(live) => live.established.announces(feature.capability()),
            // The request says why there is no answer.
            _ => true,
        };
        if !announces {
            return Ok(String::new());
        }
        let limits = self.options.listing;
        let begin = || Pages::new(&server.projected_name, feature.entries().unwrap_or_default(), limits);
        let deadline = Deadline::new(Arc::clone(&self.clock), self.patience(server).timeout);
        let mut pages = begin();
        let mut params = Params::new();
        let mut holds_kept = false;
        loop {
            let fetched = self
                .fetch(server, feature, &params.object(), deadline.patience(), id)
                .await;
            let Fetched { result, was_kept } = match fetched {
                // A page that was kept may have led to a cursor that there is no more (protocol, 7.14).
                Err(error) if error.code() == ErrorCode::ServerError && holds_kept => {
                    server.cache.forget(feature.method());
                    (pages, params, holds_kept) = (begin(), Params::new(), false);
                    continue;
                }
                fetched => fetched?,
            };
            holds_kept |= was_kept;
            let next = pages
                .add(&result)
                .map_err(|error| Error::new(error.code(), format!("{} failed: {error}", described(feature, server))))?;
            match next {
                Next::Page(cursor) => params = Params::new().text("cursor", &cursor),
                Next::Complete => return Ok(pages.entries()),
                Next::CutShort(rule, problem) => {
                    let message = format!("{}: {problem}", described(feature, server));
                    self.tell(server, Diagnostic::new(rule, &server.projected_name, message));
                    return Ok(pages.entries());
                }
            }
        }
    }

    /// The result of one request, from the server or from what it lets be kept.
    async fn fetch(
        &self,
        server: &Server,
        feature: Feature,
        params: &str,
        patience: Patience,
        id: CallId,
    ) -> Result<Fetched> {
        let bearer = self.bearer(server, feature, patience).await?;
        let key = Key {
            method: feature.method(),
            params: params.to_owned(),
            bearer: bearer.clone(),
        };
        if let Some(result) = server.cache.get(&key, self.clock.now()) {
            return Ok(Fetched { result, was_kept: true });
        }
        let epoch = server.cache.epoch();
        let (ended, era) = self.request(server, feature, params, bearer, patience, id).await?;
        match ended {
            Ended::Result(Answered { result, after_input }) => {
                if feature.is_cached() && era == Era::Stateless && !after_input {
                    server.cache.put(key, &result, self.clock.now(), epoch);
                }
                Ok(Fetched {
                    result,
                    was_kept: false,
                })
            }
            ended => Err(failure(ended, &described(feature, server), server)),
        }
    }

    /// Asks for the credential that goes with a request, for as long as the request may take.
    pub(super) async fn bearer(&self, server: &Server, feature: Feature, patience: Patience) -> Result<Option<String>> {
        if !server.config.is_remote() {
            return Ok(None);
        }
        let question = Question {
            kind: QuestionKind::Credential,
            server: server.config.name.clone(),
            during: None,
            text: String::new(),
        };
        let bearer = tokio::select! {
            bearer = self.listener.ask(question) => bearer?,
            () = self.time_is_up(patience.timeout) => {
                let message = format!("{} timed out before it could be sent: auth gave no token", described(feature, server));
                return Err(Error::new(ErrorCode::Timeout, message));
            }
        };
        if let Some(bearer) = &bearer {
            server.redactor.learn(bearer);
        }
        server.check_credentials(bearer.as_deref())?;
        Ok(bearer)
    }

    pub(super) async fn request(
        &self,
        server: &Server,
        feature: Feature,
        params: &str,
        bearer: Option<String>,
        patience: Patience,
        id: CallId,
    ) -> Result<(Ended, Era)> {
        let object = Object::parse(params).unwrap_or_default();
        let mut members = Params::new();
        for (key, value) in object.members() {
            members = members.entry(key, value.get());
        }
        let name = feature.named_by().and_then(|member| object.string(member));
        let (tell, told) = oneshot::channel();
        let request = Request {
            method: feature.method(),
            params: members,
            patience,
            key: Some(id),
            progress: ProgressUse::None,
            mirror: Mirror {
                name: name.map(std::borrow::Cow::into_owned),
                params: Vec::new(),
                bearer: bearer.clone(),
            },
            may_ask: matches!(feature, Feature::Read | Feature::Prompt),
            waiter: Box::new(move |ended| drop(tell.send(ended))) as Waiter,
        };
        let (sent, era) = {
            let state = server.state();
            match &*state {
                State::Ready(live) => (live.connection.request(request), live.established.revision.era()),
                state => return Err(not_ready(server, state)),
            }
        };
        let ended = match sent {
            Ok(()) => told.await.unwrap_or(Ended::Closed),
            Err((Refused::Busy, _)) => Ended::Busy,
            Err((Refused::Gone(Some(error)), _)) => Ended::NotSent(error),
            Err((Refused::Gone(None), _)) => Ended::Closed,
        };
        self.note_credentials(server, &ended, bearer);
        Ok((ended, era))
    }

    /// A server by its projected name, or by its configured one where that is only one's.
    fn find(&self, name: &str) -> Result<(usize, &Server)> {
        let mut servers = self.servers.iter().enumerate();
        if let Some(found) = servers.find(|(_, server)| server.projected_name == name) {
            return Ok(found);
        }
        let mut named = self
            .servers
            .iter()
            .enumerate()
            .filter(|(_, server)| server.config.name == name);
        match (named.next(), named.next()) {
            (Some(found), None) => Ok(found),
            (None, _) => Err(Error::new(
                ErrorCode::InvalidArguments,
                format!("there is no server named {}", json::quote(name)),
            )),
            (Some(_), Some(_)) => Err(Error::new(
                ErrorCode::InvalidArguments,
                format!(
                    "there are several servers named {}: use the projected name of the one that is meant",
                    json::quote(name)
                ),
            )),
        }
    }
}

fn not_ready(server: &Server, state: &State) -> Error {
    match state {
        State::Closed => closed("before it was asked"),
        State::Unavailable { cause, .. } => unavailable(server, cause),
        State::Connecting | State::Asleep | State::Reviving(_) | State::Ready(_) => {
            Error::new(ErrorCode::Unavailable, "the toolset is still connecting")
        }
    }
}

fn check(result: &RawValue, feature: Feature) -> Result<(), String> {
    let Some((member, is_array)) = feature.answer() else {
        return Ok(());
    };
    let object = Object::parse(result.get()).ok_or("it answered with no object")?;
    let is_there = if is_array {
        object.array(member).is_some()
    } else {
        object.object(member).is_some()
    };
    is_there
        .then_some(())
        .ok_or_else(|| format!("it answered without `{member}`"))
}

pub(super) fn described(feature: Feature, server: &Server) -> String {
    format!(
        "`{}` of MCP server {}",
        feature.method(),
        json::quote(&server.config.name)
    )
}
