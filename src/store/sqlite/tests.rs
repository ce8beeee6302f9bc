use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::catalog::snapshot::{Fingerprints, RemoteKind, encode_tools};

/// A file of its own, removed with its companions.
struct TestFile(PathBuf);

impl TestFile {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("espalier-store-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder.join("rows.sqlite"))
    }

    fn place(&self) -> Place {
        Place::parse(self.0.to_str().unwrap()).unwrap()
    }

    fn open(&self) -> Result<SqliteStore> {
        SqliteStore::open(&self.place(), Duration::from_millis(50))
    }

    fn run(&self, statements: &str) {
        Connection::open(&self.0).unwrap().execute_batch(statements).unwrap();
    }

    fn folder(&self) -> &Path {
        self.0.parent().unwrap()
    }

    /// Every file beside the database, with its bytes.
    fn bytes(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(self.folder())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }

    fn refusal(&self) -> String {
        let error = self.open().unwrap_err();
        assert_eq!(error.code(), ErrorCode::Store);
        assert!(error.message().contains(self.0.to_str().unwrap()), "{error}");
        error.message().to_owned()
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(self.folder()));
    }
}

fn row(id: &str, digest: &str) -> PersistedServer {
    let mut row = PersistedServer::new(id, id, RemoteKind::Sse, "https://docs.example/mcp");
    row.tools = decode(r#"[{"name":"t"}]"#);
    row.fingerprints = Some(Fingerprints::new([("t".to_owned(), digest.to_owned())]));
    row
}

fn decode(tools: &str) -> Option<Vec<PersistedTool>> {
    crate::catalog::snapshot::decode_tools(tools)
}

fn texts(store: &SqliteStore) -> Vec<String> {
    store.list().unwrap().iter().map(PersistedServer::to_json).collect()
}

#[test]
fn rows_outlive_the_store_in_a_file_with_a_log() {
    let file = TestFile::new();
    let mut store = file.open().unwrap();
    store.save(&row("docs", "1")).unwrap();
    assert_eq!(store.journal_mode().unwrap(), "wal");
    drop(store);
    let mut again = file.open().unwrap();
    again.save(&row("docs", "2")).unwrap();
    assert_eq!(texts(&again), [row("docs", "1").to_json()]);
}

#[test]
fn older_tables_gain_what_they_lack_and_keep_their_rows() {
    let bare = "CREATE TABLE mcp_servers (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, \
                url TEXT NOT NULL); INSERT INTO mcp_servers VALUES ('docs', 'docs', 'sse', 'https://u:p@docs.example/mcp');";
    let with_tools = "CREATE TABLE mcp_servers (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, \
                url TEXT NOT NULL, tools TEXT); \
                INSERT INTO mcp_servers VALUES ('docs', 'docs', 'sse', 'https://docs.example/mcp', '[{\"name\":\"t\"}]');";
    for (made, tools) in [(bare, None), (with_tools, Some(r#"[{"name":"t"}]"#))] {
        let file = TestFile::new();
        file.run(made);
        let mut store = file.open().unwrap();
        let rows = store.list().unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].url(), "https://docs.example/mcp");
        assert_eq!(rows[0].tools.as_deref().map(encode_tools).as_deref(), tools);
        assert!(rows[0].fingerprints.is_none());
        store.save(&row("docs", "1")).unwrap();
        assert_eq!(texts(&store), [row("docs", "1").to_json()]);
        drop(store);
        assert_eq!(texts(&file.open().unwrap()), [row("docs", "1").to_json()]);
    }
}

#[test]
fn cells_that_do_not_parse_are_dropped_and_only_such_a_baseline_is_replaced() {
    let cells = [
        "'x'",
        "'[1]'",
        "''",
        "x'00ff'",
        "5",
        "'{\"t\":5}'",
        "x'7b2274223a223122'",
    ];
    for cell in cells {
        let file = TestFile::new();
        drop(file.open().unwrap());
        file.run(&format!(
            "INSERT INTO mcp_servers VALUES ('docs', 'docs', 'sse', 'https://docs.example/mcp', {cell}, {cell})"
        ));
        let mut store = file.open().unwrap();
        let rows = store.list().unwrap();
        assert!(rows[0].tools.is_none() && rows[0].fingerprints.is_none(), "{cell}");
        if cell.contains("ff") {
            continue;
        }
        store.save(&row("docs", "first")).unwrap();
        store.save(&row("docs", "second")).unwrap();
        assert_eq!(texts(&store), [row("docs", "first").to_json()], "{cell}");
    }
}

#[test]
fn a_row_of_another_type_is_named() {
    let file = TestFile::new();
    file.run(
        "CREATE TABLE mcp_servers (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, url TEXT NOT NULL); \
         INSERT INTO mcp_servers VALUES ('docs', 'docs', 'stdio', 'u')",
    );
    let error = file.open().unwrap().list().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Store);
    assert!(
        error.message().contains("\"docs\"") && error.message().contains("stdio"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_no_database_stays_as_it_is() {
    let text = "this is somebody's diary\n".repeat(300);
    let header_alone = b"SQLite format 3\0".to_vec();
    for bytes in [text.into_bytes(), header_alone, b"short".to_vec()] {
        let file = TestFile::new();
        fs::write(&file.0, &bytes).unwrap();
        assert!(file.refusal().contains("is not an SQLite database"));
        assert_eq!(file.bytes(), [(file.0.clone(), bytes)]);
    }
}

#[test]
fn a_damaged_file_stays_as_it_is() {
    let file = TestFile::new();
    let mut store = file.open().unwrap();
    for number in 0..200 {
        let mut row = row(&format!("server-{number}"), "1");
        row.tools = decode(&format!(r#"[{{"name":"t","description":"{}"}}]"#, "d".repeat(500)));
        store.save(&row).unwrap();
    }
    drop(store);
    let whole = fs::read(&file.0).unwrap();
    assert!(whole.len() > 100_000);
    // A page in the middle that is none; a file that ends in the middle.
    let mut scribbled = whole.clone();
    scribbled[40_960..45_056].fill(0xa5);
    for bytes in [scribbled, whole[..whole.len() / 2].to_vec()] {
        fs::write(&file.0, &bytes).unwrap();
        let message = file.refusal();
        assert!(
            message.contains("is damaged") || message.contains("is not an SQLite database"),
            "{message}"
        );
        assert_eq!(fs::read(&file.0).unwrap(), bytes);
    }
}

#[test]
fn what_cannot_be_opened_is_named() {
    let file = TestFile::new();
    fs::create_dir(&file.0).unwrap();
    assert!(file.refusal().contains("cannot be opened"));
    let nowhere = Place::parse("/no/such/folder/rows.sqlite").unwrap();
    let error = SqliteStore::open(&nowhere, Duration::ZERO).unwrap_err();
    assert!(error.message().contains("/no/such/folder/rows.sqlite"), "{error}");
}

#[test]
fn a_path_is_a_path_whatever_it_looks_like() {
    for text in ["", "a\0b"] {
        assert_eq!(Place::parse(text).unwrap_err().code(), ErrorCode::InvalidOption);
    }
    let file = TestFile::new();
    let odd = file.folder().join("file:x?mode=memory");
    let place = Place::parse(odd.to_str().unwrap()).unwrap();
    drop(SqliteStore::open(&place, Duration::ZERO).unwrap());
    assert!(odd.is_file());
}

#[test]
fn a_lock_is_waited_for_and_then_told() {
    let file = TestFile::new();
    let mut store = file.open().unwrap();
    let holder = Connection::open(&file.0).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.save(&row("docs", "1")).unwrap_err();
    assert!(error.message().contains("is locked"), "{error}");
    // Readers go on meanwhile, and so does whoever opens the file.
    assert!(store.list().unwrap().is_empty());
    assert!(file.open().unwrap().list().unwrap().is_empty());
    holder.execute_batch("COMMIT").unwrap();
    store.save(&row("docs", "1")).unwrap();
}

#[test]
fn of_many_writers_the_first_baseline_stays() {
    const WRITERS: usize = 6;
    let file = TestFile::new();
    let start = Barrier::new(WRITERS);
    let place = file.place();
    let seen: Vec<String> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (start, place) = (&start, &place);
                scope.spawn(move || {
                    start.wait();
                    let mut store = SqliteStore::open(place, Duration::from_secs(20)).unwrap();
                    let mut seen = Vec::new();
                    for round in 0..20 {
                        store.save(&row("docs", &format!("{writer}-{round}"))).unwrap();
                        seen.extend(texts(&store));
                    }
                    seen
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(seen.len(), WRITERS * 20);
    assert!(seen.iter().all(|text| *text == seen[0]), "{seen:?}");
}

#[test]
fn nothing_in_the_schema_of_a_strange_file_runs() {
    let file = TestFile::new();
    drop(file.open().unwrap());
    file.run(
        "CREATE TRIGGER evil AFTER UPDATE ON mcp_servers BEGIN \
         UPDATE mcp_servers SET tool_fingerprints = '{}' WHERE id = new.id; END",
    );
    let mut store = file.open().unwrap();
    store.save(&row("docs", "1")).unwrap();
    store.save(&row("docs", "2")).unwrap();
    assert_eq!(texts(&store), [row("docs", "1").to_json()]);
}
