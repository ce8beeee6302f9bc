//! A store on a file, off the threads that must not block: what is asked of it waits in a queue with a bound and is done
//! one by one, in order, on a thread that may block. The thread is given back when nothing waits.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;

use super::{Place, SqliteStore};
use crate::error::{Error, ErrorCode, Result};
use crate::limits;

/// A handle; when the last one goes, the database is closed behind what still waits.
pub(crate) struct Worker {
    desk: Arc<Desk>,
    runtime: Handle,
}

/// What is done with the store, or is told why there is none. It tells its result itself.
pub(crate) type Work = Box<dyn FnOnce(Result<&mut SqliteStore>) + Send>;

struct Desk {
    queue: Mutex<Queue>,
    /// Locked by one thread at a time, the one that works.
    store: Mutex<Option<SqliteStore>>,
    place: Place,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    /// Whether a thread is at it.
    busy: bool,
    closed: bool,
}

enum Job {
    Work(Work),
    /// Closes the database; what is told once it is.
    Close(Option<Box<dyn FnOnce() + Send>>),
}

impl Worker {
    /// Opens nothing yet: the first that is asked of the store does.
    pub(crate) fn new(place: Place, runtime: Handle) -> Self {
        let desk = Desk {
            queue: Mutex::default(),
            store: Mutex::new(None),
            place,
        };
        Self {
            desk: Arc::new(desk),
            runtime,
        }
    }

    /// Queues something to do. When the store is closed, or too much waits already, it is told so at once.
    pub(crate) fn submit(&self, work: Work) {
        let queue = self.desk.queue();
        let refusal = if queue.closed {
            "is closed"
        } else if queue.waiting.len() >= limits::MAX_QUEUED_STORE_WORK {
            "does not keep up: too much waits for it"
        } else {
            return self.push(queue, Job::Work(work));
        };
        drop(queue);
        let place = &self.desk.place;
        let message = format!("the connection store {place} {refusal}");
        work(Err(Error::new(ErrorCode::Store, message)));
    }

    /// Closes the database behind everything that waits; nothing can be asked of it any more.
    pub(crate) fn close(&self, done: impl FnOnce() + Send + 'static) {
        let mut queue = self.desk.queue();
        queue.closed = true;
        self.push(queue, Job::Close(Some(Box::new(done))));
    }

    fn push(&self, mut queue: MutexGuard<'_, Queue>, job: Job) {
        queue.waiting.push_back(job);
        if std::mem::replace(&mut queue.busy, true) {
            return;
        }
        drop(queue);
        let desk = Arc::clone(&self.desk);
        self.runtime.spawn_blocking(move || desk.work());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut queue = self.desk.queue();
        if !std::mem::replace(&mut queue.closed, true) {
            self.push(queue, Job::Close(None));
        }
    }
}

impl Desk {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut queue = self.queue();
            let Some(job) = queue.waiting.pop_front() else {
                queue.busy = false;
                return;
            };
            drop(queue);
            // Whatever goes wrong in one, the next ones are done; who asked is told when its job is dropped.
            drop(catch_unwind(AssertUnwindSafe(|| self.run(job, &mut store))));
        }
    }

    fn run(&self, job: Job, store: &mut Option<SqliteStore>) {
        match job {
            Job::Work(work) => match store {
                Some(store) => work(Ok(store)),
                // What could not be opened is tried again each time: a lock goes away.
                None => match SqliteStore::open(&self.place, limits::STORE_LOCK_WAIT) {
                    Ok(opened) => work(Ok(store.insert(opened))),
                    Err(error) => work(Err(error)),
                },
            },
            Job::Close(done) => {
                *store = None;
                if let Some(done) = done {
                    done();
                }
            }
        }
    }
}
