//! What one schema can cost, found out by looking at it alone: before a schema of somebody else is compiled, and before
//! any value is checked. Knows how far a schema refers to itself, not what a value looks like; the work on a value is
//! metered while it is done (`output_schema::meter`), and what the meter cannot see is bounded here.

mod pattern;

use std::collections::HashMap;
use std::ops::BitOr;

use serde_json::{Map, Value};

use crate::limits;

/// What the meter has to know about a schema. A step is about ten nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaCost {
    /// How many steps one look at the value stands for, with everything that is done before the next one.
    pub(crate) look: u64,
    /// How many schemas may be entered on top of each other for one value without descending into it.
    pub(crate) nesting: u64,
    /// Thousandths of a step for each byte of a string, by the most expensive pattern.
    pub(crate) string: u64,
    /// Thousandths of a step for each byte of a property name, by all patterns it is compared with.
    pub(crate) name: u64,
    /// How many steps one number takes.
    pub(crate) number: u64,
    /// Whether a schema that refuses more may accept more: a verdict against a value is none once parts were left out.
    pub(crate) turns: bool,
}

impl SchemaCost {
    /// Of a schema that says nothing.
    pub(crate) const NONE: Self = Self {
        look: 1,
        nesting: 1,
        string: 0,
        name: 0,
        number: 0,
        turns: false,
    };

    /// Looks at a schema, or says why using it could take too much work.
    pub(crate) fn of(schema: &Value) -> Result<Self, String> {
        let anchors = Anchors::of(schema)?;
        let graph = Graph::of(schema, &anchors)?;
        let measures = graph.measure()?;
        let expansion = graph.nodes.iter().zip(&measures).fold(0_u64, |sum, (node, measure)| {
            let times = if node.collects() { COLLECTING_EXPANSION } else { 1 };
            sum.saturating_add(measure.expansion.saturating_mul(times))
        });
        if expansion > limits::MAX_OUTPUT_SCHEMA_EXPANSION {
            return Err("checking it could take too much work".to_owned());
        }
        if graph.compiled_nesting(0, NESTED_REFERENCES, &mut HashMap::new()) > limits::MAX_OUTPUT_SCHEMA_NESTING {
            return Err("its schemas are nested too deeply".to_owned());
        }
        let patterns = graph.patterns()?;
        let silent = graph
            .nodes
            .iter()
            .map(|node| node.silent_after_a_look(&measures))
            .fold(measures.first().map_or(0, |root| root.silent), u64::max);
        Ok(Self {
            look: silent.saturating_add(1),
            nesting: measures.iter().map(|measure| measure.nesting).fold(1, u64::max),
            string: patterns.string,
            name: patterns.name,
            number: graph.numbers(),
            turns: graph.nodes.iter().any(Node::turns),
        })
    }
}

/// Leaves out the patterns for strings that can only be matched by trying, which may take for ever: whether there were
/// any. What may be data is not touched; a pattern that stays behind refuses to compile.
pub(crate) fn leave_out_tried_patterns(schema: &mut Value) -> bool {
    match schema {
        Value::Array(items) => items.iter_mut().map(leave_out_tried_patterns).fold(false, BitOr::bitor),
        Value::Object(members) => {
            let tried = members
                .get("pattern")
                .and_then(Value::as_str)
                .is_some_and(pattern::looks_around);
            if tried {
                // It stays in its place, and fits everything.
                members.insert("pattern".to_owned(), Value::from(""));
            }
            members
                .iter_mut()
                .filter(|(key, _)| !DATA_KEYWORDS.contains(&key.as_str()))
                .map(|(_, member)| leave_out_tried_patterns(member))
                .fold(tried, BitOr::bitor)
        }
        _ => false,
    }
}

/// What an evaluation of one schema can lead to for the same value, without descending into it.
#[derive(Clone, Copy, Debug)]
struct Measure {
    /// How many schemas are evaluated, this one included.
    expansion: u64,
    /// How many of them lie on top of each other.
    nesting: u64,
    /// How many are evaluated before any of them has to look at the value.
    silent: u64,
    /// After how many schemas entered the value is looked at for certain.
    look: Option<u64>,
}

/// The schemas that can be reached from the root, and how they lead to each other.
struct Graph<'a> {
    nodes: Vec<Node<'a>>,
    ids: HashMap<*const Value, usize>,
}

struct Node<'a> {
    schema: &'a Value,
    /// What is evaluated for the same value, by reference or not.
    in_place: Vec<usize>,
    /// Those of them that are references.
    references: usize,
    /// What is evaluated for a member, an item or a property name, one for each look.
    below: Vec<usize>,
    /// What is evaluated for a member beside each other.
    by_pattern: Vec<usize>,
}

