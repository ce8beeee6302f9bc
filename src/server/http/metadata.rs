//! What a protected server says to whoever has no right yet: where to get it (RFC 9728), and what was missing (RFC 6750,
//! section 3). Owns the option `auth`, as far as it is data; who may pass is decided by the program.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, Response, StatusCode};
use url::Url;

use super::forms::Forms;
use super::reply::{HttpReply, Reply, empty, not_allowed};
use crate::error::{Error, Result};
use crate::json::{self, Object};
use crate::protocol::message::Params;

/// What was wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// It has no token.
    Token,
    /// Its credential cannot be read.
    Malformed,
    /// Its token is not good.
    Valid,
    /// Its token does not go far enough.
    Scope,
}

/// That a server is protected.
pub(crate) struct Protection {
    /// Where the metadata is.
    paths: Vec<String>,
    metadata: Bytes,
    /// What every challenge says.
    hint: String,
}

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

const KNOWN: &[&str] = &["resource", "authorizationServers", "scopes", "metadata"];

/// Members of the metadata that `auth.metadata` may not say otherwise.
const OWN: &[&str] = &["resource", "authorization_servers", "bearer_methods_supported"];

impl Protection {
    /// Reads the option `auth`, JSON text.
    ///
    /// # Errors
    /// `invalid-option`, naming the option.
    pub(crate) fn parse(text: &str, forms: &Forms) -> Result<Self> {
        let wrong = |what: &str| Error::invalid_option(what);
        let auth = Object::parse(text).ok_or_else(|| wrong("auth must be an object"))?;
        if let Some((name, _)) = auth.members().find(|(name, _)| !KNOWN.contains(name)) {
            let name = json::quote_short(name);
            return Err(Error::invalid_option(format!("auth: there is no option {name}")));
        }
        let resource = auth.string("resource").unwrap_or_default();
        let place = web_url(&resource)
            .ok_or_else(|| wrong("auth.resource must be an absolute http or https URL without a fragment"))?;
        let servers = auth
            .array("authorizationServers")
            .and_then(|servers| {
                let servers = servers.into_iter().map(|server| json::string(server.get()));
                servers.collect::<Option<Vec<_>>>()
            })
            .filter(|servers| !servers.is_empty() && servers.iter().all(|server| web_url(server).is_some()))
            .ok_or_else(|| {
                wrong("auth.authorizationServers must be an array of at least one absolute http or https URL")
            })?;
        let scopes = match auth.present("scopes") {
            None => Vec::new(),
            Some(scopes) => json::array(scopes.get())
                .and_then(|scopes| {
                    let scopes = scopes.into_iter().map(|scope| json::string(scope.get()));
                    scopes.collect::<Option<Vec<_>>>()
                })
                .filter(|scopes| scopes.iter().all(|scope| is_scope(scope)))
                .ok_or_else(|| wrong("auth.scopes must be an array of scopes, which have no spaces and no quotes"))?,
        };
        let more = match auth.present("metadata") {
            None => Object::default(),
            Some(more) => Object::parse(more.get()).ok_or_else(|| wrong("auth.metadata must be an object"))?,
        };
        if let Some(name) = OWN.iter().find(|name| more.get(name).is_some()) {
            return Err(Error::invalid_option(format!("auth.metadata must not have {name}")));
        }
        let mut metadata = Params::new()
            .text("resource", &resource)
            .raw("authorization_servers", &list(&servers));
        if !scopes.is_empty() && more.get("scopes_supported").is_none() {
            metadata = metadata.raw("scopes_supported", &list(&scopes));
        }
        metadata = metadata.raw("bearer_methods_supported", r#"["header"]"#);
        for (name, value) in more.members() {
            metadata = metadata.entry(name, value.get());
        }
        let mut hint = format!("resource_metadata=\"{}\"", metadata_url(&place));
        if !scopes.is_empty() {
            hint = format!("{hint}, scope=\"{}\"", scopes.join(" "));
        }
        Ok(Self {
            paths: paths(&place, forms),
            metadata: metadata.object().into(),
            hint,
        })
    }

    pub(crate) fn is_at(&self, path: &str) -> bool {
        self.paths.iter().any(|known| known == path)
    }

    /// The metadata, for whoever asks.
    pub(crate) fn answer(&self, method: &Method) -> HttpReply {
        if method != Method::GET && method != Method::HEAD {
            return not_allowed("GET, HEAD");
        }
        let mut reply = Response::new(Reply::Text(Some(self.metadata.clone())));
        let json = HeaderValue::from_static("application/json");
        reply.headers_mut().insert(CONTENT_TYPE, json);
        reply
    }

    /// The refusal of a request, with what its sender can do about it.
    pub(crate) fn refuse(&self, lack: Lack) -> HttpReply {
        let (status, error) = match lack {
            Lack::Token => (StatusCode::UNAUTHORIZED, ""),
            Lack::Malformed => (StatusCode::BAD_REQUEST, "error=\"invalid_request\", "),
            Lack::Valid => (StatusCode::UNAUTHORIZED, "error=\"invalid_token\", "),
            Lack::Scope => (StatusCode::FORBIDDEN, "error=\"insufficient_scope\", "),
        };
        let mut reply = empty(status);
        if let Ok(challenge) = format!("Bearer {error}{}", self.hint).parse() {
            reply.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        reply
    }
}

/// `scope-token` of RFC 6749, section 3.3.
fn is_scope(text: &str) -> bool {
    let is_fit = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    !text.is_empty() && text.bytes().all(is_fit)
}

fn web_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_fit = matches!(url.scheme(), "http" | "https")
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none()
        // The parser forgives what nobody else would.
        && text.trim() == text
        && text.contains("://");
    is_fit.then_some(url)
}

fn list<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| json::quote(item.as_ref())).collect();
    format!("[{}]", items.join(","))
}

