//! The pages of one server's `tools/list`, put together: entries decoded one by one, cursors followed until they end or
//! repeat, and the caps. An odd entry costs itself, an odd page its listing.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use serde_json::value::RawValue;

use super::fingerprint::Fingerprint;
use super::snapshot::PersistedTool;
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, ErrorCode, Result};
use crate::json::{self, Object};
use crate::limits;

/// How much one server may list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListingLimits {
    pub(crate) max_tools: u64,
    pub(crate) max_bytes: u64,
}

/// A tool as the server published it.
#[derive(Debug)]
pub(crate) struct ListedTool {
    pub(crate) name: String,
    /// A string literal, as it was sent.
    pub(crate) description: Option<Box<RawValue>>,
    /// The schema's own text.
    pub(crate) input_schema: Option<Box<RawValue>>,
    /// What its structured results promise to fit.
    pub(crate) output_schema: Option<Box<RawValue>>,
    /// Taken when it is first asked for.
    fingerprint: OnceLock<Fingerprint>,
}

/// A listing under construction.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The projected name of the server.
    origin: String,
    limits: ListingLimits,
    tools: Vec<ListedTool>,
    places: HashMap<String, Place>,
    cursors: HashSet<String>,
    pages: u64,
    skipped: u64,
    bytes: u64,
    /// Names that were published more than once.
    doubled: Vec<String>,
    told_entries: usize,
    diagnostics: Vec<Diagnostic>,
}

/// Where a tool of some name stands.
#[derive(Debug)]
struct Place {
    tool: usize,
    doubled: bool,
}

/// What comes after a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Ask for the page at this cursor.
    Page(String),
    Complete,
    /// Nothing of it is kept.
    GivenUp,
}

impl Listing {
    pub(crate) fn new(origin: impl Into<String>, limits: ListingLimits) -> Self {
        Self {
            origin: origin.into(),
            limits,
            tools: Vec::new(),
            places: HashMap::new(),
            cursors: HashSet::new(),
            pages: 0,
            skipped: 0,
            bytes: 0,
            doubled: Vec::new(),
            told_entries: 0,
            diagnostics: Vec::new(),
        }
    }

    /// Takes the result of one `tools/list`.
    ///
    /// # Errors
    /// `invalid-response` when the page is no page.
    pub(crate) fn add_page(&mut self, result: &RawValue) -> Result<Next> {
        let (page, entries) = Object::parse_with_list(result.get(), "tools").ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidResponse,
                "the answer to `tools/list` is not an object",
            )
        })?;
        let entries = entries.ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidResponse,
                "the answer to `tools/list` has no array `tools`",
            )
        })?;
        self.pages += 1;
        self.bytes += result.get().len() as u64;
        if self.bytes > self.limits.max_bytes {
            return Ok(self.give_up(&format!(
                "more than {} bytes (`maxCatalogBytes`)",
                self.limits.max_bytes
            )));
        }
        let doubled_before = self.doubled.len();
        for entry in entries {
            self.add_entry(entry.as_ref());
            // Counted as they come: a page that repeats what is known adds nothing.
            if self.tools.len() as u64 + self.skipped > self.limits.max_tools {
                return Ok(self.give_up(&format!("more than {} tools (`maxTools`)", self.limits.max_tools)));
            }
        }
        let Some(cursor) = page.present("nextCursor") else {
            return Ok(Next::Complete);
        };
        let Some(cursor) = json::string(cursor.get()) else {
            self.tell(
                Rule::ProtocolViolation,
                "it sent a `nextCursor` that is not a string; the listing ends there",
            );
            return Ok(Next::Complete);
        };
        if !self.cursors.insert(cursor.clone().into_owned()) {
            // What the last page brought again comes of going in a circle, and is not the server's doubling.
            self.doubled.truncate(doubled_before);
            let message = format!(
                "it repeated a `nextCursor` after {} pages; the listing ends there and is kept",
                self.pages
            );
            self.tell(Rule::ListingLimited, &message);
            return Ok(Next::Complete);
        }
        Ok(Next::Page(cursor.into_owned()))
    }

    /// The tools in the order in which they were listed first, and what there is to tell about them.
    pub(crate) fn finish(mut self) -> (Vec<ListedTool>, Vec<Diagnostic>) {
        for name in std::mem::take(&mut self.doubled) {
            let message = format!(
                "it published the tool {} more than once; the last definition counts",
                json::quote_visibly(&name)
            );
            self.tell_entry(&message);
        }
        if let Some(more @ 1..) = self.told_entries.checked_sub(limits::MAX_ENTRY_DIAGNOSTICS) {
            let message = format!("{more} more of its entries are like those told of");
            self.tell(Rule::ServerEntryInvalid, &message);
        }
        (self.tools, self.diagnostics)
    }

    fn add_entry(&mut self, entry: Option<&Object<'_>>) {
        let tool = match ListedTool::parse(entry) {
            Ok(tool) => tool,
            Err(problem) => {
                self.skipped += 1;
                return self.tell_entry(&problem);
            }
        };
        match self.places.entry(tool.name.clone()) {
            Entry::Occupied(mut place) => {
                if let Some(known) = self.tools.get_mut(place.get().tool) {
                    if !std::mem::replace(&mut place.get_mut().doubled, true) {
                        self.doubled.push(tool.name.clone());
                    }
                    *known = tool;
                }
            }
            Entry::Vacant(place) => {
                place.insert(Place {
                    tool: self.tools.len(),
                    doubled: false,
                });
                self.tools.push(tool);
            }
        }
    }

    /// A listing without an end is no listing: nothing of it is kept.
    fn give_up(&mut self, over: &str) -> Next {
        self.tools.clear();
        self.places.clear();
        self.doubled.clear();
        self.told_entries = 0;
        self.diagnostics.clear();
        self.tell(
            Rule::ListingLimited,
            &format!("it lists {over}; none of its tools is kept"),
        );
        Next::GivenUp
    }

    /// A server may list thousands of odd entries; the first of them are enough to see what is wrong.
    fn tell_entry(&mut self, message: &str) {
        self.told_entries += 1;
        if self.told_entries <= limits::MAX_ENTRY_DIAGNOSTICS {
            self.tell(Rule::ServerEntryInvalid, message);
        }
    }

    fn tell(&mut self, rule: Rule, message: &str) {
        let message = format!("MCP server {}: {message}", json::quote(&self.origin));
        self.diagnostics
            .push(Diagnostic::new(rule, self.origin.clone(), message));
    }
}

