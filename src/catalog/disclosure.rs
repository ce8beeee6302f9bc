//! How much of a server's schemas a model sees: all of it while that fits the budget, then names and types of the
//! parameters, then nothing of them. Names and descriptions are always seen. Owns the measure, the choice and the deferred
//! forms; what is left of a listing to be measured is decided in `project`.

use std::collections::HashSet;

use super::NO_SCHEMA;
use crate::json::{self, Object};
use crate::limits;

/// The tool that gives the full schema of a deferred one; no server's tool may take its name.
pub(crate) const DESCRIBE_TOOL: &str = "mcp__describe_tool";

/// What the description of a deferred tool ends in.
const DEFERRED_SUFFIX: &str = " Full input schema available via mcp__describe_tool.";

/// The option `disclosure`.
#[derive(Clone, Debug)]
pub(crate) struct Disclosure {
    /// In tokens, per server; not negative.
    pub(crate) budget: f64,
    /// Servers that are never deferred, by configured or projected name.
    pub(crate) always_load: HashSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Schemas as they were published.
    Inline,
    /// Parameter names, their types and which of them are required.
    Names,
    /// Nothing of the schemas.
    Bare,
}

/// One tool as the measure sees it.
pub(crate) struct Measured<'a> {
    /// UTF-16 code units of its description, or of its name where it has none.
    pub(crate) description: usize,
    /// UTF-16 code units of its schema as compact JSON.
    pub(crate) schema: usize,
    /// What is deferred: the text of the schema. Nothing for a tool that is shown as it is in every tier.
    pub(crate) deferrable: Option<&'a str>,
}

/// What one server is shown with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) tier: Tier,
    /// What its tools take in this tier.
    pub(crate) tokens: usize,
    /// What they take at least: in the bare tier the same.
    pub(crate) floor: usize,
    /// One per tool in the tier `names`, and none in the others.
    pub(crate) deferred: Vec<String>,
}

impl Default for Disclosure {
    fn default() -> Self {
        Self {
            budget: f64::from(limits::DEFAULT_DISCLOSURE_BUDGET_TOKENS),
            always_load: HashSet::new(),
        }
    }
}

impl Disclosure {
    /// Chooses the tier of one server, by what its filters left.
    pub(crate) fn choose(&self, names: [&str; 2], tools: &[Measured<'_>]) -> Choice {
        let floor = joined(tools.iter().map(|tool| match tool.deferrable {
            Some(_) => at_least(tool.description),
            None => tool.description + 1 + tool.schema,
        }));
        let choice = |tier, tokens, deferred| Choice {
            tier,
            tokens,
            floor,
            deferred,
        };
        let inline = joined(tools.iter().map(|tool| tool.description + 1 + tool.schema));
        if self.fits(inline) || names.iter().any(|name| self.always_load.contains(*name)) {
            return choice(Tier::Inline, inline, Vec::new());
        }
        let schema = |(tool, deferred): (&Measured<'_>, &String)| match tool.deferrable {
            Some(_) => json::utf16_len(deferred),
            None => tool.schema,
        };
        let mut deferred = Vec::with_capacity(tools.len());
        let mut names = Joined::default();
        for tool in tools {
            deferred.push(tool.deferrable.map_or_else(String::new, deferred_schema));
            names.add(deferred.last().map_or(0, |text| schema((tool, text))));
            // A catalogue of thousands is over its budget long before its end.
            if !self.fits(names.tokens()) {
                return choice(Tier::Bare, floor, Vec::new());
            }
        }
        let shown = |(tool, deferred): (&Measured<'_>, &String)| match tool.deferrable {
            Some(_) => tool.description + DEFERRED_SUFFIX.len() + 1 + schema((tool, deferred)),
            None => tool.description + 1 + tool.schema,
        };
        choice(Tier::Names, joined(tools.iter().zip(&deferred).map(shown)), deferred)
    }

    pub(crate) fn fits(&self, tokens: usize) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "no catalogue has 2^53 tokens")]
        let tokens = tokens as f64;
        tokens <= self.budget
    }
}

impl Tier {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Names => "names",
            Self::Bare => "bare",
        }
    }
}

/// What deferred tools with such descriptions (in UTF-16 code units) take at least.
pub(crate) fn catalog_tokens(descriptions: impl IntoIterator<Item = usize>) -> usize {
    joined(descriptions.into_iter().map(at_least))
}

fn at_least(description: usize) -> usize {
    description + DEFERRED_SUFFIX.len() + 1 + NO_SCHEMA.len()
}

/// The description (a string literal) of a deferred tool, as a string literal.
pub(crate) fn deferred_description(description: &str) -> String {
    let open = description.strip_suffix('"').unwrap_or(description);
    format!("{open}{DEFERRED_SUFFIX}\"")
}

