//! What the facade needs for a store over a database of the caller's: statements and what to put into them. It executes
//! them itself, because that database lives in JavaScript.

use napi_derive::napi;

use super::reply::{NativeFailure, NativeReply};
use crate::catalog::snapshot::{PersistedServer, encode_tools};
use crate::error::{Error, ErrorCode};
use crate::store::listings::{self, PersistedListing};
use crate::store::sql::{self, Stored};

/// Statements without a decision in them.
#[napi(object, object_from_js = false)]
pub struct NativeSql {
    /// Give the columns that the two tables have.
    pub columns: Vec<String>,
    pub list: String,
    pub stored: String,
    pub trusted: String,
    /// To be executed in turn.
    pub remove: Vec<String>,
    pub listings: NativeListingsSql,
}

/// The same for the table of listings, which need not be there.
#[napi(object, object_from_js = false)]
pub struct NativeListingsSql {
    /// Gives its columns.
    pub columns: String,
    pub list: String,
    pub remove: String,
}

/// A statement and its values.
#[napi(object, object_from_js = false)]
pub struct NativeWrite {
    pub sql: String,
    pub values: Vec<Option<String>>,
}

/// The statements that save a row, to be executed in turn; or why it is none.
#[napi(object, object_from_js = false)]
pub struct NativeWrites {
    pub writes: Vec<NativeWrite>,
    pub failure: Option<NativeFailure>,
}

#[napi(catch_unwind)]
pub fn native_sql() -> NativeSql {
    let owned = |statements: [&str; 2]| statements.map(str::to_owned).to_vec();
    NativeSql {
        columns: owned(sql::COLUMNS),
        list: sql::LIST.to_owned(),
        stored: sql::STORED.to_owned(),
        trusted: sql::TRUSTED.to_owned(),
        remove: owned(sql::REMOVE),
        listings: NativeListingsSql {
            columns: listings::COLUMNS.to_owned(),
            list: listings::LIST.to_owned(),
            remove: listings::REMOVE.to_owned(),
        },
    }
}

/// The statements that bring tables of these columns up to date.
#[napi(catch_unwind)]
pub fn native_sql_missing(servers: Vec<String>, trusted: Vec<String>) -> Vec<String> {
    let statements = sql::missing(&servers, &trusted);
    statements.into_iter().map(str::to_owned).collect()
}

/// A row from its six cells, as JSON text.
#[napi(catch_unwind)]
pub fn native_sql_row(cells: Vec<Option<String>>) -> NativeReply {
    let cells: Result<[_; 6], _> = cells.try_into();
    cells
        .map_err(|_| Error::new(ErrorCode::Store, "a stored row does not have six cells"))
        .and_then(sql::row)
        .map(|row| Some(row.to_json()))
        .into()
}

/// A listing from its three cells, as JSON text; nothing for what does not parse.
#[napi(catch_unwind)]
pub fn native_sql_listing(cells: Vec<Option<String>>) -> Option<String> {
    let cells: [_; 3] = cells.try_into().ok()?;
    PersistedListing::from_cells(cells).map(|listing| listing.to_json())
}

/// The statements that save a listing, to be executed in turn; or why it is none.
#[napi(catch_unwind)]
pub fn native_sql_save_listing(listing: String) -> NativeWrites {
    match PersistedListing::from_json(&listing) {
        Ok(listing) => NativeWrites {
            writes: vec![
                NativeWrite {
                    sql: listings::CREATE.to_owned(),
                    values: Vec::new(),
                },
                NativeWrite {
                    sql: listings::SAVE.to_owned(),
                    values: listing.values().map(Some).to_vec(),
                },
            ],
            failure: None,
        },
        Err(error) => NativeWrites {
            writes: Vec::new(),
            failure: Some(NativeFailure::from(&error)),
        },
    }
}

/// The statements that save a row; with what is stored of it, where something is.
#[napi(catch_unwind)]
pub fn native_sql_save(
    row: String,
    is_stored: bool,
    tools: Option<String>,
    fingerprints: Option<String>,
) -> NativeWrites {
    let stored = is_stored.then_some(Stored { tools, fingerprints });
    match PersistedServer::from_json(&row) {
        Ok(row) => NativeWrites {
            writes: sql::save(&row, stored.as_ref())
                .into_iter()
                .map(|write| NativeWrite {
                    sql: write.sql.to_owned(),
                    values: write.values,
                })
                .collect(),
            failure: None,
        },
        Err(error) => NativeWrites {
            writes: Vec::new(),
            failure: Some(NativeFailure::from(&error)),
        },
    }
}

/// The trusted definitions among what is stored, as a JSON array.
#[napi(catch_unwind)]
pub fn native_sql_trusted(tools: Option<String>, fingerprints: Option<String>) -> Option<String> {
    let trusted = sql::trusted(&Stored { tools, fingerprints });
    trusted.as_deref().map(encode_tools)
}
