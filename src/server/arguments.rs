//! The arguments of a call against the input schema of its tool, in one manner or the other.

use crate::catalog::arguments;
use crate::guard::args;

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
