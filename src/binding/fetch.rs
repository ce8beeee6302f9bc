//! The user's `fetch` as the HTTP stack of the core. A request goes out through the mailbox under a number; its head and
//! each chunk that was asked for come back as calls of the facade's. One chunk is under way at a time, so that neither
//! side holds more of a body than that.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use tokio::sync::mpsc;

use super::callback::Mailbox;
use super::host::{NativeEvent, NativeEventKind};
use crate::error::{Error, ErrorCode, Result};
use crate::host::http::{Exchange, HttpClient, HttpRequest, HttpResponse};
use crate::json;
use crate::limits;

pub(super) struct FetchClient {
    mailbox: Arc<Mailbox<NativeEvent>>,
    exchanges: Arc<Exchanges>,
}

/// The exchanges under way, and where what JavaScript says of each goes.
#[derive(Default)]
pub(super) struct Exchanges(Mutex<UnderWay>);

#[derive(Default)]
struct UnderWay {
    last: i64,
    said: HashMap<i64, mpsc::UnboundedSender<Said>>,
    /// JavaScript is gone: nothing will be said any more.
    is_over: bool,
}

/// What JavaScript says of an exchange.
pub(super) enum Said {
    Head(StatusCode, HeaderMap),
    Chunk(Bytes),
    End,
    Failed(String),
}

/// Ends every exchange together with the environment that would have carried it on.
#[derive(Default)]
pub(super) struct FetchDesk(Arc<Exchanges>);

impl FetchDesk {
    pub(super) fn client(&self, mailbox: &Arc<Mailbox<NativeEvent>>) -> Arc<dyn HttpClient> {
        Arc::new(FetchClient {
            mailbox: Arc::clone(mailbox),
            exchanges: Arc::clone(&self.0),
        })
    }

    /// `headers` are names and values in turn, a character for each byte.
    pub(super) fn head(&self, id: i64, status: u16, headers: &[String]) {
        let said = match StatusCode::from_u16(status) {
            Ok(status) => Said::Head(status, headers_of(headers)),
            Err(_) => Said::Failed(format!("it answered with the status {status}")),
        };
        self.0.hear(id, said);
    }

    pub(super) fn chunk(&self, id: i64, chunk: Option<&[u8]>) {
        self.0.hear(
            id,
            chunk.map_or(Said::End, |chunk| Said::Chunk(Bytes::copy_from_slice(chunk))),
        );
    }

    pub(super) fn failed(&self, id: i64, reason: String) {
        self.0.hear(id, Said::Failed(reason));
    }
}

impl Drop for FetchDesk {
    fn drop(&mut self) {
        let mut under_way = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.is_over = true;
        under_way.said.clear();
    }
}

impl Exchanges {
    /// A new exchange's number, and where what is said of it comes.
    fn open(&self) -> (i64, mpsc::UnboundedReceiver<Said>) {
        // Bounded by what is asked for: the head, and one chunk after the other.
        let (say, said) = mpsc::unbounded_channel();
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.last += 1;
        let id = under_way.last;
        if !under_way.is_over {
            under_way.said.insert(id, say);
        }
        (id, said)
    }

    fn hear(&self, id: i64, said: Said) {
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Given up meanwhile, otherwise.
        if let Entry::Occupied(listener) = under_way.said.entry(id) {
            let is_last = matches!(said, Said::End | Said::Failed(_));
            // It takes itself out of the map before it stops listening.
            drop(listener.get().send(said));
            if is_last {
                listener.remove();
            }
        }
    }

    /// Whether it had not ended yet.
    fn forget(&self, id: i64) -> bool {
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.said.remove(&id).is_some()
    }
}

/// One exchange; dropping it gives it up.
struct Ongoing {
    id: i64,
    said: mpsc::UnboundedReceiver<Said>,
    /// Whom it is with, for messages.
    host: String,
    mailbox: Arc<Mailbox<NativeEvent>>,
    exchanges: Arc<Exchanges>,
}

