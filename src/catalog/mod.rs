//! What a server's listing becomes: names, filters, trust, disclosure, stored rows. Pure: no async, no clock, no I/O.

pub(crate) mod arguments;
pub(crate) mod collision;
pub(crate) mod disclosure;
pub(crate) mod drift;
pub(crate) mod filter;
pub(crate) mod fingerprint;
pub(crate) mod listing;
pub(crate) mod output_schema;
pub(crate) mod pages;
pub(crate) mod project;
pub(crate) mod schema_cost;
pub(crate) mod snapshot;
pub(crate) mod tool_name;

/// The schema of a tool that published none.
pub(crate) const NO_SCHEMA: &str = "{\"type\":\"object\"}";

#[cfg(test)]
const VECTORS: &str = include_str!("../../__test__/vectors/client.json");
