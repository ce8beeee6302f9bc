//! The forms in which messages travel on a port.

/// The routes, each with its path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forms {
    pub(crate) sse: Option<SsePaths>,
    pub(crate) streamable: Option<String>,
    pub(crate) websocket: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct SsePaths {
    pub(crate) stream: String,
    pub(crate) messages: String,
}
