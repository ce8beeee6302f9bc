//! The server: bytes in, lines out, one write per read.

use std::io::{Read, Write};

use line_echo::echo::{Answered, Echo};
use line_echo::{number, option, scan, usage};

/// Lines of 64 calls with a 4 KiB text fit in one read.
const READ_BYTES: usize = 512 * 1024;

pub fn run(args: &[String]) -> std::io::Result<()> {
    let mut server = Server::new(number(args, "--tools", 1.0)?.max(1.0) as usize);
    let mut stdin = std::io::stdin().lock();
    let mut stdout = std::io::stdout().lock();
    let mut input = vec![0_u8; READ_BYTES];
    let mut held = 0;
    let mut out = Vec::with_capacity(READ_BYTES);
    loop {
        if held == input.len() {
            input.resize(input.len() * 2, 0);
        }
        let read = stdin.read(&mut input[held..])?;
        if read == 0 {
            break;
        }
        let filled = held + read;
        let consumed = server.take(&input[..filled], held, &mut out);
        input.copy_within(consumed..filled, 0);
        held = filled - consumed;
        if !out.is_empty() {
            stdout.write_all(&out)?;
            stdout.flush()?;
            out.clear();
        }
    }
    if let Some(path) = option(args, "--stats") {
        let cpu = usage::cpu_ns().map_or_else(|| "null".to_owned(), |ns| ns.to_string());
        std::fs::write(
            path,
            format!(
                "{{\"calls\":{},\"reads\":{},\"cpuNs\":{cpu}}}\n",
                server.calls, server.reads
            ),
        )?;
    }
    Ok(())
}

pub struct Server {
    echo: Echo,
    calls: u64,
    reads: u64,
}

impl Server {
    pub fn new(tools: usize) -> Self {
        Self {
            echo: Echo::new(tools),
            calls: 0,
            reads: 0,
        }
    }

    /// Answers every complete line of `bytes` into `out`; returns how many bytes those lines took. The first `known`
    /// bytes were seen before and hold no line end.
    pub fn take(&mut self, bytes: &[u8], known: usize, out: &mut Vec<u8>) -> usize {
        self.reads += 1;
        let mut start = 0;
        let mut from = known;
        while let Some(length) = scan::position(&bytes[from..], |byte| byte == b'\n') {
            let end = from + length;
            match self.echo.answer(&bytes[start..end], out) {
                Answered::Nothing => {}
                answered => {
                    self.calls += u64::from(answered == Answered::Call);
                    out.push(b'\n');
                }
            }
            start = end + 1;
            from = start;
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &[u8]) -> String {
        let mut out = Vec::new();
        Server::new(1).take(input, 0, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn any_split_answers_like_one_piece() {
        let input = b"{\"id\":1,\"method\":\"ping\"}\n{\"id\":2,\"method\":\"ping\"}\n{\"id\":3,\"meth";
        let whole = answers(input);
        for cut in 0..input.len() {
            let mut server = Server::new(1);
            let mut out = Vec::new();
            let consumed = server.take(&input[..cut], 0, &mut out);
            let rest = &input[consumed..];
            server.take(rest, cut - consumed, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), whole, "cut at {cut}");
        }
    }
}
