//! What tests put around a server: a program that they look into, and a clock that they move.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::lifecycle::Server;
use crate::error::Result;
use crate::host::server::{Abort, Application, Job, JobId, Performed};
use crate::host::{Clock, Sleep};
use crate::transport::clock::SystemClock;

/// What a program was asked, and what it was told.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) jobs: Mutex<VecDeque<Job>>,
    pub(crate) abandoned: Mutex<Vec<(JobId, Abort)>>,
    pub(crate) released: Mutex<Vec<JobId>>,
    pub(crate) answered: Mutex<Vec<(u64, Result<String>)>>,
    pub(crate) warned: Mutex<Vec<String>>,
    /// What it does at once; the rest is kept in `jobs`.
    routine: OnceLock<(Weak<Server>, Routine)>,
}

pub(crate) type Routine = fn(&Job) -> Option<Performed>;

impl Program {
    pub(crate) fn follow(&self, server: &Arc<Server>, routine: Routine) {
        assert!(self.routine.set((Arc::downgrade(server), routine)).is_ok());
    }
}

impl Application for Program {
    fn perform(&self, job: Job) {
        if let Some((server, routine)) = self.routine.get()
            && let Some(server) = server.upgrade()
            && let Some(performed) = routine(&job)
        {
            return server.settle(job.id, performed);
        }
        self.jobs.lock().unwrap().push_back(job);
    }

    fn abandon(&self, job: JobId, reason: Abort) {
        self.abandoned.lock().unwrap().push((job, reason));
    }

    fn released(&self, job: JobId) {
        self.released.lock().unwrap().push(job);
    }

    fn answered(&self, inquiry: u64, outcome: Result<String>) {
        self.answered.lock().unwrap().push((inquiry, outcome));
    }

    fn warn(&self, text: String) {
        self.warned.lock().unwrap().push(text);
    }
}

/// A clock that moves when a test says so.
pub(crate) struct MovedClock(watch::Sender<Instant>);

impl MovedClock {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(SystemClock.now()))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now += by);
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Instant {
        *self.0.borrow()
    }

    fn sleep_until(&self, instant: Instant) -> Sleep {
        let mut moved = self.0.subscribe();
        Box::pin(async move {
            // It lasts as long as whoever sleeps by it.
            let _woken = moved.wait_for(|now| *now >= instant).await;
        })
    }

    fn unix_seconds(&self) -> u64 {
        0
    }
}

/// What a test waits for has to come; a test that would wait forever fails.
pub(crate) async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    const PATIENCE: Duration = Duration::from_secs(20);
    tokio::select! {
        biased;
        value = wait => value,
        () = SystemClock.sleep_until(SystemClock.now() + PATIENCE) => panic!("{what} does not come"),
    }
}

/// Waits for something that nobody tells of.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    const PAUSE: Duration = Duration::from_millis(2);
    within(what, async {
        loop {
            if let Some(value) = look() {
                return value;
            }
            SystemClock.sleep_until(SystemClock.now() + PAUSE).await;
        }
    })
    .await
}
