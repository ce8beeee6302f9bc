//! What a caller configures, read from JSON text into types that cannot be wrong. Each mistake names its culprit, and
//! is found before anything is started.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderName;
use serde_json::value::RawValue;
use url::Url;

use super::given;
use super::handlers::{Handlers, Roots};
use crate::catalog::disclosure::Disclosure;
use crate::catalog::filter::Filter;
use crate::catalog::listing::{ListedTool, ListingLimits};
use crate::catalog::snapshot::{RemoteKind, without_userinfo};
use crate::error::{Error, Result};
use crate::guard::headers::Configured;
use crate::guard::hosts::AllowedHosts;
use crate::json::{self, Object};
use crate::limits::{self, Timeout};
use crate::protocol::peer::Patience;
use crate::protocol::revision::Revision;
use crate::transport::child::{CwdRoot, Launch, Plugin};
use crate::transport::http::client::settings::{HttpSettings, Proxy};

/// The options of a toolset.
pub(crate) struct Options {
    pub(super) patience: Patience,
    pub(super) max_parallel_connects: usize,
    pub(super) listing: ListingLimits,
    pub(super) max_message_bytes: usize,
    pub(super) filter: Filter,
    /// Whether child processes may be started: the switch of the entry point `espalier/node`.
    pub(super) stdio: bool,
    pub(super) http: HttpSettings,
    pub(super) allowed_hosts: AllowedHosts,
    pub(super) protocol: ProtocolMode,
    pub(super) handlers: Arc<Handlers>,
    pub(super) disclosure: Disclosure,
    pub(super) on_list_changed: OnListChanged,
    /// Where the paths of plugins begin on this host.
    pub(super) fs_root: Option<String>,
    /// Whether servers whose listing is known are left alone until they are called.
    pub(super) lazy: bool,
    /// After how long a child that nobody calls is stopped.
    pub(super) idle_stop: Timeout,
}

/// What becomes of a server's word that its tools changed (client specification, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnListChanged {
    /// It is listed again, and what drifted is held back.
    Guard,
    /// It is listed again, and what it lists is shown, unless a stored baseline says otherwise.
    Apply,
    Ignore,
}

/// Which eras a server is spoken to in (client specification, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtocolMode {
    /// What it speaks, found out.
    Auto,
    /// The session era, without asking.
    Legacy,
    /// This revision, or none.
    Pin(Revision),
}

/// One configured server.
pub(crate) struct ServerConfig {
    pub(super) name: String,
    /// Its own time limit; the toolset's where there is none.
    pub(super) timeout: Option<Timeout>,
    /// Its own; the toolset's where there is none.
    pub(super) protocol: Option<ProtocolMode>,
    /// Its own, as the next one; the toolset's where there is none.
    pub(super) lazy: Option<bool>,
    pub(super) idle_stop: Option<Timeout>,
    /// What it lists, by the caller's word.
    pub(super) given: Option<Vec<Arc<ListedTool>>>,
    pub(super) endpoint: Endpoint,
}

pub(crate) enum Endpoint {
    Stdio(Launch),
    Remote(Box<Remote>),
}

/// A server with a URL. Its headers may be secret.
pub(crate) struct Remote {
    pub(super) kind: RemoteKind,
    /// As it was written.
    pub(super) url: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) configured: Arc<Configured>,
    /// Configured headers that are not sent.
    pub(super) ignored: Vec<HeaderName>,
    /// What a function said of this very server, in place of the toolset's list; or why it said nothing.
    pub(super) allowed_hosts: Option<std::result::Result<AllowedHosts, String>>,
}

