//! What a server asks of this client, in either era: judged, put to the caller, and the caller's answer judged before it
//! leaves. What no handler is for is refused at once.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::handlers::{Handlers, Roots, roots_result};
use super::tasks::Tasks;
use crate::catalog::output_schema::{Fit, OutputSchema};
use crate::driver::Command;
use crate::host::{Listener, Question, QuestionKind};
use crate::json::Object;
use crate::protocol::codes::{INVALID_PARAMS, METHOD_NOT_FOUND, WireError};
use crate::protocol::elicitation::Elicitation;
use crate::protocol::peer::Asked;

/// The questions of one connection. Dropping it takes the open ones back.
pub(super) struct Inbound {
    /// The configured name of the server.
    server: String,
    handlers: Arc<Handlers>,
    listener: Arc<dyn Listener>,
    tasks: Tasks,
    /// Weak: a question does not keep a connection open.
    commands: mpsc::WeakSender<Command>,
    open: HashMap<u64, AbortHandle>,
}

/// How an answer of the caller becomes a result.
enum Reading {
    Sampling,
    Elicitation(Elicitation),
    Roots,
}

type Answer = Result<String, WireError>;

impl Inbound {
    pub(super) fn new(
        server: String,
        handlers: Arc<Handlers>,
        listener: Arc<dyn Listener>,
        tasks: Tasks,
        commands: mpsc::WeakSender<Command>,
    ) -> Self {
        Self {
            server,
            handlers,
            listener,
            tasks,
            commands,
            open: HashMap::new(),
        }
    }

    /// Takes a question; what is returned is its answer already.
    pub(super) fn asked(&mut self, asked: &Asked) -> Option<Answer> {
        let (kind, text, reading) = match self.judge(asked) {
            Ok(Judged::Put { kind, text, reading }) => (kind, text, reading),
            Ok(Judged::Answered(result)) => return Some(Ok(result)),
            Err(error) => return Some(Err(error)),
        };
        let Asked { ticket, during, .. } = *asked;
        let question = Question {
            kind,
            server: self.server.clone(),
            during,
            text,
        };
        let answer = self.listener.ask(question);
        let listener = Arc::clone(&self.listener);
        let commands = self.commands.clone();
        self.open.retain(|_, task| !task.is_finished());
        let task = self.tasks.spawn(async move {
            let answer = match answer.await {
                Ok(answer) => reading.read(answer.as_deref().unwrap_or("null")).map_err(|problem| {
                    listener.unusable(reading.name(), &problem);
                    WireError::internal(format!(
                        "the {} handler gave no usable answer: {problem}",
                        reading.name()
                    ))
                }),
                // What the caller's function threw stays with the caller.
                Err(_) => Err(WireError::internal(format!("the {} handler failed", reading.name()))),
            };
            if let Some(commands) = commands.upgrade() {
                // It fails when the connection is gone, and with it whoever asked.
                drop(commands.send(Command::Respond { ticket, answer }).await);
            }
        });
        self.open.insert(ticket, task);
        None
    }

    pub(super) fn withdrawn(&mut self, ticket: u64) {
        if let Some(task) = self.open.remove(&ticket) {
            task.abort();
        }
    }

    fn judge(&self, asked: &Asked) -> Result<Judged, WireError> {
        let params = asked.params.as_deref();
        match asked.method.as_str() {
            "sampling/createMessage" if self.handlers.sampling => {
                let text = sampling_params(params)?;
                Ok(Judged::put(QuestionKind::Sampling, text, Reading::Sampling))
            }
            "elicitation/create" if self.handlers.elicitation => {
                let elicitation = Elicitation::parse(params)?;
                let text = elicitation.params().to_owned();
                Ok(Judged::put(
                    QuestionKind::Elicitation,
                    text,
                    Reading::Elicitation(elicitation),
                ))
            }
            "roots/list" => match &self.handlers.roots {
                Roots::None => Err(unknown()),
                Roots::Fixed(result) => Ok(Judged::Answered(result.clone())),
                Roots::Asked => Ok(Judged::put(QuestionKind::Roots, String::new(), Reading::Roots)),
            },
            _ => Err(unknown()),
        }
    }
}

impl Drop for Inbound {
    fn drop(&mut self) {
        for task in self.open.values() {
            task.abort();
        }
    }
}

enum Judged {
    /// To the caller.
    Put {
        kind: QuestionKind,
        text: String,
        reading: Reading,
    },
    Answered(String),
}

impl Judged {
    const fn put(kind: QuestionKind, text: String, reading: Reading) -> Self {
        Self::Put { kind, text, reading }
    }
}

impl Reading {
    const fn name(&self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Elicitation(_) => "elicitation",
            Self::Roots => "roots",
        }
    }

    /// The result that the server gets for an answer of the caller.
    ///
    /// # Errors
    /// What is wrong with the answer, in words that hold nothing of it.
    fn read(&self, answer: &str) -> Result<String, String> {
        match self {
            Self::Sampling => sampling_result(answer),
            Self::Elicitation(elicitation) => elicitation.result(answer, fits),
            Self::Roots => roots_result(answer),
        }
    }
}

fn unknown() -> WireError {
    WireError::new(METHOD_NOT_FOUND, "method not found")
}

fn sampling_params(params: Option<&RawValue>) -> Result<String, WireError> {
    let wrong = |message: &str| WireError::new(INVALID_PARAMS, message);
    let params = params.ok_or_else(|| wrong("sampling/createMessage needs params"))?;
    let object =
        Object::parse(params.get()).ok_or_else(|| wrong("sampling/createMessage needs an object of params"))?;
    object
        .array("messages")
        .ok_or_else(|| wrong("sampling/createMessage needs an array of `messages`"))?;
    if object.present("tools").is_some() || object.present("toolChoice").is_some() {
        return Err(wrong("this client has not declared that it samples with tools"));
    }
    Ok(params.get().to_owned())
}

fn sampling_result(answer: &str) -> Result<String, String> {
    let object = Object::parse(answer).ok_or("it is not an object")?;
    for member in ["role", "model"] {
        object
            .string(member)
            .ok_or_else(|| format!("its `{member}` is not a string"))?;
    }
    object.present("content").ok_or("it has no `content`")?;
    Ok(answer.to_owned())
}

/// A schema that cannot be used refuses nothing.
fn fits(schema: &RawValue, content: &RawValue) -> Result<(), String> {
    match OutputSchema::compile(schema).map(|schema| schema.check(content)) {
        Ok(Fit::Unfit(_)) => Err("its `content` does not fit the schema that was asked for".to_owned()),
        Ok(Fit::Fits | Fit::Unknown(_)) | Err(_) => Ok(()),
    }
}
