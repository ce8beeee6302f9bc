//! What the caller has functions for, of all that a server may ask: a capability is declared for these and for no more.

use crate::error::{Error, Result};
use crate::json::{self, Object};

/// The handlers of a toolset.
#[derive(Debug, Default)]
pub(crate) struct Handlers {
    pub(super) sampling: bool,
    pub(super) elicitation: bool,
    pub(super) roots: Roots,
    /// Whether somebody listens to log messages.
    pub(super) log: bool,
}

#[derive(Debug, Default)]
pub(super) enum Roots {
    #[default]
    None,
    /// The caller is asked each time.
    Asked,
    /// A list, as the JSON text of a `ListRootsResult`.
    Fixed(String),
}

impl Handlers {
    /// The value of `capabilities` when this client introduces itself. Of sampling, tools are not declared: a handler need
    /// not know of them.
    pub(super) fn capabilities(&self) -> String {
        let mut declared = Vec::new();
        if self.sampling {
            declared.push("\"sampling\":{}");
        }
        if self.elicitation {
            declared.push("\"elicitation\":{\"form\":{},\"url\":{}}");
        }
        if !matches!(self.roots, Roots::None) {
            declared.push("\"roots\":{}");
        }
        format!("{{{}}}", declared.join(","))
    }
}

impl Roots {
    /// # Errors
    /// `invalid-option`.
    pub(super) fn fixed(list: &str) -> Result<Self> {
        roots_result(list).map(Self::Fixed).map_err(|problem| {
            Error::invalid_option(format!("roots must be an array of roots, or a function: {problem}"))
        })
    }
}

/// The result of `roots/list` for an array of roots.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn roots_result(list: &str) -> std::result::Result<String, String> {
    let roots = json::array(list).ok_or("it is not an array")?;
    for (index, root) in roots.iter().enumerate() {
        let uri = Object::parse(root.get()).and_then(|root| root.string("uri").map(std::borrow::Cow::into_owned));
        let uri = uri.ok_or_else(|| format!("entry {index} has no `uri`"))?;
        // The protocol has no other roots (7.8).
        if !uri.starts_with("file://") {
            return Err(format!("the `uri` of entry {index} does not begin with file://"));
        }
    }
    Ok(format!("{{\"roots\":{list}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_handler_is_declared() {
        assert_eq!(Handlers::default().capabilities(), "{}");
        let all = Handlers {
            sampling: true,
            elicitation: true,
            roots: Roots::fixed("[]").unwrap(),
            log: true,
        };
        assert_eq!(
            all.capabilities(),
            r#"{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{}}"#
        );
    }

    #[test]
    fn roots_are_file_urls() {
        assert_eq!(
            roots_result(r#"[{"uri":"file:///work","name":"w"}]"#).unwrap(),
            r#"{"roots":[{"uri":"file:///work","name":"w"}]}"#
        );
        for list in ["{}", "[3]", r#"[{"uri":"https://x.example"}]"#, r#"[{"name":"x"}]"#] {
            assert!(roots_result(list).is_err(), "{list}");
        }
    }
}
