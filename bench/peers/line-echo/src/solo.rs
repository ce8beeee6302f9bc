//! The solo rate: a second copy of this program as the server, and the lightest client that can keep it busy.
//!
//! The client builds its lines from one template, counts line ends instead of reading the answers, and sends as many
//! new calls in one write as one read brought answers.

use std::io::{Error, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use line_echo::{number, usage};

const HELLO: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"solo\",\"version\":\"0\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
const READ_BYTES: usize = 512 * 1024;

pub fn run(args: &[String]) -> std::io::Result<()> {
    let in_flight = number(args, "--in-flight", 1.0)?.max(1.0) as usize;
    let text_bytes = number(args, "--text-bytes", 40.0)?.max(0.0) as usize;
    let length = Duration::try_from_secs_f64(number(args, "--seconds", 1.0)?).map_err(Error::other)?;

    let mut child = Command::new(std::env::current_exe()?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().ok_or_else(|| Error::other("no stdin"))?;
    let mut output = child.stdout.take().ok_or_else(|| Error::other("no stdout"))?;
    let mut buffer = vec![0_u8; READ_BYTES];

    input.write_all(HELLO)?;
    answers(&mut output, &mut buffer, 1)?;

    let text = "x".repeat(text_bytes);
    let mut next = 1_u64;
    let mut batch = Vec::new();
    let mut send = |count: usize| -> std::io::Result<()> {
        batch.clear();
        for _ in 0..count {
            writeln!(
                batch,
                "{{\"jsonrpc\":\"2.0\",\"id\":{next},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"text\":\"{text}\"}}}}}}"
            )?;
            next += 1;
        }
        input.write_all(&batch)
    };

    // A pipe holds 64 KiB: calls that do not fit in it together would leave both sides writing to each other.
    let window = in_flight.min((48 * 1024 / (text_bytes + 128)).max(1));
    let began = Instant::now();
    let cpu = usage::cpu_ns();
    let mut calls = 0_usize;
    send(window)?;
    loop {
        let done = answers(&mut output, &mut buffer, 1)?;
        calls += done;
        if began.elapsed() >= length {
            break;
        }
        send(done)?;
    }
    let elapsed = began.elapsed();
    let cpu = usage::cpu_ns().zip(cpu).map(|(after, before)| after - before);
    drop(input);
    child.wait()?;
    let rate = calls as f64 / elapsed.as_secs_f64();
    let cpu = cpu.map_or_else(|| "null".to_owned(), |ns| ns.to_string());
    println!(
        "{{\"calls\":{calls},\"seconds\":{},\"rate\":{rate},\"inFlight\":{window},\"driverCpuNs\":{cpu}}}",
        elapsed.as_secs_f64()
    );
    Ok(())
}

/// Reads until at least `least` answers have come; returns how many did.
fn answers(from: &mut impl Read, buffer: &mut [u8], least: usize) -> std::io::Result<usize> {
    let mut seen = 0;
    while seen < least {
        let read = from.read(buffer)?;
        if read == 0 {
            return Err(Error::other("the server went away"));
        }
        seen += buffer[..read].iter().filter(|byte| **byte == b'\n').count();
    }
    Ok(seen)
}
