//! What a request to a server says of where it comes from (seed, "Security defaults"): the host that it was sent to, which
//! unmasks a name that was bound to a local address by others, and the page that sent it. Both are looked at before any
//! routing. Letters and ports are compared as RFC 9110 has them; nothing is looked up, and nothing counts as nearly right.

use std::collections::HashSet;
use std::net::Ipv6Addr;

use url::{Host, Url};

use super::bind::{bare, is_loopback};
use crate::error::{Error, Result};
use crate::json;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Verdict {
    Allowed,
    /// Not said in the way that HTTP wants: 400.
    Malformed,
    /// Said, and not allowed: 403.
    Refused,
}

/// The hosts that requests may be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InboundHosts {
    /// On a public address without a list nothing is known of its names.
    Any,
    /// Names in small letters, addresses of version 6 in brackets.
    Only(HashSet<String>),
}

impl InboundHosts {
    /// From the option `allowedHosts`, and for a server that is bound to `host`.
    ///
    /// # Errors
    /// `invalid-option`, naming the entry that is no host.
    pub(crate) fn new<S: AsRef<str>>(listed: Option<&[S]>, host: &str) -> Result<Self> {
        let Some(listed) = listed else {
            if !is_loopback(host) {
                return Ok(Self::Any);
            }
            let mut hosts = HashSet::from(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
            hosts.extend(read_entry(host));
            return Ok(Self::Only(hosts));
        };
        let hosts = listed.iter().map(AsRef::as_ref).map(|entry| {
            read_entry(entry)
                .ok_or_else(|| Error::invalid_option(format!("allowedHosts has {}, which is no host", shown(entry))))
        });
        Ok(Self::Only(hosts.collect::<Result<_>>()?))
    }

    /// Judges the `Host` headers of a request, and the authority of its target where that has one.
    pub(crate) fn judge<'a>(&self, mut hosts: impl Iterator<Item = &'a [u8]>, authority: Option<&str>) -> Verdict {
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Verdict::Malformed;
        };
        if host.trim_ascii().is_empty() {
            return Verdict::Malformed;
        }
        let Self::Only(allowed) = self else {
            return Verdict::Allowed;
        };
        let is_allowed = |authority: &str| host_of(authority).is_some_and(|host| allowed.contains(&host));
        let is_host_allowed = std::str::from_utf8(host).is_ok_and(|host| is_allowed(host.trim_ascii()));
        if is_host_allowed && authority.is_none_or(is_allowed) {
            Verdict::Allowed
        } else {
            Verdict::Refused
        }
    }
}

/// The pages that may send requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InboundOrigins {
    any: bool,
    listed: HashSet<String>,
}

impl InboundOrigins {
    /// From an option; `*` is any.
    ///
    /// # Errors
    /// `invalid-option`, naming the option and the entry that is no origin.
    pub(crate) fn new<S: AsRef<str>>(option: &str, entries: &[S]) -> Result<Self> {
        let mut origins = Self::default();
        for entry in entries.iter().map(AsRef::as_ref) {
            if entry == "*" {
                origins.any = true;
                continue;
            }
            let origin = read_origin(entry).ok_or_else(|| {
                Error::invalid_option(format!(
                    "{option} has {}, which is no origin as browsers send it: scheme://host, and a port where it is unusual",
                    shown(entry)
                ))
            })?;
            origins.listed.insert(origin);
        }
        Ok(origins)
    }

    /// Those of both.
    #[must_use]
    pub(crate) fn and(mut self, others: &Self) -> Self {
        self.any |= others.any;
        self.listed.extend(others.listed.iter().cloned());
        self
    }

    pub(crate) fn allow(&self, origin: &[u8]) -> bool {
        let Some(origin) = std::str::from_utf8(origin).ok().and_then(read_origin) else {
            return false;
        };
        self.any || self.listed.contains(&origin)
    }

    /// Judges the `Origin` headers of a request. Programs that are no browsers send none.
    pub(crate) fn judge<'a>(&self, mut origins: impl Iterator<Item = &'a [u8]>) -> Verdict {
        match (origins.next(), origins.next()) {
            (None, _) => Verdict::Allowed,
            (Some(origin), None) if self.allow(origin) => Verdict::Allowed,
            _ => Verdict::Refused,
        }
    }
}

/// The host of `host:port` in one spelling; nothing for what is no authority.
fn host_of(authority: &str) -> Option<String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            (format!("[{}]", address.parse::<Ipv6Addr>().ok()?), port)
        }
        None => match authority.find(':') {
            Some(at) => {
                let (host, port) = authority.split_at_checked(at)?;
                (host.to_ascii_lowercase(), port)
            }
            None => (authority.to_ascii_lowercase(), ""),
        },
    };
    let digits = if port.is_empty() { "" } else { port.strip_prefix(':')? };
    let is_port =
        digits.is_empty() || digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok();
    (is_port && !host.is_empty()).then_some(host)
}

/// A host as people write it: a port does not count, an address of version 6 may do without brackets, and a name may have
/// letters that travel in another form.
fn read_entry(entry: &str) -> Option<String> {
    let entry = entry.trim();
    if let Ok(address) = bare(entry).parse::<Ipv6Addr>() {
        return Some(format!("[{address}]"));
    }
    if entry.starts_with('[') {
        return host_of(entry);
    }
    let name = match entry.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => entry,
    };
    match Host::parse(name).ok()? {
        Host::Domain(name) => Some(name),
        // In the notation that it was written in, not in what that stands for: clients send no other.
        Host::Ipv4(_) => Some(name.to_ascii_lowercase()),
        Host::Ipv6(_) => None,
    }
}

/// An origin in one spelling. Those of schemes that the URL standard does not know are compared as they are.
fn read_origin(origin: &str) -> Option<String> {
    let origin = origin.trim_ascii();
    if origin == "null" {
        return Some(origin.to_owned());
    }
    let url = Url::parse(origin).ok()?;
    let (_, rest) = origin.split_once("://")?;
    let is_bare = !rest.is_empty()
        && matches!(url.path(), "" | "/")
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if !is_bare {
        return None;
    }
    let read = url.origin();
    if read.is_tuple() {
        Some(read.ascii_serialization())
    } else {
        Some(origin.trim_end_matches('/').to_ascii_lowercase())
    }
}

fn shown(entry: &str) -> String {
    json::visibly(&json::quote_short(entry))
}

#[cfg(test)]
mod tests;
