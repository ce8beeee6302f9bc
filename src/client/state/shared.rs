//! What every part of a toolset works with: its options, servers and routes, and who is told. It knows neither how servers
//! are brought up nor how they are called.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;

use super::published::Catalogue;
use super::server::Server;
use crate::client::connection::Context;
use crate::client::held::HeldCalls;
use crate::client::options::{Endpoint, Options};
use crate::client::tasks::Tasks;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorCode, Result};
use crate::host::http::HttpClient;
use crate::host::{CallId, Clock, Listener};
use crate::transport::http::client::ReqwestClient;

pub(in crate::client) struct Shared {
    pub(in crate::client) options: Options,
    pub(in crate::client) servers: Vec<Server>,
    pub(in crate::client) catalogue: Catalogue,
    /// Whether remote servers are remembered.
    pub(in crate::client) keeps_rows: bool,
    /// Whether what lazy servers list is remembered that have no rows.
    pub(in crate::client) keeps_listings: bool,
    /// Whether lazy servers are left alone. Not so where what they list is what was asked for.
    pub(in crate::client) may_sleep: bool,
    pub(in crate::client) listener: Arc<dyn Listener>,
    pub(in crate::client) clock: Arc<dyn Clock>,
    /// The caller's, or our own once it is needed.
    pub(in crate::client) http: OnceLock<Arc<dyn HttpClient>>,
    pub(in crate::client) tasks: Tasks,
    /// Calls that cannot be sent yet.
    pub(in crate::client) held: Arc<HeldCalls>,
    /// What was asked for beside tools and is under way.
    pub(in crate::client) asks: Mutex<HashMap<CallId, CancellationToken>>,
    /// Counts requests of our own that have a name.
    pub(in crate::client) own_requests: AtomicU64,
}

impl Shared {
    /// Makes the HTTP stack of our own, where a server needs one and the caller gave none. What it could not carry is
    /// refused before anything is started.
    ///
    /// # Errors
    /// `invalid-option`.
    pub(in crate::client) fn prepare_http(&self) -> Result<()> {
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

    pub(in crate::client) fn asks(&self) -> MutexGuard<'_, HashMap<CallId, CancellationToken>> {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a connection to this server tells its users.
    pub(in crate::client) fn context(self: &Arc<Self>, index: usize, server: &Server) -> Context {
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
    pub(in crate::client) fn tell(&self, server: &Server, diagnostic: Diagnostic) {
        let message = server.redactor.redact(&diagnostic.message);
        self.listener.diagnostic(Diagnostic { message, ..diagnostic });
    }
}

pub(in crate::client) fn closed(when: &str) -> Error {
    Error::new(
        ErrorCode::Closed,
        format!("the toolset was closed {when}; its servers are unavailable"),
    )
}
