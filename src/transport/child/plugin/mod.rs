//! A server that a plugin brings along: where the plugin lies on this host, what its server is told about that, and that
//! neither its program nor its working directory lies elsewhere, links followed. A server that somebody wrote down by
//! hand has no plugin and passes through here unchanged.

use std::error::Error as StdError;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::launch::{CwdRoot, Launch, Plugin};
use crate::error::{Error, ErrorCode, Result};

const ROOT_VARIABLE: &str = "PLUGIN_ROOT";
const DATA_VARIABLE: &str = "PLUGIN_DATA";

/// Marks an error, as its source: a path of a plugin's server that lies outside the plugin.
#[derive(Debug)]
pub(crate) struct Escape;

impl fmt::Display for Escape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("outside the plugin")
    }
}

impl StdError for Escape {}

impl Launch {
    /// The same with the paths of this host, for a plugin whose paths begin at `host_root`.
    pub(crate) fn on_host(&self, host_root: Option<&str>) -> Self {
        let Some(host_root) = host_root else {
            return self.clone();
        };
        let roots = [self.plugin.root.as_deref(), self.plugin.data.as_deref()];
        let map = |value: &String| {
            if roots.into_iter().flatten().any(|root| begins_with(value, root)) {
                join(host_root, value)
            } else {
                value.clone()
            }
        };
        let env = self.env.iter().map(|(name, value)| (name.clone(), map(value)));
        Self {
            command: map(&self.command),
            args: self.args.iter().map(map).collect(),
            env: env.collect(),
            cwd: self.cwd.as_ref().map(map),
            plugin: Plugin {
                root: self.plugin.root.as_ref().map(map),
                data: self.plugin.data.as_ref().map(map),
                cwd_root: self.plugin.cwd_root,
            },
        }
    }

    /// Makes sure of everything that a plugin's server is promised, and gives what is to be started. Blocks.
    ///
    /// # Errors
    /// `unavailable`; with `Escape` as the source for a path outside the plugin.
    pub(super) fn prepared(&self) -> Result<Self> {
        let mut launch = self.clone();
        let root = self.plugin.root.as_deref().map(absolute);
        let data = self.plugin.data.as_deref().map(absolute);
        if let Some(root) = &root {
            let command = Path::new(&self.command);
            // A bare name is looked for through `PATH`.
            if command.has_root() || command.components().nth(1).is_some() {
                let path = Path::new(root).join(command);
                contain("command", &self.command, &path, &[root])?;
                launch.command = text(path, &self.command);
            }
            set(&mut launch.env, ROOT_VARIABLE, root);
        }
        if let Some(data) = &data {
            prove_writable(Path::new(data))?;
            set(&mut launch.env, DATA_VARIABLE, data);
        }
        if let Some(cwd) = &self.cwd {
            let roots: Vec<&str> = match self.plugin.cwd_root {
                Some(CwdRoot::Root) => root.as_deref().into_iter().collect(),
                Some(CwdRoot::Data) => data.as_deref().into_iter().collect(),
                None => root.iter().chain(&data).map(String::as_str).collect(),
            };
            if let Some(base) = roots.first() {
                let path = Path::new(base).join(cwd);
                contain("working directory", cwd, &path, &roots)?;
                launch.cwd = Some(text(path, cwd));
            }
        }
        Ok(launch)
    }
}

/// Whether a value is a root, or lies below it by its words alone.
fn begins_with(value: &str, root: &str) -> bool {
    let root = root.trim_end_matches(is_separator);
    value
        .strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(is_separator))
}

fn join(host_root: &str, path: &str) -> String {
    let separator = if path.starts_with(is_separator) { "" } else { "/" };
    format!("{}{separator}{path}", host_root.trim_end_matches(is_separator))
}

fn is_separator(character: char) -> bool {
    std::path::is_separator(character)
}

/// Another working directory must not change what it means.
fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |absolute| text(absolute, path))
}

fn text(path: PathBuf, configured: &str) -> String {
    path.into_os_string()
        .into_string()
        .unwrap_or_else(|_| configured.to_owned())
}

fn set(env: &mut Vec<(String, String)>, name: &str, value: &str) {
    // Where names have no case, another spelling would be a second value of the same variable.
    env.retain(|(known, _)| !known.eq_ignore_ascii_case(name) || (cfg!(unix) && known != name));
    env.push((name.to_owned(), value.to_owned()));
}

fn contain(field: &str, value: &str, path: &Path, roots: &[&str]) -> Result<()> {
    let real = real(path);
    if roots.iter().any(|root| real.starts_with(self::real(Path::new(root)))) {
        return Ok(());
    }
    let message = format!("its {field} `{value}` lies outside the plugin, once links are followed");
    Err(Error::new(ErrorCode::Unavailable, message).with_source(Escape))
}

/// The path without links, as far as there is anything. What is missing, or not to be looked into, cannot be started
/// either, and who starts it says so.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::new();
    for component in path.components() {
        if component == Component::ParentDir {
            real.pop();
        } else {
            real.push(component);
            real = std::fs::canonicalize(&real).unwrap_or(real);
        }
    }
    real
}

/// The folder is there, and what is written there stays: the server finds out too late otherwise.
fn prove_writable(folder: &Path) -> Result<()> {
    static PROOFS: AtomicU64 = AtomicU64::new(0);
    let proof = PROOFS.fetch_add(1, Ordering::Relaxed);
    let file = folder.join(format!(".espalier-{}-{proof}", std::process::id()));
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&file))
        .and_then(|mut proof| proof.write_all(b"x"));
    let removed = std::fs::remove_file(&file);
    written.and(removed).map_err(|error| {
        let reason = error.kind();
        let message = format!(
            "{DATA_VARIABLE} `{}` is no folder that can be written to ({reason}; Agent Plugins §9.1)",
            folder.display()
        );
        Error::new(ErrorCode::Unavailable, message).with_source(error)
    })
}

#[cfg(test)]
mod tests;
