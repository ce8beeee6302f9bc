//! What is done when the environment ends. One hook serves a whole thread: the data of a hook is not given back when the
//! hook is removed, so that one for each toolset and server would cost memory for good.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;
use std::rc::{Rc, Weak};

use napi::Env;

thread_local! {
    /// Those of the environment that runs on this thread. The hook holds them.
    static ENDINGS: RefCell<Weak<RefCell<Endings>>> = const { RefCell::new(Weak::new()) };
}

#[derive(Default)]
struct Endings {
    last: u64,
    work: BTreeMap<u64, Box<dyn FnOnce()>>,
}

/// Work that is done when the environment ends, unless this is dropped before.
pub(super) struct AtEnd {
    endings: Weak<RefCell<Endings>>,
    number: u64,
}

impl AtEnd {
    pub(super) fn new(env: Env, work: impl FnOnce() + 'static) -> napi::Result<Self> {
        let endings = of_thread(env)?;
        let number = {
            let mut endings = endings.borrow_mut();
            endings.last += 1;
            let number = endings.last;
            endings.work.insert(number, Box::new(work));
            number
        };
        Ok(Self {
            endings: Rc::downgrade(&endings),
            number,
        })
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(endings) = self.endings.upgrade() {
            let spared = endings.borrow_mut().work.remove(&self.number);
            // Not while the others are held.
            drop(spared);
        }
    }
}

fn of_thread(env: Env) -> napi::Result<Rc<RefCell<Endings>>> {
    if let Some(endings) = ENDINGS.with_borrow(Weak::upgrade) {
        return Ok(endings);
    }
    let endings = Rc::<RefCell<Endings>>::default();
    env.add_env_cleanup_hook(Rc::clone(&endings), |endings| {
        let work = mem::take(&mut endings.borrow_mut().work);
        for end in work.into_values() {
            end();
        }
    })?;
    ENDINGS.set(Rc::downgrade(&endings));
    Ok(endings)
}
