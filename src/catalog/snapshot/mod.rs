//! The row that outlives a process: which remote server was connected, what it listed, and the digests it is trusted by.
//! Owns the six fields, their parsing and their text; it holds no credential and no header, and decides nothing about
//! drift.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, ErrorCode, Result};
use crate::json::{self, Object};

/// One row (seed, "What persists, and what never does"). Made from named fields only, so whatever else a row or a
/// configuration carries does not get in.
#[derive(Clone, Debug)]
pub(crate) struct PersistedServer {
    /// The projected name of the server, which differs from its name where two servers share that.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: RemoteKind,
    /// Without userinfo: the constructors cut it.
    url: String,
    /// The last listing, unfiltered; a cache.
    pub(crate) tools: Option<Vec<PersistedTool>>,
    /// The trust baseline.
    pub(crate) fingerprints: Option<Fingerprints>,
}

/// The transports that leave a row; a child process has nothing to come back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RemoteKind {
    StreamableHttp,
    Sse,
}

/// A listed tool as it is stored. The schema is the text that the server sent, and so is the description (a string
/// literal), so that a digest made from a row equals the one made from the listing.
#[derive(Clone, Debug)]
pub(crate) struct PersistedTool {
    pub(crate) name: String,
    pub(crate) description: Option<Box<RawValue>>,
    pub(crate) input_schema: Option<Box<RawValue>>,
}

/// One digest per tool name, in the order of the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fingerprints(Vec<(String, String)>);

impl PersistedServer {
    /// A row with nothing listed and nothing trusted yet.
    pub(crate) fn new(id: impl Into<String>, name: impl Into<String>, kind: RemoteKind, url: &str) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            kind,
            url: without_userinfo(url).into_owned(),
            tools: None,
            fingerprints: None,
        }
    }

    /// Reads all rows that some store kept, from a JSON array: each as [`Self::from_json`] does, and those without a flaw in
    /// one pass, because a process that wakes waits for this. Nothing when the text is no array.
    ///
    /// # Errors
    /// `store`, as [`Self::from_json`].
    pub(crate) fn all_from_json(text: &str) -> Option<Result<Vec<Self>>> {
        if let Some(rows) = json::parse::<Vec<PlainRow<'_>>>(text)
            && let Some(rows) = rows.into_iter().map(PlainRow::read).collect()
        {
            return Some(Ok(rows));
        }
        let rows = json::array(text)?;
        Some(rows.into_iter().map(|row| Self::from_json(row.get())).collect())
    }

    /// Reads a row that some store kept as one JSON object. A listing or baseline that does not parse counts as absent:
    /// losing the one costs a listing, and the other is made anew from what the row listed.
    ///
    /// # Errors
    /// `store`, naming the row, for what is no row: a missing name, or a type that has no rows.
    pub(crate) fn from_json(text: &str) -> Result<Self> {
        let row = Object::parse(text).ok_or_else(|| store_error("a stored row is not a JSON object"))?;
        let id = row.string("id").ok_or_else(|| store_error("a stored row has no id"))?;
        let field = |key: &str| {
            row.string(key)
                .ok_or_else(|| store_error(format!("the stored row {} has no {key}", json::quote(&id))))
        };
        let mut server = Self::new(
            id.as_ref(),
            field("name")?,
            RemoteKind::of_row(&id, &field("type")?)?,
            &field("url")?,
        );
        server.tools = row.present("tools").and_then(|tools| decode_tools(tools.get()));
        server.fingerprints = row
            .present("toolFingerprints")
            .and_then(|record| Fingerprints::decode(record.get()));
        Ok(server)
    }

    /// The row as one JSON object; what is absent is left out.
    pub(crate) fn to_json(&self) -> String {
        let mut out = format!(
            "{{\"id\":{},\"name\":{},\"type\":{},\"url\":{}",
            json::quote(&self.id),
            json::quote(&self.name),
            json::quote(self.kind.name()),
            json::quote(self.url())
        );
        if let Some(tools) = &self.tools {
            out.push_str(",\"tools\":");
            out.push_str(&encode_tools(tools));
        }
        if let Some(fingerprints) = &self.fingerprints {
            out.push_str(",\"toolFingerprints\":");
            out.push_str(&fingerprints.encode());
        }
        out.push('}');
        out
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

/// A row with nothing odd about it.
#[derive(Deserialize)]
struct PlainRow<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow)]
    tools: Option<Vec<PlainTool<'a>>>,
    #[serde(borrow, rename = "toolFingerprints")]
    fingerprints: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct PlainTool<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
    #[serde(borrow, rename = "inputSchema")]
    input_schema: Option<&'a RawValue>,
}

impl PlainRow<'_> {
    /// Nothing for one that has to be looked at more closely.
    fn read(self) -> Option<PersistedServer> {
        let kind = RemoteKind::of_row(&self.id, &self.kind).ok()?;
        let mut server = PersistedServer::new(self.id, self.name, kind, &self.url);
        server.tools = match self.tools {
            None => None,
            Some(tools) => Some(tools.into_iter().map(PlainTool::read).collect::<Option<_>>()?),
        };
        server.fingerprints = self.fingerprints.and_then(|record| Fingerprints::decode(record.get()));
        Some(server)
    }
}

