//! The rule for tool names, for callers who check their own.

use napi_derive::napi;

use crate::catalog::tool_name;

/// Whether model providers accept a name as it is.
#[napi(catch_unwind)]
pub fn native_is_provider_legal_tool_name(name: String) -> bool {
    tool_name::is_provider_legal(&name)
}
