//! Tenants held to their limits, where the server has some. The rules are `guard::governor`'s; here is who waits, and what
//! is given back when it goes out of scope.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::guard::governor::{Entry, Governor, Refused, Tenant, Ticket};
use crate::guard::tenant_limits::TenantLimits;
use crate::host::Clock;
use crate::limits;
use crate::protocol::message::Params;

pub(crate) struct Tenants {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

struct State {
    governor: Governor,
    called: HashMap<Ticket, oneshot::Sender<Result<Place, Refused>>>,
}

/// One of those of its tenant that run.
pub(crate) struct Place {
    tenants: Arc<Tenants>,
    tenant: Tenant,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.tenants.leave(&self.tenant);
    }
}

/// One of the connections of its tenant.
pub(crate) struct Membership {
    tenants: Arc<Tenants>,
    tenant: Tenant,
}

impl Drop for Membership {
    fn drop(&mut self) {
        let now = self.tenants.clock.now();
        self.tenants.state().governor.disconnect(&self.tenant, now);
    }
}

/// Bytes of a tenant that are in flight.
pub(crate) struct Load {
    tenants: Arc<Tenants>,
    tenant: Tenant,
    bytes: usize,
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}

impl Load {
    /// Those of the answer come on top.
    pub(crate) fn grow(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.tenants.state().governor.grow(&self.tenant, bytes);
    }

    /// Takes over what another one of the same tenant stands for.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.bytes = self.bytes.saturating_add(std::mem::take(&mut other.bytes));
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let now = self.tenants.clock.now();
        self.tenants.state().governor.give_back(&self.tenant, self.bytes, now);
    }
}

/// Somebody who waits; whoever does not any more makes room.
struct Waiting<'a> {
    tenants: &'a Tenants,
    tenant: &'a Tenant,
    ticket: Ticket,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let now = self.tenants.clock.now();
        let mut state = self.tenants.state();
        if state.called.remove(&self.ticket).is_some() {
            state.governor.forsake(self.tenant, self.ticket, now);
        }
    }
}

