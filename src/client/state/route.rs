//! Where a call goes.

use std::sync::{Arc, OnceLock};

use crate::catalog::listing::ListedTool;
use crate::catalog::output_schema::OutputSchema;
use crate::protocol::wire::param_header::{self, ParamHeader};

/// Where a call goes: the stored pair of server and remote name. A name is never split.
pub(in crate::client) struct Route {
    pub(in crate::client) server: usize,
    pub(in crate::client) tool: Arc<ListedTool>,
    param_headers: OnceLock<Vec<ParamHeader>>,
    /// Made of the schema when the first structured result comes; nothing when the schema cannot be used.
    pub(in crate::client) output_check: OnceLock<Option<OutputSchema>>,
}

impl Route {
    pub(in crate::client) fn new(server: usize, tool: Arc<ListedTool>) -> Self {
        Self {
            server,
            tool,
            param_headers: OnceLock::new(),
            output_check: OnceLock::new(),
        }
    }

    /// Arguments that are repeated in headers, where the connection has them.
    pub(in crate::client) fn param_headers(&self) -> &[ParamHeader] {
        self.param_headers.get_or_init(|| {
            let schema = self.tool.input_schema.as_deref();
            schema
                .and_then(|schema| param_header::read(schema.get()).ok())
                .unwrap_or_default()
        })
    }
}
