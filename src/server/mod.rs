//! The server half: the tools, resources and prompts of a program on the wire, for any transport. `accept` is where a
//! message comes in; what a program has to say goes through the trait `Application`. Owns what a server knows of its
//! connections and what it was told of its program; holds no object of JavaScript, and knows no socket.

pub(crate) mod admission;
pub(crate) mod answer;
pub(crate) mod arguments;
pub(crate) mod call;
pub(crate) mod claims;
pub(crate) mod connection;
pub(crate) mod cursors;
pub(crate) mod dispatch;
pub(crate) mod exchange;
pub(crate) mod figures;
pub(crate) mod greeting;
pub(crate) mod http;
pub(crate) mod jobs;
pub(crate) mod jwt;
pub(crate) mod lease;
pub(crate) mod lifecycle;
pub(crate) mod list_kind;
pub(crate) mod listen;
pub(crate) mod listening;
pub(crate) mod lists;
pub(crate) mod mime;
pub(crate) mod options;
pub(crate) mod pages;
pub(crate) mod questions;
pub(crate) mod random;
pub(crate) mod read;
pub(crate) mod render;
pub(crate) mod results;
pub(crate) mod routes;
pub(crate) mod routing;
pub(crate) mod slots;
pub(crate) mod stats;
pub(crate) mod stdio;
pub(crate) mod tenants;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
