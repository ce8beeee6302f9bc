//! The jobs that the program is at. One that nobody waits for any more keeps its slot until the program is done with it,
//! so that handlers which ignore their signal cannot pile up.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::exchange::Exchange;
use super::lease::Lease;
use super::slots::Slot;
use crate::guard::turns::Turns;
use crate::host::server::{Abort, Application, Job, JobId, JobKind, Performed, RuntimeId};
use crate::limits;

pub(crate) struct Jobs {
    application: Arc<dyn Application>,
    last: AtomicU64,
    running: Mutex<HashMap<JobId, Running>>,
    /// Which job comes next, where tenants take turns.
    turns: Option<Mutex<Turns<Job>>>,
}

struct Running {
    answer: Option<oneshot::Sender<Performed>>,
    exchange: Arc<Exchange>,
    /// Held until the program is done.
    slot: Option<Slot>,
}

/// What is to be done.
pub(crate) struct Task<'a> {
    pub(crate) kind: JobKind,
    pub(crate) runtime: Option<RuntimeId>,
    pub(crate) name: &'a str,
    pub(crate) text: String,
    pub(crate) answers: Option<String>,
}

/// A job that somebody waits for. Dropped early, it is given up, for the reason of its request.
struct Performing<'a> {
    jobs: &'a Jobs,
    id: JobId,
    exchange: &'a Exchange,
    is_done: bool,
}

impl Drop for Performing<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            let reason = self.exchange.reason().unwrap_or(Abort::Closed);
            self.jobs.give_up(self.id, reason, self.exchange);
        }
    }
}

impl Jobs {
    /// `takes_turns`: whether jobs of several tenants are handed over in turns. Then it has to be told when one is over.
    pub(crate) fn new(application: Arc<dyn Application>, takes_turns: bool) -> Self {
        Self {
            application,
            last: AtomicU64::new(0),
            running: Mutex::default(),
            turns: takes_turns.then(|| Mutex::new(Turns::new(limits::JOBS_PER_TURN))),
        }
    }

    /// Has the program do something for a request. Nothing when the program went away.
    pub(crate) async fn perform(
        &self,
        exchange: &Arc<Exchange>,
        slot: Option<&Slot>,
        task: Task<'_>,
    ) -> Option<Performed> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        self.running().insert(
            id,
            Running {
                answer: Some(answer),
                exchange: Arc::clone(exchange),
                slot: slot.map(Arc::clone),
            },
        );
        let mut performing = Performing {
            jobs: self,
            id,
            exchange,
            is_done: false,
        };
        self.hand_over(
            Job {
                id,
                kind: task.kind,
                runtime: task.runtime,
                caller: Arc::clone(&exchange.caller),
                name: task.name.to_owned(),
                text: task.text,
                answers: task.answers,
            },
            exchange,
        );
        let performed = answered.await.ok();
        performing.is_done = true;
        performed
    }

    /// The program has had a turn: the next jobs are handed over.
    pub(crate) fn turned(&self) {
        let next = self.turns().map(|mut turns| turns.next());
        for job in next.into_iter().flatten() {
            self.application.perform(job);
        }
    }

    /// What became of a job. One that is not known was settled before.
    pub(crate) fn settle(&self, id: JobId, performed: Performed) {
        let running = self.running().remove(&id);
        if matches!(performed, Performed::Runtime(_)) {
            let lease = Lease {
                application: Arc::clone(&self.application),
                id,
            };
            // Nobody is routed there when it was given up, and then it ends here.
            if let Some(running) = running.as_ref().filter(|running| running.answer.is_some()) {
                running.exchange.keep(lease);
            }
        }
        if let Some(answer) = running.and_then(|running| running.answer) {
            // Nobody listens when it was given up just now.
            drop(answer.send(performed));
        }
    }

    /// The request that a job is done for, unless it was given up.
    pub(crate) fn exchange(&self, id: JobId) -> Option<Arc<Exchange>> {
        let running = self.running();
        let running = running.get(&id).filter(|running| running.answer.is_some())?;
        Some(Arc::clone(&running.exchange))
    }

    /// How many the program is at.
    pub(crate) fn len(&self) -> usize {
        self.running().len()
    }

    fn give_up(&self, id: JobId, reason: Abort, exchange: &Exchange) {
        let tenant = &exchange.connection.identity.tenant;
        let waited = self
            .turns()
            .and_then(|mut turns| turns.remove(tenant, |job| job.id == id));
        if waited.is_some() {
            // The program has never heard of it.
            let forgotten = self.running().remove(&id);
            drop(forgotten);
            return;
        }
        {
            let mut running = self.running();
            let holds_slot = running.get(&id).is_some_and(|running| running.slot.is_some());
            if reason == Abort::Asked || !holds_slot {
                // A run that asked never comes to its end, so that its slot is free. What has none is not kept either: who
                // asks in vain, again and again, would fill the table.
                running.remove(&id);
            } else if let Some(running) = running.get_mut(&id) {
                running.answer = None;
            }
        }
        self.application.abandon(id, reason);
    }

    fn hand_over(&self, job: Job, exchange: &Exchange) {
        let tenant = &exchange.connection.identity.tenant;
        let job = match self.turns() {
            // Whose it is, is what it asks.
            Some(mut turns) if job.kind != JobKind::Identify => turns.offer(tenant, job),
            _ => Some(job),
        };
        if let Some(job) = job {
            self.application.perform(job);
        }
    }

    fn turns(&self) -> Option<MutexGuard<'_, Turns<Job>>> {
        let turns = self.turns.as_ref()?;
        Some(turns.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn running(&self) -> MutexGuard<'_, HashMap<JobId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
