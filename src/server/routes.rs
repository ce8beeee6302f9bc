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
use crate::guard::tenancy::{self, Decision, Known, Question};
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

    fn runtime_of(&self, session: &str) -> Option<RuntimeId> {
        Some(self.sessions.get(session)?.runtime)
    }

    /// That of the only session of a tenant.
    fn only_runtime_of(&self, tenant: &str) -> Option<RuntimeId> {
        self.runtime_of(self.tenants.get(tenant)?.iter().next()?)
    }
}

impl tenancy::Registered for Registry {
    fn session(&self, session: &str) -> Known<'_> {
        match self.sessions.get(session) {
            None => Known::Not,
            Some(registered) => registered.tenant.as_deref().map_or(Known::WithoutTenant, Known::Of),
        }
    }

    fn count_of(&self, tenant: &str) -> usize {
        self.tenants.get(tenant).map_or(0, HashSet::len)
    }

    fn has_tenants(&self) -> bool {
        !self.tenants.is_empty()
    }
}

impl Server {
    /// Where requests of a connection go; nothing when the program has to be asked.
    pub(crate) fn route_at_hand(&self, connection: &Connection) -> Option<Result<Route, WireError>> {
        let identity = &connection.identity;
        let (tenant, session) = (identity.tenant.as_deref(), identity.session.as_deref());
        let question = Question {
            is_multi_tenant: self.is_multi_tenant(),
            has_hook: self.options().has_hook,
            allows_untenanted_sessions: self.options().allows_untenanted_sessions,
            tenant,
            session,
        };
        // Decision and runtime out of one state of the registry.
        let (decision, found) = self.registry(|registry| {
            let decision = tenancy::decide(question, registry);
            let found = match decision {
                Decision::NamedSession => session.and_then(|session| registry.runtime_of(session)),
                Decision::OnlySession => tenant.and_then(|tenant| registry.only_runtime_of(tenant)),
                Decision::Constructor | Decision::AskHook | Decision::Unauthorized => None,
            };
            (decision, found)
        });
        let route = match (decision, found) {
            (Decision::AskHook, _) => return None,
            (Decision::Constructor, _) => Route {
                runtime: self.offer().runtime,
                is_of_tenant: false,
                has_tenant: false,
            },
            (Decision::NamedSession | Decision::OnlySession, Some(runtime)) => Route {
                runtime: Some(runtime),
                is_of_tenant: true,
                has_tenant: tenant.is_some(),
            },
            _ => return Some(Err(answer::unauthorized())),
        };
        connection.reaches(route.runtime);
        Some(Ok(route))
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
}
