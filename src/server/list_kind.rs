//! The lists that there are.

use crate::host::Change;
use crate::host::server::JobKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl ListKind {
    pub(super) const fn job(self) -> JobKind {
        match self {
            Self::Tools => JobKind::ListTools,
            Self::Resources => JobKind::ListResources,
            Self::Templates => JobKind::ListTemplates,
            Self::Prompts => JobKind::ListPrompts,
        }
    }

    /// The member of the result.
    pub(super) const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// What tells its cursors from those of other lists.
    pub(super) const fn mark(self) -> u8 {
        match self {
            Self::Tools => 1,
            Self::Resources => 2,
            Self::Templates => 3,
            Self::Prompts => 4,
        }
    }

    pub(super) const fn is_of(self, change: Change) -> bool {
        matches!(
            (self, change),
            (Self::Tools, Change::Tools)
                | (Self::Resources | Self::Templates, Change::Resources)
                | (Self::Prompts, Change::Prompts)
        )
    }
}
