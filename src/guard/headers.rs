//! The headers of an outbound request, in layers: what the user configured, the credential of the connection, the
//! credential of the call, and above them what the protocol needs. Owns which layer wins, which configured headers are
//! ours to set, and which headers may go to which origin. Values are secret: they are in no error and in no `Debug`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use url::{Origin, Url};

use super::hosts::shorten;
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, ErrorCode, Result};
use crate::limits;

/// One remote server as configured: its URL without userinfo, and the headers that go to its origin and nowhere else.
/// Without `Debug`, and not made of anything that has one.
pub(crate) struct Configured {
    url: Url,
    headers: HeaderMap,
    secrets: Vec<String>,
}

impl Configured {
    /// Takes the userinfo out of `url`, as Basic credentials below any configured `Authorization`, and reads the headers.
    /// Of names that differ in case alone the last one counts. Names that are ours to set are left out, and returned.
    ///
    /// # Errors
    /// `invalid-option`, naming `option` and the header but no value, for what HTTP cannot carry.
    pub(crate) fn new<'a>(
        option: &str,
        mut url: Url,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Self, Vec<HeaderName>)> {
        let mut headers = HeaderMap::new();
        let mut secrets = Vec::new();
        let mut ignored = Vec::new();
        if let Some(user) = Userinfo::take(&mut url) {
            headers.insert(AUTHORIZATION, user.basic().0);
            secrets.extend(user.secrets());
        }
        for (name, value) in pairs {
            let refuse = |what: &str| Error::invalid_option(format!("{option}: the header {} {what}", shown(name)));
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| refuse("has a name that is not an HTTP token (RFC 9110, section 5.6.2)"))?;
            if is_ours(&name) {
                ignored.push(name);
                continue;
            }
            let read = field_value(value).ok_or_else(|| {
                refuse(
                    "has a value that HTTP cannot carry: a line break, another control character, or one above U+00FF",
                )
            })?;
            secrets.extend(secrets_of(value));
            headers
                .try_insert(name, read)
                .map_err(|_| Error::invalid_option(format!("{option}: too many headers")))?;
        }
        Ok((Self { url, headers, secrets }, ignored))
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// What a text of ours must not repeat: the values, the credentials within them, and the userinfo.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(String::as_str)
    }
}

/// What an `Authorization` header says. It has no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credential(HeaderValue);

impl Credential {
    /// # Errors
    /// `unauthorized`, without the token, for one that is empty or that a header cannot carry (RFC 9110, section 5.5).
    pub(crate) fn bearer(token: &str) -> Result<Self> {
        let refuse = |what: &str| {
            Error::new(
                ErrorCode::Unauthorized,
                format!("auth gave a token that {what}, so nothing was sent"),
            )
        };
        let token = trim(token);
        if token.is_empty() {
            return Err(refuse("is empty"));
        }
        field_value(&format!("Bearer {token}"))
            .map(Self)
            .ok_or_else(|| refuse("contains a line break or another character that no header may have"))
    }
}

/// A header that a server made up and that goes back to its origin alone: a session id, or the id of an event.
pub(crate) struct Issued {
    pub(crate) issuer: Origin,
    pub(crate) name: HeaderName,
    pub(crate) value: HeaderValue,
}

/// The layers of one request, lowest first. The same layers give different headers for different hops.
pub(crate) struct Layers<'a> {
    pub(crate) configured: &'a Configured,
    /// From before the handshake.
    pub(crate) connection: Option<&'a Credential>,
    /// Asked for this very request.
    pub(crate) call: Option<&'a Credential>,
    pub(crate) issued: &'a [Issued],
    pub(crate) protocol: &'a HeaderMap,
}

