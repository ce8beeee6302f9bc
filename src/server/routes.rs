//! What the rule of `guard::tenancy` asks about: the sessions that the program registered.

use std::collections::{HashMap, HashSet};

use crate::guard::tenancy::{self, Known};
use crate::host::server::RuntimeId;

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

    pub(super) fn runtime_of(&self, session: &str) -> Option<RuntimeId> {
        Some(self.sessions.get(session)?.runtime)
    }

    /// That of the only session of a tenant.
    pub(super) fn only_runtime_of(&self, tenant: &str) -> Option<RuntimeId> {
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
