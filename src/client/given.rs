//! A listing that a caller gives by hand, so that a server need not run to be shown. It is held to what a listing of the
//! server's own is held to, and a mistake in it is the caller's: it is refused, and not skipped.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::stored_tools;
use crate::catalog::listing::ListedTool;
use crate::catalog::snapshot::PersistedTool;
use crate::error::{Error, Result};
use crate::json::{self, Object};
use crate::limits;

/// Reads an array of tools; `path` is how an error names it.
///
/// # Errors
/// `invalid-option`.
pub(super) fn parse(path: &str, tools: &RawValue) -> Result<Vec<Arc<ListedTool>>> {
    let entries = json::array(tools.get())
        .ok_or_else(|| Error::invalid_option(format!("{path} must be an array of tools as a store keeps them")))?;
    let mut names = HashSet::new();
    let mut listed = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let wrong = |what: &str| Error::invalid_option(format!("{path}[{index}]{what}"));
        let object = Object::parse(entry.get()).ok_or_else(|| wrong(" must be an object"))?;
        let is_object = |schema: &RawValue| Object::parse(schema.get()).is_some();
        if !object.present("inputSchema").is_none_or(is_object) {
            return Err(wrong(".inputSchema must be an object"));
        }
        let tool = PersistedTool::decode(entry.get())
            .ok_or_else(|| wrong(" must have a name, and a description only if it is a string"))?;
        if !names.insert(tool.name.clone()) {
            let name = json::quote_short(&tool.name);
            return Err(wrong(&format!(".name must be no other tool's; {name} is there twice")));
        }
        let tool = stored_tools::listed(tool).ok_or_else(|| {
            wrong(&format!(
                " must have a name of at most {} bytes and a schema of at most {} levels",
                limits::MAX_LISTED_NAME_BYTES,
                limits::MAX_SCHEMA_DEPTH
            ))
        })?;
        listed.push(Arc::new(tool));
    }
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tools: &str) -> Result<Vec<Arc<ListedTool>>> {
        parse("servers[0].tools", json::parse::<&RawValue>(tools).unwrap())
    }

    #[test]
    fn a_listing_is_taken_as_it_is_written() {
        let tools = read(r#"[{"name":"b","description":"B","inputSchema":{"type":"object"},"more":1},{"name":""}]"#);
        let tools = tools.unwrap();
        assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["b", ""]);
        assert_eq!(
            tools[0].input_schema.as_deref().map(RawValue::get),
            Some(r#"{"type":"object"}"#)
        );
    }

    #[test]
    fn each_mistake_names_its_place() {
        let deep = format!(
            r#"[{{"name":"a","inputSchema":{{"a":{}1{}}}}}]"#,
            "[".repeat(limits::MAX_SCHEMA_DEPTH + 1),
            "]".repeat(limits::MAX_SCHEMA_DEPTH + 1)
        );
        for (tools, culprit) in [
            ("{}", "servers[0].tools must be an array"),
            (r#"["*"]"#, "servers[0].tools[0] must be an object"),
            ("[{}]", "servers[0].tools[0] must have a name"),
            (
                r#"[{"name":"a"},{"name":"b","description":1}]"#,
                "servers[0].tools[1] must",
            ),
            (
                r#"[{"name":"a","inputSchema":[]}]"#,
                "servers[0].tools[0].inputSchema must be",
            ),
            (r#"[{"name":"a"},{"name":"a"}]"#, "servers[0].tools[1].name"),
            (deep.as_str(), "servers[0].tools[0] must have a name of at most"),
        ] {
            let error = read(tools).err().map(|error| error.message().to_owned());
            assert!(
                error.as_ref().is_some_and(|error| error.contains(culprit)),
                "{tools}: {error:?}"
            );
        }
    }
}
