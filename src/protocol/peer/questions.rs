//! What the other side asks: requests of its own in the session era, and in the stateless era answers that are questions
//! (protocol, 7.17), after which the same request is sent again with what was answered. Each question has a ticket.

use std::collections::HashMap;
use std::time::Instant;

use serde_json::value::RawValue;

use super::{Action, Outcome, Peer};
use crate::error::{Error, ErrorCode};
use crate::json::{self, Object};
use crate::limits;
use crate::protocol::codes::WireError;
use crate::protocol::message::{Mirror, Params};

/// One question, for whoever can answer it.
#[derive(Debug)]
pub(crate) struct Asked {
    /// What the answer is given under.
    pub(crate) ticket: u64,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
    /// The outside name of the request of ours that it is part of, where that is known.
    pub(crate) during: Option<u64>,
}

/// Where an answer goes.
pub(super) enum Origin {
    /// To the request with this id, as the text it was sent as.
    Request { id: String },
    /// With our own request, when it is sent again: under this key.
    /// The key is a string literal.
    Input { request: u64, key: String },
}

#[derive(Default)]
pub(super) struct Questions {
    last: u64,
    open: HashMap<u64, Origin>,
}

/// What a request needs for being sent again.
pub(super) struct Input {
    params: Params,
    mirror: Mirror,
    rounds: u32,
    /// There while answers are collected.
    collecting: Option<Collecting>,
}

struct Collecting {
    /// The members of `inputResponses` that are known.
    responses: Params,
    missing: usize,
    /// Handed back as it came.
    state: Option<Box<RawValue>>,
}

impl Questions {
    /// Whether so many more may be open.
    fn have_room_for(&self, count: usize) -> bool {
        self.open.len() + count <= limits::MAX_OPEN_QUESTIONS
    }

    /// A question under a new ticket, unless too many are open.
    pub(super) fn ask(
        &mut self,
        origin: Origin,
        method: &str,
        params: Option<&RawValue>,
        during: Option<u64>,
    ) -> Option<Asked> {
        if !self.have_room_for(1) {
            return None;
        }
        self.last += 1;
        self.open.insert(self.last, origin);
        Some(Asked {
            ticket: self.last,
            method: method.to_owned(),
            params: params.map(ToOwned::to_owned),
            during,
        })
    }

    pub(super) fn take(&mut self, ticket: u64) -> Option<Origin> {
        self.open.remove(&ticket)
    }

    /// Forgets the request with this id; gives its ticket.
    pub(super) fn withdraw_request(&mut self, id: &str) -> Option<u64> {
        let is_it = |origin: &Origin| matches!(origin, Origin::Request { id: open } if open == id);
        let ticket = *self.open.iter().find(|(_, origin)| is_it(origin))?.0;
        self.open.remove(&ticket);
        Some(ticket)
    }

    /// Forgets what was asked on behalf of a request of ours; gives the tickets.
    pub(super) fn withdraw_inputs(&mut self, request: u64) -> Vec<u64> {
        let belongs = |origin: &mut Origin| matches!(origin, Origin::Input { request: of, .. } if *of == request);
        let mut tickets: Vec<_> = self
            .open
            .extract_if(|_, origin| belongs(origin))
            .map(|(ticket, _)| ticket)
            .collect();
        tickets.sort_unstable();
        tickets
    }
}

impl Input {
    pub(super) fn new(params: Params, mirror: Mirror) -> Self {
        Self {
            params,
            mirror,
            rounds: 0,
            collecting: None,
        }
    }

    /// Whether the request was sent again at least once, or is about to be.
    pub(super) const fn was_asked(&self) -> bool {
        self.rounds > 0
    }
}

/// One question of an answer.
struct InputRequest<'a> {
    /// A string literal, so that it comes back as the very key that it was.
    key: String,
    method: String,
    params: Option<&'a RawValue>,
}

fn input_requests(requests: &RawValue) -> Result<Vec<InputRequest<'_>>, String> {
    let requests = json::distinct_members(requests.get()).ok_or("`inputRequests` is not an object")?;
    let mut read = Vec::with_capacity(requests.len());
    for (key, request) in requests {
        let request = Object::parse(request.get()).ok_or("an input request is not an object")?;
        let method = request.string("method").ok_or("an input request has no method")?;
        read.push(InputRequest {
            key,
            method: method.into_owned(),
            params: request.present("params"),
        });
    }
    Ok(read)
}

impl<W> Peer<W> {
    pub(super) fn is_asking(&self, id: u64) -> bool {
        let input = self.pending.get(&id).and_then(|pending| pending.input.as_ref());
        input.is_some_and(|input| input.collecting.is_some())
    }

