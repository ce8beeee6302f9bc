//! Elicitation: what a server asks of a user, made plain for whoever asks the user, and the answer made complete for the
//! server (protocol, 7.10).

use serde_json::value::RawValue;

use super::codes::{INVALID_PARAMS, WireError};
use super::message::Params;
use crate::json::{self, Object};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Values of a flat schema.
    Form,
    /// The user's consent to visit a page, where what happens is no business of the client's.
    Url,
}

/// A request that can be answered.
#[derive(Debug)]
pub(crate) struct Elicitation {
    mode: Mode,
    /// The params with the mode in them, as JSON text.
    params: String,
    schema: Option<Box<RawValue>>,
}

impl Elicitation {
    /// # Errors
    /// "Invalid params": what is missing, or an unknown mode, which this side has not declared.
    pub(crate) fn parse(params: Option<&RawValue>) -> Result<Self, WireError> {
        let wrong = |message: &str| WireError::new(INVALID_PARAMS, message);
        let object = params
            .and_then(|params| Object::parse(params.get()))
            .ok_or_else(|| wrong("elicitation/create needs an object of params"))?;
        object
            .string("message")
            .ok_or_else(|| wrong("elicitation/create needs a `message`"))?;
        let mode = match object.string("mode").as_deref() {
            Some("url") => Mode::Url,
            Some("form") => Mode::Form,
            None if object.present("mode").is_none() => Mode::Form,
            _ => return Err(wrong("this client knows the modes `form` and `url`")),
        };
        let schema = object.present("requestedSchema");
        match mode {
            Mode::Form if schema.is_none_or(|schema| Object::parse(schema.get()).is_none()) => {
                return Err(wrong("a form needs a `requestedSchema`"));
            }
            Mode::Url if object.string("url").is_none() => return Err(wrong("the mode `url` needs a `url`")),
            Mode::Form | Mode::Url => {}
        }
        let mut params = Params::new();
        for (key, value) in object.members().filter(|(key, _)| *key != "mode") {
            params = params.entry(key, value.get());
        }
        Ok(Self {
            mode,
            params: params.text("mode", mode.name()).object(),
            schema: schema.map(ToOwned::to_owned),
        })
    }

    pub(crate) fn params(&self) -> &str {
        &self.params
    }

    /// The result for the server: only an accepted form has content, and what it leaves out has the schema's defaults.
    /// `check` sees that content, with the schema.
    ///
    /// # Errors
    /// What is wrong with the answer, in words that hold nothing of it.
    pub(crate) fn result(
        &self,
        answer: &str,
        check: impl FnOnce(&RawValue, &RawValue) -> Result<(), String>,
    ) -> Result<String, String> {
        let object = Object::parse(answer).ok_or("it is not an object")?;
        let action = object.string("action").unwrap_or_default();
        if !["accept", "decline", "cancel"].contains(&action.as_ref()) {
            return Err("its `action` is none of accept, decline and cancel".to_owned());
        }
        let result = Params::new().text("action", &action);
        let (Mode::Form, "accept", Some(schema)) = (self.mode, action.as_ref(), &self.schema) else {
            return Ok(result.object());
        };
        let content = match object.present("content") {
            Some(content) => Object::parse(content.get()).ok_or("its `content` is not an object")?,
            None => Object::default(),
        };
        let content = with_defaults(&content, schema);
        let raw: &RawValue = json::parse(&content).ok_or("its `content` is not JSON")?;
        check(schema, raw)?;
        Ok(result.raw("content", &content).object())
    }
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Url => "url",
        }
    }
}

fn with_defaults(content: &Object<'_>, schema: &RawValue) -> String {
    let mut filled = Params::new();
    for (key, value) in content.members() {
        filled = filled.entry(key, value.get());
    }
    let properties = Object::parse(schema.get()).and_then(|schema| schema.object("properties"));
    for (key, property) in properties.iter().flat_map(Object::members) {
        let default = Object::parse(property.get()).and_then(|property| property.present("default"));
        if let Some(default) = default.filter(|_| content.get(key).is_none()) {
            filled = filled.entry(key, default.get());
        }
    }
    filled.object()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = r#"{"message":"m","requestedSchema":{"type":"object","properties":{
        "name":{"type":"string","default":"Ada"},"age":{"type":"integer","default":3},"ok":{"type":"boolean"},
        "a\"b":{"type":"string","default":"q"}}}}"#;

    fn elicitation(params: &str) -> Result<Elicitation, WireError> {
        Elicitation::parse(Some(&RawValue::from_string(params.to_owned()).unwrap()))
    }

    fn answered(params: &str, answer: &str) -> Result<String, String> {
        elicitation(params).unwrap().result(answer, |_, _| Ok(()))
    }

    #[test]
    fn a_request_without_a_mode_is_a_form_and_says_so() {
        assert!(elicitation(FORM).unwrap().params().ends_with(r#","mode":"form"}"#));
        let url = elicitation(r#"{"mode":"url","message":"m","url":"https://x.example/"}"#).unwrap();
        assert_eq!(
            url.params(),
            r#"{"message":"m","url":"https://x.example/","mode":"url"}"#
        );
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        for params in [
            "[]",
            "{}",
            r#"{"message":"m"}"#,
            r#"{"message":"m","requestedSchema":[]}"#,
            r#"{"mode":"url","message":"m"}"#,
            r#"{"mode":"voice","message":"m"}"#,
            r#"{"mode":3,"message":"m","requestedSchema":{}}"#,
        ] {
            assert_eq!(elicitation(params).unwrap_err().code, INVALID_PARAMS, "{params}");
        }
        assert!(Elicitation::parse(None).is_err());
    }

    #[test]
    fn an_accepted_form_has_the_defaults_of_what_it_leaves_out() {
        assert_eq!(
            answered(FORM, r#"{"action":"accept","content":{"age":7}}"#).unwrap(),
            r#"{"action":"accept","content":{"age":7,"name":"Ada","a\"b":"q"}}"#
        );
        assert_eq!(
            answered(FORM, r#"{"action":"accept"}"#).unwrap(),
            r#"{"action":"accept","content":{"name":"Ada","age":3,"a\"b":"q"}}"#
        );
    }

    #[test]
    fn only_an_accepted_form_has_content() {
        for action in ["decline", "cancel"] {
            let answer = format!(r#"{{"action":"{action}","content":{{"name":"x"}}}}"#);
            assert_eq!(answered(FORM, &answer).unwrap(), format!(r#"{{"action":"{action}"}}"#));
        }
        let url = r#"{"mode":"url","message":"m","url":"https://x.example/"}"#;
        let answer = r#"{"action":"accept","content":{"a":1}}"#;
        assert_eq!(answered(url, answer).unwrap(), r#"{"action":"accept"}"#);
    }

    #[test]
    fn an_answer_that_is_none_says_why() {
        for answer in [
            "null",
            "{}",
            r#"{"action":"maybe"}"#,
            r#"{"action":"accept","content":[]}"#,
        ] {
            assert!(answered(FORM, answer).is_err(), "{answer}");
        }
        let refused = elicitation(FORM)
            .unwrap()
            .result(r#"{"action":"accept"}"#, |_, _| Err("unfit".to_owned()));
        assert_eq!(refused.unwrap_err(), "unfit");
    }
}
