//! What keeps untrusted servers and callers and secrets apart, as pure decisions: no async, no clock, no I/O.

pub(crate) mod address;
pub(crate) mod args;
#[cfg_attr(not(test), expect(dead_code, reason = "for the network"))]
pub(crate) mod bind;
#[cfg_attr(not(test), expect(dead_code, reason = "for the network"))]
pub(crate) mod cors;
pub(crate) mod headers;
pub(crate) mod hosts;
#[cfg_attr(not(test), expect(dead_code, reason = "for the network"))]
pub(crate) mod origin;
pub(crate) mod redact;
pub(crate) mod redirect;
pub(crate) mod server_limits;