impl Options {
    /// # Errors
    /// `invalid-option`.
    pub(crate) fn parse(text: &str, stdio: bool) -> Result<Self> {
        let object = Object::parse(text).ok_or_else(|| Error::invalid_option("the options must be an object"))?;
        let fields = Fields {
            path: String::new(),
            object,
        };
        let count = |key: &str, default: u64| -> Result<u64> {
            fields
                .number(key)?
                .map_or(Ok(default), |value| limits::whole_number(key, value))
        };
        let timeout = fields
            .timeout("timeoutMs")?
            .unwrap_or(Timeout::after(limits::DEFAULT_TIMEOUT));
        Ok(Self {
            patience: Patience {
                timeout,
                reset_on_progress: fields.boolean("resetTimeoutOnProgress")?.unwrap_or(true),
                max_total: fields.timeout("maxTotalTimeoutMs")?.unwrap_or(Timeout::NONE),
            },
            max_parallel_connects: saturate(count(
                "maxParallelConnects",
                u64::from(limits::DEFAULT_MAX_PARALLEL_CONNECTS),
            )?),
            listing: ListingLimits {
                max_tools: count("maxTools", u64::from(limits::DEFAULT_MAX_TOOLS))?,
                max_bytes: count("maxCatalogBytes", limits::DEFAULT_MAX_CATALOG_BYTES)?,
            },
            max_message_bytes: message_limit(count("maxMessageBytes", limits::DEFAULT_MAX_MESSAGE_BYTES)?)?,
            filter: match fields.child("tools")? {
                Some(tools) => {
                    tools.only(&["allow", "block"])?;
                    Filter::new(tools.strings("allow")?, tools.strings("block")?)?
                }
                None => Filter::Everything,
            },
            stdio,
            http: HttpSettings::new(
                fields
                    .string("proxy")?
                    .map_or(Ok(Proxy::Env), |proxy| Proxy::parse(&proxy))?,
                &fields.texts("ca")?,
                fields.boolean("blockPrivateAddresses")?.unwrap_or(false),
            )?,
            allowed_hosts: fields
                .strings("allowedHosts")?
                .map_or(AllowedHosts::Any, |hosts| only(&hosts)),
            protocol: fields.protocol()?.unwrap_or(ProtocolMode::Auto),
            handlers: Arc::new(Handlers {
                sampling: fields.boolean("sampling")?.unwrap_or(false),
                elicitation: fields.boolean("elicitation")?.unwrap_or(false),
                roots: fields.roots()?,
                log: fields.boolean("onLog")?.unwrap_or(false),
            }),
            disclosure: fields
                .child("disclosure")?
                .map_or(Ok(Disclosure::default()), |disclosure| disclosure.disclosure())?,
            on_list_changed: match fields.string("onListChanged")?.as_deref() {
                None | Some("guard") => OnListChanged::Guard,
                Some("apply") => OnListChanged::Apply,
                Some("ignore") => OnListChanged::Ignore,
                Some(_) => return Err(fields.must_be("onListChanged", "'guard', 'apply' or 'ignore'")),
            },
            fs_root: fields.string("fsRoot")?,
            lazy: fields.boolean("lazy")?.unwrap_or(false),
            idle_stop: fields.timeout("idleStopMs")?.unwrap_or(Timeout::NONE),
        })
    }
}

impl ServerConfig {
    /// # Errors
    /// `invalid-option`, naming the entry and the field.
    pub(crate) fn parse_all(text: &str) -> Result<Vec<Self>> {
        let entries = json::array(text)
            .ok_or_else(|| Error::invalid_option("servers must be an array of server configurations"))?;
        entries
            .into_iter()
            .enumerate()
            .map(|(index, entry)| Self::parse(index, entry))
            .collect()
    }

