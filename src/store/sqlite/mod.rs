//! The store on a file, with SQLite compiled in. Blocks, and so belongs on a thread that may (`worker`). Each write is one
//! transaction that takes the lock at its beginning, so that several processes can share a file. A file that is damaged, or
//! none of ours, is left as it is.

mod listings;
pub(crate) mod worker;

use std::fmt;
use std::path::{self, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode as Sqlite, MAIN_DB, OpenFlags, Params, Row, Transaction, TransactionBehavior};

use super::sql::{self, Stored};
use crate::catalog::snapshot::{PersistedServer, PersistedTool};
use crate::error::{Error, ErrorCode, Result};
use crate::json;
use crate::limits;

/// Where a store keeps its rows.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Nowhere: the rows go with the store.
    Memory,
    File {
        /// As the caller wrote it.
        shown: String,
        /// Absolute, whatever the working directory becomes. So SQLite takes it for nothing else than a path.
        path: PathBuf,
    },
}

impl Place {
    /// # Errors
    /// `invalid-option` for what is no path.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text == ":memory:" {
            return Ok(Self::Memory);
        }
        let no_path = || {
            let shown = json::quote_short(text);
            Error::invalid_option(format!(
                "the path of a connection store must be one of a file; got {shown}"
            ))
        };
        let path = path::absolute(text).map_err(|_| no_path())?;
        if text.contains('\0') {
            return Err(no_path());
        }
        Ok(Self::File {
            shown: text.to_owned(),
            path,
        })
    }
}

/// One connection to one database.
#[derive(Debug)]
pub(crate) struct SqliteStore {
    connection: Connection,
    place: Place,
    patience: Duration,
}

impl SqliteStore {
    /// Opens the database, makes it when there is none, and brings older tables up to date. `patience` is how long this and
    /// everything after it waits for another user's lock.
    ///
    /// # Errors
    /// `store`, naming the file: it cannot be opened, is damaged, is no database, or stays locked.
    pub(crate) fn open(place: &Place, patience: Duration) -> Result<Self> {
        // No URIs: a path is a path, whatever it looks like. No mutex: each connection has one user.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
        let failed = |error| failure(place, patience, &error);
        let connection = match place {
            Place::Memory => Connection::open_in_memory_with_flags(flags),
            Place::File { path, .. } => Connection::open_with_flags(path, flags),
        }
        .map_err(failed)?;
        let mut store = Self {
            connection,
            place: place.clone(),
            patience,
        };
        match store.set_up() {
            Ok(()) => Ok(store),
            Err(error) => {
                // What lies in a log beside a damaged file stays there.
                drop(
                    store
                        .connection
                        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
                );
                Err(failed(error))
            }
        }
    }

