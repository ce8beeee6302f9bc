//! What travels on an MCP connection: messages, revisions, the handshake, and the state of one side. Pure: no async, no
//! clock, no I/O.

#[expect(dead_code, reason = "for the server half")]
pub(crate) mod codes;
pub(crate) mod elicitation;
#[cfg_attr(not(test), expect(dead_code, reason = "for the server half"))]
pub(crate) mod envelope;
pub(crate) mod handshake;
pub(crate) mod message;
pub(crate) mod peer;
#[cfg_attr(not(test), expect(dead_code, reason = "for the server half"))]
pub(crate) mod request;
#[cfg_attr(not(test), expect(dead_code, reason = "for the server half"))]
pub(crate) mod request_state;
pub(crate) mod revision;
pub(crate) mod wire;
