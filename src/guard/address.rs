//! Which addresses are somebody's own network: what `blockPrivateAddresses` refuses. Decides by number alone; whoever
//! opens the connection asks about the very address it connects to, so that a second DNS answer changes nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::hosts::shown_host;
use crate::error::{Error, ErrorCode, Result};

/// Refuses a URL whose host is written as a private address, in whatever notation: the URL parser has read it. A name
/// passes, and is looked at again as what it resolves to.
///
/// # Errors
/// `host-blocked`, naming the host.
pub(crate) fn check_literal(url: &Url) -> Result<()> {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    if is_private(address) {
        return Err(Error::new(
            ErrorCode::HostBlocked,
            format!(
                "{} is not a public address, and blockPrivateAddresses is on",
                shown_host(url)
            ),
        ));
    }
    Ok(())
}

/// Refuses a private address that the host of `url` resolved to.
///
/// # Errors
/// `host-blocked`, naming host and address.
pub(crate) fn check_resolved(url: &Url, address: IpAddr) -> Result<()> {
    if is_private(address) {
        return Err(Error::new(
            ErrorCode::HostBlocked,
            format!(
                "{} resolves to {address}, which is not a public address, and blockPrivateAddresses is on",
                shown_host(url)
            ),
        ));
    }
    Ok(())
}

/// Whether an address is anything but a public one of a single machine: the special-purpose registries of IANA
/// (RFC 6890), and what is known to answer with a cloud's credentials. A network that translates IPv4 under a prefix of
/// its own (RFC 6052, section 2.2) cannot be recognised.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    PRIVATE_V4
        .iter()
        .any(|(network, bits)| (address.to_bits() ^ network.to_bits()).unbounded_shr(32 - bits) == 0)
}

