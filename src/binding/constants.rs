//! Numbers and switches that the facade reads from the binary, so that there is one place for them.

use std::sync::atomic::{AtomicBool, Ordering};

use napi::JsString;
use napi_derive::napi;

use crate::catalog::disclosure;
use crate::limits;
use crate::protocol::codes;
use crate::server::mime;

/// The version that the binary was built as; the package's must be the same.
#[napi(catch_unwind)]
pub const fn native_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The rough size of a text in tokens.
#[napi(catch_unwind)]
pub fn native_estimate_tokens(text: JsString<'_>) -> napi::Result<i64> {
    let tokens = text.utf16_len()?.div_ceil(limits::CHARS_PER_TOKEN);
    Ok(i64::try_from(tokens).unwrap_or(i64::MAX))
}

#[napi]
pub const NATIVE_DEFAULT_DISCLOSURE_BUDGET_TOKENS: u32 = limits::DEFAULT_DISCLOSURE_BUDGET_TOKENS;

#[napi]
pub const NATIVE_MCP_DESCRIBE_TOOL: &str = disclosure::DESCRIBE_TOOL;

#[napi]
pub const NATIVE_DEFAULT_PROJECTED_TOOLS: u32 = limits::DEFAULT_PROJECTED_TOOLS;

#[napi]
pub const NATIVE_ADAPTER_RESOURCE_CACHE_TTL_MS: u32 = limits::ADAPTER_RESOURCE_CACHE_TTL_MS;

#[napi]
pub const NATIVE_ADAPTER_RESOURCE_CACHE_MAX_KEYS: u32 = limits::ADAPTER_RESOURCE_CACHE_MAX_KEYS;

#[napi]
pub const NATIVE_FALLBACK_MIME_TYPE: &str = mime::FALLBACK;

/// The code of JSON-RPC for params that are wrong.
#[napi]
pub const NATIVE_INVALID_PARAMS: i64 = codes::INVALID_PARAMS;

/// The code for what the client cannot do.
#[napi]
pub const NATIVE_MISSING_CLIENT_CAPABILITY: i64 = codes::MISSING_CLIENT_CAPABILITY;

/// The known extensions of files and their MIME types: `extension type`, a line each.
#[napi(catch_unwind)]
pub fn native_mime_types() -> String {
    let lines: Vec<_> = mime::types()
        .map(|(extension, mime)| format!("{extension} {mime}"))
        .collect();
    lines.join("\n")
}

/// Whether toolsets of this process may start child processes. Process-wide: every worker and every entry point of the
/// package shares it.
static STDIO: AtomicBool = AtomicBool::new(false);

#[napi(catch_unwind)]
pub fn native_enable_stdio() {
    STDIO.store(true, Ordering::Relaxed);
}

pub(super) fn stdio_is_enabled() -> bool {
    STDIO.load(Ordering::Relaxed)
}