impl Layers<'_> {
    /// The headers for one hop. Credentials and configured headers go to the configured origin only, and there only
    /// while the request has not been elsewhere (`withhold`).
    pub(crate) fn towards(&self, target: &Url, withhold: bool) -> HeaderMap {
        let origin = target.origin();
        let mut headers = HeaderMap::new();
        if !withhold && origin == self.configured.url.origin() {
            headers.clone_from(&self.configured.headers);
            if let Some(Credential(value)) = self.call.or(self.connection) {
                headers.insert(AUTHORIZATION, value.clone());
            }
        }
        for Issued { name, value, .. } in self.issued.iter().filter(|issued| issued.issuer == origin) {
            headers.insert(name.clone(), value.clone());
        }
        for name in self.protocol.keys() {
            headers.remove(name);
        }
        headers.extend(self.protocol.iter().map(|(name, value)| (name.clone(), value.clone())));
        for value in headers.values_mut() {
            value.set_sensitive(true);
        }
        headers
    }
}

/// The diagnostic about a configured header that is left out.
pub(crate) fn ignored(server: &str, name: &HeaderName) -> Diagnostic {
    Diagnostic::new(
        Rule::HeaderIgnored,
        server,
        format!("the configured header {name} is ignored: requests of this protocol set it themselves"),
    )
}

/// Whether a header is the protocol's or the connection's (client specification, section 5). Beyond the list there:
/// whatever else speaks about the connection (RFC 9110, section 7.6.1), and the position in an event stream.
fn is_ours(name: &HeaderName) -> bool {
    name.as_str().starts_with("mcp-")
        || matches!(
            name.as_str(),
            "accept"
                | "connection"
                | "content-length"
                | "content-type"
                | "expect"
                | "host"
                | "keep-alive"
                | "last-event-id"
                | "proxy-connection"
                | "te"
                | "trailer"
                | "transfer-encoding"
                | "upgrade"
        )
}

/// A value as JavaScript means it: each character is one byte. Spaces around it are no part of it (RFC 9110, section 5.5),
/// and unlike `fetch` nothing else is forgiven.
fn field_value(text: &str) -> Option<HeaderValue> {
    let bytes: Vec<u8> = trim(text)
        .chars()
        .map(|c| u8::try_from(u32::from(c)).ok())
        .collect::<Option<_>>()?;
    let mut value = HeaderValue::from_bytes(&bytes).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// A name for a message. Of one that is no token only the beginning is shown: `Authorization: Bearer x` is a name, too,
/// for who mistook the two.
fn shown(name: &str) -> String {
    let token = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c));
    let valid = name.strip_suffix(token).unwrap_or_default();
    let ellipsis = if valid == name { "" } else { "…" };
    format!("\"{}{ellipsis}\"", shorten(valid, limits::QUOTED_HEADER_CHARS))
}

/// A value, and without its scheme if it has the form of a credential.
fn secrets_of(value: &str) -> impl Iterator<Item = String> {
    let value = trim(value);
    let credential = value.split_once(' ').map(|(_, credential)| trim(credential).to_owned());
    [Some(value.to_owned()), credential].into_iter().flatten()
}

/// What stands before the `@` of a URL.
struct Userinfo {
    /// As written.
    raw: [String; 2],
    /// As meant.
    decoded: [Vec<u8>; 2],
}

impl Userinfo {
    fn take(url: &mut Url) -> Option<Self> {
        let raw = [url.username(), url.password().unwrap_or_default()].map(str::to_owned);
        // Fails for a URL without a host, which has no userinfo.
        let cut = url.set_username("").and_then(|()| url.set_password(None));
        if cut.is_err() || raw.iter().all(String::is_empty) {
            return None;
        }
        let decoded = raw.each_ref().map(|part| percent_decode(part.as_bytes()));
        Some(Self { raw, decoded })
    }

    /// User and password as `curl` sends them: decoded, joined by a colon (RFC 7617, section 2).
    fn basic(&self) -> Credential {
        let text = format!("Basic {}", self.token());
        Credential(field_value(&text).expect("base64 is ASCII"))
    }

    fn token(&self) -> String {
        STANDARD.encode(self.decoded.join(&b':'))
    }

    fn secrets(self) -> impl Iterator<Item = String> {
        let token = self.token();
        let decoded = self.decoded.into_iter().filter_map(|part| String::from_utf8(part).ok());
        self.raw.into_iter().chain(decoded).chain([token])
    }
}

