//! What callers ask of a catalogue of their own: the rule for tool names, and the measure of descriptions.

use napi_derive::napi;

use crate::catalog::{disclosure, tool_name};
use crate::json;

/// Whether model providers accept a name as it is.
#[napi(catch_unwind)]
pub fn native_is_provider_legal_tool_name(name: String) -> bool {
    tool_name::is_provider_legal(&name)
}

/// How many tokens tools with such descriptions take at least.
#[napi(catch_unwind)]
pub fn native_catalog_tokens(descriptions: Vec<String>) -> i64 {
    let tokens = disclosure::catalog_tokens(descriptions.iter().map(|description| json::utf16_len(description)));
    i64::try_from(tokens).unwrap_or(i64::MAX)
}