/// Where the metadata of a resource is (RFC 9728, section 3.1).
fn metadata_url(resource: &Url) -> String {
    let origin = resource.origin().ascii_serialization();
    let path = Some(resource.path()).filter(|path| *path != "/").unwrap_or_default();
    let query = resource.query().map_or(String::new(), |query| format!("?{query}"));
    format!("{origin}{WELL_KNOWN}{path}{query}")
}

/// At the root, and under the path of everything that is protected; under that of the resource, too, which is another one
/// where something in front of the server maps paths.
fn paths(resource: &Url, forms: &Forms) -> Vec<String> {
    let sse = forms.sse.as_ref();
    let routes = [
        forms.streamable.as_deref(),
        forms.websocket.as_deref(),
        sse.map(|paths| paths.stream.as_str()),
        sse.map(|paths| paths.messages.as_str()),
        Some(resource.path()),
    ];
    let under = routes.into_iter().flatten().map(|route| format!("{WELL_KNOWN}{route}"));
    [WELL_KNOWN.to_owned()].into_iter().chain(under).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::error::ErrorCode;

    fn forms() -> Forms {
        Forms {
            streamable: Some("/mcp".to_owned()),
            ..Forms::default()
        }
    }

    fn auth() -> Value {
        json!({ "resource": "https://mcp.example/api/mcp", "authorizationServers": ["https://id.example"], "scopes": ["a:read", "b"] })
    }

    fn protection(auth: &Value) -> Protection {
        Protection::parse(&auth.to_string(), &forms()).unwrap()
    }

    fn said_by(protection: &Protection) -> Value {
        serde_json::from_slice(&protection.metadata).unwrap()
    }

    fn challenge(protection: &Protection, lack: Lack) -> (u16, String) {
        let reply = protection.refuse(lack);
        let header = reply.headers().get(WWW_AUTHENTICATE).unwrap();
        (reply.status().as_u16(), header.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_metadata_says_where_to_get_a_token() {
        assert_eq!(
            said_by(&protection(&auth())),
            json!({
                "resource": "https://mcp.example/api/mcp", "authorization_servers": ["https://id.example"],
                "scopes_supported": ["a:read", "b"], "bearer_methods_supported": ["header"],
            })
        );
        let mut more = auth();
        more["metadata"] =
            json!({ "resource_name": "Tides \u{2028}", "scopes_supported": ["a:read", "b", "c"], "__proto__": 1 });
        let said = said_by(&protection(&more));
        assert_eq!(said["resource_name"], "Tides \u{2028}");
        assert_eq!(said["scopes_supported"], json!(["a:read", "b", "c"]));
        assert_eq!(said["__proto__"], 1);
        more.as_object_mut().unwrap().remove("scopes");
        more.as_object_mut().unwrap().remove("metadata");
        assert!(said_by(&protection(&more)).get("scopes_supported").is_none());
    }

    #[test]
    fn it_is_at_the_root_and_under_each_path() {
        let protection = protection(&auth());
        for path in ["", "/mcp", "/api/mcp"] {
            assert!(
                protection.is_at(&format!("/.well-known/oauth-protected-resource{path}")),
                "{path}"
            );
        }
        for path in ["/", "/mcp/", "/other", "mcp"] {
            assert!(
                !protection.is_at(&format!("/.well-known/oauth-protected-resource{path}")),
                "{path}"
            );
        }
        assert!(!protection.is_at("/mcp"));
        assert_eq!(protection.answer(&Method::GET).status(), 200);
        assert_eq!(protection.answer(&Method::POST).status(), 405);
    }

    #[test]
    fn a_challenge_names_the_metadata_the_scopes_and_what_was_wrong() {
        let protection = protection(&auth());
        let hint =
            r#"resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/api/mcp", scope="a:read b""#;
        for (lack, status, error) in [
            (Lack::Token, 401, ""),
            (Lack::Malformed, 400, "error=\"invalid_request\", "),
            (Lack::Valid, 401, "error=\"invalid_token\", "),
            (Lack::Scope, 403, "error=\"insufficient_scope\", "),
        ] {
            assert_eq!(challenge(&protection, lack), (status, format!("Bearer {error}{hint}")));
        }
    }

    #[test]
    fn the_place_of_the_metadata_follows_the_resource() {
        for (resource, place) in [
            (
                "https://mcp.example",
                "https://mcp.example/.well-known/oauth-protected-resource",
            ),
            (
                "https://mcp.example/",
                "https://mcp.example/.well-known/oauth-protected-resource",
            ),
            (
                "http://[::1]:3000/mcp",
                "http://[::1]:3000/.well-known/oauth-protected-resource/mcp",
            ),
            (
                "https://mcp.example:443/a/?t=1",
                "https://mcp.example/.well-known/oauth-protected-resource/a/?t=1",
            ),
            (
                "https://mcp.example/\"x",
                "https://mcp.example/.well-known/oauth-protected-resource/%22x",
            ),
        ] {
            let protection =
                protection(&json!({ "resource": resource, "authorizationServers": ["https://id.example"] }));
            let (_, challenge) = challenge(&protection, Lack::Token);
            assert_eq!(challenge, format!("Bearer resource_metadata=\"{place}\""));
        }
    }

    #[test]
    fn wrong_options_are_named() {
        for (name, value, option) in [
            ("resource", json!(null), "auth.resource"),
            ("resource", json!(7), "auth.resource"),
            ("resource", json!("/mcp"), "auth.resource"),
            ("resource", json!("mcp.example/mcp"), "auth.resource"),
            ("resource", json!("https://mcp.example/#x"), "auth.resource"),
            ("resource", json!("https://me:secret@mcp.example/"), "auth.resource"),
            ("resource", json!("urn:mcp"), "auth.resource"),
            ("resource", json!(" https://mcp.example/"), "auth.resource"),
            ("resource", json!("https:mcp.example"), "auth.resource"),
            ("authorizationServers", json!(null), "auth.authorizationServers"),
            ("authorizationServers", json!([]), "auth.authorizationServers"),
            (
                "authorizationServers",
                json!("https://id.example"),
                "auth.authorizationServers",
            ),
            (
                "authorizationServers",
                json!(["https://id.example", 1]),
                "auth.authorizationServers",
            ),
            (
                "authorizationServers",
                json!(["id.example"]),
                "auth.authorizationServers",
            ),
            ("scopes", json!("a b"), "auth.scopes"),
            ("scopes", json!(["a b"]), "auth.scopes"),
            ("scopes", json!([""]), "auth.scopes"),
            ("scopes", json!(["a\""]), "auth.scopes"),
            ("scopes", json!(["\u{e9}"]), "auth.scopes"),
            ("metadata", json!([]), "auth.metadata"),
            (
                "metadata",
                json!({ "resource": "https://evil.example" }),
                "auth.metadata must not have resource",
            ),
            ("scope", json!(["a"]), "auth: there is no option \"scope\""),
        ] {
            let mut options = auth();
            options[name] = value;
            let error = Protection::parse(&options.to_string(), &forms()).err().unwrap();
            assert_eq!(error.code(), ErrorCode::InvalidOption);
            assert!(error.message().starts_with(option), "{options}: {error}");
            assert!(!error.message().contains("secret"), "{error}");
        }
        assert!(
            Protection::parse("7", &forms())
                .err()
                .unwrap()
                .message()
                .starts_with("auth must")
        );
    }
}
