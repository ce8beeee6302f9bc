//! The lists: kept as bytes for each revision and page until they are invalidated, unless they depend on who asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;

use super::arguments::Check;
use super::list_kind::ListKind;
use super::routes::Route;
use crate::catalog::output_schema::OutputSchema;
use crate::host::Change;
use crate::host::server::RuntimeId;
use crate::json::{self, Object};
use crate::limits;
use crate::protocol::codes::WireError;
use crate::protocol::revision::Revision;
use crate::protocol::wire::param_header::{self, ParamHeader};

/// One list as the program gave it.
#[derive(Debug)]
pub(crate) struct Entries {
    all: Vec<Entry>,
    /// Where tools are, by name.
    places: HashMap<String, usize>,
    /// A name that is both registered and projected, where that may not be.
    pub(crate) clash: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    /// JSON text of an object.
    pub(crate) text: Box<RawValue>,
    pub(crate) tool: Option<ToolFacts>,
}

/// What is known of a tool besides its entry.
#[derive(Debug)]
pub(crate) struct ToolFacts {
    pub(crate) name: String,
    pub(crate) is_projected: bool,
    /// Whether only connections with a tenant see it.
    pub(crate) is_tenant_scoped: bool,
    pub(crate) input: Check,
    /// What its results are held against; or why they are not.
    pub(crate) output: Option<Result<OutputSchema, String>>,
    /// The arguments that a client repeats in headers. A schema that breaks the rule for it asks for none.
    pub(crate) headers: Vec<ParamHeader>,
}

/// The lists that may be used again.
#[derive(Default)]
pub(crate) struct Lists(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// Grows with each invalidation, so that what was asked for before one is not kept after it.
    generation: u64,
    lists: HashMap<ListKey, List>,
}

pub(super) type ListKey = (ListKind, Option<RuntimeId>, bool);

struct List {
    entries: Arc<Entries>,
    pages: HashMap<PageKey, Arc<str>>,
}

/// A revision, whether tenants' tools are in it, and where it begins.
pub(super) type PageKey = (Revision, bool, usize);

impl Lists {
    /// Forgets a kind of list, of one runtime or of all.
    pub(crate) fn invalidate(&self, change: Change, runtime: Option<RuntimeId>) {
        let mut kept = self.kept();
        kept.generation += 1;
        kept.lists
            .retain(|(kind, of, _), _| !kind.is_of(change) || (runtime.is_some() && *of != runtime));
    }

    /// A runtime is gone.
    pub(crate) fn forget(&self, runtime: RuntimeId) {
        self.kept().lists.retain(|(_, of, _), _| *of != Some(runtime));
    }

    pub(crate) fn len(&self) -> usize {
        self.kept().lists.len()
    }

    pub(super) fn page(&self, key: ListKey, page: PageKey) -> Option<Arc<str>> {
        self.kept().lists.get(&key)?.pages.get(&page).map(Arc::clone)
    }

    pub(super) fn entries(&self, key: ListKey) -> Option<Arc<Entries>> {
        self.kept().lists.get(&key).map(|list| Arc::clone(&list.entries))
    }

    pub(super) fn keep(&self, key: ListKey, entries: &Arc<Entries>, generation: u64) {
        let mut kept = self.kept();
        if kept.generation != generation {
            return;
        }
        if kept.lists.len() >= limits::MAX_KEPT_LISTS {
            kept.lists.clear();
        }
        kept.lists.insert(
            key,
            List {
                entries: Arc::clone(entries),
                pages: HashMap::new(),
            },
        );
    }

    pub(super) fn keep_page(&self, key: ListKey, entries: &Arc<Entries>, page: PageKey, text: &Arc<str>) {
        let mut kept = self.kept();
        let list = kept.lists.get_mut(&key);
        if let Some(list) = list.filter(|list| Arc::ptr_eq(&list.entries, entries)) {
            list.pages.insert(page, Arc::clone(text));
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.kept().generation
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a list is asked for.
pub(crate) struct Wanted<'a> {
    pub(crate) kind: ListKind,
    pub(crate) route: &'a Route,
    pub(crate) revision: Revision,
}

impl Wanted<'_> {
    pub(super) fn key(&self) -> ListKey {
        (self.kind, self.route.runtime, self.route.is_of_tenant)
    }

    pub(super) fn page(&self, offset: usize) -> PageKey {
        (self.revision, self.route.has_tenant, offset)
    }
}

impl Entries {
    /// `is_of_tenant`: a name that is both registered and projected is no replacement then, but a clash.
    pub(super) fn parse(kind: ListKind, is_of_tenant: bool, text: &str) -> Option<Self> {
        let items = json::array(text)?;
        if kind != ListKind::Tools {
            let entries = items
                .into_iter()
                .map(|text| Entry {
                    text: text.to_owned(),
                    tool: None,
                })
                .collect();
            return Some(Self {
                all: entries,
                places: HashMap::new(),
                clash: None,
            });
        }
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut entries: Vec<Entry> = Vec::new();
        let mut clash = None;
        for item in items {
            let (text, facts) = tool(item)?;
            let Some(place) = places.get(&facts.name).copied() else {
                places.insert(facts.name.clone(), entries.len());
                entries.push(Entry {
                    text,
                    tool: Some(facts),
                });
                continue;
            };
            let earlier = entries.get_mut(place)?;
            let is_earlier_projected = earlier.tool.as_ref().is_some_and(|tool| tool.is_projected);
            if is_earlier_projected != facts.is_projected && is_of_tenant && clash.is_none() {
                clash = Some(facts.name.clone());
            }
            // What was registered by hand counts; of its like, the last.
            if !facts.is_projected || is_earlier_projected {
                *earlier = Entry {
                    text,
                    tool: Some(facts),
                };
            }
        }
        Some(Self {
            all: entries,
            places,
            clash,
        })
    }

