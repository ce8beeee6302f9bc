//! `load`: the load of a server that is being measured, from one thread that costs far less than the server.
//!
//! Every place in flight has one request that it sends again and again. Its first answer is looked at; each later one has to
//! be the same, byte for byte: that a server is right costs the load one comparison.
//!
//! ```text
//! load http  --address HOST:PORT --path PATH [--header LINE]... [--session ID]... REQUEST   POST on as many connections
//! load lines (--in FILE --out FILE [--hello LINE]... | -- COMMAND...) REQUEST               one line each, over pipes
//! load idle  --address HOST:PORT --path PATH [--header LINE]... [--body TEXT] --connections N [--status N]
//!
//! REQUEST    --method NAME [--params JSON] [--tools N] [--in-flight N] [--text-bytes N] [--seconds S]
//! ```
//!
//! `$TEXT` in the params stands for a text that only this place in flight has, and that its answer must hold; `--tools` is
//! how many tools an answer must list. `idle` opens its connections one after another, says so, and holds them until its
//! standard input ends.

mod http;
mod idle;
mod lines;
mod place;
mod response;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.first().map(String::as_str) {
        Some("http") => http::run(&args[1..]),
        Some("lines") => lines::run(&args[1..]),
        Some("idle") => idle::run(&args[1..]),
        _ => Err(std::io::Error::other("usage: load <http | lines | idle> ...")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}

/// All values that follow `name` in `args`.
fn options<'a>(args: &'a [String], name: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        if arg == "--" {
            break;
        }
        if arg == name {
            found.extend(args.get(at + 1).map(String::as_str));
        }
    }
    found
}
