//! What needs more than one module: the layers themselves, and the stories that play between two sides.

#[cfg(unix)]
mod closing;
mod fuzz;
mod layering;
mod rust_paths;
