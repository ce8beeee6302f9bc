//! Resources, prompts and completions: what the program is asked for once per request.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::call::missing_capability;
use super::connection::Connection;
use super::exchange::Exchange;
use super::jobs::Task;
use super::lifecycle::Server;
use super::questions::Round;
use super::render;
use super::routes::Route;
use super::slots::Slot;
use crate::host::server::{JobKind, Performed};
use crate::json::{self, Object};
use crate::limits;
use crate::protocol::codes::{self, WireError};
use crate::protocol::message::Params;
use crate::protocol::revision::{Era, Revision};

impl Server {
    pub(crate) async fn read(
        &self,
        exchange: &Arc<Exchange>,
        slot: &Slot,
        route: &Route,
        params: Option<&RawValue>,
    ) -> Result<String, WireError> {
        let uri = uri_of(params)?;
        let params = params
            .and_then(|params| Object::parse(params.get()))
            .unwrap_or_default();
        let task = Task {
            kind: JobKind::Read,
            runtime: route.runtime,
            name: &uri,
            text: self.matching_templates(&uri),
            answers: self.answers(exchange, &Round::of_read(&uri, &params))?,
        };
        let contents = match self.jobs().perform(exchange, Some(slot), task).await {
            Some(Performed::Contents(contents)) => contents,
            Some(Performed::Nothing) => return Err(unknown_resource(exchange.revision, &uri)),
            Some(Performed::MissingCapability(capabilities)) => {
                return Err(lacking(exchange, &capabilities));
            }
            performed => return Err(Self::not_a_result(performed)),
        };
        let mut members = Params::new().raw("contents", &render::contents(&contents));
        if exchange.is_stateless() {
            members = members.members(&self.options().cache_hints);
        }
        Ok(self.result(exchange.revision, members, None))
    }

    /// Whether a resource is there for whoever asks.
    pub(crate) async fn is_visible(
        &self,
        exchange: &Arc<Exchange>,
        slot: Option<&Slot>,
        route: &Route,
        uri: &str,
    ) -> Result<bool, WireError> {
        let task = Task {
            kind: JobKind::Visible,
            runtime: route.runtime,
            name: uri,
            text: self.matching_templates(uri),
            answers: None,
        };
        match self.jobs().perform(exchange, slot, task).await {
            Some(Performed::Value { text, .. }) => Ok(text == "true"),
            Some(Performed::Nothing) => Ok(false),
            performed => Err(Self::not_a_result(performed)),
        }
    }

    /// A resource was updated: whoever wants to know, and may see it, is told.
    pub(crate) fn updated(self: &Arc<Self>, uri: &str) {
        let wanting: Vec<_> = self
            .connections()
            .into_iter()
            .filter(|connection| Self::is_wanted(connection, uri))
            .collect();
        for connection in wanting {
            let server = Arc::clone(self);
            let uri = uri.to_owned();
            tokio::spawn(async move {
                if server.may_know(&connection, &uri).await {
                    Self::tell_updated(&connection, &uri);
                }
            });
        }
    }

    async fn may_know(&self, connection: &Arc<Connection>, uri: &str) -> bool {
        let exchange = Arc::new(Exchange::unasked(
            connection,
            Some(limits::VISIBILITY_WAIT),
            self.clock().now(),
        ));
        let asked = async {
            let route = self.route(&exchange, None).await?;
            self.is_visible(&exchange, None, &route, uri).await
        };
        tokio::select! {
            visible = asked => visible.unwrap_or(false),
            () = exchange.timer.expired(self.clock()) => false,
        }
    }

    pub(crate) async fn prompt(
        &self,
        exchange: &Arc<Exchange>,
        slot: &Slot,
        route: &Route,
        params: Option<&RawValue>,
    ) -> Result<String, WireError> {
        let params = params
            .and_then(|params| Object::parse(params.get()))
            .unwrap_or_default();
        let name = params
            .string("name")
            .ok_or_else(|| WireError::invalid_params("`name` must be a string"))?;
        let arguments = match params.present("arguments").map(RawValue::get) {
            None => "{}",
            Some(arguments) if holds_strings(arguments) => arguments,
            Some(_) => return Err(WireError::invalid_params("`arguments` must be an object of strings")),
        };
        let task = Task {
            kind: JobKind::Prompt,
            runtime: route.runtime,
            name: &name,
            text: arguments.to_owned(),
            answers: self.answers(exchange, &Round::of_prompt(&name, arguments, &params))?,
        };
        let rendered = match self.jobs().perform(exchange, Some(slot), task).await {
            Some(Performed::Value { text, .. }) => text,
            Some(Performed::Nothing) => {
                let shown = json::quote_short(&name);
                return Err(WireError::invalid_params(format!("Unknown prompt: {shown}")));
            }
            Some(Performed::Invalid(text)) => return Err(WireError::invalid_params(text)),
            Some(Performed::MissingCapability(capabilities)) => {
                return Err(lacking(exchange, &capabilities));
            }
            performed => return Err(Self::not_a_result(performed)),
        };
        let rendered = Object::parse(&rendered).ok_or_else(|| WireError::internal("Internal error"))?;
        let mut members = Params::new();
        for key in ["description", "messages"] {
            if let Some(value) = rendered.present(key) {
                members = members.raw(key, value.get());
            }
        }
        Ok(self.result(exchange.revision, members, rendered.present("_meta")))
    }

