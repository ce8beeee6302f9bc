//! What has to be right before anything is looked at: where a request was sent, and from which page.

use http::header::{HOST, HeaderMap, ORIGIN};
use http::{Method, StatusCode, Uri};

use super::options::SiteOptions;
use super::reply::{HttpReply, empty};
use crate::error::Result;
use crate::guard::cors::Cors;
use crate::guard::origin::{InboundHosts, InboundOrigins, Verdict};

pub(crate) struct Gate {
    hosts: InboundHosts,
    origins: InboundOrigins,
    cors: Option<Cors>,
}

impl Gate {
    /// # Errors
    /// `invalid-option`, naming the host or the origin that is none.
    pub(crate) fn new(options: &SiteOptions) -> Result<Self> {
        let gate = &options.gate;
        let mut origins = InboundOrigins::new("allowedOrigins", &gate.allowed_origins)?;
        let cors = match &gate.cors {
            None => None,
            Some(cors) => {
                let listed = InboundOrigins::new("cors.origins", &cors.origins)?;
                let cors = Cors::new(listed, cors.max_age_seconds);
                origins = origins.and(cors.origins());
                Some(cors)
            }
        };
        Ok(Self {
            hosts: InboundHosts::new(gate.allowed_hosts.as_deref(), &options.host)?,
            origins,
            cors,
        })
    }

    /// # Errors
    /// With the reply to a request that goes no further: refused, or answered already.
    #[expect(
        clippy::result_large_err,
        reason = "a reply is moved once, to whoever sent the request"
    )]
    pub(crate) fn pass(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> std::result::Result<(), HttpReply> {
        let hosts = headers.get_all(HOST).iter().map(http::HeaderValue::as_bytes);
        let authority = uri.authority().map(http::uri::Authority::as_str);
        refused(self.hosts.judge(hosts, authority))?;
        let origins = headers.get_all(ORIGIN).iter().map(http::HeaderValue::as_bytes);
        refused(self.origins.judge(origins))?;
        if let Some(answer) = self.cors.as_ref().and_then(|cors| cors.preflight(method, headers)) {
            let mut reply = empty(StatusCode::NO_CONTENT);
            *reply.headers_mut() = answer;
            return Err(reply);
        }
        Ok(())
    }

    /// Lets the page read the reply that sent the request.
    pub(crate) fn mark(&self, request: &HeaderMap, reply: &mut HeaderMap) {
        if let Some(cors) = &self.cors {
            cors.mark(request, reply);
        }
    }

    /// Whether replies are marked at all.
    pub(crate) fn marks(&self) -> bool {
        self.cors.is_some()
    }
}

#[expect(
    clippy::result_large_err,
    reason = "a reply is moved once, to whoever sent the request"
)]
fn refused(verdict: Verdict) -> std::result::Result<(), HttpReply> {
    match verdict {
        Verdict::Allowed => Ok(()),
        Verdict::Malformed => Err(empty(StatusCode::BAD_REQUEST)),
        Verdict::Refused => Err(empty(StatusCode::FORBIDDEN)),
    }
}
