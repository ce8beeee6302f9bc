//! From listings to the tools that a model sees: the one assembly of names, descriptions and schemas. No server's
//! `instructions` come near it, and nothing that a server changed after it was trusted.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::disclosure::{self, Choice, DESCRIBE_TOOL, Disclosure, Measured, Tier};
use super::drift::{Baseline, Drift, Verdict};
use super::filter::Filter;
use super::listing::ListedTool;
use super::{NO_SCHEMA, tool_name};
use crate::diagnostic::{Diagnostic, Rule};
use crate::json;
use crate::limits;

/// One server's part of the catalogue.
#[derive(Clone, Copy)]
pub(crate) struct ServerListing<'a> {
    /// As it is configured.
    pub(crate) name: &'a str,
    pub(crate) projected_name: &'a str,
    /// Whether it is reached by URL, and so by credentials.
    pub(crate) is_remote: bool,
    pub(crate) tools: &'a [Arc<ListedTool>],
    /// What it is trusted by, where there is a history.
    pub(crate) baseline: Option<&'a Baseline>,
}

/// The catalogue of all servers.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    pub(crate) tools: Vec<ProjectedTool>,
    /// One per listing.
    pub(crate) disclosed: Vec<Disclosed>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether some schema has to be asked for.
    pub(crate) describes: bool,
    /// What the facade builds its tools from: a line of JSON with one entry per tool, and behind it the texts of their
    /// schemas in the same order; an entry has the length of its own in UTF-16 code units. So a schema is parsed when
    /// somebody looks at it, and not before.
    pub(crate) text: String,
}

/// A tool as the model sees it, and the pair that a call of it is routed by.
#[derive(Debug)]
pub(crate) struct ProjectedTool {
    pub(crate) name: String,
    /// Which listing it is from.
    pub(crate) server: usize,
    pub(crate) tool: Arc<ListedTool>,
    /// It is no longer what was trusted: it keeps its name, and nothing else of it is seen or called.
    pub(crate) quarantined: bool,
}

/// How much of a server a model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disclosed {
    pub(crate) tier: Tier,
    pub(crate) tokens: usize,
}

