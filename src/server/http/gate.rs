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

#[cfg(test)]
mod tests {
    use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, VARY};

    use super::*;

    const PAGE: &str = "https://app.example.com";

    #[test]
    fn host_and_origin_are_looked_at_in_this_order() {
        let gate = gate("");
        for (sent, status) in [
            (&[("host", "localhost:3001")][..], None),
            (&[], Some(400)),
            (&[("host", "localhost"), ("host", "localhost")], Some(400)),
            (&[("host", "evil.example")], Some(403)),
            (&[("host", "localhost"), ("origin", PAGE)], Some(403)),
            (&[("host", ""), ("origin", PAGE)], Some(400)),
        ] {
            let reply = stopped(&gate, &Method::POST, "/mcp", sent);
            assert_eq!(reply.map(|reply| reply.status().as_u16()), status, "{sent:?}");
        }
    }

    #[test]
    fn the_authority_of_a_target_counts_too() {
        let gate = gate("");
        let sent = [("host", "localhost")];
        assert!(stopped(&gate, &Method::POST, "http://localhost:3001/mcp", &sent).is_none());
        let reply = stopped(&gate, &Method::POST, "http://evil.example/mcp", &sent).unwrap();
        assert_eq!(reply.status(), StatusCode::FORBIDDEN);
    }

    #[test]
    fn origins_of_cors_are_allowed_and_told_so() {
        let gate = gate(&format!(
            r#","cors":{{"origins":["{PAGE}"]}},"allowedOrigins":["https://b.example"]"#
        ));
        let asked = asked(PAGE);
        let reply = stopped(&gate, &Method::OPTIONS, "/mcp", &asked).unwrap();
        assert_eq!(reply.status(), StatusCode::NO_CONTENT);
        assert_eq!(reply.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], PAGE);
        assert!(stopped(&gate, &Method::POST, "/mcp", &asked).is_none());
        assert_eq!(marked(&gate, &asked)[ACCESS_CONTROL_ALLOW_ORIGIN], PAGE);
        // One that is allowed without being told how to read the answers.
        let other = self::asked("https://b.example");
        assert!(stopped(&gate, &Method::OPTIONS, "/mcp", &other).is_none());
        assert!(!marked(&gate, &other).contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
        assert_eq!(marked(&gate, &other)[VARY], "Origin");
    }

    #[test]
    fn a_preflight_of_another_page_is_refused_before_it_is_answered() {
        let gate = gate(&format!(r#","cors":{{"origins":["{PAGE}"]}}"#));
        let reply = stopped(&gate, &Method::OPTIONS, "/mcp", &asked("https://evil.example")).unwrap();
        assert_eq!(reply.status(), StatusCode::FORBIDDEN);
    }

    #[test]
    fn without_the_option_browsers_are_told_nothing() {
        let gate = gate(r#","allowedOrigins":["*"]"#);
        assert!(stopped(&gate, &Method::OPTIONS, "/mcp", &asked(PAGE)).is_none());
        assert!(marked(&gate, &asked(PAGE)).is_empty());
    }

    #[test]
    fn wrong_options_are_named() {
        for (options, said) in [
            (
                r#""allowedHosts":"localhost""#,
                "allowedHosts must be an array of strings",
            ),
            (r#""allowedHosts":["a/b"]"#, "allowedHosts has \"a/b\""),
            (r#""allowedOrigins":[1]"#, "allowedOrigins must be an array of strings"),
            (r#""allowedOrigins":["app"]"#, "allowedOrigins has \"app\""),
            (r#""cors":true"#, "cors must be"),
            (r#""cors":{}"#, "cors.origins must be"),
            (r#""cors":{"origins":["app"]}"#, "cors.origins has \"app\""),
            (r#""cors":{"origins":[],"maxAge":1}"#, "cors.maxAge is not an option"),
            (
                r#""cors":{"origins":[],"maxAgeSeconds":-1}"#,
                "cors.maxAgeSeconds must be",
            ),
        ] {
            let built =
                SiteOptions::parse(&format!("{{\"port\":0,{options}}}")).and_then(|options| Gate::new(&options));
            let error = built.err().unwrap();
            assert!(error.message().starts_with(said), "{options}: {error}");
        }
    }

    fn gate(options: &str) -> Gate {
        Gate::new(&SiteOptions::parse(&format!("{{\"port\":0{options}}}")).unwrap()).unwrap()
    }

    fn asked(origin: &str) -> [(&'static str, &str); 3] {
        [
            ("host", "localhost"),
            ("origin", origin),
            ("access-control-request-method", "POST"),
        ]
    }

    fn stopped(gate: &Gate, method: &Method, target: &str, sent: &[(&'static str, &str)]) -> Option<HttpReply> {
        gate.pass(method, &target.parse().unwrap(), &headers(sent)).err()
    }

    fn marked(gate: &Gate, sent: &[(&'static str, &str)]) -> HeaderMap {
        let mut reply = HeaderMap::new();
        gate.mark(&headers(sent), &mut reply);
        reply
    }

    fn headers(sent: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(*name, http::HeaderValue::from_str(value).unwrap());
        }
        headers
    }
}
