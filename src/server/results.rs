//! Results, in the words of their era.

use serde_json::value::RawValue;

use super::lifecycle::Server;
use super::render;
use crate::protocol::message::Params;
use crate::protocol::revision::{Era, Revision};

impl Server {
    /// A result: in the stateless era it says that it is complete, and whose it is.
    pub(crate) fn result(&self, revision: Revision, members: Params, meta: Option<&RawValue>) -> String {
        match revision.era() {
            Era::Session => match meta {
                Some(meta) => members.raw("_meta", meta.get()).object(),
                None => members.object(),
            },
            Era::Stateless => {
                let meta = render::merged_meta(meta, &self.meta(revision));
                members.raw("resultType", "\"complete\"").raw("_meta", &meta).object()
            }
        }
    }

    /// What a result of the stateless era says of the server.
    pub(crate) fn meta(&self, revision: Revision) -> String {
        format!(
            "{{\"io.modelcontextprotocol/serverInfo\":{}}}",
            self.options().server_info(revision)
        )
    }
}
