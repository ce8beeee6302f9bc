//! How much of a server one tenant may take: the option `tenantLimits`. `guard::governor` holds tenants to it.

use crate::error::{Error, Result};
use crate::guard::server_limits;
use crate::json::{self, Object};

/// The most of each; what is not there has no limit. Holds valid values alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TenantLimits {
    /// How many of its requests are worked on at once, over all of its connections.
    pub(crate) concurrent_requests: Option<usize>,
    /// Also how many may come at once after a pause.
    pub(crate) requests_per_second: Option<u64>,
    /// Sessions, streams of events and sockets.
    pub(crate) connections: Option<usize>,
    /// Requests under way, and their answers until they are written.
    pub(crate) bytes_in_flight: Option<usize>,
}

impl TenantLimits {
    const NAMES: [&'static str; 4] = [
        "maxConcurrentRequests",
        "maxRequestsPerSecond",
        "maxConnections",
        "maxBytesInFlight",
    ];

    /// Reads the option; a name that there is not is refused, as a misspelt limit must not leave a tenant without one.
    ///
    /// # Errors
    /// `invalid-option`, naming the member.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let options =
            Object::parse(text).ok_or_else(|| Error::invalid_option("tenantLimits must be an object of limits"))?;
        if let Some((name, _)) = options.members().find(|(name, _)| !Self::NAMES.contains(name)) {
            let shown = json::visibly(&json::quote_short(name));
            return Err(Error::invalid_option(format!(
                "{shown} is not an option of tenantLimits"
            )));
        }
        let count = |name: &str| {
            let value = options.get(name);
            value
                .map(|value| server_limits::positive(&format!("tenantLimits.{name}"), value.get()))
                .transpose()
        };
        let size = |name: &str| Ok::<_, Error>(count(name)?.map(server_limits::size));
        Ok(Self {
            concurrent_requests: size("maxConcurrentRequests")?,
            requests_per_second: count("maxRequestsPerSecond")?,
            connections: size("maxConnections")?,
            bytes_in_flight: size("maxBytesInFlight")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn each_member_sets_its_own_limit_and_what_is_left_out_has_none() {
        let text = r#"{"maxConcurrentRequests":1,"maxRequestsPerSecond":2,"maxConnections":3,"maxBytesInFlight":4}"#;
        let limits = TenantLimits {
            concurrent_requests: Some(1),
            requests_per_second: Some(2),
            connections: Some(3),
            bytes_in_flight: Some(4),
        };
        assert_eq!(TenantLimits::parse(text).unwrap(), limits);
        assert_eq!(TenantLimits::parse("{}").unwrap(), TenantLimits::default());
    }

    #[test]
    fn what_is_no_limit_is_named() {
        for name in TenantLimits::NAMES {
            for wrong in ["0", "-1", "1.5", "null", "true", "\"5\"", "[]", "1e400"] {
                let error = TenantLimits::parse(&format!("{{\"{name}\":{wrong}}}")).unwrap_err();
                assert_eq!(error.code(), ErrorCode::InvalidOption);
                let said = format!("tenantLimits.{name} must be a positive integer");
                assert_eq!(error.message(), said, "{wrong}");
            }
        }
        let misspelt = TenantLimits::parse(r#"{"maxConnection":5}"#).unwrap_err();
        assert_eq!(
            misspelt.message(),
            r#""maxConnection" is not an option of tenantLimits"#
        );
        for wrong in ["5", "[]", "null", "\"many\""] {
            let error = TenantLimits::parse(wrong).unwrap_err();
            assert_eq!(error.message(), "tenantLimits must be an object of limits");
        }
    }
}
