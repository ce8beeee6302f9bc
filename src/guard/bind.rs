//! Where a server may listen (seed, "Security defaults"): on loopback for whoever is on the machine, anywhere else only
//! when connections are authenticated. Decides on the host as it was written, without looking anything up.

use std::net::{IpAddr, Ipv6Addr};

use crate::error::{Error, Result};
use crate::json;

/// Whether a host to bind is loopback: `localhost`, `::1` or `127.x.y.z`. What is only as good as one of these is not:
/// it costs a listed host, and saves a server that is open by mistake.
pub(crate) fn is_loopback(host: &str) -> bool {
    match bare(host).parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback(),
        Ok(IpAddr::V6(address)) => address == Ipv6Addr::LOCALHOST,
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

/// Refuses a host that others can reach where nobody asks them who they are. `is_authenticated`: tokens are verified, a
/// function names the tenant, the hook decides on every request, or it is wanted like that.
///
/// # Errors
/// `invalid-option`, naming the host and the ways out.
pub(crate) fn check_bind(host: &str, is_authenticated: bool) -> Result<()> {
    if is_loopback(host) || is_authenticated {
        return Ok(());
    }
    Err(Error::invalid_option(format!(
        "host {} can be reached from other machines, and connections are not authenticated: configure auth, a \
         tenantIdExtractor or a resolveRuntime hook, or set allowUnauthenticated: true to accept the risk",
        json::visibly(&json::quote_short(host))
    )))
}

/// An address without the brackets that a URL would have around it.
pub(super) fn bare(host: &str) -> &str {
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn loopback_is_what_the_contract_lists() {
        for host in [
            "localhost",
            "LocalHost",
            "127.0.0.1",
            "127.255.3.4",
            "::1",
            "[::1]",
            "0:0:0:0:0:0:0:1",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "0.0.0.0",
            "::",
            "192.168.0.1",
            "128.0.0.1",
            "localhost.example",
            "localhost.",
            "127.0.0.1.example",
            "127.1",
            "2130706433",
            "::ffff:127.0.0.1",
            "[127.0.0.1]x",
            "",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn a_public_host_needs_a_way_to_know_who_calls() {
        let error = check_bind("0.0.0.0", false).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidOption);
        for said in [
            "0.0.0.0",
            "auth",
            "tenantIdExtractor",
            "resolveRuntime",
            "allowUnauthenticated",
        ] {
            assert!(error.message().contains(said), "{error}");
        }
        assert!(check_bind("0.0.0.0", true).is_ok());
        assert!(check_bind("127.0.0.1", false).is_ok());
    }
}
