//! One entry of a configuration file, in any host's spelling, as a server configuration of ours.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::expand::Variables;
use crate::client::options::ServerConfig;
use crate::json::{self, Object};

pub(super) const ROOT: &str = "PLUGIN_ROOT";
pub(super) const DATA: &str = "PLUGIN_DATA";

/// What is wrong with an entry, and which part of it that is.
#[derive(Debug)]
pub(super) struct Problem<'a> {
    pub(super) at: &'a str,
    pub(super) message: String,
}

impl<'a> Problem<'a> {
    pub(super) fn new(at: &'a str, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }
}

pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    pub(super) variables: &'a Variables<'a>,
    /// Whether the file is a plugin's, whose folders its servers are told.
    pub(super) is_plugin: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    StreamableHttp,
    Sse,
}

/// Whether a file that holds this is a plugin's.
pub(super) fn speaks_of_plugin(text: &str) -> bool {
    [ROOT, DATA].iter().any(|name| {
        [format!("${{{name}}}"), format!("${{{name}:-"), format!("${{env:{name}")]
            .iter()
            .any(|reference| text.contains(reference.as_str()))
    })
}

/// Whether a value could be a server's entry.
pub(super) fn looks_like_one(text: &str) -> bool {
    Object::parse(text).is_some_and(|object| {
        ["command", "url", "serverUrl", "httpUrl"]
            .iter()
            .any(|key| object.present(key).is_some())
    })
}

