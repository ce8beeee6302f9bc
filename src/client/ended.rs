//! What the caller of a tool is told when its request has ended.

use serde_json::value::RawValue;

use super::failure::failure;
use super::result;
use super::state::route::Route;
use super::state::server::Server;
use super::state::shared::Shared;
use crate::catalog::output_schema::{Fit, OutputSchema};
use crate::catalog::tool_name;
use crate::diagnostic::{Diagnostic, Rule};
use crate::driver::Ended;
use crate::error::{Error, ErrorCode, Result};
use crate::host::CallEnd;
use crate::json;
use crate::protocol::codes::{INVALID_PARAMS, METHOD_NOT_FOUND};

impl Shared {
    pub(super) fn call_end(&self, ended: Ended, server: &Server, route: &Route) -> CallEnd {
        let of = || {
            format!(
                "the call of tool {} of MCP server {}",
                json::quote(&route.tool.name),
                json::quote(&server.config.name)
            )
        };
        CallEnd::Failed(match ended {
            Ended::Result(answered) => {
                match result::value(&answered.result, |value| self.check_output(value, server, route)) {
                    Ok(value) => return CallEnd::Value(value),
                    Err(error) if error.code() == ErrorCode::ToolError => error,
                    Err(error) => Error::new(error.code(), format!("{} failed: {error}", of())),
                }
            }
            Ended::Cancelled => return CallEnd::Aborted,
            Ended::Error(error) if is_unknown_tool(error.code) && server.has_withdrawn(&route.tool.name) => {
                not_published(&tool_name::project(&server.projected_name, &route.tool.name), server)
            }
            ended => failure(ended, &of(), server),
        })
    }

    /// Structured content has to fit the schema that the tool published with it. A schema that cannot be used refuses
    /// nothing, and is told once.
    fn check_output(&self, value: &RawValue, server: &Server, route: &Route) -> Result<()> {
        let Some(schema) = &route.tool.output_schema else {
            return Ok(());
        };
        let check = route.output_check.get_or_init(|| {
            OutputSchema::compile(schema)
                .inspect_err(|problem| {
                    let message = format!(
                        "the output schema of tool {} of MCP server {} cannot be used, and its results are not checked: {problem}",
                        json::quote(&route.tool.name),
                        json::quote(&server.config.name)
                    );
                    self.listener.diagnostic(Diagnostic::new(Rule::ProtocolViolation, &server.config.name, message));
                })
                .ok()
        });
        let Some(check) = check else { return Ok(()) };
        match check.check(value) {
            Fit::Fits | Fit::Unknown(_) => Ok(()),
            Fit::Unfit(problem) => Err(Error::new(
                ErrorCode::OutputSchema,
                format!("its structured result does not fit its output schema, {problem}"),
            )),
        }
    }
}

/// What servers answer to a call of a tool that they do not have.
const fn is_unknown_tool(code: i64) -> bool {
    matches!(code, INVALID_PARAMS | METHOD_NOT_FOUND)
}

/// The words that the model is to act on (seed, "A wake makes no `tools/list` call").
pub(super) fn not_published(tool: &str, server: &Server) -> Error {
    let server = &server.config.name;
    Error::new(
        ErrorCode::NotPublished,
        format!("MCP tool `{tool}` is no longer published by server `{server}`."),
    )
}
