//! What servers announce, and who is told: the caller, and whatever was built on what is not true any more.

use std::sync::Arc;

use super::connection::Notice;
use super::state::server::Server;
use super::state::shared::Shared;
use crate::driver::Ended;
use crate::host::Change;

impl Shared {
    /// A server of this toolset said something on its own account.
    pub(super) fn heard(self: &Arc<Self>, index: usize, notice: Notice) {
        let Some(server) = self.servers.get(index) else { return };
        let changed = |change| self.listener.changed(&server.projected_name, change);
        match notice {
            // Told of once they were listed again.
            Notice::ToolsChanged => self.list_changed(index),
            Notice::PromptsChanged => {
                server.cache.forget("prompts/");
                changed(Change::Prompts);
            }
            Notice::ResourcesChanged => {
                server.cache.forget("resources/");
                changed(Change::Resources);
            }
            Notice::ResourceUpdated { uri, of } => {
                server.cache.forget("resources/read");
                for subscription in server.subscribed(&uri, of) {
                    self.listener.updated(&server.projected_name, &subscription, &uri);
                }
            }
            Notice::Acknowledged { uris, of } => self.acknowledged(server, &uris, of),
            Notice::Renewed => self.attend(index, server),
            Notice::Lost => {
                server.cache.forget("");
                self.tell_status(server);
            }
        }
    }

    /// Learns from the end of a request whether its credentials are any good, which is part of the state of a server.
    pub(super) fn note_credentials(&self, server: &Server, ended: &Ended, bearer: Option<String>) {
        if server.note_credentials(ended, bearer) {
            self.tell_status(server);
        }
    }

    /// The state of a server is another one.
    pub(super) fn tell_status(&self, server: &Server) {
        self.listener.status(server.to_json());
    }
}
