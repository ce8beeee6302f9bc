//! What a toolset knows of itself and of its servers. Data and the small machines that keep it right; what is done with it
//! lies in the modules beside this one.

pub(super) mod activity;
pub(super) mod listed;
pub(super) mod published;
pub(super) mod relisting;
pub(super) mod route;
pub(super) mod row_mark;
pub(super) mod server;
pub(super) mod shared;
pub(super) mod subscription;
