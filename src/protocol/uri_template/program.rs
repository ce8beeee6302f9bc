//! A template as a small machine, and its run over one URI. The machine has no way back: which ends can be reached from
//! where is worked out first, from the end of the URI to its beginning, and then one way is walked. So the work is nodes
//! times bytes, whatever the URI is.

use std::ops::Range;

use super::parse::{Operator, Part};
use super::{is_encoded, is_reserved, is_unreserved};

#[derive(Clone, Debug)]
pub(super) struct Program {
    nodes: Vec<Node>,
    /// How many places variables have.
    slots: usize,
    /// What every matching URI begins with: looking at that is all that most URIs need.
    prefix: String,
}

/// Numbers are those of nodes. A node that takes nothing leads to a later one.
#[derive(Clone, Debug)]
enum Node {
    /// Takes this text.
    Text { text: String, next: usize },
    /// Takes one character.
    One { kind: Kind, next: usize },
    /// Takes characters, as many as can be.
    Run { kind: Kind, next: usize },
    /// A value begins.
    Begin { slot: usize, next: usize },
    /// A value ends.
    End { slot: usize, next: usize },
    /// The first way if it leads to the end, else the second.
    Either { first: usize, second: usize },
    /// The end of the template.
    Done,
}

/// The characters of a value.
#[derive(Clone, Copy, Debug)]
struct Kind {
    is_reserved: bool,
    /// One that is not among them all the same.
    without: Option<u8>,
}

impl Kind {
    /// How many bytes the character has that begins here; 0 for one of another kind.
    fn length(self, uri: &[u8], at: usize) -> usize {
        let Some(&byte) = uri.get(at) else {
            return 0;
        };
        if let Some(first) = encoded_byte(uri, at) {
            return encoded_length(first, uri, at);
        }
        let is_usual = is_unreserved(byte) || b":@!$'()*+".contains(&byte);
        let is_of_kind = is_usual || self.is_reserved && is_reserved(byte);
        usize::from(is_of_kind && self.without != Some(byte))
    }
}

/// How many bytes a character takes whose first byte is encoded: no value ends within one. What is no UTF-8 goes byte by
/// byte, and is found out when it is decoded.
fn encoded_length(first: u8, uri: &[u8], at: usize) -> usize {
    let bytes = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let is_whole = (1..bytes).all(|nth| matches!(encoded_byte(uri, at + 3 * nth), Some(0x80..=0xbf)));
    if is_whole { 3 * bytes } else { 3 }
}

fn encoded_byte(uri: &[u8], at: usize) -> Option<u8> {
    let digits = uri.get(at..at + 3).filter(|_| is_encoded(uri, at))?;
    u8::from_str_radix(std::str::from_utf8(digits.get(1..)?).ok()?, 16).ok()
}

impl Program {
    pub(super) fn of(parts: &[Part]) -> Self {
        let mut builder = Builder {
            nodes: Vec::new(),
            slots: 0,
        };
        for part in parts {
            match part {
                Part::Literal(text) => builder.text(text),
                Part::Expression(operator, names) => builder.expression(*operator, names),
            }
        }
        builder.nodes.push(Node::Done);
        let prefix = match parts.first() {
            Some(Part::Literal(text)) => text.clone(),
            _ => String::new(),
        };
        Self {
            nodes: builder.nodes,
            slots: builder.slots,
            prefix,
        }
    }

    /// Where the values stand, by slot; nothing when the URI does not match.
    pub(super) fn run(&self, uri: &[u8]) -> Option<Vec<Option<Range<usize>>>> {
        if !uri.starts_with(self.prefix.as_bytes()) {
            return None;
        }
        let reach = self.reach(uri);
        let mut captured: Vec<Option<Range<usize>>> = vec![None; self.slots];
        let (mut node, mut at) = (0, 0);
        if !reach.get(node, at) {
            return None;
        }
        loop {
            match self.nodes.get(node)? {
                Node::Text { text, next } => {
                    at += text.len();
                    node = *next;
                }
                Node::One { kind, next } => {
                    at += kind.length(uri, at);
                    node = *next;
                }
                Node::Run { kind, next } => {
                    let length = kind.length(uri, at);
                    if length > 0 && reach.get(node, at + length) {
                        at += length;
                    } else {
                        node = *next;
                    }
                }
                Node::Begin { slot, next } => {
                    let value = captured.get_mut(*slot)?;
                    // A parameter that is there twice.
                    if value.is_some() {
                        return None;
                    }
                    *value = Some(at..at);
                    node = *next;
                }
                Node::End { slot, next } => {
                    if let Some(value) = captured.get_mut(*slot)?.as_mut() {
                        value.end = at;
                    }
                    node = *next;
                }
                Node::Either { first, second } => node = if reach.get(*first, at) { *first } else { *second },
                Node::Done => return Some(captured),
            }
        }
    }

    /// How much work a URI of that length is.
    #[cfg(test)]
    pub(super) fn cells(&self, length: usize) -> usize {
        self.nodes.len() * (length + 1)
    }

    fn reach(&self, uri: &[u8]) -> Reach {
        let mut reach = Reach {
            width: self.nodes.len(),
            cells: vec![false; self.nodes.len() * (uri.len() + 1)],
        };
        for at in (0..=uri.len()).rev() {
            for (number, node) in self.nodes.iter().enumerate().rev() {
                let leads = match node {
                    Node::Text { text, next } => {
                        uri.get(at..).is_some_and(|rest| rest.starts_with(text.as_bytes()))
                            && reach.get(*next, at + text.len())
                    }
                    Node::One { kind, next } => {
                        let length = kind.length(uri, at);
                        length > 0 && reach.get(*next, at + length)
                    }
                    Node::Run { kind, next } => {
                        let length = kind.length(uri, at);
                        length > 0 && reach.get(number, at + length) || reach.get(*next, at)
                    }
                    Node::Begin { next, .. } | Node::End { next, .. } => reach.get(*next, at),
                    Node::Either { first, second } => reach.get(*first, at) || reach.get(*second, at),
                    Node::Done => at == uri.len(),
                };
                if leads {
                    reach.set(number, at);
                }
            }
        }
        reach
    }
}

