//! What a server's listing becomes: names, filters, stored rows. Pure: no async, no clock, no I/O.

pub(crate) mod collision;
pub(crate) mod filter;
pub(crate) mod listing;
pub(crate) mod output_schema;
pub(crate) mod project;
pub(crate) mod schema_cost;
pub(crate) mod snapshot;
pub(crate) mod tool_name;
