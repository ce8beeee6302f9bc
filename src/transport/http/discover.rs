//! `server/discover` over HTTP, before there is any connection: asked in words of the stateless era, whatever the server
//! speaks.

use http::{Method, StatusCode};

use super::endpoint::{Ask, Endpoint};
use super::events::first_answer;
use super::frame::{exchange, insert_revision, read_failure};
use super::streamable::mirror_in;
use crate::error::Result;
use crate::guard::redirect::Payload;
use crate::host::Clock;
use crate::protocol::message::Mirror;
use crate::protocol::revision::Revision;
use crate::protocol::wire::http::{self as rules, Sent, Verdict};

pub(crate) const DISCOVER: &str = "server/discover";

/// The status of a server's reply, and the message in it, if there is one.
///
/// # Errors
/// When there is no reply.
pub(crate) async fn discover(
    endpoint: &Endpoint,
    clock: &dyn Clock,
    revision: Revision,
    text: &str,
) -> Result<(StatusCode, Option<String>)> {
    let mut headers = rules::post_headers();
    insert_revision(&mut headers, revision);
    mirror_in(&mut headers, DISCOVER, &Mirror::default());
    let ask = Ask {
        method: Method::POST,
        url: endpoint.configured.url(),
        payload: Payload::OfTheProtocol,
        protocol: &headers,
        issued: &[],
        credential: None,
        body: Some(text),
    };
    let reply = exchange(endpoint, clock, Sent::Request, &ask).await?;
    let body = reply.response.body;
    let message = match reply.verdict {
        Verdict::EventStream => first_answer(body, endpoint.max_message_bytes).await,
        Verdict::Json => endpoint.read(body).await?.ok(),
        _ => read_failure(endpoint, clock, body).await,
    };
    Ok((reply.response.status, message))
}
