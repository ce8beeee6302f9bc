//! What went wrong with an exchange, in words that name host, port and a short reason, and nothing that may be secret:
//! the texts of reqwest hold whole URLs, and none of them is used.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use rustls::CertificateError;
use url::Url;

use super::resolve::PrivateAddress;
use crate::error::{Error, ErrorCode};
use crate::guard::address::check_resolved;

/// Whom a request is for. What is shown of it is host and port; of the proxy on the way, too.
pub(super) struct Target {
    url: Url,
    proxy: Option<String>,
}

impl Target {
    pub(super) fn new(url: Url, proxy: Option<String>) -> Self {
        Self { url, proxy }
    }

    pub(super) fn proxy(&self) -> Option<&str> {
        self.proxy.as_deref()
    }

    /// No head of an answer came.
    pub(super) fn unanswered(&self, error: &reqwest::Error) -> Error {
        if let Some(PrivateAddress(address)) = find(error)
            && let Err(blocked) = check_resolved(&self.url, *address)
        {
            return blocked;
        }
        if error.is_builder() {
            return Error::invalid_option(format!(
                "{self} cannot be asked over HTTP: its URL or a header is malformed"
            ));
        }
        let text = if error.is_connect() {
            let way = self
                .proxy()
                .map_or(String::new(), |proxy| format!(" through the proxy {proxy}"));
            format!("could not connect to {self}{way}: {}", connect_reason(error))
        } else if error.is_timeout() {
            format!("the connection to {self} timed out before an answer")
        } else if find::<hyper::Error>(error).is_some_and(hyper::Error::is_parse) {
            format!("{self} answered with something that is not HTTP/1.1")
        } else {
            format!("the connection to {self} was closed before an answer")
        };
        Error::new(ErrorCode::ConnectionLost, text)
    }

    /// The answer ended before its end.
    pub(super) fn cut(&self, error: &io::Error) -> Error {
        let text = match find::<reqwest::Error>(error) {
            Some(error) if error.is_timeout() => format!("the answer of {self} was cut off: timed out"),
            Some(_) => format!("the answer of {self} was cut off: the connection was closed"),
            None => format!("the answer of {self} cannot be read: its content coding is damaged"),
        };
        Error::new(ErrorCode::ConnectionLost, text)
    }

    pub(super) fn unknown_coding(&self) -> Error {
        Error::new(
            ErrorCode::InvalidResponse,
            format!("{self} answered in a content coding that was not asked for"),
        )
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.host_str().unwrap_or_default())?;
        match self.url.port_or_known_default() {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

fn connect_reason(error: &reqwest::Error) -> &'static str {
    if let Some(error) = find::<rustls::Error>(error) {
        return tls_reason(error);
    }
    if error.is_dns() {
        return "dns, its name has no address";
    }
    if error.is_timeout() {
        return "timed out";
    }
    match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "refused",
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => "unreachable",
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof) => "closed",
        Some(io::ErrorKind::PermissionDenied) => "not permitted by the system",
        Some(_) => "failed",
        // What remains is a proxy that does not let it through; hyper-util does not export its errors.
        None => "refused by the proxy",
    }
}

fn tls_reason(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::UnknownIssuer => "tls, the issuer of its certificate is not trusted (see the option ca)",
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => "tls, its certificate has expired",
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "tls, its certificate is not valid yet"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "tls, its certificate is for another host"
            }
            _ => "tls, its certificate is not valid",
        },
        rustls::Error::InvalidMessage(_) => "tls, it does not speak TLS",
        rustls::Error::AlertReceived(_) | rustls::Error::PeerIncompatible(_) => "tls, it refused the handshake",
        _ => "tls, the handshake failed",
    }
}

/// Looks for an error of a type in what led to another one. An `io::Error` hides what it wraps from `source`.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut found = None;
    let mut next = Some(error);
    while let Some(error) = next {
        // The innermost one is the cause.
        found = error.downcast_ref().or(found);
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = wrapped.map(|wrapped| wrapped as _).or_else(|| error.source());
    }
    found
}
