//! The native core of `espalier`: Model Context Protocol for TypeScript agent frameworks.
//!
//! ```text
//!      src-js/                        thin: shapes, callbacks, signals, error classes
//!        |
//!   6  binding/                       napi, and napi only here
//!   5  client/         server/        what the package promises
//!   4  driver                         pumps one transport through one peer
//!   3  transport/      store/         tokio, sockets, processes, SQLite
//!   2  host                           traits: what the core asks of the program around it
//!   1  protocol/  catalog/  guard/    pure: no async, no clock, no I/O
//!   0  limits  error  diagnostic  json
//! ```
//!
//! A module may use its own children and any lower layer, never a higher one. `tests::layering` holds the imports
//! against this picture.

// Without the Node-API layer nothing calls the top of the core but its tests.
#![cfg_attr(
    not(feature = "node"),
    expect(dead_code, reason = "the callers live in `binding`, which is compiled out")
)]

#[cfg(feature = "node")]
mod binding;
mod catalog;
mod client;
mod diagnostic;
mod driver;
mod error;
mod guard;
mod host;
mod json;
mod limits;
mod protocol;
mod server;
mod store;
#[cfg(test)]
mod tests;
mod transport;
