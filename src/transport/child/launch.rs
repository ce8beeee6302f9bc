//! Starting a child: from a plan to a running process with three pipes, in a process group of its own. The one home of
//! starting servers.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use super::env::environment;
use super::{Gate, ProcessGroup, starter};
use crate::error::{Error, ErrorCode, Result};

/// What to start. The values of `args` and `env` may be secret and are in no message.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: Option<String>,
    pub(crate) plugin: Plugin,
}

/// Where a plugin lies, as its configuration says; nothing for a server written by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plugin {
    pub(crate) root: Option<String>,
    pub(crate) data: Option<String>,
    /// Which of both the working directory was declared against.
    pub(crate) cwd_root: Option<CwdRoot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CwdRoot {
    Root,
    Data,
}

impl CwdRoot {
    /// Parsers of plugins spell it in several ways: `PLUGIN_DATA`, `${PLUGIN_DATA}`, `pluginDataRoot`, `data`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let letters: String = text.chars().filter(char::is_ascii_alphabetic).collect();
        match letters.to_ascii_lowercase().as_str() {
            "plugin" | "root" | "pluginroot" => Some(Self::Root),
            "data" | "dataroot" | "plugindata" | "plugindataroot" => Some(Self::Data),
            _ => None,
        }
    }
}

impl Launch {
    /// Starts the child. The system calls behind it may block, so they run on a thread for that.
    ///
    /// # Errors
    /// `unavailable`, telling a missing command from a missing working directory.
    pub(super) async fn start(&self, gate: Arc<Gate>) -> Result<(Child, Arc<ProcessGroup>)> {
        let plan = self.clone();
        let shut = || Error::new(ErrorCode::Closed, "the toolset was closed while its server was started");
        let runtime = Handle::current();
        let starting = starter::run(move || {
            let _entered = runtime.enter();
            gate.pass(|| plan.start_blocking(), shut)
        });
        let failed = "the thread that starts a child failed";
        let started = starting.map_err(|error| unavailable(failed.to_owned()).with_source(error))?;
        started
            .await
            .unwrap_or_else(|error| Err(unavailable(failed.to_owned()).with_source(error)))
    }

    fn start_blocking(&self) -> Result<(Child, Arc<ProcessGroup>)> {
        self.prepared()?.start_prepared()
    }

    fn start_prepared(&self) -> Result<(Child, Arc<ProcessGroup>)> {
        if let Some(cwd) = &self.cwd {
            match std::fs::metadata(cwd) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => return Err(unavailable(format!("its working directory `{cwd}` is not a directory"))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(unavailable(format!("its working directory `{cwd}` does not exist")).with_source(error));
                }
                Err(error) => {
                    let reason = error.kind();
                    let message = format!("its working directory `{cwd}` cannot be used ({reason})");
                    return Err(unavailable(message).with_source(error));
                }
            }
        }
        let (child, group) = ProcessGroup::start(self.command()).map_err(|error| self.explain(error))?;
        Ok((child, Arc::new(group)))
    }

    fn command(&self) -> Command {
        let environment = environment(&self.env);
        #[cfg(windows)]
        let program = self.program(&environment);
        #[cfg(not(windows))]
        let program = &self.command;
        #[expect(clippy::disallowed_methods, reason = "the one home of starting processes")]
        let mut command = Command::new(program);
        command
            .args(&self.args)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command
    }

    /// The standard library quotes the arguments of a shim as `cmd.exe` needs it, or refuses them.
    #[cfg(windows)]
    fn program(&self, environment: &[(std::ffi::OsString, std::ffi::OsString)]) -> std::ffi::OsString {
        let value = |name: &str| {
            let mut values = environment.iter().rev();
            let found = values.find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let extensions = value("PATHEXT").into_string().unwrap_or_default();
        super::program::find(&self.command, &value("PATH"), &extensions, Path::is_file)
            .map_or_else(|| self.command.clone().into(), Into::into)
    }

    fn explain(&self, error: io::Error) -> Error {
        let command = &self.command;
        let message = match error.kind() {
            io::ErrorKind::NotFound if Path::new(command).exists() => {
                format!("the command `{command}` cannot be started: its interpreter does not exist")
            }
            io::ErrorKind::NotFound => format!("the command `{command}` does not exist"),
            io::ErrorKind::PermissionDenied => format!("the command `{command}` is not an executable file"),
            io::ErrorKind::InvalidInput => {
                let culprit = if cfg!(windows) {
                    "what cannot be passed on there"
                } else {
                    "a NUL"
                };
                format!("the command `{command}` cannot be started: its arguments or environment hold {culprit}")
            }
            kind => format!("the command `{command}` cannot be started ({kind})"),
        };
        unavailable(message).with_source(error)
    }
}

fn unavailable(message: String) -> Error {
    Error::new(ErrorCode::Unavailable, message)
}
