//! JSON text without a tree: reading single members, writing strings, joining and decoding. Order and spelling of what
//! passes through stay as they were written. Knows nothing of MCP.

pub(crate) mod canonical;
pub(crate) mod comments;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::limits;

/// The members of one JSON object, each value as the text it was sent as. A repeated member counts with its last value,
/// as `JSON.parse` has it. A key with a lone surrogate is kept with U+FFFD in its place: no member that we look for has one.
#[derive(Debug, Default)]
pub(crate) struct Object<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// Nothing when the text is not one JSON object.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        // A cheap look first: serde would accept any value and tell afterwards.
        if !text.trim_start().starts_with('{') {
            return None;
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let object = deserializer.deserialize_map(ObjectVisitor).ok()?;
        deserializer.end().ok()?;
        Some(object)
    }

    /// The same, with the objects of the array `list` read on the way: of each item its members, or nothing where it is no
    /// object. Nothing for the list where the member is no array.
    pub(crate) fn parse_with_list(text: &'a str, list: &str) -> Option<(Self, Option<Vec<Option<Self>>>)> {
        if let Some(all) = Self::parse_at_once(text, list) {
            return Some(all);
        }
        // What a reader in one go takes offence at, one at a time may well pass.
        let object = Self::parse(text)?;
        let items = object.array(list);
        let items = items.map(|items| items.into_iter().map(|item| Self::parse(item.get())).collect());
        Some((object, items))
    }

    fn parse_at_once(text: &'a str, list: &str) -> Option<(Self, Option<Vec<Option<Self>>>)> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let all = deserializer.deserialize_map(ListVisitor { list }).ok()?;
        deserializer.end().ok()?;
        Some(all)
    }

    /// The last value of a member; a member with `null` is there.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.members
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| *value)
    }

    /// A member that is there and not `null`.
    pub(crate) fn present(&self, key: &str) -> Option<&'a RawValue> {
        self.get(key).filter(|value| value.get() != "null")
    }

    /// A member that is a string of valid Unicode.
    pub(crate) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        string(self.get(key)?.get())
    }

    pub(crate) fn object(&self, key: &str) -> Option<Object<'a>> {
        Object::parse(self.get(key)?.get())
    }

    pub(crate) fn array(&self, key: &str) -> Option<Vec<&'a RawValue>> {
        array(self.get(key)?.get())
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

/// The members of a JSON object in their order, a repeated one in its first place with its last value, as JavaScript has
/// it. Each name is a literal in the spelling of `JSON.stringify`, so that lone surrogates are kept.
pub(crate) fn distinct_members(text: &str) -> Option<Vec<(String, &RawValue)>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = deserializer.deserialize_map(LiteralsVisitor).ok()?;
    deserializer.end().ok()?;
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut distinct: Vec<(String, &RawValue)> = Vec::new();
    for (name, value) in members {
        let name = respelt(name.get());
        let place = *places.entry(name.clone()).or_insert(distinct.len());
        match distinct.get_mut(place) {
            Some(earlier) => earlier.1 = value,
            None => distinct.push((name, value)),
        }
    }
    Some(distinct)
}

/// A string literal in the spelling of `JSON.stringify`.
pub(crate) fn respelt(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len());
    canonical::write_literal(body(literal), &mut out);
    out
}

/// What stands between the quotes of a string literal.
pub(crate) fn body(literal: &str) -> &str {
    literal
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or_default()
}

