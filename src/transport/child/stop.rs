//! The stop ladder of a child (client specification, section 10): close its standard input, wait, terminate the group,
//! wait, kill the group. Whatever the child does, it ends.

use super::group::Signal;
use super::{ChildTransport, read};
use crate::limits;

impl ChildTransport {
    pub(super) async fn stop(&mut self) {
        self.stop_group().await;
        self.stop_stragglers().await;
    }

    /// Who left the group is not known before it was looked for, and nobody tells of its end.
    async fn stop_stragglers(&self) {
        let mut signal = Signal::Terminate;
        let mut deadline = self.clock.now() + limits::STOP_GRACE;
        while self.group.signal_stragglers(signal).await {
            let now = self.clock.now();
            if now >= deadline {
                match signal {
                    Signal::Terminate => signal = Signal::Kill,
                    Signal::Kill => return,
                }
                deadline = now + limits::STOP_GRACE;
            }
            self.clock.sleep_until(now + limits::STRAGGLER_POLL).await;
        }
    }

    async fn stop_group(&mut self) {
        self.stop_writing();
        if self.ended_in_time().await {
            return;
        }
        self.group.signal(Signal::Terminate);
        if self.ended_in_time().await {
            return;
        }
        self.group.signal(Signal::Kill);
        // Where there are no groups, the child alone is ended. It fails when the child is gone already.
        drop(self.child.start_kill());
        // Not even a killed process is waited for without an end: it may be stuck in the system.
        self.ended_in_time().await;
    }

    /// Waits until the child is reaped and its group is empty, while discarding what it still writes: a child that is
    /// blocked on a full pipe would never read the end of its input.
    async fn ended_in_time(&mut self) -> bool {
        let deadline = self.clock.now() + limits::STOP_GRACE;
        loop {
            if self.exited.is_some() {
                if !self.group.outlives_leader() {
                    return true;
                }
                // Who is left of the group has lost its server: there is nothing to wait for politely.
                if !std::mem::replace(&mut self.orphans_told, true) {
                    self.group.signal(Signal::Terminate);
                }
            }
            let now = self.clock.now();
            if now >= deadline {
                return false;
            }
            // The group has no event to wait for once its leader is gone.
            let pause = if self.exited.is_some() {
                (now + limits::GROUP_POLL).min(deadline)
            } else {
                deadline
            };
            let pause = self.clock.sleep_until(pause);
            tokio::select! {
                status = self.child.wait(), if self.exited.is_none() => self.note_exit(status.ok()),
                read = read(self.stdout.as_mut(), &mut self.chunk), if self.stdout.is_some() => {
                    if read.is_none() {
                        self.stdout = None;
                    }
                }
                () = pause => {}
            }
        }
    }
}
