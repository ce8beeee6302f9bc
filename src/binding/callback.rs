//! The one way into JavaScript from other threads: a weak function that is called with everything that waits. Weak, so
//! that no callback keeps a process alive; one wake for a whole batch, because waking the JavaScript thread is what costs.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{FnArgs, Function, ToNapiValue};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};

use crate::limits;

type Wake<T> = ThreadsafeFunction<(), (), FnArgs<(<T as Parcel>::Batch,)>, Status, false, true>;

/// What can wait in a mailbox.
pub(super) trait Parcel: Sized + Send + 'static {
    /// The form in which all that waits crosses together.
    type Batch: ToNapiValue + 'static;

    fn pack(waiting: Vec<Self>) -> Self::Batch;
}

/// What waits for the JavaScript thread, and the function that takes it.
pub(super) struct Mailbox<T: Parcel> {
    queue: Arc<Mutex<Queue<T>>>,
    wake: Wake<T>,
}

struct Queue<T> {
    waiting: Vec<T>,
    /// How much of each lane waits.
    lanes: [Load; Lane::COUNT],
    /// Whether a wake is under way that will take what waits.
    woken: bool,
}

#[derive(Clone, Copy, Default)]
struct Load {
    items: usize,
    bytes: usize,
}

/// A kind of item that others send us, and how many of it may wait: what comes on top is dropped, because a JavaScript
/// thread that is blocked for so long must not cost memory without end.
#[derive(Clone, Copy)]
pub(super) enum Lane {
    Progress,
    Diagnostics,
    Stderr,
    Logs,
    Changes,
}

impl Lane {
    const COUNT: usize = 5;

    const fn capacity(self) -> usize {
        match self {
            Self::Progress => limits::MAX_QUEUED_PROGRESS,
            Self::Diagnostics => limits::MAX_QUEUED_DIAGNOSTICS,
            Self::Stderr => limits::MAX_QUEUED_STDERR_LINES,
            Self::Logs => limits::MAX_QUEUED_LOGS,
            Self::Changes => limits::MAX_QUEUED_CHANGES,
        }
    }
}

impl<T: Parcel> Mailbox<T> {
    /// `deliver` must catch what the user's functions throw: only it knows their names.
    pub(super) fn new(deliver: &Function<'_, FnArgs<(T::Batch,)>, ()>) -> napi::Result<Self> {
        let queue = Arc::new(Mutex::new(Queue {
            waiting: Vec::new(),
            lanes: [Load::default(); Lane::COUNT],
            woken: false,
        }));
        let taken = Arc::clone(&queue);
        let wake = deliver
            .build_threadsafe_function::<()>()
            .weak::<true>()
            .build_callback(move |_| {
                // A panic must not cross into C.
                let batch = catch_unwind(AssertUnwindSafe(|| take(&taken))).unwrap_or_default();
                Ok(FnArgs::from((T::pack(batch),)))
            })?;
        Ok(Self { queue, wake })
    }

    /// Hands over the answer to something that the facade asked for: it waits as long as it has to.
    pub(super) fn answer(&self, item: T) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.push(queue, item);
    }

    /// Hands over what nobody asked for, of so many bytes.
    pub(super) fn tell(&self, lane: Lane, bytes: usize, item: T) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room =
            |load: &&mut Load| load.items < lane.capacity() && load.bytes + bytes <= limits::MAX_QUEUED_BYTES;
        let Some(load) = queue.lanes.get_mut(lane as usize).filter(has_room) else {
            return;
        };
        load.items += 1;
        load.bytes += bytes;
        self.push(queue, item);
    }

    fn push(&self, mut queue: MutexGuard<'_, Queue<T>>, item: T) {
        queue.waiting.push(item);
        if mem::replace(&mut queue.woken, true) {
            return;
        }
        drop(queue);
        // What comes back, an exception included, is dropped: the facade's function has no result and reports the
        // user's exceptions itself. A refusal means that the environment is going away, and everybody in it.
        self.wake
            .call_with_return_value((), ThreadsafeFunctionCallMode::NonBlocking, |_, _| Ok(()));
    }
}

fn take<T>(queue: &Mutex<Queue<T>>) -> Vec<T> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.woken = false;
    queue.lanes = [Load::default(); Lane::COUNT];
    mem::take(&mut queue.waiting)
}

type Hold = ThreadsafeFunction<(), (), (), Status, false, false>;

/// Keeps the process alive for as long as it exists: the one explicit handle of a connected toolset.
pub(super) struct KeepAlive {
    _hold: Hold,
}

impl KeepAlive {
    pub(super) fn new(env: Env) -> napi::Result<Self> {
        let nothing: Function<'_, (), ()> = env.create_function_from_closure("espalierKeepAlive", |_| Ok(()))?;
        let hold = nothing.build_threadsafe_function::<()>().build_callback(|_| Ok(()))?;
        Ok(Self { _hold: hold })
    }
}
