//! Which tools of a listing are shown at all. Owns the choice between `allow` and `block`; what a tool may do once it is
//! shown is not decided here.

use std::collections::HashSet;

use crate::error::{Error, Result};

/// The option `tools`. A name matches the projected name or the server's own name of the tool (client specification,
/// section 6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Filter {
    #[default]
    Everything,
    Allow(HashSet<String>),
    Block(HashSet<String>),
}

impl Filter {
    /// Reads the option. An empty list counts as given: an empty `allow` keeps nothing.
    ///
    /// # Errors
    /// `invalid-option` for both lists at once.
    pub(crate) fn new(allow: Option<Vec<String>>, block: Option<Vec<String>>) -> Result<Self> {
        match (allow, block) {
            (None, None) => Ok(Self::Everything),
            (Some(allow), None) => Ok(Self::Allow(allow.into_iter().collect())),
            (None, Some(block)) => Ok(Self::Block(block.into_iter().collect())),
            (Some(_), Some(_)) => Err(Error::invalid_option(
                "tools: set either \"allow\" or \"block\", not both",
            )),
        }
    }

    pub(crate) fn keeps(&self, projected: &str, remote: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Allow(names) => names.contains(projected) || names.contains(remote),
            Self::Block(names) => !names.contains(projected) && !names.contains(remote),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn lists_match_the_projected_and_the_remote_name() {
        let names = || Some(vec!["bank__pay".to_owned(), "search.docs".to_owned()]);
        let allow = Filter::new(names(), None).unwrap();
        let block = Filter::new(None, names()).unwrap();
        for (projected, remote, listed) in [
            ("bank__pay", "pay", true),
            ("srv__search_docs_100hb2x", "search.docs", true),
            ("bank__list", "list", false),
            ("other__pay", "pay", false),
        ] {
            assert_eq!(allow.keeps(projected, remote), listed, "{projected}");
            assert_eq!(block.keeps(projected, remote), !listed, "{projected}");
            assert!(Filter::default().keeps(projected, remote));
        }
    }

    #[test]
    fn an_empty_list_is_a_list() {
        assert!(!Filter::new(Some(vec![]), None).unwrap().keeps("a__b", "b"));
        assert!(Filter::new(None, Some(vec![])).unwrap().keeps("a__b", "b"));
    }

    #[test]
    fn both_lists_at_once_are_refused() {
        let error = Filter::new(Some(vec![]), Some(vec![])).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidOption);
        assert!(error.to_string().contains("either \"allow\" or \"block\", not both"));
    }
}
