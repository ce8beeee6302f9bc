//! Reads the paths out of Rust source text: imports with nested braces, paths in code, `self` and `super` resolved,
//! renamed imports followed. Works on words, not on types: a path that a macro puts together or a `type` alias hides
//! passes unseen, and is left to the compiler's lints.

use std::collections::HashMap;

/// One path that the source names.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) line: usize,
    /// Absolute where the source says so: `crate`, then modules. Otherwise it begins with a crate or some local name.
    /// A single word stands for itself, a method `x.f` for `.f`.
    pub(super) segments: Vec<String>,
    /// An import of all that is inside.
    pub(super) glob: bool,
    /// How many of the segments come from an import elsewhere in the file.
    pub(super) imported: usize,
    /// Begins with `::`, so it names a crate whatever is imported under that name.
    names_a_crate: bool,
}

/// All paths of a file that is the module `module` below the crate root, in the order of the text. Items under
/// `#[cfg(test)]` are left out.
pub(super) fn paths(source: &str, module: &[String]) -> Vec<Path> {
    let tokens = without_test_items(lex(source));
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
        root: module,
        modules: vec![],
        imports: HashMap::new(),
        found: vec![],
    };
    reader.read();
    let Reader { imports, mut found, .. } = reader;
    for path in &mut found {
        path.follow(&imports);
    }
    found
}

struct Token<'a> {
    text: &'a str,
    line: usize,
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    root: &'a [String],
    /// The inline modules around the current place, and how many braces are open in each.
    modules: Vec<(String, usize)>,
    imports: HashMap<String, Vec<String>>,
    found: Vec<Path>,
}

impl Path {
    /// Replaces an imported name at the front by what it was imported from.
    fn follow(&mut self, imports: &HashMap<String, Vec<String>>) {
        if self.names_a_crate {
            return;
        }
        let own = self.segments.len().saturating_sub(1);
        // A name can be imported through another; more steps than imports would be a circle.
        for _ in 0..=imports.len() {
            let Some(first) = self.segments.first().cloned() else {
                return;
            };
            let Some(target) = imports.get(&first).filter(|target| **target != [first.as_str()]) else {
                return;
            };
            self.segments.splice(..1, target.iter().cloned());
            self.imported = self.segments.len() - own;
            if self.segments.first() == Some(&first) {
                return;
            }
        }
    }
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        loop {
            match self.ahead(0) {
                "" => return,
                "{" => {
                    if let Some((_, open)) = self.modules.last_mut() {
                        *open += 1;
                    }
                    self.at += 1;
                }
                "}" => {
                    if let Some((_, open)) = self.modules.last_mut() {
                        *open -= 1;
                        self.modules.pop_if(|(_, open)| *open == 0);
                    }
                    self.at += 1;
                }
                "mod" if self.ahead(2) == "{" => {
                    self.modules.push((self.ahead(1).to_owned(), 0));
                    self.at += 2;
                }
                // `use<'a>` in a return type is no import.
                "use" if self.ahead(1) != "<" => {
                    self.at += 1;
                    self.import(&[], false);
                }
                "extern" if self.ahead(1) == "crate" => {
                    self.at += 2;
                    self.import(&[], true);
                }
                "." if is_word(self.ahead(1)) => {
                    self.push(self.line(), vec![format!(".{}", self.ahead(1))], false, false);
                    self.at += 2;
                }
                "::" => {
                    self.at += 1;
                    self.path(true);
                }
                word if is_word(word) => self.path(false),
                _ => self.at += 1,
            }
        }
    }

    fn path(&mut self, names_a_crate: bool) {
        let line = self.line();
        let mut segments = vec![];
        while is_word(self.ahead(0)) {
            segments.push(self.ahead(0).to_owned());
            self.at += 1;
            if self.ahead(0) != "::" || !is_word(self.ahead(1)) {
                break;
            }
            self.at += 1;
        }
        self.push(line, segments, false, names_a_crate);
    }

    /// One import tree, up to the comma, brace or semicolon after it.
    fn import(&mut self, prefix: &[String], mut names_a_crate: bool) {
        let line = self.line();
        let mut path = prefix.to_vec();
        if self.ahead(0) == "::" {
            names_a_crate = true;
            self.at += 1;
        }
        loop {
            match self.ahead(0) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.ahead(0), "}" | "") {
                        self.import(&path, names_a_crate);
                        if self.ahead(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    self.at += 1;
                    self.push(line, path, true, names_a_crate);
                    return;
                }
                // In braces it is the module before them; at the front of a path, the current one.
                "self" if !path.is_empty() => self.at += 1,
                word if is_word(word) => {
                    path.push(word.to_owned());
                    self.at += 1;
                }
                // No import tree: passed over, so that reading comes to an end.
                _ => {
                    self.at += 1;
                    return;
                }
            }
            if self.ahead(0) != "::" {
                break;
            }
            self.at += 1;
        }
        let mut name = path.last().cloned().unwrap_or_default();
        if self.ahead(0) == "as" {
            self.ahead(1).clone_into(&mut name);
            self.at += 2;
        }
        self.imports.insert(name, self.absolute(path.clone(), names_a_crate));
        self.push(line, path, false, names_a_crate);
    }

    fn push(&mut self, line: usize, segments: Vec<String>, glob: bool, names_a_crate: bool) {
        let segments = self.absolute(segments, names_a_crate);
        self.found.push(Path {
            line,
            segments,
            glob,
            imported: 0,
            names_a_crate,
        });
    }

    /// Resolves `self` and `super` at the front. A lone `self` is a value, and stays.
    fn absolute(&self, segments: Vec<String>, names_a_crate: bool) -> Vec<String> {
        let first = segments.first().map(String::as_str);
        if names_a_crate || !(first == Some("super") || first == Some("self") && segments.len() > 1) {
            return segments;
        }
        let inline = self.modules.iter().map(|(name, _)| name);
        let mut module: Vec<String> = self.root.iter().chain(inline).cloned().collect();
        let mut rest = segments.into_iter().peekable();
        while let Some(word) = rest.next_if(|word| word == "self" || word == "super") {
            if word == "super" {
                module.pop();
            }
        }
        std::iter::once("crate".to_owned()).chain(module).chain(rest).collect()
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.line)
    }

    fn ahead(&self, distance: usize) -> &'a str {
        self.tokens.get(self.at + distance).map_or("", |token| token.text)
    }
}