/// As it was listed last.
impl From<PersistedTool> for ListedTool {
    fn from(kept: PersistedTool) -> Self {
        Self {
            name: kept.name,
            description: kept.description,
            input_schema: kept.input_schema,
            output_schema: None,
            fingerprint: OnceLock::new(),
        }
    }
}

impl ListedTool {
    pub(crate) fn new(
        name: impl Into<String>,
        description: Option<&RawValue>,
        input_schema: Option<&RawValue>,
        output_schema: Option<&RawValue>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.map(ToOwned::to_owned),
            input_schema: input_schema.map(ToOwned::to_owned),
            output_schema: output_schema.map(ToOwned::to_owned),
            fingerprint: OnceLock::new(),
        }
    }

    /// Of description and schema.
    pub(crate) fn fingerprint(&self) -> &Fingerprint {
        self.fingerprint.get_or_init(|| {
            let [description, schema] =
                [&self.description, &self.input_schema].map(|text| text.as_deref().map(RawValue::get));
            Fingerprint::of(description, schema)
        })
    }

    /// Reads one entry, or says what is wrong with it.
    fn parse(entry: Option<&Object<'_>>) -> std::result::Result<Self, String> {
        let Some(object) = entry else {
            return Err("it lists an entry that is not an object; the entry was skipped".to_owned());
        };
        let raw_name = object.get("name").map_or("", RawValue::get);
        let Some(name) = json::string(raw_name) else {
            return Err(format!(
                "it lists a tool whose name is not a string of valid Unicode ({}); the tool was skipped",
                json::quote_visibly(&shown(raw_name))
            ));
        };
        if name.len() > limits::MAX_LISTED_NAME_BYTES {
            return Err(format!(
                "it lists a tool whose name has {} bytes; the tool was skipped",
                name.len()
            ));
        }
        let description = object.present("description");
        if description.is_some_and(|text| !json::is_string(text.get())) {
            return Err(format!(
                "the description of its tool {} is not a string; the tool was skipped",
                json::quote_visibly(&name)
            ));
        }
        let schemas = ["inputSchema", "outputSchema"].map(|key| object.present(key));
        if schemas
            .into_iter()
            .flatten()
            .any(|schema| json::is_deeper_than(schema.get(), limits::MAX_SCHEMA_DEPTH))
        {
            return Err(format!(
                "a schema of its tool {} is nested too deeply; the tool was skipped",
                json::quote_visibly(&name)
            ));
        }
        let [input_schema, output_schema] = schemas;
        Ok(Self::new(name, description, input_schema, output_schema))
    }
}

