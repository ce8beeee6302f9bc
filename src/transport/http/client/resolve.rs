//! Names to addresses, and the promise that no connection goes to a private one: what is checked here is what hyper
//! connects to, without a second look-up.

use std::error::Error as StdError;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use crate::guard::address::is_private;

/// The system's own look-up.
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port is filled in by whoever connects.
            let addresses = lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(addresses.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

/// Refuses a name as soon as one of its addresses is private: a name that is public and private at once is an attempt.
pub(super) struct CheckedResolver {
    inner: Arc<dyn Resolve>,
}

impl CheckedResolver {
    pub(super) fn new(inner: Arc<dyn Resolve>) -> Self {
        Self { inner }
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolving = self.inner.resolve(name);
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = resolving.await?.collect();
            if let Some(private) = addresses.iter().find(|address| is_private(address.ip())) {
                return Err(PrivateAddress(private.ip()).into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Why a look-up was refused, found again in what reqwest makes of it.
#[derive(Debug)]
pub(super) struct PrivateAddress(pub(super) IpAddr);

impl fmt::Display for PrivateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a private address")
    }
}

impl StdError for PrivateAddress {}
