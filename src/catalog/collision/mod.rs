//! Two servers of one name. Decides which configurations are one server and under which name each of them is projected,
//! whatever the order in which they were given; it does not connect anything.

use std::collections::{HashMap, HashSet};

use super::tool_name;
use crate::diagnostic::{Diagnostic, Rule};

/// A configured server, reduced to what tells it from another of its name.
// No `Debug`: the extras may hold secrets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Candidate {
    pub(crate) name: String,
    /// The URL without its userinfo, or the command and its arguments joined by single spaces.
    pub(crate) identity: String,
    /// A canonical text of environment, headers and working directory. It may hold secrets: it is compared, and never
    /// part of a name or a text.
    pub(crate) extras: String,
}

/// What became of the candidates.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Resolution {
    /// The servers that are kept, in the order of the candidates.
    pub(crate) servers: Vec<Projected>,
    /// One per name that clashed, in the order in which the names came first.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// One server that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Projected {
    /// Which candidate it is.
    pub(crate) index: usize,
    /// Its configured name, or the suffixed one.
    pub(crate) name: String,
}

/// Names every server (seed, "Two plugins, one server name"; client specification, section 6). All servers of a clashing
/// name get a suffix, so that none of the names depends on which server came first. Candidates of one name, identity
/// and extras are one server: the first of them is kept, suffixed all the same. Where only the extras differ, the later
/// one hashes its identity followed by ` #2`, ` #3`.
pub(crate) fn resolve(candidates: &[Candidate]) -> Resolution {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for candidate in candidates {
        *uses.entry(&candidate.name).or_default() += 1;
    }
    let clashes = |name: &str| uses.get(name).is_some_and(|count| *count > 1);

    // A name that does not clash stays as it is, so a suffixed name that equals it has to give way.
    let mut taken: HashSet<String> = uses
        .keys()
        .filter(|name| !clashes(name))
        .map(|name| (*name).to_owned())
        .collect();
    let mut seen: HashSet<&Candidate> = HashSet::new();
    let mut variants: HashMap<(&str, &str), usize> = HashMap::new();
    let mut servers = Vec::with_capacity(candidates.len());
    for (index, candidate) in candidates.iter().enumerate() {
        if !seen.insert(candidate) {
            continue;
        }
        let name = if clashes(&candidate.name) {
            let variant = variants.entry((&candidate.name, &candidate.identity)).or_default();
            free_name(candidate, variant, &mut taken)
        } else {
            candidate.name.clone()
        };
        servers.push(Projected { index, name });
    }
    let diagnostics = diagnostics(candidates, &servers, clashes);
    Resolution { servers, diagnostics }
}

/// The next suffixed name of an identity that nothing else has; beyond the variants of the rule only where two hashes
/// of 32 bits meet, or a suffixed name is also configured as it stands.
fn free_name(candidate: &Candidate, variant: &mut usize, taken: &mut HashSet<String>) -> String {
    loop {
        *variant += 1;
        let hash = if *variant == 1 {
            tool_name::hash(&candidate.identity)
        } else {
            tool_name::hash(&format!("{} #{variant}", candidate.identity))
        };
        let name = format!("{}_{hash}", candidate.name);
        if taken.insert(name.clone()) {
            return name;
        }
    }
}

fn diagnostics(candidates: &[Candidate], servers: &[Projected], clashes: impl Fn(&str) -> bool) -> Vec<Diagnostic> {
    let mut origins: Vec<&str> = Vec::new();
    let mut names: HashMap<&str, Vec<&str>> = HashMap::new();
    for server in servers {
        let Some(candidate) = candidates
            .get(server.index)
            .filter(|candidate| clashes(&candidate.name))
        else {
            continue;
        };
        let names = names.entry(&candidate.name).or_default();
        if names.is_empty() {
            origins.push(&candidate.name);
        }
        names.push(&server.name);
    }
    origins
        .into_iter()
        .map(|origin| Diagnostic::new(Rule::ServerNameCollision, origin, message(origin, names.get(origin))))
        .collect()
}

/// Neither URL nor command: both can hold what a diagnostic must not.
fn message(name: &str, projected: Option<&Vec<&str>>) -> String {
    let projected = projected.map_or(&[][..], Vec::as_slice);
    let fate = match projected {
        [only] => format!("their configurations agree, so they are one server, projected as {only}"),
        several => format!("each is projected under a suffixed name: {}", several.join(", ")),
    };
    format!("more than one server is named \"{name}\"; {fate}; rename all but one of them to get the plain name back")
}

#[cfg(test)]
mod tests;
