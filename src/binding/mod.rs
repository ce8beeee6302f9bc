//! The border to JavaScript, and the only home of Node-API. JSON crosses as text, failures as values, events in batches;
//! there is no logic here. Everything that Node-API sees is named `Native…`.

#![expect(clippy::needless_pass_by_value, reason = "Node-API hands its values over")]

mod callback;
mod client;
mod config;
mod constants;
mod ending;
mod fetch;
mod frames;
mod host;
mod jwt;
mod names;
mod reply;
mod runtime;
mod server;
mod sql;
mod store;
