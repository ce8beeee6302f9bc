//! The revisions of the Model Context Protocol and the era each belongs to. A revision is a date, compared for equality.

/// How a revision opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// A handshake (`initialize`) opens a session.
    Session,
    /// Each request carries its own metadata; there is no handshake.
    Stateless,
}

impl Era {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Stateless => "stateless",
        }
    }
}

/// Ordered by age, so that a revision has what one before it brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    /// Every revision, newest first.
    pub(crate) const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    pub(crate) const NEWEST: Self = Self::V2026_07_28;

    /// What `initialize` offers: the newest revision that has a handshake.
    pub(crate) const NEWEST_SESSION: Self = Self::V2025_11_25;

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == text)
    }

    pub(crate) const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Stateless,
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => Era::Session,
        }
    }

    /// Whether a client may come back to the stream that answers a request.
    pub(crate) fn has_resumable_answers(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether progress comes with a message.
    pub(crate) fn has_progress_messages(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether a message may be an array of messages: this one revision demands that receivers take them.
    pub(crate) const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_revisions_agree_and_the_offer_is_the_newest_with_a_handshake() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.name()), Some(revision));
        }
        assert!(Revision::ALL.is_sorted_by(|a, b| a.name() > b.name()));
        assert_eq!(
            Revision::ALL.into_iter().find(|r| r.era() == Era::Session),
            Some(Revision::NEWEST_SESSION)
        );
        assert_eq!(Revision::parse("2025-11-26"), None);
    }
}