/// Public is what lies in `2000::/3` (the only block that global unicast addresses are given from) and carries no private
/// IPv4 address inside, and the two forms outside it that mean an IPv4 address.
fn is_private_v6(address: Ipv6Addr) -> bool {
    let bits = address.to_bits();
    let [first, second, .., scope, isatap, _, _] = address.segments();
    let v4_at = |shift: u32| {
        let [.., a, b, c, d] = (bits >> shift).to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match (first, second) {
        // ::ffff:0:0/96, IPv4-mapped, and 64:ff9b::/96, NAT64 (RFC 6052).
        _ if matches!(bits >> 32, 0xffff | NAT64) => is_private_v4(v4_at(0)),
        // Loopback, unspecified, IPv4-compatible, unique local, link-local, multicast, discard-only and all the rest.
        _ if first >> 13 != 1 => true,
        // Teredo (RFC 4380): the server, and the client with its bits turned over.
        (0x2001, 0) => is_private_v4(v4_at(64)) || is_private_v4(Ipv4Addr::from_bits(!v4_at(0).to_bits())),
        // Protocol assignments 2001::/23, documentation 2001:db8::/32 and 3fff::/20.
        (0x2001, 0x0001..=0x01ff | 0x0db8) | (0x3fff, 0x0000..=0x0fff) => true,
        // 6to4 (RFC 3056).
        (0x2002, _) => is_private_v4(v4_at(80)),
        // ISATAP (RFC 5214), under any prefix.
        _ if scope & 0xfdff == 0 && isatap == 0x5efe => is_private_v4(v4_at(0)),
        _ => false,
    }
}

const NAT64: u128 = 0x0064_ff9b << 64;

const PRIVATE_V4: &[(Ipv4Addr, u32)] = &[
    // "This network"; 0.0.0.0 reaches the machine itself.
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Shared by carriers (RFC 6598). Alibaba's metadata live in it, at 100.100.100.200.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Azure's metadata and DNS, although the address is a public one.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Link-local. Most clouds' metadata live in it, at 169.254.169.254.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    // Protocol assignments. Oracle's metadata live in it, at 192.0.0.192.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    // Documentation (RFC 5737), here and twice below.
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // Relays of 6to4, withdrawn (RFC 7526).
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Benchmarks (RFC 2544).
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved, and broadcast.
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_edges_of_each_private_ipv4_block() {
        for (first, last) in [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("168.63.129.16", "168.63.129.16"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
            ("224.0.0.0", "255.255.255.255"),
        ] {
            let [first, last] = [first, last].map(|text| text.parse::<Ipv4Addr>().unwrap());
            for address in [first, last] {
                assert!(is_private(address.into()), "{address}");
            }
            let outside = [first.to_bits().checked_sub(1), last.to_bits().checked_add(1)];
            for address in outside.into_iter().flatten().map(Ipv4Addr::from_bits) {
                assert!(!is_private(address.into()), "{address}");
            }
        }
    }

    #[test]
    fn metadata_addresses() {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::a9fe:a9fe",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn private_ipv6_addresses() {
        for address in [
            "::",
            "::1",
            "::2",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:0:127.0.0.1",
            "::ffff:0:8.8.8.8",
            "64:ff9b:1::8.8.8.8",
            "64:ff9b::1:0:0",
            "100::1",
            "100:0:0:1::1",
            "1fff:ffff::",
            "2001:1::1",
            "2001:2::1",
            "2001:10::1",
            "2001:1ff:ffff::",
            "2001:db8::1",
            "3fff::1",
            "3fff:fff::1",
            "4000::",
            "5f00::1",
            "fc00::",
            "fdff:ffff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn public_addresses() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "168.63.129.15",
            "192.0.1.1",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2000::1",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2001:db9::1",
            "2002:808:808::1",
            "2001:0:808:808:0:0:f7f7:f7f7",
            "2606:4700:4700::1111",
            "2606:4700:0:0:0:5efe:808:808",
            "3ffe::1",
            "3fff:1000::1",
        ] {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn private_ipv4_addresses_inside_ipv6_ones() {
        for address in [
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "2002:a9fe:a9fe::1",
            "2002:7f00:1::",
            "2001:0:a00:1:0:0:f7f7:f7f7",
            "2001:0:808:808:0:0:f5ff:fffe",
            "2606:4700:0:0:0:5efe:10.0.0.1",
            "2606:4700:0:0:200:5efe:192.168.0.1",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn every_notation_of_a_host_is_the_address_it_means() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "017700000001",
            "127.0.0.1.",
            "１２７.0.0.1",
            "127。0。0。1",
            "%31%32%37.0.0.1",
            "0",
            "0xa9fea9fe",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[0:0:0:0:0:ffff:7f00:1]",
        ] {
            let url = Url::parse(&format!("http://user:secret@{host}:8080/mcp?key=secret")).unwrap();
            let error = check_literal(&url).unwrap_err();
            assert_eq!(error.code(), ErrorCode::HostBlocked, "{host}");
            assert!(error.message().contains(url.host_str().unwrap()), "{error}");
            assert!(error.message().contains("blockPrivateAddresses"), "{error}");
            assert!(!error.message().contains("secret"), "{error}");
        }
        for public in [
            "8.8.8.8",
            "134744072",
            "[2606:4700::1]",
            "localhost",
            "127.0.0.1.nip.io",
        ] {
            check_literal(&Url::parse(&format!("http://{public}/")).unwrap()).unwrap();
        }
    }

    #[test]
    fn a_name_is_refused_for_what_it_resolves_to() {
        let url = Url::parse("https://user:secret@rebind.example/mcp?key=secret").unwrap();
        check_resolved(&url, "8.8.8.8".parse().unwrap()).unwrap();
        let error = check_resolved(&url, "::ffff:10.1.2.3".parse().unwrap()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::HostBlocked);
        assert_eq!(
            error.message(),
            "rebind.example resolves to ::ffff:10.1.2.3, which is not a public address, and blockPrivateAddresses is on"
        );
    }

    proptest! {
        /// Held against what the standard library knows, which is less.
        #[test]
        fn whatever_the_standard_library_calls_private_is(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            if address.is_private() || address.is_loopback() || address.is_link_local() || address.is_multicast()
                || address.is_broadcast() || address.is_documentation() || address.is_unspecified()
            {
                prop_assert!(is_private(address.into()));
            }
        }

        #[test]
        fn whatever_the_standard_library_calls_private_is_in_ipv6(bits: u128) {
            let address = Ipv6Addr::from_bits(bits);
            if address.is_unique_local() || address.is_loopback() || address.is_unicast_link_local()
                || address.is_multicast() || address.is_unspecified()
            {
                prop_assert!(is_private(address.into()));
            }
        }

        #[test]
        fn an_ipv4_address_is_as_private_in_every_wrapping(bits: u32, rest: u64) {
            let address = Ipv4Addr::from_bits(bits);
            let [a, b] = [bits >> 16, bits & 0xffff];
            for wrapped in [
                format!("::ffff:{address}"),
                format!("64:ff9b::{address}"),
                format!("2002:{a:x}:{b:x}::{:x}", rest & 0xffff),
                format!("2606:4700::5efe:{address}"),
            ] {
                prop_assert_eq!(is_private(wrapped.parse().unwrap()), is_private(address.into()), "{}", wrapped);
            }
        }
    }
}
