//! The option `allowedHosts`: which hosts a server's URLs may name. It is asked before a socket opens: about the
//! configured URL, every hop of a redirect, the endpoint of HTTP+SSE and the URLs of an authorization server.

use std::collections::HashSet;
use std::net::Ipv6Addr;

use url::{Host, Url};

use crate::error::{Error, ErrorCode, Result};
use crate::limits;

/// Hosts are compared as the URL parser writes them: punycode, lower case, one notation for each address. A trailing dot
/// and a port do not count (client specification, section 5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AllowedHosts {
    /// Without the option nothing is checked.
    #[default]
    Any,
    Only {
        hosts: HashSet<String>,
        /// How many entries can never match, as they are no hosts.
        unusable: usize,
    },
}

impl AllowedHosts {
    /// Reads a list. An empty one allows nothing. What is not a host matches nothing, and is mentioned where a host is
    /// refused: it may well be the reason.
    pub(crate) fn only<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hosts = HashSet::new();
        let mut unusable = 0;
        for entry in entries {
            match read_entry(entry) {
                Some(host) => {
                    hosts.insert(host);
                }
                None => unusable += 1,
            }
        }
        Self::Only { hosts, unusable }
    }

    pub(crate) fn allows(&self, url: &Url) -> bool {
        match self {
            Self::Any => true,
            Self::Only { hosts, .. } => url.host().is_some_and(|host| hosts.contains(&comparable(&host))),
        }
    }

    /// # Errors
    /// `host-blocked`, naming the host and the option.
    pub(crate) fn check(&self, url: &Url) -> Result<()> {
        if self.allows(url) {
            return Ok(());
        }
        Err(Error::new(ErrorCode::HostBlocked, self.refusal(url)))
    }

    /// Why a host that is not allowed was refused.
    pub(super) fn refusal(&self, url: &Url) -> String {
        let hint = match self {
            Self::Only { unusable: 1, .. } => "; one entry there is not a host name".to_owned(),
            Self::Only { unusable, .. } if *unusable > 1 => {
                format!("; {unusable} entries there are not host names")
            }
            Self::Only { .. } | Self::Any => String::new(),
        };
        format!("the host {} is not in allowedHosts{hint}", shown_host(url))
    }
}

/// A URL's host for a message. The peer may have chosen it, so it is cut to what a host name can be.
pub(super) fn shown_host(url: &Url) -> String {
    shorten(url.host_str().unwrap_or("(none)"), limits::QUOTED_HOST_CHARS)
}

pub(super) fn shorten(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// An entry as a URL would hold it after `//`: a name or an address, the port left aside. IPv6 also without brackets.
fn read_entry(entry: &str) -> Option<String> {
    let entry = entry.trim();
    if let Ok(address) = entry.parse::<Ipv6Addr>() {
        return Some(comparable(&Host::<&str>::Ipv6(address)));
    }
    let host = match entry.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => entry,
    };
    let host = comparable(&Host::parse(host).ok()?);
    (!host.is_empty()).then_some(host)
}

