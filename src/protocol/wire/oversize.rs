//! Reads, from a message that is too long to keep, the one thing worth knowing: which request it answers. The bytes
//! stream by and nothing of them is kept.

use crate::json;
use crate::protocol::message::Id;

/// Finds the top-level `id` of an answer, wherever it stands in the message.
#[derive(Debug, Default)]
pub(crate) struct IdFinder {
    depth: u64,
    within: Within,
    /// At the top level: whether a value comes next, not a key.
    in_value: bool,
    key: Short,
    value: Short,
    id: Option<u64>,
    is_request: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum Within {
    #[default]
    Structure,
    Text,
    /// After a backslash.
    Escape,
}

/// The beginning of a key or a value: as much as decides.
#[derive(Debug, Default)]
struct Short {
    bytes: Vec<u8>,
    cut: bool,
}

impl IdFinder {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The number of the request that was answered, once the whole message went by.
    pub(crate) fn id(&self) -> Option<u64> {
        self.id.filter(|_| !self.is_request && self.depth == 0)
    }

    fn step(&mut self, byte: u8) {
        match (self.within, byte) {
            (Within::Structure, _) => return self.step_structure(byte),
            (Within::Text, b'"') => self.within = Within::Structure,
            (Within::Text, b'\\') => self.within = Within::Escape,
            (Within::Text, _) => {}
            (Within::Escape, _) => self.within = Within::Text,
        }
        if self.depth == 1 {
            self.part().push(byte);
        }
    }

    fn step_structure(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.within = Within::Text;
                if self.depth == 1 {
                    // A key starts anew, and a value that is a text does with its quote.
                    self.part().clear();
                    self.part().push(byte);
                }
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => {
                self.end_member();
                self.in_value = false;
            }
            b':' if self.depth == 1 => {
                self.in_value = true;
                self.value.clear();
            }
            _ if self.depth == 1 && self.in_value => self.value.push(byte),
            _ => {}
        }
    }

    fn part(&mut self) -> &mut Short {
        if self.in_value { &mut self.value } else { &mut self.key }
    }

    fn end_member(&mut self) {
        if self.key.is(b"\"id\"") {
            self.id = self.value.id();
        } else if self.key.is(b"\"method\"") {
            self.is_request = true;
        }
        self.key.clear();
    }
}

impl Short {
    fn push(&mut self, byte: u8) {
        if self.bytes.len() < LONGEST_PART {
            self.bytes.push(byte);
        } else {
            self.cut = true;
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.cut = false;
    }

    fn is(&self, text: &[u8]) -> bool {
        !self.cut && self.bytes == text
    }

    /// As ids are read elsewhere: some servers write a number as a text, or with a fraction of zero.
    fn id(&self) -> Option<u64> {
        let text = std::str::from_utf8(&self.bytes).ok().filter(|_| !self.cut)?;
        Id::new(json::parse(text)?)?.number()
    }
}

/// Longer than any key that is looked for, and than any number that is an id of ours, white space and all.
const LONGEST_PART: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> Option<u64> {
        let mut whole = IdFinder::default();
        whole.feed(text.as_bytes());
        let mut split = IdFinder::default();
        text.as_bytes().chunks(1).for_each(|byte| split.feed(byte));
        assert_eq!(whole.id(), split.id());
        whole.id()
    }

    #[test]
    fn the_id_of_an_answer_is_found_wherever_it_stands() {
        for (text, id) in [
            (r#"{"id":7,"result":{"id":8,"x":["}",{"id":9}]}}"#, Some(7)),
            (
                r#"{"result":{"text":"a\"id\":1,\\"},"jsonrpc":"2.0" , "id" : 12 }"#,
                Some(12),
            ),
            (r#"{"error":{"code":1},"id":0}"#, Some(0)),
            (r#"{"id":1,"result":{},"id":2}"#, Some(2)),
            (r#"{"id":"7","result":{}}"#, Some(7)),
            (r#"{"result":"\\\"}","id" : "12" }"#, Some(12)),
            (r#"{"id":7.0,"result":{}}"#, Some(7)),
        ] {
            assert_eq!(find(text), id, "{text}");
        }
    }

    #[test]
    fn what_answers_nothing_of_ours_has_no_id() {
        for text in [
            "",
            r#"{"id":7,"method":"ping"}"#,
            r#"{"id":"seven","result":{}}"#,
            r#"{"id":"7","method":"ping"}"#,
            r#"{"id":"\"7","result":{}}"#,
            r#"{"id":"12345678901234567890123456789012345","result":{}}"#,
            r#"{"id":"","result":{}}"#,
            r#"{"id":null,"result":{}}"#,
            r#"{"id":[7],"result":{}}"#,
            r#"{"result":{"id":7}}"#,
            r#"["id",7]"#,
            r#"{"id":7,"result":{"#,
            r#"{"id":1234567890123456789012345678901234567890,"result":{}}"#,
            "}}}]:,\"id\":7",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
