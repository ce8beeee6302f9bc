//! Threads that start children. They never end: what the system does to a child on the death of its parent, it does when
//! the thread ends that started it. Starting may block for as long as a file system does, so that each start has a thread
//! to itself; threads that have nothing to do are used again.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SendError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// The threads that wait for work.
static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());

/// Runs `work` on such a thread. Nothing comes back when it panics.
///
/// # Errors
/// When the system has no more threads.
pub(super) fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<oneshot::Receiver<T>> {
    let (tell, told) = oneshot::channel();
    let mut job: Job = Box::new(move || drop(tell.send(work())));
    loop {
        // The lock is not held while the thread is woken.
        let thread = idle().pop();
        let Some(thread) = thread else { break };
        match thread.send(job) {
            Ok(()) => return Ok(told),
            Err(SendError(back)) => job = back,
        }
    }
    thread::Builder::new()
        .name("espalier-start".to_owned())
        .spawn(move || serve(job))?;
    Ok(told)
}

fn serve(first: Job) {
    let (more, jobs) = channel();
    let mut job = first;
    loop {
        // A panic was printed by its hook, and whoever waits hears that nothing comes.
        drop(catch_unwind(AssertUnwindSafe(job)));
        idle().push(more.clone());
        match jobs.recv() {
            Ok(next) => job = next,
            Err(_) => return,
        }
    }
}

fn idle() -> MutexGuard<'static, Vec<Sender<Job>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads() -> usize {
        std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
    }

    #[test]
    fn a_thread_is_used_again_also_after_a_panic() {
        let name = || thread::current().id();
        let first = run(name).unwrap().blocking_recv().unwrap();
        assert!(run(|| panic!("on purpose")).unwrap().blocking_recv().is_err());
        let before = threads();
        for _ in 0..20 {
            run(name).unwrap().blocking_recv().unwrap();
        }
        // One that has answered may not have said yet that it is idle.
        assert!(threads() < before + 20, "{} threads, {before} before", threads());
        assert_ne!(first, thread::current().id());
    }

    #[test]
    fn one_that_blocks_holds_nobody_up() {
        let (release, held) = channel::<()>();
        let blocked = run(move || held.recv().is_ok()).unwrap();
        assert_eq!(run(|| 7).unwrap().blocking_recv(), Ok(7));
        release.send(()).unwrap();
        assert_eq!(blocked.blocking_recv(), Ok(true));
    }
}
