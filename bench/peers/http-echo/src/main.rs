//! `http-echo`: MCP servers over Streamable HTTP, in the session era, that echo and have nothing behind them.
//!
//! It exists to answer a client that is being measured, so it must cost far less than that client: one thread waits for
//! all sockets, a request costs one read and one write, and no library stands in between. It reads only what it is sent
//! by our own benchmarks and is no example of a server.
//!
//! ```text
//! http-echo [--servers N] [--tools N] [--reply json|sse] [--delay-ms N] [--stats FILE]
//!     serve until stdin ends; the first line of stdout has the URLs as a JSON array
//! http-echo solo [--reply json|sse] [--in-flight N] [--text-bytes N] [--seconds S]
//!     drive a second copy of itself, print its rate
//! ```
//!
//! `--stats` writes how many calls and listings were answered, and the CPU time it took, when stdin ends: the counts
//! are the witness that a client did the work it says it did.

mod request;
mod response;
mod serve;
mod solo;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.first().map(String::as_str) {
        Some("solo") => solo::run(&args[1..]),
        _ => serve::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("http-echo: {error}");
            ExitCode::FAILURE
        }
    }
}