#[derive(Default)]
struct Edges {
    references: Vec<usize>,
    in_place: Vec<usize>,
    below: Vec<usize>,
    by_pattern: Vec<usize>,
}

#[derive(Default)]
struct Patterns {
    string: u64,
    name: u64,
}

impl<'a> Graph<'a> {
    fn of(root: &'a Value, anchors: &Anchors<'a>) -> Result<Self, String> {
        let mut graph = Self {
            nodes: Vec::new(),
            ids: HashMap::new(),
        };
        graph.enter(root);
        let mut next = 0;
        while let Some(node) = graph.nodes.get(next) {
            if let Value::Object(schema) = node.schema {
                let edges = graph.edges(schema, root, anchors)?;
                if let Some(node) = graph.nodes.get_mut(next) {
                    node.references = edges.references.len();
                    node.in_place = edges.references;
                    node.in_place.extend(edges.in_place);
                    node.below = edges.below;
                    node.by_pattern = edges.by_pattern;
                }
            }
            next += 1;
        }
        Ok(graph)
    }

    fn enter(&mut self, schema: &'a Value) -> usize {
        *self.ids.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
            self.nodes.push(Node {
                schema,
                in_place: Vec::new(),
                references: 0,
                below: Vec::new(),
                by_pattern: Vec::new(),
            });
            self.nodes.len() - 1
        })
    }

    /// Keywords of all drafts, whichever draft the schema follows: one too many costs nothing but precision.
    fn edges(
        &mut self,
        schema: &'a Map<String, Value>,
        root: &'a Value,
        anchors: &Anchors<'a>,
    ) -> Result<Edges, String> {
        let mut edges = Edges::default();
        let Edges {
            references,
            in_place,
            below,
            by_pattern,
        } = &mut edges;
        for (keyword, value) in schema {
            match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    for target in anchors.resolve(root, value)? {
                        references.push(self.enter(target));
                    }
                }
                "not" | "if" | "then" | "else" | "contentSchema" => in_place.push(self.enter(value)),
                "allOf" | "anyOf" | "oneOf" => self.enter_all(value, in_place),
                "dependentSchemas" | "dependencies" => self.enter_members(value, in_place),
                "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains" => below.push(self.enter(value)),
                "items" if value.is_object() || value.is_boolean() => below.push(self.enter(value)),
                "items" | "prefixItems" => self.enter_all(value, below),
                "properties" => self.enter_members(value, below),
                "patternProperties" => self.enter_members(value, by_pattern),
                _ => {}
            }
        }
        Ok(edges)
    }

    fn enter_all(&mut self, schemas: &'a Value, into: &mut Vec<usize>) {
        for schema in schemas.as_array().into_iter().flatten() {
            into.push(self.enter(schema));
        }
    }

    fn enter_members(&mut self, schemas: &'a Value, into: &mut Vec<usize>) {
        for schema in schemas.as_object().into_iter().flat_map(Map::values) {
            into.push(self.enter(schema));
        }
    }

    /// From the ends of the references backwards, without recursion: a chain of them may be as long as the schema.
    fn measure(&self) -> Result<Vec<Measure>, String> {
        let mut waits_for: Vec<usize> = self.nodes.iter().map(|node| node.in_place.len()).collect();
        let mut asked_by: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate() {
            for &target in &node.in_place {
                if let Some(asked_by) = asked_by.get_mut(target) {
                    asked_by.push(id);
                }
            }
        }
        let mut ready: Vec<usize> = Vec::new();
        ready.extend(
            waits_for
                .iter()
                .enumerate()
                .filter(|(_, count)| **count == 0)
                .map(|(id, _)| id),
        );
        let mut measures: Vec<Option<Measure>> = vec![None; self.nodes.len()];
        while let Some(id) = ready.pop() {
            let measure = self.nodes.get(id).map(|node| node.measure(&measures));
            if let Some(slot) = measures.get_mut(id) {
                *slot = measure;
            }
            for &asking in asked_by.get(id).into_iter().flatten() {
                if let Some(count) = waits_for.get_mut(asking) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(asking);
                    }
                }
            }
        }
        measures
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| "it refers to itself in a circle".to_owned())
    }

    /// How deep the compiler goes into itself: into every schema, and through so many references one after the other.
    fn compiled_nesting(&self, id: usize, references: u64, known: &mut HashMap<(usize, u64), u64>) -> u64 {
        if let Some(nesting) = known.get(&(id, references)) {
            return *nesting;
        }
        let Some(node) = self.nodes.get(id) else { return 0 };
        let mut inner = 0;
        for (index, &target) in node
            .in_place
            .iter()
            .chain(&node.below)
            .chain(&node.by_pattern)
            .enumerate()
        {
            if index >= node.references {
                inner = inner.max(self.compiled_nesting(target, references, known));
            } else if let Some(references) = references.checked_sub(1) {
                inner = inner.max(self.compiled_nesting(target, references, known));
            }
        }
        let nesting = inner + if node.collects() { COLLECTING_NESTING } else { 1 };
        known.insert((id, references), nesting);
        nesting
    }

    fn patterns(&self) -> Result<Patterns, String> {
        let mut patterns = Patterns::default();
        let mut count = 0_usize;
        let mut states = 0_u64;
        let mut all_names = 0_u64;
        let mut add = |text: &str| {
            count += 1;
            states = states.saturating_add(pattern::states(text));
            pattern::work(text)
        };
        for schema in self.nodes.iter().filter_map(|node| node.schema.as_object()) {
            if let Some(text) = schema.get("pattern").and_then(Value::as_str) {
                patterns.string = patterns.string.max(add(text));
            }
            if let Some(named) = schema.get("patternProperties").and_then(Value::as_object) {
                let work = named.keys().map(|text| add(text)).fold(0, u64::saturating_add);
                patterns.name = patterns.name.max(work);
                all_names = all_names.saturating_add(work);
            }
        }
        // It asks whether any of the schemas for the same object has seen a property, by their patterns too.
        if self.nodes.iter().any(Node::collects) {
            patterns.name = all_names;
        }
        if count > limits::MAX_OUTPUT_SCHEMA_PATTERNS || states > limits::MAX_OUTPUT_SCHEMA_PATTERN_STATES {
            return Err("its patterns could take too much work".to_owned());
        }
        Ok(patterns)
    }

    /// Division by a fraction is exact, and slow where floating point is far from whole numbers.
    fn numbers(&self) -> u64 {
        self.nodes
            .iter()
            .filter_map(|node| {
                node.schema
                    .get("multipleOf")
                    .filter(|divisor| divisor.is_f64())?
                    .as_f64()
            })
            .map(|divisor| {
                if is_extreme(divisor) {
                    EXTREME_DIVISION
                } else {
                    DIVISION
                }
            })
            .fold(0, u64::max)
    }
}