/// Words, `::`, and single characters for the rest; no comments, literals or lifetimes. `$crate` is `crate`.
fn lex(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        let (text, after) = rest.split_at(length);
        let is_kept = !(first.is_whitespace() || first == '$' || is_comment(text) || is_literal(text));
        if is_kept {
            tokens.push(Token {
                text: text.strip_prefix("r#").unwrap_or(text),
                line,
            });
        }
        line += text.matches('\n').count();
        rest = after;
    }
    tokens
}

fn token_length(rest: &str, first: char) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    if let Some(quote) = string_start(rest) {
        return string_length(rest, quote);
    }
    if first == '\'' {
        return quote_length(rest);
    }
    if rest.starts_with("::") {
        return 2;
    }
    let raw_word = rest
        .strip_prefix("r#")
        .is_some_and(|word| word.starts_with(is_word_char));
    let prefix = if raw_word { "r#".len() } else { 0 };
    if raw_word || is_word_char(first) {
        let word = &rest[prefix..];
        return prefix + word.find(|c| !is_word_char(c)).unwrap_or(word.len());
    }
    first.len_utf8()
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Where the quote of a string literal is, prefixes and hashes passed.
fn string_start(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r"]
        .into_iter()
        .find(|prefix| rest.starts_with(prefix))
        .map_or(0, str::len);
    let hashes = rest[prefix..].len() - rest[prefix..].trim_start_matches('#').len();
    let is_raw = rest[..prefix].ends_with('r');
    (rest[prefix + hashes..].starts_with('"') && (hashes == 0 || is_raw)).then_some(prefix + hashes)
}

fn string_length(rest: &str, quote: usize) -> usize {
    let body = &rest[quote + 1..];
    let prefix = &rest[..quote];
    if prefix.contains('r') {
        let end = format!("\"{}", "#".repeat(prefix.matches('#').count()));
        return body.find(&end).map_or(rest.len(), |at| quote + 1 + at + end.len());
    }
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return quote + 1 + at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character literal, or a lifetime without one.
fn quote_length(rest: &str) -> usize {
    let mut after = rest.char_indices().skip(1);
    match after.next() {
        Some((_, '\\')) => {
            after.next();
            after.find(|(_, c)| *c == '\'').map_or(rest.len(), |(at, _)| at + 1)
        }
        Some((start, _)) => match after.next() {
            Some((at, '\'')) => at + 1,
            _ => rest[start..]
                .find(|c| !is_word_char(c))
                .map_or(rest.len(), |at| start + at)
                .max(1),
        },
        None => rest.len(),
    }
}

fn is_comment(text: &str) -> bool {
    text.starts_with("//") || text.starts_with("/*")
}

fn is_literal(text: &str) -> bool {
    text.starts_with('\'') || string_start(text).is_some() || text.starts_with(|c: char| c.is_ascii_digit())
}

fn is_word(text: &str) -> bool {
    text.starts_with(is_word_char)
}

fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Leaves out every item under `#[cfg(test)]`, and everything where the file begins with `#![cfg(test)]`.
fn without_test_items(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let starts = |at: usize, words: &[&str]| {
        words
            .iter()
            .enumerate()
            .all(|(offset, word)| tokens.get(at + offset).is_some_and(|token| token.text == *word))
    };
    let mut kept = vec![true; tokens.len()];
    let mut at = 0;
    while at < tokens.len() {
        if starts(at, &["#", "!", "[", "cfg", "(", "test", ")", "]"]) {
            kept[at..].fill(false);
            break;
        }
        let is_test = starts(at, TEST_ONLY) || starts(at, &["#", "[", "cfg", "(", "all", "(", "test", ","]);
        let end = if is_test { item_end(&tokens, at) } else { at + 1 };
        if is_test {
            kept[at..end].fill(false);
        }
        at = end;
    }
    let mut kept = kept.into_iter();
    tokens.into_iter().filter(|_| kept.next() == Some(true)).collect()
}

/// Past the attributes and the item that begins here: its semicolon, or the brace that closes its body.
fn item_end(tokens: &[Token<'_>], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut in_attribute = false;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.text {
            "#" if depth == 0 => in_attribute = true,
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => return at,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 && token.text == "}" {
                    return at + 1;
                }
                in_attribute &= depth > 0;
            }
            ";" if depth == 0 && !in_attribute => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

const TEST_ONLY: &[&str] = &["#", "[", "cfg", "(", "test", ")", "]"];
