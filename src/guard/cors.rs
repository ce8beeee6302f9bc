//! What browsers are told about a server (the Fetch standard; server specification, sections 3 and 8): which pages may read
//! its answers, and what they may send. Says which headers a reply gets, and leaves the reply to others.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::origin::InboundOrigins;
use crate::limits;

/// The option `cors`.
#[derive(Clone, Debug)]
pub(crate) struct Cors {
    origins: InboundOrigins,
    max_age_seconds: Option<u64>,
}

const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
const ALLOWED_HEADERS: &str = "Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, \
                               Mcp-Name, Last-Event-ID";
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate");
/// Headers of tools' own arguments: nobody can list them beforehand. Names are in small letters here.
const PARAM_PREFIX: &str = "mcp-param-";

impl Cors {
    pub(crate) const fn new(origins: InboundOrigins, max_age_seconds: Option<u64>) -> Self {
        Self {
            origins,
            max_age_seconds,
        }
    }

    pub(crate) const fn origins(&self) -> &InboundOrigins {
        &self.origins
    }

    /// Adds to a reply, whatever it says, what lets the page read it that sent `request`.
    pub(crate) fn mark(&self, request: &HeaderMap, reply: &mut HeaderMap) {
        self.allow(request, reply);
        if reply.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
            reply.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        }
    }

    /// The headers of the answer to a preflight; nothing where the request is none, or one of a page that has no business
    /// here. It needs no credentials: browsers send none with it.
    pub(crate) fn preflight(&self, method: &Method, request: &HeaderMap) -> Option<HeaderMap> {
        let is_preflight = method == Method::OPTIONS && request.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !is_preflight {
            return None;
        }
        let mut reply = HeaderMap::new();
        self.allow(request, &mut reply);
        if !reply.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
            return None;
        }
        reply.append(
            VARY,
            HeaderValue::from_static("Access-Control-Request-Method, Access-Control-Request-Headers"),
        );
        reply.insert(ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
        reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(request));
        if let Some(seconds) = self.max_age_seconds {
            reply.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(seconds));
        }
        Some(reply)
    }

    /// A cache must not hand the answer for one page to another, also where there was none.
    fn allow(&self, request: &HeaderMap, reply: &mut HeaderMap) {
        reply.append(VARY, HeaderValue::from_static("Origin"));
        let mut origins = request.get_all(ORIGIN).into_iter();
        if let (Some(origin), None) = (origins.next(), origins.next())
            && self.origins.allow(origin.as_bytes())
        {
            reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        }
    }
}

