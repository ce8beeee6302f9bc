//! A group on Unix: a session of its own, so that no terminal of the host's can stop or be asked by a child, and an entry
//! with the watchdog. On Linux the leader is besides killed by the system when this process ends.

use std::io;

use rustix::process::{Pid, WaitOptions, kill_process, kill_process_group, setsid, test_kill_process_group, waitpgid};
use tokio::process::{Child, Command};

use super::Signal;
use crate::transport::child::watchdog::Entry;

#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    entry: Entry,
}

/// Must run on a thread that never ends: its end would be taken for that of the process.
pub(super) fn start(mut command: Command) -> io::Result<(Child, Group)> {
    let entry = Entry::new()?;
    let mut register = entry.register();
    let host = Pid::from_raw(i32::try_from(std::process::id()).unwrap_or_default());
    let before_exec = move || {
        setsid()?;
        die_with(host)?;
        register(rustix::process::getpid().as_raw_pid().unsigned_abs());
        Ok(())
    };
    #[expect(unsafe_code, reason = "system calls are all that happens between fork and exec")]
    unsafe {
        command.pre_exec(before_exec);
    }
    let child = command.spawn()?;
    let leader = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
        .ok_or(io::ErrorKind::NotFound)?;
    entry.confirm(leader.as_raw_pid().unsigned_abs());
    Ok((child, Group { leader, entry }))
}

#[cfg(target_os = "linux")]
fn die_with(host: Option<Pid>) -> io::Result<()> {
    use rustix::process::{getppid, set_parent_process_death_signal};

    set_parent_process_death_signal(Some(Signal::Kill.into()))?;
    // It may have ended before.
    if getppid() == host {
        Ok(())
    } else {
        Err(rustix::io::Errno::SRCH.into())
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_host: Option<Pid>) -> io::Result<()> {
    Ok(())
}

impl Group {
    pub(super) fn exists(&self) -> bool {
        test_kill_process_group(self.leader).is_ok()
    }

    /// Orphans of the group become our children where this process is the first of its container, or a subreaper. Nobody
    /// else would reap them then, and a dead one would count as alive.
    pub(super) fn reap(&self) {
        while let Ok(Some(_)) = waitpgid(self.leader, WaitOptions::NOHANG) {}
    }

    pub(super) fn signal(&self, signal: Signal) {
        // It fails when the group ended in between, which is what was wanted.
        let _ = kill_process_group(self.leader, signal.into());
    }

    #[cfg(target_os = "linux")]
    pub(super) async fn signal_stragglers(&self, signal: Signal) -> bool {
        let stragglers = super::session::members(self.leader).await;
        for straggler in &stragglers {
            let _ = kill_process(*straggler, signal.into());
        }
        !stragglers.is_empty()
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) async fn signal_stragglers(&self, _signal: Signal) -> bool {
        false
    }

    pub(super) async fn release(&self) {
        if let Some(gone) = self.entry.strike() {
            gone.wait().await;
        }
    }
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Terminate => Self::TERM,
            Signal::Kill => Self::KILL,
        }
    }
}
