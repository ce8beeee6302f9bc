//! The configuration files of the usual hosts, read into server configurations: Claude Desktop, VS Code, Cursor, Agent
//! Plugins. A bad entry costs only itself, and is told with its place. No value is in what is told, filled in or not.

mod entry;
mod expand;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use self::entry::Entry;
use self::expand::Variables;
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, Result};
use crate::json::{self, Object};
use crate::limits;

/// What a configuration comes to.
pub(crate) struct Loaded {
    /// The JSON text of each server, in the order of the configuration.
    pub(crate) servers: Vec<String>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// What a caller gives besides the configuration.
pub(crate) struct Given {
    pub(crate) env: HashMap<String, String>,
    pub(crate) inputs: HashMap<String, String>,
    /// The folder that relative paths begin at. By default that of the file.
    pub(crate) base: Option<PathBuf>,
}

/// Reads a file.
///
/// # Errors
/// `invalid-option` when it cannot be read. What is wrong within it is a diagnostic.
pub(crate) fn load_file(path: &str, given: Given) -> Result<Loaded> {
    let unreadable = |reason: &str| Error::invalid_option(format!("the configuration {path} cannot be read: {reason}"));
    let failed = |error: std::io::Error| unreadable(&error.kind().to_string()).with_source(error);
    // A pipe would be waited for, and a device has no end.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(unreadable("it is not a file"));
    }
    let mut bytes = Vec::new();
    let limit = limits::MAX_CONFIG_BYTES;
    File::open(path)
        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(unreadable(&format!("it has more than {limit} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| unreadable("it is not UTF-8").with_source(error))?;
    let base = given.base.clone().unwrap_or_else(|| folder_of(Path::new(path)));
    Ok(load(&text, Some(path), &base, given))
}

/// Reads what a caller has as an object: there are no lines in it to point at.
pub(crate) fn load_object(text: &str, given: Given) -> Loaded {
    let base = given.base.clone().unwrap_or_else(|| absolute(Path::new("")));
    load(text, None, &base, given)
}

/// The folder that a file is about: its own, or the one above where editors keep such files in a folder of theirs.
fn folder_of(file: &Path) -> PathBuf {
    let file = absolute(file);
    let folder = file.parent().unwrap_or(&file);
    let is_editors = folder
        .file_name()
        .is_some_and(|name| name == ".vscode" || name == ".cursor");
    let folder = match folder.parent() {
        Some(above) if is_editors => above,
        _ => folder,
    };
    folder.to_owned()
}

fn absolute(path: &Path) -> PathBuf {
    // It fails where there is no current folder, and on an empty path.
    std::path::absolute(path)
        .or_else(|_| std::env::current_dir())
        .unwrap_or_else(|_| path.to_owned())
}

fn load(text: &str, file: Option<&str>, base: &Path, given: Given) -> Loaded {
    let plain = json::comments::without_comments(text);
    let mut reader = Reader {
        text,
        plain: &plain,
        file,
        diagnostics: Vec::new(),
    };
    let found = reader.find();
    let mut env = given.env;
    let is_plugin = found.iter().any(|found| entry::speaks_of_plugin(found.value.get()));
    if is_plugin {
        // A plugin's file lies in the plugin's folder.
        let root = base.to_str().unwrap_or_default();
        env.entry(entry::ROOT.to_owned()).or_insert_with(|| root.to_owned());
    }
    let mut inputs = reader.defaults();
    inputs.extend(given.inputs);
    let variables = Variables { env, inputs, base };
    let mut servers = Vec::new();
    for found in &found {
        let entry = Entry {
            name: &found.name,
            value: found.value.get(),
            variables: &variables,
            is_plugin,
        };
        match entry.read() {
            Ok(server) => servers.extend(server),
            Err(problem) => reader.tell(
                Rule::ServerEntryInvalid,
                Some(&found.name),
                problem.at,
                &problem.message,
            ),
        }
    }
    Loaded {
        servers,
        diagnostics: reader.diagnostics,
    }
}

struct Found<'a> {
    name: String,
    value: &'a RawValue,
}

struct Reader<'a> {
    /// As it was written.
    text: &'a str,
    /// The same without what JSON does not have, each place in its place.
    plain: &'a str,
    /// Nothing where there are no lines.
    file: Option<&'a str>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    /// The entries of all servers, each name once.
    fn find(&mut self) -> Vec<Found<'a>> {
        let whole = match serde_json::from_str::<&RawValue>(self.plain) {
            Ok(whole) => whole.get(),
            Err(error) => {
                let reason = error.to_string();
                // Its own place is told as ours are.
                let reason = reason.split(" at line ").next().unwrap_or_default();
                let message = format!("it is not JSON: {reason}");
                let place = self.place_of(error.line(), error.column());
                self.tell_at(Rule::ServerEntryInvalid, None, place.as_deref(), &message);
                return Vec::new();
            }
        };
        let Some(document) = Object::parse(whole) else {
            self.tell(Rule::ServerEntryInvalid, None, whole, "it must be an object");
            return Vec::new();
        };
        let editor = document.object("mcp");
        let groups: Vec<_> = [
            ("mcpServers", document.present("mcpServers")),
            ("servers", document.present("servers")),
            (
                "mcp.servers",
                editor.as_ref().and_then(|editor| editor.present("servers")),
            ),
        ]
        .into_iter()
        .filter_map(|(path, group)| Some((path, group?)))
        .collect();
        let mut found: Vec<Found<'a>> = Vec::new();
        if groups.is_empty() {
            // Some plugins have the servers right at the top.
            if document.members().any(|(_, value)| entry::looks_like_one(value.get())) {
                self.collect(&document, &mut found);
            } else {
                let message = "it names no servers: there is neither mcpServers nor servers";
                self.tell(Rule::ServerEntryInvalid, None, whole, message);
            }
        }
        for (path, group) in groups {
            if let Some(group) = Object::parse(group.get()) {
                self.collect(&group, &mut found);
            } else {
                let message = format!("{path} must be an object with a member for each server");
                self.tell(Rule::ServerEntryInvalid, None, group.get(), &message);
            }
        }
        found
    }

