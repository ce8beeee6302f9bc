//! The children of one toolset, from the moment they start: so that none of them slips away while the toolset is ended from
//! another thread. A child that starts too late is killed by whoever started it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use super::ProcessGroup;
use crate::limits;

#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    started: Condvar,
}

#[derive(Debug, Default)]
struct State {
    shut: bool,
    /// How many children are being started just now.
    starting: usize,
    groups: Vec<Weak<ProcessGroup>>,
}

impl Gate {
    /// Starts a child, unless the gate is shut before. One that starts while it is shut is killed and given back all the
    /// same, so that it is reaped. `start` may block.
    pub(super) fn pass<T, E>(
        &self,
        start: impl FnOnce() -> Result<(T, Arc<ProcessGroup>), E>,
        shut: impl FnOnce() -> E,
    ) -> Result<(T, Arc<ProcessGroup>), E> {
        let mut state = self.state();
        if state.shut {
            return Err(shut());
        }
        state.starting += 1;
        drop(state);
        let outcome = start();
        let mut state = self.state();
        state.starting -= 1;
        if let Ok((_, group)) = &outcome {
            if state.shut {
                group.kill();
            }
            state.groups.retain(|known| known.strong_count() > 0);
            state.groups.push(Arc::downgrade(group));
        }
        drop(state);
        self.started.notify_all();
        outcome
    }

    /// From here on nothing starts.
    pub(crate) fn shut(&self) {
        self.state().shut = true;
    }

    /// Shuts the gate and kills every child, the ones included that are being started: their start is waited for, if it
    /// takes no longer than a start takes.
    pub(crate) fn kill(&self) {
        let mut state = self.state();
        state.shut = true;
        for group in state.groups.drain(..).filter_map(|group| group.upgrade()) {
            group.kill();
        }
        drop(
            self.started
                .wait_timeout_while(state, limits::LAST_START_WAIT, |state| state.starting > 0),
        );
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_passes_a_gate_that_is_shut() {
        let gate = Gate::default();
        gate.shut();
        let outcome = gate.pass(
            || -> Result<((), Arc<ProcessGroup>), &str> { panic!("it was started") },
            || "shut",
        );
        assert_eq!(outcome.unwrap_err(), "shut");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn what_starts_while_the_gate_is_shut_is_killed_and_given_back_to_be_reaped() {
        use std::os::unix::process::ExitStatusExt as _;

        let gate = Gate::default();
        let start = || {
            #[expect(clippy::disallowed_methods, reason = "a child of the test's own")]
            let mut command = tokio::process::Command::new("sleep");
            command.arg("30");
            gate.shut();
            ProcessGroup::start(command).map(|(child, group)| (child, Arc::new(group)))
        };
        let (mut child, _group) = gate.pass(start, || std::io::ErrorKind::Other.into()).unwrap();
        assert_eq!(child.wait().await.unwrap().signal(), Some(9));
    }
}
