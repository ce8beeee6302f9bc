use std::fmt::Write as _;

use proptest::prelude::*;

use super::parse::{Operator, Part};
use super::*;

#[test]
fn each_operator_takes_what_it_writes() {
    for (template, uri, variables) in [
        ("note://static", "note://static", &[][..]),
        ("note://{id}", "note://7", &[("id", "7")]),
        ("note://{id}", "note://a%20b%2Fc", &[("id", "a b/c")]),
        ("note://{id}/body", "note://x/body", &[("id", "x")]),
        ("{x,y}", "1,2", &[("x", "1"), ("y", "2")]),
        ("{x,y}", "1", &[("x", "1")]),
        ("{x,y}", "1,", &[("x", "1"), ("y", "")]),
        ("{x,y}", ",2", &[("x", ""), ("y", "2")]),
        ("file://{+path}", "file:///etc/hosts?x#y", &[("path", "/etc/hosts?x#y")]),
        ("{+path}/here", "a/b/here", &[("path", "a/b")]),
        ("X{#var}", "X#a,b/c", &[("var", "a,b/c")]),
        ("X{#var}", "X", &[]),
        ("X{#var}", "X#", &[("var", "")]),
        ("X{#x,y}", "X#a,b,c", &[("x", "a"), ("y", "b,c")]),
        ("X{.var}", "X.v", &[("var", "v")]),
        ("X{.x,y}", "X.a.b", &[("x", "a"), ("y", "b")]),
        ("X{.x,y}", "X.a.b.c", &[("x", "a"), ("y", "b.c")]),
        ("X{.x}", "X", &[]),
        ("repo{/owner,name}/x", "repo/a/b/x", &[("owner", "a"), ("name", "b")]),
        ("repo{/owner,name}/x", "repo/a/x", &[("owner", "a")]),
        ("repo{/owner,name}/x", "repo/x", &[]),
        ("repo{/owner}", "repo/", &[("owner", "")]),
        ("m{;x,y}", "m;x=1;y=2", &[("x", "1"), ("y", "2")]),
        ("m{;x,y}", "m;y;x=1", &[("x", "1"), ("y", "")]),
        ("m{;x,y}", "m", &[]),
        ("s{?q,lang}", "s?q=a%26b&lang=de", &[("q", "a&b"), ("lang", "de")]),
        ("s{?q,lang}", "s?lang=de&q=a", &[("q", "a"), ("lang", "de")]),
        ("s{?q,lang}", "s?lang=", &[("lang", "")]),
        ("s{?q,lang}", "s", &[]),
        ("s?fixed=yes{&x}", "s?fixed=yes&x=1", &[("x", "1")]),
        ("s{?a,ab,abc}", "s?abc=1&a=2", &[("a", "2"), ("abc", "1")]),
        (
            "users://{mail}",
            "users://bob+x@example.com",
            &[("mail", "bob+x@example.com")],
        ),
        ("w://{city}", "w://Zürich", &[("city", "Zürich")]),
        ("w://{city}", "w://São Paulo", &[("city", "São Paulo")]),
        ("w://Zürich/{x}", "w://Z%c3%bcrich/1", &[("x", "1")]),
        ("{a}/{a}", "x/x", &[("a", "x")]),
        ("{a.b}{%41}", "xy", &[("a.b", "x"), ("%41", "y")]),
    ] {
        let expected: Vec<_> = variables
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        assert_eq!(matches(template, uri), Some(expected), "{template} {uri}");
    }
}

