//! What travels on an MCP connection: messages, revisions, the handshake, and the state of one side. Pure: no async, no
//! clock, no I/O.

pub(crate) mod codes;
pub(crate) mod elicitation;
pub(crate) mod envelope;
pub(crate) mod handshake;
pub(crate) mod id;
pub(crate) mod message;
pub(crate) mod peer;
pub(crate) mod request;
pub(crate) mod request_state;
pub(crate) mod revision;
pub(crate) mod uri_template;
pub(crate) mod wire;