    fn parse(index: usize, entry: &RawValue) -> Result<Self> {
        let path = format!("servers[{index}]");
        let object = Object::parse(entry.get())
            .ok_or_else(|| Error::invalid_option(format!("{path} must be a server configuration")))?;
        let fields = Fields {
            path: format!("{path}."),
            object,
        };
        let name = fields.required("name")?;
        let endpoint = match fields.required("type")?.as_str() {
            "stdio" => Endpoint::Stdio(fields.launch()?),
            "streamable-http" => fields.remote(RemoteKind::StreamableHttp)?,
            "sse" => fields.remote(RemoteKind::Sse)?,
            other => {
                return Err(Error::invalid_option(format!(
                    "{path}.type must be \"stdio\", \"streamable-http\" or \"sse\"; got {}",
                    json::quote(other)
                )));
            }
        };
        Ok(Self {
            name,
            timeout: fields.timeout("timeoutMs")?,
            protocol: fields.protocol()?,
            lazy: fields.boolean("lazy")?,
            idle_stop: fields.timeout("idleStopMs")?,
            given: fields
                .object
                .present("tools")
                .map(|tools| given::parse(&format!("{path}.tools"), tools))
                .transpose()?,
            endpoint,
        })
    }

    /// What tells this server from another of its name: the URL, or the command line.
    pub(super) fn identity(&self) -> String {
        match &self.endpoint {
            Endpoint::Stdio(launch) => std::iter::once(&launch.command)
                .chain(&launch.args)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" "),
            Endpoint::Remote(remote) => without_userinfo(&remote.url).into_owned(),
        }
    }

    /// A canonical text of all else that makes it a server of its own. It may hold secrets.
    pub(super) fn extras(&self) -> String {
        match &self.endpoint {
            Endpoint::Stdio(launch) => {
                let env: BTreeMap<_, _> = launch.env.iter().map(|(name, value)| (name, value)).collect();
                format!("{env:?} {:?} {:?}", launch.cwd, launch.plugin)
            }
            Endpoint::Remote(remote) => format!("{:?}", remote.headers),
        }
    }

    /// The configured values that no text of ours may repeat.
    pub(super) fn secrets(&self) -> Vec<&str> {
        match &self.endpoint {
            Endpoint::Stdio(launch) => launch
                .env
                .iter()
                .map(|(_, value)| value)
                .chain(&launch.args)
                .map(String::as_str)
                .collect(),
            Endpoint::Remote(remote) => remote.configured.secrets().collect(),
        }
    }

    pub(super) const fn is_remote(&self) -> bool {
        matches!(self.endpoint, Endpoint::Remote(_))
    }

    pub(super) const fn kind(&self) -> &'static str {
        match &self.endpoint {
            Endpoint::Stdio(_) => "stdio",
            Endpoint::Remote(remote) => remote.kind.name(),
        }
    }
}

/// The members of an object, with the path that an error names. A member that is `null` counts as not given.
struct Fields<'a> {
    path: String,
    object: Object<'a>,
}

impl<'a> Fields<'a> {
    fn must_be(&self, key: &str, what: &str) -> Error {
        Error::invalid_option(format!("{}{key} must be {what}", self.path))
    }

    fn string(&self, key: &str) -> Result<Option<String>> {
        let Some(value) = self.object.present(key) else {
            return Ok(None);
        };
        let text = json::string(value.get()).ok_or_else(|| self.must_be(key, "a string"))?;
        Ok(Some(text.into_owned()))
    }

    /// Refuses members of other names: a misspelt filter must not let everything through.
    fn only(&self, keys: &[&str]) -> Result<()> {
        match self.object.members().find(|(name, _)| !keys.contains(name)) {
            Some((name, _)) => Err(Error::invalid_option(format!(
                "{}{name} is not an option; there is {}",
                self.path,
                keys.join(" and ")
            ))),
            None => Ok(()),
        }
    }

    fn required(&self, key: &str) -> Result<String> {
        self.string(key)?
            .filter(|text| !text.is_empty())
            .ok_or_else(|| self.must_be(key, "a string that is not empty"))
    }

    fn strings(&self, key: &str) -> Result<Option<Vec<String>>> {
        let Some(value) = self.object.present(key) else {
            return Ok(None);
        };
        let strings = json::array(value.get()).and_then(|items| {
            items
                .into_iter()
                .map(|item| json::string(item.get()).map(std::borrow::Cow::into_owned))
                .collect()
        });
        strings
            .map(Some)
            .ok_or_else(|| self.must_be(key, "an array of strings"))
    }