    /// Takes a result of the stateless era, which says of what type it is.
    pub(super) fn handle_result(&mut self, id: u64, result: &RawValue, now: Instant) {
        let object = Object::parse(result.get());
        let kind = object.as_ref().and_then(|object| object.present("resultType"));
        match (object, kind.map(RawValue::get)) {
            (None, _) | (_, None | Some("\"complete\"")) => self.settle_result(id, result),
            (Some(object), Some("\"input_required\"")) => {
                if let Err(problem) = self.collect(id, &object, now) {
                    let message = format!("it asked for input in a way that cannot be answered: {problem}");
                    self.fail(id, Error::new(ErrorCode::InvalidResponse, message));
                }
            }
            (_, Some(kind)) => {
                let kind = json::string_lossy(kind).unwrap_or_default();
                let message = format!(
                    "it answered with a result of type {}, which cannot be used",
                    json::quote_short(&kind)
                );
                self.settle(id, Outcome::Failed(Error::new(ErrorCode::InvalidResponse, message)));
            }
        }
    }

    /// Asks what the answer to a request asks for. What is late, or asked twice, is ignored.
    fn collect(&mut self, id: u64, result: &Object<'_>, now: Instant) -> Result<(), String> {
        let Some(pending) = self.pending.get_mut(&id) else {
            return Ok(());
        };
        let method = pending.method;
        let during = pending.key;
        let input = pending
            .input
            .as_mut()
            .ok_or_else(|| format!("`{method}` has no input"))?;
        if input.collecting.is_some() {
            return Ok(());
        }
        let requests = match result.present("inputRequests") {
            Some(requests) => input_requests(requests)?,
            None => Vec::new(),
        };
        let state = result.present("requestState");
        if state.is_some_and(|state| !json::is_string(state.get())) {
            return Err("`requestState` is not a string".to_owned());
        }
        if requests.is_empty() && state.is_none() {
            return Err("it names neither input nor state".to_owned());
        }
        input.rounds += 1;
        if input.rounds > limits::MAX_INPUT_ROUNDS {
            return Err(format!("for more than {} times", limits::MAX_INPUT_ROUNDS));
        }
        // Before anybody is asked anything.
        if !self.questions.have_room_for(requests.len()) {
            return Err("for too much at a time".to_owned());
        }
        input.collecting = Some(Collecting {
            responses: Params::new(),
            missing: requests.len(),
            state: state.map(ToOwned::to_owned),
        });
        if requests.is_empty() {
            self.send_again(id, now);
            return Ok(());
        }
        self.renew_deadline(id, now);
        for InputRequest { key, method, params } in requests {
            let origin = Origin::Input { request: id, key };
            let asked = self.questions.ask(origin, &method, params, during);
            self.actions.extend(asked.map(Action::Asked));
        }
        Ok(())
    }

    pub(super) fn take_input(&mut self, request: u64, key: &str, answer: Result<String, WireError>, now: Instant) {
        let response = match answer {
            Ok(response) => response,
            Err(error) => {
                let message = format!("it asked for input that could not be given: {}", error.message);
                return self.fail(request, Error::new(ErrorCode::Unavailable, message));
            }
        };
        let input = self
            .pending
            .get_mut(&request)
            .and_then(|pending| pending.input.as_mut());
        let Some(collecting) = input.and_then(|input| input.collecting.as_mut()) else {
            return;
        };
        let responses = std::mem::take(&mut collecting.responses);
        collecting.responses = responses.raw(json::body(key), &response);
        collecting.missing -= 1;
        if collecting.missing == 0 {
            self.send_again(request, now);
        }
    }

    /// Ends a request for which answers are collected.
    fn fail(&mut self, id: u64, error: Error) {
        if let Some(input) = self.pending.get_mut(&id).and_then(|pending| pending.input.as_mut()) {
            input.collecting = None;
        }
        self.settle(id, Outcome::Failed(error));
    }

    /// Everything is answered: the same request under a new id, with the answers, and with the state as it came.
    fn send_again(&mut self, id: u64, now: Instant) {
        let Some(mut pending) = self.take(id) else { return };
        let Some(input) = pending.input.as_mut() else { return };
        let mut params = input.params.clone();
        if let Some(collected) = input.collecting.take() {
            if !collected.responses.is_empty() {
                params = params.raw("inputResponses", &collected.responses.object());
            }
            if let Some(state) = &collected.state {
                params = params.raw("requestState", state.get());
            }
        }
        let mirror = input.mirror.clone();
        pending.renew_deadline(now);
        self.send_request(pending, &params, mirror);
    }
}