impl Tenants {
    pub(crate) fn new(tenant_limits: TenantLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            state: Mutex::new(State {
                governor: Governor::new(tenant_limits, limits::MAX_WAITING_FOR_THEIR_TENANT),
                called: HashMap::new(),
            }),
            clock,
        }
    }

    /// A request came, of so many bytes.
    ///
    /// # Errors
    /// When its tenant has to wait before it sends another one.
    pub(crate) fn arrive(self: &Arc<Self>, tenant: &Tenant, bytes: usize) -> Result<Load, Refused> {
        let now = self.clock.now();
        self.state().governor.arrive(tenant, bytes, now)?;
        Ok(Load {
            tenants: Arc::clone(self),
            tenant: tenant.clone(),
            bytes,
        })
    }

    /// A connection opens.
    ///
    /// # Errors
    /// When its tenant has too many.
    pub(crate) fn connect(self: &Arc<Self>, tenant: &Tenant) -> Result<Membership, Refused> {
        self.state().governor.connect(tenant)?;
        Ok(Membership {
            tenants: Arc::clone(self),
            tenant: tenant.clone(),
        })
    }

    /// A place among those of a tenant that run, once there is one: first come, first served.
    ///
    /// # Errors
    /// When too many wait.
    pub(crate) async fn enter(self: &Arc<Self>, tenant: &Tenant) -> Result<Place, Refused> {
        let (ticket, called, displaced) = {
            let mut state = self.state();
            match state.governor.enter(tenant)? {
                Entry::Runs => return Ok(self.place(tenant)),
                Entry::Waits { ticket, displaced } => {
                    let (call, called) = oneshot::channel();
                    state.called.insert(ticket, call);
                    let displaced = displaced.and_then(|displaced| state.called.remove(&displaced));
                    (ticket, called, displaced)
                }
            }
        };
        let waiting = Waiting {
            tenants: self,
            tenant,
            ticket,
        };
        if let Some(displaced) = displaced {
            // Whoever gave up meanwhile needs no word of it.
            drop(displaced.send(Err(Refused::BUSY)));
        }
        let called = called.await;
        drop(waiting);
        // Nobody is forgotten while it waits.
        called.unwrap_or(Err(Refused::BUSY))
    }

    /// How many requests wait for others of their tenant.
    pub(crate) fn waiting(&self) -> usize {
        self.state().governor.waiting()
    }

    fn place(self: &Arc<Self>, tenant: &Tenant) -> Place {
        Place {
            tenants: Arc::clone(self),
            tenant: tenant.clone(),
        }
    }

    fn leave(self: &Arc<Self>, tenant: &Tenant) {
        let now = self.clock.now();
        let next = {
            let mut state = self.state();
            let next = state.governor.leave(tenant, now);
            next.and_then(|ticket| state.called.remove(&ticket))
        };
        if let Some(next) = next {
            // A place that nobody takes any more goes to the one behind it.
            drop(next.send(Ok(self.place(tenant))));
        }
    }

    /// What each tenant takes now, as JSON text of an array.
    pub(crate) fn figures(&self) -> String {
        let now = self.clock.now();
        let figures = self.state().governor.figures(limits::MAX_TOLD_TENANTS, now);
        let told: Vec<_> = figures
            .into_iter()
            .map(|figures| {
                let mut params = Params::new();
                if let Some(tenant) = &figures.tenant {
                    params = params.text("tenantId", tenant);
                }
                params
                    .raw("running", &figures.running.to_string())
                    .raw("queued", &figures.waiting.to_string())
                    .raw("connections", &figures.connections.to_string())
                    .raw("bytesInFlight", &figures.bytes.to_string())
                    .raw("refused", &figures.refused.to_string())
                    .object()
            })
            .collect();
        format!("[{}]", told.join(","))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;
    use crate::server::testing::MovedClock;

    fn tenants(limits: &str) -> Arc<Tenants> {
        let limits = TenantLimits::parse(limits).unwrap();
        Arc::new(Tenants::new(limits, Arc::new(MovedClock::new())))
    }

    #[tokio::test]
    async fn a_place_goes_to_whoever_has_waited_longest_and_wants_it_still() {
        let tenants = tenants(r#"{"maxConcurrentRequests":1}"#);
        let tenant: Tenant = Some("a".into());
        let first = tenants.enter(&tenant).await.unwrap();
        let mut second = Box::pin(tenants.enter(&tenant));
        let mut third = Box::pin(tenants.enter(&tenant));
        let mut fourth = Box::pin(tenants.enter(&tenant));
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending() && poll!(&mut fourth).is_pending());
        assert_eq!(tenants.waiting(), 3);
        assert!(tenants.enter(&None).await.is_ok());

        drop(second);
        drop(first);
        // It was called and goes away before it has heard of that.
        drop(third);
        let fourth = fourth.await.unwrap();
        assert_eq!(tenants.waiting(), 0);
        drop(fourth);
        assert_eq!(tenants.figures(), "[]");
    }

    #[tokio::test]
    async fn whoever_is_displaced_is_told_so() {
        let limits = TenantLimits::parse(r#"{"maxConcurrentRequests":1}"#).unwrap();
        let tenants = Arc::new(Tenants {
            state: Mutex::new(State {
                governor: Governor::new(limits, 2),
                called: HashMap::new(),
            }),
            clock: Arc::new(MovedClock::new()),
        });
        let (greedy, quiet): (Tenant, Tenant) = (Some("greedy".into()), Some("quiet".into()));
        let _places = (tenants.enter(&greedy).await, tenants.enter(&quiet).await);
        let mut older = Box::pin(tenants.enter(&greedy));
        let mut newer = Box::pin(tenants.enter(&greedy));
        assert!(poll!(&mut older).is_pending() && poll!(&mut newer).is_pending());
        let mut other = Box::pin(tenants.enter(&quiet));
        assert!(poll!(&mut other).is_pending());
        assert_eq!(newer.await.err(), Some(Refused::BUSY));
        assert!(poll!(&mut older).is_pending());
        assert_eq!(tenants.waiting(), 2);
    }

    #[test]
    fn figures_are_there_while_something_is() {
        let tenants = tenants("{}");
        let tenant: Tenant = Some("a\"b".into());
        let connection = tenants.connect(&tenant).unwrap();
        let mut load = tenants.arrive(&None, 5).unwrap();
        load.grow(7);
        assert_eq!(
            tenants.figures(),
            "[{\"running\":0,\"queued\":0,\"connections\":0,\"bytesInFlight\":12,\"refused\":0},\
             {\"tenantId\":\"a\\\"b\",\"running\":0,\"queued\":0,\"connections\":1,\"bytesInFlight\":0,\"refused\":0}]"
        );
        drop((connection, load));
        assert_eq!(tenants.figures(), "[]");
    }
}
