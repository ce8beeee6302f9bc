//! Whoever passes the list of hosts names one of them, whatever else is in its headers; and whoever names one passes. The
//! entries of the list on the first line, then a `Host` header on each line, then an empty line and the target's authority.

use std::net::Ipv6Addr;

use crate::guard::origin::{InboundHosts, InboundOrigins, Verdict};

/// What stands for the judgement of the server: entries, `Host` headers, and the authority of the target. Nothing where the
/// entries are no hosts.
pub(crate) type Judge = fn(&[&str], &[&[u8]], Option<&str>) -> Option<Verdict>;

pub(crate) fn ours(listed: &[&str], hosts: &[&[u8]], authority: Option<&str>) -> Option<Verdict> {
    let allowed = InboundHosts::new(Some(listed), "127.0.0.1").ok()?;
    Some(allowed.judge(hosts.iter().copied(), authority))
}

pub(crate) fn run(data: &[u8], judge: Judge) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let listed = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let listed: Vec<&str> = listed.split(' ').collect();
    // Entries that are read as something else than they say would have to be read here in the same way.
    if !listed.iter().copied().all(is_plain) {
        return;
    }
    let hosts: Vec<&[u8]> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let authority = lines.next().map(String::from_utf8_lossy);
    let Some(verdict) = judge(&listed, &hosts, authority.as_deref()) else {
        return;
    };
    let is_one = matches!(hosts.as_slice(), [host] if !host.trim_ascii().is_empty());
    assert_eq!(verdict == Verdict::Malformed, !is_one, "{hosts:?}");
    if verdict == Verdict::Allowed {
        let names = hosts.iter().map(|host| String::from_utf8_lossy(host.trim_ascii()));
        for name in names.chain(authority.clone()) {
            assert!(listed.iter().any(|entry| names_it(&name, entry)), "{name:?} {listed:?}");
        }
    }
    for entry in &listed {
        for spelled in [entry.to_ascii_uppercase(), format!(" {entry}:8080\t")] {
            let verdict = judge(&listed, &[spelled.as_bytes()], None);
            assert_eq!(verdict, Some(Verdict::Allowed), "{spelled:?} {listed:?}");
        }
    }
    pages(&listed, &hosts);
}

/// In letters that travel as they are, and without a port.
fn is_plain(entry: &str) -> bool {
    let is_bracketed = entry.starts_with('[') && entry.ends_with(']');
    entry.is_ascii() && entry.trim() == entry && !entry.contains('%') && (is_bracketed || !entry.contains(':'))
}

/// What is left of a name without its port is the entry, but for the case of letters and the spelling of an address.
fn names_it(name: &str, entry: &str) -> bool {
    let ends = [Some(name.len()), name.rfind(':')].into_iter().flatten();
    let is_port = |port: &str| {
        port.strip_prefix(':')
            .is_some_and(|port| port.parse::<u16>().is_ok() || port.is_empty())
    };
    ends.filter_map(|end| name.split_at_checked(end))
        .filter(|(_, port)| port.is_empty() || is_port(port))
        .any(|(host, _)| host.eq_ignore_ascii_case(entry) || address(host).is_some_and(|it| Some(it) == address(entry)))
}

fn address(host: &str) -> Option<Ipv6Addr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

/// A page is let in when it is one of those that are listed, and `null` is none.
fn pages(listed: &[&str], sent: &[&[u8]]) {
    let listed: Vec<String> = listed.iter().map(|host| format!("https://{host}")).collect();
    let Ok(origins) = InboundOrigins::new("allowedOrigins", &listed) else {
        return;
    };
    for page in listed.iter().map(String::as_bytes) {
        assert!(origins.judge([page].into_iter()) == Verdict::Allowed, "{listed:?}");
        assert!(
            origins.judge([page, page].into_iter()) == Verdict::Refused,
            "{listed:?}"
        );
    }
    assert!(origins.judge([&b"null"[..]].into_iter()) == Verdict::Refused);
    for page in sent {
        let is_https = page
            .get(..8)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https://"));
        if origins.judge([*page].into_iter()) == Verdict::Allowed {
            assert!(is_https, "{page:?} {listed:?}");
        }
    }
}
