//! What every part of a toolset works with: its options, servers and routes, and who is told. It knows neither how servers
//! are brought up nor how they are called.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;

use super::catalogue::Catalogue;
use super::connection::{Context, Tasks};
use super::held::HeldCalls;
use super::options::{Endpoint, Options};
use super::server::Server;
use crate::catalog::listing::ListedTool;
use crate::catalog::output_schema::OutputSchema;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorCode, Result};
use crate::host::http::HttpClient;
use crate::host::{CallId, Clock, Listener};
use crate::protocol::wire::param_header::{self, ParamHeader};
use crate::transport::http::client::ReqwestClient;

pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) servers: Vec<Server>,
    pub(super) catalogue: Catalogue,
    /// Whether remote servers are remembered.
    pub(super) keeps_rows: bool,
    /// Whether what lazy servers list is remembered that have no rows.
    pub(super) keeps_listings: bool,
    /// Whether lazy servers are left alone. Not so where what they list is what was asked for.
    pub(super) may_sleep: bool,
    pub(super) listener: Arc<dyn Listener>,
    pub(super) clock: Arc<dyn Clock>,
    /// The caller's, or our own once it is needed.
    pub(super) http: OnceLock<Arc<dyn HttpClient>>,
    pub(super) tasks: Tasks,
    /// Calls that cannot be sent yet.
    pub(super) held: Arc<HeldCalls>,
    /// What was asked for beside tools and is under way.
    pub(super) asks: Mutex<HashMap<CallId, CancellationToken>>,
    /// Counts requests of our own that have a name.
    pub(super) own_requests: AtomicU64,
}

/// Where a call goes: the stored pair of server and remote name. A name is never split.
pub(super) struct Route {
    pub(super) server: usize,
    pub(super) tool: Arc<ListedTool>,
    param_headers: OnceLock<Vec<ParamHeader>>,
    /// Made of the schema when the first structured result comes; nothing when the schema cannot be used.
    pub(super) output_check: OnceLock<Option<OutputSchema>>,
}

impl Route {
    pub(super) fn new(server: usize, tool: Arc<ListedTool>) -> Self {
        Self {
            server,
            tool,
            param_headers: OnceLock::new(),
            output_check: OnceLock::new(),
        }
    }

    /// Arguments that are repeated in headers, where the connection has them.
    pub(super) fn param_headers(&self) -> &[ParamHeader] {
        self.param_headers.get_or_init(|| {
            let schema = self.tool.input_schema.as_deref();
            schema
                .and_then(|schema| param_header::read(schema.get()).ok())
                .unwrap_or_default()
        })
    }
}

impl Shared {
    /// Makes the HTTP stack of our own, where a server needs one and the caller gave none. What it could not carry is
    /// refused before anything is started.
    ///
    /// # Errors
    /// `invalid-option`.
    pub(super) fn prepare_http(&self) -> Result<()> {
        let mut remotes = self
            .servers
            .iter()
            .filter_map(|server| match &server.config.endpoint {
                Endpoint::Remote(remote) => Some(remote.configured.url()),
                Endpoint::Stdio(_) => None,
            })
            .peekable();
        if self.http.get().is_some() || remotes.peek().is_none() {
            return Ok(());
        }
        let client = ReqwestClient::new(&self.options.http)?;
        remotes.try_for_each(|url| client.check_route(url))?;
        self.http.get_or_init(|| Arc::new(client));
        Ok(())
    }

    pub(super) fn asks(&self) -> MutexGuard<'_, HashMap<CallId, CancellationToken>> {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner)
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
            http: self.http.get().cloned(),
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
