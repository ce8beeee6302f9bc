//! What matching a regular expression can cost, by its text alone. What is wrong with a pattern is the business of whoever
//! compiles it.

/// Thousandths of a step for each byte of the text that a pattern is matched with. A small machine is built once and for
/// all; a larger one is built while it runs, and at its worst has a new state to make for each byte.
pub(super) fn work(pattern: &str) -> u64 {
    let states = states(pattern);
    if states <= SMALL || (states <= STRAIGHT && is_straight(pattern)) {
        SMALL_WORK
    } else {
        states.saturating_mul(WORK_PER_STATE).saturating_add(BUILDING_WORK)
    }
}

/// Whether a pattern begins with the text and leaves no choice, as that of a date or an UUID.
fn is_straight(pattern: &str) -> bool {
    pattern.starts_with('^') && !pattern.contains(['|', '*', '+', '?', ','])
}

/// How many states the machine for a pattern has, rather too many than too few.
pub(super) fn states(pattern: &str) -> u64 {
    let mut open: Vec<Sequence> = Vec::new();
    let mut sequence = Sequence::default();
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '(' => open.push(std::mem::take(&mut sequence)),
            ')' => {
                let inner = sequence.states();
                sequence = open.pop().unwrap_or_default();
                sequence.atom(inner);
            }
            '[' => {
                sequence.atom(class(&mut chars));
            }
            '{' => {
                let bounds: String = chars.by_ref().take_while(|char| *char != '}').collect();
                let times = bounds
                    .split(',')
                    .filter(|bound| !bound.is_empty() && bound.bytes().all(|byte| byte.is_ascii_digit()))
                    .map(|bound| bound.parse().unwrap_or(u64::MAX))
                    .fold(1, u64::max);
                sequence.repeat(times);
            }
            '\\' => sequence.atom(escaped(chars.next())),
            '.' => sequence.atom(ANY_CHAR),
            // What stands for no text has no state; a repetition goes back to what it repeats.
            '^' | '$' | '*' | '+' | '?' => {}
            literal => sequence.atom(literal.len_utf8() as u64),
        }
    }
    open.into_iter()
        .fold(sequence.states(), |sum, outer| sum.saturating_add(outer.states()))
}

fn escaped(char: Option<char>) -> u64 {
    match char {
        Some('p' | 'P') => UNICODE_CLASS,
        Some('d' | 'w' | 'n' | 'r' | 't' | 'f' | 'v') => 1,
        Some(char) if char.is_ascii_punctuation() => 1,
        _ => ANY_CHAR,
    }
}

/// What follows an opening bracket, up to the one that closes it.
fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> u64 {
    let mut states: u64 = if chars.peek() == Some(&'^') { ANY_CHAR } else { 1 };
    while let Some(char) = chars.next() {
        let more = match char {
            ']' => break,
            '\\' => escaped(chars.next()) - 1,
            char if char.is_ascii() => 0,
            _ => ANY_CHAR,
        };
        states = states.saturating_add(more);
    }
    states
}

/// Whether a pattern asks for what no such machine can do, as looking around or back: what is not known to be simple.
pub(super) fn looks_around(pattern: &str) -> bool {
    let chars: Vec<char> = pattern.chars().collect();
    let mut escape = false;
    let mut class = false;
    let mut repeated = false;
    for (index, char) in chars.iter().enumerate() {
        let next = |ahead: usize| chars.get(index + ahead).copied();
        if escape {
            escape = false;
            repeated = false;
            if !(char.is_ascii_punctuation() || SIMPLE_ESCAPES.contains(*char)) {
                return true;
            }
            continue;
        }
        let repeats = !class && matches!(char, '*' | '+' | '?' | '}');
        match char {
            '\\' => escape = true,
            '[' => class = true,
            ']' => class = false,
            '(' if !class && next(1) == Some('?') => {
                let named = next(2) == Some('<') && !matches!(next(3), Some('=' | '!'));
                if next(2) != Some(':') && !named {
                    return true;
                }
            }
            '+' if repeated => return true,
            _ => {}
        }
        repeated = repeats;
    }
    false
}

#[derive(Default)]
struct Sequence {
    done: u64,
    last: u64,
}

impl Sequence {
    fn atom(&mut self, states: u64) {
        self.done = self.states();
        self.last = states;
    }

    fn repeat(&mut self, times: u64) {
        self.last = self.last.saturating_mul(times);
    }

    fn states(&self) -> u64 {
        self.done.saturating_add(self.last)
    }
}

/// A class of characters beyond ASCII takes a few states for each length that UTF-8 has.
const ANY_CHAR: u64 = 8;
/// A class by Unicode property is hundreds of ranges.
const UNICODE_CLASS: u64 = 512;
/// The largest machine that cannot have many states at once.
const SMALL: u64 = 12;
/// The largest machine without a choice that is kept as a whole once it is built.
const STRAIGHT: u64 = 200;
const SMALL_WORK: u64 = 200;
const BUILDING_WORK: u64 = 15_000;
const WORK_PER_STATE: u64 = 600;
const SIMPLE_ESCAPES: &str = "dDwWsSbBnrtfvxucpP0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_multiply_what_they_repeat() {
        assert_eq!(states("abc"), 3);
        assert!(states("^[a-z0-9]{8}-[a-z0-9]{4}$") < 20);
        assert!(states("a{1000}") >= 1_000);
        assert!(states("(a{100}){100}") >= 10_000);
        assert!(states("((a{1000}){1000}){1000}") >= 1_000_000_000);
        assert!(states(r"\p{L}{20}") >= 10_000);
        assert_eq!(states("(a{9999999999}){9999999999}b"), u64::MAX);
        assert_eq!(states("a{99999999999999999999999999}"), u64::MAX);
    }

    #[test]
    fn patterns_of_fixed_form_take_less_work() {
        let uuid = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
        for cheap in [uuid, r"^\d{4}-\d{2}-\d{2}$", "^[a-z][a-z0-9_-]*$", "^(yes|no)$"] {
            assert_eq!(work(cheap), SMALL_WORK, "{cheap}");
        }
        for other in ["(a|b)*a(a|b){20}", "^(a|b)*a(a|b){20}", "[ab]{20}", "^[ab]{1,20}"] {
            assert!(work(other) > SMALL_WORK, "{other}");
        }
    }

    #[test]
    fn broken_patterns_are_counted_too() {
        for broken in [
            "(", ")", "[", "[^", "\\", "{", "a{", "a{,", "((((a", "a)b)c", "[\\", "(?", "(?<",
        ] {
            assert!(states(broken) < 100, "{broken}");
        }
    }

    #[test]
    fn what_looks_around_or_back_is_told_apart() {
        for simple in [
            "^[a-z]+$",
            "(?:a|b)*?",
            "(?<year>\\d{4})",
            "[(?=]",
            "\\(?=",
            "\\++",
            "a+?",
        ] {
            assert!(!looks_around(simple), "{simple}");
        }
        for other in [
            "(?=a)",
            "(?!a)",
            "(?<=a)",
            "(?<!a)",
            "(a)\\1",
            "(?<n>a)\\k<n>",
            "a++",
            "a*+",
            "a{2}+",
            "(?>a)",
            "\\Ga",
        ] {
            assert!(looks_around(other), "{other}");
        }
    }
}