    fn set_up(&mut self) -> rusqlite::Result<()> {
        // A file may have been made by anybody: nothing in its schema runs.
        for (setting, value) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        ] {
            self.connection.set_db_config(setting, value)?;
        }
        self.connection.busy_timeout(self.patience)?;
        let damage: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if damage != "ok" {
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
                Some(damage),
            ));
        }
        let may_write = !self.connection.is_readonly(MAIN_DB)?;
        if may_write && self.journal_mode()? != "wal" {
            self.keep_a_log()?;
        }
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        // Looked at before the lock is taken: a file that may only be read serves its rows.
        if missing(&self.connection)?.is_empty() {
            return Ok(());
        }
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Once more: another process may have been faster.
        for statement in missing(&transaction)? {
            transaction.execute(statement, [])?;
        }
        transaction.commit()
    }

    fn journal_mode(&self) -> rusqlite::Result<String> {
        self.connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))
    }

    /// Readers and a writer at the same time (WAL). The mode stays with the file. SQLite does not wait for the lock that
    /// this takes, so that we do.
    fn keep_a_log(&self) -> rusqlite::Result<()> {
        let mut rounds = self.patience.as_millis() / limits::STORE_LOCK_PAUSE.as_millis().max(1);
        loop {
            // Where the system cannot do it the answer is the mode that stays, which is as safe.
            let tried = self
                .connection
                .query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
            match tried {
                Err(error) if is_locked(&error) && rounds > 0 => {
                    rounds -= 1;
                    thread::sleep(limits::STORE_LOCK_PAUSE);
                }
                tried => return tried.map(drop),
            }
        }
    }

    /// All rows in the order in which they came.
    ///
    /// # Errors
    /// `store`: the file cannot be read, or a row is none.
    pub(crate) fn list(&self) -> Result<Vec<PersistedServer>> {
        let cells = |row: &Row<'_>| {
            Ok([
                text(row, 0)?,
                text(row, 1)?,
                text(row, 2)?,
                text(row, 3)?,
                text(row, 4)?,
                text(row, 5)?,
            ])
        };
        let rows = self.all(sql::LIST, [], cells)?;
        rows.into_iter().map(sql::row).collect()
    }

    /// Inserts a row, or replaces the one of its id, all but its baseline.
    ///
    /// # Errors
    /// `store`: the file cannot be written, or stays locked.
    pub(crate) fn save(&mut self, row: &PersistedServer) -> Result<()> {
        self.write(|transaction| {
            let stored = first(transaction, sql::STORED, [&row.id], stored)?;
            for write in sql::save(row, stored.as_ref()) {
                transaction.execute(write.sql, rusqlite::params_from_iter(write.values))?;
            }
            Ok(())
        })
    }

    /// Removes a row with its baseline; an unknown id changes nothing.
    ///
    /// # Errors
    /// `store`, as [`Self::save`].
    pub(crate) fn remove(&mut self, id: &str) -> Result<()> {
        self.write(|transaction| {
            for statement in sql::REMOVE {
                transaction.execute(statement, [id])?;
            }
            listings::remove(transaction, id)
        })
    }

    /// The definitions behind the baseline of a row; nothing where none were recorded.
    ///
    /// # Errors
    /// `store`: the file cannot be read.
    pub(crate) fn trusted(&self, id: &str) -> Result<Option<Vec<PersistedTool>>> {
        let stored = first(&self.connection, sql::TRUSTED, [id], stored).map_err(|error| self.failure(&error))?;
        Ok(stored.as_ref().and_then(sql::trusted))
    }

    fn write(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<()> {
        let written = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                work(&transaction)?;
                transaction.commit()
            });
        written.map_err(|error| self.failure(&error))
    }

    fn all<T>(
        &self,
        statement: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.connection
            .prepare(statement)
            .and_then(|mut statement| statement.query_map(values, read)?.collect())
            .map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &rusqlite::Error) -> Error {
        failure(&self.place, self.patience, error)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("in memory"),
            Self::File { shown, .. } => f.write_str(shown),
        }
    }
}

fn missing(connection: &Connection) -> rusqlite::Result<Vec<&'static str>> {
    let columns = |statement: &str| -> rusqlite::Result<Vec<String>> {
        connection
            .prepare(statement)?
            .query_map([], |row| row.get("name"))?
            .collect()
    };
    let [servers, trusted] = sql::COLUMNS;
    Ok(sql::missing(&columns(servers)?, &columns(trusted)?))
}

fn first<T>(
    connection: &Connection,
    statement: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    let mut statement = connection.prepare(statement)?;
    let mut rows = statement.query(values)?;
    rows.next()?.map(read).transpose()
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        tools: text(row, 0)?,
        fingerprints: text(row, 1)?,
    })
}

/// A cell as text. Bytes that are no text make one that does not parse.
fn text(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<String>> {
    let bytes = row.get_ref(index)?.as_bytes_or_null()?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(Sqlite::DatabaseBusy | Sqlite::DatabaseLocked)
    )
}

fn failure(place: &Place, patience: Duration, error: &rusqlite::Error) -> Error {
    let what = match error.sqlite_error_code() {
        Some(Sqlite::NotADatabase) => "is not an SQLite database; the file was left as it is".to_owned(),
        Some(Sqlite::DatabaseCorrupt) => format!("is damaged; the file was left as it is ({error})"),
        Some(Sqlite::DatabaseBusy | Sqlite::DatabaseLocked) => {
            let waited = patience.as_millis();
            format!("is locked by another user of it, and stayed so for {waited} ms")
        }
        Some(Sqlite::ReadOnly) => "may not be written".to_owned(),
        Some(Sqlite::CannotOpen | Sqlite::PermissionDenied) => format!("cannot be opened ({error})"),
        Some(Sqlite::DiskFull) => "cannot be written: the disk is full".to_owned(),
        _ => format!("failed ({error})"),
    };
    Error::new(ErrorCode::Store, format!("the connection store {place} {what}"))
}

#[cfg(test)]
mod tests;
