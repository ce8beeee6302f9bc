//! `${…}` in the values of a configuration file. What a variable holds may be secret: what is said of one names it alone.

use std::collections::HashMap;
use std::fmt;
use std::path::{MAIN_SEPARATOR_STR, Path};

/// Where the values come from.
pub(super) struct Variables<'a> {
    pub(super) env: HashMap<String, String>,
    /// What an editor would ask for.
    pub(super) inputs: HashMap<String, String>,
    /// The folder that the file is about.
    pub(super) base: &'a Path,
}

/// Why a value cannot be filled in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Variable(String),
    Input(String),
    /// Something that only an editor knows.
    Editors(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable {name}, which is not set"),
            Self::Input(id) => write!(f, "the input {id}, which was not given"),
            Self::Editors(reference) => write!(f, "${{{reference}}}, which only an editor can fill in"),
        }
    }
}

impl Variables<'_> {
    /// Fills in every reference. What only looks like one stays.
    pub(super) fn expand(&self, text: &str) -> Result<String, Missing> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, reference, after)) = reference(rest) {
            out.push_str(before);
            let (name, default) = match reference.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (reference, None),
            };
            match (self.value(name), default) {
                (Ok(Some(value)), Some(default)) if value.is_empty() => out.push_str(default),
                (Ok(Some(value)), _) => out.push_str(&value),
                (Err(_), Some(default)) => out.push_str(default),
                (Err(missing), None) => return Err(missing),
                (Ok(None), _) => {
                    out.push_str("${");
                    out.push_str(reference);
                    out.push('}');
                }
            }
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    pub(super) fn env(&self, name: &str) -> Option<&str> {
        let exact = self.env.get(name);
        let value = exact.or_else(|| {
            // Where names have no case.
            let mut same = self.env.iter();
            same.find(|(known, _)| cfg!(windows) && known.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
        });
        value.map(String::as_str)
    }

    /// Nothing for what is no reference.
    fn value(&self, name: &str) -> Result<Option<String>, Missing> {
        let (prefix, name) = name.split_once(':').unwrap_or(("", name));
        match prefix {
            "" | "env" => {
                if let Some(value) = self.env(name) {
                    return Ok(Some(value.to_owned()));
                }
                if prefix.is_empty()
                    && let Some(value) = self.editors(name)
                {
                    return Ok(Some(value));
                }
                if is_name(name) {
                    Err(Missing::Variable(name.to_owned()))
                } else {
                    Ok(None)
                }
            }
            "input" => match self.inputs.get(name) {
                Some(value) => Ok(Some(value.clone())),
                None => Err(Missing::Input(name.to_owned())),
            },
            _ if is_name(prefix) => Err(Missing::Editors(format!("{prefix}:{name}"))),
            _ => Ok(None),
        }
    }

    /// What editors mean by a name, where it makes sense without one.
    fn editors(&self, name: &str) -> Option<String> {
        let text = |path: &Path| path.to_str().map(ToOwned::to_owned);
        match name {
            "workspaceFolder" | "workspaceRoot" => text(self.base),
            "workspaceFolderBasename" => text(Path::new(self.base.file_name()?)),
            "userHome" => {
                let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
                self.env(home).map(ToOwned::to_owned)
            }
            "pathSeparator" | "/" => Some(MAIN_SEPARATOR_STR.to_owned()),
            _ => None,
        }
    }
}

/// The first reference of a text, between what stands before and after it.
fn reference(text: &str) -> Option<(&str, &str, &str)> {
    let (before, after) = text.split_once("${")?;
    let (reference, after) = after.split_once('}')?;
    Some((before, reference, after))
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|char| char.is_alphanumeric() || char == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str) -> Result<String, Missing> {
        let map = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        Variables {
            env: map(&[
                ("KEY", "k-1"),
                ("EMPTY", ""),
                ("HOME", "/home/me"),
                ("USERPROFILE", "/home/me"),
                ("NESTED", "${KEY}"),
            ]),
            inputs: map(&[("token", "t-1")]),
            base: Path::new("/srv/shop"),
        }
        .expand(text)
    }

    #[test]
    fn references_are_filled_in() {
        for (text, expected) in [
            ("", ""),
            ("plain $KEY {KEY}", "plain $KEY {KEY}"),
            ("${KEY}", "k-1"),
            ("Bearer ${KEY}/${env:KEY}!", "Bearer k-1/k-1!"),
            ("${KEY:-other}", "k-1"),
            ("${EMPTY}", ""),
            ("${EMPTY:-other}", "other"),
            ("${NONE:-}", ""),
            ("${NONE:-a:-b c}", "a:-b c"),
            ("${env:NONE:-d}", "d"),
            ("${NESTED}", "${KEY}"),
            ("${input:token}", "t-1"),
            ("${input:other:-d}", "d"),
            ("${command:pick:-d}", "d"),
            ("${workspaceFolder}/a ${workspaceFolderBasename}", "/srv/shop/a shop"),
            ("${userHome}", "/home/me"),
            ("${", "${"),
            ("${KEY", "${KEY"),
            ("${}", "${}"),
            ("${a b} ${KEY}", "${a b} k-1"),
            ("${1:x}", "${1:x}"),
            ("$${KEY}", "$k-1"),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (text, missing) in [
            ("${NONE}", "the variable NONE, which is not set"),
            ("${KEY} ${env:NONE}", "the variable NONE, which is not set"),
            ("${input:other}", "the input other, which was not given"),
            (
                "${command:ext.pick}",
                "${command:ext.pick}, which only an editor can fill in",
            ),
            (
                "${env:workspaceFolder}",
                "the variable workspaceFolder, which is not set",
            ),
        ] {
            assert_eq!(expand(text).unwrap_err().to_string(), missing, "{text}");
        }
    }
}
