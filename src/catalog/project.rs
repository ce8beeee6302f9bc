//! From listings to the tools that a model sees: the one assembly of names, descriptions and schemas. No server's
//! `instructions` come near it.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::filter::Filter;
use super::listing::ListedTool;
use super::tool_name;
use crate::diagnostic::{Diagnostic, Rule};
use crate::json;

/// The schema of a tool that published none.
pub(crate) const NO_SCHEMA: &str = "{\"type\":\"object\"}";

/// The name of the tool that describes tools (seed, "Disclosure budget"); no server's tool may take it.
const DESCRIBE_TOOL: &str = "mcp__describe_tool";

/// One server's part of the catalogue.
#[derive(Clone, Copy)]
pub(crate) struct ServerListing<'a> {
    /// Where the server stands in the configuration.
    pub(crate) server: usize,
    pub(crate) projected_name: &'a str,
    pub(crate) tools: &'a [ListedTool],
}

/// A tool as the model sees it, and the pair that a call of it is routed by.
#[derive(Debug)]
pub(crate) struct ProjectedTool<'a> {
    pub(crate) name: String,
    pub(crate) server: usize,
    pub(crate) tool: &'a ListedTool,
}

/// Projects all listings, in the order given: of two tools that meet on one name, the first keeps it.
pub(crate) fn project<'a>(
    listings: &[ServerListing<'a>],
    filter: &Filter,
) -> (Vec<ProjectedTool<'a>>, Vec<Diagnostic>) {
    let mut projected: Vec<ProjectedTool<'a>> = Vec::new();
    let mut taken: HashMap<String, String> = HashMap::new();
    let mut diagnostics = Vec::new();
    for listing in listings {
        for tool in listing.tools {
            let name = tool_name::project(listing.projected_name, &tool.name);
            if !filter.keeps(&name, &tool.name) {
                continue;
            }
            if name == DESCRIBE_TOOL {
                let message = format!(
                    "tool {} of server {} was skipped: the name {name} is reserved",
                    json::quote(&tool.name),
                    json::quote(listing.projected_name)
                );
                diagnostics.push(Diagnostic::new(
                    Rule::ServerEntryInvalid,
                    listing.projected_name,
                    message,
                ));
                continue;
            }
            let owner = format!(
                "tool {} of server {}",
                json::quote(&tool.name),
                json::quote(listing.projected_name)
            );
            if let Some(first) = taken.get(&name) {
                let message = format!("{owner} was skipped: its name {name} already belongs to {first}");
                diagnostics.push(Diagnostic::new(
                    Rule::ServerEntryInvalid,
                    listing.projected_name,
                    message,
                ));
                continue;
            }
            taken.insert(name.clone(), owner);
            projected.push(ProjectedTool {
                name,
                server: listing.server,
                tool,
            });
        }
    }
    (projected, diagnostics)
}

impl ProjectedTool<'_> {
    /// What the facade builds a tool from, as JSON text. `server` is the configured name.
    pub(crate) fn to_json(&self, server: &str, is_remote: bool) -> String {
        format!(
            "{{\"name\":{},\"server\":{},\"remote\":{is_remote},\"description\":{},\"inputSchema\":{}}}",
            json::quote(&self.name),
            json::quote(server),
            json::quote(self.tool.description.as_deref().unwrap_or(&self.tool.name)),
            self.tool.input_schema.as_deref().map_or(NO_SCHEMA, RawValue::get),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> ListedTool {
        ListedTool {
            name: name.to_owned(),
            description: None,
            input_schema: None,
            output_schema: None,
        }
    }

    #[test]
    fn the_first_of_two_tools_keeps_the_name_whichever_servers_they_come_from() {
        let one = [tool("b__c"), tool("x")];
        let two = [tool("c"), tool("x")];
        let listings = [
            ServerListing {
                server: 0,
                projected_name: "a",
                tools: &one,
            },
            ServerListing {
                server: 1,
                projected_name: "a__b",
                tools: &two,
            },
        ];
        let (tools, diagnostics) = project(&listings, &Filter::Everything);
        let names: Vec<_> = tools.iter().map(|t| (t.name.as_str(), t.server)).collect();
        assert_eq!(names, [("a__b__c", 0), ("a__x", 0), ("a__b__x", 1)]);
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(
            (diagnostics[0].rule, diagnostics[0].origin.as_str()),
            (Rule::ServerEntryInvalid, "a__b")
        );
        assert!(diagnostics[0].message.contains("\"c\""), "{diagnostics:?}");
    }

    #[test]
    fn the_name_of_the_describing_tool_is_reserved() {
        let tools = [tool("describe_tool"), tool("other")];
        let listings = [ServerListing {
            server: 0,
            projected_name: "mcp",
            tools: &tools,
        }];
        let (projected, diagnostics) = project(&listings, &Filter::Everything);
        assert_eq!(
            projected.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
            ["mcp__other"]
        );
        assert_eq!(diagnostics.len(), 1);
        assert!(diagnostics[0].message.contains("\"describe_tool\""), "{diagnostics:?}");
    }

    #[test]
    fn a_filtered_tool_takes_no_name() {
        let tools = [tool("a.b"), tool("a_b")];
        let listings = [ServerListing {
            server: 0,
            projected_name: "s",
            tools: &tools,
        }];
        let filter = Filter::new(None, Some(vec!["a.b".to_owned()])).unwrap();
        let (tools, diagnostics) = project(&listings, &filter);
        assert_eq!(tools.len(), 1);
        assert_eq!(
            tools[0].to_json("s", false),
            r#"{"name":"s__a_b","server":"s","remote":false,"description":"a_b","inputSchema":{"type":"object"}}"#
        );
        assert!(diagnostics.is_empty());
    }
}
