//! JSON values that count how often a validator looks at them, and end the validation when that gets too much. A
//! validator cannot be told to stop: it is left by unwinding, without a panic message, and [`run`] is where that ends.
//! Knows nothing of schemas but what `schema_cost` found out.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, cmp};
use serde_json::{Map, Number, Value, map};

use crate::catalog::schema_cost::{EXTREME_DIVISION, SchemaCost, is_extreme};
use crate::json;

/// Runs a validation of `value` with at most `steps` steps; nothing when they were not enough, or the validator panicked.
pub(super) fn run<T>(
    value: &Value,
    cost: SchemaCost,
    steps: u64,
    validation: impl FnOnce(Metered<'_>) -> T,
) -> Option<T> {
    let meter = Meter {
        cost,
        left: Cell::new(steps),
    };
    // What the unwinding leaves half done, the validation's own state and the meter, is dropped here.
    panic::catch_unwind(AssertUnwindSafe(|| validation(Metered { value, meter: &meter }))).ok()
}

/// The representation of JSON, as the validator wants it.
pub(super) struct MeteredJson;

/// A value and the meter that everything below it shares.
#[derive(Clone, Copy)]
pub(super) struct Metered<'a> {
    value: &'a Value,
    meter: &'a Meter,
}

struct Meter {
    cost: SchemaCost,
    left: Cell<u64>,
}

/// What the validation is left with.
struct Exhausted;

impl Meter {
    fn look(&self) {
        self.spend(self.cost.look);
    }

    fn spend(&self, steps: u64) {
        match self.left.get().checked_sub(steps) {
            Some(left) => self.left.set(left),
            None => panic::resume_unwind(Box::new(Exhausted)),
        }
    }

    /// Text that is read once, with so many thousandths of a step for each byte.
    fn read(&self, text: &str, work: u64) {
        let bytes = text.len() as u64;
        let pattern = bytes.saturating_add(1).saturating_mul(work) / 1_000;
        self.spend((bytes / BYTES_PER_STEP).saturating_add(pattern));
    }

    /// Equality with what the schema holds, step by step.
    fn equal(&self, value: &Value, expected: &Value) -> bool {
        self.look();
        match (value, expected) {
            (Value::Array(left), Value::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| self.equal(left, right))
            }
            (Value::Object(left), Value::Object(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .all(|(key, left)| right.get(key).is_some_and(|right| self.equal(left, right)))
            }
            (Value::String(left), Value::String(right)) => {
                self.read(left, 0);
                left == right
            }
            (left, right) => cmp::equal(left, right),
        }
    }

    /// Text that two values share exactly if JSON Schema holds them for equal.
    fn write_canonical(&self, value: &Value, out: &mut String) {
        self.spend(STEPS_PER_CANONICAL_VALUE);
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
            Value::Number(number) => write_number(number, out),
            Value::String(text) => {
                self.read(text, CANONICAL_TEXT);
                out.push_str(&json::quote(text));
            }
            Value::Array(items) => {
                out.push('[');
                for item in items {
                    self.write_canonical(item, out);
                    out.push(',');
                }
                out.push(']');
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(key, _)| key.as_str());
                out.push('{');
                for (key, value) in members {
                    self.read(key, CANONICAL_TEXT);
                    out.push_str(&json::quote(key));
                    out.push(':');
                    self.write_canonical(value, out);
                    out.push(',');
                }
                out.push('}');
            }
        }
    }
}

/// A whole number looks the same however it was written.
fn write_number(number: &Number, out: &mut String) {
    let whole = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0);
    let written = match whole {
        // Also `-0.0`.
        Some(0.0) => out.write_str("0"),
        Some(float) => write!(out, "{float:.0}"),
        None => write!(out, "{number}"),
    };
    written.expect("a string takes all text");
}

impl Json for MeteredJson {
    type Node<'a> = Metered<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    const KEYS_PER_LOOKUP: usize = 2;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    /// Never called, as names are handed over by [`Object::try_for_each_name_node`]; without a meter nothing is allowed.
    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Metered<'_>) -> T) -> T {
        let meter = Meter {
            cost: SchemaCost::NONE,
            left: Cell::new(0),
        };
        f(Metered {
            value: &Value::from(string),
            meter: &meter,
        })
    }
}

