//! What needs more than one module: the layers themselves, and the stories that play between two sides.

mod fuzz;
mod layering;
mod rust_paths;
