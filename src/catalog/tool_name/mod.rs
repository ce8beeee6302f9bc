//! The name under which a model sees a server's tool. Owns what model providers accept as a name and how every other
//! name becomes one; it does not know which names are taken.

use crate::limits::MAX_TOOL_NAME_CHARS;

/// `server__tool` where providers accept that; else its illegal characters become `_`, and a hash of the original is
/// appended, so that two names that look alike afterwards stay two (seed, "`mcpTools(servers, opts?)`").
pub(crate) fn project(server: &str, tool: &str) -> String {
    let qualified = format!("{server}{SEPARATOR}{tool}");
    if is_provider_legal(&qualified) {
        return qualified;
    }
    let hash = hash(&qualified);
    let kept = MAX_TOOL_NAME_CHARS.saturating_sub(hash.len() + 1);
    // Per UTF-16 code unit, as JavaScript counts: a character outside the basic plane leaves two underscores.
    let mut name: String = qualified.encode_utf16().take(kept).map(legal_or_underscore).collect();
    name.push('_');
    name.push_str(&hash);
    name
}

/// `^[a-zA-Z0-9_-]{1,64}$`
pub(crate) fn is_provider_legal(name: &str) -> bool {
    (1..=MAX_TOOL_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_legal)
}

/// FNV-1a, 32 bits, over UTF-16 code units, in base 36: what the reference system prints, so that policies and stored
/// rows that name a tool stay valid.
pub(crate) fn hash(text: &str) -> String {
    let hash = text.encode_utf16().fold(FNV_OFFSET_BASIS, |hash, unit| {
        (hash ^ u32::from(unit)).wrapping_mul(FNV_PRIME)
    });
    base36(hash)
}

fn is_legal(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn legal_or_underscore(unit: u16) -> char {
    u8::try_from(unit)
        .ok()
        .filter(|byte| is_legal(*byte))
        .map_or('_', char::from)
}

fn base36(mut value: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(value % BASE, BASE));
        value /= BASE;
        if value == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Between the server's name and the tool's own.
const SEPARATOR: &str = "__";
const BASE: u32 = 36;
// The two constants of the published algorithm.
const FNV_OFFSET_BASIS: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

#[cfg(test)]
mod tests;
