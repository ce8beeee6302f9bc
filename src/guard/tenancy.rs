//! Which runtime a request may reach (seed, "Multi-tenant routing"; server specification, section 7): one table, and the
//! only place where that is decided. Whatever it does not allow is refused in one and the same way, and nothing falls back
//! to another tenant's runtime, nor in multi-tenant mode to the server's own. It is asked about every message but `ping`.

use crate::error::{Error, Result};

/// What is known of a request before the sessions are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// A transport names tenants, or was told to.
    pub(crate) is_multi_tenant: bool,
    /// There is a `resolveRuntime`.
    pub(crate) has_hook: bool,
    pub(crate) allows_untenanted_sessions: bool,
    /// The identity that the connection was opened with. A function that yields a session wrongly has yielded the empty
    /// one.
    pub(crate) tenant: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
}

/// What the table asks about the sessions that the program registered.
pub(crate) trait Registered {
    fn session(&self, session: &str) -> Known<'_>;
    /// How many sessions a tenant has.
    fn count_of(&self, tenant: &str) -> usize;
    /// Whether any session has a tenant.
    fn has_tenants(&self) -> bool;
}

/// What is known of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known<'a> {
    Not,
    WithoutTenant,
    Of(&'a str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Decision {
    /// The server's own runtime, if it has one.
    Constructor,
    /// The runtime of the session that the request names.
    NamedSession,
    /// The runtime of the only session that the request's tenant has.
    OnlySession,
    /// The hook decides; nothing from it is a refusal.
    AskHook,
    Unauthorized,
}

pub(crate) fn decide(question: Question<'_>, registered: &impl Registered) -> Decision {
    let Question {
        is_multi_tenant,
        has_hook,
        allows_untenanted_sessions,
        tenant,
        session,
    } = question;
    match (tenant, session) {
        // Nobody may name nothing.
        (Some(""), _) | (_, Some("")) => Decision::Unauthorized,
        (None, None) if is_multi_tenant => Decision::Unauthorized,
        _ if has_hook => Decision::AskHook,
        (_, Some(session)) => match (registered.session(session), tenant) {
            (Known::Of(its_own), Some(tenant)) if its_own == tenant => Decision::NamedSession,
            // Its id is the only credential.
            (Known::WithoutTenant, None) if allows_untenanted_sessions => Decision::NamedSession,
            _ => Decision::Unauthorized,
        },
        (Some(tenant), None) => match registered.count_of(tenant) {
            1 => Decision::OnlySession,
            _ => Decision::Unauthorized,
        },
        (None, None) if registered.has_tenants() => Decision::Unauthorized,
        (None, None) => Decision::Constructor,
    }
}

