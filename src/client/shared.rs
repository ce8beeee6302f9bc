//! What every part of a toolset works with: its options, servers and routes, and who is told. It knows neither how servers
//! are brought up nor how they are called.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use super::connection::{Context, Tasks};
use super::options::Options;
use super::server::Server;
use crate::catalog::output_schema::OutputSchema;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorCode};
use crate::host::http::HttpClient;
use crate::host::{Clock, Listener};
use crate::protocol::wire::param_header::ParamHeader;

pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) servers: Vec<Server>,
    /// Known once every server was tried.
    pub(super) routes: OnceLock<HashMap<String, Arc<Route>>>,
    pub(super) listener: Arc<dyn Listener>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) http: Option<Arc<dyn HttpClient>>,
    pub(super) tasks: Tasks,
}

/// Where a call goes: the stored pair of server and remote name. A name is never split.
pub(super) struct Route {
    pub(super) server: usize,
    pub(super) remote_name: String,
    /// Arguments that are repeated in headers, where the connection has them.
    pub(super) param_headers: Vec<ParamHeader>,
    pub(super) output_schema: Option<Box<RawValue>>,
    /// Made of the schema when the first structured result comes; nothing when the schema cannot be used.
    pub(super) output_check: OnceLock<Option<OutputSchema>>,
}

impl Shared {
    pub(super) fn route(&self, tool: &str) -> Option<&Arc<Route>> {
        self.routes.get()?.get(tool)
    }

    /// What a connection to this server tells its users.
    pub(super) fn context(self: &Arc<Self>, index: usize, server: &Server) -> Context {
        let shared = Arc::downgrade(self);
        Context {
            handlers: Arc::clone(&self.options.handlers),
            hear: Arc::new(move |notice| {
                // Gone with the toolset, as everybody is who would be told.
                if let Some(shared) = shared.upgrade() {
                    shared.heard(index, notice);
                }
            }),
            server: server.config.name.clone(),
            redactor: Arc::clone(&server.redactor),
            listener: Arc::clone(&self.listener),
            clock: Arc::clone(&self.clock),
            http: self.http.clone(),
        }
    }

    /// Tells what a server's own text is part of.
    pub(super) fn tell(&self, server: &Server, diagnostic: Diagnostic) {
        let message = server.redactor.redact(&diagnostic.message);
        self.listener.diagnostic(Diagnostic { message, ..diagnostic });
    }
}

pub(super) fn closed(when: &str) -> Error {
    Error::new(
        ErrorCode::Closed,
        format!("the toolset was closed {when}; its servers are unavailable"),
    )
}