    fn string_map(&self, key: &str) -> Result<Vec<(String, String)>> {
        let Some(value) = self.object.present(key) else {
            return Ok(Vec::new());
        };
        let strings = Object::parse(value.get()).and_then(|object| {
            let pairs = object
                .members()
                .map(|(name, value)| Some((name.to_owned(), json::string(value.get())?.into_owned())));
            pairs.collect()
        });
        strings.ok_or_else(|| self.must_be(key, "an object of strings"))
    }

    fn environment(&self) -> Result<Vec<(String, String)>> {
        let env = self.string_map("env")?;
        if env
            .iter()
            .any(|(name, _)| name.is_empty() || name.contains(['=', '\0']))
        {
            return Err(self.must_be("env", "an object whose names are neither empty nor contain `=` or NUL"));
        }
        Ok(env)
    }

    fn remote(&self, kind: RemoteKind) -> Result<Endpoint> {
        let text = self.required("url")?;
        // The text may hold a password: it is not shown.
        let url = Url::parse(&text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| self.must_be("url", "an http or https URL"))?;
        let headers: BTreeMap<String, String> = self.string_map("headers")?.into_iter().collect();
        let pairs = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let (configured, ignored) = Configured::new(&format!("{}headers", self.path), url, pairs)?;
        let allowed_hosts = match self.child("allowedHosts")? {
            None => None,
            Some(said) => Some(match said.string("refused")? {
                Some(problem) => Err(problem),
                None => Ok(only(&said.strings("hosts")?.unwrap_or_default())),
            }),
        };
        Ok(Endpoint::Remote(Box::new(Remote {
            kind,
            url: text,
            headers,
            configured: Arc::new(configured),
            ignored,
            allowed_hosts,
        })))
    }

    fn launch(&self) -> Result<Launch> {
        let root = self.not_empty("pluginRoot")?;
        let data = self.not_empty("pluginDataRoot")?;
        let cwd_root = match self.string("cwdRoot")?.as_deref().map(CwdRoot::parse) {
            None => None,
            Some(Some(CwdRoot::Root)) if root.is_some() => Some(CwdRoot::Root),
            Some(Some(CwdRoot::Data)) if data.is_some() => Some(CwdRoot::Data),
            Some(_) => {
                const WHAT: &str = "'PLUGIN_ROOT' with a pluginRoot, or 'PLUGIN_DATA' with a pluginDataRoot";
                return Err(self.must_be("cwdRoot", WHAT));
            }
        };
        Ok(Launch {
            command: self.required("command")?,
            args: self.strings("args")?.unwrap_or_default(),
            env: self.environment()?,
            cwd: self.string("cwd")?,
            plugin: Plugin { root, data, cwd_root },
        })
    }

    fn not_empty(&self, key: &str) -> Result<Option<String>> {
        match self.string(key)? {
            Some(text) if text.is_empty() => Err(self.must_be(key, "a path")),
            text => Ok(text),
        }
    }

    fn protocol(&self) -> Result<Option<ProtocolMode>> {
        const WHAT: &str = "'auto', 'legacy', or { pin } with a revision of the protocol";
        let Some(value) = self.object.present("protocol") else {
            return Ok(None);
        };
        let mode = match json::string(value.get()).as_deref() {
            Some("auto") => Some(ProtocolMode::Auto),
            Some("legacy") => Some(ProtocolMode::Legacy),
            Some(_) => None,
            None => Object::parse(value.get())
                .and_then(|object| Revision::parse(&object.string("pin")?))
                .map(ProtocolMode::Pin),
        };
        mode.map(Some).ok_or_else(|| self.must_be("protocol", WHAT))
    }

