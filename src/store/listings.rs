//! What lazy stdio servers listed last, so that they can be shown without being started. A cache in a table of its own: a
//! stdio server has no row, is never woken, and nothing here is a baseline. The table is made by the first listing that is
//! saved.

use crate::catalog::snapshot::{PersistedTool, decode_tools, encode_tools};
use crate::error::{Error, ErrorCode, Result};
use crate::json::{self, Object};

/// The listing of one server.
#[derive(Clone, Debug)]
pub(crate) struct PersistedListing {
    /// The projected name of the server.
    pub(crate) id: String,
    /// A digest of how it is started: another command is another server, whatever it is called.
    pub(crate) launch: String,
    pub(crate) tools: Vec<PersistedTool>,
}

pub(crate) const CREATE: &str = "CREATE TABLE IF NOT EXISTS mcp_local_listings \
     (id TEXT PRIMARY KEY NOT NULL, launch TEXT NOT NULL, tools TEXT NOT NULL)";

/// Gives no row where there is no table.
pub(crate) const COLUMNS: &str = "PRAGMA table_info(mcp_local_listings)";

/// All listings, as the three fields. Cast, because a cell of another type is no text.
pub(crate) const LIST: &str = "SELECT CAST(id AS TEXT) AS id, CAST(launch AS TEXT) AS launch, CAST(tools AS TEXT) AS tools \
     FROM mcp_local_listings ORDER BY rowid";

pub(crate) const SAVE: &str = "INSERT INTO mcp_local_listings (id, launch, tools) VALUES (?, ?, ?) \
     ON CONFLICT (id) DO UPDATE SET launch = excluded.launch, tools = excluded.tools";

pub(crate) const REMOVE: &str = "DELETE FROM mcp_local_listings WHERE id = ?";

impl PersistedListing {
    /// # Errors
    /// `store`, for what is no listing.
    pub(crate) fn from_json(text: &str) -> Result<Self> {
        Self::read(text).ok_or_else(|| {
            let message = "a stored listing is an object with an id, a launch and tools";
            Error::new(ErrorCode::Store, message)
        })
    }

    fn read(text: &str) -> Option<Self> {
        let object = Object::parse(text)?;
        Some(Self {
            id: object.string("id")?.into_owned(),
            launch: object.string("launch")?.into_owned(),
            tools: decode_tools(object.present("tools")?.get())?,
        })
    }

    /// The three cells of [`LIST`]; nothing for what does not parse, which costs one start.
    pub(crate) fn from_cells(cells: [Option<String>; 3]) -> Option<Self> {
        let [id, launch, tools] = cells;
        Some(Self {
            id: id?,
            launch: launch?,
            tools: decode_tools(&tools?)?,
        })
    }

    /// The values of [`SAVE`].
    pub(crate) fn values(&self) -> [String; 3] {
        [self.id.clone(), self.launch.clone(), encode_tools(&self.tools)]
    }

    pub(crate) fn to_json(&self) -> String {
        format!(
            "{{\"id\":{},\"launch\":{},\"tools\":{}}}",
            json::quote(&self.id),
            json::quote(&self.launch),
            encode_tools(&self.tools)
        )
    }
}

/// Reads what a store gave. What is no listing is left out: it is a cache.
pub(crate) fn parse_all(text: &str) -> Vec<PersistedListing> {
    let entries = json::array(text).unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|entry| PersistedListing::read(entry.get()))
        .collect()
}

/// As a JSON array.
pub(crate) fn encode_all(listings: &[PersistedListing]) -> String {
    let listings: Vec<_> = listings.iter().map(PersistedListing::to_json).collect();
    format!("[{}]", listings.join(","))
}

/// Listings that live as long as the process.
#[derive(Debug, Default)]
pub(crate) struct MemoryListings(Vec<PersistedListing>);

impl MemoryListings {
    pub(crate) fn all(&self) -> &[PersistedListing] {
        &self.0
    }

    /// Inserts a listing, or replaces the one of its id in its place.
    pub(crate) fn save(&mut self, listing: PersistedListing) {
        match self.0.iter_mut().find(|stored| stored.id == listing.id) {
            Some(stored) => *stored = listing,
            None => self.0.push(listing),
        }
    }

    pub(crate) fn remove(&mut self, id: &str) {
        self.0.retain(|stored| stored.id != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_listing_is_left_out() {
        let text = r#"[{"id":"a","launch":"x","tools":[{"name":"t","inputSchema":{"b":1,"a":2}}],"more":1},
            {"id":"b","launch":"x"},{"id":"c","launch":"x","tools":[{}]},{"launch":"x","tools":[]},7]"#;
        let kept = r#"[{"id":"a","launch":"x","tools":[{"name":"t","inputSchema":{"b":1,"a":2}}]}]"#;
        assert_eq!(encode_all(&parse_all(text)), kept);
        assert!(parse_all("null").is_empty());
        assert_eq!(PersistedListing::from_json("{}").unwrap_err().code(), ErrorCode::Store);
    }

    #[test]
    fn cells_that_do_not_parse_are_none() {
        let cells = |tools: Option<&str>| [Some("a".to_owned()), Some("x".to_owned()), tools.map(str::to_owned)];
        assert!(PersistedListing::from_cells(cells(Some("[]"))).is_some());
        for tools in [None, Some("no JSON"), Some("{}"), Some("[1]")] {
            assert!(PersistedListing::from_cells(cells(tools)).is_none());
        }
    }
}