/// Those of the protocol, and of those asked for the ones that repeat arguments.
fn allowed_headers(request: &HeaderMap) -> HeaderValue {
    let mut allowed = ALLOWED_HEADERS.to_owned();
    let asked = request.get_all(ACCESS_CONTROL_REQUEST_HEADERS).into_iter();
    let params = asked
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        // Reading a name as one puts it into small letters, and lets nothing through that could end a header.
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .filter(|name| name.as_str().len() > PARAM_PREFIX.len() && name.as_str().starts_with(PARAM_PREFIX))
        .take(limits::MAX_PARAM_HEADERS);
    for name in params {
        allowed.push_str(", ");
        allowed.push_str(name.as_str());
    }
    HeaderValue::try_from(allowed).unwrap_or(HeaderValue::from_static(ALLOWED_HEADERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "https://app.example.com";

    #[test]
    fn a_preflight_is_answered_for_all_that_clients_send() {
        let asked =
            "authorization,content-type,mcp-protocol-version,mcp-session-id,last-event-id,mcp-method,mcp-name,accept";
        let reply = cors().preflight(&Method::OPTIONS, &preflight(PAGE, asked)).unwrap();
        assert_eq!(reply[ACCESS_CONTROL_ALLOW_ORIGIN], PAGE);
        let methods: Vec<_> = listed(&reply, &ACCESS_CONTROL_ALLOW_METHODS);
        for method in ["get", "post", "delete"] {
            assert!(methods.iter().any(|listed| listed == method), "{method}");
        }
        let headers = listed(&reply, &ACCESS_CONTROL_ALLOW_HEADERS);
        for name in asked.split(',') {
            assert!(headers.iter().any(|listed| listed == name), "{name}");
        }
        let vary = listed(&reply, &VARY);
        assert_eq!(
            vary,
            [
                "origin",
                "access-control-request-method",
                "access-control-request-headers"
            ]
        );
        assert!(!reply.contains_key(ACCESS_CONTROL_MAX_AGE));
        assert!(!reply.contains_key("access-control-allow-credentials"));
    }

    #[test]
    fn headers_of_arguments_are_allowed_as_they_are_asked_for_and_no_others() {
        let asked = "Mcp-Param-Port, x-evil ,mcp-param-,mcp-param-a b,MCP-PARAM-Region";
        let reply = cors().preflight(&Method::OPTIONS, &preflight(PAGE, asked)).unwrap();
        let headers = reply[ACCESS_CONTROL_ALLOW_HEADERS].to_str().unwrap();
        assert_eq!(headers, format!("{ALLOWED_HEADERS}, mcp-param-port, mcp-param-region"));
        let many: Vec<_> = (0..10_000).map(|n| format!("mcp-param-{n}")).collect();
        let reply = cors()
            .preflight(&Method::OPTIONS, &preflight(PAGE, &many.join(",")))
            .unwrap();
        let headers = reply[ACCESS_CONTROL_ALLOW_HEADERS].to_str().unwrap();
        assert_eq!(headers.matches("mcp-param-").count(), limits::MAX_PARAM_HEADERS);
    }

    #[test]
    fn the_age_of_an_answer_is_the_option() {
        let cors = Cors::new(origins(), Some(600));
        let reply = cors.preflight(&Method::OPTIONS, &preflight(PAGE, "")).unwrap();
        assert_eq!(reply[ACCESS_CONTROL_MAX_AGE], "600");
    }

    #[test]
    fn other_pages_and_other_requests_get_no_preflight() {
        assert!(
            cors()
                .preflight(&Method::OPTIONS, &preflight("https://evil.example", ""))
                .is_none()
        );
        assert!(cors().preflight(&Method::OPTIONS, &preflight("null", "")).is_none());
        assert!(cors().preflight(&Method::POST, &preflight(PAGE, "")).is_none());
        assert!(
            cors()
                .preflight(&Method::OPTIONS, &request(&[("origin", PAGE)]))
                .is_none()
        );
        let nobody = request(&[("access-control-request-method", "POST")]);
        assert!(cors().preflight(&Method::OPTIONS, &nobody).is_none());
    }

    #[test]
    fn a_listed_page_may_read_any_reply() {
        let mut reply = HeaderMap::new();
        reply.insert(VARY, HeaderValue::from_static("Accept"));
        cors().mark(&request(&[("origin", PAGE)]), &mut reply);
        assert_eq!(reply[ACCESS_CONTROL_ALLOW_ORIGIN], PAGE);
        assert_eq!(
            listed(&reply, &ACCESS_CONTROL_EXPOSE_HEADERS),
            ["mcp-session-id", "www-authenticate"]
        );
        assert_eq!(listed(&reply, &VARY), ["accept", "origin"]);
    }

    #[test]
    fn no_other_page_may_read_one() {
        for sent in [
            &[][..],
            &[("origin", "https://evil.example")],
            &[("origin", "null")],
            &[("origin", PAGE), ("origin", PAGE)],
        ] {
            let mut reply = HeaderMap::new();
            cors().mark(&request(sent), &mut reply);
            assert_eq!(listed(&reply, &VARY), ["origin"]);
            assert_eq!(reply.len(), 1, "{sent:?}: {reply:?}");
        }
    }

    fn origins() -> InboundOrigins {
        InboundOrigins::new("cors.origins", &[PAGE]).unwrap()
    }

    fn cors() -> Cors {
        Cors::new(origins(), None)
    }

    fn preflight(origin: &str, asked: &str) -> HeaderMap {
        request(&[
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", asked),
        ])
    }

    fn request(headers: &[(&'static str, &str)]) -> HeaderMap {
        let mut request = HeaderMap::new();
        for (name, value) in headers {
            request.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        request
    }

    fn listed(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
        let values = headers.get_all(name).into_iter();
        values
            .flat_map(|value| value.to_str().unwrap().split(','))
            .map(|item| item.trim().to_ascii_lowercase())
            .collect()
    }
}
