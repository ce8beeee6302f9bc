//! The options of the HTTP stack, as values that cannot be wrong.

use rustls::pki_types::CertificateDer;
use url::Url;

use super::trust;
use crate::error::{Error, Result};

/// What a proxy's URL may begin with.
pub(super) const SCHEMES: &[&str] = &["http", "https", "socks5", "socks5h", "socks4", "socks4a"];

/// The port of SOCKS by its registration.
const SOCKS_PORT: u16 = 1080;

/// A proxy's URL may hold a password, so that this has no `Debug`.
pub(crate) struct HttpSettings {
    proxy: Proxy,
    roots: Vec<CertificateDer<'static>>,
    blocks_private_addresses: bool,
}

/// Where requests go first.
pub(crate) enum Proxy {
    /// Where `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say, as they are when the client is built.
    Env,
    None,
    /// Everything goes to this one; `NO_PROXY` does not count.
    Url(Url),
}

impl HttpSettings {
    /// `ca` holds PEM texts, each with certificates that are trusted besides the usual ones.
    ///
    /// # Errors
    /// `invalid-option`, naming `ca` or `blockPrivateAddresses`.
    pub(crate) fn new(proxy: Proxy, ca: &[String], blocks_private_addresses: bool) -> Result<Self> {
        if blocks_private_addresses && matches!(proxy, Proxy::Url(_)) {
            return Err(Error::invalid_option(
                "blockPrivateAddresses cannot be kept through a proxy, which looks addresses up itself: leave one of \
                 blockPrivateAddresses and proxy out",
            ));
        }
        let mut roots = Vec::new();
        for (index, pem) in ca.iter().enumerate() {
            roots.extend(trust::certificates(index, pem)?);
        }
        Ok(Self {
            proxy,
            roots,
            blocks_private_addresses,
        })
    }

    pub(super) fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    pub(super) fn roots(&self) -> &[CertificateDer<'static>] {
        &self.roots
    }

    pub(super) fn blocks_private_addresses(&self) -> bool {
        self.blocks_private_addresses
    }
}

impl Proxy {
    /// Reads the option: `env`, `none`, or the URL of a proxy.
    ///
    /// # Errors
    /// `invalid-option` naming `proxy`, without the text, which may hold a password.
    pub(crate) fn parse(option: &str) -> Result<Self> {
        match option {
            "env" => Ok(Self::Env),
            "none" => Ok(Self::None),
            url => match proxy_url(url) {
                Some(url) => Ok(Self::Url(url)),
                None => Err(Error::invalid_option(format!(
                    "proxy must be 'env', 'none', or the URL of a proxy ({})",
                    SCHEMES.join(", ")
                ))),
            },
        }
    }
}

/// Nothing for what is no URL of a proxy.
pub(super) fn proxy_url(text: &str) -> Option<Url> {
    let mut url = Url::parse(text.trim()).ok()?;
    let is_usable = SCHEMES.contains(&url.scheme()) && url.host_str().is_some_and(|host| !host.is_empty());
    if !is_usable {
        return None;
    }
    if url.scheme().starts_with("socks") && url.port().is_none() {
        url.set_port(Some(SOCKS_PORT)).ok()?;
    }
    Some(url)
}