#[test]
fn another_uri_does_not_match() {
    for (template, uri) in [
        ("note://static", "note://static/"),
        ("note://static", "note://"),
        ("note://{id}", "note://"),
        ("note://{id}", "note://a/b"),
        ("note://{id}", "note://a?b"),
        ("note://{id}", "note://a#b"),
        ("note://{id}", "note://a,b"),
        ("note://{id}", "NOTE://a"),
        ("note://{id}", "xnote://a"),
        ("{x,y}", "1,2,3"),
        ("{x,y}", ""),
        ("{+x}", ""),
        ("q={q}&l={l}", "q=a&l=b&l=c"),
        ("s{?q}", "s?"),
        ("s{?q}", "s?q"),
        ("s{?q}", "s?q=1&q=2"),
        ("s{?q}", "s?q=1&z=2"),
        ("s{?q}", "s?q=1&"),
        ("s{?q}", "s&q=1"),
        ("m{;x}", "m;x;x"),
        ("m{;x}", "m;xy=1"),
        ("repo{/a,b}", "repo/1/2/3"),
        ("{a}/{a}", "x/y"),
        ("{a}", "%ff"),
        ("{a}", "a%2"),
    ] {
        // The last one is a stray %, which is as good as %25.
        if uri == "a%2" {
            assert_eq!(matches(template, uri).unwrap()[0].1, "a%2");
            continue;
        }
        assert_eq!(matches(template, uri), None, "{template} {uri}");
    }
}

#[test]
fn of_several_divisions_the_earlier_variable_takes_most() {
    for (template, uri, values) in [
        ("{x}-{y}", "a-b-c", &["a-b", "c"][..]),
        ("{+path}/{id}", "a/b/c", &["a/b", "c"]),
        ("{a}{b}", "xyz", &["xy", "z"]),
        ("{a}{b}", "x%C3%A9", &["x", "é"]),
        ("{a}{b}", "x%F0%9F%99%82", &["x", "🙂"]),
        ("{a}.txt", "b.txt.txt", &["b.txt"]),
        ("{+a}{?q}", "x?q=1", &["x?q=1"]),
        ("{+x,y}", "a,b,c", &["a", "b,c"]),
    ] {
        let found: Vec<_> = matches(template, uri).unwrap().into_iter().map(|(_, v)| v).collect();
        assert_eq!(found, values, "{template} {uri}");
    }
}

#[test]
fn what_is_no_template_says_where() {
    for (template, said) in [
        ("", "is wrong at character 1: it is empty"),
        ("note://{id", "is wrong at character 8: the expression is not closed"),
        ("ü://id}", "is wrong at character 7: no expression is open"),
        ("a{}", "is wrong at character 3: a name is missing"),
        ("a{x,}", "is wrong at character 5: a name is missing"),
        ("a{?}", "is wrong at character 4: a name is missing"),
        ("a{x*}", "is wrong at character 4: modifiers are of level 4"),
        ("a{x:3}", "is wrong at character 4: modifiers are of level 4"),
        (
            "a{=x}",
            "is wrong at character 3: this operator is none of levels 1 to 3",
        ),
        (
            "a{|x}",
            "is wrong at character 3: this operator is none of levels 1 to 3",
        ),
        (
            "a{x y}",
            "is wrong at character 4: this character may not stand in a name",
        ),
        (
            "a{x-y}",
            "is wrong at character 4: this character may not stand in a name",
        ),
        (
            "a{.x.}",
            "is wrong at character 5: this character may not stand in a name",
        ),
        (
            "a{x..y}",
            "is wrong at character 5: this character may not stand in a name",
        ),
        (
            "a{{x}}",
            "is wrong at character 3: this character may not stand in a name",
        ),
        (
            "a{é}",
            "is wrong at character 3: this character may not stand in a name",
        ),
        ("a b", "is wrong at character 2: this character has to be encoded"),
        ("a%2", "is wrong at character 2: % without two hexadecimal digits"),
    ] {
        assert_eq!(Template::parse(template).unwrap_err().to_string(), said, "{template}");
    }
    let many = vec!["{x}"; limits::MAX_URI_TEMPLATE_VARIABLES + 1].join("/");
    assert!(
        Template::parse(&many)
            .unwrap_err()
            .to_string()
            .ends_with("too many variables")
    );
    assert!(Template::parse(&many[4..]).is_ok());
    let long = "a".repeat(limits::MAX_URI_TEMPLATE_BYTES + 1);
    assert!(
        Template::parse(&long)
            .unwrap_err()
            .to_string()
            .ends_with("it is too long")
    );
    assert!(Template::parse(&long[1..]).is_ok());
}

#[test]
fn a_uri_that_is_too_long_matches_nothing() {
    let template = Template::parse("x{+a}").unwrap();
    let longest = format!("x{}", "a".repeat(limits::MAX_MATCHED_URI_BYTES - 1));
    assert!(template.matches(&longest).is_some());
    assert!(template.matches(&format!("{longest}a")).is_none());
}

