//! A text's canonical form is a fixed point, says what the text says, and has its members in order; and whatever a schema
//! is deferred to is a schema.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::catalog::disclosure;
use crate::json::canonical;

/// `canonical` makes the canonical form of a text; another function than `ours` is a broken one.
pub(crate) fn run(data: &[u8], canonical: impl Fn(&str) -> Option<String>) {
    let text = String::from_utf8_lossy(data);
    let form = canonical(&text);
    // Of what is not JSON nothing is promised but that it ends.
    if serde_json::from_str::<&RawValue>(&text).is_err() {
        return;
    }
    let form = form.unwrap_or_else(|| panic!("{text:?} has no canonical form"));
    assert_eq!(canonical(&form).as_deref(), Some(form.as_str()), "{text:?}");
    let deferred = disclosure::deferred_schema(&text);
    assert!(serde_json::from_str::<&RawValue>(&deferred).is_ok(), "{deferred}");
    assert_eq!(disclosure::deferred_schema(&deferred), deferred, "{text:?}");
    // A tree holds less than a text: no half characters, no deep nesting, no number beyond a double.
    let (Ok(before), Ok(after)) = (
        serde_json::from_str::<Value>(&text),
        serde_json::from_str::<Value>(&form),
    ) else {
        return;
    };
    assert!(same(&before, &after), "{text:?} became {form:?}");
    in_order(&after);
}

/// What the core does.
pub(crate) fn ours(text: &str) -> Option<String> {
    let mut out = String::new();
    canonical::write_canonical(text, &mut out).map(|()| out)
}

/// The same value, numbers compared as doubles.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

fn in_order(value: &Value) {
    match value {
        Value::Object(members) => {
            let keys: Vec<Vec<u16>> = members.keys().map(|key| key.encode_utf16().collect()).collect();
            assert!(keys.is_sorted(), "{value}");
            members.values().for_each(in_order);
        }
        Value::Array(items) => items.iter().for_each(in_order),
        _ => {}
    }
}