/// A name for a message, in full: cut, it could end within something that is to be blanked out later.
fn shown(raw_name: &str) -> Cow<'_, str> {
    let name = json::string_lossy(raw_name).unwrap_or_default();
    if name.len() > limits::MAX_LISTED_NAME_BYTES {
        Cow::Borrowed("…")
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ListingLimits = ListingLimits {
        max_tools: 5,
        max_bytes: 1_000,
    };

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn names(listing: Listing) -> (Vec<String>, Vec<(&'static str, String)>) {
        let (tools, diagnostics) = listing.finish();
        (
            tools.into_iter().map(|t| t.name).collect(),
            diagnostics.into_iter().map(|d| (d.rule.name(), d.message)).collect(),
        )
    }

    #[test]
    fn an_empty_cursor_is_a_cursor_and_the_last_definition_counts_in_the_first_place() {
        let mut listing = Listing::new("s", LIMITS);
        let first = raw(r#"{"tools":[{"name":"a"},{"name":"b","description":"old"}],"nextCursor":""}"#);
        assert_eq!(listing.add_page(&first).unwrap(), Next::Page(String::new()));
        let second = raw(r#"{"tools":[{"name":"c"},{"name":"b","description":"new"}],"nextCursor":null}"#);
        assert_eq!(listing.add_page(&second).unwrap(), Next::Complete);
        let (tools, diagnostics) = listing.finish();
        assert_eq!(
            tools.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert_eq!(tools[1].description.as_ref().unwrap().get(), "\"new\"");
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(diagnostics[0].rule, Rule::ServerEntryInvalid);
        assert!(diagnostics[0].message.contains("\"b\""));
    }

    #[test]
    fn a_repeated_cursor_ends_the_listing_with_one_diagnostic_and_keeps_it() {
        let mut listing = Listing::new("s", LIMITS);
        let page =
            |name: &str, cursor: &str| raw(&format!(r#"{{"tools":[{{"name":"{name}"}}],"nextCursor":"{cursor}"}}"#));
        assert_eq!(listing.add_page(&page("a", "c1")).unwrap(), Next::Page("c1".into()));
        assert_eq!(listing.add_page(&page("b", "c2")).unwrap(), Next::Page("c2".into()));
        assert_eq!(listing.add_page(&page("a", "c1")).unwrap(), Next::Complete);
        let (tools, diagnostics) = names(listing);
        assert_eq!(tools, ["a", "b"]);
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(diagnostics[0].0, "listing-limited");
        assert!(diagnostics[0].1.contains("3 pages"), "{diagnostics:?}");
    }

    #[test]
    fn past_a_cap_nothing_is_kept() {
        let entries: Vec<_> = (0..6).map(|n| format!(r#"{{"name":"t{n}"}}"#)).collect();
        let many = format!(r#"{{"tools":[{}]}}"#, entries.join(","));
        let long = format!(r#"{{"tools":[{{"name":"x","description":"{}"}}]}}"#, "d".repeat(1_000));
        for (page, number) in [(many, "5 tools"), (long, "1000 bytes")] {
            let mut listing = Listing::new("s", LIMITS);
            assert_eq!(listing.add_page(&raw(&page)).unwrap(), Next::GivenUp);
            let (tools, diagnostics) = names(listing);
            assert!(tools.is_empty());
            assert_eq!(diagnostics.len(), 1);
            assert!(diagnostics[0].1.contains(number), "{diagnostics:?}");
        }
    }

    #[test]
    fn a_page_that_comes_again_and_again_counts_once() {
        let mut listing = Listing::new("s", LIMITS);
        let page = |cursor: &str| {
            raw(&format!(
                r#"{{"tools":[{{"name":"a"}},{{"name":"b"}},{{"name":"c"}}],"nextCursor":"{cursor}"}}"#
            ))
        };
        assert_eq!(listing.add_page(&page("c")).unwrap(), Next::Page("c".into()));
        assert_eq!(listing.add_page(&page("c")).unwrap(), Next::Complete);
        let (tools, diagnostics) = names(listing);
        assert_eq!(tools, ["a", "b", "c"]);
        assert_eq!(diagnostics.iter().map(|d| d.0).collect::<Vec<_>>(), ["listing-limited"]);
    }

    #[test]
    fn thousands_of_odd_entries_are_told_of_in_short() {
        let mut listing = Listing::new(
            "s",
            ListingLimits {
                max_tools: 10_000,
                max_bytes: 1_000_000,
            },
        );
        listing
            .add_page(&raw(&format!(r#"{{"tools":[{}]}}"#, vec!["7"; 5_000].join(","))))
            .unwrap();
        let (_, diagnostics) = names(listing);
        assert_eq!(diagnostics.len(), limits::MAX_ENTRY_DIAGNOSTICS + 1);
        assert!(
            diagnostics.last().unwrap().1.contains("4900 more"),
            "{:?}",
            diagnostics.last()
        );
    }

    #[test]
    fn odd_entries_cost_themselves() {
        let mut listing = Listing::new("s", LIMITS);
        let page = raw(
            r#"{"tools":[7,{"name":3},{"name":"\ud800"},{"name":"d","description":4},{"name":"","inputSchema":true}]}"#,
        );
        listing.add_page(&page).unwrap();
        let (tools, diagnostics) = listing.finish();
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0].name, "");
        assert_eq!(tools[0].input_schema.as_ref().unwrap().get(), "true");
        assert_eq!(
            diagnostics.iter().map(|d| d.rule).collect::<HashSet<_>>(),
            HashSet::from([Rule::ServerEntryInvalid])
        );
        assert_eq!(diagnostics.len(), 4);
    }

    #[test]
    fn odd_pages_are_refused() {
        for text in ["[]", "{}", r#"{"tools":{}}"#, "null"] {
            let error = Listing::new("s", LIMITS).add_page(&raw(text)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidResponse, "{text}");
        }
    }
}
