//! The client that the seed describes: a set of servers, connected side by side and projected into one map of tools.

mod cache;
pub(crate) mod call;
mod catalogue;
mod connect;
mod connection;
mod discover;
mod ended;
mod era;
mod failure;
pub(crate) mod features;
mod handlers;
mod held;
mod inbound;
mod listen;
mod listing;
mod notices;
pub(crate) mod options;
mod relist;
mod result;
mod retries;
mod review;
mod revive;
pub(crate) mod rows;
mod server;
mod shared;
mod start;
pub(crate) mod toolset;
