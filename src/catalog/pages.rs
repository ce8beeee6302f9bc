//! The pages of a list of resources, templates or prompts, put together: each entry as the server sent it, with the name of
//! the server added. Cursors are followed until they end or repeat, within the caps of a listing.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use serde_json::value::RawValue;

use super::listing::ListingLimits;
use crate::diagnostic::Rule;
use crate::error::{Error, ErrorCode, Result};
use crate::json::{self, Object};

/// A list under construction.
#[derive(Debug)]
pub(crate) struct Pages {
    member: &'static str,
    limits: ListingLimits,
    /// What is added to each entry: `"server":"…"}`.
    tail: String,
    /// The entries as JSON text, separated by commas.
    entries: String,
    count: u64,
    turned: u64,
    bytes: u64,
    cursors: HashSet<String>,
    /// Hashes of the entries: who goes in a circle, or does not look at cursors, lists the same again.
    seen: HashSet<u64>,
    hasher: RandomState,
}

/// What comes after a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Page(String),
    Complete,
    /// The list ends, and not as it should: the rule and the words to tell it with.
    CutShort(Rule, String),
}

impl Pages {
    /// `member` is where a page has its entries.
    pub(crate) fn new(server: &str, member: &'static str, limits: ListingLimits) -> Self {
        Self {
            member,
            limits,
            tail: format!("\"server\":{}}}", json::quote(server)),
            entries: String::new(),
            count: 0,
            turned: 0,
            bytes: 0,
            cursors: HashSet::new(),
            seen: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    /// Takes one page.
    ///
    /// # Errors
    /// `invalid-response` when it is none, `too-large` when a cap is passed.
    pub(crate) fn add(&mut self, result: &RawValue) -> Result<Next> {
        let page = Object::parse(result.get());
        let entries = page.as_ref().and_then(|page| page.array(self.member));
        let (Some(page), Some(entries)) = (&page, entries) else {
            let message = format!("it answered without an array `{}`", self.member);
            return Err(Error::new(ErrorCode::InvalidResponse, message));
        };
        self.turned += 1;
        self.bytes += result.get().len() as u64;
        if self.bytes > self.limits.max_bytes {
            let message = format!("it lists more than {} bytes (`maxCatalogBytes`)", self.limits.max_bytes);
            return Err(Error::new(ErrorCode::TooLarge, message));
        }
        for entry in entries {
            // What is no object is no entry.
            let Some(head) = entry.get().strip_suffix('}') else {
                continue;
            };
            if !self.seen.insert(self.hasher.hash_one(head)) {
                continue;
            }
            if self.count == self.limits.max_tools {
                let message = format!("it lists more than {} entries (`maxTools`)", self.limits.max_tools);
                return Err(Error::new(ErrorCode::TooLarge, message));
            }
            self.count += 1;
            if !self.entries.is_empty() {
                self.entries.push(',');
            }
            self.entries.push_str(head);
            if head.trim_end() != "{" {
                self.entries.push(',');
            }
            self.entries.push_str(&self.tail);
        }
        let Some(cursor) = page.present("nextCursor") else {
            return Ok(Next::Complete);
        };
        let Some(cursor) = json::string(cursor.get()) else {
            let message = "it sent a `nextCursor` that is not a string; the list ends there".to_owned();
            return Ok(Next::CutShort(Rule::ProtocolViolation, message));
        };
        let cursor = cursor.into_owned();
        if !self.cursors.insert(cursor.clone()) {
            let message = format!(
                "it repeated a `nextCursor` after {} pages; the list ends there and is kept",
                self.turned
            );
            return Ok(Next::CutShort(Rule::ListingLimited, message));
        }
        Ok(Next::Page(cursor))
    }

    pub(crate) fn entries(self) -> String {
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(max: u64) -> Pages {
        let limits = ListingLimits {
            max_tools: max,
            max_bytes: 1_000,
        };
        Pages::new("s\"1", "resources", limits)
    }

    fn add(pages: &mut Pages, page: &str) -> Result<Next> {
        pages.add(&RawValue::from_string(page.to_owned()).unwrap())
    }

    #[test]
    fn entries_keep_their_text_and_say_whose_they_are() {
        let mut list = pages(10);
        let next = add(
            &mut list,
            r#"{"resources":[{"uri":"a", "server":"liar"},{ },7],"nextCursor":""}"#,
        )
        .unwrap();
        assert_eq!(next, Next::Page(String::new()));
        assert_eq!(
            add(&mut list, r#"{"resources":[{"uri":"b"}]}"#).unwrap(),
            Next::Complete
        );
        assert_eq!(
            list.entries(),
            r#"{"uri":"a", "server":"liar","server":"s\"1"},{ "server":"s\"1"},{"uri":"b","server":"s\"1"}"#
        );
    }

    #[test]
    fn a_circle_ends_where_it_closes_and_lists_nothing_twice() {
        let mut list = pages(2);
        let page = r#"{"resources":[{"uri":"a"},{"uri":"b"}],"nextCursor":"c"}"#;
        assert_eq!(add(&mut list, page).unwrap(), Next::Page("c".to_owned()));
        let Next::CutShort(Rule::ListingLimited, message) = add(&mut list, page).unwrap() else {
            panic!("a cursor that comes again leads in a circle");
        };
        assert!(message.contains("2 pages"), "{message}");
        assert_eq!(
            list.entries(),
            r#"{"uri":"a","server":"s\"1"},{"uri":"b","server":"s\"1"}"#
        );
    }

    #[test]
    fn a_cursor_that_is_none_ends_the_list() {
        for cursor in ["7", "{}", "\"\\ud800\""] {
            let next = add(&mut pages(1), &format!(r#"{{"resources":[],"nextCursor":{cursor}}}"#)).unwrap();
            assert!(matches!(next, Next::CutShort(Rule::ProtocolViolation, _)), "{cursor}");
        }
        let next = add(&mut pages(1), r#"{"resources":[],"nextCursor":null}"#).unwrap();
        assert_eq!(next, Next::Complete);
    }

    #[test]
    fn what_is_no_page_and_what_is_too_much_fails() {
        for page in ["[]", "{}", r#"{"resources":{}}"#] {
            assert_eq!(add(&mut pages(1), page).unwrap_err().code(), ErrorCode::InvalidResponse);
        }
        let two = r#"{"resources":[{"uri":"a"},{"uri":"b"}]}"#;
        assert_eq!(add(&mut pages(1), two).unwrap_err().code(), ErrorCode::TooLarge);
        let long = format!(r#"{{"resources":[],"x":"{}"}}"#, "x".repeat(1_000));
        assert_eq!(add(&mut pages(1), &long).unwrap_err().code(), ErrorCode::TooLarge);
    }
}
