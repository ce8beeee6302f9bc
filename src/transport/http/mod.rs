//! Remote servers: what carries an exchange over HTTP.

pub(crate) mod client;
pub(crate) mod discover;
pub(crate) mod endpoint;
mod events;
mod exchanges;
mod frame;
pub(crate) mod sse;
pub(crate) mod streamable;