/// Percent-decoding of the WHATWG URL standard: what is no valid escape stands for itself.
fn percent_decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'%', [high, low, after @ ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| (high << 4 | low, after)),
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, tail));
        out.push(byte);
        rest = after;
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const URL: &str = "https://mcp.example/mcp";

    #[test]
    fn each_layer_beats_the_one_below() {
        let user = "https://me:pass@mcp.example/mcp";
        let [connection, call] = ["connection", "call"].map(|token| Credential::bearer(token).unwrap());
        let header = ("aUTHORIZATION", "Custom configured");
        let protocol = map(&[("authorization", "Custom protocol")]);
        let none = HeaderMap::new();
        for (url, pair, connection, call, protocol, expected) in [
            (URL, None, None, None, &none, None),
            (user, None, None, None, &none, Some("Basic bWU6cGFzcw==")),
            (user, Some(header), None, None, &none, Some("Custom configured")),
            (
                user,
                Some(header),
                Some(&connection),
                None,
                &none,
                Some("Bearer connection"),
            ),
            (
                user,
                Some(header),
                Some(&connection),
                Some(&call),
                &none,
                Some("Bearer call"),
            ),
            (user, Some(header), None, Some(&call), &none, Some("Bearer call")),
            (
                user,
                Some(header),
                Some(&connection),
                Some(&call),
                &protocol,
                Some("Custom protocol"),
            ),
        ] {
            let (configured, _) = Configured::new("servers[0].headers", parse(url), pair).unwrap();
            let layers = Layers {
                configured: &configured,
                connection,
                call,
                issued: &[],
                protocol,
            };
            let headers = layers.towards(configured.url(), false);
            let found: Vec<_> = headers.get_all(AUTHORIZATION).iter().collect();
            assert_eq!(found, Vec::from_iter(expected));
        }
    }

    #[test]
    fn names_are_compared_without_case_and_the_last_one_counts() {
        let configured = read(URL, &[("X-Tenant", "one"), ("x-tenant", "two"), ("X-TENANT", "three")]);
        let headers = send(&configured, URL, false);
        assert_eq!(headers.get_all("x-tenant").iter().collect::<Vec<_>>(), ["three"]);
    }

    #[test]
    fn headers_that_are_ours_to_set_are_left_out_and_told() {
        let ours = [
            "Host",
            "CONTENT-LENGTH",
            "connection",
            "Transfer-Encoding",
            "Accept",
            "Content-Type",
            "Mcp-Session-Id",
            "MCP-Protocol-Version",
            "mcp-Param-x",
            "Last-Event-ID",
            "Upgrade",
            "TE",
        ];
        let pairs = ours.iter().map(|name| (*name, "evil\r\nvalue")).chain([
            ("X-Mcp-Tenant", "kept"),
            ("Accept-Language", "kept"),
            ("User-Agent", "kept"),
            ("Cookie", "kept"),
            ("Origin", "kept"),
        ]);
        let (configured, left_out) = Configured::new("headers", parse(URL), pairs).unwrap();
        assert_eq!(left_out, ours.map(|name| name.parse::<HeaderName>().unwrap()));
        assert_eq!(send(&configured, URL, false).len(), 5);
        let diagnostic = ignored("shop", &left_out[0]);
        assert_eq!(
            (diagnostic.rule.name(), diagnostic.rule.section()),
            ("header-ignored", "7.2.1")
        );
        assert_eq!(diagnostic.origin, "shop");
        assert!(diagnostic.message.contains("host"));
    }

    #[test]
    fn what_a_header_cannot_carry_is_a_wrong_option_that_shows_no_value() {
        for (name, value, shown) in [
            ("X-Key", "hunter2\r\nX-Evil: 1", "\"X-Key\""),
            ("X-Key", "hunter2\n", "\"X-Key\""),
            ("X-Key", "hunter2\r", "\"X-Key\""),
            ("X-Key", "hunter2\0", "\"X-Key\""),
            ("X-Key", "hunter2\u{7f}", "\"X-Key\""),
            ("X-Key", "hunter2 \u{1f600}", "\"X-Key\""),
            ("X-Key: hunter2", "", "\"X-Key…\""),
            ("X-Key\r\nhunter2", "hunter2", "\"X-Key…\""),
            ("Bücher-hunter2", "hunter2", "\"B…\""),
            (" X-hunter2", "hunter2", "\"…\""),
            ("", "hunter2", "\"\""),
        ] {
            let error = Configured::new("servers[3].headers", parse(URL), [(name, value)])
                .err()
                .unwrap();
            assert_eq!(error.code(), ErrorCode::InvalidOption, "{name:?}");
            let text = format!("{error} {error:?}");
            assert!(text.contains("servers[3].headers") && text.contains(shown), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
        let long = "x".repeat(70_000);
        let error = Configured::new("headers", parse(URL), [(long.as_str(), "")])
            .err()
            .unwrap();
        assert!(error.message().len() < 1_000);
    }

    #[test]
    fn values_are_bytes_as_javascript_means_them() {
        let configured = read(URL, &[("X-Name", " \tJürgen\t1 "), ("X-Empty", "")]);
        let headers = send(&configured, URL, false);
        assert_eq!(headers["x-name"].as_bytes(), b"J\xfcrgen\t1");
        assert_eq!(headers["x-empty"].as_bytes(), b"");
    }

    #[test]
    fn a_token_that_breaks_a_header_is_refused_and_not_shown() {
        for token in [
            "hunter2\r\nX-Evil: 1",
            "hunter2\n",
            "hunter2\0",
            "hunter2\u{2028}",
            "",
            " ",
        ] {
            let error = Credential::bearer(token).err().unwrap();
            assert_eq!(error.code(), ErrorCode::Unauthorized);
            assert!(error.message().contains("token"));
            assert!(!error.message().contains("hunter2"), "{error}");
        }
        assert!(Credential::bearer(" abc.DEF-_~+/= ").unwrap().0 == "Bearer abc.DEF-_~+/=");
    }

    #[test]
    fn userinfo_becomes_basic_credentials_and_leaves_the_url() {
        for (userinfo, expected) in [
            ("me:pass", "me:pass"),
            ("me", "me:"),
            (":pass", ":pass"),
            ("a%20b:c%3Ad%40%2F", "a b:c:d@/"),
            ("me:a%zzb%4", "me:a%zzb%4"),
            ("j%C3%BCrgen:ü", "jürgen:ü"),
            ("me:a:b@c", "me:a:b@c"),
            ("me:%0d%0aX-Evil:1", "me:\r\nX-Evil:1"),
        ] {
            let configured = read(&format!("https://{userinfo}@mcp.example:8443/mcp?key=1"), &[]);
            assert_eq!(
                configured.url().as_str(),
                "https://mcp.example:8443/mcp?key=1",
                "{userinfo}"
            );
            let headers = send(&configured, "https://mcp.example:8443/", false);
            assert_eq!(
                headers[AUTHORIZATION],
                format!("Basic {}", STANDARD.encode(expected)),
                "{userinfo}"
            );
        }
        for without in [
            "https://mcp.example/",
            "https://@mcp.example/",
            "https://:@mcp.example/",
        ] {
            let configured = read(without, &[]);
            assert_eq!(configured.url().as_str(), "https://mcp.example/");
            assert!(send(&configured, "https://mcp.example/", false).is_empty(), "{without}");
        }
    }

    #[test]
    fn only_the_configured_origin_gets_what_is_configured() {
        let configured = read("https://me:pass@mcp.example/mcp", &[("X-Key", "hunter2")]);
        let credential = Credential::bearer("hunter2").unwrap();
        let protocol = map(&[("accept", "application/json"), ("mcp-protocol-version", "2025-11-25")]);
        let layers = Layers {
            configured: &configured,
            connection: Some(&credential),
            call: Some(&credential),
            issued: &[],
            protocol: &protocol,
        };
        for (target, withhold, sent) in [
            ("https://mcp.example/elsewhere", false, true),
            ("https://MCP.example:443/", false, true),
            ("https://mcp.example/mcp", true, false),
            ("https://mcp.example:8443/mcp", false, false),
            ("http://mcp.example/mcp", false, false),
            ("https://sub.mcp.example/mcp", false, false),
            ("https://mcp.example.evil.example/mcp", false, false),
            ("https://mcp.example./mcp", false, false),
        ] {
            let headers = layers.towards(&parse(target), withhold);
            if sent {
                assert_eq!(headers.len(), 4, "{target}");
            } else {
                assert_eq!(headers, protocol, "{target}");
            }
        }
    }

    #[test]
    fn a_session_id_goes_to_its_issuer_alone() {
        let configured = read(URL, &[]);
        let issued = [Issued {
            issuer: parse("https://other.example/").origin(),
            name: HeaderName::from_static("mcp-session-id"),
            value: HeaderValue::from_static("s1"),
        }];
        let layers = Layers {
            configured: &configured,
            connection: None,
            call: None,
            issued: &issued,
            protocol: &HeaderMap::new(),
        };
        assert!(layers.towards(&parse(URL), false).is_empty());
        assert!(layers.towards(&parse("https://third.example/"), true).is_empty());
        assert_eq!(
            layers.towards(&parse("https://other.example/x"), true)["mcp-session-id"],
            "s1"
        );
    }

    #[test]
    fn no_value_is_seen_in_debug_output() {
        let configured = read("https://me:hunter2@mcp.example/", &[("X-Key", "hunter2")]);
        let credential = Credential::bearer("hunter2").unwrap();
        let layers = Layers {
            configured: &configured,
            connection: Some(&credential),
            call: None,
            issued: &[],
            protocol: &map(&[("mcp-session-id", "hunter2")]),
        };
        let headers = layers.towards(configured.url(), false);
        assert_eq!(headers.len(), 3);
        assert!(!format!("{headers:?}").contains("hunter2"));
    }

    #[test]
    fn secrets_are_the_values_in_each_form() {
        let configured = read(
            "https://me%40x:p%20w@mcp.example/",
            &[("Authorization", "Token abc"), ("Host", "not-sent"), ("X-Key", " k ")],
        );
        let secrets: Vec<_> = configured.secrets().collect();
        let token = STANDARD.encode("me@x:p w");
        assert_eq!(
            secrets,
            ["me%40x", "p%20w", "me@x", "p w", &token, "Token abc", "abc", "k"]
        );
    }

    proptest! {
        #[test]
        fn no_configuration_smuggles_a_line(name in "\\PC{0,12}|[a-z\\r\\n:-]{0,12}", value in "(\\PC|[\\x00-\\x20]){0,20}") {
            if let Ok((configured, _)) = Configured::new("headers", parse(URL), [(name.as_str(), value.as_str())]) {
                for (name, value) in &configured.headers {
                    prop_assert!(!name.as_str().contains(['\r', '\n', '\0', ':', ' ']));
                    prop_assert!(!value.as_bytes().iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
                }
            }
        }

        #[test]
        fn any_userinfo_survives_its_encoding(user in "\\PC{1,12}", password in "\\PC{0,12}") {
            let mut url = parse(URL);
            url.set_username(&user).unwrap();
            url.set_password(Some(&password)).unwrap();
            // The URL standard lets a percent sign pass, so that one that is meant must be escaped by who writes it.
            prop_assume!(!user.contains('%') && !password.contains('%'));
            let configured = read(url.as_str(), &[]);
            prop_assert_eq!(configured.url().as_str(), URL);
            let expected = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
            prop_assert_eq!(&send(&configured, URL, false)[AUTHORIZATION], expected.as_str());
        }
    }

    fn parse(url: &str) -> Url {
        Url::parse(url).unwrap()
    }

    fn read(url: &str, pairs: &[(&str, &str)]) -> Configured {
        Configured::new("headers", parse(url), pairs.iter().copied()).unwrap().0
    }

    fn send(configured: &Configured, target: &str, withhold: bool) -> HeaderMap {
        let layers = Layers {
            configured,
            connection: None,
            call: None,
            issued: &[],
            protocol: &HeaderMap::new(),
        };
        layers.towards(&parse(target), withhold)
    }

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }
}