impl Ongoing {
    fn lost(&self, what: &str) -> Error {
        Error::new(
            ErrorCode::ConnectionLost,
            format!("the fetch from {} failed: {what}", self.host),
        )
    }

    async fn next(&mut self) -> Result<Said> {
        match self.said.recv().await {
            Some(Said::Failed(reason)) => Err(self.lost(&reason)),
            Some(said) => Ok(said),
            None => Err(self.lost("its environment has ended")),
        }
    }

    async fn head(mut self) -> Result<HttpResponse> {
        let Said::Head(status, headers) = self.next().await? else {
            return Err(self.lost("its body came before its head"));
        };
        let body = stream::try_unfold(self, async |mut ongoing| {
            ongoing.mailbox.answer(NativeEvent {
                id: Some(ongoing.id),
                ..NativeEvent::of(NativeEventKind::Pull)
            });
            match ongoing.next().await? {
                Said::Chunk(chunk) => Ok(Some((chunk, ongoing))),
                _ => Ok(None),
            }
        });
        Ok(HttpResponse {
            status,
            headers,
            body: Box::pin(body),
        })
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        if self.exchanges.forget(self.id) {
            self.mailbox.answer(NativeEvent {
                id: Some(self.id),
                ..NativeEvent::of(NativeEventKind::Drop)
            });
        }
    }
}

impl HttpClient for FetchClient {
    fn send(&self, request: HttpRequest) -> Exchange {
        let host = shown(&request);
        let text = to_json(request);
        if text.len() > limits::MAX_TEXT_TO_JS_BYTES {
            let message = format!("the request to {host} is more than JavaScript can hold in one string");
            return Box::pin(std::future::ready(Err(Error::new(ErrorCode::TooLarge, message))));
        }
        let (mailbox, exchanges) = (Arc::clone(&self.mailbox), Arc::clone(&self.exchanges));
        Box::pin(async move {
            let (id, said) = exchanges.open();
            let ongoing = Ongoing {
                id,
                said,
                host,
                mailbox,
                exchanges,
            };
            ongoing.mailbox.answer(NativeEvent {
                id: Some(id),
                text: Some(text),
                ..NativeEvent::of(NativeEventKind::Fetch)
            });
            ongoing.head().await
        })
    }
}

fn shown(request: &HttpRequest) -> String {
    let host = request.url.host_str().unwrap_or_default();
    match request.url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Userinfo and fragment are never sent: the layers above make headers of the one and have no use for the other.
fn to_json(request: HttpRequest) -> String {
    let HttpRequest {
        method,
        mut url,
        headers,
        body,
    } = request;
    // Both fail only for URLs that cannot have userinfo.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| format!("[{},{}]", json::quote(name.as_str()), json::quote(&to_latin1(value))))
        .collect();
    format!(
        "{{\"method\":{},\"url\":{},\"headers\":[{}],\"body\":{}}}",
        json::quote(method.as_str()),
        json::quote(url.as_str()),
        headers.join(","),
        body.map_or_else(|| "null".to_owned(), |body| json::quote(&body))
    )
}

fn to_latin1(value: &HeaderValue) -> String {
    value.as_bytes().iter().copied().map(char::from).collect()
}

/// What is no header is left out, and so is what was true of the bytes before `fetch` decoded them.
fn headers_of(flat: &[String]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for pair in flat.chunks_exact(2) {
        let [name, value] = pair else { continue };
        let Some((name, value)) = header_of(name, value) else {
            continue;
        };
        if name != header::CONTENT_LENGTH && name != header::CONTENT_ENCODING {
            // Refuses more than a map can hold.
            drop(headers.try_append(name, value));
        }
    }
    headers
}

fn header_of(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let bytes: Vec<u8> = value
        .chars()
        .map(|character| u8::try_from(character).ok())
        .collect::<Option<_>>()?;
    Some((name.parse().ok()?, HeaderValue::from_bytes(&bytes).ok()?))
}
