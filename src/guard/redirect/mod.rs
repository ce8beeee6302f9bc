//! Redirects: where one request goes on to, decided hop by hop. The HTTP stack follows none by itself, so that the rules
//! of the client specification (section 5) hold whichever it is.

use http::header::{HeaderMap, LOCATION};
use http::{Method, StatusCode};
use url::{ParseError, Url};

use super::hosts::{AllowedHosts, shorten};
use super::redact::Redactor;
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, ErrorCode, Result};
use crate::limits;

/// Whether a request carries something of the user's: `tools/call`, `resources/read`, `prompts/get` and
/// `completion/complete` do. Such a request never leaves the configured origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    OfTheUser,
    OfTheProtocol,
}

pub(crate) fn payload_of(method: &str) -> Payload {
    match method {
        "tools/call" | "resources/read" | "prompts/get" | "completion/complete" => Payload::OfTheUser,
        _ => Payload::OfTheProtocol,
    }
}

/// One request on its way. Method and body stay what they were, whatever hop it takes.
pub(crate) struct Journey<'a> {
    /// Where the server is configured, without userinfo.
    configured: &'a Url,
    allowed: &'a AllowedHosts,
    /// A target is text of the peer's.
    redactor: &'a Redactor,
    method: &'a Method,
    payload: Payload,
    at: Url,
    hops: usize,
    has_left: bool,
}

/// What an answer means for the way of its request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// No redirect: this is the answer.
    Arrived,
    /// Send the same method and body to `Journey::at`.
    Follow {
        /// The hop left the configured origin, or an earlier one did: credentials and configured headers stay behind.
        withhold: bool,
    },
}

impl<'a> Journey<'a> {
    /// `first` is where the request goes: the configured URL, or the endpoint of HTTP+SSE.
    ///
    /// # Errors
    /// `host-blocked`, as for each hop.
    pub(crate) fn new(
        configured: &'a Url,
        first: Url,
        allowed: &'a AllowedHosts,
        redactor: &'a Redactor,
        method: &'a Method,
        payload: Payload,
    ) -> Result<Self> {
        allowed.check(&first)?;
        let has_left = !same_origin(configured, &first);
        Ok(Self {
            configured,
            allowed,
            redactor,
            method,
            payload,
            at: first,
            hops: 0,
            has_left,
        })
    }

    /// Where the request is to be sent now.
    pub(crate) fn at(&self) -> &Url {
        &self.at
    }

    /// Takes the head of an answer. 301, 302, 307 and 308 keep method and body; so does 303 for GET, which is what it
    /// asks for. Any other method it would turn into a GET (RFC 9110, section 15.4.4), and a request that is silently
    /// another one is an error instead. 300 and 304 to 306 lead nowhere by themselves.
    ///
    /// Once a request has left the configured origin, what is secret stays withheld even if it is sent back there: the
    /// path it comes back to was chosen by somebody else.
    ///
    /// # Errors
    /// `host-blocked` for a target that is not allowed, and `invalid-response` for a redirect that makes no sense. Both
    /// name the target without userinfo, query and fragment.
    pub(crate) fn step(&mut self, status: StatusCode, headers: &HeaderMap) -> Result<Step> {
        if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(Step::Arrived);
        }
        let target = self.read_target(status, headers)?;
        self.check_target(status, &target)?;
        if self.hops >= limits::MAX_REDIRECTS {
            return Err(self.senseless(
                status,
                &format!(
                    "to {}, after {} redirects already",
                    shown_target(&target),
                    limits::MAX_REDIRECTS
                ),
            ));
        }
        self.hops += 1;
        self.has_left |= !same_origin(self.configured, &target);
        self.at = target;
        Ok(Step::Follow {
            withhold: self.has_left,
        })
    }

    fn read_target(&self, status: StatusCode, headers: &HeaderMap) -> Result<Url> {
        let mut locations = headers.get_all(LOCATION).iter();
        let Some(location) = locations.next() else {
            return Err(self.senseless(status, "without a Location header"));
        };
        if locations.any(|other| other != location) {
            return Err(self.senseless(status, "with more than one Location header"));
        }
        let unreadable = || self.senseless(status, "to a Location that is no URL");
        let location = str::from_utf8(location.as_bytes()).map_err(|_| unreadable())?;
        let mut target = self.at.join(location).map_err(|_: ParseError| unreadable())?;
        if !matches!(target.scheme(), "http" | "https") {
            let scheme = shorten(target.scheme(), limits::QUOTED_HEADER_CHARS);
            return Err(self.blocked(status, &format!("to a URL of the scheme {scheme}")));
        }
        // Credentials that the peer would have us send are nobody's; a fragment is never sent.
        let cut = target.set_username("").and_then(|()| target.set_password(None));
        cut.map_err(|()| unreadable())?;
        target.set_fragment(None);
        Ok(target)
    }

    fn check_target(&self, status: StatusCode, target: &Url) -> Result<()> {
        let shown = shown_target(target);
        if self.at.scheme() == "https" && target.scheme() == "http" {
            return Err(self.blocked(status, &format!("from https to {shown}, which is not encrypted")));
        }
        if !self.allowed.allows(target) {
            return Err(self.blocked(status, &format!("to {shown}: {}", self.allowed.refusal(target))));
        }
        if self.payload == Payload::OfTheUser && !same_origin(self.configured, target) {
            let origin = shown_origin(target);
            return Err(self.blocked(
                status,
                &format!(
                    "to {shown}, and what the user sends does not leave the configured origin: \
                     if that is where the server is, configure the server at {origin}"
                ),
            ));
        }
        if status == StatusCode::SEE_OTHER && self.method != Method::GET {
            return Err(self.senseless(
                status,
                &format!("to {shown}, which would turn the {} into a GET", self.method),
            ));
        }
        Ok(())
    }

    fn blocked(&self, status: StatusCode, what: &str) -> Error {
        self.error(ErrorCode::HostBlocked, status, what)
    }

    fn senseless(&self, status: StatusCode, what: &str) -> Error {
        self.error(ErrorCode::InvalidResponse, status, what)
    }

    fn error(&self, code: ErrorCode, status: StatusCode, what: &str) -> Error {
        let from = shown_origin(&self.at);
        let text = format!("{from} redirects (HTTP {}) {what}", status.as_u16());
        Error::new(code, self.redactor.redact(&text))
    }
}

/// Scheme, host and port. URLs of other schemes than http and https are of no origin that another could have.
pub(crate) fn same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

/// The diagnostic about a hop that left the configured origin; it is for the caller to report each origin once.
pub(crate) fn headers_withheld(server: &str, configured: &Url, target: &Url) -> Diagnostic {
    Diagnostic::new(
        Rule::CrossOriginHeadersWithheld,
        server,
        format!(
            "{} redirects to {}: credentials and configured headers are not sent there",
            shown_origin(configured),
            shown_origin(target)
        ),
    )
}

/// A URL for a message: nothing before the host, nothing after the path.
fn shown_target(url: &Url) -> String {
    shorten(
        &format!("{}{}", shown_origin(url), url.path()),
        limits::QUOTED_URL_CHARS,
    )
}

fn shown_origin(url: &Url) -> String {
    shorten(&url.origin().ascii_serialization(), limits::QUOTED_URL_CHARS)
}

#[cfg(test)]
mod tests;