impl<'a> Node<'a, MeteredJson> for Metered<'a> {
    type Object = MeteredObject<'a>;
    type Array = MeteredArray<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<MeteredObject<'a>> {
        self.meter.look();
        self.value.as_object().map(|members| MeteredObject {
            members,
            meter: self.meter,
        })
    }

    fn as_array(&self) -> Option<MeteredArray<'a>> {
        self.meter.look();
        self.value.as_array().map(|items| MeteredArray {
            items,
            meter: self.meter,
        })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.meter.look();
        let text = self.value.as_str()?;
        self.meter.read(text, self.meter.cost.string);
        Some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.meter.look();
        let number = self.value.as_number()?;
        if self.meter.cost.number > 0 {
            let extreme = number.as_f64().is_some_and(is_extreme);
            self.meter.spend(if extreme {
                EXTREME_DIVISION
            } else {
                self.meter.cost.number
            });
        }
        Some(number)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.meter.look();
        self.value.as_bool()
    }

    fn is_null(&self) -> bool {
        self.meter.look();
        self.value.is_null()
    }

    fn json_type(&self) -> JsonType {
        self.meter.look();
        match self.value {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn string_length(&self) -> Option<u64> {
        self.meter.look();
        let text = self.value.as_str()?;
        self.meter.read(text, 0);
        Some(text.chars().count() as u64)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        self.meter.equal(self.value, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        self.meter.look();
        Cow::Borrowed(self.value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        self.meter.look();
        Some(NodeIdentity::new(std::ptr::from_ref(self.value).addr()))
    }
}

/// The members of an object; looking one up is a look, and so is each one that passes by.
pub(super) struct MeteredObject<'a> {
    members: &'a Map<String, Value>,
    meter: &'a Meter,
}

impl<'a> Object<'a, MeteredJson> for MeteredObject<'a> {
    type Node = Metered<'a>;
    type MemberName = &'a str;
    type MembersIter = MeteredMembers<'a>;

    fn len(&self) -> usize {
        self.meter.spend(self.members.len() as u64 / COUNTED_PER_STEP);
        self.members.len()
    }

    fn get(&self, key: &String) -> Option<Metered<'a>> {
        self.meter.look();
        self.members.get(key).map(|value| Metered {
            value,
            meter: self.meter,
        })
    }

    fn members(&self) -> MeteredMembers<'a> {
        self.meter.look();
        MeteredMembers {
            members: self.members.iter(),
            meter: self.meter,
        }
    }

    fn try_for_each_name_node<B>(
        &self,
        (): &mut (),
        mut f: impl FnMut(Metered<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for name in self.members.keys() {
            self.meter.look();
            self.meter.read(name, CANONICAL_TEXT);
            f(Metered {
                value: &Value::from(name.as_str()),
                meter: self.meter,
            })?;
        }
        ControlFlow::Continue(())
    }
}

pub(super) struct MeteredMembers<'a> {
    members: map::Iter<'a>,
    meter: &'a Meter,
}

impl<'a> Iterator for MeteredMembers<'a> {
    type Item = (&'a str, Metered<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.members.next()?;
        self.meter.look();
        self.meter.read(name, self.meter.cost.name);
        Some((
            name,
            Metered {
                value,
                meter: self.meter,
            },
        ))
    }
}

/// The items of an array; each one that passes by is a look.
pub(super) struct MeteredArray<'a> {
    items: &'a [Value],
    meter: &'a Meter,
}

impl<'a> Array<'a, MeteredJson> for MeteredArray<'a> {
    type Node = Metered<'a>;
    type ElementsIter = MeteredItems<'a>;

    fn len(&self) -> usize {
        self.meter.spend(self.items.len() as u64 / COUNTED_PER_STEP);
        self.items.len()
    }

    fn elements(&self) -> MeteredItems<'a> {
        self.meter.look();
        MeteredItems {
            items: self.items.iter(),
            meter: self.meter,
        }
    }

    /// By exact text: the hash that the validator would take puts `[1]` and `[[1]]` into one bucket.
    fn is_unique(&self) -> bool {
        let mut seen = HashSet::new();
        self.items.iter().all(|item| {
            self.meter.spend(STEPS_PER_CANONICAL_ITEM);
            let mut text = String::new();
            self.meter.write_canonical(item, &mut text);
            seen.insert(text)
        })
    }
}

pub(super) struct MeteredItems<'a> {
    items: std::slice::Iter<'a, Value>,
    meter: &'a Meter,
}

impl<'a> Iterator for MeteredItems<'a> {
    type Item = Metered<'a>;

    fn next(&mut self) -> Option<Metered<'a>> {
        let value = self.items.next()?;
        self.meter.look();
        Some(Metered {
            value,
            meter: self.meter,
        })
    }
}

/// How many bytes of text are compared or counted in the time of one step.
const BYTES_PER_STEP: u64 = 64;
/// A length is asked for to make room for a mark per member or item.
const COUNTED_PER_STEP: u64 = 64;
/// Thousandths of a step for copying and hashing a byte of text.
const CANONICAL_TEXT: u64 = 200;
/// Writing a value into a text.
const STEPS_PER_CANONICAL_VALUE: u64 = 15;
/// Making such a text and keeping it.
const STEPS_PER_CANONICAL_ITEM: u64 = 60;
