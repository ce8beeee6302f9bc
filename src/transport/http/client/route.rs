//! Which proxy a URL goes through: one decision, used for the connection and for whoever asks beforehand.

use std::env;

use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::NoProxy;
use url::Url;

use super::settings::{Proxy, SCHEMES, proxy_url};
use crate::error::{Error, Result};

/// The proxies of plain and of encrypted URLs, and the hosts that none applies to.
pub(super) struct Routes {
    http: Option<Url>,
    https: Option<Url>,
    direct: String,
    /// What reqwest makes of the three above, by the same code.
    matcher: Matcher,
}

impl Routes {
    /// # Errors
    /// `invalid-option` naming `proxy`: a variable of the environment holds no URL of a proxy.
    pub(super) fn new(proxy: &Proxy) -> Result<Self> {
        match proxy {
            Proxy::Env => Self::from_variables(|name| env::var(name).ok()),
            Proxy::None => Ok(Self::with(None, None, "")),
            Proxy::Url(url) => Ok(Self::with(Some(url.clone()), Some(url.clone()), "")),
        }
    }

    /// Lower case comes first, as with curl and with Node's own `fetch`. Where a request can set variables (CGI turns a
    /// header `Proxy` into `HTTP_PROXY`), upper-case `HTTP_PROXY` does not count.
    pub(super) fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let either = |name: &'static str| set(&name.to_lowercase()).or_else(|| set(name));
        let proxy = |name: &'static str, value: Option<String>| {
            match value {
            Some(value) => variable_url(&value).map(Some).ok_or_else(|| {
                Error::invalid_option(format!(
                    "proxy: the environment's {name} is not the URL of a proxy ({}); correct it, or set proxy to 'none'",
                    SCHEMES.join(", ")
                ))
            }),
            None => Ok(None),
        }
        };
        let plain = if set("REQUEST_METHOD").is_some() {
            set("http_proxy")
        } else {
            either("HTTP_PROXY")
        };
        let all = proxy("ALL_PROXY", either("ALL_PROXY"))?;
        let http = proxy("HTTP_PROXY", plain)?.or_else(|| all.clone());
        let https = proxy("HTTPS_PROXY", either("HTTPS_PROXY"))?.or(all);
        Ok(Self::with(
            http,
            https,
            &direct_hosts(&either("NO_PROXY").unwrap_or_default()),
        ))
    }

    fn with(http: Option<Url>, https: Option<Url>, direct: &str) -> Self {
        let text = |url: &Option<Url>| url.as_ref().map_or("", Url::as_str).to_owned();
        let matcher = Matcher::builder()
            .http(text(&http))
            .https(text(&https))
            .no(direct.to_owned())
            .build();
        Self {
            http,
            https,
            direct: direct.to_owned(),
            matcher,
        }
    }

    /// The same decisions, as reqwest takes them.
    pub(super) fn proxies(&self) -> Result<Vec<reqwest::Proxy>> {
        let refused = |_| Error::invalid_option("proxy: its URL cannot be used");
        let direct = NoProxy::from_string(&self.direct);
        let mut proxies = Vec::new();
        if let Some(url) = &self.http {
            let proxy = reqwest::Proxy::http(url.clone()).map_err(refused)?;
            proxies.push(proxy.no_proxy(direct.clone()));
        }
        if let Some(url) = &self.https {
            let proxy = reqwest::Proxy::https(url.clone()).map_err(refused)?;
            proxies.push(proxy.no_proxy(direct));
        }
        Ok(proxies)
    }

    /// Host and port of the proxy that a URL goes through, which is all of it that may be told.
    pub(super) fn proxy_of(&self, url: &Url) -> Option<String> {
        let uri = url.as_str().parse().ok()?;
        let proxy = self.matcher.intercept(&uri)?;
        authority(&proxy)
    }
}

/// In the environment a proxy without a scheme is one that speaks HTTP.
fn variable_url(value: &str) -> Option<Url> {
    if value.contains("://") {
        proxy_url(value)
    } else {
        proxy_url(&format!("http://{}", value.trim()))
    }
}

/// Brings the usual spellings into the one that the matcher reads: commas, and `.example.com` for any host below.
fn direct_hosts(value: &str) -> String {
    value
        .split([',', ' ', '\t'])
        .map(|host| host.strip_prefix("*.").unwrap_or(host))
        .filter(|host| !host.is_empty())
        .collect::<Vec<_>>()
        .join(",")
}

fn authority(proxy: &Intercept) -> Option<String> {
    let uri = proxy.uri();
    let host = uri.host()?;
    Some(match uri.port_u16() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}
