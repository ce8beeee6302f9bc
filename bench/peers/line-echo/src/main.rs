//! `line-echo`: an MCP server over stdio with one tool, `echo`, and nothing behind it.
//!
//! It exists to answer a client that is being measured, so it must cost far less than that client: it takes as many
//! lines as one read brings, walks each line once without building a tree, copies the echoed string as it came (still
//! escaped), and answers the whole batch with one write. It reads only what it is sent by our own benchmarks and is
//! no example of a server.
//!
//! ```text
//! line-echo [--stats FILE] [--tools N]                      serve on stdin and stdout until stdin ends
//! line-echo solo [--in-flight N] [--text-bytes N] [--seconds S]   drive a second copy of itself, print its rate
//! ```
//!
//! `--stats` writes how many calls were answered, and the CPU time they took, when stdin ends: the count is the
//! witness that a client did the work it says it did.

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
            eprintln!("line-echo: {error}");
            ExitCode::FAILURE
        }
    }
}
