//! What a client learns first: the revision that is spoken, and what the server offers.

use serde_json::value::RawValue;

use super::connection::Connection;
use super::lifecycle::Server;
use crate::json::{self, Object};
use crate::protocol::codes::{self, WireError};
use crate::protocol::envelope;
use crate::protocol::message::Params;
use crate::protocol::revision::{Era, Revision};

impl Server {
    /// The handshake of the session era.
    pub(super) fn initialize(&self, connection: &Connection, params: Option<&RawValue>) -> Result<String, WireError> {
        let params = params
            .and_then(|params| Object::parse(params.get()))
            .unwrap_or_default();
        let offered = params
            .string("protocolVersion")
            .ok_or_else(|| WireError::invalid_params("`protocolVersion` must be a string"))?;
        let options = self.options();
        let revision = Revision::parse(&offered)
            .filter(|revision| revision.era() == Era::Session && options.speaks(*revision))
            .or_else(|| options.newest(Era::Session))
            .ok_or_else(|| envelope::unsupported(&options.revisions, &offered))?;
        let capabilities = params
            .get("capabilities")
            .map(RawValue::get)
            .filter(|text| Object::parse(text).is_some())
            .unwrap_or("{}");
        if !connection.open_session(revision, capabilities) {
            return Err(WireError::new(codes::INVALID_REQUEST, "already initialized"));
        }
        let mut result = Params::new()
            .text("protocolVersion", revision.name())
            .raw("capabilities", &self.capabilities(revision))
            .raw("serverInfo", &options.server_info(revision));
        if let Some(instructions) = &options.instructions {
            result = result.raw("instructions", instructions);
        }
        Ok(result.object())
    }

    pub(super) fn discover(&self, revision: Revision) -> String {
        let options = self.options();
        let supported: Vec<_> = options
            .of(Era::Stateless)
            .map(|revision| json::quote(revision.name()))
            .collect();
        let mut result = Params::new()
            .raw("supportedVersions", &format!("[{}]", supported.join(",")))
            .raw("capabilities", &self.capabilities(revision));
        if let Some(instructions) = &options.instructions {
            result = result.raw("instructions", instructions);
        }
        self.result(revision, result.members(&options.cache_hints), None)
    }

    /// What is offered, as JSON text: what nothing is registered for is not declared, but for tools, which there may be
    /// at any time.
    fn capabilities(&self, revision: Revision) -> String {
        let offer = self.offer();
        let mut capabilities = Params::new().raw("tools", "{\"listChanged\":true}");
        if offer.has_resources {
            capabilities = capabilities.raw("resources", "{\"subscribe\":true,\"listChanged\":true}");
        }
        if offer.has_prompts {
            capabilities = capabilities.raw("prompts", "{\"listChanged\":true}");
        }
        if offer.has_completions && revision > Revision::V2024_11_05 {
            capabilities = capabilities.raw("completions", "{}");
        }
        capabilities.raw("logging", "{}").object()
    }
}
