//! Structured results against the output schema that a tool published: JSON Schema 2020-12 unless the schema says
//! otherwise, without fetching anything, and with bounded work (`docs/design/output-schemas.md`). A schema that cannot be
//! used refuses nothing.

mod meter;

use std::panic::{self, AssertUnwindSafe};

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::catalog::schema_cost::{self, SchemaCost};
use crate::json;
use crate::limits;
use meter::MeteredJson;

/// A schema that is ready to check with.
#[derive(Debug)]
pub(crate) struct OutputSchema {
    validator: Validator<MeteredJson>,
    cost: SchemaCost,
    /// Whether patterns were left out.
    left_out: bool,
}

/// What a check came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Fit {
    Fits,
    /// What does not fit, and where, without the value itself.
    Unfit(String),
    /// Why nobody can tell: no fault of the value, and no reason to refuse it.
    Unknown(String),
}

impl OutputSchema {
    /// Compiles a schema, or says why it cannot be used.
    pub(crate) fn compile(schema: &RawValue) -> Result<Self, String> {
        if schema.get().len() > limits::MAX_OUTPUT_SCHEMA_BYTES {
            return Err(format!("it has more than {} bytes", limits::MAX_OUTPUT_SCHEMA_BYTES));
        }
        let mut schema: Value =
            json::parse(schema.get()).ok_or("it is nested too deeply, or holds numbers out of range")?;
        let left_out = schema_cost::leave_out_tried_patterns(&mut schema);
        let cost = SchemaCost::of(&schema)?;
        // Formats and encoded content are remarks, as 2020-12 has it, also where an older draft would check them.
        let options = jsonschema::options_for::<MeteredJson>()
            .offline()
            .should_validate_formats(false)
            .without_content_media_type_support("application/json")
            .without_content_encoding_support("base64")
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(limits::MAX_PATTERN_BYTES)
                    .dfa_size_limit(limits::MAX_PATTERN_BYTES),
            );
        // A schema that makes the compiler panic is as unusable as any other.
        panic::catch_unwind(AssertUnwindSafe(|| {
            options
                .build(&schema)
                .map(|validator| Self {
                    validator,
                    cost,
                    left_out,
                })
                .map_err(|error| shortened(error.masked().to_string()))
        }))
        .unwrap_or_else(|_| Err("it cannot be compiled".to_owned()))
    }

    /// Says whether a value fits.
    pub(crate) fn check(&self, value: &RawValue) -> Fit {
        self.judge(value, |_, error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "/" } else { &place };
            format!("at {place}: {}", error.masked())
        })
    }

    /// Whether patterns are left out that may take for ever to match: what fits may do so for that reason alone.
    pub(super) const fn leaves_out(&self) -> bool {
        self.left_out
    }

    /// Says whether a value fits, in the words of `explain`, which knows the value and the first error.
    pub(super) fn judge(&self, value: &RawValue, explain: impl FnOnce(&Value, &ValidationError<'_>) -> String) -> Fit {
        let Some(value) = json::parse::<Value>(value.get()) else {
            return Fit::Unknown("the value is nested too deeply, or holds numbers out of range".to_owned());
        };
        if self.cost.nesting.saturating_mul(depth(&value)) > limits::MAX_OUTPUT_CHECK_NESTING {
            return Fit::Unknown("the value is nested too deeply for this schema".to_owned());
        }
        let fits = meter::run(&value, self.cost, limits::MAX_OUTPUT_CHECK_STEPS, |value| {
            self.validator.is_valid(value)
        });
        match fits {
            Some(true) => Fit::Fits,
            Some(false) if self.left_out && self.cost.turns => Fit::Unknown(
                "it depends on a pattern that looks around or back, and such patterns are not checked".to_owned(),
            ),
            Some(false) => Fit::Unfit(self.explain(&value, explain)),
            None => Fit::Unknown("checking the value takes too much work".to_owned()),
        }
    }

    /// Finding the place repeats the work, and collects what does not fit of every alternative, so it has a limit of its
    /// own; that the value does not fit is known already.
    fn explain(&self, value: &Value, explain: impl FnOnce(&Value, &ValidationError<'_>) -> String) -> String {
        meter::run(value, self.cost, limits::MAX_OUTPUT_EXPLAIN_STEPS, |metered| {
            let error = self.validator.validate(metered).err()?;
            Some(shortened(explain(value, &error)))
        })
        .flatten()
        .unwrap_or_else(|| "somewhere: finding the place takes too much work".to_owned())
    }
}

/// Names of properties may be as long as the value.
fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(limits::MAX_OUTPUT_PROBLEM_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// How many arrays and objects lie around the innermost value, itself included.
fn depth(value: &Value) -> u64 {
    let inner = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => None,
    };
    inner.unwrap_or(0) + 1
}

#[cfg(test)]
mod tests;
