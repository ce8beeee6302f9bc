//! What the server half asks of the program behind it: jobs, each with a number, whose answers come back through
//! `server::Server::settle`.

use std::sync::Arc;

use crate::error::Result;

pub(crate) type JobId = u64;

/// A runtime object of the caller, by the number that the facade gave it.
pub(crate) type RuntimeId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobKind {
    /// Who is behind an HTTP request: JSON text of `tenantId`, `sessionId` and `auth`, or of a `status` to refuse it with.
    Identify,
    /// Which runtime a request may reach, by the caller's hook.
    Resolve,
    ListTools,
    ListResources,
    ListTemplates,
    ListPrompts,
    /// To run a tool.
    Call,
    /// To read a resource.
    Read,
    /// To render a prompt.
    Prompt,
    Complete,
    /// Whether a resource is there for the caller of the request.
    Visible,
}

pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) kind: JobKind,
    pub(crate) runtime: Option<RuntimeId>,
    /// Who asks, as JSON text.
    pub(crate) caller: Arc<str>,
    /// The tool, prompt or resource.
    pub(crate) name: String,
    /// JSON text of what the kind needs; may be empty.
    pub(crate) text: String,
    /// JSON text of an object: what the client answered in earlier rounds. There in the stateless era alone.
    pub(crate) answers: Option<String>,
}

/// What became of a job.
#[derive(Debug)]
pub(crate) enum Performed {
    /// JSON text.
    Value {
        text: String,
        /// Whether a list is the same for whoever may ask, until it is invalidated.
        is_shared: bool,
    },
    /// The output of a tool, where it is a string: as JSON text.
    Text(String),
    /// A tool without output; or there is no such thing.
    Nothing,
    Contents(Vec<Content>),
    Runtime(RuntimeId),
    /// A tool failed or was refused on purpose: the text is meant for the client.
    Failed(String),
    /// Code of the caller threw. The text is for local eyes; the reference is the one that it was logged under.
    Thrown {
        message: String,
        reference: String,
    },
    /// The client lacks these capabilities: JSON text of an object.
    MissingCapability(String),
    /// The params are wrong, in words of ours.
    Invalid(String),
}

/// What a resource holds.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) uri: String,
    pub(crate) mime_type: Option<String>,
    pub(crate) data: ContentData,
    /// JSON text.
    pub(crate) meta: Option<String>,
}

#[derive(Debug)]
pub(crate) enum ContentData {
    Text(String),
    Blob(Vec<u8>),
}

/// Why a job was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abort {
    /// Its client asked for that.
    Cancelled,
    /// Its connection is gone.
    Closed,
    /// Its connection was silent for too long.
    Idle,
    /// Its connection missed a heartbeat.
    Heartbeat,
    /// The server stops.
    Stopped,
    /// Its time ran out.
    Timeout,
    /// It asked its client something, and a later run takes over.
    Asked,
}

impl Abort {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Closed => "closed",
            Self::Idle => "idle",
            Self::Heartbeat => "heartbeat",
            Self::Stopped => "stopped",
            Self::Timeout => "timeout",
            Self::Asked => "asked",
        }
    }
}

/// A question of a handler to the client.
#[derive(Clone, Debug)]
pub(crate) struct Inquiry {
    /// The facade's number.
    pub(crate) id: u64,
    pub(crate) key: String,
    pub(crate) method: InquiryMethod,
    /// JSON text of an object.
    pub(crate) params: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InquiryMethod {
    Elicit,
    Sample,
    Roots,
}

impl InquiryMethod {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Elicit => "elicitation/create",
            Self::Sample => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }
}

/// Called from any thread; must return at once and must not block.
pub(crate) trait Application: Send + Sync {
    fn perform(&self, job: Job);
    /// A job that was not answered yet needs no answer any more.
    fn abandon(&self, job: JobId, reason: Abort);
    /// The request that a job named a runtime for is over.
    fn released(&self, job: JobId);
    /// A question was answered: JSON text of the result.
    fn answered(&self, inquiry: u64, outcome: Result<String>);
    /// Something for the log.
    fn warn(&self, text: String);
}
