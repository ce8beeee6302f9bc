//! JSON text in canonical form: no white space, members sorted by UTF-16 code units with the last of repeated ones kept,
//! scalars as `JSON.stringify` prints them. The same with the members in JavaScript's order. Works on the text alone, with a stack of its own, so that depth, odd numbers
//! and lone surrogates cost nothing. Knows nothing of what the text means.

mod literal;

use std::cmp::Ordering;

pub(crate) use literal::{units, write_literal};

/// Appends the canonical form of a JSON text. Nothing for a text of more than four gigabytes, and for one that shows itself
/// not to be JSON: it is read, not checked. What was appended until then stays.
pub(crate) fn write_canonical(text: &str, out: &mut String) -> Option<()> {
    write(text, Order::Canonical, out)
}

/// Appends a JSON text as JavaScript would print what it read from it. Otherwise like `write_canonical`.
pub(crate) fn write_stringified(text: &str, out: &mut String) -> Option<()> {
    write(text, Order::JavaScript, out)
}

/// In which order the members of an object are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// By UTF-16 code units.
    Canonical,
    /// Array indices by number, then all others as they came first.
    JavaScript,
}

fn write(text: &str, order: Order, out: &mut String) -> Option<()> {
    let index = Index::of(text, order)?;
    Writer {
        text,
        index: &index,
        at: 0,
        object: 0,
        open: Vec::new(),
    }
    .write(out)
}

/// Where the members of all objects of a text are, sorted per object. Arrays need no index: they keep their order.
#[derive(Default)]
struct Index {
    /// In the order in which they open.
    objects: Vec<Object>,
    members: Vec<Member>,
}

#[derive(Clone, Copy, Default)]
struct Object {
    first_member: u32,
    end_member: u32,
    /// Behind its closing brace.
    end: u32,
    /// How many objects open before that.
    objects_before_end: u32,
}

#[derive(Clone, Copy)]
struct Member {
    /// Where its literal begins and ends, without the quotes.
    key: Key,
    value: u32,
    /// How many objects open before the value.
    objects_before: u32,
}

#[derive(Clone, Copy)]
struct Key {
    start: u32,
    end: u32,
    has_escape: bool,
}

/// A container that is being indexed.
struct Open {
    /// Nothing for an array.
    object: Option<OpenObject>,
}

struct OpenObject {
    id: usize,
    /// Where its members begin among those that wait.
    members: usize,
    awaits_key: bool,
}

impl Index {
    fn of(text: &str, order: Order) -> Option<Self> {
        let bytes = text.as_bytes();
        let usual = (bytes.len() / USUAL_MEMBER_BYTES).min(USUAL);
        let mut index = Self {
            objects: Vec::with_capacity(usual),
            members: Vec::with_capacity(usual),
        };
        let mut waiting: Vec<Member> = Vec::with_capacity(usual);
        let mut open: Vec<Open> = Vec::with_capacity(USUAL_DEPTH);
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    let (body, has_escape) = literal::body(bytes, at)?;
                    at = body.end;
                    if let Some(Open { object: Some(object) }) = open.last_mut()
                        && std::mem::take(&mut object.awaits_key)
                    {
                        waiting.push(Member {
                            key: Key {
                                start: place(body.start)?,
                                end: place(body.end)?,
                                has_escape,
                            },
                            value: 0,
                            objects_before: 0,
                        });
                    }
                }
                b':' => {
                    let member = waiting.last_mut()?;
                    member.value = place(at + 1)?;
                    member.objects_before = place(index.objects.len())?;
                }
                b',' => {
                    if let Some(Open { object: Some(object) }) = open.last_mut() {
                        object.awaits_key = true;
                    }
                }
                b'{' => {
                    open.push(Open {
                        object: Some(OpenObject {
                            id: index.objects.len(),
                            members: waiting.len(),
                            awaits_key: true,
                        }),
                    });
                    index.objects.push(Object::default());
                }
                b'[' => open.push(Open { object: None }),
                b'}' => {
                    let object = open.pop()?.object?;
                    index.close(text, order, &object, &mut waiting, at + 1)?;
                }
                b']' if open.pop()?.object.is_some() => return None,
                _ => {}
            }
            at += 1;
        }
        Some(index)
    }

    fn close(
        &mut self,
        text: &str,
        order: Order,
        object: &OpenObject,
        waiting: &mut Vec<Member>,
        end: usize,
    ) -> Option<()> {
        let members = waiting.get_mut(object.members..)?;
        // Stable, so that of repeated members the last one stays last.
        members.sort_by(|a, b| compare(text, a.key, b.key));
        let first_member = place(self.members.len())?;
        let mut last_key: Option<Key> = None;
        for mut member in waiting.drain(object.members..) {
            if let Some(first) = last_key.filter(|key| compare(text, *key, member.key).is_eq()) {
                self.members.pop();
                // Its place is that of the first one.
                member.key = first;
            }
            last_key = Some(member.key);
            self.members.push(member);
        }
        if order == Order::JavaScript {
            let members = self.members.get_mut(usize::try_from(first_member).ok()?..)?;
            members.sort_by_cached_key(|member| {
                let index = array_index(text, member.key);
                (index.is_none(), index, member.key.start)
            });
        }
        let objects_before_end = place(self.objects.len())?;
        let end_member = place(self.members.len())?;
        *self.objects.get_mut(object.id)? = Object {
            first_member,
            end_member,
            end: place(end)?,
            objects_before_end,
        };
        Some(())
    }
}

