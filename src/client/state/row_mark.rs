//! What is known of what a store holds.

use sha2::{Digest as _, Sha256};

use crate::catalog::snapshot::{Fingerprints, PersistedServer};

/// What tells one row from another: all that it says, with the digest of each tool in place of its text. A store may have
/// spelled the texts anew.
pub(in crate::client) type RowMark = [u8; 32];

/// The mark of a row with these tools: names and digests.
pub(in crate::client) fn mark<'a>(
    row: &PersistedServer,
    tools: impl IntoIterator<Item = (&'a str, &'a str)>,
    baseline: Option<&Fingerprints>,
) -> RowMark {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    for text in [row.id.as_str(), row.name.as_str(), row.kind.name(), row.url()] {
        part(text);
    }
    // Nothing for no baseline, which is another thing than an empty one.
    part(&baseline.map_or_else(String::new, |baseline| baseline.iter().count().to_string()));
    for (name, digest) in baseline.into_iter().flat_map(Fingerprints::iter) {
        part(name);
        part(digest);
    }
    for (name, digest) in tools {
        part(name);
        part(digest);
    }
    hash.finalize().into()
}