    /// A list, or the facade's spelling of a function that gives one.
    fn roots(&self) -> Result<Roots> {
        const ASKED: &str = "\0asked";
        match self.object.present("roots").map(RawValue::get) {
            None => Ok(Roots::None),
            Some(text) if json::string(text).as_deref() == Some(ASKED) => Ok(Roots::Asked),
            Some(list) => Roots::fixed(list),
        }
    }

    fn disclosure(&self) -> Result<Disclosure> {
        const WHAT: &str = "a number of tokens that is not negative, or 'auto'";
        self.only(&["budget", "alwaysLoad"])?;
        let default = Disclosure::default();
        let budget = match self.object.present("budget") {
            Some(value) if json::string(value.get()).as_deref() == Some("auto") => None,
            Some(value) if json::is_string(value.get()) => return Err(self.must_be("budget", WHAT)),
            _ => self.number("budget")?,
        };
        if budget.is_some_and(|budget| budget.is_nan() || budget < 0.0) {
            return Err(self.must_be("budget", WHAT));
        }
        Ok(Disclosure {
            budget: budget.unwrap_or(default.budget),
            always_load: self.strings("alwaysLoad")?.unwrap_or_default().into_iter().collect(),
        })
    }

    /// One text, or several.
    fn texts(&self, key: &str) -> Result<Vec<String>> {
        match self.object.present(key) {
            Some(value) if json::is_string(value.get()) => Ok(self.string(key)?.into_iter().collect()),
            _ => Ok(self.strings(key)?.unwrap_or_default()),
        }
    }

    /// A number, or what the facade writes for the numbers that JSON does not have.
    fn number(&self, key: &str) -> Result<Option<f64>> {
        let Some(value) = self.object.present(key) else {
            return Ok(None);
        };
        let number = json::parse::<f64>(value.get()).or_else(|| {
            match Object::parse(value.get())?.string("\0number")?.as_ref() {
                "Infinity" => Some(f64::INFINITY),
                "-Infinity" => Some(f64::NEG_INFINITY),
                "NaN" => Some(f64::NAN),
                _ => None,
            }
        });
        number.map(Some).ok_or_else(|| self.must_be(key, "a number"))
    }

    fn timeout(&self, key: &str) -> Result<Option<Timeout>> {
        self.number(key)?
            .map(|millis| Timeout::from_millis(&format!("{}{key}", self.path), millis))
            .transpose()
    }

    fn boolean(&self, key: &str) -> Result<Option<bool>> {
        let Some(value) = self.object.present(key) else {
            return Ok(None);
        };
        json::parse::<bool>(value.get())
            .map(Some)
            .ok_or_else(|| self.must_be(key, "true or false"))
    }

    fn child(&self, key: &str) -> Result<Option<Fields<'a>>> {
        let Some(value) = self.object.present(key) else {
            return Ok(None);
        };
        let object = Object::parse(value.get()).ok_or_else(|| self.must_be(key, "an object"))?;
        Ok(Some(Fields {
            path: format!("{}{key}.", self.path),
            object,
        }))
    }
}

fn only(hosts: &[String]) -> AllowedHosts {
    AllowedHosts::only(hosts.iter().map(String::as_str))
}

/// A message becomes one text in JavaScript, sooner or later.
fn message_limit(bytes: u64) -> Result<usize> {
    let bytes = saturate(bytes);
    if bytes > limits::MAX_TEXT_TO_JS_BYTES {
        let most = limits::MAX_TEXT_TO_JS_BYTES;
        return Err(Error::invalid_option(format!(
            "maxMessageBytes must be at most {most}; got {bytes}"
        )));
    }
    Ok(bytes)
}

