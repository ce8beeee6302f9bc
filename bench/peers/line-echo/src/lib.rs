//! What the echo servers of the benchmarks have in common: what they answer, and what they say about themselves. How
//! messages come and go is each server's own.

pub mod echo;
pub mod scan;
pub mod usage;

/// The value that follows `name` in `args`.
pub fn option<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1).map(String::as_str)
}

/// The number that follows `name` in `args`.
///
/// # Errors
/// When what follows is no number.
pub fn number(args: &[String], name: &str, default: f64) -> std::io::Result<f64> {
    match option(args, name) {
        None => Ok(default),
        Some(text) => text
            .parse()
            .map_err(|_| std::io::Error::other(format!("{name} takes a number, not {text}"))),
    }
}
