//! The pure modules of the core, without everything else, and one function per fuzz target. Whoever adds a module to
//! the pure layers adds it here; whoever writes a decoder adds a target.

// The modules' own tests run where the modules live; here a build for tests is empty.
#![cfg(not(test))]
#![expect(dead_code, reason = "the callers of the pure modules live in the layers above them")]

use std::{env, fs};

#[path = "../../src/catalog/mod.rs"]
mod catalog;
#[path = "../../src/diagnostic.rs"]
mod diagnostic;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/guard/mod.rs"]
mod guard;
#[path = "../../src/json/mod.rs"]
mod json;
#[path = "../../src/limits.rs"]
mod limits;
#[path = "../../src/protocol/mod.rs"]
mod protocol;
mod targets;

pub fn canonical(data: &[u8]) {
    targets::canonical::run(data, targets::canonical::ours);
}

pub fn comments(data: &[u8]) {
    targets::comments::run(data, json::comments::without_comments);
}

pub fn http(data: &[u8]) {
    targets::http::run::<targets::http::Ours>(data);
}

pub fn inbound(data: &[u8]) {
    targets::inbound::run(data, targets::inbound::ours);
}

pub fn lines(data: &[u8]) {
    targets::lines::run::<protocol::wire::lines::Lines>(data);
}

pub fn message(data: &[u8]) {
    targets::message::run(data, targets::message::render);
}

pub fn param_header(data: &[u8]) {
    targets::param_header::run(data, |text| protocol::wire::param_header::encode(text).into_owned());
}

pub fn peer(data: &[u8]) {
    targets::peer::run::<protocol::peer::Peer<u64>>(data);
}

pub fn request(data: &[u8]) {
    targets::request::run(data, protocol::request::read);
}

pub fn sealed(data: &[u8]) {
    targets::sealed::run(data, protocol::request_state::RequestState::open);
}

pub fn sse(data: &[u8]) {
    targets::sse::run::<protocol::wire::sse::SseDecoder>(data);
}

/// What a target does where no fuzzer drives it: runs on the files that it is given.
///
/// # Panics
/// When a file cannot be read, and as the target does.
pub fn replay(target: fn(&[u8])) {
    for file in env::args_os().skip(1) {
        let data = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        target(&data);
    }
}
