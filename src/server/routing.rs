//! Where requests go: the decision is `guard::tenancy`'s, and the program is asked where it wants to be.

use std::sync::Arc;

use super::answer;
use super::connection::Connection;
use super::exchange::Exchange;
use super::jobs::Task;
use super::lifecycle::Server;
use super::routes::Route;
use super::slots::Slot;
use crate::guard::tenancy::{self, Decision, Question};
use crate::host::server::{JobKind, Performed, RuntimeId};
use crate::protocol::codes::WireError;

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