impl PlainTool<'_> {
    fn read(self) -> Option<PersistedTool> {
        if self.description.is_some_and(|text| !json::is_string(text.get())) {
            return None;
        }
        Some(PersistedTool {
            name: self.name.into_owned(),
            description: self.description.map(ToOwned::to_owned),
            input_schema: self.input_schema.map(ToOwned::to_owned),
        })
    }
}

impl RemoteKind {
    /// Reads the type of the row `id`.
    ///
    /// # Errors
    /// `store`, naming the row, for any other type.
    pub(crate) fn of_row(id: &str, text: &str) -> Result<Self> {
        [Self::StreamableHttp, Self::Sse]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| {
                store_error(format!(
                    "the stored row {} has the unsupported type {}; only streamable-http and sse are stored",
                    json::quote(id),
                    json::quote(text)
                ))
            })
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::StreamableHttp => "streamable-http",
            Self::Sse => "sse",
        }
    }
}

impl PersistedTool {
    /// Reads one tool; nothing for what is none.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let tool = Object::parse(text)?;
        let description = tool.present("description");
        if description.is_some_and(|value| !json::is_string(value.get())) {
            return None;
        }
        Some(Self {
            name: json::string_lossy(tool.get("name")?.get())?.into_owned(),
            description: description.map(ToOwned::to_owned),
            input_schema: tool.present("inputSchema").map(ToOwned::to_owned),
        })
    }

    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        self.encode_into(&mut out);
        out
    }

    fn encode_into(&self, out: &mut String) {
        out.push_str("{\"name\":");
        out.push_str(&json::quote(&self.name));
        for (key, value) in [
            (",\"description\":", &self.description),
            (",\"inputSchema\":", &self.input_schema),
        ] {
            if let Some(value) = value {
                out.push_str(key);
                out.push_str(value.get());
            }
        }
        out.push('}');
    }
}

impl Fingerprints {
    /// A repeated name counts once, with its last digest, as a JavaScript record has it.
    pub(crate) fn new(digests: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut record: Vec<(String, String)> = Vec::new();
        for (name, digest) in digests {
            let place = *places.entry(name.clone()).or_insert(record.len());
            match record.get_mut(place) {
                Some(earlier) => earlier.1 = digest,
                None => record.push((name, digest)),
            }
        }
        Self(record)
    }

    /// Reads the text of a record; absent unless every digest is a string.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let record = Object::parse(text)?;
        let digests: Option<Vec<_>> = record
            .members()
            .map(|(name, digest)| Some((name.to_owned(), json::string(digest.get())?.into_owned())))
            .collect();
        digests.map(Self::new)
    }

    pub(crate) fn encode(&self) -> String {
        let members: Vec<_> = self
            .iter()
            .map(|(name, digest)| format!("{}:{}", json::quote(name), json::quote(digest)))
            .collect();
        format!("{{{}}}", members.join(","))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, digest)| (name.as_str(), digest.as_str()))
    }
}

/// Reads the text of a listing; absent as a whole when an entry is no tool, since a listing with holes would pass the
/// missing ones off as withdrawn.
pub(crate) fn decode_tools(text: &str) -> Option<Vec<PersistedTool>> {
    json::array(text)?
        .into_iter()
        .map(|tool| PersistedTool::decode(tool.get()))
        .collect()
}

pub(crate) fn encode_tools(tools: &[PersistedTool]) -> String {
    let mut out = String::from('[');
    for (index, tool) in tools.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        tool.encode_into(&mut out);
    }
    out.push(']');
    out
}

/// A URL without user name and password, and otherwise as it was written. Finds the authority as the URL standard does
/// for http and https: white space around and within, and any number of slashes of either kind, change nothing.
pub(crate) fn without_userinfo(url: &str) -> Cow<'_, str> {
    let start = authority_start(url);
    let rest = url.get(start..).unwrap_or_default();
    let authority = rest
        .find(['/', '\\', '?', '#'])
        .map_or(rest, |end| rest.get(..end).unwrap_or_default());
    match authority.rfind('@') {
        Some(at) => {
            let (before, after) = (
                url.get(..start).unwrap_or_default(),
                rest.get(at + 1..).unwrap_or_default(),
            );
            Cow::Owned(format!("{before}{after}"))
        }
        None => Cow::Borrowed(url),
    }
}

fn authority_start(url: &str) -> usize {
    let after_scheme = match url.split_once(':') {
        Some((scheme, _)) if is_scheme(scheme) => scheme.len() + 1,
        _ => 0,
    };
    let rest = url.get(after_scheme..).unwrap_or_default();
    let authority = rest.trim_start_matches(|c: char| matches!(c, '/' | '\\') || is_ignored(c));
    after_scheme + rest.len() - authority.len()
}

fn is_scheme(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.') || is_ignored(c))
}

/// What a URL parser drops: white space and control characters at the ends, tabs and line ends everywhere.
fn is_ignored(c: char) -> bool {
    c <= ' '
}

fn store_error(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::Store, message)
}

#[cfg(test)]
mod tests;
