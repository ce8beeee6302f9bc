//! What a child inherits. Its environment starts empty: a few variables of the host that programs cannot do without, and
//! what its configuration names. Secrets of the host process stay in the host process.

use std::ffi::OsString;

/// Taken over from the host where they are set (client specification, section 10).
#[cfg(not(windows))]
const INHERITED: &[&str] = &["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL"];
#[cfg(windows)]
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "SystemRoot",
    "PATHEXT",
    "APPDATA",
];

/// The complete environment of a child: inherited variables, then the configured ones, which win.
pub(super) fn environment(configured: &[(String, String)]) -> Vec<(OsString, OsString)> {
    let inherited = INHERITED
        .iter()
        .filter_map(|name| std::env::var_os(name).map(|value| (OsString::from(name), value)));
    let configured = configured
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    inherited.chain(configured).collect()
}
