//! Listing a server again when it says that its tools changed: at once where that is long ago, otherwise after a pause; one
//! listing at a time, and one more for all that was said meanwhile.

use std::sync::Arc;

use super::connect::Deadline;
use super::connection::Refused;
use super::listing::{self, LIST, Walked};
use super::options::OnListChanged;
use super::own_request::answer;
use super::rows::Keep;
use super::state::server::{Server, State};
use super::state::shared::Shared;
use crate::diagnostic::{Diagnostic, Rule};
use crate::driver::Ended;
use crate::error::{Error, ErrorCode, Result};
use crate::host::Change;
use crate::json;

impl Shared {
    /// A server was tried: from here on it is listened to.
    pub(super) fn begin_relisting(self: &Arc<Self>, index: usize) {
        let begin = |server: &Server| server.relisting.begin(self.clock.now());
        if self.servers.get(index).is_some_and(begin) {
            self.run_relisting(index);
        }
    }

    /// A server said that its tools changed.
    pub(super) fn list_changed(self: &Arc<Self>, index: usize) {
        let wants = |server: &Server| self.options.on_list_changed != OnListChanged::Ignore && server.relisting.want();
        if self.servers.get(index).is_some_and(wants) {
            self.run_relisting(index);
        }
    }

    fn run_relisting(self: &Arc<Self>, index: usize) {
        let shared = Arc::clone(self);
        self.tasks.spawn(async move {
            let Some(server) = shared.servers.get(index) else {
                return;
            };
            tokio::select! {
                () = server.relisting.run(&*shared.clock, || shared.relist(server)) => {}
                () = shared.tasks.closing.cancelled() => {}
            }
        });
    }

    async fn relist(&self, server: &Server) {
        let problem = "said that its tools changed, and could not be listed again; they stay as they were";
        self.list_and_publish(server, problem).await;
    }

    /// Lists a server that is connected, and brings the map and its row up to date. `problem` is what is told when it
    /// cannot be listed.
    pub(super) async fn list_and_publish(&self, server: &Server, problem: &str) {
        let _in_use = server.in_use();
        match self.list_again(server).await {
            Ok(walked) => {
                let is_whole = walked.is_whole;
                self.take_listing(server, walked);
                if self.publish() {
                    self.listener.changed(&server.projected_name, Change::Tools);
                }
                if is_whole {
                    self.keep_row(server, Keep::IfChanged).await;
                }
            }
            // Whoever closed the connection knows.
            Err(error) if error.code() == ErrorCode::Closed => {}
            Err(error) => {
                let message = format!("MCP server {} {problem}: {error}", json::quote(&server.config.name));
                let diagnostic = Diagnostic::new(Rule::ConnectionFailure, &server.config.name, message);
                self.tell(server, diagnostic);
            }
        }
    }

    async fn list_again(&self, server: &Server) -> Result<Walked> {
        let spoken = match &*server.state() {
            State::Ready(live) => (live.established.revision.era(), live.established.announces("tools")),
            _ => return Err(Error::new(ErrorCode::Closed, "the server is not connected")),
        };
        let timeout = server.config.timeout.unwrap_or(self.options.patience.timeout);
        let deadline = Deadline::new(Arc::clone(&self.clock), timeout);
        let ask = |params| {
            let begun = match &*server.state() {
                State::Ready(live) => live.connection.begin(LIST, params, deadline.patience()),
                _ => Err(Refused::Gone(None)),
            };
            async { Ok(begun?.await.unwrap_or(Ended::Closed)) }
        };
        let read = |ended| match ended {
            Ok(Ended::TimedOut { waited }) => {
                let message = format!("it did not answer `{LIST}` within {} ms", waited.as_millis());
                Err(Error::new(ErrorCode::Timeout, message))
            }
            ended => answer(LIST, ended),
        };
        listing::list(&server.projected_name, spoken, self.options.listing, ask, read).await
    }
}
