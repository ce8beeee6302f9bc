//! The server over HTTP: what has to be right before anything is looked at, who is behind a request, and the forms in which
//! messages travel. Owns the sessions of a port; knows no method of the protocol.

pub(crate) mod bearer;
pub(crate) mod body;
pub(crate) mod forms;
pub(crate) mod gate;
pub(crate) mod identify;
pub(crate) mod legacy;
pub(crate) mod metadata;
pub(crate) mod options;
pub(crate) mod reply;
pub(crate) mod sessions;
pub(crate) mod site;
pub(crate) mod stream;
pub(crate) mod streamable;
#[cfg(test)]
mod tests;
pub(crate) mod websocket;
