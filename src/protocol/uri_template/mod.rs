//! URI templates of levels 1 to 3 (RFC 6570), read and held against URIs. It owns what a template means for matching,
//! which the RFC leaves open:
//!
//! - An expression without an operator, and one with `+`, takes at least one character. Any other may be absent, with its
//!   first character. Where several variables stand in one expression, those at its end may be absent, and others empty.
//! - A value is what an expansion could have written, with `: @ ! $ ' ( ) * +` besides, as clients rarely encode those.
//!   With `+` and `#` it is any character of a URI. What is no character of a URI at all counts as if it were encoded.
//! - Where several divisions fit, an earlier variable takes as much as it can: of `a-b-c`, `{x}-{y}` takes `a-b` and `c`.
//!   Within one expression only the last variable takes what separates them: of `a,b,c`, `{+x,y}` takes `a` and `b,c`.
//! - The parameters of `;`, `?` and `&` come in any order, each at most once, and no others.
//! - A variable that stands in two places has one value.
//!
//! Values are decoded, so that one may hold any character, `/` and `..` among them. Work and memory are proportional to
//! the length of the template times that of the URI, and both are bounded.

mod parse;
mod program;

use std::fmt;

use crate::limits;
use parse::Part;
use program::Program;

/// A template that URIs can be held against.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    program: Program,
    /// The name of each variable, once for each place where it stands.
    names: Vec<String>,
}

/// Why a text is no template of levels 1 to 3: where, and what is wrong there. The message goes on after its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidTemplate {
    /// Counted in characters, from 1.
    at: usize,
    problem: &'static str,
}

impl fmt::Display for InvalidTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is wrong at character {}: {}", self.at, self.problem)
    }
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidTemplate> {
        let parts = parse::parse(text)?;
        let names = parts
            .iter()
            .flat_map(|part| match part {
                Part::Literal(_) => &[][..],
                Part::Expression(_, names) => names,
            })
            .cloned()
            .collect();
        Ok(Self {
            program: Program::of(&parts),
            names,
        })
    }

    /// The values of the variables, in the order of the template; nothing where the URI is not one of its URIs. A variable
    /// that the URI does not have is not among them.
    pub(crate) fn matches(&self, uri: &str) -> Option<Vec<(String, String)>> {
        if uri.len() > limits::MAX_MATCHED_URI_BYTES {
            return None;
        }
        let uri = encoded(uri);
        let captured = self.program.run(uri.as_bytes())?;
        let mut variables: Vec<(String, String)> = Vec::new();
        for (name, value) in self.names.iter().zip(captured) {
            let Some(value) = value.and_then(|range| uri.get(range)) else {
                continue;
            };
            let value = decoded(value)?;
            match variables.iter().find(|(known, _)| known == name) {
                Some((_, other)) if *other != value => return None,
                Some(_) => {}
                None => variables.push((name.clone(), value)),
            }
        }
        Some(variables)
    }
}

/// A URI in one spelling: what may not stand in one is encoded, and the digits of what is encoded are capitals.
fn encoded(uri: &str) -> String {
    let mut out = String::with_capacity(uri.len());
    let bytes = uri.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let after = |offset: usize| bytes.get(at + offset).copied().unwrap_or_default();
        let is_digit_of = |back: usize| at.checked_sub(back).is_some_and(|at| is_encoded(bytes, at));
        match byte {
            // A digit of an encoded byte.
            _ if is_digit_of(1) || is_digit_of(2) => out.push(char::from(byte.to_ascii_uppercase())),
            b'%' if after(1).is_ascii_hexdigit() && after(2).is_ascii_hexdigit() => out.push('%'),
            _ if is_unreserved(*byte) || is_reserved(*byte) => out.push(char::from(*byte)),
            _ => {
                out.push('%');
                for digit in [byte >> 4, byte & 15] {
                    let digit = char::from_digit(u32::from(digit), 16).unwrap_or_default();
                    out.push(digit.to_ascii_uppercase());
                }
            }
        }
    }
    out
}

fn is_encoded(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at..at + 3), Some([b'%', a, b]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
}

/// Nothing when it is no UTF-8.
fn decoded(value: &str) -> Option<String> {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        match after.split_at_checked(2) {
            Some((digits, after)) if *byte == b'%' => {
                let digits = std::str::from_utf8(digits).ok()?;
                out.push(u8::from_str_radix(digits, 16).ok()?);
                rest = after;
            }
            _ => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8(out).ok()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn is_reserved(byte: u8) -> bool {
    b":/?#[]@!$&'()*+,;=".contains(&byte)
}

#[cfg(test)]
mod tests;