/// From which nodes the end can be reached, by place.
struct Reach {
    width: usize,
    cells: Vec<bool>,
}

impl Reach {
    fn get(&self, node: usize, at: usize) -> bool {
        self.cells.get(at * self.width + node).copied().unwrap_or(false)
    }

    fn set(&mut self, node: usize, at: usize) {
        if let Some(cell) = self.cells.get_mut(at * self.width + node) {
            *cell = true;
        }
    }
}

/// Adds nodes, each leading to the one after it.
struct Builder {
    nodes: Vec<Node>,
    slots: usize,
}

/// A node whose second way is not known yet.
struct Open(usize);

impl Builder {
    fn next(&self) -> usize {
        self.nodes.len() + 1
    }

    fn text(&mut self, text: &str) {
        let next = self.next();
        self.nodes.push(Node::Text {
            text: text.to_owned(),
            next,
        });
    }

    /// The way straight on is the first one.
    fn either(&mut self) -> Open {
        let next = self.next();
        self.nodes.push(Node::Either {
            first: next,
            second: next,
        });
        Open(self.nodes.len() - 1)
    }

    /// The second way of a node leads to where the next one is added.
    fn close(&mut self, open: &Open) {
        let here = self.nodes.len();
        if let Some(Node::Either { second, .. }) = self.nodes.get_mut(open.0) {
            *second = here;
        }
    }

    fn value(&mut self, slot: usize, kind: Kind, least_one: bool) {
        let next = self.next();
        self.nodes.push(Node::Begin { slot, next });
        if least_one {
            let next = self.next();
            self.nodes.push(Node::One { kind, next });
        }
        let next = self.next();
        self.nodes.push(Node::Run { kind, next });
        let next = self.next();
        self.nodes.push(Node::End { slot, next });
    }

    fn expression(&mut self, operator: Operator, names: &[String]) {
        match operator {
            Operator::Simple => self.unnamed("", ',', false, names),
            Operator::Reserved => self.unnamed("", ',', true, names),
            Operator::Fragment => self.unnamed("#", ',', true, names),
            Operator::Label => self.unnamed(".", '.', false, names),
            Operator::Path => self.unnamed("/", '/', false, names),
            Operator::Parameter => self.named(";", ";", names),
            Operator::Query => self.named("?", "&", names),
            Operator::Continuation => self.named("&", "&", names),
        }
    }

    /// One value after the other. Those at the end may be missing; without a character before them not all may be empty.
    fn unnamed(&mut self, before: &str, between: char, is_reserved: bool, names: &[String]) {
        let mut open = Vec::new();
        if !before.is_empty() {
            open.push(self.either());
            self.text(before);
        }
        // Where a value ends that is empty, yet is not the only one.
        let mut after_empty = None;
        for index in 0..names.len() {
            if index > 0 {
                open.push(self.either());
                self.text(between.encode_utf8(&mut [0; 4]));
                let here = self.nodes.len();
                if let Some(Node::Text { next, .. }) = after_empty.take().and_then(|at| self.nodes.get_mut(at)) {
                    *next = here;
                }
            }
            let is_last = index + 1 == names.len();
            let kind = Kind {
                is_reserved,
                without: u8::try_from(between).ok().filter(|_| !is_last),
            };
            let slot = self.slots;
            self.slots += 1;
            let needs_some = before.is_empty() && index == 0;
            if needs_some && !is_last {
                let Open(empty) = self.either();
                let next = self.next();
                self.nodes.push(Node::Begin { slot, next });
                after_empty = Some(self.nodes.len());
                self.text(between.encode_utf8(&mut [0; 4]));
                let full = self.nodes.len();
                if let Some(Node::Either { first, .. }) = self.nodes.get_mut(empty) {
                    *first = full;
                }
            }
            self.value(slot, kind, needs_some);
        }
        for open in open {
            self.close(&open);
        }
    }

    /// Names with their values, in any order.
    fn named(&mut self, before: &str, between: &str, names: &[String]) {
        const VALUE: Kind = Kind {
            is_reserved: false,
            without: None,
        };
        let whole = self.either();
        self.text(before);
        let first_name = self.nodes.len();
        // What leads from the end of each pair to behind all of them.
        let mut ends = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let others = (index + 1 < names.len()).then(|| self.either());
            let slot = self.slots;
            self.slots += 1;
            self.text(name);
            if before == ";" {
                let without_value = self.either();
                self.text("=");
                self.value(slot, VALUE, false);
                ends.push(self.either());
                self.close(&without_value);
                // A name alone has an empty value.
                let next = self.next();
                self.nodes.push(Node::Begin { slot, next });
                ends.push(self.either());
            } else {
                self.text("=");
                self.value(slot, VALUE, false);
                ends.push(self.either());
            }
            if let Some(others) = others {
                self.close(&others);
            }
        }
        // Either another pair, or the end.
        let again = self.nodes.len();
        let end = again + 1;
        self.nodes.push(Node::Text {
            text: between.to_owned(),
            next: first_name,
        });
        for Open(pair) in ends {
            if let Some(Node::Either { first, second }) = self.nodes.get_mut(pair) {
                (*first, *second) = (again, end);
            }
        }
        self.close(&whole);
    }
}
