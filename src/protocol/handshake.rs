//! The session era's handshake. A client offers a revision and its capabilities with `initialize`, and settles for what
//! the server answers, if it can. Nothing here sends; a server's `instructions` are not even read.

use serde_json::value::RawValue;

use super::message::Params;
use super::revision::{Era, Revision};
use crate::error::{Error, ErrorCode, Result};
use crate::json::{self, Object};

/// What both sides agreed on.
#[derive(Debug)]
pub(crate) struct Established {
    pub(crate) revision: Revision,
    /// The server's own account of itself, as JSON text: for display, never for decisions.
    pub(crate) server_info: Option<Box<RawValue>>,
    capabilities: Option<Box<RawValue>>,
}

/// How a client introduces itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Introduction<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    /// JSON text of an object: a capability is declared only with a handler behind it.
    pub(crate) capabilities: &'a str,
    /// Whether log messages are wanted, where that is said with each request.
    pub(crate) wants_logs: bool,
}

impl Established {
    /// Whether the server announces this capability.
    pub(crate) fn announces(&self, capability: &str) -> bool {
        self.capability(capability).is_some()
    }

    /// Whether it announces this member of a capability.
    pub(crate) fn announces_member(&self, capability: &str, member: &str) -> bool {
        let settings = self.capability(capability).and_then(|raw| Object::parse(raw.get()));
        settings.is_some_and(|settings| settings.get(member).is_some_and(|flag| flag.get() == "true"))
    }

    fn capability(&self, capability: &str) -> Option<&RawValue> {
        Object::parse(self.capabilities.as_ref()?.get())?.present(capability)
    }
}

impl Introduction<'_> {
    /// The `params` of `initialize`.
    pub(crate) fn initialize_params(&self, offer: Revision) -> Params {
        Params::new()
            .text("protocolVersion", offer.name())
            .raw("capabilities", self.capabilities)
            .raw("clientInfo", &self.client_info())
    }

    /// What every request of the stateless era says of itself: the members of its `_meta`.
    pub(crate) fn envelope(&self, revision: Revision) -> String {
        let log_level = if self.wants_logs {
            ",\"io.modelcontextprotocol/logLevel\":\"debug\""
        } else {
            ""
        };
        format!(
            "\"io.modelcontextprotocol/protocolVersion\":\"{}\",\"io.modelcontextprotocol/clientCapabilities\":{},\
             \"io.modelcontextprotocol/clientInfo\":{}{log_level}",
            revision.name(),
            self.capabilities,
            self.client_info()
        )
    }

    fn client_info(&self) -> String {
        let Self { name, version, .. } = self;
        format!(
            "{{\"name\":{},\"version\":{}}}",
            json::quote(name),
            json::quote(version)
        )
    }
}

/// Reads the result of `server/discover`, after which the server is spoken to in this revision.
pub(crate) fn read_discover_result(result: &RawValue, revision: Revision) -> Established {
    let object = Object::parse(result.get()).unwrap_or_default();
    let meta = object.object("_meta").unwrap_or_default();
    Established {
        revision,
        server_info: meta
            .get("io.modelcontextprotocol/serverInfo")
            .filter(|info| Object::parse(info.get()).is_some())
            .map(ToOwned::to_owned),
        capabilities: object.get("capabilities").map(ToOwned::to_owned),
    }
}

/// Reads the answer to `initialize`.
///
/// # Errors
/// `invalid-response` when it is no such answer, or names a revision that has no session or that nobody knows: then the
/// client has to disconnect.
pub(crate) fn read_initialize_result(result: &RawValue) -> Result<Established> {
    let object = Object::parse(result.get()).ok_or_else(|| {
        Error::new(
            ErrorCode::InvalidResponse,
            "the answer to `initialize` is not an object",
        )
    })?;
    let version = object.string("protocolVersion").ok_or_else(|| {
        Error::new(
            ErrorCode::InvalidResponse,
            "the answer to `initialize` names no protocol version",
        )
    })?;
    let revision = Revision::parse(&version)
        .filter(|revision| revision.era() == Era::Session)
        .ok_or_else(|| {
            let supported: Vec<_> = Revision::ALL
                .into_iter()
                .filter(|r| r.era() == Era::Session)
                .map(Revision::name)
                .collect();
            let shown: String = version.chars().take(LONGEST_SHOWN_VERSION).collect();
            Error::new(
                ErrorCode::InvalidResponse,
                format!(
                    "it answered `initialize` with protocol version {}, which cannot be used; this client speaks {}",
                    json::quote(&shown),
                    supported.join(", ")
                ),
            )
        })?;
    Ok(Established {
        revision,
        server_info: object
            .get("serverInfo")
            .filter(|info| Object::parse(info.get()).is_some())
            .map(ToOwned::to_owned),
        capabilities: object.get("capabilities").map(ToOwned::to_owned),
    })
}

/// A version is a date; a server that sends more is not quoted in full.
const LONGEST_SHOWN_VERSION: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Established> {
        read_initialize_result(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn every_session_revision_is_accepted() {
        for revision in Revision::ALL.into_iter().filter(|r| r.era() == Era::Session) {
            let text = format!(
                r#"{{"protocolVersion":"{}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s"}},"instructions":"x"}}"#,
                revision.name()
            );
            let established = read(&text).unwrap();
            assert_eq!(established.revision, revision);
            assert!(established.announces("tools") && !established.announces("prompts"));
            assert_eq!(established.server_info.unwrap().get(), r#"{"name":"s"}"#);
        }
    }

    #[test]
    fn an_unusable_version_is_named_beside_the_usable_ones() {
        for version in ["1999-01-01", "2026-07-28", ""] {
            let error = read(&format!(r#"{{"protocolVersion":"{version}","capabilities":{{}}}}"#)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidResponse);
            assert!(
                error.message().contains(version) && error.message().contains("2025-11-25, 2025-06-18"),
                "{error}"
            );
        }
        for text in ["[]", "{}", r#"{"protocolVersion":3}"#] {
            assert_eq!(read(text).unwrap_err().code(), ErrorCode::InvalidResponse, "{text}");
        }
    }

    #[test]
    fn the_offer_is_the_newest_revision_with_a_handshake() {
        let introduction = Introduction {
            name: "espalier",
            version: "1",
            capabilities: r#"{"roots":{}}"#,
            wants_logs: true,
        };
        let params = introduction.initialize_params(Revision::NEWEST_SESSION).object();
        assert_eq!(
            params,
            r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"espalier","version":"1"}}"#
        );
        let envelope = introduction.envelope(Revision::NEWEST);
        assert!(
            envelope.contains(r#"clientCapabilities":{"roots":{}},"#) && envelope.ends_with(r#"/logLevel":"debug""#),
            "{envelope}"
        );
    }

    #[test]
    fn a_capability_is_announced_by_being_there_and_its_members_by_being_true() {
        let established =
            read(r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":false},"prompts":null}}"#)
                .unwrap();
        assert!(established.announces("tools") && established.announces_member("tools", "listChanged"));
        assert!(established.announces("resources") && !established.announces_member("resources", "subscribe"));
        assert!(!established.announces("prompts") && !established.announces_member("prompts", "listChanged"));
    }
}