/// Names, types and `required` of a schema's parameters, in the order of the schema; all prose is gone. What is no schema
/// of an object with properties says nothing.
pub(crate) fn deferred_schema(schema: &str) -> String {
    names_of(schema).unwrap_or_else(|| NO_SCHEMA.to_owned())
}

fn names_of(schema: &str) -> Option<String> {
    let schema = Object::parse(schema).filter(|schema| schema.string("type").as_deref() == Some("object"))?;
    let properties = json::distinct_members(schema.get("properties")?.get())?;
    let properties: Vec<_> = properties
        .into_iter()
        .map(|(name, property)| format!("{name}:{{\"type\":{}}}", type_of(property.get())))
        .collect();
    let required: Vec<_> = schema
        .array("required")
        .unwrap_or_default()
        .into_iter()
        .filter(|name| json::is_string(name.get()))
        .map(|name| json::respelt(name.get()))
        .collect();
    let required = match required.as_slice() {
        [] => String::new(),
        names => format!(",\"required\":[{}]", names.join(",")),
    };
    Some(format!(
        "{{\"type\":\"object\",\"properties\":{{{}}}{required}}}",
        properties.join(",")
    ))
}

/// The type of a property as a string literal: the first where it may have several, `string` where it says none.
fn type_of(property: &str) -> String {
    let named = Object::parse(property).and_then(|property| {
        let named = property.get("type")?;
        match json::array(named.get()) {
            Some(types) => types.first().copied(),
            None => Some(named),
        }
    });
    match named {
        Some(named) if json::is_string(named.get()) => json::respelt(named.get()),
        _ => "\"string\"".to_owned(),
    }
}

/// What texts of so many UTF-16 code units take, joined by newlines.
fn joined(units: impl IntoIterator<Item = usize>) -> usize {
    let mut joined = Joined::default();
    units.into_iter().for_each(|units| joined.add(units));
    joined.tokens()
}

/// Texts that are joined by newlines.
#[derive(Default)]
struct Joined {
    /// With a newline behind each.
    units: usize,
}

impl Joined {
    fn add(&mut self, units: usize) {
        self.units += units + 1;
    }

    fn tokens(&self) -> usize {
        self.units.saturating_sub(1).div_ceil(limits::CHARS_PER_TOKEN)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::catalog::VECTORS;
    use crate::catalog::fingerprint::Fingerprint;

    /// The tools of a vector, with the text of each schema.
    fn tools(case: &Value) -> Vec<(usize, usize, String)> {
        let tools = case["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| {
                let schema = tool["inputSchema"].to_string();
                let units = Fingerprint::of(None, Some(&schema)).schema_units;
                (json::utf16_len(tool["description"].as_str().unwrap()), units, schema)
            })
            .collect()
    }

