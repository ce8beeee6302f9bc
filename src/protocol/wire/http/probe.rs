//! What the answer to `server/discover` over HTTP says about the era of a server, and which errors only a server of the
//! stateless era sends. A refusal of credentials, a failure of the server, and silence say nothing about it.

use http::StatusCode;
use serde_json::value::RawValue;

use crate::json::{self, Object};
use crate::protocol::codes::{
    HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION, WireError,
};
use crate::protocol::message::Message;
use crate::protocol::revision::{Era, Revision};

/// What came back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Probed<'a> {
    /// `message`: the body, or the event that answers, where there is one.
    Reply {
        status: StatusCode,
        message: Option<&'a str>,
    },
    /// Nothing in time, or no connection, or one that broke.
    #[cfg_attr(not(test), expect(dead_code, reason = "who asks has the error in words already"))]
    Nothing,
}

/// What to do next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Go on in the stateless era with the newest revision that both speak.
    Stateless(Revision),
    /// Ask once more, with this revision.
    RetryWithVersion(Revision),
    /// Send `initialize`.
    Initialize,
    /// Give up: it is not known what the server speaks, or nothing that we do.
    Fail(Failure),
}

#[derive(Debug)]
pub(crate) enum Failure {
    NoAnswer,
    Unauthorized,
    Forbidden,
    Status(StatusCode),
    /// What the server speaks, as far as it can be shown.
    NoCommonVersion(Vec<String>),
    /// A server of the stateless era refused the probe.
    Refused(WireError),
}

/// `requested`: the revision that the probe named.
pub(crate) fn read(probed: Probed<'_>, requested: Revision) -> Next {
    let Probed::Reply { status, message } = probed else {
        return Next::Fail(Failure::NoAnswer);
    };
    match status {
        StatusCode::UNAUTHORIZED => return Next::Fail(Failure::Unauthorized),
        StatusCode::FORBIDDEN => return Next::Fail(Failure::Forbidden),
        _ if !status.is_success() && !status.is_client_error() => return Next::Fail(Failure::Status(status)),
        _ => {}
    }
    match message.map(Message::parse) {
        Some(Ok(Message::Response {
            outcome: Ok(result), ..
        })) if status.is_success() => read_result(result.get()),
        Some(Ok(Message::Response {
            outcome: Err(error), ..
        })) if is_modern(DISCOVER, status, error.code) => read_modern_error(error, requested),
        _ => Next::Initialize,
    }
}

/// The same for what came over a wire without a status.
pub(crate) fn read_outcome(outcome: Result<&RawValue, WireError>, requested: Revision) -> Next {
    match outcome {
        Ok(result) => read_result(result.get()),
        Err(error) if is_modern(DISCOVER, StatusCode::OK, error.code) => read_modern_error(error, requested),
        Err(_) => Next::Initialize,
    }
}

/// Whether only a server of the stateless era sends this error. `-32601` and `-32602` alone prove nothing: older servers
/// answer whatever comes before the handshake with them.
pub(crate) fn is_modern(method: &str, status: StatusCode, code: i64) -> bool {
    match code {
        HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY | UNSUPPORTED_VERSION => true,
        // Every server of that era knows the probe.
        METHOD_NOT_FOUND => status == StatusCode::NOT_FOUND && method != DISCOVER,
        _ => false,
    }
}

fn read_result(result: &str) -> Next {
    let listed = Object::parse(result).and_then(|result| versions(&result, "supportedVersions"));
    // A result that does not say what the probe asks for comes from a server that answers anything.
    let Some(listed) = listed else {
        return Next::Initialize;
    };
    match common(&listed) {
        Some(revision) if revision.era() == Era::Stateless => Next::Stateless(revision),
        Some(_) => Next::Initialize,
        None => Next::Fail(Failure::NoCommonVersion(shown(listed))),
    }
}

fn read_modern_error(error: WireError, requested: Revision) -> Next {
    let data = error.data.as_deref().and_then(|data| Object::parse(data.get()));
    let listed = data
        .filter(|_| error.code == UNSUPPORTED_VERSION)
        .and_then(|data| versions(&data, "supported"));
    let Some(listed) = listed else {
        return Next::Fail(Failure::Refused(error));
    };
    match common(&listed) {
        // Refused and supported at once: asking again would go on for ever.
        Some(revision) if revision == requested => Next::Fail(Failure::Refused(error)),
        Some(revision) if revision.era() == Era::Stateless => Next::RetryWithVersion(revision),
        Some(_) => Next::Initialize,
        None => Next::Fail(Failure::NoCommonVersion(shown(listed))),
    }
}

fn versions(object: &Object<'_>, key: &str) -> Option<Vec<String>> {
    let items = object.array(key)?;
    Some(
        items
            .into_iter()
            .filter_map(|item| Some(json::string(item.get())?.into_owned()))
            .collect(),
    )
}

/// The newest revision that both speak: one of the stateless era before any other.
fn common(listed: &[String]) -> Option<Revision> {
    let is_listed = |revision: &Revision| listed.iter().any(|version| version == revision.name());
    let of = |era| Revision::ALL.into_iter().filter(move |revision| revision.era() == era);
    of(Era::Stateless).chain(of(Era::Session)).find(is_listed)
}

/// Versions are dates; a server that sends more is not quoted in full.
fn shown(listed: Vec<String>) -> Vec<String> {
    listed
        .into_iter()
        .take(MOST_SHOWN_VERSIONS)
        .map(|version| version.chars().take(LONGEST_SHOWN_VERSION).collect())
        .collect()
}

const DISCOVER: &str = "server/discover";
const MOST_SHOWN_VERSIONS: usize = 8;
const LONGEST_SHOWN_VERSION: usize = 32;
