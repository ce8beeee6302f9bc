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
    /// Starts a child, unless the gate is shut before or meanwhile. `start` may block.
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
        let outcome = match outcome {
            Ok((_, group)) if state.shut => {
                group.kill();
                Err(shut())
            }
            Ok((started, group)) => {
                state.groups.retain(|known| known.strong_count() > 0);
                state.groups.push(Arc::downgrade(&group));
                Ok((started, group))
            }
            Err(error) => Err(error),
        };
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

    #[test]
    fn a_start_that_ends_after_the_gate_was_shut_has_failed() {
        let gate = Gate::default();
        let outcome = gate.pass(
            || {
                gate.shut();
                Ok::<_, &str>(((), Arc::new(ProcessGroup::led_by(0))))
            },
            || "shut",
        );
        assert_eq!(outcome.unwrap_err(), "shut");
        gate.kill();
    }
}
