//! The modules of each crate depend on each other in one direction: at the top of the crate, and inside each directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

tests! {
    no_module_depends_on_one_that_depends_on_it,
    a_cycle_would_be_found,
    dependencies_are_found_however_they_are_written,
}

const CRATES: [&str; 7] = [
    "skill",
    "check",
    "core",
    "memory",
    "confine",
    "confine/supervisor",
    "cli",
];

/// Dependencies that are part of a cycle: crate, from, to. Each must exist, so this list only becomes shorter.
const KNOWN_CYCLES: [(&str, &str, &str); 3] = [
    // The arguments of `audit` are defined next to their commands, which use other arguments.
    ("cli", "args", "audit"),
    // An argument names what completes it, and that reads the arguments typed so far.
    ("cli", "args", "complete"),
    // A signal that ends the process restores the terminal of an open question, which waits for signals itself.
    ("cli", "interrupt", "ask"),
];

/// The modules that each module next to it depends on, by name.
type Graph = BTreeMap<String, BTreeSet<String>>;
/// The path of a module, or of something in it, from the crate's root.
type ModulePath = Vec<String>;

fn no_module_depends_on_one_that_depends_on_it() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut unknown: Vec<String> = Vec::new();
    let mut missing: BTreeSet<_> = KNOWN_CYCLES.into_iter().collect();
    for name in CRATES {
        let modules = Modules::read(&host.join(name).join("src"));
        assert!(modules.0.len() > 5, "host/{name}: {:?}", modules.0.keys());
        for (parent, mut graph) in modules.graphs() {
            for known in KNOWN_CYCLES {
                let (krate, from, to) = known;
                let (at, from) = from.rsplit_once("::").unwrap_or(("", from));
                let to = to.rsplit_once("::").map_or(to, |(_, to)| to);
                if (krate, at) == (name, &*parent.join("::")) {
                    let removed = graph.get_mut(from).is_some_and(|found| found.remove(to));
                    if removed {
                        missing.remove(&known);
                    }
                }
            }
            let found = cycle(&graph);
            unknown.extend(
                found.map(|cycle| format!("host/{name}/src/{}: {cycle}", parent.join("/"))),
            );
        }
    }
    assert_eq!(unknown, [""; 0]);
    assert!(missing.is_empty(), "no longer there: {missing:?}");
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
}

fn dependencies_are_found_however_they_are_written() {
    let sources = [
        (
            "",
            "mod a;\nmod b;\nmod c;\nmod d;\nmod e;\npub use d::deep;\npub use e::{E as F, inner::G};\n",
        ),
        (
            "a",
            "use crate::{b::{self, x::{Y}}, deep::Z};\n// crate::c\nfn f() { super::F::new() }\n\
             #[cfg(test)]\nuse crate::c;\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more { use crate::c; }\n",
        ),
        ("b", "#[cfg(test)]\nmod tests;\nuse super::G;\n"),
        ("c", ""),
        (
            "d",
            "pub mod deep;\nmod other;\npub(crate) use other::Other;\n",
        ),
        ("d::deep", "use super::super::c::C;\nuse super::Other;\n"),
        ("d::other", "use crate::d::deep;\n"),
        ("e", "mod inner;\n"),
        ("e::inner", ""),
    ];
    let modules = sources.map(|(path, source)| (split(path), code(source)));
    let graphs = Modules(modules.into()).graphs();
    let of = |parent: &str, module: &str| -> Vec<&str> {
        let found = &graphs[&split(parent)][module];
        found.iter().map(String::as_str).collect()
    };
    assert_eq!(of("", "a"), ["b", "d", "e"]);
    assert_eq!(of("", "b"), ["e"]);
    assert_eq!(of("", "c"), [""; 0]);
    assert_eq!(of("", "d"), ["c"]);
    assert_eq!(
        cycle(&graphs[&split("d")]),
        Some("deep → other → deep".to_owned())
    );
}

/// The code of each module of a crate, without its tests and without what exists only for fuzzing and measuring.
struct Modules(BTreeMap<ModulePath, String>);

impl Modules {
    fn read(src: &Path) -> Self {
        let mut all = BTreeMap::new();
        for file in sources(src) {
            let inside = file.strip_prefix(src).unwrap().with_extension("");
            let parts = inside.components();
            let mut path: ModulePath = parts
                .map(|part| part.as_os_str().to_string_lossy().into_owned())
                .collect();
            if is_excluded(&path) {
                continue;
            }
            if path.last().is_some_and(|name| name == "mod")
                || ["lib", "main"].contains(&&*path.join("/"))
            {
                path.pop();
            }
            let text = code(&std::fs::read_to_string(&file).unwrap());
            all.entry(path).or_insert_with(String::new).push_str(&text);
        }
        Self(all)
    }

    /// The dependencies between the modules inside each module.
    fn graphs(&self) -> BTreeMap<ModulePath, Graph> {
        let imports = self.imports();
        let mut graphs: BTreeMap<ModulePath, Graph> = BTreeMap::new();
        for (module, code) in &self.0 {
            if let Some((name, parent)) = module.split_last() {
                let graph = graphs.entry(parent.to_vec()).or_default();
                graph.entry(name.clone()).or_default();
            }
            for path in paths(code) {
                let Some(path) = self.absolute(module, path) else {
                    continue;
                };
                let target = self.resolve(path, &imports);
                let common = module.iter().zip(&target);
                let common = common.take_while(|(a, b)| a == b).count();
                if common < module.len() && common < target.len() {
                    let graph = graphs.entry(module[..common].to_vec()).or_default();
                    let found = graph.entry(module[common].clone()).or_default();
                    found.insert(target[common].clone());
                }
            }
        }
        graphs
    }

