//! What a server is told of itself when it is made.

use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::guard::tenant_limits::TenantLimits;
use crate::json::{self, Object};
use crate::limits;
use crate::protocol::revision::{Era, Revision};

pub(crate) struct Options {
    /// JSON text of the server's `Implementation`, by revision.
    info: ServerInfo,
    pub(crate) instructions: Option<String>,
    /// Newest first; never empty.
    pub(crate) revisions: Vec<Revision>,
    /// How many entries a page of a list has; nothing for all.
    pub(crate) page_size: Option<usize>,
    /// The members that tell how long a result may be used again, as JSON text.
    pub(crate) cache_hints: String,
    pub(crate) has_hook: bool,
    pub(crate) allows_untenanted_sessions: bool,
    /// Nothing where tenants are not told apart by what they take.
    pub(crate) tenant_limits: Option<TenantLimits>,
}

/// Literals of JSON.
struct ServerInfo {
    name: String,
    version: String,
    title: Option<String>,
    website_url: Option<String>,
    icons: Option<String>,
}

impl Options {
    /// # Errors
    /// `invalid-option`, with a text that names the option.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let object = Object::parse(text).ok_or_else(|| Error::invalid_option("the options are not an object"))?;
        let literal = |key: &str| object.present(key).map(|raw| raw.get().to_owned());
        let flag = |key: &str| object.get(key).is_some_and(|raw| raw.get() == "true");
        let page_size = object
            .present("pageSize")
            .map(|raw| positive("pageSize", raw.get()))
            .transpose()?;
        let ttl = match object.present("cacheTtlMs") {
            None => 0,
            Some(raw) => json::parse::<u64>(raw.get())
                .filter(|ttl| *ttl <= LARGEST_INTEGER)
                .ok_or_else(|| Error::invalid_option("cacheTtlMs must be a whole number of milliseconds, 0 or more"))?,
        };
        let scope = match object.string("cacheScope").as_deref() {
            None if object.present("cacheScope").is_none() => "private",
            Some("private") => "private",
            Some("public") => "public",
            _ => return Err(Error::invalid_option("cacheScope must be \"public\" or \"private\"")),
        };
        Ok(Self {
            info: ServerInfo {
                name: literal("name").unwrap_or_else(|| json::quote(limits::DEFAULT_SERVER_NAME)),
                version: literal("version").unwrap_or_else(|| json::quote(limits::DEFAULT_SERVER_VERSION)),
                title: literal("title"),
                website_url: literal("websiteUrl"),
                icons: literal("icons"),
            },
            instructions: literal("instructions"),
            revisions: revisions(&object)?,
            page_size,
            cache_hints: format!("\"ttlMs\":{ttl},\"cacheScope\":\"{scope}\""),
            has_hook: flag("hasHook"),
            allows_untenanted_sessions: flag("allowUntenantedSessions"),
            tenant_limits: object
                .get("tenantLimits")
                .map(|raw| TenantLimits::parse(raw.get()))
                .transpose()?,
        })
    }

    /// The `Implementation` as JSON text, with what the revision has of it.
    pub(crate) fn server_info(&self, revision: Revision) -> String {
        let info = &self.info;
        let mut text = format!("{{\"name\":{},\"version\":{}", info.name, info.version);
        let mut add = |key: &str, value: Option<&String>| {
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = write!(text, ",\"{key}\":{value}");
            }
        };
        if revision >= Revision::V2025_06_18 {
            add("title", info.title.as_ref());
        }
        if revision >= Revision::V2025_11_25 {
            add("websiteUrl", info.website_url.as_ref());
            add("icons", info.icons.as_ref());
        }
        text.push('}');
        text
    }

    pub(crate) fn speaks(&self, revision: Revision) -> bool {
        self.revisions.contains(&revision)
    }

    pub(crate) fn newest(&self, era: Era) -> Option<Revision> {
        self.of(era).next()
    }

    pub(crate) fn of(&self, era: Era) -> impl Iterator<Item = Revision> {
        self.revisions
            .iter()
            .copied()
            .filter(move |revision| revision.era() == era)
    }
}

fn revisions(object: &Object<'_>) -> Result<Vec<Revision>> {
    let Some(raw) = object.present("protocolVersions") else {
        return Ok(Revision::ALL.to_vec());
    };
    let known = || {
        let names: Vec<_> = Revision::ALL.into_iter().map(Revision::name).collect();
        Error::invalid_option(format!(
            "protocolVersions must be an array of one or more of {}",
            names.join(", ")
        ))
    };
    let named = json::array(raw.get()).ok_or_else(known)?;
    let mut revisions = Vec::new();
    for name in named {
        let revision = json::string(name.get()).and_then(|name| Revision::parse(&name));
        revisions.push(revision.ok_or_else(known)?);
    }
    if revisions.is_empty() {
        return Err(known());
    }
    revisions.sort_unstable_by(|a, b| b.cmp(a));
    revisions.dedup();
    Ok(revisions)
}

/// The largest whole number that JavaScript tells from its neighbours.
const LARGEST_INTEGER: u64 = (1 << 53) - 1;

fn positive(name: &str, text: &str) -> Result<usize> {
    json::parse::<usize>(text)
        .filter(|value| *value > 0)
        .ok_or_else(|| Error::invalid_option(format!("{name} must be a positive integer")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_has_its_default() {
        let options = Options::parse("{}").unwrap();
        assert_eq!(
            options.server_info(Revision::NEWEST),
            r#"{"name":"mcp-server","version":"0.0.0"}"#
        );
        assert_eq!(options.revisions, Revision::ALL);
        assert_eq!(options.cache_hints, r#""ttlMs":0,"cacheScope":"private""#);
        assert!(options.page_size.is_none() && options.instructions.is_none());
    }

    #[test]
    fn a_revision_is_told_what_it_has() {
        let options =
            Options::parse(r#"{"name":"n","version":"1","title":"T","websiteUrl":"https://a","icons":[]}"#).unwrap();
        assert_eq!(
            options.server_info(Revision::V2025_03_26),
            r#"{"name":"n","version":"1"}"#
        );
        assert_eq!(
            options.server_info(Revision::V2025_06_18),
            r#"{"name":"n","version":"1","title":"T"}"#
        );
        assert_eq!(
            options.server_info(Revision::V2026_07_28),
            r#"{"name":"n","version":"1","title":"T","websiteUrl":"https://a","icons":[]}"#
        );
    }

    #[test]
    fn a_wrong_option_is_named() {
        for (text, name) in [
            (r#"{"pageSize":0}"#, "pageSize"),
            (r#"{"pageSize":"3"}"#, "pageSize"),
            (r#"{"cacheTtlMs":-1}"#, "cacheTtlMs"),
            (
                r#"{"tenantLimits":{"maxConnections":0}}"#,
                "tenantLimits.maxConnections",
            ),
            (r#"{"cacheScope":"all"}"#, "cacheScope"),
            (r#"{"protocolVersions":[]}"#, "protocolVersions"),
            (r#"{"protocolVersions":["2025-11-26"]}"#, "protocolVersions"),
        ] {
            let error = Options::parse(text).err().unwrap();
            assert!(error.message().contains(name), "{error}");
        }
        let options = Options::parse(r#"{"protocolVersions":["2024-11-05","2025-11-25","2024-11-05"]}"#).unwrap();
        assert_eq!(options.revisions, [Revision::V2025_11_25, Revision::V2024_11_05]);
        assert_eq!(options.newest(Era::Stateless), None);
    }
}
