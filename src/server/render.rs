//! From what the program says to what the wire has: entries of lists by revision, and the results of tools and resources.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::list_kind::ListKind;
use crate::host::server::{Content, ContentData};
use crate::json::{self, Object};
use crate::protocol::message::Params;
use crate::protocol::revision::{Era, Revision};

/// The members that an entry of a list may have, and since when.
fn members(kind: ListKind) -> &'static [(&'static str, Revision)] {
    use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25};
    match kind {
        ListKind::Tools => &[
            ("name", V2024_11_05),
            ("title", V2025_06_18),
            ("description", V2024_11_05),
            ("inputSchema", V2024_11_05),
            ("outputSchema", V2025_06_18),
            ("annotations", V2025_03_26),
            ("icons", V2025_11_25),
            ("_meta", V2025_06_18),
        ],
        ListKind::Resources => &[
            ("uri", V2024_11_05),
            ("name", V2024_11_05),
            ("title", V2025_06_18),
            ("description", V2024_11_05),
            ("mimeType", V2024_11_05),
            ("size", V2024_11_05),
            ("annotations", V2024_11_05),
            ("icons", V2025_11_25),
            ("_meta", V2025_06_18),
        ],
        ListKind::Templates => &[
            ("uriTemplate", V2024_11_05),
            ("name", V2024_11_05),
            ("title", V2025_06_18),
            ("description", V2024_11_05),
            ("mimeType", V2024_11_05),
            ("annotations", V2024_11_05),
            ("icons", V2025_11_25),
            ("_meta", V2025_06_18),
        ],
        ListKind::Prompts => &[
            ("name", V2024_11_05),
            ("title", V2025_06_18),
            ("description", V2024_11_05),
            ("arguments", V2024_11_05),
            ("icons", V2025_11_25),
            ("_meta", V2025_06_18),
        ],
    }
}

/// An entry of a list with what the revision has of it, as JSON text.
pub(crate) fn entry(kind: ListKind, entry: &Object<'_>, revision: Revision) -> String {
    let mut params = Params::new();
    for (key, since) in members(kind) {
        if revision < *since {
            continue;
        }
        match (*key, entry.present(key)) {
            ("inputSchema", schema) => params = params.raw(key, &input_schema(schema)),
            // Before, what is structured is an object, and a schema of anything else is none.
            ("outputSchema", Some(schema)) if revision.era() == Era::Session && !describes_an_object(schema) => {}
            (_, Some(value)) => params = params.raw(key, value.get()),
            (_, None) => {}
        }
    }
    params.object()
}

/// A schema as the protocol wants it at a tool: of an object.
fn input_schema(schema: Option<&RawValue>) -> String {
    let Some((schema, object)) = schema.and_then(|raw| Some((raw.get(), Object::parse(raw.get())?))) else {
        return "{\"type\":\"object\"}".to_owned();
    };
    if object.get("type").is_some() {
        return schema.to_owned();
    }
    let rest = schema.trim_start().strip_prefix('{').unwrap_or_default();
    let separator = if object.members().next().is_some() { "," } else { "" };
    format!("{{\"type\":\"object\"{separator}{rest}")
}

fn describes_an_object(schema: &RawValue) -> bool {
    Object::parse(schema.get()).is_some_and(|schema| schema.string("type").as_deref() == Some("object"))
}

/// What a tool put out.
pub(crate) enum Output {
    /// JSON text of a string.
    Text(String),
    /// JSON text.
    Value(String),
    Nothing,
}

/// The members of a tool's result, and what of it is structured.
pub(crate) struct ToolResult {
    /// Without `_meta`.
    pub(crate) members: Params,
    pub(crate) meta: Option<Box<RawValue>>,
    pub(crate) structured: Option<Box<RawValue>>,
    pub(crate) is_error: bool,
}

/// A tool that failed, in these words.
pub(crate) fn failure(text: &str) -> Params {
    Params::new()
        .raw("content", &format!("[{}]", text_block(text)))
        .raw("isError", "true")
}

pub(crate) fn tool_result(output: Output, revision: Revision) -> ToolResult {
    match output {
        Output::Nothing => plain("[]", None),
        Output::Text(text) => plain(&format!("[{{\"type\":\"text\",\"text\":{text}}}]"), None),
        Output::Value(text) => {
            if let Some(result) = as_result(&text, revision) {
                return result;
            }
            let is_object = text.starts_with('{');
            let structured = (is_object || revision.era() == Era::Stateless)
                .then(|| RawValue::from_string(text.clone()).ok())
                .flatten();
            let content = format!("[{}]", text_block(&text));
            match structured {
                Some(structured) => plain(&content, Some(structured)),
                None => plain(&content, None),
            }
        }
    }
}

