//! Configuration files, for the facade: what they come to crosses as JSON text.

use std::collections::HashMap;
use std::path::PathBuf;

use napi_derive::napi;

use super::host::to_json;
use super::reply::NativeReply;
use crate::client::config::{self, Given, Loaded};

/// Reads the file at `path`, or else `text`. Ends in `{ servers, diagnostics }`.
#[napi(catch_unwind)]
pub fn native_load_config(
    path: Option<String>,
    text: String,
    env: HashMap<String, String>,
    inputs: HashMap<String, String>,
    base: Option<String>,
) -> NativeReply {
    let given = Given {
        env,
        inputs,
        base: base.map(PathBuf::from),
    };
    let loaded = match path {
        Some(path) => config::load_file(&path, given),
        None => Ok(config::load_object(&text, given)),
    };
    loaded.map(|loaded| Some(render(&loaded))).into()
}

fn render(loaded: &Loaded) -> String {
    let diagnostics: Vec<_> = loaded.diagnostics.iter().map(to_json).collect();
    format!(
        "{{\"servers\":[{}],\"diagnostics\":[{}]}}",
        loaded.servers.join(","),
        diagnostics.join(",")
    )
}
