//! What ends the children when the host cannot: one `/bin/sh` for the whole process, which reads a line that only the
//! host holds. The line ends with the host, whatever ends that, and then the shell kills every process group that was
//! entered and not struck out. It is started with the first child and leaves with the last one.
//!
//! A child enters itself, between its birth and its program, so that it never runs unknown.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::thread;

use rustix::process::{Pid, Signal, kill_process, setsid};
use tokio::sync::watch;

use crate::limits;

const SHELL: &str = "/bin/sh";
const SCRIPT: &str = include_str!("watchdog.sh");

static STATE: Mutex<State> = Mutex::new(State {
    running: None,
    entered: BTreeMap::new(),
    last_token: 0,
    replaced: 0,
});

struct State {
    running: Option<Running>,
    /// What the watchdog knows, by its token; the leader is not known yet while it starts.
    entered: BTreeMap<u64, Option<u32>>,
    last_token: u64,
    /// How many watchdogs somebody else ended, and were started anew for children that run.
    replaced: u32,
}

#[derive(Clone)]
struct Running {
    line: Arc<UnixStream>,
    pid: u32,
    /// Ends when the process was reaped.
    gone: watch::Receiver<()>,
}

/// The entry of one process group. Dropping it strikes it out.
#[derive(Debug)]
pub(crate) struct Entry {
    token: u64,
    /// Nothing where there is no shell to watch.
    line: Option<Arc<UnixStream>>,
    struck: AtomicBool,
}

impl Entry {
    /// Makes an entry for a child that is about to start, and sees that somebody watches.
    ///
    /// # Errors
    /// When no watchdog can be started. On a machine without a shell, children start without one.
    pub(super) fn new() -> io::Result<Self> {
        let mut state = state();
        let line = match state.running() {
            Ok(running) => Some(Arc::clone(&running.line)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => None,
            Err(error) => return Err(error),
        };
        state.last_token += 1;
        let token = state.last_token;
        state.entered.insert(token, None);
        drop(state);
        Ok(Self {
            token,
            line,
            struck: AtomicBool::new(false),
        })
    }

    /// What the child does before its program: it enters its own number. Between fork and exec nothing may be allocated
    /// or locked, and what fails here is made good by `confirm`.
    pub(super) fn register(&self) -> impl FnMut(u32) + Send + Sync + use<> {
        let token = self.token;
        let line = self.line.clone();
        move |leader| {
            if let Some(line) = &line {
                let mut text = [0; 48];
                let mut free = text.as_mut_slice();
                let room = free.len();
                if writeln!(free, "+ {token} {leader}").is_ok() {
                    let used = room - free.len();
                    let _ = (&**line).write_all(text.get(..used).unwrap_or_default());
                }
            }
        }
    }

    /// The child runs. Enters it again, for the case that its own words went to a watchdog that was just ending.
    pub(super) fn confirm(&self, leader: u32) {
        let mut state = state();
        if let Some(known) = state.entered.get_mut(&self.token) {
            *known = Some(leader);
        }
        state.say(&format!("+ {} {leader}\n", self.token));
    }

    /// Strikes the entry out: the group is empty. With the last entry the watchdog leaves; its end is what is returned.
    pub(super) fn strike(&self) -> Option<Gone> {
        if self.struck.swap(true, Ordering::AcqRel) {
            return None;
        }
        let mut state = state();
        state.entered.remove(&self.token);
        if !state.entered.is_empty() {
            state.say(&format!("- {}\n", self.token));
            return None;
        }
        let running = state.running.take()?;
        // The other end of the line may still be held by a child between its birth and its program.
        let _ = running.line.shutdown(Shutdown::Both);
        Some(Gone(running.gone))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.strike();
    }
}

/// The end of a watchdog that was told to leave.
pub(super) struct Gone(watch::Receiver<()>);

impl Gone {
    pub(super) async fn wait(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

impl State {
    fn running(&mut self) -> io::Result<&Running> {
        if self.running.is_none() {
            let running = start()?;
            let known: String = self
                .entered
                .iter()
                .filter_map(|(token, leader)| leader.map(|leader| format!("+ {token} {leader}\n")))
                .collect();
            self.running = Some(running);
            self.say(&known);
        }
        self.running.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn say(&mut self, text: &str) {
        let Some(running) = &self.running else { return };
        if (&*running.line).write_all(text.as_bytes()).is_err() {
            // It is dead, or stopped. What it knows is out of date, so that it must not act on it any more; who waits for
            // its end starts another one.
            end(running.pid);
        }
    }

    /// A watchdog has ended that was not told to leave.
    fn replace(&mut self, ended: &Weak<UnixStream>) {
        let is_it = |running: &Running| Weak::ptr_eq(&Arc::downgrade(&running.line), ended);
        if !self.running.as_ref().is_some_and(is_it) {
            return;
        }
        self.running = None;
        self.replaced += 1;
        if self.replaced <= limits::MAX_REPLACED_WATCHDOGS {
            // Where it fails, the next child tries again.
            let _ = self.running();
        }
    }
}

/// Starts the shell, from the thread that reaps it.
fn start() -> io::Result<Running> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_write_timeout(Some(limits::WATCHDOG_PATIENCE))?;
    let line = Arc::new(ours);
    let (tell, told) = mpsc::sync_channel(1);
    let (alive, gone) = watch::channel(());
    let watched = Arc::downgrade(&line);
    thread::Builder::new()
        .name("espalier-watch".to_owned())
        .spawn(move || {
            let mut shell = match command(theirs).spawn() {
                Ok(shell) => shell,
                Err(error) => return drop(tell.send(Err(error))),
            };
            drop(tell.send(Ok(shell.id())));
            // An error means that somebody else reaped it.
            drop(shell.wait());
            drop(alive);
            state().replace(&watched);
        })?;
    let pid = told.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    Ok(Running { line, pid, gone })
}

fn command(line: UnixStream) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the watchdog is no server")]
    let mut command = Command::new(SHELL);
    command
        .args(["-c", SCRIPT, "espalier-watchdog"])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(line)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // In a session of its own: what ends the host's group, or its terminal, must not end the watchdog.
    #[expect(unsafe_code, reason = "one system call is all that happens between fork and exec")]
    unsafe {
        command.pre_exec(|| setsid().map(drop).map_err(io::Error::from));
    }
    command
}

fn end(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It fails when it has ended already.
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
