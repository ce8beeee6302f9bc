//! What a call resolves to: the rules by which a `tools/call` result becomes a value or a failure (client specification,
//! section 2). Values stay JSON text; nothing is decoded that only passes by.

use serde_json::value::RawValue;

use crate::error::{Error, ErrorCode, Result};
use crate::json::{self, Object};

/// The value of a result, as JSON text. `check` sees structured content before it is one.
///
/// # Errors
/// `tool-error` when the tool reported a failure, `invalid-response` when the result is no result, and what `check` says.
pub(super) fn value(result: &RawValue, check: impl FnOnce(&RawValue) -> Result<()>) -> Result<String> {
    let object = Object::parse(result.get()).ok_or_else(|| {
        Error::new(
            ErrorCode::InvalidResponse,
            "the answer to `tools/call` is not an object",
        )
    })?;
    if let Some(kind) = object.get("resultType").filter(|kind| kind.get() != "\"complete\"") {
        let kind = json::string_lossy(kind.get()).unwrap_or_default();
        let message = format!(
            "it answered with a result of type {}, which cannot be used",
            json::quote_short(&kind)
        );
        return Err(Error::new(ErrorCode::InvalidResponse, message));
    }
    let content = match object.present("content") {
        None => Vec::new(),
        Some(content) => match json::array(content.get()) {
            Some(blocks) => blocks,
            None if object.present("structuredContent").is_some() => Vec::new(),
            None => {
                return Err(Error::new(
                    ErrorCode::InvalidResponse,
                    "the `content` of the answer is not an array",
                ));
            }
        },
    };
    let texts: Vec<&str> = content.iter().filter_map(|block| text_literal(block)).collect();
    if object.get("isError").is_some_and(|flag| flag.get() == "true") {
        return Err(Error::new(ErrorCode::ToolError, failure_text(&texts)));
    }
    if let Some(structured) = object.present("structuredContent") {
        check(structured)?;
        return Ok(structured.get().to_owned());
    }
    match (texts.as_slice(), content.as_slice()) {
        ([], []) => Ok("null".to_owned()),
        ([], _) => Ok(object.get("content").map_or("null", RawValue::get).to_owned()),
        ([one], _) => Ok((*one).to_owned()),
        (several, _) => Ok(json::join_literals(several.iter().copied(), "\\n")),
    }
}

/// The text of a block of type `text`, as the string literal it was sent as.
fn text_literal<'a>(block: &&'a RawValue) -> Option<&'a str> {
    let block = Object::parse(block.get())?;
    let kind = block.string("type")?;
    let text = block.get("text")?.get();
    (kind == "text" && json::is_string(text)).then_some(text)
}

fn failure_text(texts: &[&str]) -> String {
    let joined = texts
        .iter()
        .filter_map(|text| json::string_lossy(text))
        .collect::<Vec<_>>()
        .join("\n");
    let trimmed = joined.trim_matches(is_js_space);
    if trimmed.is_empty() {
        return "MCP tool returned an error result".to_owned();
    }
    format!("MCP tool error: {trimmed}")
}

/// What `String.prototype.trim` removes: Unicode white space and line ends, with U+FEFF and without U+0085.
fn is_js_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<String> {
        value(&RawValue::from_string(text.to_owned()).unwrap(), |_| Ok(()))
    }

    #[test]
    fn vectors() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../__test__/vectors/client.json")).unwrap();
        let cases = vectors["toolResults"].as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let outcome = of(&case["result"].to_string());
            if let Some(expected) = case.get("value") {
                let value: serde_json::Value = serde_json::from_str(&outcome.unwrap()).unwrap();
                assert_eq!(&value, expected, "{case}");
            } else {
                let error = outcome.unwrap_err();
                assert_eq!(error.code(), ErrorCode::ToolError, "{case}");
                if let Some(message) = case.get("rejectsWithMessage") {
                    assert_eq!(error.message(), message.as_str().unwrap());
                }
            }
        }
    }

    #[test]
    fn odd_results_lose_nothing() {
        assert_eq!(
            of(r#"{"content":null,"structuredContent":[1,2.50]}"#).unwrap(),
            "[1,2.50]"
        );
        assert_eq!(of(r#"{"content":[],"structuredContent":null}"#).unwrap(), "null");
        assert_eq!(
            of(r#"{"content":[{"type":"hologram","x":1}]}"#).unwrap(),
            r#"[{"type":"hologram","x":1}]"#
        );
        assert_eq!(
            of(r#"{"content":[{"type":"text","text":"\ud800"}]}"#).unwrap(),
            r#""\ud800""#
        );
        assert_eq!(
            of(r#"{"content":[{"type":"text","text":5},{"type":"text","text":"a"}]}"#).unwrap(),
            "\"a\""
        );
        assert_eq!(of(r#"{"content":"?","structuredContent":1}"#).unwrap(), "1");
        assert_eq!(
            of(r#"{"isError":false,"content":"?"}"#).unwrap_err().code(),
            ErrorCode::InvalidResponse
        );
        assert_eq!(of("[]").unwrap_err().code(), ErrorCode::InvalidResponse);
    }

    #[test]
    fn failures_are_trimmed_as_javascript_trims() {
        let error = of(
            r#"{"isError":true,"content":[{"type":"text","text":"\ufeff\u00a0 a"},{"type":"text","text":"b\u0085\u2028"}]}"#,
        );
        assert_eq!(error.unwrap_err().message(), "MCP tool error: a\nb\u{85}");
        let error = of(r#"{"isError":true,"content":[{"type":"text","text":"  "}]}"#);
        assert_eq!(error.unwrap_err().message(), "MCP tool returned an error result");
    }
}
