//! One server's place on the network: every request to it goes through here, where hosts, redirects, headers and sizes
//! are judged, whichever stack carries it. Knows HTTP and the guards, but no MCP.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures_util::StreamExt as _;
use http::{HeaderMap, Method};
use url::Url;

use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorCode, Result};
use crate::guard::headers::{Configured, Credential, Issued, Layers};
use crate::guard::hosts::AllowedHosts;
use crate::guard::redact::Redactor;
use crate::guard::redirect::{self, Journey, Payload, Step};
use crate::host::http::{Body, HttpClient, HttpRequest, HttpResponse};

/// A server and the rules for reaching it. Holds credentials, so that it has no `Debug`.
pub(crate) struct Endpoint {
    pub(crate) server: String,
    pub(crate) configured: Arc<Configured>,
    pub(crate) allowed: AllowedHosts,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) client: Arc<dyn HttpClient>,
    pub(crate) max_message_bytes: usize,
    /// Asked for before the first byte, and newer with each call.
    pub(crate) credential: RwLock<Option<Credential>>,
    pub(crate) tell: Box<dyn Fn(Diagnostic) + Send + Sync>,
    /// Origins that it was told of that headers are withheld from them.
    pub(crate) withheld: Mutex<HashSet<String>>,
}

/// One request, without what the endpoint adds.
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) payload: Payload,
    pub(crate) protocol: &'a HeaderMap,
    pub(crate) issued: &'a [Issued],
    pub(crate) credential: Option<&'a Credential>,
    pub(crate) body: Option<&'a str>,
}

impl Endpoint {
    /// Sends a request, follows redirects as far as the rules go, and gives the answer with where it came from.
    ///
    /// # Errors
    /// What the rules refuse, and what the stack reports. Secrets are out of the text.
    pub(crate) async fn exchange(&self, ask: &Ask<'_>) -> Result<(HttpResponse, Url)> {
        let mut journey = Journey::new(
            self.configured.url(),
            ask.url.clone(),
            &self.allowed,
            &self.redactor,
            &ask.method,
            ask.payload,
        )?;
        let mut withhold = false;
        loop {
            let headers = {
                let connection = self.credential.read().unwrap_or_else(PoisonError::into_inner);
                let layers = Layers {
                    configured: &self.configured,
                    connection: connection.as_ref(),
                    call: ask.credential,
                    issued: ask.issued,
                    protocol: ask.protocol,
                };
                layers.towards(journey.at(), withhold)
            };
            let request = HttpRequest {
                method: ask.method.clone(),
                url: journey.at().clone(),
                headers,
                body: ask.body.map(ToOwned::to_owned),
            };
            let response = self.client.send(request).await.map_err(|error| self.redacted(&error))?;
            match journey.step(response.status, &response.headers)? {
                Step::Arrived => return Ok((response, journey.at().clone())),
                Step::Follow { withhold: leaves } => {
                    withhold = leaves;
                    if leaves {
                        self.tell_withheld(journey.at());
                    }
                }
            }
        }
    }

    /// What goes with no call of its own, a stream or the end of a session, has the newest token.
    ///
    /// # Errors
    /// `unauthorized` for a token that cannot be sent.
    pub(crate) fn renew_credential(&self, token: &str) -> Result<()> {
        let credential = Credential::bearer(token)?;
        *self.credential.write().unwrap_or_else(PoisonError::into_inner) = Some(credential);
        Ok(())
    }

    /// A whole body as text, unless it is over the limit: then how long it was when it went over.
    ///
    /// # Errors
    /// `connection-lost` when the body breaks off.
    pub(crate) async fn read(&self, mut body: Body) -> Result<Result<String, u64>> {
        let mut bytes = Vec::new();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|error| self.redacted(&error))?;
            if bytes.len() + chunk.len() > self.max_message_bytes {
                return Ok(Err((bytes.len() + chunk.len()) as u64));
            }
            bytes.extend_from_slice(&chunk);
        }
        let text =
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Ok(Ok(match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        }))
    }

    pub(crate) fn redacted(&self, error: &Error) -> Error {
        Error::new(error.code(), self.redactor.redact(error.message()))
    }

    /// An error of this server's HTTP side.
    pub(crate) fn error(&self, code: ErrorCode, message: impl AsRef<str>) -> Error {
        Error::new(code, self.redactor.redact(message.as_ref()))
    }

    fn tell_withheld(&self, target: &Url) {
        let mut told = self.withheld.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(target.origin().ascii_serialization()) {
            drop(told);
            (self.tell)(redirect::headers_withheld(&self.server, self.configured.url(), target));
        }
    }
}