fn comparable(host: &Host<impl AsRef<str>>) -> String {
    match host {
        Host::Domain(name) => {
            let name = name.as_ref();
            name.strip_suffix('.').unwrap_or(name).to_owned()
        }
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn without_the_option_every_host_is_allowed() {
        AllowedHosts::default().check(&url("http://169.254.169.254/")).unwrap();
    }

    #[test]
    fn an_empty_list_allows_nothing() {
        assert!(!AllowedHosts::only([]).allows(&url("https://mcp.example/")));
    }

    #[test]
    fn entry_and_url_mean_the_same_host_in_any_notation() {
        for (entry, host) in [
            ("mcp.example", "mcp.example"),
            ("MCP.Example", "mcp.example"),
            ("mcp.example", "MCP.EXAMPLE:8443"),
            ("mcp.example:443", "mcp.example"),
            ("mcp.example:1", "mcp.example:2"),
            ("mcp.example:", "mcp.example"),
            ("mcp.example.", "mcp.example"),
            ("mcp.example", "mcp.example."),
            (" mcp.example ", "mcp.example"),
            ("localhost", "LocalHost:3000"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("xn--bcher-kva.example", "BÜCHER.example"),
            ("bu\u{308}cher.example", "bücher.example"),
            ("mcp。example", "mcp.example"),
            ("mcp.ex%61mple", "mcp.example"),
            ("my_host", "my_host"),
            ("127.0.0.1", "127.0.0.1:8080"),
            ("127.0.0.1:80", "127.1"),
            ("127.0.0.1", "0x7f000001"),
            ("2130706433", "127.0.0.1"),
            ("127.0.0.1", "127.0.0.1."),
            ("::1", "[::1]"),
            ("[::1]", "[0:0::1]:80"),
            ("[::1]:8080", "[::1]"),
            ("2001:DB8::A", "[2001:db8:0::a]"),
            ("::ffff:1.2.3.4", "[::ffff:102:304]"),
        ] {
            assert!(
                AllowedHosts::only(["other.example", entry]).allows(&url(&format!("https://{host}/mcp"))),
                "{entry} and {host}"
            );
        }
    }

    #[test]
    fn similar_names_are_other_hosts() {
        let allowed = AllowedHosts::only(["mcp.example", "127.0.0.1", "localhost", "::1"]);
        for host in [
            "mcp.example.evil.example",
            "evil-mcp.example",
            "sub.mcp.example",
            "mcp.example..",
            "example",
            "mcp.exаmple", // a Cyrillic letter
            "mcp.example@evil.example",
            "evil.example#@mcp.example",
            "127.0.0.1.nip.io",
            "127.0.0.2",
            "localhost.evil.example",
            "[::ffff:127.0.0.1]",
            "[::]",
            "0",
        ] {
            assert!(!allowed.allows(&url(&format!("https://{host}/"))), "{host}");
        }
        assert!(!allowed.allows(&url("data:text/plain,mcp.example")));
        assert!(!allowed.allows(&url("file:///mcp.example")));
    }

    #[test]
    fn what_is_not_a_host_matches_nothing_and_is_counted() {
        for entry in [
            "",
            " ",
            ".",
            ":80",
            "https://mcp.example",
            "mcp.example/mcp",
            "user@mcp.example",
            "mcp.example?x",
            "mcp example",
            "[::1",
            "[fe80::1%25eth0]",
            "1.2.3.4.5",
            "999.1.1.1",
        ] {
            for host in ["mcp.example", "[::1]", "1.2.3.4"] {
                let error = AllowedHosts::only([entry])
                    .check(&url(&format!("https://{host}/")))
                    .unwrap_err();
                assert!(
                    error.message().ends_with("; one entry there is not a host name"),
                    "{entry}: {error}"
                );
            }
        }
    }

    #[test]
    fn a_star_stands_for_itself() {
        for entry in ["*", "*.example"] {
            assert!(
                !AllowedHosts::only([entry]).allows(&url("https://mcp.example/")),
                "{entry}"
            );
        }
    }

    #[test]
    fn a_refusal_names_host_and_option_and_nothing_else_of_the_url() {
        let allowed = AllowedHosts::only(["other.example", "https://u:p@x/", "https://y/"]);
        let error = allowed
            .check(&url("https://user:hunter2@MCP.example:8443/path?key=hunter2#hunter2"))
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::HostBlocked);
        assert_eq!(
            error.message(),
            "the host mcp.example is not in allowedHosts; 2 entries there are not host names"
        );
    }

    #[test]
    fn a_host_without_end_is_cut_in_the_message() {
        let error = AllowedHosts::only([])
            .check(&url(&format!("https://{}/", "a.".repeat(5_000))))
            .unwrap_err();
        assert!(error.message().len() < 2 * limits::QUOTED_HOST_CHARS, "{error}");
    }

    proptest! {
        #[test]
        fn a_host_that_parses_allows_itself_and_with_any_port(host in "[a-zA-Z0-9äß.-]{1,20}|([0-9]{1,3}\\.){3}[0-9]{1,3}|\\[([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\\]", port: u16) {
            if let Ok(url) = Url::parse(&format!("https://{host}:{port}/")) {
                // A host of one dot is no host that anything could be reached at.
                if url.host_str() != Some(".") {
                    for entry in [&host, &format!("{host}:{port}"), url.host_str().unwrap()] {
                        prop_assert!(AllowedHosts::only([entry]).allows(&url), "{}", entry);
                    }
                }
            }
        }

        #[test]
        fn no_entry_breaks_the_reader(entry in "\\PC{0,40}|[\\[\\]:.%@/a-f0-9]{0,20}") {
            let allowed = AllowedHosts::only([entry.as_str()]);
            prop_assert!(!allowed.allows(&url("https://a-host-that-nobody-would-guess.example/")));
        }
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }
}
