//! Holds the source against the picture of the layers in the crate's documentation: who may use whom, what pure code must
//! not touch, and where Node-API ends. It reads words, not types; the lints of `clippy.toml` stand behind it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path as FilePath, PathBuf};

use super::rust_paths::{Path, paths};

/// One top-level module. It may use itself, every lower layer, and what `also` names besides.
struct Layer {
    module: &'static str,
    level: u8,
    also: &'static [&'static str],
}

/// The one table. A module that is not in it may not exist.
const LAYERS: &[Layer] = &[
    Layer {
        module: "error",
        level: 0,
        also: &[],
    },
    Layer {
        module: "limits",
        level: 0,
        also: &["error"],
    },
    Layer {
        module: "json",
        level: 0,
        also: &["error", "limits"],
    },
    Layer {
        module: "diagnostic",
        level: 0,
        also: &[],
    },
    Layer {
        module: "protocol",
        level: 1,
        also: &[],
    },
    Layer {
        module: "catalog",
        level: 1,
        also: MESSAGE_TYPES,
    },
    Layer {
        module: "guard",
        level: 1,
        also: MESSAGE_TYPES,
    },
    Layer {
        module: "host",
        level: 2,
        also: &[],
    },
    Layer {
        module: "transport",
        level: 3,
        also: &[],
    },
    Layer {
        module: "store",
        level: 3,
        also: &[],
    },
    Layer {
        module: "driver",
        level: 4,
        also: &[],
    },
    Layer {
        module: "client",
        level: 5,
        also: &[],
    },
    Layer {
        module: "server",
        level: 5,
        also: &[],
    },
    Layer {
        module: "binding",
        level: 6,
        also: &[],
    },
    Layer {
        module: "tests",
        level: 7,
        also: &[],
    },
];

const MESSAGE_TYPES: &[&str] = &["protocol::message", "protocol::types"];

/// Up to this level nothing awaits, reads a clock, or touches a socket, file, process or environment.
const PURE_UP_TO: u8 = 1;

/// What pure code must not name. A method is written `.name`.
const IMPURE: &[&str] = &[
    "async",
    "await",
    ".await",
    ".elapsed",
    "futures",
    "hyper",
    "libc",
    "reqwest",
    "rusqlite",
    "rustix",
    "std::env",
    "std::fs",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net::SocketAddr",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::ToSocketAddrs",
    "std::net::UdpSocket",
    "std::os",
    "std::process",
    "std::sync::mpsc",
    "std::thread",
    "std::time::Instant::now",
    "std::time::SystemTime",
    "std::time::UNIX_EPOCH",
    "tokio",
    "tokio_util",
];

/// What only `binding` may name.
const NODE_API: &[&str] = &["napi", "napi_build", "napi_derive", "napi_sys"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// A lower layer uses a higher one.
    Upward,
    /// Two modules of one layer use each other.
    Sideways,
    /// Pure code awaits, reads a clock or does I/O.
    Impure,
    /// Node-API outside `binding`.
    Napi,
    /// A module that the table does not have.
    Unknown,
}

#[test]
fn the_source_keeps_to_its_layers() {
    let root = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut edges = BTreeSet::new();
    let mut findings = Vec::new();
    for file in sources(&root) {
        let source = fs::read_to_string(root.join(&file)).unwrap();
        let module = module_of(&file);
        for path in paths(&source, &module) {
            if let Some(rule) = judge(&module, &path) {
                findings.push(format!(
                    "src/{}:{}: {rule:?}: {}",
                    file.display(),
                    path.line,
                    path.segments.join("::")
                ));
            }
            if let ([from, ..], [_, to, ..]) = (&module[..], &path.segments[..])
                && path.segments[0] == "crate"
                && from != to
            {
                edges.insert(format!("{from} -> {to}"));
            }
        }
    }
    assert!(findings.is_empty(), "the layers are broken:\n{}", findings.join("\n"));
    // A reader that finds nothing would approve of everything.
    for known in [
        "limits -> error",
        "catalog -> diagnostic",
        "protocol -> json",
        "store -> catalog",
    ] {
        assert!(edges.contains(known), "the reader missed {known}: {edges:?}");
    }
}