    fn measured(tools: &[(usize, usize, String)]) -> Vec<Measured<'_>> {
        tools
            .iter()
            .map(|(description, schema, text)| Measured {
                description: *description,
                schema: *schema,
                deferrable: Some(text),
            })
            .collect()
    }

    fn with_budget(budget: f64) -> Disclosure {
        Disclosure {
            budget,
            ..Disclosure::default()
        }
    }

    #[test]
    fn tiers_are_those_of_the_reference() {
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        let cases = vectors["tiers"].as_array().unwrap();
        assert!(cases.len() > 6);
        for case in cases {
            let (id, number) = (&case["id"], |key: &str| {
                usize::try_from(case[key].as_u64().unwrap()).unwrap()
            });
            let tools = tools(case);
            let choice = with_budget(case["budget"].as_f64().unwrap()).choose(["s", "s"], &measured(&tools));
            assert_eq!(choice.tier.name(), case["mode"].as_str().unwrap(), "{id}");
            assert_eq!(choice.floor, number("catalogTokens"), "{id}");
            assert_eq!(
                catalog_tokens(tools.iter().map(|tool| tool.0)),
                number("catalogTokens"),
                "{id}"
            );
            let names: Vec<_> = tools.iter().map(|tool| deferred_schema(&tool.2)).collect();
            assert_eq!(
                joined(names.iter().map(|text| json::utf16_len(text))),
                number("namesTokens"),
                "{id}"
            );
            let everything = with_budget(f64::INFINITY).choose(["s", "s"], &measured(&tools));
            assert_eq!(everything.tokens, number("inlineTokens"), "{id}");
            match choice.tier {
                Tier::Inline => assert_eq!(choice.tokens, number("promptTokens"), "{id}"),
                Tier::Names => assert_eq!(choice.deferred, names, "{id}"),
                Tier::Bare => assert_eq!(choice.tokens, choice.floor, "{id}"),
            }
        }
    }

    #[test]
    fn deferred_schemas_are_those_of_the_reference() {
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        let cases = vectors["deferredSchemas"].as_array().unwrap();
        assert!(cases.len() > 10);
        for case in cases {
            let ours = deferred_schema(case["inputText"].as_str().unwrap_or("null"));
            let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(
                parsed(&ours),
                parsed(case["outputText"].as_str().unwrap()),
                "{}",
                case["id"]
            );
        }
    }

    #[test]
    fn estimates_are_those_of_the_reference() {
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        for case in vectors["estimateTokens"].as_array().unwrap() {
            let tokens = joined([json::utf16_len(case[0].as_str().unwrap())]);
            assert_eq!(tokens as u64, case[1].as_u64().unwrap(), "{case}");
        }
    }

    #[test]
    fn a_deferred_schema_keeps_the_order_of_the_server_and_no_prose() {
        for (schema, deferred) in [
            (
                r#"{"properties":{"z":{"type":"string"},"10":{"type":["null","x"]},"2":{"type":[]}},"type":"object"}"#,
                r#"{"type":"object","properties":{"z":{"type":"string"},"10":{"type":"null"},"2":{"type":"string"}}}"#,
            ),
            (
                r##"{"type":"object","$defs":{"F":{}},"properties":{"f":{"$ref":"#/$defs/F"}},"required":["f",1]}"##,
                r#"{"type":"object","properties":{"f":{"type":"string"}},"required":["f"]}"#,
            ),
            (
                r#"{"type":"object","properties":{"properties":{"type":"object"},"required":{"type":"array"},"$ref":{"type":7},"__proto__":{"type":"integer"}}}"#,
                r#"{"type":"object","properties":{"properties":{"type":"object"},"required":{"type":"array"},"$ref":{"type":"string"},"__proto__":{"type":"integer"}}}"#,
            ),
            (
                r#"{"type":"object","properties":{"\u0061":1,"b":1,"a":{"type":"\u0078"},"\ud800":{}},"required":"a"}"#,
                r#"{"type":"object","properties":{"a":{"type":"x"},"b":{"type":"string"},"\ud800":{"type":"string"}}}"#,
            ),
            (
                r#"{"type":"object","properties":{}}"#,
                r#"{"type":"object","properties":{}}"#,
            ),
            (r#"{"type":["object","null"],"properties":{"a":{}}}"#, NO_SCHEMA),
            ("true", NO_SCHEMA),
        ] {
            assert_eq!(deferred_schema(schema), deferred, "{schema}");
        }
        let deep = format!(
            r#"{{"type":"object","properties":{{"a":{}{}}}}}"#,
            "[".repeat(5_000),
            "]".repeat(5_000)
        );
        assert_eq!(
            deferred_schema(&deep),
            r#"{"type":"object","properties":{"a":{"type":"string"}}}"#
        );
    }

    #[test]
    fn a_deferred_description_ends_in_where_the_schema_is() {
        for (description, deferred) in [
            (
                r#""Pays. \ud800""#,
                r#""Pays. \ud800 Full input schema available via mcp__describe_tool.""#,
            ),
            (r#""""#, r#"" Full input schema available via mcp__describe_tool.""#),
            (
                r#""say \"hi\"""#,
                r#""say \"hi\" Full input schema available via mcp__describe_tool.""#,
            ),
        ] {
            assert_eq!(deferred_description(description), deferred);
        }
    }

    #[test]
    fn a_server_that_is_always_loaded_is_named_by_either_of_its_names() {
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        let tools = tools(&vectors["tiers"][5]);
        let disclosure = |name: &str| Disclosure {
            budget: 0.0,
            always_load: HashSet::from([name.to_owned()]),
        };
        for (name, tier) in [
            ("local", Tier::Inline),
            ("local_1kyxjh5", Tier::Inline),
            ("other", Tier::Bare),
        ] {
            let choice = disclosure(name).choose(["local", "local_1kyxjh5"], &measured(&tools));
            assert_eq!(choice.tier, tier, "{name}");
        }
    }

    #[test]
    fn a_server_without_tools_takes_nothing_and_fits_any_budget() {
        let choice = with_budget(0.0).choose(["s", "s"], &[]);
        assert_eq!((choice.tier, choice.tokens, choice.floor), (Tier::Inline, 0, 0));
    }

    #[test]
    fn what_is_not_deferrable_is_the_same_in_every_tier() {
        let mut tools = vec![Measured {
            description: 40,
            schema: 400,
            deferrable: None,
        }];
        assert_eq!(with_budget(0.0).choose(["s", "s"], &tools).tokens, 111);
        let text = r#"{"type":"object","properties":{"a":{"type":"string","description":"long"}}}"#;
        tools.push(Measured {
            description: 4,
            schema: text.len(),
            deferrable: Some(text),
        });
        let names = with_budget(120.0).choose(["s", "s"], &tools);
        assert_eq!((names.tier, names.deferred.len()), (Tier::Names, 2));
        let fixed = 40 + 1 + 400 + 1;
        let deferred = 4 + DEFERRED_SUFFIX.len() + 1 + deferred_schema(text).len();
        assert_eq!(names.tokens, (fixed + deferred).div_ceil(4));
    }
}
