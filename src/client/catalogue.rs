//! Publishing: the servers' listings are projected together, and what comes of it takes the place of what was published.

use std::mem;
use std::sync::{Arc, PoisonError};

use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::listing::Walked;
use super::options::{Endpoint, OnListChanged};
use super::state::published::{Entry, Published};
use super::state::server::Server;
use super::state::shared::Shared;
use crate::catalog::NO_SCHEMA;
use crate::catalog::disclosure::DESCRIBE_TOOL;
use crate::catalog::drift::Baseline;
use crate::catalog::project::{self, ServerListing};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorCode, Result};
use crate::json::{self, Object};

impl Shared {
    pub(super) fn entry(&self, tool: &str) -> Option<Entry> {
        self.catalogue.published().tools.get(tool).cloned()
    }

    /// Takes what a server lists now. What was told of the listing before is not told again.
    pub(super) fn take_listing(&self, server: &Server, walked: Walked) {
        let tools: Vec<_> = walked.tools.into_iter().map(Arc::new).collect();
        let mut listed = server.listed();
        // Without a history, what was seen first is what is trusted. A baseline that is stored guards whatever the options.
        let is_stored = self.keeps_rows && matches!(server.config.endpoint, Endpoint::Remote(_));
        let guards = is_stored || self.options.on_list_changed == OnListChanged::Guard;
        if walked.is_whole && listed.baseline.is_none() && guards {
            let digests = tools
                .iter()
                .map(|tool| (tool.name.clone(), tool.fingerprint().digest.clone()));
            listed.baseline = Some(Arc::new(Baseline::new(digests)));
        }
        listed.tools = Arc::new(tools);
        listed.is_whole = walked.is_whole;
        let told = walked.diagnostics.iter().map(|told| told.message.clone()).collect();
        let told_before = mem::replace(&mut listed.told, told);
        drop(listed);
        for diagnostic in walked.diagnostics {
            if !told_before.contains(&diagnostic.message) {
                self.tell(server, diagnostic);
            }
        }
    }

    /// Projects what all servers list now, and from here on routes by that. What was told of the catalogue before is not
    /// told again. True when what is seen of it is another.
    pub(super) fn publish(&self) -> bool {
        let mut latest = self.catalogue.latest();
        let listed: Vec<_> = self.servers.iter().map(|server| server.listed().parts()).collect();
        let listings: Vec<_> = self
            .servers
            .iter()
            .zip(&listed)
            .map(|(server, (tools, baseline))| ServerListing {
                name: &server.config.name,
                projected_name: &server.projected_name,
                is_remote: matches!(server.config.endpoint, Endpoint::Remote(_)),
                tools,
                baseline: baseline.as_deref(),
            })
            .collect();
        let projection = project::project(&listings, &self.options.filter, &self.options.disclosure);
        for (server, disclosed) in self.servers.iter().zip(&projection.disclosed) {
            server.listed().disclosed = *disclosed;
        }
        let published = Arc::new(Published::after(&self.catalogue.published(), &projection));
        *self.catalogue.published.write().unwrap_or_else(PoisonError::into_inner) = published;
        let known = |told: &Diagnostic| (told.origin.clone(), told.message.clone());
        let told = projection.diagnostics.iter().map(known).collect();
        let told_before = mem::replace(&mut latest.told, told);
        let digest = Sha256::digest(&projection.text).into();
        let is_new = mem::replace(&mut latest.digest, digest) != digest;
        let is_awaited = is_new && latest.text.replace(projection.text).is_some();
        drop(latest);
        if is_new && !is_awaited {
            self.listener.catalogue_changed();
        }
        for diagnostic in projection.diagnostics {
            if told_before.contains(&known(&diagnostic)) {
                continue;
            }
            match self
                .servers
                .iter()
                .find(|server| server.projected_name == diagnostic.origin)
            {
                Some(server) => self.tell(server, diagnostic),
                None => self.listener.diagnostic(diagnostic),
            }
        }
        is_new
    }

    /// Answers a call of the tool that describes tools; nothing where there is none.
    pub(super) fn describe(&self, tool: &str, arguments: &str) -> Option<Result<String>> {
        let published = self.catalogue.published();
        if tool != DESCRIBE_TOOL || !published.describes {
            return None;
        }
        let wrong = |message: String| Err(Error::new(ErrorCode::InvalidArguments, message));
        let Some(name) = Object::parse(arguments).and_then(|arguments| Some(arguments.string("tool")?.into_owned()))
        else {
            return Some(wrong(format!(
                "{DESCRIBE_TOOL} takes the name of a tool: {{ \"tool\": string }}"
            )));
        };
        Some(match published.tools.get(&name) {
            Some(Entry::Callable(route)) => Ok(route
                .tool
                .input_schema
                .as_deref()
                .map_or(NO_SCHEMA, RawValue::get)
                .to_owned()),
            Some(Entry::Quarantined(_)) => wrong(format!(
                "the tool {} is quarantined: its definition changed since it was trusted, and its schema is not shown",
                json::quote(&name)
            )),
            Some(Entry::Withdrawn { .. }) | None => {
                wrong(format!("there is no tool named {}", json::quote_short(&name)))
            }
        })
    }
}

impl Server {
    /// Whether a tool that it listed is not among those that it lists now.
    pub(super) fn has_withdrawn(&self, tool: &str) -> bool {
        let listed = self.listed();
        listed.is_whole && !listed.tools.iter().any(|one| one.name == tool)
    }
}
