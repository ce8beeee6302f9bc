//! What a caller is told beside results and errors: one record per event, from a closed list of rules. It is data for
//! `onDiagnostic`, not a log, and nothing in it is secret.

/// The closed list of rules (client specification, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// A server could not be connected, or its listing failed.
    ConnectionFailure,
    /// A transport that this entry point or this version does not have.
    UnsupportedTransport,
    /// Two configurations share a name.
    ServerNameCollision,
    /// A tool was skipped.
    ServerEntryInvalid,
    /// A listing was cut off, or given up, at a limit.
    ListingLimited,
    /// The names and descriptions of a server's tools are over the disclosure budget by themselves.
    DisclosureBudgetExceeded,
    /// Tools are no longer what was trusted.
    ToolDrift,
    /// A server broke the protocol, and the call survived it.
    ProtocolViolation,
    /// A configured header that is ours to set, or a tool that asks for an impossible one.
    HeaderIgnored,
    /// A redirect left the configured origin, and credentials and configured headers stayed behind.
    CrossOriginHeadersWithheld,
    /// The program or the working directory of a plugin's server lies outside the plugin.
    PathEscapesPluginRoot,
}

impl Rule {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ConnectionFailure => "connection-failure",
            Self::UnsupportedTransport => "unsupported-transport",
            Self::ServerNameCollision => "server-name-collision",
            Self::ServerEntryInvalid => "server-entry-invalid",
            Self::ListingLimited => "listing-limited",
            Self::DisclosureBudgetExceeded => "disclosure-budget-exceeded",
            Self::ToolDrift => "tool-drift",
            Self::ProtocolViolation => "protocol-violation",
            Self::HeaderIgnored => "header-ignored",
            Self::CrossOriginHeadersWithheld => "cross-origin-headers-withheld",
            Self::PathEscapesPluginRoot => "path-escapes-plugin-root",
        }
    }

    /// Whether it is told at most once per configured server, or per name: then there is room for it in any case.
    pub(crate) const fn is_told_once(self) -> bool {
        matches!(
            self,
            Self::ConnectionFailure
                | Self::UnsupportedTransport
                | Self::ServerNameCollision
                | Self::ListingLimited
                | Self::PathEscapesPluginRoot
        )
    }

    /// The section of the Agent Plugins text that the rule is filed under (client specification, section 3).
    pub(crate) const fn section(self) -> &'static str {
        match self {
            Self::ConnectionFailure
            | Self::UnsupportedTransport
            | Self::ServerNameCollision
            | Self::ServerEntryInvalid
            | Self::ListingLimited
            | Self::DisclosureBudgetExceeded
            | Self::ToolDrift
            | Self::ProtocolViolation => "7.2.2",
            Self::HeaderIgnored | Self::CrossOriginHeadersWithheld => "7.2.1",
            Self::PathEscapesPluginRoot => "4.1",
        }
    }
}

/// One event. `origin` is the configured server name for what happens while connecting, the projected name for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    pub(crate) rule: Rule,
    pub(crate) origin: String,
    pub(crate) message: String,
}

impl Diagnostic {
    pub(crate) fn new(rule: Rule, origin: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            rule,
            origin: origin.into(),
            message: message.into(),
        }
    }
}
