//! The process group that a child leads: signalled as a whole, and never left behind, not even by a host that is killed.
//! The seam for other systems: `unix` and `windows` say what a group is there.

#[cfg(target_os = "linux")]
mod session;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::process::{Child, Command};

#[cfg(unix)]
use unix as system;
#[cfg(not(unix))]
use windows as system;

/// The group of one child. Dropping it kills what is left of the group.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    group: system::Group,
    gone: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    Terminate,
    Kill,
}

impl ProcessGroup {
    /// Starts a command as the leader of a group that ends with this process.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn start(command: Command) -> io::Result<(Child, Self)> {
        let (child, group) = system::start(command)?;
        let gone = AtomicBool::new(false);
        Ok((child, Self { group, gone }))
    }

    /// Whether any process of the group is alive, or dead and not yet reaped. Once the group was seen to be empty its
    /// number may belong to a stranger, so that it is never signalled again.
    fn is_alive(&self) -> bool {
        if self.gone.load(Ordering::Acquire) {
            return false;
        }
        let alive = self.group.exists();
        if !alive {
            self.gone.store(true, Ordering::Release);
        }
        alive
    }

    /// The same for after the leader was reaped, without those dead ones that only this process can reap.
    pub(super) fn outlives_leader(&self) -> bool {
        if !self.gone.load(Ordering::Acquire) {
            self.group.reap();
        }
        self.is_alive()
    }

    pub(super) fn signal(&self, signal: Signal) {
        if self.is_alive() {
            self.group.signal(signal);
        }
    }

    /// Ends the group at once. For the ends of a process that leave no time for anything better.
    pub(crate) fn kill(&self) {
        self.signal(Signal::Kill);
    }

    /// Signals whoever left the group and not its session, where the system lets us see them. Whether there was anybody.
    pub(super) async fn signal_stragglers(&self, signal: Signal) -> bool {
        self.group.signal_stragglers(signal).await
    }

    /// Nothing of the group is left, or nothing more can be done about it. Ends when nobody watches it any more.
    pub(super) async fn release(&self) {
        self.group.release().await;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