    /// A name that comes again counts with its last entry, as it does for whoever parses JSON.
    fn collect(&mut self, group: &Object<'a>, found: &mut Vec<Found<'a>>) {
        for (name, value) in group.members() {
            let earlier = found.iter().position(|found| found.name == name);
            if let Some(earlier) = earlier.map(|at| found.remove(at)) {
                let mut message = "the name is taken already, and this entry counts".to_owned();
                if let Some(place) = self.place(earlier.value.get()) {
                    message.push_str("; the other one is at ");
                    message.push_str(&place);
                }
                self.tell(Rule::ServerNameCollision, Some(name), value.get(), &message);
            }
            found.push(Found {
                name: name.to_owned(),
                value,
            });
        }
    }

    /// What the editor would fill in where its user just agrees.
    fn defaults(&self) -> HashMap<String, String> {
        let inputs = |object: &Object<'a>| {
            let inputs = object.array("inputs").unwrap_or_default();
            let inputs = inputs.into_iter().filter_map(|input| {
                let input = Object::parse(input.get())?;
                Some((input.string("id")?.into_owned(), input.string("default")?.into_owned()))
            });
            inputs.collect::<HashMap<_, _>>()
        };
        let Some(document) = Object::parse(self.plain) else {
            return HashMap::new();
        };
        let mut defaults = inputs(&document);
        if let Some(editor) = document.object("mcp") {
            defaults.extend(inputs(&editor));
        }
        defaults
    }

    /// Without a server, it is told of the whole.
    fn tell(&mut self, rule: Rule, server: Option<&str>, at: &str, message: &str) {
        let place = self.place(at);
        self.tell_at(rule, server, place.as_deref(), message);
    }

    fn tell_at(&mut self, rule: Rule, server: Option<&str>, place: Option<&str>, message: &str) {
        let mut text = String::new();
        if let Some(place) = place {
            text.push_str(place);
            text.push_str(": ");
        }
        if let Some(server) = server {
            text.push_str("server ");
            text.push_str(&json::quote_short(server));
            text.push_str(": ");
        }
        text.push_str(message);
        let origin = server.or(self.file).unwrap_or("the configuration");
        self.diagnostics
            .push(Diagnostic::new(rule, origin, json::visibly(&text)));
    }

    /// Where a part of the text stands.
    fn place(&self, part: &str) -> Option<String> {
        let offset = part.as_ptr().addr().checked_sub(self.plain.as_ptr().addr())?;
        let before = self.text.get(..offset)?;
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.place_of(line, column)
    }

    fn place_of(&self, line: usize, column: usize) -> Option<String> {
        self.file.map(|file| format!("{file}:{line}:{column}"))
    }
}

#[cfg(test)]
mod tests;