/// Whether a number has more digits before or after its point than everyday numbers.
pub(crate) fn is_extreme(number: f64) -> bool {
    !(1e-6..1e12).contains(&number.abs()) && number != 0.0
}

impl Node<'_> {
    /// `measures` has those of everything that is evaluated in place.
    fn measure(&self, measures: &[Option<Measure>]) -> Measure {
        let targets = || {
            self.in_place
                .iter()
                .filter_map(|&target| measures.get(target).copied().flatten())
        };
        let look = if self.looks_itself() {
            Some(0)
        } else if self.has(&ENTERING_KEYWORDS) {
            // Whichever of them comes first looks.
            targets()
                .map(|target| target.look)
                .reduce(|left, right| Some(left?.max(right?)))
                .flatten()
                .map(|steps| steps + 1)
                .filter(|steps| *steps <= LOOKS_AHEAD)
        } else {
            None
        };
        let silent = if look.is_some() {
            0
        } else {
            targets().fold(1_u64, |sum, target| sum.saturating_add(target.silent))
        };
        Measure {
            expansion: targets().fold(1, |sum, target| sum.saturating_add(target.expansion)),
            nesting: targets()
                .map(|target| target.nesting)
                .fold(0, u64::max)
                .saturating_add(1),
            silent,
            look,
        }
    }

    /// How many schemas may be evaluated between a look that this one leads to, and the next.
    fn silent_after_a_look(&self, measures: &[Measure]) -> u64 {
        let silent = |id: &usize| measures.get(*id).map_or(0, |measure| measure.silent);
        let side_by_side = self.in_place.iter().chain(&self.by_pattern).map(silent);
        let below = self.below.iter().map(silent).fold(0, u64::max);
        side_by_side.fold(below, u64::saturating_add)
    }

    /// Whether it may accept a value because another schema does not.
    fn turns(&self) -> bool {
        ["not", "oneOf", "if", "maxContains"]
            .iter()
            .any(|keyword| self.schema.get(keyword).is_some())
    }

    /// Whether it asks all schemas for the same value what they have seen of it.
    fn collects(&self) -> bool {
        ["unevaluatedProperties", "unevaluatedItems"]
            .iter()
            .any(|keyword| self.schema.get(keyword).is_some())
    }

    /// Whether an evaluation looks at the value before it goes on to what is evaluated in place. Beside `$ref`, older
    /// drafts ignore everything.
    fn looks_itself(&self) -> bool {
        !self.has(&["$ref"]) && self.has(&LOOKING_KEYWORDS)
    }

    /// Whether one of the keywords is there and not empty.
    fn has(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| match self.schema.get(keyword) {
            Some(Value::Array(items)) => !items.is_empty(),
            Some(Value::Object(members)) => !members.is_empty() || *keyword == "not",
            Some(Value::String(_)) => true,
            _ => false,
        })
    }
}

