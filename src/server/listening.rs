//! What one request listens for.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::host::Change;
use crate::json::{self, Object};
use crate::limits;
use crate::protocol::codes::WireError;
use crate::protocol::message::Params;

/// One request that listens.
pub(crate) struct Listening {
    /// The id of the request, as it was sent: it names the subscription too.
    pub(crate) id: Arc<str>,
    pub(super) filter: Filter,
}

/// What is listened for.
#[derive(Default)]
pub(super) struct Filter {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) uris: HashSet<String>,
}

impl Filter {
    pub(super) fn parse(params: Option<&RawValue>) -> Result<Self, WireError> {
        let wrong = |what: &str| WireError::invalid_params(what);
        let filter = params
            .and_then(|params| Object::parse(params.get()))
            .and_then(|params| params.object("notifications"))
            .ok_or_else(|| wrong("`notifications` must be an object"))?;
        let flag = |key: &str| match filter.present(key).map(RawValue::get) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(wrong(&format!("`notifications.{key}` must be a boolean"))),
        };
        let mut uris = HashSet::new();
        if let Some(listed) = filter.present("resourceSubscriptions") {
            let wrong_uris = || wrong("`notifications.resourceSubscriptions` must be an array of URIs");
            let listed = json::array(listed.get()).ok_or_else(wrong_uris)?;
            if listed.len() > limits::MAX_SUBSCRIPTIONS {
                return Err(wrong(&format!(
                    "`notifications.resourceSubscriptions` may hold {} URIs at most",
                    limits::MAX_SUBSCRIPTIONS
                )));
            }
            for uri in listed {
                uris.insert(json::string(uri.get()).ok_or_else(wrong_uris)?.into_owned());
            }
        }
        Ok(Self {
            tools: flag("toolsListChanged")?,
            prompts: flag("promptsListChanged")?,
            resources: flag("resourcesListChanged")?,
            uris,
        })
    }

    pub(super) fn wants(&self, change: Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
        }
    }

    /// As it was asked for, without what was not.
    pub(super) fn to_json(&self) -> String {
        let mut params = Params::new();
        for (key, wants) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if wants {
                params = params.raw(key, "true");
            }
        }
        if !self.uris.is_empty() {
            let mut uris: Vec<_> = self.uris.iter().map(|uri| json::quote(uri)).collect();
            uris.sort_unstable();
            params = params.raw("resourceSubscriptions", &format!("[{}]", uris.join(",")));
        }
        params.object()
    }
}
