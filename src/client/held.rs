//! Calls that cannot be sent yet, because their credential is still asked for or their server is being brought up. Here is
//! only how they are reached meanwhile: a credential arrives, or they are given up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::host::CallId;

#[derive(Default)]
pub(super) struct HeldCalls(Mutex<HashMap<CallId, Held>>);

struct Held {
    given_up: CancellationToken,
    /// Who waits for the credential; nobody once it came.
    credential: Option<oneshot::Sender<String>>,
}

/// A call's own end of it. Dropping it forgets the call.
pub(super) struct Hold {
    id: CallId,
    calls: Arc<HeldCalls>,
    /// Fires when the call is given up.
    pub(super) given_up: CancellationToken,
    pub(super) credential: oneshot::Receiver<String>,
}

impl HeldCalls {
    /// Holds a call. Its number is its caller's own, and unique.
    pub(super) fn hold(self: &Arc<Self>, id: CallId) -> Hold {
        let (give, credential) = oneshot::channel();
        let given_up = CancellationToken::new();
        let held = Held {
            given_up: given_up.clone(),
            credential: Some(give),
        };
        self.calls().insert(id, held);
        Hold {
            id,
            calls: Arc::clone(self),
            given_up,
            credential,
        }
    }

    /// Gives up the call of this number, if it is held.
    pub(super) fn give_up(&self, id: CallId) {
        if let Some(held) = self.calls().get(&id) {
            held.given_up.cancel();
        }
    }

    /// The credential of the call of this number has come. A call that has ended meanwhile needs none.
    pub(super) fn authorize(&self, id: CallId, bearer: String) {
        let waits = self.calls().get_mut(&id).and_then(|held| held.credential.take());
        if let Some(waits) = waits {
            drop(waits.send(bearer));
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<CallId, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.calls.calls().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_hears_of_its_credential_and_of_being_given_up_until_it_is_let_go() {
        let calls = Arc::new(HeldCalls::default());
        let mut one = calls.hold(1);
        let mut two = calls.hold(2);
        calls.authorize(1, "first".to_owned());
        calls.authorize(1, "second".to_owned());
        assert_eq!(one.credential.try_recv().unwrap(), "first");
        assert!(two.credential.try_recv().is_err());

        calls.give_up(2);
        assert!(two.given_up.is_cancelled());
        assert!(!one.given_up.is_cancelled());

        drop((one, two));
        assert!(calls.calls().is_empty());
        calls.give_up(1);
        calls.authorize(2, "late".to_owned());
    }
}
