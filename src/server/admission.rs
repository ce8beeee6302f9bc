//! What a tenant that has reached a limit is told.

use serde_json::value::RawValue;

use super::answer;
use super::lifecycle::Server;
use super::tenants::{Load, Membership};
use crate::guard::governor::{Refused, Tenant};
use crate::json;
use crate::protocol::codes::WireError;
use crate::protocol::message::Params;
use crate::protocol::revision::Era;

impl Server {
    /// A request of a tenant came; nothing where tenants have no limits.
    ///
    /// # Errors
    /// When its tenant has to wait before it sends another one.
    pub(crate) fn arrive(
        &self,
        tenant: &Tenant,
        params: Option<&RawValue>,
        era: Era,
    ) -> Result<Option<Load>, WireError> {
        let bytes = params.map_or(0, |params| params.get().len());
        let load = self.tenants().map(|tenants| tenants.arrive(tenant, bytes)).transpose();
        load.map_err(|refused| self.refused(refused, era))
    }

    /// A connection of a tenant opens; nothing where tenants have no limits.
    ///
    /// # Errors
    /// When its tenant has too many: it must not be opened.
    pub(crate) fn admit(&self, tenant: &Tenant, era: Era) -> Result<Option<Membership>, WireError> {
        let membership = self.tenants().map(|tenants| tenants.connect(tenant)).transpose();
        membership.map_err(|refused| self.refused(refused, era))
    }

    /// The words for a tenant that has reached a limit: its own, and nobody else's.
    pub(crate) fn refused(&self, refused: Refused, era: Era) -> WireError {
        self.counters().refused_tenants.add();
        let millis = refused.retry_after.as_nanos().div_ceil(1_000_000).max(1);
        let data = Params::new()
            .text("reason", "busy")
            .raw("limit", &json::quote(refused.limit.name()))
            .raw("retryAfterMs", &millis.to_string());
        let mut error = answer::busy(era).with_data(data.object());
        error.retry_after = Some(refused.retry_after);
        error
    }
}