    /// What a connection sees.
    pub(crate) fn visible(&self, has_tenant: bool) -> impl Iterator<Item = &Entry> {
        self.all.iter().filter(move |entry| {
            let is_tenant_scoped = entry.tool.as_ref().is_some_and(|tool| tool.is_tenant_scoped);
            has_tenant || !is_tenant_scoped
        })
    }

    pub(crate) fn tool(&self, name: &str, has_tenant: bool) -> Option<&ToolFacts> {
        let facts = self
            .places
            .get(name)
            .and_then(|place| self.all.get(*place)?.tool.as_ref());
        facts.filter(|facts| has_tenant || !facts.is_tenant_scoped)
    }
}

fn tool(item: &RawValue) -> Option<(Box<RawValue>, ToolFacts)> {
    let item = Object::parse(item.get())?;
    let text = item.get("tool")?;
    let tool = Object::parse(text.get())?;
    let facts = ToolFacts {
        name: tool.string("name")?.into_owned(),
        output: tool.present("outputSchema").map(OutputSchema::compile),
        headers: tool
            .present("inputSchema")
            .and_then(|schema| param_header::read(schema.get()).ok())
            .unwrap_or_default(),
        is_projected: item.string("source").as_deref() == Some("projected"),
        is_tenant_scoped: item.get("tenantScoped").is_some_and(|flag| flag.get() == "true"),
        input: Check::new(item.string("validate").as_deref(), tool.present("inputSchema")),
    };
    Some((text.to_owned(), facts))
}

/// Two tools of one name, where neither may hide the other.
pub(crate) fn clash(name: &str) -> WireError {
    WireError::internal(format!(
        "the tool {} is both registered and projected",
        json::quote_visibly(name)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: &str = r#"[
        {"tool":{"name":"a","description":"registered"},"source":"registered","validate":"none"},
        {"tool":{"name":"t"},"source":"registered","validate":"full","tenantScoped":true},
        {"tool":{"name":"a","description":"projected"},"source":"projected","validate":"shallow"},
        {"tool":{"name":"b"},"source":"projected","validate":"shallow"}]"#;

    #[test]
    fn what_was_registered_counts_before_what_is_projected() {
        let entries = Entries::parse(ListKind::Tools, false, TOOLS).unwrap();
        assert_eq!(entries.clash, None);
        assert!(!entries.tool("a", false).unwrap().is_projected);
        assert!(matches!(entries.tool("b", false).unwrap().input, Check::None));
    }

    #[test]
    fn for_a_tenant_that_is_a_clash() {
        let entries = Entries::parse(ListKind::Tools, true, TOOLS).unwrap();
        assert_eq!(entries.clash.as_deref(), Some("a"));
    }

    #[test]
    fn what_is_for_tenants_is_hidden_from_others() {
        let entries = Entries::parse(ListKind::Tools, false, TOOLS).unwrap();
        assert!(entries.tool("t", false).is_none() && entries.tool("t", true).is_some());
        assert_eq!(entries.visible(false).count(), 2);
    }

    #[test]
    fn a_list_is_kept_until_it_is_invalidated_and_not_when_it_was_asked_for_before() {
        let lists = Lists::default();
        let entries = Arc::new(Entries::parse(ListKind::Prompts, false, "[]").unwrap());
        let key = (ListKind::Prompts, Some(1), false);
        let generation = lists.generation();
        lists.keep(key, &entries, generation);
        lists.invalidate(Change::Tools, None);
        assert!(lists.entries(key).is_some());
        lists.invalidate(Change::Prompts, Some(2));
        assert!(lists.entries(key).is_some());
        lists.invalidate(Change::Prompts, Some(1));
        assert!(lists.entries(key).is_none());

        lists.keep(key, &entries, generation);
        assert!(lists.entries(key).is_none());
        lists.keep(key, &entries, lists.generation());
        lists.forget(1);
        assert_eq!(lists.len(), 0);
    }
}
