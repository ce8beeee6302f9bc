//! The process group that a child leads: signalled as a whole, and never left behind. The seam for other systems: on
//! Windows only the child itself is ended.

use std::sync::atomic::{AtomicBool, Ordering};

/// The group of one child. Dropping it kills what is left of the group.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    leader: u32,
    gone: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    Terminate,
    Kill,
}

impl ProcessGroup {
    pub(super) fn led_by(leader: u32) -> Self {
        Self {
            leader,
            gone: AtomicBool::new(false),
        }
    }

    /// Whether any process of the group is alive, or dead and not yet reaped. Once the group was seen to be empty its
    /// number may belong to a stranger, so that it is never signalled again.
    fn is_alive(&self) -> bool {
        if self.gone.load(Ordering::Acquire) {
            return false;
        }
        let alive = system::exists(self.leader);
        if !alive {
            self.gone.store(true, Ordering::Release);
        }
        alive
    }

    /// The same for after the leader was reaped, without those dead ones that only this process can reap.
    pub(super) fn outlives_leader(&self) -> bool {
        if !self.gone.load(Ordering::Acquire) {
            system::reap(self.leader);
        }
        self.is_alive()
    }

    pub(super) fn signal(&self, signal: Signal) {
        if self.is_alive() {
            system::signal(self.leader, signal);
        }
    }

    /// Ends the group at once. For the ends of a process that leave no time for anything better.
    pub(crate) fn kill(&self) {
        self.signal(Signal::Kill);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(unix)]
mod system {
    use rustix::process::{Pid, WaitOptions, kill_process_group, test_kill_process_group, waitpgid};

    use super::Signal;

    pub(super) fn exists(leader: u32) -> bool {
        pid(leader).is_some_and(|pid| test_kill_process_group(pid).is_ok())
    }

    /// Orphans of the group become our children where this process is the first of its container, or a subreaper. Nobody
    /// else would reap them then, and a dead one would count as alive.
    pub(super) fn reap(leader: u32) {
        while let Some(pid) = pid(leader)
            && let Ok(Some(_)) = waitpgid(pid, WaitOptions::NOHANG)
        {}
    }

    pub(super) fn signal(leader: u32, signal: Signal) {
        let signal = match signal {
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
        };
        if let Some(pid) = pid(leader) {
            // It fails when the group ended in between, which is what was wanted.
            let _ = kill_process_group(pid, signal);
        }
    }

    fn pid(leader: u32) -> Option<Pid> {
        // Never 1 or below: as the target of a signal such numbers mean everybody.
        i32::try_from(leader)
            .ok()
            .filter(|pid| *pid > 1)
            .and_then(Pid::from_raw)
    }
}

#[cfg(not(unix))]
mod system {
    use super::Signal;

    /// Without process groups the child's own handle is all there is; see `ChildTransport::close`.
    pub(super) const fn exists(_leader: u32) -> bool {
        false
    }

    pub(super) const fn reap(_leader: u32) {}

    pub(super) const fn signal(_leader: u32, _signal: Signal) {}
}
