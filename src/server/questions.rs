//! What handlers ask of the client. In the session era each question is a request on the wire; in the stateless era the
//! request ends with all questions that were opened together, and the client sends it again with the answers. Then the
//! handler runs from its start, and what was answered before comes out of the state that the client carried.

use serde_json::value::RawValue;

use super::exchange::Exchange;
use super::lifecycle::Server;
use crate::error::{Error, ErrorCode};
use crate::host::server::{Inquiry, InquiryMethod, JobId};
use crate::json::{self, Object};
use crate::limits;
use crate::protocol::codes::WireError;
use crate::protocol::message::Params;
use crate::protocol::request_state::{Asked, Origin, RequestState};
use crate::protocol::revision::Revision;
use crate::server::random;

/// What a round is part of.
pub(crate) struct Round<'a> {
    method: &'static str,
    name: &'a str,
    arguments: Option<&'a str>,
    responses: Option<&'a RawValue>,
    state: Option<&'a RawValue>,
}

impl<'a> Round<'a> {
    pub(crate) fn of_call(name: &'a str, arguments: &'a str, params: &Object<'a>) -> Self {
        Self::new("tools/call", name, Some(arguments), params)
    }

    pub(crate) fn of_read(uri: &'a str, params: &Object<'a>) -> Self {
        Self::new("resources/read", uri, None, params)
    }

    pub(crate) fn of_prompt(name: &'a str, arguments: &'a str, params: &Object<'a>) -> Self {
        Self::new("prompts/get", name, Some(arguments), params)
    }

    fn new(method: &'static str, name: &'a str, arguments: Option<&'a str>, params: &Object<'a>) -> Self {
        Self {
            method,
            name,
            arguments,
            responses: params.present("inputResponses"),
            state: params.present("requestState"),
        }
    }

    fn origin(&self, caller: &'a str) -> Origin<'a> {
        Origin {
            caller,
            method: self.method,
            name: self.name,
            arguments: self.arguments,
        }
    }
}

impl Server {
    /// What was answered until now, as JSON text of an object; nothing in the session era. From here on the request may
    /// end with questions.
    pub(crate) fn answers(&self, exchange: &Exchange, round: &Round<'_>) -> Result<Option<String>, WireError> {
        if !exchange.is_stateless() {
            return Ok(None);
        }
        let caller = exchange.connection.identity.text();
        let state = match round.state {
            None => None,
            Some(state) => {
                let text = json::string(state.get())
                    .ok_or_else(|| WireError::invalid_params("`requestState` must be a string"))?;
                let now = self.clock().unix_seconds();
                let state = RequestState::open(&text, self.secret(), round.origin(&caller), now)
                    .map_err(|unsealed| WireError::invalid_params(unsealed.message()))?;
                Some(state)
            }
        };
        let responses = match round.responses {
            None => Object::default(),
            Some(responses) => Object::parse(responses.get())
                .ok_or_else(|| WireError::invalid_params("`inputResponses` must be an object"))?,
        };
        let mut answers = Params::new();
        if let Some(state) = &state {
            let earlier = Object::parse(&state.answers).unwrap_or_default();
            for (key, value) in earlier.members() {
                answers = answers.entry(key, value.get());
            }
            for asked in &state.asked {
                if let Some(response) = responses.present(&asked.key) {
                    answers = answers.entry(&asked.key, result_of(response)?);
                }
            }
        } else {
            for (key, response) in responses.members() {
                answers = answers.entry(key, result_of(response)?);
            }
        }
        let answers = answers.object();
        exchange.allow_inquiries(&answers);
        Ok(Some(answers))
    }

    /// The result that asks: what the handler opened, and what was answered before, sealed.
    pub(crate) fn input_required(
        &self,
        exchange: &Exchange,
        inquiries: Vec<Inquiry>,
        params: Option<&RawValue>,
    ) -> Result<String, WireError> {
        let params = params
            .and_then(|params| Object::parse(params.get()))
            .unwrap_or_default();
        let name = params
            .string("name")
            .or_else(|| params.string("uri"))
            .unwrap_or_default();
        let is_call = params.get("uri").is_none();
        let arguments = is_call.then(|| params.present("arguments").map_or("{}", RawValue::get));
        let caller = exchange.connection.identity.text();
        let origin = Origin {
            caller: &caller,
            method: exchange.method,
            name: &name,
            arguments,
        };
        let mut requests = Params::new();
        let mut asked = Vec::new();
        for inquiry in inquiries {
            let request = Params::new()
                .text("method", inquiry.method.name())
                .raw("params", &fitted(&inquiry, exchange.revision)?)
                .object();
            if asked.iter().any(|other: &Asked| other.key == inquiry.key) {
                continue;
            }
            requests = requests.entry(&inquiry.key, &request);
            asked.push(Asked {
                key: inquiry.key,
                method: inquiry.method.name().to_owned(),
            });
        }
        let state = RequestState {
            answers: exchange.answers(),
            asked,
            expires: self
                .clock()
                .unix_seconds()
                .saturating_add(limits::REQUEST_STATE_LIFETIME.as_secs()),
        };
        let sealed = state
            .seal(self.secret(), origin)
            .ok_or_else(|| WireError::internal("what was answered until now is too long to be carried"))?;
        let result = Params::new()
            .raw("resultType", "\"input_required\"")
            .raw("inputRequests", &requests.object())
            .text("requestState", &sealed)
            .raw("_meta", &self.meta(exchange.revision));
        Ok(result.object())
    }

