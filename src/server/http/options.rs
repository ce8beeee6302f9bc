//! What a network transport is told when it is made.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::forms::{Forms, SsePaths};
use super::metadata::Protection;
use crate::error::{Error, Result};
use crate::guard::server_limits::{Served, ServerLimits};
use crate::json::{self, Object};
use crate::protocol::message::Params;
use crate::transport::listen::{self, Manner};

pub(crate) struct SiteOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) forms: Forms,
    pub(crate) limits: ServerLimits,
    pub(crate) gate: GateOptions,
    /// Whether the program says who is behind a request.
    pub(crate) identifies: bool,
    pub(crate) is_multi_tenant: bool,
    /// Whether nobody comes in whom nothing is known of; or that is wanted.
    pub(crate) is_authenticated: bool,
    /// Whether tokens are asked for.
    pub(crate) protection: Option<Protection>,
    pub(crate) tls: Option<Tls>,
}

/// What has to be right before anything is looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct GateOptions {
    pub(crate) allowed_hosts: Option<Vec<String>>,
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) cors: Option<Cors>,
}

#[derive(Clone, Debug)]
pub(crate) struct Cors {
    pub(crate) origins: Vec<String>,
    pub(crate) max_age_seconds: Option<u64>,
}

/// As PEM. The key is a secret, so that there is no `Debug`.
pub(crate) struct Tls {
    pub(crate) cert: String,
    pub(crate) key: String,
}

/// The options that are no limits.
const OTHERS: &[&str] = &[
    "kind",
    "port",
    "host",
    "path",
    "messagesPath",
    "streamableHttp",
    "mcpPath",
    "cors",
    "allowedHosts",
    "allowedOrigins",
    "identifies",
    "isTenantAware",
    "multiTenant",
    "allowUnauthenticated",
    "auth",
    "tls",
];

const CORS: &[&str] = &["origins", "maxAgeSeconds"];

impl SiteOptions {
    /// How its port is served.
    ///
    /// # Errors
    /// `invalid-option` when certificate and key are none.
    pub(crate) fn manner(&self) -> Result<Manner> {
        let tls = self.tls.as_ref().map(|tls| listen::tls(&tls.cert, &tls.key));
        Ok(Manner {
            max_connections: self.limits.max_connections,
            header_timeout: self.limits.header_timeout,
            patience: self.limits.idle_timeout.duration(),
            shutdown_timeout: self.limits.shutdown_timeout,
            tls: tls.transpose()?,
        })
    }

