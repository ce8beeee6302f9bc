//! Asking one server for all of its tools, page after page, over whatever carries the question. Owns the walk; what a page
//! holds is read in `catalog::listing`.

use std::num::NonZero;
use std::thread;

use serde_json::value::RawValue;

use super::connection::Refused;
use crate::catalog::listing::{ListedTool, Listing, ListingLimits, Next};
use crate::diagnostic::{Diagnostic, Rule};
use crate::driver::Ended;
use crate::error::Result;
use crate::json;
use crate::limits;
use crate::protocol::message::Params;
use crate::protocol::revision::Era;
use crate::protocol::wire::param_header;

pub(super) const LIST: &str = "tools/list";

/// What a server lists, and what there is to tell about it.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) tools: Vec<ListedTool>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Not so when it was given up at a limit, or refused: what is missing was not withdrawn.
    pub(super) is_whole: bool,
}

/// Lists all pages. A server that does not announce tools is asked all the same, since some forget to; then it may refuse.
///
/// # Errors
/// When a page does not come, or is none.
pub(super) async fn list<F>(
    projected_name: &str,
    (era, announces_tools): (Era, bool),
    limits: ListingLimits,
    ask: impl Fn(Params) -> F,
    read: impl Fn(Result<Ended, Refused>) -> Result<Box<RawValue>>,
) -> Result<Walked>
where
    F: Future<Output = Result<Ended, Refused>>,
{
    let mut listing = Listing::new(projected_name, limits);
    let mut params = Params::new();
    let is_whole = loop {
        let ended = ask(params).await;
        if matches!(ended, Ok(Ended::Error(_))) && !announces_tools {
            break false;
        }
        match listing.add_page(&read(ended)?)? {
            Next::Page(cursor) => params = Params::new().text("cursor", &cursor),
            Next::Complete => break true,
            Next::GivenUp => break false,
        }
    };
    let (mut tools, mut diagnostics) = listing.finish();
    if era == Era::Stateless {
        tools.retain(|tool| match header_problem(tool) {
            Some(problem) => {
                let message = format!(
                    "MCP server {}: its tool {} was skipped: {problem}",
                    json::quote(projected_name),
                    json::quote_visibly(&tool.name)
                );
                diagnostics.push(Diagnostic::new(Rule::HeaderIgnored, projected_name, message));
                false
            }
            None => true,
        });
    }
    fingerprint(&tools);
    Ok(Walked {
        tools,
        diagnostics,
        is_whole,
    })
}

/// Takes the fingerprints of a long listing on several threads: they are most of the work that it makes. Those of a short
/// one are taken where they are needed.
fn fingerprint(tools: &[ListedTool]) {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let share = tools
        .len()
        .div_ceil(threads.min(limits::MAX_RUNTIME_THREADS))
        .max(limits::FINGERPRINTS_PER_THREAD);
    let take = |tools: &[ListedTool]| {
        for tool in tools {
            tool.fingerprint();
        }
    };
    let (first, rest) = tools.split_at(share.min(tools.len()));
    if rest.is_empty() {
        return;
    }
    thread::scope(|scope| {
        for part in rest.chunks(share) {
            // Where the system has no thread to give, it is done later.
            drop(thread::Builder::new().spawn_scoped(scope, move || take(part)));
        }
        take(first);
    });
}

/// Why the arguments of a tool cannot travel in the headers that it asks for.
fn header_problem(tool: &ListedTool) -> Option<param_header::Invalid> {
    param_header::read(tool.input_schema.as_deref()?.get()).err()
}
