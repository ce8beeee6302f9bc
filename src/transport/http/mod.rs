//! Remote servers: what carries an exchange over HTTP.

pub(crate) mod client;
pub(crate) mod endpoint;
pub(crate) mod sse;
pub(crate) mod streamable;
