//! Which runtime a request may reach. The rule is `guard::tenancy`'s; here is what it asks about: the sessions that the
//! program registered, and its hook.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::answer;
use super::connection::Connection;
use super::exchange::Exchange;
use super::jobs::Task;
use super::lifecycle::Server;
use super::slots::Slot;
use crate::host::server::{JobKind, Performed, RuntimeId};
use crate::protocol::codes::WireError;

/// Where a request goes, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Nothing where none is bound.
    pub(crate) runtime: Option<RuntimeId>,
    /// Whether it is another than the server's own.
    pub(crate) is_of_tenant: bool,
    /// Whether the connection has a tenant.
    pub(crate) has_tenant: bool,
}

/// The sessions that the program registered.
#[derive(Default)]
pub(crate) struct Registry {
    sessions: HashMap<String, Registered>,
    /// The sessions of each tenant.
    tenants: HashMap<String, HashSet<String>>,
}

#[derive(Clone)]
struct Registered {
    runtime: RuntimeId,
    tenant: Option<String>,
}

impl Registry {
    /// The last registration of a session counts.
    pub(crate) fn set(&mut self, session: String, runtime: RuntimeId, tenant: Option<String>) {
        self.remove(&session);
        if let Some(tenant) = &tenant {
            self.tenants.entry(tenant.clone()).or_default().insert(session.clone());
        }
        self.sessions.insert(session, Registered { runtime, tenant });
    }

    pub(crate) fn remove(&mut self, session: &str) {
        let Some(tenant) = self.sessions.remove(session).and_then(|registered| registered.tenant) else {
            return;
        };
        if let Some(sessions) = self.tenants.get_mut(&tenant) {
            sessions.remove(session);
            if sessions.is_empty() {
                self.tenants.remove(&tenant);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.sessions.len()
    }

    fn has_tenants(&self) -> bool {
        !self.tenants.is_empty()
    }

    fn session(&self, session: &str) -> Option<&Registered> {
        self.sessions.get(session)
    }

    /// How many sessions a tenant has, and the runtime of the only one.
    fn tenant(&self, tenant: &str) -> (usize, Option<RuntimeId>) {
        let Some(sessions) = self.tenants.get(tenant) else {
            return (0, None);
        };
        let only = sessions.iter().next().filter(|_| sessions.len() == 1);
        let runtime = only.and_then(|session| Some(self.sessions.get(session)?.runtime));
        (sessions.len(), runtime)
    }
}

/// Who may go where, before a hook is asked.
enum Decision {
    Allowed(Route),
    AskHook,
    Refused,
}

impl Server {
    /// Where requests of a connection go; nothing when the program has to be asked.
    pub(crate) fn route_at_hand(&self, connection: &Connection) -> Option<Result<Route, WireError>> {
        match self.decide(connection) {
            Decision::Allowed(route) => {
                connection.reaches(route.runtime);
                Some(Ok(route))
            }
            Decision::Refused => Some(Err(answer::unauthorized())),
            Decision::AskHook => None,
        }
    }

    /// Where a request goes; the program is asked where it wants to be.
    pub(crate) async fn route(&self, exchange: &Arc<Exchange>, slot: Option<&Slot>) -> Result<Route, WireError> {
        let connection = &exchange.connection;
        if let Some(routed) = self.route_at_hand(connection) {
            return routed;
        }
        let task = Task {
            kind: JobKind::Resolve,
            runtime: None,
            name: "",
            text: String::new(),
            answers: None,
        };
        let runtime = match self.jobs().perform(exchange, slot, task).await {
            Some(Performed::Runtime(runtime)) => runtime,
            Some(Performed::Nothing) => return Err(answer::unauthorized()),
            performed => return Err(Self::not_a_result(performed)),
        };
        connection.reaches(Some(runtime));
        Ok(Route {
            runtime: Some(runtime),
            is_of_tenant: true,
            has_tenant: connection.identity.tenant.is_some(),
        })
    }

    /// Whether what a connection last reached is this runtime.
    pub(crate) fn may_reach(&self, connection: &Connection, runtime: RuntimeId) -> bool {
        let own = self.offer().runtime == Some(runtime) && !self.options().has_hook && !self.is_multi_tenant();
        own || connection.reached() == Some(runtime)
    }

    fn decide(&self, connection: &Connection) -> Decision {
        let identity = &connection.identity;
        let (tenant, session) = (identity.tenant.as_deref(), identity.session.as_deref());
        let is_anonymous = tenant.is_none() && session.is_none();
        let is_multi_tenant = self.is_multi_tenant();
        if is_multi_tenant && is_anonymous {
            return Decision::Refused;
        }
        if self.options().has_hook {
            return Decision::AskHook;
        }
        let allowed = |runtime| {
            Decision::Allowed(Route {
                runtime: Some(runtime),
                is_of_tenant: true,
                has_tenant: tenant.is_some(),
            })
        };
        if let Some(session) = session {
            let allows_untenanted = self.options().allows_untenanted_sessions;
            return self.registry(|registry| match registry.session(session) {
                Some(registered) if registered.tenant.as_deref() == tenant => {
                    if tenant.is_none() && !allows_untenanted {
                        Decision::Refused
                    } else {
                        allowed(registered.runtime)
                    }
                }
                _ => Decision::Refused,
            });
        }
        if let Some(tenant) = tenant {
            return match self.registry(|registry| registry.tenant(tenant)) {
                (1, Some(runtime)) => allowed(runtime),
                _ => Decision::Refused,
            };
        }
        if self.registry(Registry::has_tenants) {
            return Decision::Refused;
        }
        Decision::Allowed(Route {
            runtime: self.offer().runtime,
            is_of_tenant: false,
            has_tenant: false,
        })
    }
}
