//! What every store promises, run against each of them.

use super::memory::MemoryStore;
use crate::catalog::snapshot::{Fingerprints, PersistedServer, RemoteKind, decode_tools};

/// A store as these tests need it; rows are compared by their text.
trait Subject: Sized {
    fn empty() -> Self;
    fn save(&mut self, row: PersistedServer);
    fn remove(&mut self, id: &str);
    fn rows(&self) -> Vec<PersistedServer>;
}

impl Subject for MemoryStore {
    fn empty() -> Self {
        Self::default()
    }

    fn save(&mut self, row: PersistedServer) {
        Self::save(self, row);
    }

    fn remove(&mut self, id: &str) {
        Self::remove(self, id);
    }

    fn rows(&self) -> Vec<PersistedServer> {
        self.list()
    }
}

macro_rules! every_store_keeps_its_promises {
    ($($store:ident: $subject:ty),+ $(,)?) => {$(
        mod $store {
            use super::*;

            #[test]
            fn a_recorded_baseline_is_never_replaced() {
                super::a_recorded_baseline_is_never_replaced::<$subject>();
            }

            #[test]
            fn a_row_without_a_baseline_takes_the_first_one() {
                super::a_row_without_a_baseline_takes_the_first_one::<$subject>();
            }

            #[test]
            fn an_empty_baseline_is_a_baseline() {
                super::an_empty_baseline_is_a_baseline::<$subject>();
            }

            #[test]
            fn removing_a_row_is_the_way_to_a_new_baseline() {
                super::removing_a_row_is_the_way_to_a_new_baseline::<$subject>();
            }

            #[test]
            fn rows_keep_the_order_in_which_they_came() {
                super::rows_keep_the_order_in_which_they_came::<$subject>();
            }

            #[test]
            fn everything_but_the_baseline_follows_the_last_save() {
                super::everything_but_the_baseline_follows_the_last_save::<$subject>();
            }

            #[test]
            fn a_row_that_was_handed_out_is_a_copy() {
                super::a_row_that_was_handed_out_is_a_copy::<$subject>();
            }
        }
    )+};
}

every_store_keeps_its_promises! {
    memory: MemoryStore,
}

fn a_recorded_baseline_is_never_replaced<S: Subject>() {
    let mut store = S::empty();
    store.save(row("docs", Some("trusted")));
    for later in [
        row("docs", Some("other")),
        row("docs", None),
        row("docs", Some("third")),
    ] {
        store.save(later);
        assert_eq!(baseline(&store, "docs").as_deref(), Some(r#"{"tool":"trusted"}"#));
    }
}

fn a_row_without_a_baseline_takes_the_first_one<S: Subject>() {
    let mut store = S::empty();
    store.save(row("docs", None));
    assert_eq!(baseline(&store, "docs"), None);
    store.save(row("docs", Some("first")));
    store.save(row("docs", Some("second")));
    assert_eq!(baseline(&store, "docs").as_deref(), Some(r#"{"tool":"first"}"#));
}

fn an_empty_baseline_is_a_baseline<S: Subject>() {
    let mut store = S::empty();
    let mut nothing_trusted = row("docs", None);
    nothing_trusted.fingerprints = Some(Fingerprints::default());
    store.save(nothing_trusted);
    store.save(row("docs", Some("later")));
    assert_eq!(baseline(&store, "docs").as_deref(), Some("{}"));
}

fn removing_a_row_is_the_way_to_a_new_baseline<S: Subject>() {
    let mut store = S::empty();
    store.save(row("docs", Some("old")));
    store.save(row("mail", Some("kept")));
    store.remove("docs");
    store.remove("unknown");
    assert_eq!(ids(&store), ["mail"]);
    store.save(row("docs", Some("new")));
    assert_eq!(baseline(&store, "docs").as_deref(), Some(r#"{"tool":"new"}"#));
    assert_eq!(baseline(&store, "mail").as_deref(), Some(r#"{"tool":"kept"}"#));
}

fn rows_keep_the_order_in_which_they_came<S: Subject>() {
    let mut store = S::empty();
    for id in ["z", "a", "m"] {
        store.save(row(id, None));
    }
    store.save(row("a", Some("again")));
    assert_eq!(ids(&store), ["z", "a", "m"]);
}

fn everything_but_the_baseline_follows_the_last_save<S: Subject>() {
    let mut store = S::empty();
    store.save(row("docs", Some("trusted")));
    let mut moved = PersistedServer::new("docs", "renamed", RemoteKind::Sse, "https://u:p@elsewhere.example/");
    moved.tools = decode_tools(r#"[{"name":"b","inputSchema":{"z":1, "a":2}}]"#);
    store.save(moved);
    assert_eq!(
        store.rows()[0].to_json(),
        r#"{"id":"docs","name":"renamed","type":"sse","url":"https://elsewhere.example/","tools":[{"name":"b","inputSchema":{"z":1, "a":2}}],"toolFingerprints":{"tool":"trusted"}}"#
    );
}

fn a_row_that_was_handed_out_is_a_copy<S: Subject>() {
    let mut store = S::empty();
    store.save(row("docs", Some("trusted")));
    let mut rows = store.rows();
    rows[0].fingerprints = None;
    rows[0].tools = None;
    rows.clear();
    assert_eq!(store.rows()[0].to_json(), row("docs", Some("trusted")).to_json());
}

fn row(id: &str, digest: Option<&str>) -> PersistedServer {
    let mut row = PersistedServer::new(id, id, RemoteKind::StreamableHttp, "https://docs.example/mcp");
    row.tools = decode_tools(r#"[{"name":"tool"}]"#);
    row.fingerprints = digest.map(|digest| Fingerprints::new([("tool".to_owned(), digest.to_owned())]));
    row
}

fn baseline<S: Subject>(store: &S, id: &str) -> Option<String> {
    let rows = store.rows();
    let row = rows.iter().find(|row| row.id == id).unwrap();
    row.fingerprints.as_ref().map(Fingerprints::encode)
}

fn ids<S: Subject>(store: &S) -> Vec<String> {
    store.rows().into_iter().map(|row| row.id).collect()
}