    /// Where a client on this machine reaches it, as JSON text.
    pub(crate) fn whereabouts(&self) -> String {
        let host = match self.host.parse() {
            // Every address is none to connect to.
            Ok(IpAddr::V4(address)) if address.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
            Ok(IpAddr::V6(address)) if address.is_unspecified() => format!("[{}]", Ipv6Addr::LOCALHOST),
            Ok(IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.host.clone(),
        };
        let mut whereabouts = Params::new()
            .text("host", &host)
            .raw("isSecure", if self.tls.is_some() { "true" } else { "false" });
        let sse = self.forms.sse.as_ref().map(|paths| &paths.stream);
        for (name, path) in [
            ("streamable", self.forms.streamable.as_ref()),
            ("sse", sse),
            ("websocket", self.forms.websocket.as_ref()),
        ] {
            if let Some(path) = path {
                whereabouts = whereabouts.text(name, path);
            }
        }
        whereabouts.object()
    }

    /// # Errors
    /// `invalid-option`, with a text that names the option.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let options = Object::parse(text).ok_or_else(|| Error::invalid_option("the options are not an object"))?;
        let limits = ServerLimits::parse(&options, Served::Network, OTHERS)?;
        let port = options
            .present("port")
            .and_then(|port| json::parse::<u16>(port.get()))
            .ok_or_else(|| Error::invalid_option("port must be a whole number from 0 to 65535"))?;
        let is_websocket = options.string("kind").as_deref() == Some("websocket");
        let is_sse = options.string("kind").as_deref() == Some("sse");
        let has_streamable = !is_websocket && (!is_sse || flag(&options, "streamableHttp")?);
        let forms = Forms {
            sse: is_sse
                .then(|| {
                    Ok::<_, Error>(SsePaths {
                        stream: path(&options, "path", "/sse")?,
                        messages: path(&options, "messagesPath", "/messages")?,
                    })
                })
                .transpose()?,
            streamable: has_streamable.then(|| path(&options, "mcpPath", "/mcp")).transpose()?,
            websocket: is_websocket.then(|| path(&options, "path", "/ws")).transpose()?,
        };
        let cors = match options.present("cors") {
            None => None,
            Some(cors) => {
                let cors = Object::parse(cors.get()).ok_or_else(|| Error::invalid_option("cors must be an object"))?;
                if let Some((name, _)) = cors.members().find(|(name, _)| !CORS.contains(name)) {
                    return Err(Error::invalid_option(format!(
                        "cors.{} is not an option; there is {}",
                        json::visibly(name),
                        CORS.join(" and ")
                    )));
                }
                Some(Cors {
                    origins: strings(&cors, "origins", "cors.origins")?
                        .ok_or_else(|| Error::invalid_option("cors.origins must be an array of strings"))?,
                    max_age_seconds: cors
                        .present("maxAgeSeconds")
                        .map(|age| {
                            json::parse(age.get()).ok_or_else(|| {
                                Error::invalid_option("cors.maxAgeSeconds must be a whole number, 0 or more")
                            })
                        })
                        .transpose()?,
                })
            }
        };
        let protection = options
            .present("auth")
            .map(|auth| Protection::parse(auth.get(), &forms))
            .transpose()?;
        let tls = match options.present("tls") {
            None => None,
            Some(tls) => {
                let wrong = || Error::invalid_option("tls must be { cert, key }, both PEM");
                let tls = Object::parse(tls.get()).ok_or_else(wrong)?;
                Some(Tls {
                    cert: tls.string("cert").ok_or_else(wrong)?.into_owned(),
                    key: tls.string("key").ok_or_else(wrong)?.into_owned(),
                })
            }
        };
        Ok(Self {
            host: match options.present("host") {
                None => "127.0.0.1".to_owned(),
                Some(_) => options
                    .string("host")
                    .filter(|host| !host.is_empty())
                    .ok_or_else(|| Error::invalid_option("host must be a string"))?
                    .into_owned(),
            },
            port,
            forms,
            limits,
            gate: GateOptions {
                allowed_hosts: strings(&options, "allowedHosts", "allowedHosts")?,
                allowed_origins: strings(&options, "allowedOrigins", "allowedOrigins")?.unwrap_or_default(),
                cors,
            },
            identifies: flag(&options, "identifies")?,
            is_authenticated: flag(&options, "allowUnauthenticated")?
                || flag(&options, "isTenantAware")?
                || options.present("auth").is_some(),
            is_multi_tenant: flag(&options, "multiTenant")? || flag(&options, "isTenantAware")?,
            protection,
            tls,
        })
    }
}

fn flag(options: &Object<'_>, name: &str) -> Result<bool> {
    match options.present(name).map(serde_json::value::RawValue::get) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Error::invalid_option(format!("{name} must be a boolean"))),
    }
}

fn path(options: &Object<'_>, name: &str, default: &str) -> Result<String> {
    if options.present(name).is_none() {
        return Ok(default.to_owned());
    }
    options
        .string(name)
        .filter(|path| path.starts_with('/') && !path.contains(['?', '#']))
        .map(std::borrow::Cow::into_owned)
        .ok_or_else(|| Error::invalid_option(format!("{name} must be a path that begins with /")))
}

fn strings(options: &Object<'_>, key: &str, name: &str) -> Result<Option<Vec<String>>> {
    let wrong = || Error::invalid_option(format!("{name} must be an array of strings"));
    let Some(listed) = options.present(key) else {
        return Ok(None);
    };
    let listed = json::array(listed.get()).ok_or_else(wrong)?;
    listed
        .into_iter()
        .map(|item| {
            json::string(item.get())
                .map(std::borrow::Cow::into_owned)
                .ok_or_else(wrong)
        })
        .collect::<Result<Vec<_>>>()
        .map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_on_this_machine_is_told_where_to_connect() {
        for (options, expected) in [
            (
                r#""kind":"sse","streamableHttp":true"#,
                r#"{"host":"127.0.0.1","isSecure":false,"streamable":"/mcp","sse":"/sse"}"#,
            ),
            (
                r#""kind":"websocket","host":"0.0.0.0","path":"/a""#,
                r#"{"host":"127.0.0.1","isSecure":false,"websocket":"/a"}"#,
            ),
            (
                r#""kind":"streamable-http","host":"::","tls":{"cert":"c","key":"k"}"#,
                r#"{"host":"[::1]","isSecure":true,"streamable":"/mcp"}"#,
            ),
            (
                r#""kind":"streamable-http","host":"fe80::1""#,
                r#"{"host":"[fe80::1]","isSecure":false,"streamable":"/mcp"}"#,
            ),
            (
                r#""kind":"streamable-http","host":"localhost""#,
                r#"{"host":"localhost","isSecure":false,"streamable":"/mcp"}"#,
            ),
        ] {
            let options = SiteOptions::parse(&format!("{{\"port\":0,{options}}}")).unwrap();
            assert_eq!(options.whereabouts(), expected);
        }
    }
}
