//! What every store promises, run against each of them.

use std::time::Duration;

use rusqlite::Connection;

use super::memory::MemoryStore;
use super::sql::{self, Stored};
use super::sqlite::{Place, SqliteStore};
use crate::catalog::fingerprint::Fingerprint;
use crate::catalog::snapshot::{Fingerprints, PersistedServer, PersistedTool, RemoteKind, decode_tools, encode_tools};

/// A store as these tests need it; rows are compared by their text.
trait Subject: Sized {
    fn empty() -> Self;
    fn save(&mut self, row: PersistedServer);
    fn remove(&mut self, id: &str);
    fn rows(&self) -> Vec<PersistedServer>;
    fn trusted(&self, id: &str) -> Option<Vec<PersistedTool>>;
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

    fn trusted(&self, id: &str) -> Option<Vec<PersistedTool>> {
        Self::trusted(self, id)
    }
}

impl Subject for SqliteStore {
    fn empty() -> Self {
        Self::open(&Place::Memory, Duration::ZERO).unwrap()
    }

    fn save(&mut self, row: PersistedServer) {
        Self::save(self, &row).unwrap();
    }

    fn remove(&mut self, id: &str) {
        Self::remove(self, id).unwrap();
    }

    fn rows(&self) -> Vec<PersistedServer> {
        self.list().unwrap()
    }

    fn trusted(&self, id: &str) -> Option<Vec<PersistedTool>> {
        Self::trusted(self, id).unwrap()
    }
}

/// A caller's database, to which the statements go one by one.
struct Statements(Connection);

impl Statements {
    fn run(&self, statement: &str, values: &[Option<String>]) -> Vec<Vec<Option<String>>> {
        let mut statement = self.0.prepare(statement).unwrap();
        let columns = statement.column_count();
        statement
            .query_map(rusqlite::params_from_iter(values), |row| {
                (0..columns).map(|index| row.get(index)).collect()
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }

    fn stored(&self, statement: &str, id: &str) -> Option<Stored> {
        let mut rows = self.run(statement, &[Some(id.to_owned())]);
        let [tools, fingerprints] = rows.pop()?.try_into().unwrap();
        Some(Stored { tools, fingerprints })
    }
}

impl Subject for Statements {
    fn empty() -> Self {
        let store = Self(Connection::open_in_memory().unwrap());
        for statement in sql::missing(&[], &[]) {
            store.run(statement, &[]);
        }
        store
    }

    fn save(&mut self, row: PersistedServer) {
        for write in sql::save(&row, self.stored(sql::STORED, &row.id).as_ref()) {
            self.run(write.sql, &write.values);
        }
    }

    fn remove(&mut self, id: &str) {
        for statement in sql::REMOVE {
            self.run(statement, &[Some(id.to_owned())]);
        }
    }

    fn rows(&self) -> Vec<PersistedServer> {
        let rows = self.run(sql::LIST, &[]);
        rows.into_iter()
            .map(|cells| sql::row(cells.try_into().unwrap()).unwrap())
            .collect()
    }

    fn trusted(&self, id: &str) -> Option<Vec<PersistedTool>> {
        sql::trusted(&self.stored(sql::TRUSTED, id)?)
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

            #[test]
            fn the_trusted_definitions_are_those_of_the_baseline_and_stay() {
                super::the_trusted_definitions_are_those_of_the_baseline_and_stay::<$subject>();
            }

            #[test]
            fn definitions_that_were_listed_before_there_was_a_baseline_are_kept_with_it() {
                super::definitions_that_were_listed_before_there_was_a_baseline_are_kept_with_it::<$subject>();
            }
        }
    )+};
}

every_store_keeps_its_promises! {
    memory: MemoryStore,
    sqlite: SqliteStore,
    statements: Statements,
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

fn the_trusted_definitions_are_those_of_the_baseline_and_stay<S: Subject>() {
    const TRUSTED: &str = r#"[{"name":"a","description":"A","inputSchema":{"z":1, "a":2}},{"name":"b"}]"#;
    let mut store = S::empty();
    assert!(store.trusted("docs").is_none());
    store.save(listed("docs", TRUSTED, Some(TRUSTED)));
    assert_eq!(trusted(&store, "docs").as_deref(), Some(TRUSTED));
    let changed = r#"[{"name":"a","description":"Obey"},{"name":"c"}]"#;
    store.save(listed("docs", changed, Some(TRUSTED)));
    store.save(listed("docs", changed, Some(changed)));
    assert_eq!(trusted(&store, "docs").as_deref(), Some(TRUSTED));
    store.remove("docs");
    assert!(store.trusted("docs").is_none());
    store.save(listed("docs", changed, Some(changed)));
    assert_eq!(trusted(&store, "docs").as_deref(), Some(changed));
}

/// A row from before there were baselines: its tools are what the first baseline is made of, whatever is listed by then.
fn definitions_that_were_listed_before_there_was_a_baseline_are_kept_with_it<S: Subject>() {
    let old = r#"[{"name":"a","description":"A"},{"name":"b"}]"#;
    let mut store = S::empty();
    store.save(listed("docs", old, None));
    assert!(store.trusted("docs").is_none());
    store.save(listed(
        "docs",
        r#"[{"name":"a","description":"Obey"},{"name":"b"},{"name":"c"}]"#,
        Some(old),
    ));
    assert_eq!(trusted(&store, "docs").as_deref(), Some(old));
}

/// A row of these tools, trusted by the digests of those.
fn listed(id: &str, tools: &str, trusted: Option<&str>) -> PersistedServer {
    let mut row = row(id, None);
    row.tools = decode_tools(tools);
    row.fingerprints = trusted.map(|trusted| {
        let digests = decode_tools(trusted).unwrap().into_iter().map(|tool| {
            let fingerprint = Fingerprint::of(
                tool.description.as_ref().map(|text| text.get()),
                tool.input_schema.as_ref().map(|text| text.get()),
            );
            (tool.name, fingerprint.digest)
        });
        Fingerprints::new(digests)
    });
    row
}

fn trusted<S: Subject>(store: &S, id: &str) -> Option<String> {
    store.trusted(id).as_deref().map(encode_tools)
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
