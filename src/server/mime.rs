//! Which MIME type a file name's extension stands for. The data is that of `mime_guess`; the facade takes all of it once.

/// Every known extension in lower case with its first type, in order of the extension.
pub(crate) fn types() -> impl Iterator<Item = (&'static str, &'static str)> {
    mime_guess::get_mime_extensions_str("*/*")
        .unwrap_or_default()
        .iter()
        .filter_map(|extension| Some((*extension, mime_guess::from_ext(extension).first_raw()?)))
}

/// What is said of a file of which nothing is known.
pub(crate) const FALLBACK: &str = "application/octet-stream";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    #[test]
    fn everyday_extensions_have_their_types() {
        let types: BTreeMap<_, _> = super::types().collect();
        for (extension, expected) in [
            ("md", "text/markdown"),
            ("json", "application/json"),
            ("png", "image/png"),
            ("svg", "image/svg+xml"),
            ("pdf", "application/pdf"),
            ("html", "text/html"),
        ] {
            assert_eq!(types.get(extension), Some(&expected), "{extension}");
        }
        assert!(types.len() > 1_000, "{} extensions", types.len());
        assert!(
            types
                .keys()
                .all(|extension| *extension == extension.to_ascii_lowercase())
        );
    }
}
