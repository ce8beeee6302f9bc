//! The listings of lazy stdio servers, on a file.

use rusqlite::{Connection, Transaction};

use super::{SqliteStore, text};
use crate::error::Result;
use crate::store::listings::{self, PersistedListing};

impl SqliteStore {
    /// All listings. What does not parse is left out.
    ///
    /// # Errors
    /// `store`: the file cannot be read.
    pub(crate) fn listings(&self) -> Result<Vec<PersistedListing>> {
        if !has_table(&self.connection).map_err(|error| self.failure(&error))? {
            return Ok(Vec::new());
        }
        let cells = self.all(listings::LIST, [], |row| {
            Ok([text(row, 0)?, text(row, 1)?, text(row, 2)?])
        })?;
        Ok(cells.into_iter().filter_map(PersistedListing::from_cells).collect())
    }

    /// Inserts a listing, or replaces the one of its id.
    ///
    /// # Errors
    /// `store`: the file cannot be written, or stays locked.
    pub(crate) fn save_listing(&mut self, listing: &PersistedListing) -> Result<()> {
        self.write(|transaction| {
            transaction.execute(listings::CREATE, [])?;
            transaction.execute(listings::SAVE, listing.values())?;
            Ok(())
        })
    }
}

/// Removes the listing of an id, where there are any.
pub(super) fn remove(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    if has_table(transaction)? {
        transaction.execute(listings::REMOVE, [id])?;
    }
    Ok(())
}

fn has_table(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare(listings::COLUMNS)?.exists([])
}
