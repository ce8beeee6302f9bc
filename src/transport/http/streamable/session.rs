//! The session of a connection: its id, opening a new one when the server forgot it, and its end. Of all who find it gone
//! one opens the next, and what comes of that is told to all of them.

use std::sync::{Mutex, PoisonError, RwLock};

use http::{HeaderName, Method};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use url::Url;

use super::INITIALIZED;
use crate::diagnostic::Rule;
use crate::error::{Error, ErrorCode, Result};
use crate::guard::headers::Issued;
use crate::guard::redirect::Payload;
use crate::limits;
use crate::protocol::message::{self, Message, Params};
use crate::protocol::wire::http::{self as rules, Sent, SessionId, Verdict};
use crate::transport::Received;
use crate::transport::http::endpoint::Ask;
use crate::transport::http::events::first_answer;
use crate::transport::http::frame::{Frame, Reply};

#[derive(Default)]
pub(super) struct Sessions {
    current: RwLock<Session>,
    /// Held while a session is renewed: whoever comes next finds a new one, or why there is none.
    renewal: AsyncMutex<()>,
    failed: Mutex<Failures>,
    /// Told of each new session after the first.
    pub(super) renewed: Notify,
    /// The text of the request that opens one.
    opening: Mutex<Option<String>>,
}

/// When a request was sent: which session there was, and which attempts to open a new one had failed by then.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    generation: u64,
    failures: u64,
}

#[derive(Default)]
pub(super) struct Session {
    /// Counts the sessions there were.
    generation: u64,
    id: Option<SessionId>,
    /// Who issued the id.
    issuer: Option<Url>,
    /// Whether the server said that it does not know it any more.
    is_gone: bool,
}

/// The attempts to open a new session that came to nothing.
#[derive(Default)]
struct Failures {
    count: u64,
    /// Why the latest one did.
    latest: Option<(ErrorCode, String)>,
}

impl Sessions {
    /// Takes note of the request that opens the first session, and any later one.
    pub(super) fn begin(&self, opening: &str) {
        *self.opening.lock().unwrap_or_else(PoisonError::into_inner) = Some(opening.to_owned());
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            generation: self.current.read().unwrap_or_else(PoisonError::into_inner).generation,
            failures: self.failures(|failures| failures.count),
        }
    }

    /// What names the session to whoever issued its name.
    pub(super) fn issued(&self) -> Vec<Issued> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).issued()
    }

    /// From here on this is the session.
    pub(super) fn open(&self, mut session: Session) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        session.generation = current.generation + 1;
        *current = session;
    }

    /// Opens a new session in the place of one that was gone when a request was sent. Of all who ask for it, one does it.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn renew(&self, frame: &Frame, sent: Mark) -> Result<()> {
        let _renewing = self.renewal.lock().await;
        let now = self.mark();
        if now.generation != sent.generation {
            return Ok(());
        }
        let known = self.failures(|failures| failures.latest.clone());
        if let Some((code, message)) = known.filter(|_| now.failures != sent.failures) {
            return Err(Error::new(code, message));
        }
        self.current.write().unwrap_or_else(PoisonError::into_inner).is_gone = true;
        let outcome = self.open_again(frame).await;
        if let Err(error) = &outcome {
            self.failures(|failures| {
                failures.count += 1;
                failures.latest = Some((error.code(), error.message().to_owned()));
            });
        }
        outcome
    }

    /// Whoever does this may be given up at any point of it: until the server was told that it is open, there is no session.
    async fn open_again(&self, frame: &Frame) -> Result<()> {
        let opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(opening) = opening else {
            return Err(frame.error(ErrorCode::Unavailable, "there is no session to open again"));
        };
        let ask = Ask {
            method: Method::POST,
            url: frame.endpoint.configured.url(),
            payload: Payload::OfTheProtocol,
            protocol: &rules::post_headers(),
            issued: &[],
            credential: None,
            body: Some(&opening),
        };
        let reply = frame.exchange(Sent::Request, &ask).await?;
        let session = Session::of(frame, &reply)?;
        let status = reply.response.status;
        let answer = match reply.verdict {
            Verdict::Json => frame.endpoint.read(reply.response.body).await?.ok(),
            Verdict::EventStream => first_answer(reply.response.body, frame.endpoint.max_message_bytes).await,
            verdict => return Err(frame.refusal(&verdict, status)),
        };
        match answer.as_deref().map(Message::parse) {
            // What it says was agreed on before.
            Some(Ok(Message::Response { outcome: Ok(_), .. })) => {}
            Some(Ok(Message::Response {
                outcome: Err(error), ..
            })) => {
                let message = format!("it opens no new session: error {}: {}", error.code, error.message);
                return Err(frame.error(ErrorCode::ServerError, message));
            }
            _ => return Err(frame.error(ErrorCode::InvalidResponse, "it opens no new session")),
        }
        let initialized = message::notification(INITIALIZED, &Params::new());
        frame
            .post_quietly(frame.endpoint.configured.url(), &session.issued(), &initialized)
            .await;
        self.open(session);
        self.renewed.notify_waiters();
        frame.hand_over(Received::Renewed).await;
        Ok(())
    }

    /// Ends the session, if there is one: once, and without waiting for long.
    pub(super) async fn end(&self, frame: &Frame) {
        let is_gone = self.current.read().unwrap_or_else(PoisonError::into_inner).is_gone;
        let issued = self.issued();
        if is_gone || issued.is_empty() {
            return;
        }
        let ask = Ask {
            method: Method::DELETE,
            url: frame.endpoint.configured.url(),
            payload: Payload::OfTheProtocol,
            protocol: &frame.headers(rules::ACCEPT_REPLY),
            issued: &issued,
            credential: None,
            body: None,
        };
        let patience = frame.clock.sleep_until(frame.clock.now() + limits::STOP_GRACE);
        let problem = tokio::select! {
            outcome = frame.exchange(Sent::Delete, &ask) => match outcome {
                // A session that the server has forgotten is ended, too.
                Ok(reply) if matches!(reply.verdict, Verdict::Accepted | Verdict::SessionGone) => return,
                Ok(reply) => format!("HTTP {}", reply.response.status.as_u16()),
                Err(error) => error.to_string(),
            },
            () = patience => "no answer".to_owned(),
        };
        frame.tell(
            Rule::ConnectionFailure,
            &format!("its session could not be ended: {problem}"),
        );
    }

    fn failures<T>(&self, look: impl FnOnce(&mut Failures) -> T) -> T {
        look(&mut self.failed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Session {
    /// The session that an answer to the opening request opens.
    ///
    /// # Errors
    /// `invalid-response` when its id cannot be used.
    pub(super) fn of(frame: &Frame, reply: &Reply) -> Result<Self> {
        let id = SessionId::of(&reply.response.headers)
            .map_err(|_| frame.error(ErrorCode::InvalidResponse, "it sent a session id that cannot be used"))?;
        Ok(Self {
            issuer: id.is_some().then(|| reply.from.clone()),
            id,
            ..Self::default()
        })
    }

    fn issued(&self) -> Vec<Issued> {
        let named = self.id.as_ref().zip(self.issuer.as_ref());
        let issued = named.map(|(id, issuer)| Issued {
            issuer: issuer.origin(),
            name: HeaderName::from_static(rules::SESSION_ID),
            value: id.header_value(),
        });
        issued.into_iter().collect()
    }
}
