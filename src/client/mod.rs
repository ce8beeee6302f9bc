//! The client that the seed describes: a set of servers, connected side by side and projected into one map of tools.

mod connect;
mod connection;
pub(crate) mod options;
mod result;
pub(crate) mod toolset;