    /// What each module names in its `use` declarations, by the name there.
    fn imports(&self) -> BTreeMap<ModulePath, ModulePath> {
        let mut all = BTreeMap::new();
        for (module, code) in &self.0 {
            for used in uses(code) {
                let Some(name) = used.name else { continue };
                if let Some(path) = self.absolute(module, used.path) {
                    all.insert([&module[..], &[name]].concat(), path);
                }
            }
        }
        all
    }

    /// A path in a module as one from the root; `None` if it names another crate.
    fn absolute(&self, module: &[String], path: ModulePath) -> Option<ModulePath> {
        let mut base = module.to_vec();
        let mut rest = &path[..];
        loop {
            match rest.first()?.as_str() {
                "crate" => base.clear(),
                "self" => {}
                "super" => drop(base.pop()?),
                child => {
                    let is_relative = rest.len() < path.len();
                    let below = [&base[..], &[child.to_owned()]].concat();
                    return (is_relative || self.0.contains_key(&below))
                        .then(|| [&base[..], rest].concat());
                }
            }
            rest = &rest[1..];
            if rest.is_empty() {
                return Some(base);
            }
        }
    }

    /// The module that a path names, or in which it names something.
    fn resolve(
        &self,
        mut path: ModulePath,
        imports: &BTreeMap<ModulePath, ModulePath>,
    ) -> ModulePath {
        // An import may lead to another one. Those of a module that imports its own name end here.
        for _ in 0..8 {
            let ends = (0..=path.len()).rev();
            let mut ends = ends.filter(|end| self.0.contains_key(&path[..*end]));
            let module = ends.next().unwrap_or(0);
            let imported = path
                .get(..=module)
                .and_then(|name| imports.get(name))
                .filter(|imported| !path.starts_with(imported));
            match imported {
                Some(imported) => path = [&imported[..], &path[module + 1..]].concat(),
                None => return path[..module].to_vec(),
            }
        }
        panic!("imports lead in a circle: {path:?}");
    }
}

fn is_excluded(path: &[String]) -> bool {
    path.iter().any(|part| {
        ["tests", "fuzzing", "measure"].contains(&part.as_str()) || part.ends_with("_tests")
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

fn split(path: &str) -> ModulePath {
    let parts = path.split("::").filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// A source without its comments and its tests.
fn code(source: &str) -> String {
    let mut code = String::new();
    for line in source.lines() {
        let line = match line.trim_start().starts_with("//") {
            true => "",
            false => line.split(" // ").next().unwrap_or_default(),
        };
        code.push_str(line);
        code.push('\n');
    }
    let mut parts = code.split("#[cfg(test)]");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let item = part.trim_start();
        let end = item.find([';', '{']).map_or("", |at| &item[at..]);
        if item.starts_with("mod ") && end.starts_with('{') {
            // It is the last thing in its file.
            break;
        }
        let is_declaration =
            item.starts_with("mod ") || item.starts_with("use ") || item.starts_with("pub");
        let rest = item.split_once(';').filter(|_| is_declaration);
        kept.push_str(rest.map_or(item, |(_, rest)| rest));
    }
    kept
}

/// The paths that begin with `crate`, `self` or `super`, and those of `use` declarations.
fn paths(code: &str) -> Vec<ModulePath> {
    let mut all: Vec<ModulePath> = uses(code).into_iter().map(|used| used.path).collect();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            // The rest of a longer path, or of a longer word.
            if !before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
                all.extend(tree(&code[at..]).into_iter().map(|used| used.path));
            }
        }
    }
    all
}

/// Something that a `use` declaration names.
struct Used {
    path: ModulePath,
    /// Its name there; `None` for `*` and `_`.
    name: Option<String>,
}

fn uses(code: &str) -> Vec<Used> {
    let mut all = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let line = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with("pub") && !line.contains([';', '{', '=']) {
            all.extend(tree(&code[at + "use ".len()..]));
        }
    }
    all
}

/// The paths of a tree like `a::{b, c::{d as e}}` at the beginning of a text.
fn tree(text: &str) -> Vec<Used> {
    let mut all = Vec::new();
    read_tree(text, &[], &mut all);
    all
}

/// Reads one tree below `prefix`; returns the rest of the text.
fn read_tree<'a>(text: &'a str, prefix: &[String], all: &mut Vec<Used>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            let after = read_tree(rest, prefix, all).trim_start();
            let after = after.strip_prefix(',').unwrap_or(after);
            // It is no tree.
            if after.len() == rest.len() {
                return after;
            }
            rest = after;
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    let path = match word {
        "self" if !prefix.is_empty() => prefix.to_vec(),
        "" => prefix.to_vec(),
        word => [prefix, &[word.to_owned()]].concat(),
    };
    if let Some(below) = rest.strip_prefix("::") {
        return read_tree(below, &path, all);
    }
    let (name, rest) = match (word, rest.trim_start().strip_prefix("as ")) {
        (_, Some(renamed)) => {
            let end = renamed.find(|c: char| !c.is_alphanumeric() && c != '_');
            let (name, rest) = renamed.split_at(end.unwrap_or(renamed.len()));
            (Some(name.to_owned()).filter(|name| name != "_"), rest)
        }
        ("", None) => (None, rest.strip_prefix('*').unwrap_or(rest)),
        (_, None) => (path.last().cloned(), rest),
    };
    all.push(Used { path, name });
    rest
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
