//! The forms in which messages travel: bytes to messages and back, without reading or writing anything.

pub(crate) mod http;
pub(crate) mod lines;
mod oversize;
pub(crate) mod param_header;
pub(crate) mod sse;
