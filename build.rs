//! Hands the Node-API link flags to Cargo when the addon is built, and does nothing else.

fn main() {
    #[cfg(feature = "node")]
    napi_build::setup();
}
