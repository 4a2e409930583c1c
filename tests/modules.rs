//! The modules of each library depend on each other in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

tests! {
    no_module_depends_on_one_that_depends_on_it,
    a_cycle_would_be_found,
}

/// The modules at the top of each module's dependencies, by name.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn no_module_depends_on_one_that_depends_on_it() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for library in ["skill", "check", "core"] {
        let graph = graph(&host.join(library).join("src"));
        assert!(graph.len() > 5, "{library}: {graph:?}");
        assert_eq!(cycle(&graph), None, "in host/{library}/src");
    }
}

fn a_cycle_would_be_found() {
    let graph = |pairs: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in pairs {
            graph
                .entry((*from).into())
                .or_default()
                .insert((*to).into());
        }
        graph
    };
    assert_eq!(cycle(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    let found = cycle(&graph(&[("x", "a"), ("a", "b"), ("b", "c"), ("c", "a")]));
    assert_eq!(found, Some("a → b → c → a".to_owned()));
    let uses = "use crate::b::{self, X};\n// crate::c\nfn f() { crate::D::new() }\n#[cfg(test)]\nmod tests { use crate::e; }\n";
    let exported = BTreeMap::from([("D".to_owned(), "d".to_owned())]);
    let found: Vec<String> = dependencies(uses, &exported).into_iter().collect();
    assert_eq!(found, ["b", "d"]);
}

/// The dependencies of a library's modules, without its tests and without what exists only for fuzzing and measuring.
fn graph(src: &Path) -> Graph {
    let root = std::fs::read_to_string(src.join("lib.rs")).unwrap();
    let exported = exported(&root);
    let mut graph = Graph::new();
    for file in sources(src) {
        let inside = file.strip_prefix(src).unwrap();
        let module = inside.components().next().unwrap().as_os_str();
        let module = Path::new(module).with_extension("").display().to_string();
        if ["lib", "fuzzing", "measure"].contains(&module.as_str()) || is_test(inside) {
            continue;
        }
        let mut text = std::fs::read_to_string(&file).unwrap();
        // For a module at the top, that is the crate.
        let depth = inside.components().count();
        if depth == 1 || (depth == 2 && inside.ends_with("mod.rs")) {
            text = text.replace("super::", "crate::");
        }
        let mut found = dependencies(&text, &exported);
        found.remove(&module);
        graph.entry(module).or_default().extend(found);
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for found in graph.values_mut() {
        found.retain(|name| modules.contains(name));
    }
    graph
}

fn is_test(inside: &Path) -> bool {
    let mut parts = inside
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    parts.any(|part| {
        ["tests", "tests.rs", "fuzzing.rs"].contains(&&*part) || part.ends_with("_tests.rs")
    })
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    all
}

/// The module of each name that the crate's root exports.
fn exported(root: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap();
        let Some((module, names)) = statement.split_once("::") else {
            continue;
        };
        let names = names.split(|c: char| !c.is_alphanumeric() && c != '_');
        let names = names.filter(|name| name.starts_with(char::is_uppercase));
        all.extend(names.map(|name| (name.to_owned(), module.to_owned())));
    }
    all
}

/// The modules at the top of the crate that a source names outside its comments and tests.
fn dependencies(text: &str, exported: &BTreeMap<String, String>) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let code = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        // `use crate::{a, b::C}` names several.
        let list = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap().split(','),
            None => rest.split('\0'),
        };
        for path in list {
            let name = path
                .trim()
                .split(|c: char| !c.is_alphanumeric() && c != '_');
            let name = name.into_iter().next().unwrap().to_owned();
            found.insert(exported.get(&name).cloned().unwrap_or(name));
        }
    }
    found
}

/// The first cycle, as a path.
fn cycle(graph: &Graph) -> Option<String> {
    let mut done = BTreeSet::new();
    graph
        .keys()
        .find_map(|start| visit(graph, start, &mut Vec::new(), &mut done))
}

fn visit<'a>(
    graph: &'a Graph,
    name: &'a str,
    path: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
) -> Option<String> {
    if let Some(at) = path.iter().position(|known| *known == name) {
        return Some([&path[at..], &[name]].concat().join(" → "));
    }
    if !done.contains(name) {
        path.push(name);
        for next in graph.get(name).into_iter().flatten() {
            let found = visit(graph, next, path, done);
            if found.is_some() {
                return found;
            }
        }
        path.pop();
        done.insert(name);
    }
    None
}