    /// Asks what a job of the program wants to know: all that was opened together.
    pub(crate) fn ask(&self, job: JobId, inquiries: Vec<Inquiry>) {
        let Some(exchange) = self.jobs().exchange(job) else {
            // Given up: its signal says so.
            return;
        };
        if exchange.is_stateless() {
            let ids: Vec<_> = inquiries.iter().map(|inquiry| inquiry.id).collect();
            if !exchange.inquire(inquiries) {
                for id in ids {
                    let message = "the client can be asked by tools, prompts and resources that are read";
                    self.refuse_inquiry(id, message);
                }
            }
            return;
        }
        for mut inquiry in inquiries {
            match fitted(&inquiry, exchange.revision) {
                Ok(params) => inquiry.params = params,
                Err(error) => {
                    self.refuse_inquiry(inquiry.id, &error.message);
                    continue;
                }
            }
            exchange.timer.pause(self.clock().now());
            if !exchange.connection.ask(&exchange, &inquiry) {
                exchange.timer.resume(self.clock().now());
                self.refuse_inquiry(inquiry.id, "the client cannot be asked more at the moment");
            }
        }
    }

    fn refuse_inquiry(&self, inquiry: u64, message: &str) {
        let error = Error::new(ErrorCode::Unavailable, message);
        self.application().answered(inquiry, Err(error));
    }

    /// Tells the client how far a job has come.
    pub(crate) fn progress(&self, job: JobId, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(exchange) = self.jobs().exchange(job) else {
            return;
        };
        let Some(token) = &exchange.progress_token else {
            return;
        };
        let number = |value: f64| serde_json::Number::from_f64(value).map(|number| number.to_string());
        let Some(text) = number(progress).filter(|_| exchange.grows(progress)) else {
            return;
        };
        let mut params = Params::new().raw("progressToken", token).raw("progress", &text);
        if let Some(total) = total.and_then(number) {
            params = params.raw("total", &total);
        }
        if let Some(message) = message.filter(|_| exchange.revision.has_progress_messages()) {
            params = params.text("message", message);
        }
        exchange.notify("notifications/progress", &params);
    }

    /// Hands a log message of a job to the client. `data` is JSON text.
    ///
    /// # Errors
    /// `invalid-option` when there is no such level.
    pub(crate) fn log(&self, job: JobId, level: &str, data: &str) -> Result<(), Error> {
        let severity = super::exchange::LogLevel::parse(level).ok_or_else(|| {
            Error::invalid_option(format!("{} is no log level of RFC 5424", json::quote_short(level)))
        })?;
        if let Some(exchange) = self.jobs().exchange(job)
            && exchange.wants_log(severity)
        {
            exchange.notify(
                "notifications/message",
                &Params::new().text("level", level).raw("data", data),
            );
        }
        Ok(())
    }

    pub(crate) fn close_stream(&self, job: JobId, retry_ms: Option<u64>) {
        if let Some(exchange) = self.jobs().exchange(job) {
            exchange.connection.close_stream(&exchange.id, retry_ms);
        }
    }
}

/// The params of a question as the revision has them: what asks for a page has an id where pages report back, and a form
/// does not say that it is one before there was anything else.
fn fitted(inquiry: &Inquiry, revision: Revision) -> Result<String, WireError> {
    if inquiry.method != InquiryMethod::Elicit {
        return Ok(inquiry.params.clone());
    }
    let params = Object::parse(&inquiry.params).unwrap_or_default();
    let is_page = params.string("mode").as_deref() == Some("url");
    let mut fitted = Params::new();
    for (key, value) in params.members() {
        match key {
            "mode" if revision < Revision::V2025_11_25 => {}
            "elicitationId" if revision != Revision::V2025_11_25 => {}
            _ => fitted = fitted.entry(key, value.get()),
        }
    }
    if is_page && revision == Revision::V2025_11_25 && params.get("elicitationId").is_none() {
        let id = random::id().map_err(|error| WireError::internal(error.message()))?;
        fitted = fitted.text("elicitationId", &id);
    }
    Ok(fitted.object())
}

/// An answer of the client: an object, whatever is in it.
fn result_of(response: &RawValue) -> Result<&str, WireError> {
    let text = response.get();
    if text.starts_with('{') {
        Ok(text)
    } else {
        Err(WireError::invalid_params("`inputResponses` must hold objects"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_put_as_its_revision_has_it() {
        let fitted = |params: &str, revision| {
            let inquiry = Inquiry {
                id: 1,
                key: "k".to_owned(),
                method: InquiryMethod::Elicit,
                params: params.to_owned(),
            };
            fitted(&inquiry, revision).unwrap()
        };
        let form = r#"{"mode":"form","message":"m"}"#;
        assert_eq!(fitted(form, Revision::V2025_06_18), r#"{"message":"m"}"#);
        assert_eq!(fitted(form, Revision::V2025_11_25), form);
        let page = r#"{"mode":"url","message":"m","url":"https://a"}"#;
        assert!(fitted(page, Revision::V2025_11_25).contains(r#""elicitationId":""#));
        assert_eq!(fitted(page, Revision::V2026_07_28), page);
        let named = r#"{"mode":"url","elicitationId":"x"}"#;
        assert_eq!(fitted(named, Revision::V2025_11_25), named);
        assert_eq!(fitted(named, Revision::V2026_07_28), r#"{"mode":"url"}"#);
    }
}