fn plain(content: &str, structured: Option<Box<RawValue>>) -> ToolResult {
    ToolResult {
        members: Params::new().raw("content", content),
        meta: None,
        structured,
        is_error: false,
    }
}

/// An output that is a result already: an object with an array of content blocks.
fn as_result(text: &str, revision: Revision) -> Option<ToolResult> {
    let object = Object::parse(text)?;
    let blocks = object.array("content")?;
    if !blocks.iter().all(|block| is_content_block(block.get())) {
        return None;
    }
    let mut members = Params::new();
    for (key, value) in object.members() {
        match key {
            // `resultType` is ours to say, and these have their own places.
            "_meta" | "resultType" | "structuredContent" => {}
            _ => members = members.entry(key, value.get()),
        }
    }
    let structured = object.get("structuredContent").filter(|structured| {
        let is_object = structured.get().starts_with('{');
        is_object || revision.era() == Era::Stateless
    });
    Some(ToolResult {
        members,
        meta: object.present("_meta").map(ToOwned::to_owned),
        structured: structured.map(ToOwned::to_owned),
        is_error: object.get("isError").is_some_and(|flag| flag.get() == "true"),
    })
}

/// Whether a value has what its kind of block needs (protocol, section 7.3.5).
pub(crate) fn is_content_block(text: &str) -> bool {
    let Some(block) = Object::parse(text) else {
        return false;
    };
    let has_strings = |keys: &[&str]| {
        keys.iter()
            .all(|key| block.get(key).is_some_and(|value| json::is_string(value.get())))
    };
    match block.string("type").as_deref() {
        Some("text") => has_strings(&["text"]),
        Some("image" | "audio") => has_strings(&["data", "mimeType"]),
        Some("resource_link") => has_strings(&["uri", "name"]),
        Some("resource") => block.object("resource").is_some_and(|resource| {
            let is_string = |key: &str| resource.get(key).is_some_and(|value| json::is_string(value.get()));
            is_string("uri") && (is_string("text") || is_string("blob"))
        }),
        _ => false,
    }
}

pub(crate) fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", json::quote(text))
}

/// The `contents` of a read resource.
pub(crate) fn contents(contents: &[Content]) -> String {
    let mut rendered = Vec::with_capacity(contents.len());
    for content in contents {
        let mut params = Params::new().text("uri", &content.uri);
        if let Some(mime_type) = &content.mime_type {
            params = params.text("mimeType", mime_type);
        }
        params = match &content.data {
            ContentData::Text(text) => params.text("text", text),
            ContentData::Blob(bytes) => {
                let mut literal = String::with_capacity(bytes.len().div_ceil(3) * 4 + 2);
                literal.push('"');
                STANDARD.encode_string(bytes, &mut literal);
                literal.push('"');
                params.raw("blob", &literal)
            }
        };
        if let Some(meta) = &content.meta {
            params = params.raw("_meta", meta);
        }
        rendered.push(params.object());
    }
    format!("[{}]", rendered.join(","))
}

