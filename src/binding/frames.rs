//! Jobs on their way into JavaScript, and answers on their way back: many as one text, because each object and each string
//! that crosses by itself costs more than all that is in it.
//!
//! A batch of jobs is one line of JSON, an array of eight values for each job, and then their texts, one after the other:
//! the facts say how long they are. So no text is escaped, and none is read by who does not need it. A batch of answers
//! has a line of JSON for each: the job, the kind, and what the kind has.

use std::fmt::Write as _;
use std::sync::Arc;

use napi_derive::napi;
use serde_json::value::RawValue;

use super::callback::Parcel;
use super::reply::NativeFailure;
use crate::host::server::{JobId, Performed};
use crate::{json, limits};

/// What the facade is told. The first ones are jobs, to be answered under their `id`.
#[napi(string_enum = "kebab-case")]
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NativeJobKind {
    /// Who is behind the request that `text` describes.
    Identify,
    /// Which runtime `caller` may reach.
    Resolve,
    ListTools,
    ListResources,
    ListTemplates,
    ListPrompts,
    /// To run the tool `name` with the arguments `text`.
    Call,
    /// To read the resource `name`; `text` is a JSON array of the templates that match, with their variables.
    Read,
    /// To render the prompt `name` with the arguments `text`.
    Prompt,
    /// To complete what `text` says: `ref`, `argument` and perhaps `context`.
    Complete,
    /// Whether the resource `name` is there for `caller`; `text` as for `Read`.
    Visible,
    /// The job `id` needs no answer any more; `text` says why.
    Abort,
    /// The request is over that the job `id` named a runtime for.
    Released,
    /// The question `id` was answered: `text` is the JSON text of the result, or `failure`.
    Answered,
    /// The facade's own request `id` ended, with `text` or `failure`.
    Done,
    /// `text` is to be written to the given output.
    Write,
    /// The next chunk of the given input is asked for.
    Pull,
    /// The transport has ended by itself.
    Ended,
    /// `text` is for the log.
    Warn,
}

/// What became of a job.
#[napi(string_enum = "kebab-case")]
#[derive(Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NativeAnswerKind {
    /// Any JSON.
    Value,
    /// The same, where it does not depend on who asks.
    Shared,
    /// A string: the output of a tool.
    Text,
    /// `null`: there is no output, or no such thing.
    Nothing,
    /// The number of a runtime.
    Runtime,
    /// A string: the tool failed or was refused, in these words.
    Failed,
    /// An exception, as an array of two strings: one for local eyes, and the reference that it was logged under.
    Thrown,
    /// An object: the capabilities that the client lacks.
    MissingCapability,
    /// A string: the params are wrong, in these words.
    Invalid,
}

pub(super) struct Frame {
    pub(super) kind: NativeJobKind,
    pub(super) id: i64,
    /// The routed runtime, by the number that the facade gave it.
    pub(super) runtime: Option<u32>,
    pub(super) name: Option<String>,
    /// JSON text of who asks.
    pub(super) caller: Option<Arc<str>>,
    pub(super) text: Option<String>,
    /// JSON text of an object: what the client answered in earlier rounds. There in the stateless era alone.
    pub(super) answers: Option<String>,
    pub(super) failure: Option<NativeFailure>,
}

impl Frame {
    pub(super) fn of(kind: NativeJobKind) -> Self {
        Self {
            kind,
            id: 0,
            runtime: None,
            name: None,
            caller: None,
            text: None,
            answers: None,
            failure: None,
        }
    }

    fn texts(&self) -> [Option<&str>; 3] {
        [self.caller.as_deref(), self.text.as_deref(), self.answers.as_deref()]
    }

    /// Its facts, with a comma behind each.
    fn write_facts(&self, facts: &mut String) {
        // Writing to a string cannot fail, and neither can writing these as JSON.
        let _ = write!(facts, "{},{},", json_of(&self.kind), self.id);
        let _ = match self.runtime {
            Some(runtime) => write!(facts, "{runtime},"),
            None => write!(facts, "null,"),
        };
        match &self.name {
            Some(name) => facts.push_str(&json::quote(name)),
            None => facts.push_str("null"),
        }
        for text in self.texts() {
            let _ = match text {
                Some(text) => write!(facts, ",{}", units(text)),
                None => write!(facts, ",-1"),
            };
        }
        let _ = match &self.failure {
            Some(failure) => write!(facts, ",{},", json_of(failure)),
            None => write!(facts, ",null,"),
        };
    }
}

impl Parcel for Frame {
    /// Several only where one would become too long: an engine has a longest string.
    type Batch = Vec<String>;

    fn pack(waiting: Vec<Self>) -> Vec<String> {
        let mut batches = Vec::with_capacity(1);
        let mut facts = "[".to_owned();
        let mut texts = String::new();
        for frame in waiting {
            frame.write_facts(&mut facts);
            for text in frame.texts().into_iter().flatten() {
                texts.push_str(text);
            }
            if facts.len() + texts.len() >= limits::MAX_BATCH_BYTES {
                batches.push(batch(&mut facts, &mut texts));
            }
        }
        if facts.len() > 1 {
            batches.push(batch(&mut facts, &mut texts));
        }
        batches
    }
}

/// Takes both, and leaves what a next one begins with.
fn batch(facts: &mut String, texts: &mut String) -> String {
    // In place of the last comma.
    facts.pop();
    facts.push_str("]\n");
    facts.push_str(texts);
    texts.clear();
    std::mem::replace(facts, "[".to_owned())
}

fn json_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// How long JavaScript says that a text is.
fn units(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    }
}

/// Reads a batch of answers. What is no line of one is left out, since nobody but the facade writes them; one whose kind has
/// something else is an answer all the same, so that nobody waits for it in vain.
pub(super) fn answers(batch: &str) -> impl Iterator<Item = (JobId, Performed)> {
    batch.split('\n').filter_map(|line| {
        let (job, kind, what): (JobId, NativeAnswerKind, &RawValue) = json::parse(line)?;
        Some((job, performed(&kind, what.get())))
    })
}

fn performed(kind: &NativeAnswerKind, what: &str) -> Performed {
    match kind {
        NativeAnswerKind::Value => Performed::Value {
            text: what.to_owned(),
            is_shared: false,
        },
        NativeAnswerKind::Shared => Performed::Value {
            text: what.to_owned(),
            is_shared: true,
        },
        NativeAnswerKind::Text => Performed::Text(what.to_owned()),
        NativeAnswerKind::Nothing => Performed::Nothing,
        NativeAnswerKind::Runtime => json::parse(what).map_or(Performed::Nothing, Performed::Runtime),
        NativeAnswerKind::Failed => Performed::Failed(json::parse(what).unwrap_or_default()),
        NativeAnswerKind::Thrown => {
            let (message, reference) = json::parse(what).unwrap_or_default();
            Performed::Thrown { message, reference }
        }
        NativeAnswerKind::MissingCapability => Performed::MissingCapability(what.to_owned()),
        NativeAnswerKind::Invalid => Performed::Invalid(json::parse(what).unwrap_or_default()),
    }
}