    pub(crate) async fn complete(
        &self,
        exchange: &Arc<Exchange>,
        slot: &Slot,
        route: &Route,
        params: Option<&RawValue>,
    ) -> Result<String, WireError> {
        let params = params
            .and_then(|params| Object::parse(params.get()))
            .unwrap_or_default();
        let task = Task {
            kind: JobKind::Complete,
            runtime: route.runtime,
            name: "",
            text: completion(&params)?,
            answers: None,
        };
        let values = match self.jobs().perform(exchange, Some(slot), task).await {
            Some(Performed::Value { text, .. }) => text,
            Some(Performed::Nothing) => {
                return Err(WireError::invalid_params("there is nothing of that name to complete"));
            }
            Some(Performed::Invalid(text)) => return Err(WireError::invalid_params(text)),
            performed => return Err(Self::not_a_result(performed)),
        };
        let values = json::array(&values).ok_or_else(|| WireError::internal("Internal error"))?;
        let shown: Vec<_> = values
            .iter()
            .take(limits::MAX_COMPLETIONS)
            .map(|value| value.get())
            .collect();
        let completion = Params::new()
            .raw("values", &format!("[{}]", shown.join(",")))
            .raw("total", &values.len().to_string())
            .raw("hasMore", if values.len() > shown.len() { "true" } else { "false" });
        let members = Params::new().raw("completion", &completion.object());
        Ok(self.result(exchange.revision, members, None))
    }

    /// JSON text of an array: the templates that match, and their variables.
    fn matching_templates(&self, uri: &str) -> String {
        let matching: Vec<_> = self
            .matches(uri)
            .into_iter()
            .map(|(number, variables)| {
                let variables = variables.iter().fold(Params::new(), |params, (name, value)| {
                    params.entry(name, &json::quote(value))
                });
                format!("{{\"template\":{number},\"variables\":{}}}", variables.object())
            })
            .collect();
        format!("[{}]", matching.join(","))
    }
}

/// One answer for what is not there and what is hidden.
pub(crate) fn unknown_resource(revision: Revision, uri: &str) -> WireError {
    let code = match revision.era() {
        Era::Session => codes::RESOURCE_NOT_FOUND,
        Era::Stateless => codes::INVALID_PARAMS,
    };
    let data = Params::new().text("uri", uri).object();
    WireError::new(code, "Resource not found").with_data(data)
}

fn lacking(exchange: &Exchange, capabilities: &str) -> WireError {
    missing_capability(exchange, capabilities).map_or_else(|error| error, WireError::internal)
}

fn holds_strings(text: &str) -> bool {
    Object::parse(text).is_some_and(|object| object.members().all(|(_, value)| json::is_string(value.get())))
}

/// What the program is asked to complete, as JSON text.
fn completion(params: &Object<'_>) -> Result<String, WireError> {
    let reference = params.object("ref").unwrap_or_default();
    let is_named = match reference.string("type").as_deref() {
        Some("ref/prompt") => reference.string("name").is_some(),
        Some("ref/resource") => reference.string("uri").is_some(),
        _ => false,
    };
    if !is_named {
        return Err(WireError::invalid_params(
            "`ref` must be a ref/prompt with a name or a ref/resource with a uri",
        ));
    }
    let argument = params.object("argument").unwrap_or_default();
    if argument.string("name").is_none() || argument.string("value").is_none() {
        return Err(WireError::invalid_params("`argument` must have a name and a value"));
    }
    let mut completion = Params::new();
    for key in ["ref", "argument", "context"] {
        if let Some(value) = params.present(key) {
            completion = completion.raw(key, value.get());
        }
    }
    Ok(completion.object())
}

/// The resource that a request is about.
pub(super) fn uri_of(params: Option<&RawValue>) -> Result<Cow<'_, str>, WireError> {
    params
        .and_then(|params| Object::parse(params.get()))
        .and_then(|params| params.string("uri"))
        .ok_or_else(|| WireError::invalid_params("`uri` must be a string"))
}