#[test]
fn the_worst_template_and_uri_take_bounded_work() {
    let template = Template::parse(&vec!["{+x}"; limits::MAX_URI_TEMPLATE_VARIABLES].join("a")).unwrap();
    let uri = "a".repeat(limits::MAX_MATCHED_URI_BYTES);
    let cells = template.program.cells(uri.len());
    assert!(cells < 4_000_000, "{cells}");
    // All variables are one, and its places differ. Trying all divisions would take longer than the world has been there.
    assert_eq!(template.matches(&uri), None);
}

proptest! {
    #[test]
    fn what_a_template_writes_it_takes_back(
        template in "((x|/|-|:|%C3%BC)|[{][+#./;?&]?[a-c](,[d-f])?[}]){1,5}",
        values in prop::collection::vec(prop::option::of("[xy/,.;&=?#%é -]{0,3}"), 6)
    ) {
        let parsed = Template::parse(&template).unwrap();
        let value = |name: &str| -> Option<String> {
            let at = name.bytes().next().map_or(0, |byte| usize::from(byte - b'a'));
            values.get(at).cloned().flatten()
        };
        let uri = expand(&template, &value);
        // With two places for one variable, another division may fill one of them alone.
        let repeats = (1..parsed.names.len()).any(|at| parsed.names[at..].contains(&parsed.names[at - 1]));
        if repeats {
            return Ok(());
        }
        let Some(found) = parsed.matches(&uri) else {
            let misses_what_it_needs = template.split('{').skip(1).any(|expression| {
                let names = expression.split('}').next().unwrap_or_default();
                !names.starts_with(['#', '.', '/', ';', '?', '&'])
                    && names.trim_start_matches('+').split(',').filter_map(&value).collect::<Vec<_>>().join(",").is_empty()
            });
            prop_assert!(misses_what_it_needs, "{} does not take {}", template, uri);
            return Ok(());
        };
        let lookup = |name: &str| found.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        // `;x=` is taken like the `;x` that an expansion writes.
        let plain = |uri: &str| decoded(uri).map(|uri| uri.replace('=', ""));
        prop_assert_eq!(plain(&expand(&template, &lookup)), plain(&uri), "{} {:?}", template, found);
    }

    #[test]
    fn no_text_stops_the_reader(template in ".{0,30}|([{][+#./;?&]?[a-c,.%]{0,3}[}]|.){0,6}", uri in ".{0,30}|[a-c/?=&;%,.]{0,20}") {
        if let Ok(template) = Template::parse(&template) {
            let _ = template.matches(&uri);
        }
    }
}

/// Writes a URI as the RFC has it, so that what is matched is not what the matcher says.
fn expand(template: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    for part in parse::parse(template).unwrap() {
        let (operator, names) = match part {
            Part::Literal(text) => {
                out.push_str(&text);
                continue;
            }
            Part::Expression(operator, names) => (operator, names),
        };
        let (first, between, is_named, reserved) = match operator {
            Operator::Simple => ("", ",", false, false),
            Operator::Reserved => ("", ",", false, true),
            Operator::Fragment => ("#", ",", false, true),
            Operator::Label => (".", ".", false, false),
            Operator::Path => ("/", "/", false, false),
            Operator::Parameter => (";", ";", true, false),
            Operator::Query => ("?", "&", true, false),
            Operator::Continuation => ("&", "&", true, false),
        };
        let mut is_first = true;
        for name in names {
            let Some(value) = value(&name) else { continue };
            out.push_str(if is_first { first } else { between });
            is_first = false;
            if is_named {
                out.push_str(&name);
                if !value.is_empty() || operator != Operator::Parameter {
                    out.push('=');
                }
            }
            for (at, byte) in value.bytes().enumerate() {
                if is_unreserved(byte) || reserved && (is_reserved(byte) || is_encoded(value.as_bytes(), at)) {
                    out.push(char::from(byte));
                } else {
                    let _ = write!(out, "%{byte:02X}");
                }
            }
        }
    }
    out
}

fn matches(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
    Template::parse(template).unwrap().matches(uri)
}
