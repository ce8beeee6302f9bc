//! The body of a request: within a size, and without long gaps.

use bytes::Bytes;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::reply::{HttpReply, empty, refusal};
use crate::guard::server_limits::ServerLimits;
use crate::host::Clock;
use crate::protocol::codes::{self, WireError};

/// Reads all of it.
///
/// # Errors
/// With the reply that says why it was not read to its end.
pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    limits: &ServerLimits,
    clock: &dyn Clock,
) -> Result<Bytes, HttpReply> {
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse::<u64>().ok());
    let most = limits.max_body_bytes;
    if announced.is_some_and(|length| length > u64::try_from(most).unwrap_or(u64::MAX)) {
        return Err(too_large(most));
    }
    let mut first = Bytes::new();
    let mut rest: Vec<u8> = Vec::new();
    loop {
        let until = clock.now().checked_add(limits.header_timeout);
        let patience = async {
            match until {
                Some(until) => clock.sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let frame = tokio::select! {
            biased;
            frame = body.frame() => frame,
            () = patience => return Err(empty(StatusCode::REQUEST_TIMEOUT)),
        };
        let Some(frame) = frame else {
            break;
        };
        let Ok(frame) = frame else {
            return Err(empty(StatusCode::BAD_REQUEST));
        };
        let Ok(chunk) = frame.into_data() else {
            continue;
        };
        if first.len() + rest.len() + chunk.len() > most {
            return Err(too_large(most));
        }
        if first.is_empty() && rest.is_empty() {
            // Most bodies are one chunk, which is not copied.
            first = chunk;
        } else {
            rest.extend_from_slice(&chunk);
        }
    }
    if rest.is_empty() {
        return Ok(first);
    }
    let mut whole = Vec::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.append(&mut rest);
    Ok(Bytes::from(whole))
}

fn too_large(most: usize) -> HttpReply {
    let error = WireError::new(codes::INVALID_REQUEST, format!("the body has more than {most} bytes"));
    let mut reply = refusal(StatusCode::PAYLOAD_TOO_LARGE, &error);
    // What is left of it is not read.
    reply
        .headers_mut()
        .insert(http::header::CONNECTION, http::HeaderValue::from_static("close"));
    reply
}

/// What a client takes for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Takes {
    pub(crate) json: bool,
    pub(crate) events: bool,
}

impl Takes {
    /// By `Accept`; whoever has none takes anything.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut takes = Self {
            json: false,
            events: false,
        };
        let mut is_there = false;
        for value in headers.get_all(ACCEPT) {
            is_there = true;
            for range in value.to_str().unwrap_or_default().split(',') {
                match essence(range).as_str() {
                    "*/*" => {
                        takes = Self {
                            json: true,
                            events: true,
                        }
                    }
                    "application/json" | "application/*" => takes.json = true,
                    "text/event-stream" | "text/*" => takes.events = true,
                    _ => {}
                }
            }
        }
        if is_there {
            takes
        } else {
            Self {
                json: true,
                events: true,
            }
        }
    }
}

pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(first), None) = (types.next(), types.next()) else {
        return false;
    };
    essence(first.to_str().unwrap_or_default()) == "application/json"
}

/// A media type without its parameters.
fn essence(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(values: &[&'static str]) -> Takes {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(ACCEPT, http::HeaderValue::from_static(value));
        }
        Takes::of(&headers)
    }

    #[test]
    fn media_types_are_compared_by_their_essence() {
        let both = Takes {
            json: true,
            events: true,
        };
        assert_eq!(accepting(&[]), both);
        assert_eq!(accepting(&["*/*"]), both);
        assert_eq!(
            accepting(&["Application/JSON;q=0.9, Text/Event-Stream; charset=utf-8"]),
            both
        );
        assert_eq!(accepting(&["application/json", "text/event-stream"]), both);
        let json = Takes {
            json: true,
            events: false,
        };
        assert_eq!(accepting(&["application/*"]), json);
        assert!(!accepting(&["text/html"]).json && !accepting(&["text/html"]).events);

        let mut headers = HeaderMap::new();
        assert!(!is_json(&headers));
        headers.insert(
            CONTENT_TYPE,
            http::HeaderValue::from_static("Application/JSON; charset=\"UTF-8\""),
        );
        assert!(is_json(&headers));
        headers.append(CONTENT_TYPE, http::HeaderValue::from_static("text/plain"));
        assert!(!is_json(&headers));
    }
}
