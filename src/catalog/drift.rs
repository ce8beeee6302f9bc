//! Whether what a server lists is still what was trusted. Compares digests by name, own keys only; it writes no baseline,
//! and what becomes of a drifted tool is decided in `project`.

use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use super::fingerprint::Fingerprint;
use super::snapshot::{Fingerprints, PersistedServer};

/// What a server is trusted by: one digest per tool, in the order in which they were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    names: Vec<String>,
    digests: HashMap<String, String>,
}

/// What a baseline says of one listed tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Unchanged,
    /// Its description or its schema is another one.
    Changed,
    /// It was not there.
    Added,
}

/// All that differs, by the servers' own names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Drift {
    /// In the order of the listing.
    pub(crate) changed: Vec<String>,
    /// In the order of the listing.
    pub(crate) added: Vec<String>,
    /// In the order of the baseline.
    pub(crate) removed: Vec<String>,
}

impl Baseline {
    /// A repeated name counts with its last digest.
    pub(crate) fn new(digests: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut baseline = Self::default();
        for (name, digest) in digests {
            if baseline.digests.insert(name.clone(), digest).is_none() {
                baseline.names.push(name);
            }
        }
        baseline
    }

    /// The baseline of a stored row: the recorded one, or, in a row from before there were any, that of the listing which
    /// was served last. Nothing for a row that has neither.
    pub(crate) fn of_row(row: &PersistedServer) -> Option<Self> {
        if let Some(recorded) = &row.fingerprints {
            return Some(Self::new(
                recorded
                    .iter()
                    .map(|(name, digest)| (name.to_owned(), digest.to_owned())),
            ));
        }
        let tools = row.tools.as_ref()?;
        Some(Self::new(tools.iter().map(|tool| {
            let (description, schema) = (tool.description.as_deref(), tool.input_schema.as_deref());
            let fingerprint = Fingerprint::of(description.map(RawValue::get), schema.map(RawValue::get));
            (tool.name.clone(), fingerprint.digest)
        })))
    }

    pub(crate) fn verdict(&self, name: &str, digest: &str) -> Verdict {
        match self.digests.get(name) {
            None => Verdict::Added,
            Some(trusted) if trusted == digest => Verdict::Unchanged,
            Some(_) => Verdict::Changed,
        }
    }

    /// As it is recorded in a row.
    pub(crate) fn to_fingerprints(&self) -> Fingerprints {
        Fingerprints::new(
            self.names
                .iter()
                .filter_map(|name| Some((name.clone(), self.digests.get(name)?.clone()))),
        )
    }

    /// Holds a whole listing against it: names and digests, each name once.
    pub(crate) fn drift<'a>(&self, listing: impl IntoIterator<Item = (&'a str, &'a str)>) -> Drift {
        let mut drift = Drift::default();
        let mut listed = HashSet::new();
        for (name, digest) in listing {
            listed.insert(name);
            match self.verdict(name, digest) {
                Verdict::Unchanged => {}
                Verdict::Changed => drift.changed.push(name.to_owned()),
                Verdict::Added => drift.added.push(name.to_owned()),
            }
        }
        drift.removed = self
            .names
            .iter()
            .filter(|name| !listed.contains(name.as_str()))
            .cloned()
            .collect();
        drift
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::catalog::snapshot::RemoteKind;

    fn pairs(value: &Value) -> Vec<(String, String)> {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn drift_is_that_of_the_reference() {
        let vectors: Value = serde_json::from_str(super::super::VECTORS).unwrap();
        let case = &vectors["drift"];
        let (current, baseline) = (pairs(&case["current"]), Baseline::new(pairs(&case["baseline"])));
        let drift = baseline.drift(current.iter().map(|(name, digest)| (name.as_str(), digest.as_str())));
        let names = |key: &str| serde_json::from_value::<Vec<String>>(case["result"][key].clone()).unwrap();
        assert_eq!(
            (drift.added, drift.removed, drift.changed),
            (names("added"), names("removed"), names("changed"))
        );
    }

    #[test]
    fn names_of_prototypes_are_names_like_others() {
        let empty = Baseline::default();
        for name in ["__proto__", "constructor", "toString", ""] {
            assert_eq!(empty.verdict(name, "1"), Verdict::Added, "{name}");
        }
        let baseline = Baseline::new([("__proto__".to_owned(), "1".to_owned())]);
        assert_eq!(baseline.verdict("__proto__", "1"), Verdict::Unchanged);
        assert_eq!(baseline.drift([]).removed, ["__proto__"]);
    }

    #[test]
    fn an_old_row_is_trusted_by_what_it_listed_and_a_recorded_baseline_comes_first() {
        let row = |members: &str| {
            let text = format!(r#"{{"id":"s","name":"s","type":"sse","url":"http://h/"{members}}}"#);
            Baseline::of_row(&PersistedServer::from_json(&text).unwrap())
        };
        let tools =
            r#","tools":[{"name":"echo","description":"Echo","inputSchema":{"type":"object"}},{"name":"bare"}]"#;
        let old = row(tools).unwrap();
        let echo = "JYCrKVvXQM5-vC0hxM3zQOD3dN46pQZGkl_0bOh0KuY";
        assert_eq!(old.verdict("echo", echo), Verdict::Unchanged);
        assert_eq!(old.verdict("bare", echo), Verdict::Changed);
        let recorded = row(&format!(r#"{tools},"toolFingerprints":{{"echo":"other"}}"#)).unwrap();
        assert_eq!(recorded.verdict("echo", echo), Verdict::Changed);
        assert_eq!(recorded.verdict("bare", echo), Verdict::Added);
        assert!(row("").is_none());
        // A baseline of nothing trusts nothing; it is not the absence of one.
        assert_eq!(
            row(r#","toolFingerprints":{}"#).unwrap().verdict("echo", echo),
            Verdict::Added
        );
        let again = PersistedServer::new("s", "s", RemoteKind::Sse, "http://h/");
        assert!(Baseline::of_row(&again).is_none());
    }
}
