//! `tools/call`: from params to result. Arguments are checked where that was asked for, results where the tool has an
//! output schema; a failure of the tool is a result, and one of the protocol an error.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::answer;
use super::claims::agree_on_arguments;
use super::exchange::Exchange;
use super::jobs::Task;
use super::lifecycle::Server;
use super::list_kind::ListKind;
use super::lists::{ToolFacts, Wanted, clash};
use super::questions::Round;
use super::render::{self, Output, ToolResult};
use super::routes::Route;
use super::slots::Slot;
use crate::catalog::output_schema::Fit;
use crate::error::{Error, ErrorCode};
use crate::host::server::{JobKind, Performed};
use crate::json::{self, Object};
use crate::protocol::codes::{self, WireError};
use crate::protocol::message::Params;
use crate::protocol::revision::Revision;

impl Server {
    pub(crate) async fn call(
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
            Some(arguments) if arguments.starts_with('{') => arguments,
            Some(_) => return Err(WireError::invalid_params("`arguments` must be an object")),
        };
        let revision = exchange.revision;
        let wanted = Wanted {
            kind: ListKind::Tools,
            route,
            revision,
        };
        let tools = self.entries(exchange, Some(slot), &wanted).await?;
        let Some(facts) = tools.tool(&name, route.has_tenant) else {
            if route.runtime.is_none() {
                return Ok(self.result(revision, render::failure("No runtime bound"), None));
            }
            let shown = json::quote_short(&name);
            return Err(WireError::invalid_params(format!("Unknown tool: {shown}")));
        };
        if tools.clash.as_deref() == Some(&*name) {
            return Err(clash(&name));
        }
        if let Some(claimed) = &exchange.params {
            agree_on_arguments(claimed, &facts.headers, arguments)?;
        }
        if let Err(refusal) = facts.input.run(arguments) {
            return Ok(self.result(revision, render::failure(&refusal), None));
        }
        let answers = self.answers(exchange, &Round::of_call(&name, arguments, &params))?;
        let task = Task {
            kind: JobKind::Call,
            runtime: route.runtime,
            name: &name,
            text: arguments.to_owned(),
            answers,
        };
        let performed = self.jobs().perform(exchange, Some(slot), task).await;
        self.tool_result(exchange, facts, performed)
    }

    fn tool_result(
        &self,
        exchange: &Exchange,
        facts: &ToolFacts,
        performed: Option<Performed>,
    ) -> Result<String, WireError> {
        let revision = exchange.revision;
        let output = match performed {
            Some(Performed::Text(text)) => Output::Text(text),
            Some(Performed::Value { text, .. }) => Output::Value(text),
            Some(Performed::Nothing) => Output::Nothing,
            Some(Performed::Failed(text)) => return Ok(self.result(revision, render::failure(&text), None)),
            Some(Performed::Thrown { message, reference }) => {
                let text = if exchange.connection.is_local {
                    message
                } else {
                    format!("Tool failed (ref {reference})")
                };
                return Ok(self.result(revision, render::failure(&text), None));
            }
            Some(Performed::MissingCapability(capabilities)) => {
                return missing_capability(exchange, &capabilities)
                    .map_or_else(Err, |text| Ok(self.result(revision, render::failure(&text), None)));
            }
            _ => return Err(WireError::internal("Internal error")),
        };
        let result = render::tool_result(output, revision);
        if let Some(refusal) = breach(facts, &result) {
            self.application().warn(format!(
                "the result of the tool {} does not fit its output schema: {refusal}",
                json::quote_short(&facts.name)
            ));
            let text = format!("the result does not fit the tool's output schema: {refusal}");
            return Ok(self.result(revision, render::failure(&text), None));
        }
        let ToolResult {
            mut members,
            meta,
            structured,
            ..
        } = result;
        // Revisions that know of no such member ignore it.
        if let Some(structured) = structured {
            members = members.raw("structuredContent", structured.get());
        }
        Ok(self.result(revision, members, meta.as_deref()))
    }

    /// The definitions of all tools of the server's own runtime, as JSON text of an array.
    pub(crate) async fn definitions(&self) -> Result<String, Error> {
        let revision = Revision::NEWEST;
        let connection = Self::detached();
        let exchange = Arc::new(Exchange::unasked(&connection, None, self.clock().now()));
        let route = Route {
            runtime: self.offer().runtime,
            is_of_tenant: false,
            has_tenant: false,
        };
        let wanted = Wanted {
            kind: ListKind::Tools,
            route: &route,
            revision,
        };
        let entries = self
            .entries(&exchange, None, &wanted)
            .await
            .map_err(|error| Error::new(ErrorCode::ServerError, error.message.clone()).with_data(error.to_json()))?;
        let rendered: Vec<_> = entries
            .visible(false)
            .map(|entry| {
                let object = Object::parse(entry.text.get()).unwrap_or_default();
                render::entry(ListKind::Tools, &object, revision)
            })
            .collect();
        Ok(format!("[{}]", rendered.join(",")))
    }
}

/// In the stateless era an error of its own; before, a text.
pub(crate) fn missing_capability(exchange: &Exchange, capabilities: &str) -> Result<String, WireError> {
    const TEXT: &str = "the client lacks a capability that is needed";
    if !exchange.is_stateless() {
        return Ok(format!("{TEXT}: {capabilities}"));
    }
    let data = Params::new().raw("requiredCapabilities", capabilities).object();
    Err(WireError::new(codes::MISSING_CLIENT_CAPABILITY, TEXT).with_data(data))
}

/// How a result breaks the tool's output schema, where it has one and did not fail.
fn breach(facts: &ToolFacts, result: &ToolResult) -> Option<String> {
    if result.is_error {
        return None;
    }
    let Ok(schema) = facts.output.as_ref()? else {
        return None;
    };
    let Some(structured) = &result.structured else {
        return Some("there is no structured content".to_owned());
    };
    match schema.check(structured) {
        Fit::Unfit(text) => Some(text),
        Fit::Fits | Fit::Unknown(_) => None,
    }
}

impl Server {
    /// An exception of the program, or whatever else it may not answer with.
    pub(crate) fn not_a_result(performed: Option<Performed>) -> WireError {
        match performed {
            Some(Performed::Thrown { reference, .. }) => answer::thrown(&reference),
            _ => WireError::internal("Internal error"),
        }
    }
}
