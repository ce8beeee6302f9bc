//! The pages of a list of resources, templates or prompts, put together: each entry as the server sent it, with the name of
//! the server added. Cursors are followed until they end or repeat, within the caps of a listing.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::listing::ListingLimits;
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
    bytes: u64,
    cursors: HashSet<String>,
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
            bytes: 0,
            cursors: HashSet::new(),
        }
    }

    /// Takes one page; gives the cursor of the next one.
    ///
    /// # Errors
    /// `invalid-response` when it is none, `too-large` when a cap is passed.
    pub(crate) fn add(&mut self, result: &RawValue) -> Result<Option<String>> {
        let page = Object::parse(result.get());
        let entries = page.as_ref().and_then(|page| page.array(self.member));
        let (Some(page), Some(entries)) = (&page, entries) else {
            let message = format!("it answered without an array `{}`", self.member);
            return Err(Error::new(ErrorCode::InvalidResponse, message));
        };
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
        let cursor = page.present("nextCursor").and_then(|cursor| json::string(cursor.get()));
        // A cursor that comes again leads in a circle.
        Ok(cursor
            .map(std::borrow::Cow::into_owned)
            .filter(|cursor| self.cursors.insert(cursor.clone())))
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

    fn add(pages: &mut Pages, page: &str) -> Result<Option<String>> {
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
        assert_eq!(next.as_deref(), Some(""));
        assert_eq!(
            add(&mut list, r#"{"resources":[{"uri":"b"}],"nextCursor":""}"#).unwrap(),
            None
        );
        assert_eq!(
            list.entries(),
            r#"{"uri":"a", "server":"liar","server":"s\"1"},{ "server":"s\"1"},{"uri":"b","server":"s\"1"}"#
        );
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
