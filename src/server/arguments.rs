//! The arguments of a call against the input schema of its tool, in one manner or the other.

use serde_json::value::RawValue;

use crate::catalog::arguments::{self, InputSchema};
use crate::guard::args::{self, ShallowSchema};

/// What the arguments of a tool are held against, made ready.
#[derive(Debug)]
pub(crate) enum Check {
    None,
    Shallow(ShallowSchema),
    /// Or why nothing gets through.
    Full(Result<InputSchema, String>),
}

impl Check {
    /// `mode` is `shallow` or `full`; anything else asks for no check.
    pub(crate) fn new(mode: Option<&str>, schema: Option<&RawValue>) -> Self {
        match (mode, schema) {
            (Some("shallow"), Some(schema)) => Self::Shallow(ShallowSchema::read(schema.get())),
            (Some("full"), Some(schema)) => Self::Full(InputSchema::compile(schema)),
            _ => Self::None,
        }
    }

    /// # Errors
    /// What is wrong with the arguments, in words for the client.
    pub(crate) fn run(&self, text: &str) -> Result<(), String> {
        match self {
            Self::None => Ok(()),
            Self::Shallow(schema) => schema.check(text),
            Self::Full(schema) => schema.as_ref().map_err(Clone::clone)?.check(text),
        }
    }
}

/// Checks all of the schema, or what the shallow validation knows of it; both are JSON text.
///
/// # Errors
/// What is wrong with the arguments, in words for the client.
pub(crate) fn validate(schema: &str, text: &str, full: bool) -> Result<(), String> {
    if full {
        arguments::validate(schema, text)
    } else {
        args::validate(schema, text)
    }
}
