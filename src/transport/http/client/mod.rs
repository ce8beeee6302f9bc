//! The HTTP stack of our own: `host::http::HttpClient` over reqwest. It opens connections, keeps them, and takes content
//! codings off; it knows no redirect, no credential and no size limit.
//!
//! A request is written at most once. HTTP/1.1 alone is spoken, so no protocol-level refusal exists that reqwest could
//! answer by sending again, and its policy says so besides. What hyper's pool does send again is a request that its
//! connection never took from the queue, of which not one byte was written.

mod decode;
mod failure;
mod resolve;
mod route;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
mod trust;

use std::io;
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, stream};
use http::header::{ACCEPT_ENCODING, HeaderValue};
use reqwest::dns::Resolve;
use reqwest::redirect;
use url::Url;

use self::failure::Target;
use self::resolve::{CheckedResolver, SystemResolver};
use self::route::Routes;
use self::settings::HttpSettings;
use crate::error::{Error, ErrorCode, Result};
use crate::guard::address::check_literal;
use crate::host::http::{Exchange, HttpClient, HttpRequest, HttpResponse};
use crate::limits;

/// One pool of connections. Cloning shares it.
#[derive(Clone)]
pub(crate) struct ReqwestClient {
    client: reqwest::Client,
    routes: Arc<Routes>,
    blocks_private_addresses: bool,
}

impl ReqwestClient {
    /// # Errors
    /// `invalid-option` naming `proxy`, when a variable of the environment that names one cannot be understood.
    pub(crate) fn new(settings: &HttpSettings) -> Result<Self> {
        let routes = Routes::new(settings.proxy())?;
        Self::build(settings, routes, Arc::new(SystemResolver))
    }

    fn build(settings: &HttpSettings, routes: Routes, resolver: Arc<dyn Resolve>) -> Result<Self> {
        let blocks_private_addresses = settings.blocks_private_addresses();
        let mut builder = reqwest::Client::builder()
            .http1_only()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .user_agent(USER_AGENT)
            .tls_backend_preconfigured(trust::client_config(settings.roots())?)
            .connect_timeout(limits::HTTP_CONNECT_TIMEOUT)
            .pool_idle_timeout(limits::HTTP_IDLE_TIMEOUT)
            .pool_max_idle_per_host(limits::HTTP_MAX_IDLE_PER_HOST)
            .tcp_nodelay(true)
            .tcp_keepalive(limits::HTTP_KEEPALIVE)
            .tcp_keepalive_interval(limits::HTTP_KEEPALIVE)
            .tcp_keepalive_retries(limits::HTTP_KEEPALIVE_PROBES)
            .no_proxy();
        if blocks_private_addresses {
            // Without any proxy: a URL that one applies to is refused before it gets here.
            builder = builder.dns_resolver(Arc::new(CheckedResolver::new(resolver)));
        } else {
            builder = builder.dns_resolver(resolver);
            for proxy in routes.proxies()? {
                builder = builder.proxy(proxy);
            }
        }
        let client = builder.build().map_err(|_| {
            // Everything that it is built from was checked before.
            Error::invalid_option("the HTTP client cannot be built from these options")
        })?;
        Ok(Self {
            client,
            routes: Arc::new(routes),
            blocks_private_addresses,
        })
    }

    /// Whether a request to this URL could keep the promises that the options make. For the configured URLs this is known
    /// before anything is started.
    ///
    /// # Errors
    /// `invalid-option`, when private addresses are blocked and a proxy would look the host's address up.
    pub(crate) fn check_route(&self, url: &Url) -> Result<()> {
        self.unkept(&Target::new(url.clone(), self.routes.proxy_of(url)))
            .map_or(Ok(()), |problem| Err(Error::invalid_option(problem)))
    }

    fn unkept(&self, target: &Target) -> Option<String> {
        let proxy = target.proxy().filter(|_| self.blocks_private_addresses)?;
        Some(format!(
            "blockPrivateAddresses cannot be kept for {target}: the proxy {proxy} would look its address up; set proxy to \
             'none', or name the host in NO_PROXY"
        ))
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse> {
        let target = Target::new(request.url.clone(), self.routes.proxy_of(&request.url));
        if self.blocks_private_addresses {
            // A redirect led there: the configured URLs were looked at beforehand.
            if let Some(problem) = self.unkept(&target) {
                return Err(Error::new(ErrorCode::HostBlocked, problem));
            }
            // No resolver is asked about a literal.
            check_literal(&request.url)?;
        }
        let mut response = self
            .client
            .execute(outgoing(request))
            .await
            .map_err(|error| target.unanswered(&error))?;
        let mut headers = mem::take(response.headers_mut());
        let coding = decode::Coding::taken_from(&mut headers).map_err(|_| target.unknown_coding())?;
        Ok(HttpResponse {
            status: response.status(),
            headers,
            body: coding.decoded(chunks(response), move |error| target.cut(&error)),
        })
    }
}

impl HttpClient for ReqwestClient {
    fn send(&self, request: HttpRequest) -> Exchange {
        let this = self.clone();
        Box::pin(async move { this.exchange(request).await })
    }
}

/// Userinfo and fragment are never sent: the layers above make headers of the one and have no use for the other.
fn outgoing(request: HttpRequest) -> reqwest::Request {
    let HttpRequest {
        method,
        mut url,
        mut headers,
        body,
    } = request;
    // Both fail only for URLs that cannot have userinfo.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    headers
        .entry(ACCEPT_ENCODING)
        .or_insert(HeaderValue::from_static(decode::ACCEPTED));
    let mut outgoing = reqwest::Request::new(method, url);
    *outgoing.headers_mut() = headers;
    *outgoing.body_mut() = body.map(reqwest::Body::from);
    outgoing
}

fn chunks(response: reqwest::Response) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold(response, async |mut response| {
        let chunk = response.chunk().await.map_err(io::Error::other)?;
        Ok(chunk.map(|chunk| (chunk, response)))
    })
}

const USER_AGENT: &str = concat!("espalier/", env!("CARGO_PKG_VERSION"));
