//! Without process groups the child's own handle is all there is; see `ChildTransport::close`.

use std::io;

use tokio::process::{Child, Command};

use super::Signal;

#[derive(Debug)]
pub(super) struct Group;

pub(super) fn start(mut command: Command) -> io::Result<(Child, Group)> {
    Ok((command.spawn()?, Group))
}

impl Group {
    pub(super) const fn exists(&self) -> bool {
        false
    }

    pub(super) const fn reap(&self) {}

    pub(super) const fn signal(&self, _signal: Signal) {}

    pub(super) async fn signal_stragglers(&self, _signal: Signal) -> bool {
        false
    }

    pub(super) async fn release(&self) {}
}