/// The items of a JSON array, each as the text it was sent as; nothing when the text is no array.
pub(crate) fn array(text: &str) -> Option<Vec<&RawValue>> {
    if !text.trim_start().starts_with('[') {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// A JSON string literal as text; nothing when it is no string, or no valid Unicode.
pub(crate) fn string(text: &str) -> Option<Cow<'_, str>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = deserializer.deserialize_str(CowVisitor).ok()?;
    deserializer.end().ok()?;
    Some(value)
}

/// A JSON string literal as text, with U+FFFD for each lone surrogate; nothing when it is no string.
pub(crate) fn string_lossy(text: &str) -> Option<Cow<'_, str>> {
    if let Some(valid) = string(text) {
        return Some(valid);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let bytes = deserializer.deserialize_bytes(BytesVisitor).ok()?;
    deserializer.end().ok()?;
    Some(Cow::Owned(without_surrogates(bytes)))
}

/// A surrogate takes three bytes here, as U+FFFD does.
fn without_surrogates(mut bytes: Vec<u8>) -> String {
    const REPLACEMENT: &[u8; 3] = b"\xef\xbf\xbd";
    for at in 0..bytes.len() {
        if let Some([0xed, 0xa0..=0xbf, _]) = bytes.get(at..at + 3)
            && let Some(surrogate) = bytes.get_mut(at..at + 3)
        {
            surrogate.copy_from_slice(REPLACEMENT);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How many UTF-16 code units a text has, which is what JavaScript calls its length.
pub(crate) fn utf16_len(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let count = |is: fn(u8) -> bool| text.bytes().filter(|byte| is(*byte)).count();
    // Characters, by their first bytes; those of four bytes are two units.
    count(|byte| byte & 0xc0 != 0x80) + count(|byte| byte >= 0xf0)
}

/// How many UTF-16 code units a string literal stands for.
pub(crate) fn literal_utf16_len(literal: &str) -> usize {
    let body = body(literal);
    if body.contains('\\') {
        canonical::units(body).count()
    } else {
        utf16_len(body)
    }
}

/// Whether the text of a JSON value is a string literal.
pub(crate) fn is_string(text: &str) -> bool {
    text.starts_with('"')
}

/// Text as a JSON string literal.
pub(crate) fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a string always has a JSON form")
}

/// Text as a string literal for a message: what hides or reorders other text is spelt out.
pub(crate) fn quote_visibly(text: &str) -> String {
    visibly(&quote(text))
}

/// A text for a message, without what hides or reorders other text: its code points stand in its place.
pub(crate) fn visibly(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if is_invisible(char) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(char));
        } else {
            out.push(char);
        }
    }
    out
}

/// Controls, marks of direction, joiners, spaces of no width, tags, and the ends of lines that JSON lets pass.
fn is_invisible(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The beginning of a text that may be long, as a JSON string literal: for messages.
pub(crate) fn quote_short(text: &str) -> String {
    match text.char_indices().nth(limits::QUOTED_CHARS) {
        Some((end, _)) => quote(&format!("{}…", text.get(..end).unwrap_or_default())),
        None => quote(text),
    }
}

/// Whether the arrays and objects of a JSON text are nested more deeply than that.
pub(crate) fn is_deeper_than(text: &str, limit: usize) -> bool {
    // What opens too rarely cannot be deep, whatever of it stands in strings: that is quickly seen.
    let opens = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    opens > limit && depth(text) > limit
}

/// How deeply they are.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// String literals joined by a separator literal's body (already escaped), as one string literal. The texts are not
/// decoded, so a lone surrogate reaches the other side as it was sent.
pub(crate) fn join_literals<'a>(literals: impl IntoIterator<Item = &'a str>, escaped_separator: &str) -> String {
    let mut out = String::from('"');
    for (index, literal) in literals.into_iter().enumerate() {
        if index > 0 {
            out.push_str(escaped_separator);
        }
        out.push_str(
            literal
                .trim()
                .trim_start_matches('"')
                .strip_suffix('"')
                .unwrap_or_default(),
        );
    }
    out.push('"');
    out
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key_seed(KeySeed)? {
            members.push((key, map.next_value::<&'de RawValue>()?));
        }
        Ok(Object { members })
    }
}

struct ListVisitor<'a> {
    list: &'a str,
}

impl<'de> Visitor<'de> for ListVisitor<'_> {
    type Value = (Object<'de>, Option<Vec<Option<Object<'de>>>>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        let mut items = None;
        while let Some(key) = map.next_key_seed(KeySeed)? {
            if key == self.list {
                let found: Vec<Item<'de>> = map.next_value()?;
                items = Some(found.into_iter().map(|item| item.0).collect());
            } else {
                members.push((key, map.next_value::<&'de RawValue>()?));
            }
        }
        Ok((Object { members }, items))
    }
}

/// An item of a list: the members of an object, or nothing for anything else.
struct Item<'a>(Option<Object<'a>>);

impl<'de> Deserialize<'de> for Item<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        ObjectVisitor.visit_map(map).map(|object| Item(Some(object)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Item(None))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Item(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Item(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Item(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Item(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Item(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Item(None))
    }
}

struct LiteralsVisitor;

impl<'de> Visitor<'de> for LiteralsVisitor {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // As bytes: a lone surrogate in some key must not cost the whole object.
        deserializer.deserialize_bytes(LossyVisitor)
    }
}

struct LossyVisitor;

impl<'de> Visitor<'de> for LossyVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(String::from_utf8_lossy(bytes))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

struct CowVisitor;

impl<'de> Visitor<'de> for CowVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(bytes.to_vec())
    }
}

/// Parses a whole text as any serde type, or nothing.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// Whether a text is the beginning of JSON and ends too early. No text at all is not the beginning of anything.
pub(crate) fn breaks_off(text: &str) -> bool {
    !text.trim().is_empty() && serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

#[cfg(test)]
mod tests;