/// What a reference can name, besides a place in the document.
struct Anchors<'a> {
    identity: Option<&'a str>,
    named: HashMap<&'a str, Vec<&'a Value>>,
}

impl<'a> Anchors<'a> {
    /// Looks at everything, data included: what is no schema here may be one by reference.
    fn of(root: &'a Value) -> Result<Self, String> {
        let mut all = vec![root];
        let mut next = 0;
        while let Some(value) = all.get(next).copied() {
            match value {
                Value::Array(items) => all.extend(items),
                Value::Object(members) => all.extend(members.values()),
                _ => {}
            }
            next += 1;
        }
        let text = |value: &'a Value, key: &str| value.get(key).and_then(Value::as_str);
        let old = all
            .iter()
            .any(|value| text(value, "$schema").is_some_and(|draft| draft.contains("draft-04")));
        let identity = |value| text(value, "$id").or_else(|| old.then(|| text(value, "id")).flatten());
        let mut anchors = Self {
            identity: identity(root).map(|identity| identity.trim_end_matches('#')),
            named: HashMap::new(),
        };
        for value in all {
            let fragment = identity(value).and_then(|identity| identity.strip_prefix('#'));
            // References below a schema with an identity of its own count from there.
            if fragment.is_none() && identity(value).is_some() && !std::ptr::eq(value, root) {
                return Err("it holds another schema with an identity of its own".to_owned());
            }
            for name in [text(value, "$anchor"), text(value, "$dynamicAnchor"), fragment]
                .into_iter()
                .flatten()
            {
                anchors.named.entry(name).or_default().push(value);
            }
        }
        Ok(anchors)
    }

    /// Everything that a reference may mean.
    fn resolve(&self, root: &'a Value, reference: &Value) -> Result<Vec<&'a Value>, String> {
        let reference = reference.as_str().ok_or("one of its references is no text")?;
        let fragment = match (reference.strip_prefix('#'), self.identity) {
            (Some(fragment), _) => Some(fragment),
            (None, Some(identity)) => match reference.strip_prefix(identity) {
                Some("") => Some(""),
                Some(rest) => rest.strip_prefix('#'),
                None => None,
            },
            (None, None) => None,
        };
        let fragment = fragment
            .and_then(percent_decoded)
            .ok_or("it refers to something outside itself")?;
        let targets = if fragment.is_empty() || fragment.starts_with('/') {
            root.pointer(&fragment).into_iter().collect()
        } else {
            self.named.get(fragment.as_str()).cloned().unwrap_or_default()
        };
        if targets.is_empty() {
            return Err("it refers to a part that it does not have".to_owned());
        }
        Ok(targets)
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    let digit = |bytes: &mut std::str::Bytes<'_>| char::from(bytes.next()?).to_digit(16);
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            u8::try_from(digit(&mut bytes)? * 16 + digit(&mut bytes)?).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(decoded).ok()
}

/// How many steps a division by a fraction takes.
const DIVISION: u64 = 30;
/// How many it takes with extreme numbers.
pub(crate) const EXTREME_DIVISION: u64 = 700;
/// Keywords whose values are no schemas, whatever they look like.
const DATA_KEYWORDS: [&str; 4] = ["enum", "const", "default", "examples"];
/// How many references the compiler follows before it puts the next one on a list.
const NESTED_REFERENCES: u64 = 8;
/// How much more of the stack it takes to compile a schema that collects what others have seen.
const COLLECTING_NESTING: u64 = 4;
/// How much more it takes to compile a schema that collects what others have seen: for each of them, all over again.
const COLLECTING_EXPANSION: u64 = 100;
/// How many schemas may be entered before the value is looked at, and still count as covered by that look.
const LOOKS_AHEAD: u64 = 4;
/// Keywords that look at the value and come before everything that is evaluated in place.
const LOOKING_KEYWORDS: [&str; 4] = ["type", "enum", "required", "properties"];
/// Keywords that never fail to enter one of their schemas, nor are left out because of what stands beside them.
const ENTERING_KEYWORDS: [&str; 5] = ["$ref", "allOf", "anyOf", "oneOf", "not"];

#[cfg(test)]
mod tests;