fn saturate(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(servers: &str) -> String {
        match ServerConfig::parse_all(servers) {
            Ok(_) => panic!("{servers} was accepted"),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn each_mistake_in_a_server_names_its_place() {
        for (servers, culprit) in [
            ("null", "servers must be an array"),
            ("{}", "servers must be an array"),
            ("[null]", "servers[0] must be a server"),
            (r#"[{"type":"stdio","command":"c"}]"#, "servers[0].name"),
            (r#"[{"name":"","type":"stdio","command":"c"}]"#, "servers[0].name"),
            (r#"[{"name":"a"}]"#, "servers[0].type"),
            (r#"[{"name":"a","type":"carrier-pigeon"}]"#, "carrier-pigeon"),
            (r#"[{"name":"a","type":"stdio"}]"#, "servers[0].command"),
            (r#"[{"name":"a","type":"sse"}]"#, "servers[0].url"),
            (
                r#"[{"name":"a","type":"stdio","command":"c","args":[1]}]"#,
                "servers[0].args",
            ),
            (
                r#"[{"name":"a","type":"stdio","command":"c","env":{"A":1}}]"#,
                "servers[0].env",
            ),
            (
                r#"[{"name":"a","type":"stdio","command":"c","env":{"A=B":"1"}}]"#,
                "servers[0].env",
            ),
            (
                r#"[{"name":"a","type":"stdio","command":"c","timeoutMs":-1}]"#,
                "servers[0].timeoutMs",
            ),
            (
                r#"[{"name":"a","type":"stdio","command":"c","lazy":1}]"#,
                "servers[0].lazy",
            ),
            (
                r#"[{"name":"a","type":"stdio","command":"c","idleStopMs":0}]"#,
                "servers[0].idleStopMs",
            ),
        ] {
            let message = problem(servers);
            assert!(message.contains(culprit), "{servers}: {message}");
        }
    }

    #[test]
    fn each_mistake_in_the_options_names_the_option() {
        for (options, culprit) in [
            ("[]", "the options must be an object"),
            (r#"{"timeoutMs":0}"#, "timeoutMs"),
            (r#"{"timeoutMs":{"\u0000number":"NaN"}}"#, "timeoutMs"),
            (r#"{"timeoutMs":"Infinity"}"#, "timeoutMs must be a number"),
            (r#"{"timeoutMs":{"number":"Infinity"}}"#, "timeoutMs must be a number"),
            (r#"{"tools":{"allowed":["x"]}}"#, "tools.allowed"),
            (r#"{"maxMessageBytes":1000000000}"#, "maxMessageBytes"),
            (r#"{"timeoutMs":"5"}"#, "timeoutMs must be a number"),
            (r#"{"maxTools":1.5}"#, "maxTools"),
            (r#"{"maxTotalTimeoutMs":-2}"#, "maxTotalTimeoutMs"),
            (r#"{"resetTimeoutOnProgress":1}"#, "resetTimeoutOnProgress"),
            (r#"{"tools":{"allow":"x"}}"#, "tools.allow"),
            (r#"{"disclosure":5}"#, "disclosure"),
            (r#"{"disclosure":{"budget":-1}}"#, "disclosure.budget"),
            (r#"{"disclosure":{"budget":"much"}}"#, "disclosure.budget"),
            (
                r#"{"disclosure":{"budget":{"\u0000number":"NaN"}}}"#,
                "disclosure.budget",
            ),
            (r#"{"disclosure":{"alwaysLoad":"s"}}"#, "disclosure.alwaysLoad"),
            (r#"{"disclosure":{"budgets":1}}"#, "disclosure.budgets"),
            (r#"{"onListChanged":"reload"}"#, "onListChanged"),
            (r#"{"lazy":"yes"}"#, "lazy must be true or false"),
            (r#"{"idleStopMs":-1}"#, "idleStopMs"),
            (
                r#"{"tools":{"allow":[],"block":[]}}"#,
                "either \"allow\" or \"block\", not both",
            ),
        ] {
            let Err(error) = Options::parse(options, true) else {
                panic!("{options} was accepted")
            };
            assert!(error.message().contains(culprit), "{options}: {error}");
        }
        assert!(Options::parse(r#"{"timeoutMs":{"\u0000number":"Infinity"},"maxTools":null}"#, true).is_ok());
    }
}