/// Projects all listings, in the order given: of two tools that meet on one name, the first keeps it.
pub(crate) fn project(listings: &[ServerListing<'_>], filter: &Filter, disclosure: &Disclosure) -> Projection {
    let mut projection = Projection::default();
    let mut names = Names::default();
    let mut text = Text::default();
    for (server, listing) in listings.iter().enumerate() {
        if let Some(baseline) = listing.baseline {
            tell_drift(listing, baseline, &mut projection.diagnostics);
        }
        let tools = names.choose(server, listings, filter, &mut projection.diagnostics);
        let choice = disclosure.choose([listing.name, listing.projected_name], &measure(&tools));
        let before = (text.entries.len(), text.schemas.len());
        text.add_all(listing, &tools, &choice);
        if text.bytes() > limits::MAX_TEXT_TO_JS_BYTES {
            text.entries.truncate(before.0);
            text.schemas.truncate(before.1);
            let message = "the catalogue of all servers together is too large; none of its tools is kept";
            projection
                .diagnostics
                .push(told(Rule::ListingLimited, listing, message));
            projection.disclosed.push(Disclosed::NOTHING);
            continue;
        }
        if choice.tier == Tier::Bare && !disclosure.fits(choice.floor) {
            let message = format!(
                "the names and descriptions of its {} tools alone take {} tokens, more than the disclosure budget of {}; \
                 show fewer of them with the `tools` filter",
                tools.len(),
                choice.floor,
                disclosure.budget
            );
            projection
                .diagnostics
                .push(told(Rule::DisclosureBudgetExceeded, listing, &message));
        }
        projection.describes |= choice.tier != Tier::Inline;
        projection.disclosed.push(Disclosed {
            tier: choice.tier,
            tokens: choice.tokens,
        });
        projection.tools.extend(tools);
    }
    if projection.describes {
        text.add(
            DESCRIBE_TOOL,
            "",
            false,
            &json::quote(DESCRIBE_DESCRIPTION),
            DESCRIBE_SCHEMA,
        );
    }
    projection.text = text.finish();
    projection
}

/// What a call of a quarantined tool is answered with: the JSON text of a value, not an error, so that the model reads it.
pub(crate) fn denial(projected_name: &str, tool: &str, server: &str) -> String {
    let message = format!(
        "MCP tool {} of server {} was not called: its definition changed since it was trusted, so it is quarantined until \
         somebody trusts it again. Do not retry this call; tell the user why the tool is unavailable.",
        json::quote_visibly(tool),
        json::quote_visibly(server)
    );
    format!(
        "{{\"__denied\":true,\"toolName\":{},\"deniedBy\":\"{}\",\"message\":{}}}",
        json::quote(projected_name),
        Rule::ToolDrift.name(),
        json::quote(&message)
    )
}

impl Disclosed {
    /// Of a server that shows no tools.
    pub(crate) const NOTHING: Self = Self {
        tier: Tier::Inline,
        tokens: 0,
    };
}

/// Whose each name is.
#[derive(Default)]
struct Names<'a> {
    taken: HashMap<String, (usize, &'a str)>,
}

impl<'a> Names<'a> {
    /// The tools of one listing that are shown, under their names.
    fn choose(
        &mut self,
        server: usize,
        listings: &[ServerListing<'a>],
        filter: &Filter,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<ProjectedTool> {
        let Some(listing) = listings.get(server) else {
            return Vec::new();
        };
        let mut shown = Vec::with_capacity(listing.tools.len());
        let mut skipped = 0;
        for tool in listing.tools {
            let verdict = listing.baseline.map_or(Verdict::Unchanged, |baseline| {
                baseline.verdict(&tool.name, &tool.fingerprint().digest)
            });
            // The model never knew it: there is nothing to explain, and no name to take.
            if verdict == Verdict::Added {
                continue;
            }
            let name = tool_name::project(listing.projected_name, &tool.name);
            if !filter.keeps(&name, &tool.name) {
                continue;
            }
            let owner = |server: usize, tool: &str| {
                let server = listings.get(server).map_or("", |listing| listing.projected_name);
                format!(
                    "tool {} of server {}",
                    json::quote_visibly(tool),
                    json::quote_visibly(server)
                )
            };
            let problem = if name == DESCRIBE_TOOL {
                Some("is reserved".to_owned())
            } else {
                let first = self.taken.get(&name);
                first.map(|(server, tool)| format!("already belongs to {}", owner(*server, tool)))
            };
            if let Some(problem) = problem {
                skipped += 1;
                if skipped > limits::MAX_ENTRY_DIAGNOSTICS {
                    continue;
                }
                let message = format!("{} was skipped: its name {name} {problem}", owner(server, &tool.name));
                diagnostics.push(Diagnostic::new(
                    Rule::ServerEntryInvalid,
                    listing.projected_name,
                    message,
                ));
                continue;
            }
            self.taken.insert(name.clone(), (server, &tool.name));
            shown.push(ProjectedTool {
                name,
                server,
                tool: Arc::clone(tool),
                quarantined: verdict == Verdict::Changed,
            });
        }
        if let Some(more @ 1..) = skipped.checked_sub(limits::MAX_ENTRY_DIAGNOSTICS) {
            let message = format!("{more} more of its tools were skipped for their names");
            diagnostics.push(told(Rule::ServerEntryInvalid, listing, &message));
        }
        shown
    }
}

fn measure(tools: &[ProjectedTool]) -> Vec<Measured<'_>> {
    tools
        .iter()
        .map(|ProjectedTool { tool, quarantined, .. }| {
            if *quarantined {
                return Measured {
                    description: QUARANTINED.len(),
                    schema: EMPTY_SCHEMA.len(),
                    deferrable: None,
                };
            }
            Measured {
                description: tool.description.as_deref().map_or_else(
                    || json::utf16_len(&tool.name),
                    |text| json::literal_utf16_len(text.get()),
                ),
                schema: tool.fingerprint().schema_units,
                deferrable: Some(schema_of(tool)),
            }
        })
        .collect()
}

fn schema_of(tool: &ListedTool) -> &str {
    tool.input_schema.as_deref().map_or(NO_SCHEMA, RawValue::get)
}

/// All that drifted, whether or not a filter would show it. The names are what the tools were trusted by, or are new.
fn tell_drift(listing: &ServerListing<'_>, baseline: &Baseline, diagnostics: &mut Vec<Diagnostic>) {
    let listed = listing
        .tools
        .iter()
        .map(|tool| (tool.name.as_str(), tool.fingerprint().digest.as_str()));
    let Drift {
        changed,
        added,
        removed,
    } = baseline.drift(listed);
    let mut tell = |what: &str, mut names: Vec<String>| {
        if !names.is_empty() {
            names.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            diagnostics.push(told(Rule::ToolDrift, listing, &format!("{what}: {}", in_short(&names))));
        }
    };
    tell(
        "it lists tools that are not what was trusted, or are new; withheld",
        [changed, added].concat(),
    );
    tell("it no longer publishes", removed);
}

fn in_short(names: &[String]) -> String {
    let mut out = String::new();
    for (place, name) in names.iter().enumerate() {
        if place >= limits::MAX_NAMES_TOLD {
            // Writing to a string cannot fail.
            let _ = write!(out, " and {} more", names.len() - place);
            break;
        }
        if place > 0 {
            out.push_str(", ");
        }
        out.push_str(&json::visibly(name));
    }
    out
}

fn told(rule: Rule, listing: &ServerListing<'_>, what: &str) -> Diagnostic {
    let message = format!("MCP server {}: {what}", json::quote(listing.projected_name));
    Diagnostic::new(rule, listing.projected_name, message)
}

/// The text for the facade under construction.
#[derive(Default)]
struct Text {
    /// Joined by commas.
    entries: String,
    /// One behind the other, in the order of the entries.
    schemas: String,
}

impl Text {
    fn add_all(&mut self, listing: &ServerListing<'_>, tools: &[ProjectedTool], choice: &Choice) {
        let mut deferred = choice.deferred.iter();
        for ProjectedTool {
            name,
            tool,
            quarantined,
            ..
        } in tools
        {
            let deferred = deferred.next();
            if *quarantined {
                // Its call goes nowhere, and so asks nobody for credentials.
                self.add(name, listing.name, false, &json::quote(QUARANTINED), EMPTY_SCHEMA);
                continue;
            }
            let own = tool
                .description
                .as_deref()
                .map_or_else(|| Cow::Owned(json::quote(&tool.name)), |text| Cow::Borrowed(text.get()));
            let (description, schema) = match choice.tier {
                Tier::Inline => (own, schema_of(tool)),
                Tier::Names => (
                    Cow::Owned(disclosure::deferred_description(&own)),
                    deferred.map_or(NO_SCHEMA, String::as_str),
                ),
                Tier::Bare => (Cow::Owned(disclosure::deferred_description(&own)), NO_SCHEMA),
            };
            self.add(name, listing.name, listing.is_remote, &description, schema);
        }
    }

    /// The description is a string literal.
    fn add(&mut self, name: &str, server: &str, asks_for_credentials: bool, description: &str, schema: &str) {
        if !self.entries.is_empty() {
            self.entries.push(',');
        }
        // Thousands of times: no formatting where copying does.
        for part in [
            "{\"name\":",
            &json::quote(name),
            ",\"server\":",
            &json::quote(server),
            ",\"credentials\":",
            if asks_for_credentials { "true" } else { "false" },
            ",\"description\":",
            description,
            ",\"schema\":",
            &json::utf16_len(schema).to_string(),
            "}",
        ] {
            self.entries.push_str(part);
        }
        self.schemas.push_str(schema);
    }

    fn bytes(&self) -> usize {
        self.entries.len() + self.schemas.len()
    }

    fn finish(self) -> String {
        format!("[{}]\n{}", self.entries, self.schemas)
    }
}

/// What stands in the place of everything that a server wrote about a tool which it changed.
const QUARANTINED: &str = "This tool is quarantined: its definition changed since it was trusted. It cannot be called \
                           until somebody trusts it again. Do not call it; tell the user why it is unavailable.";
const EMPTY_SCHEMA: &str = "{\"type\":\"object\",\"properties\":{}}";

const DESCRIBE_DESCRIPTION: &str = "Returns the full JSON Schema of the input of a tool. Ask for it before calling a \
                                    tool whose description says that its schema is available here.";
const DESCRIBE_SCHEMA: &str = "{\"type\":\"object\",\"properties\":{\"tool\":{\"type\":\"string\",\"description\":\
                               \"The full name of the tool, as it is in the list of tools.\"}},\"required\":[\"tool\"],\
                               \"additionalProperties\":false}";

#[cfg(test)]
mod tests;
