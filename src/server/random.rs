//! What nobody may guess, out of the random source of the system.

use crate::error::{Error, ErrorCode, Result};
use crate::limits;

/// # Errors
/// When the system has no randomness to give.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| {
        let message = format!("the random source of the system failed: {error}");
        Error::new(ErrorCode::Unavailable, message)
    })
}

/// The reference that an error is logged under: letters and digits of base32.
pub(crate) fn reference() -> Result<String> {
    text(limits::REFERENCE_LENGTH)
}

/// 128 bits and more.
pub(crate) fn id() -> Result<String> {
    text(limits::RANDOM_ID_LENGTH)
}

fn text(length: usize) -> Result<String> {
    let mut bytes = vec![0; length];
    fill(&mut bytes)?;
    Ok(bytes
        .into_iter()
        .filter_map(|byte| ALPHABET.get(usize::from(byte & 0x1f)).copied().map(char::from))
        .collect())
}

/// Base32 (RFC 4648, section 6): each letter stands for five bits.
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_alike() {
        let reference = reference().unwrap();
        assert_eq!(reference.len(), 12);
        assert!(reference.bytes().all(|byte| ALPHABET.contains(&byte)));
        assert_ne!(id().unwrap(), id().unwrap());
    }
}