/// Copies values from place to place.
struct Writer<'a> {
    text: &'a str,
    index: &'a Index,
    at: usize,
    /// Which object opens next.
    object: usize,
    open: Vec<Frame>,
}

enum Frame {
    Array,
    Object { object: Object, next: u32 },
}

impl Writer<'_> {
    fn write(mut self, out: &mut String) -> Option<()> {
        loop {
            if self.value(out)? {
                continue;
            }
            // A value has ended: what comes next is up to the container that it is in.
            loop {
                match self.open.last_mut() {
                    None => {
                        self.white_space();
                        return (self.at == self.text.len()).then_some(());
                    }
                    Some(Frame::Array) => {
                        self.white_space();
                        match self.take()? {
                            b',' => {
                                out.push(',');
                                break;
                            }
                            b']' => {
                                out.push(']');
                                self.open.pop();
                            }
                            _ => return None,
                        }
                    }
                    Some(Frame::Object { object, next }) if *next < object.end_member => {
                        let (member, is_first) = (*next, *next == object.first_member);
                        *next += 1;
                        if !is_first {
                            out.push(',');
                        }
                        self.member(member, out)?;
                        break;
                    }
                    Some(Frame::Object { object, .. }) => {
                        self.at = usize::try_from(object.end).ok()?;
                        self.object = usize::try_from(object.objects_before_end).ok()?;
                        out.push('}');
                        self.open.pop();
                    }
                }
            }
        }
    }

    /// Writes one scalar or the beginning of an array; true when another value follows at once.
    fn value(&mut self, out: &mut String) -> Option<bool> {
        self.white_space();
        let start = self.at;
        match self.take()? {
            b'"' => {
                let (body, has_escape) = literal::body(self.text.as_bytes(), start)?;
                self.at = body.end + 1;
                out.push('"');
                literal::write_body(self.text.get(body)?, has_escape, out);
                out.push('"');
            }
            b'[' => {
                out.push('[');
                self.open.push(Frame::Array);
                self.white_space();
                // An empty one ends where values end.
                return Some(self.text.as_bytes().get(self.at) != Some(&b']'));
            }
            b'{' => {
                out.push('{');
                let object = *self.index.objects.get(self.object)?;
                self.open.push(Frame::Object {
                    object,
                    next: object.first_member,
                });
            }
            b't' | b'f' | b'n' => {
                self.word();
                let word = self.text.get(start..self.at)?;
                if !matches!(word, "true" | "false" | "null") {
                    return None;
                }
                out.push_str(word);
            }
            b'-' | b'0'..=b'9' => {
                self.word();
                write_number(self.text.get(start..self.at)?, out)?;
            }
            _ => return None,
        }
        Some(false)
    }

    fn member(&mut self, member: u32, out: &mut String) -> Option<()> {
        let member = self.index.members.get(usize::try_from(member).ok()?)?;
        // A key without a colon has no value.
        if member.value <= member.key.end {
            return None;
        }
        out.push('"');
        literal::write_body(slice(self.text, member.key)?, member.key.has_escape, out);
        out.push_str("\":");
        self.at = usize::try_from(member.value).ok()?;
        self.object = usize::try_from(member.objects_before).ok()?;
        Some(())
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.text.as_bytes().get(self.at)?;
        self.at += 1;
        Some(*byte)
    }

    fn white_space(&mut self) {
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    fn word(&mut self) {
        self.skip(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    }

    fn skip(&mut self, which: impl Fn(u8) -> bool) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| !which(*byte)).unwrap_or(rest.len());
    }
}

/// A key that JavaScript takes for the place of an item.
fn array_index(text: &str, key: Key) -> Option<u32> {
    const LONGEST: usize = 10;
    let written = slice(text, key)?;
    let mut name = String::new();
    if key.has_escape {
        literal::write_body(written, true, &mut name);
    } else if written.len() <= LONGEST {
        name.push_str(written);
    }
    let is_plain = name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    name.parse().ok().filter(|index| is_plain && *index != u32::MAX)
}

/// A number as a double, in its shortest spelling; one that no double can hold is `null`.
fn write_number(text: &str, out: &mut String) -> Option<()> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if (1..=EXACT_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) && text != "-0" {
        out.push_str(text);
        return Some(());
    }
    let number: f64 = text.parse().ok()?;
    if number.is_finite() {
        out.push_str(ryu_js::Buffer::new().format_finite(number));
    } else {
        out.push_str("null");
    }
    Some(())
}

/// For how many members and objects there is room at first, where the text is long enough to have them.
const USUAL: usize = 64;
/// How much text there is in a schema for each member.
const USUAL_MEMBER_BYTES: usize = 20;
const USUAL_DEPTH: usize = 8;
/// How many digits every double keeps.
const EXACT_DIGITS: usize = 15;

fn compare(text: &str, a: Key, b: Key) -> Ordering {
    let body = |key| slice(text, key).unwrap_or_default();
    literal::compare(body(a), body(b), a.has_escape || b.has_escape)
}

fn slice(text: &str, key: Key) -> Option<&str> {
    text.get(usize::try_from(key.start).ok()?..usize::try_from(key.end).ok()?)
}

fn place(at: usize) -> Option<u32> {
    u32::try_from(at).ok()
}

#[cfg(test)]
mod tests;
