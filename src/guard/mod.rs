//! What keeps untrusted servers and callers and secrets apart, as pure decisions: no async, no clock, no I/O.

pub(crate) mod address;
pub(crate) mod args;
pub(crate) mod bind;
pub(crate) mod cors;
pub(crate) mod governor;
pub(crate) mod headers;
pub(crate) mod hosts;
pub(crate) mod jwt;
pub(crate) mod origin;
pub(crate) mod redact;
pub(crate) mod redirect;
pub(crate) mod server_limits;
pub(crate) mod tenancy;
pub(crate) mod tenant_limits;
pub(crate) mod turns;