/// Refuses to start where a runtime would be there for everybody that is meant for nobody.
///
/// # Errors
/// `invalid-option`.
pub(crate) fn check_start(is_multi_tenant: bool, has_constructor_runtime: bool) -> Result<()> {
    if is_multi_tenant && has_constructor_runtime {
        return Err(Error::invalid_option(
            "a server in multi-tenant mode has no runtime of its own: leave out the option runtime, and register a session \
             per tenant or give a resolveRuntime hook",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Sessions by id, each with its tenant.
    struct Registry(HashMap<&'static str, Option<&'static str>>);

    impl Registered for Registry {
        fn session(&self, session: &str) -> Known<'_> {
            match self.0.get(session) {
                None => Known::Not,
                Some(None) => Known::WithoutTenant,
                Some(Some(tenant)) => Known::Of(tenant),
            }
        }

        fn count_of(&self, tenant: &str) -> usize {
            self.0.values().filter(|of| **of == Some(tenant)).count()
        }

        fn has_tenants(&self) -> bool {
            self.0.values().any(Option::is_some)
        }
    }

    const ACME: (&str, Option<&str>) = ("a", Some("acme"));
    const GLOBEX: [(&str, Option<&str>); 2] = [("g1", Some("globex")), ("g2", Some("globex"))];
    const FREE: (&str, Option<&str>) = ("free", None);

    const COLUMNS: [(&str, Option<&str>); 6] = [
        ("no session", None),
        ("a session of acme", Some("a")),
        ("a session of globex", Some("g1")),
        ("a session without a tenant", Some("free")),
        ("an unknown session", Some("nobody's")),
        ("a wrong session", Some("")),
    ];

    const ROWS: [(&str, Option<&str>); 5] = [
        ("no tenant", None),
        ("a tenant with one session", Some("acme")),
        ("a tenant with two sessions", Some("globex")),
        ("an unknown tenant", Some("initech")),
        ("a wrong tenant", Some("")),
    ];

    /// One letter for each cell: C, S for the session, O for the only one of the tenant, H for the hook, and - for a refusal.
    struct Table {
        name: &'static str,
        /// `multi`-tenant, with a `hook`, `untenanted` sessions allowed, and sessions with tenants `registered`.
        given: &'static str,
        cells: [&'static str; 5],
    }

    #[rustfmt::skip]
    const TABLES: &[Table] = &[
        Table { name: "one runtime", given: "",
            cells: ["C-----", "------", "------", "------", "------"] },
        Table { name: "one runtime, sessions as credentials", given: "untenanted",
            cells: ["C--S--", "------", "------", "------", "------"] },
        Table { name: "tenants registered", given: "registered",
            cells: ["------", "OS----", "--S---", "------", "------"] },
        Table { name: "tenants registered, sessions as credentials", given: "untenanted registered",
            cells: ["---S--", "OS----", "--S---", "------", "------"] },
        Table { name: "multi-tenant, nothing registered", given: "multi",
            cells: ["------", "------", "------", "------", "------"] },
        Table { name: "multi-tenant, sessions as credentials", given: "multi untenanted",
            cells: ["---S--", "------", "------", "------", "------"] },
        Table { name: "multi-tenant", given: "multi registered",
            cells: ["------", "OS----", "--S---", "------", "------"] },
        Table { name: "multi-tenant, tenants and sessions as credentials", given: "multi untenanted registered",
            cells: ["---S--", "OS----", "--S---", "------", "------"] },
        Table { name: "a hook", given: "hook",
            cells: ["HHHHH-", "HHHHH-", "HHHHH-", "HHHHH-", "------"] },
        Table { name: "a hook beside tenants", given: "hook untenanted registered",
            cells: ["HHHHH-", "HHHHH-", "HHHHH-", "HHHHH-", "------"] },
        Table { name: "a hook, multi-tenant", given: "multi hook",
            cells: ["-HHHH-", "HHHHH-", "HHHHH-", "HHHHH-", "------"] },
        Table { name: "a hook beside tenants, multi-tenant", given: "multi hook untenanted registered",
            cells: ["-HHHH-", "HHHHH-", "HHHHH-", "HHHHH-", "------"] },
    ];

    #[test]
    fn each_cell_of_each_table_is_decided_as_it_is_written() {
        let mut cells = 0;
        for table in TABLES {
            let mut sessions = vec![FREE];
            let given = |word| table.given.contains(word);
            if given("registered") {
                sessions.push(ACME);
                sessions.extend(GLOBEX);
            }
            let registry = Registry(sessions.into_iter().collect());
            for ((row, tenant), expected) in ROWS.into_iter().zip(table.cells) {
                assert_eq!(expected.len(), COLUMNS.len());
                for ((column, session), expected) in COLUMNS.into_iter().zip(expected.chars()) {
                    let question = Question {
                        is_multi_tenant: given("multi"),
                        has_hook: given("hook"),
                        allows_untenanted_sessions: given("untenanted"),
                        tenant,
                        session,
                    };
                    let expected = match expected {
                        'C' => Decision::Constructor,
                        'S' => Decision::NamedSession,
                        'O' => Decision::OnlySession,
                        'H' => Decision::AskHook,
                        _ => Decision::Unauthorized,
                    };
                    let decided = decide(question, &registry);
                    assert_eq!(decided, expected, "{}: {row}, {column}", table.name);
                    cells += 1;
                }
            }
        }
        assert_eq!(cells, 360);
    }

    #[test]
    fn whoever_names_a_tenant_reaches_nothing_that_is_not_of_it() {
        let registry = Registry([FREE, ACME].into_iter().chain(GLOBEX).collect());
        for is_multi_tenant in [false, true] {
            for allows_untenanted_sessions in [false, true] {
                for session in ["a", "g1", "g2", "free", "nobody's"] {
                    let question = Question {
                        is_multi_tenant,
                        has_hook: false,
                        allows_untenanted_sessions,
                        tenant: Some("globex"),
                        session: Some(session),
                    };
                    let reached = decide(question, &registry) == Decision::NamedSession;
                    assert_eq!(reached, session.starts_with('g'), "{session}");
                }
            }
        }
    }

    #[test]
    fn a_multi_tenant_server_does_not_start_with_a_runtime_of_its_own() {
        for (is_multi_tenant, has_runtime, starts) in [
            (false, false, true),
            (false, true, true),
            (true, false, true),
            (true, true, false),
        ] {
            assert_eq!(check_start(is_multi_tenant, has_runtime).is_ok(), starts);
        }
        assert!(check_start(true, true).unwrap_err().message().contains("runtime"));
    }
}
