//! The text of a template: literals and expressions.

use super::{InvalidTemplate, encoded, is_encoded};
use crate::limits;

#[derive(Debug)]
pub(super) enum Part {
    /// In the spelling of `encoded`.
    Literal(String),
    Expression(Operator, Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

impl Operator {
    fn parse(char: char) -> Option<Self> {
        Some(match char {
            '+' => Self::Reserved,
            '#' => Self::Fragment,
            '.' => Self::Label,
            '/' => Self::Path,
            ';' => Self::Parameter,
            '?' => Self::Query,
            '&' => Self::Continuation,
            _ => return None,
        })
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Part>, InvalidTemplate> {
    read(text).map_err(|Problem { at, what }| InvalidTemplate {
        at: text.get(..at).unwrap_or_default().chars().count() + 1,
        problem: what,
    })
}

/// What is wrong at which byte.
struct Problem {
    at: usize,
    what: &'static str,
}

fn read(text: &str) -> Result<Vec<Part>, Problem> {
    let wrong = |at, what| Err(Problem { at, what });
    if text.is_empty() {
        return wrong(0, "it is empty");
    }
    if text.len() > limits::MAX_URI_TEMPLATE_BYTES {
        return wrong(0, "it is too long");
    }
    let mut parts = Vec::new();
    let mut variables = 0;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(inner) = rest.strip_prefix('{') else {
            let literal = rest.find('{').and_then(|end| rest.get(..end)).unwrap_or(rest);
            check_literal(literal).map_err(|problem| problem.after(at))?;
            parts.push(Part::Literal(encoded(literal)));
            at += literal.len();
            continue;
        };
        let Some((inner, _)) = inner.split_once('}') else {
            return wrong(at, "the expression is not closed");
        };
        let (operator, names) = read_expression(inner).map_err(|problem| problem.after(at + 1))?;
        variables += names.len();
        if variables > limits::MAX_URI_TEMPLATE_VARIABLES {
            return wrong(at, "there are too many variables");
        }
        parts.push(Part::Expression(operator, names));
        at += inner.len() + 2;
    }
    Ok(parts)
}

impl Problem {
    fn after(self, offset: usize) -> Self {
        Self {
            at: self.at + offset,
            ..self
        }
    }
}

fn check_literal(literal: &str) -> Result<(), Problem> {
    for (at, char) in literal.char_indices() {
        let what = match char {
            '}' => "no expression is open",
            '%' if !is_encoded(literal.as_bytes(), at) => "% without two hexadecimal digits",
            '"' | '<' | '>' | '\\' | '^' | '`' | '|' | ' ' => "this character has to be encoded",
            _ if char.is_control() => "this character has to be encoded",
            _ => continue,
        };
        return Err(Problem { at, what });
    }
    Ok(())
}

fn read_expression(inner: &str) -> Result<(Operator, Vec<String>), Problem> {
    let first = inner.chars().next();
    if matches!(first, Some('=' | ',' | '!' | '@' | '|')) {
        return Err(Problem {
            at: 0,
            what: "this operator is none of levels 1 to 3",
        });
    }
    let operator = first.and_then(Operator::parse);
    let mut at = usize::from(operator.is_some());
    let mut names = Vec::new();
    for name in inner.get(at..).unwrap_or_default().split(',') {
        check_name(name).map_err(|problem| problem.after(at))?;
        names.push(name.to_owned());
        at += name.len() + 1;
    }
    Ok((operator.unwrap_or(Operator::Simple), names))
}

fn check_name(name: &str) -> Result<(), Problem> {
    let wrong = |at, what| Err(Problem { at, what });
    if name.is_empty() {
        return wrong(0, "a name is missing");
    }
    for (at, byte) in name.bytes().enumerate() {
        let is_edge = at == 0 || at + 1 == name.len() || name.as_bytes().get(at - 1) == Some(&b'.');
        match byte {
            b'_' => {}
            b'.' if !is_edge => {}
            b'%' if is_encoded(name.as_bytes(), at) => {}
            b'*' | b':' => return wrong(at, "modifiers are of level 4"),
            _ if byte.is_ascii_alphanumeric() => {}
            _ => return wrong(at, "this character may not stand in a name"),
        }
    }
    Ok(())
}
