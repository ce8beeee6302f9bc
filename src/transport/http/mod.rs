//! Remote servers: what carries an exchange over HTTP.

pub(crate) mod client;
