//! A text without comments has everything in its old place, and nothing gone but what JSON does not have.

use serde_json::value::RawValue;

/// `without_comments` is what the core does, or a broken version of it.
pub(crate) fn run(data: &[u8], without_comments: impl Fn(&str) -> String) {
    let text = String::from_utf8_lossy(data);
    let plain = without_comments(&text);
    assert_eq!(plain.len(), text.len(), "{text:?} became {plain:?}");
    for (before, after) in text.bytes().zip(plain.bytes()) {
        assert!(before == after || after == b' ', "{text:?} became {plain:?}");
        assert_eq!(before == b'\n', after == b'\n', "{text:?} became {plain:?}");
    }
    assert_eq!(without_comments(&plain), plain, "{text:?}");
    if serde_json::from_str::<&RawValue>(&text).is_ok() {
        assert_eq!(plain, text, "it was JSON before");
    }
}
