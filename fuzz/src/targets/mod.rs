//! What the fuzz targets check. The core's own tests mount this folder too: they run each target on its seeds and on
//! subjects that are broken on purpose, so that a target which finds nothing is found out.

pub(crate) mod lines;
pub(crate) mod message;
pub(crate) mod peer;