#[test]
fn every_broken_sample_is_found_out() {
    let folder = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/fixtures/layering");
    let mut rules = BTreeSet::new();
    let mut samples = 0;
    for file in sources(&folder) {
        let source = fs::read_to_string(folder.join(&file)).unwrap();
        let place = source
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("//@ "))
            .expect("a sample says where it stands");
        let module = module_of(FilePath::new(place));
        let found: BTreeSet<_> = paths(&source, &module)
            .iter()
            .filter_map(|path| Some((path.line, format!("{:?}", judge(&module, path)?))))
            .collect();
        let marked: BTreeSet<_> = source
            .lines()
            .enumerate()
            .filter_map(|(index, line)| Some((index + 1, line.split_once("//~ ")?.1.trim().to_owned())))
            .collect();
        assert_eq!(found, marked, "{}", file.display());
        rules.extend(marked.into_iter().map(|(_, rule)| rule));
        samples += 1;
    }
    assert!(samples >= 10, "{samples} samples");
    assert_eq!(
        rules,
        ["Impure", "Napi", "Sideways", "Unknown", "Upward"]
            .map(str::to_owned)
            .into()
    );
}

#[test]
fn the_table_has_each_module_once() {
    let modules: BTreeSet<_> = LAYERS.iter().map(|layer| layer.module).collect();
    assert_eq!(modules.len(), LAYERS.len());
    for layer in LAYERS {
        for also in layer.also {
            let also = layer_of(also.split("::").next().unwrap()).unwrap();
            assert_eq!(
                also.level, layer.level,
                "a lower layer needs no exception, a higher one gets none"
            );
        }
    }
}

/// What a path in a module is guilty of. What its import is guilty of already is not told again.
fn judge(module: &[String], path: &Path) -> Option<Rule> {
    let imported = path
        .segments
        .get(..path.imported)
        .filter(|imported| !imported.is_empty());
    if imported.is_some_and(|imported| judge_segments(module, imported, false).is_some()) {
        return None;
    }
    judge_segments(module, &path.segments, path.glob)
}

fn judge_segments(module: &[String], segments: &[String], glob: bool) -> Option<Rule> {
    let first = segments.first()?.as_str();
    // The root declares modules and is in no layer.
    let Some(from) = module.first() else {
        return NODE_API.contains(&first).then_some(Rule::Napi);
    };
    let Some(from) = layer_of(from) else {
        return Some(Rule::Unknown);
    };
    if NODE_API.contains(&first) && from.module != "binding" {
        return Some(Rule::Napi);
    }
    if first == "crate" {
        return judge_own(from, segments.get(1..).unwrap_or_default());
    }
    (from.level <= PURE_UP_TO && is_impure(segments, glob)).then_some(Rule::Impure)
}

fn judge_own(from: &Layer, path: &[String]) -> Option<Rule> {
    let target = path.first()?;
    let Some(to) = layer_of(target) else {
        return Some(Rule::Unknown);
    };
    if to.module == from.module || to.level < from.level {
        return None;
    }
    if to.level > from.level {
        return Some(Rule::Upward);
    }
    let is_excepted = from.also.iter().any(|also| starts_with(path, also));
    (!is_excepted).then_some(Rule::Sideways)
}

fn is_impure(segments: &[String], glob: bool) -> bool {
    let mut segments = segments.to_vec();
    if let Some(first) = segments
        .first_mut()
        .filter(|first| matches!(first.as_str(), "core" | "alloc"))
    {
        "std".clone_into(first);
    }
    let written = segments.join("::");
    IMPURE.iter().any(|impure| {
        // Importing everything around a forbidden name imports the name.
        starts_with(&segments, impure)
            || glob && impure.strip_prefix(&written).is_some_and(|rest| rest.starts_with("::"))
    })
}

fn starts_with(path: &[String], prefix: &str) -> bool {
    let mut path = path.iter();
    prefix
        .split("::")
        .all(|word| path.next().is_some_and(|segment| segment == word))
}

fn layer_of(module: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.module == module)
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`; `lib.rs` is the root.
fn module_of(file: &FilePath) -> Vec<String> {
    let mut module: Vec<_> = file
        .with_extension("")
        .iter()
        .map(|part| part.to_str().expect("module names are text").to_owned())
        .collect();
    if module.last().is_some_and(|last| last == "mod" || last == "lib") {
        module.pop();
    }
    module
}

/// The Rust files under a folder, relative to it; not those that only hold tests.
fn sources(root: &FilePath) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
            if is_test {
                continue;
            }
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