impl<'a> Entry<'a> {
    /// The JSON text of the server; nothing where it is switched off.
    pub(super) fn read(&self) -> Result<Option<String>, Problem<'a>> {
        let object = Object::parse(self.value).ok_or_else(|| Problem::new(self.value, "it must be an object"))?;
        let says = |key: &str, text: &str| object.get(key).is_some_and(|value| value.get() == text);
        if says("disabled", "true") || says("enabled", "false") {
            return Ok(None);
        }
        if self.name.is_empty() {
            return Err(Problem::new(self.value, "its name is empty"));
        }
        let kind = self.kind(&object)?;
        let mut server = Server(format!(
            "{{\"type\":{},\"name\":{}",
            json::quote(kind.name()),
            json::quote(self.name)
        ));
        if kind == Kind::Stdio {
            self.launch(&object, &mut server)?;
        } else {
            self.remote(&object, &mut server)?;
        }
        // Ours, for files that are written for us. Others have `tools` with names.
        for key in ["timeoutMs", "protocol", "lazy", "idleStopMs", "tools"] {
            if let Some(value) = object.present(key).filter(|value| !is_filter(key, value)) {
                server.raw(key, value.get());
            }
        }
        let server = server.finish();
        self.check(&server)?;
        Ok(Some(server))
    }

    fn kind(&self, object: &Object<'a>) -> Result<Kind, Problem<'a>> {
        let key = ["type", "transport", "transportType"]
            .into_iter()
            .find(|key| object.present(key).is_some());
        if let Some((key, value)) = key.and_then(|key| Some((key, object.present(key)?))) {
            let Some(name) = json::string(value.get()) else {
                return Err(Problem::new(value.get(), format!("{key} must be a string")));
            };
            let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
            return match letters.to_ascii_lowercase().as_str() {
                "stdio" | "local" => Ok(Kind::Stdio),
                "http" | "streamablehttp" | "remote" => Ok(Kind::StreamableHttp),
                "sse" => Ok(Kind::Sse),
                _ => {
                    let name = json::quote_short(&name);
                    let message =
                        format!("{key} must be \"stdio\", \"streamable-http\", \"http\" or \"sse\"; it is {name}");
                    Err(Problem::new(value.get(), message))
                }
            };
        }
        let url = ["url", "serverUrl"].iter().find_map(|key| object.present(key));
        match (object.present("command"), object.present("httpUrl"), url) {
            (Some(_), None, None) => Ok(Kind::Stdio),
            (None, Some(_), _) => Ok(Kind::StreamableHttp),
            (None, None, Some(url)) => {
                let url = json::string(url.get()).unwrap_or_default();
                let path = url.split(['?', '#']).next().unwrap_or_default();
                let is_sse = path.trim_end_matches('/').ends_with("/sse");
                Ok(if is_sse { Kind::Sse } else { Kind::StreamableHttp })
            }
            (None, None, None) => Err(Problem::new(self.value, "it has neither a command nor a url")),
            (Some(_), ..) => Err(Problem::new(
                self.value,
                "it has a command and a url, and no type that says which counts",
            )),
        }
    }

    fn launch(&self, object: &Object<'a>, server: &mut Server) -> Result<(), Problem<'a>> {
        let Some(command) = object.present("command") else {
            return Err(Problem::new(self.value, "it has no command"));
        };
        let text = self.text("command", command)?;
        server.text("command", &self.located(&text, false));
        if let Some(args) = object.present("args") {
            let items =
                json::array(args.get()).ok_or_else(|| Problem::new(args.get(), "args must be an array of strings"))?;
            let items = items.into_iter().enumerate();
            let items = items.map(|(index, item)| Ok(json::quote(&self.text(&format!("args[{index}]"), item)?)));
            let items = items.collect::<Result<Vec<_>, _>>()?;
            server.raw("args", &format!("[{}]", items.join(",")));
        }
        self.texts("env", object, server)?;
        if let Some(cwd) = object.present("cwd") {
            let text = self.text("cwd", cwd)?;
            server.text("cwd", &self.located(&text, true));
            let written = json::string(cwd.get()).unwrap_or_default();
            for root in [ROOT, DATA] {
                if self.is_plugin && written.starts_with(&format!("${{{root}")) {
                    server.text("cwdRoot", root);
                }
            }
        }
        if self.is_plugin {
            for (key, name) in [("pluginRoot", ROOT), ("pluginDataRoot", DATA)] {
                if let Some(root) = self.variables.env(name).filter(|root| !root.is_empty()) {
                    server.text(key, root);
                }
            }
        }
        if let Some(file) = object.present("envFile") {
            return Err(Problem::new(
                file.get(),
                "its envFile is not read: set the variables in env",
            ));
        }
        Ok(())
    }

    fn remote(&self, object: &Object<'a>, server: &mut Server) -> Result<(), Problem<'a>> {
        let url = ["url", "serverUrl", "httpUrl"]
            .into_iter()
            .find_map(|key| Some((key, object.present(key)?)));
        let Some((key, url)) = url else {
            return Err(Problem::new(self.value, "it has no url"));
        };
        server.text("url", &self.text(key, url)?);
        self.texts("headers", object, server)
    }

    /// A member with a text for each of its own members.
    fn texts(&self, key: &str, object: &Object<'a>, server: &mut Server) -> Result<(), Problem<'a>> {
        let Some(value) = object.present(key) else {
            return Ok(());
        };
        let members = Object::parse(value.get())
            .ok_or_else(|| Problem::new(value.get(), format!("{key} must be an object of strings")))?;
        let mut texts = Vec::new();
        // `null` takes a variable out of what an editor would pass on; here there is nothing to take it out of.
        for (name, value) in members.members().filter(|(_, value)| value.get() != "null") {
            let text = self.text(&format!("{key}.{name}"), value)?;
            texts.push(format!("{}:{}", json::quote(name), json::quote(&text)));
        }
        server.raw(key, &format!("{{{}}}", texts.join(",")));
        Ok(())
    }

    /// A value with its references filled in. Numbers and truth values are taken as they are written.
    fn text(&self, path: &str, value: &'a RawValue) -> Result<String, Problem<'a>> {
        let Some(text) = json::string(value.get()) else {
            return match value.get().as_bytes().first() {
                Some(b'0'..=b'9' | b'-' | b't' | b'f') => Ok(value.get().to_owned()),
                _ => Err(Problem::new(value.get(), format!("{path} must be a string"))),
            };
        };
        self.variables
            .expand(&text)
            .map_err(|missing| Problem::new(value.get(), format!("{path} needs {missing}")))
    }

    /// A relative path begins at the folder of the file. That of a plugin begins at a root of the plugin, which whoever
    /// starts it knows. A command without a separator is no path.
    fn located(&self, text: &str, is_path: bool) -> String {
        let is_relative =
            std::path::Path::new(text).is_relative() && (is_path || text.contains(std::path::is_separator));
        if text.is_empty() || !is_relative || self.is_plugin {
            return text.to_owned();
        }
        let located = self.variables.base.join(text);
        located.to_str().unwrap_or(text).to_owned()
    }

    /// What goes out is accepted where it goes.
    fn check(&self, server: &str) -> Result<(), Problem<'a>> {
        match ServerConfig::parse_all(&format!("[{server}]")) {
            Ok(_) => Ok(()),
            Err(error) => Err(Problem::new(self.value, error.message().replace("servers[0].", ""))),
        }
    }
}

/// Whether a member selects tools by name, as some hosts have it, and lists none.
fn is_filter(key: &str, value: &RawValue) -> bool {
    let names = |items: Vec<&RawValue>| items.iter().all(|item| json::is_string(item.get()));
    key == "tools" && json::array(value.get()).is_some_and(names)
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::StreamableHttp => "streamable-http",
            Self::Sse => "sse",
        }
    }
}

/// The JSON text of a server, member by member.
struct Server(String);

impl Server {
    fn text(&mut self, key: &str, text: &str) {
        self.raw(key, &json::quote(text));
    }

    fn raw(&mut self, key: &str, value: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, ",{}:{value}", json::quote(key));
    }

    fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
