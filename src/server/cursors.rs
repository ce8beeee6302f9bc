//! Cursors of lists: where the next page begins, sealed, so that none but those that were issued are read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac as _;

use crate::protocol::request_state::Secret;

pub(crate) struct Cursors {
    secret: Secret,
}

impl Cursors {
    pub(crate) fn new(secret: Secret) -> Self {
        Self { secret }
    }

    /// `mark` tells a list from others.
    pub(crate) fn issue(&self, mark: u8, offset: usize) -> String {
        let mut bytes = place(mark, offset);
        let seal = self.seal(&bytes);
        bytes.extend_from_slice(&seal);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    pub(crate) fn read(&self, mark: u8, cursor: &str) -> Option<usize> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (offset, _) = bytes.get(1..)?.split_first_chunk()?;
        let offset = usize::try_from(u64::from_be_bytes(*offset)).ok()?;
        (self.issue(mark, offset) == cursor).then_some(offset)
    }

    fn seal(&self, bytes: &[u8]) -> Vec<u8> {
        let mut seal = self.secret.over(CONTEXT, bytes).finalize().into_bytes().to_vec();
        seal.truncate(SEAL_BYTES);
        seal
    }
}

fn place(mark: u8, offset: usize) -> Vec<u8> {
    let mut bytes = vec![mark];
    bytes.extend_from_slice(&u64::try_from(offset).unwrap_or(u64::MAX).to_be_bytes());
    bytes
}

/// Keeps a cursor apart from whatever else is sealed with the same secret.
const CONTEXT: &[u8] = b"espalier cursor 1\0";
const SEAL_BYTES: usize = 12;