/// The members of `_meta` of two objects, the first's counting; JSON text of an object.
pub(crate) fn merged_meta(own: Option<&RawValue>, more: &str) -> String {
    let Some(own) = own.and_then(|own| Object::parse(own.get())) else {
        return more.to_owned();
    };
    let mut seen = HashSet::new();
    let mut params = Params::new();
    let more = Object::parse(more).unwrap_or_default();
    for (key, value) in own.members().chain(more.members()) {
        if seen.insert(key.to_owned()) {
            params = params.entry(key, value.get());
        }
    }
    params.object()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(output: Output, revision: Revision) -> (String, Option<String>) {
        let result = tool_result(output, revision);
        (
            result.members.object(),
            result.structured.map(|structured| structured.get().to_owned()),
        )
    }

    #[test]
    fn an_entry_has_what_its_revision_has() {
        let text = r#"{"name":"a","title":"A","description":"d","inputSchema":{"properties":{}},"outputSchema":{"type":"array"},"annotations":{},"icons":[],"_meta":{},"secret":1}"#;
        let object = Object::parse(text).unwrap();
        assert_eq!(
            entry(ListKind::Tools, &object, Revision::V2024_11_05),
            r#"{"name":"a","description":"d","inputSchema":{"type":"object","properties":{}}}"#
        );
        assert_eq!(
            entry(ListKind::Tools, &object, Revision::V2025_11_25),
            r#"{"name":"a","title":"A","description":"d","inputSchema":{"type":"object","properties":{}},"annotations":{},"icons":[],"_meta":{}}"#
        );
        assert!(entry(ListKind::Tools, &object, Revision::V2026_07_28).contains(r#""outputSchema":{"type":"array"}"#));
    }

    #[test]
    fn a_tool_always_has_a_schema_of_an_object() {
        for (schema, expected) in [
            (r#"{"name":"a"}"#, r#"{"type":"object"}"#),
            (r#"{"inputSchema":null}"#, r#"{"type":"object"}"#),
            (r#"{"inputSchema":true}"#, r#"{"type":"object"}"#),
            (r#"{"inputSchema":{}}"#, r#"{"type":"object"}"#),
            (
                r#"{"inputSchema":{"type":"object","a":1}}"#,
                r#"{"type":"object","a":1}"#,
            ),
        ] {
            let object = Object::parse(schema).unwrap();
            assert!(
                entry(ListKind::Tools, &object, Revision::NEWEST).ends_with(&format!(r#""inputSchema":{expected}}}"#)),
                "{schema}"
            );
        }
    }

    #[test]
    fn output_becomes_content() {
        let session = Revision::V2025_11_25;
        assert_eq!(result(Output::Nothing, session), (r#"{"content":[]}"#.to_owned(), None));
        assert_eq!(
            result(Output::Text(json::quote("a\"b")), session).0,
            r#"{"content":[{"type":"text","text":"a\"b"}]}"#
        );
        assert_eq!(
            result(Output::Value(r#"{"a":1}"#.to_owned()), session),
            (
                r#"{"content":[{"type":"text","text":"{\"a\":1}"}]}"#.to_owned(),
                Some(r#"{"a":1}"#.to_owned())
            )
        );
        assert_eq!(result(Output::Value("[1]".to_owned()), session).1, None);
        assert_eq!(
            result(Output::Value("[1]".to_owned()), Revision::NEWEST).1,
            Some("[1]".to_owned())
        );
    }

    #[test]
    fn an_output_with_content_blocks_is_a_result_already_and_one_with_others_is_not() {
        let text = r#"{"content":[{"type":"text","text":"x"}],"isError":true,"resultType":"task","_meta":{"a":1},"structuredContent":{"b":2}}"#;
        let parsed = tool_result(Output::Value(text.to_owned()), Revision::NEWEST);
        assert_eq!(
            parsed.members.object(),
            r#"{"content":[{"type":"text","text":"x"}],"isError":true}"#
        );
        assert_eq!(parsed.meta.unwrap().get(), r#"{"a":1}"#);
        assert!(parsed.is_error);

        for odd in [
            r#"{"content":[{"type":"text"}]}"#,
            r#"{"content":["x"]}"#,
            r#"{"content":"x"}"#,
        ] {
            let (members, structured) = result(Output::Value(odd.to_owned()), Revision::NEWEST);
            assert!(members.starts_with(r#"{"content":[{"type":"text""#), "{members}");
            assert_eq!(structured.as_deref(), Some(odd));
        }
    }

    #[test]
    fn blobs_are_encoded_and_meta_is_merged() {
        let rendered = contents(&[
            Content {
                uri: "a:b".to_owned(),
                mime_type: Some("text/plain".to_owned()),
                data: ContentData::Text("t".to_owned()),
                meta: None,
            },
            Content {
                uri: "a:c".to_owned(),
                mime_type: None,
                data: ContentData::Blob(vec![0, 255]),
                meta: Some("{}".to_owned()),
            },
        ]);
        assert_eq!(
            rendered,
            r#"[{"uri":"a:b","mimeType":"text/plain","text":"t"},{"uri":"a:c","blob":"AP8=","_meta":{}}]"#
        );
        let own = RawValue::from_string(r#"{"x":1,"y":2}"#.to_owned()).unwrap();
        assert_eq!(merged_meta(Some(&own), r#"{"x":3,"z":4}"#), r#"{"x":1,"y":2,"z":4}"#);
        assert_eq!(merged_meta(None, "{}"), "{}");
    }
}
