//! The scripts of `node/`, each run in the sandbox and compared with everything that Node printed for it,
//! and the table of modules in `docs/javascript.md`, which is generated from what the sandbox exports.
//!
//! `node/record` omits the stack frames in Node's own modules; the sandbox prints none.

use crate::env::{End, TestEnv};
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The script that prints the names that modules export.
const SURFACE: &str = "surface";
/// The table in `docs/javascript.md` is between these.
const MARKERS: [&str; 2] = ["<!-- node-table -->\n", "<!-- /node-table -->"];
/// A row of the table names at most this many absent exports.
const MAX_NAMED: usize = 12;

/// What `scripts/surface.mjs` prints.
struct Surface {
    globals: Vec<String>,
    /// The names that a module exports, or nothing if there is no such module.
    modules: BTreeMap<String, Option<Vec<String>>>,
    /// The names that exist but do not work.
    unusable: BTreeMap<String, Vec<String>>,
    /// The grant that a module needs when it is used.
    grants: BTreeMap<String, String>,
}

impl Surface {
    fn read(text: &str) -> Result<Self, serde_json::Error> {
        let mut value: serde_json::Value = serde_json::from_str(text)?;
        Ok(Self {
            globals: serde_json::from_value(value["globals"].take())?,
            modules: serde_json::from_value(value["modules"].take())?,
            unusable: serde_json::from_value(value["unusable"].take())?,
            grants: serde_json::from_value(value["grants"].take())?,
        })
    }
}

/// One test for each script, and one for the table.
pub(crate) fn tests() -> Vec<Trial> {
    let mut tests: Vec<Trial> = scripts()
        .filter(|(name, _)| name != SURFACE)
        .map(|(name, script)| {
            let title = format!("node_{}", name.replace('-', "_"));
            Trial::test(title, move || compare(&name, &run(&name, &script)?))
        })
        .collect();
    tests.push(Trial::test(
        "the_table_of_node_modules_is_up_to_date",
        table_is_up_to_date,
    ));
    tests
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/node")
}

/// The name of each script and its path in the skill: a file, or the `main.*` of a folder.
fn scripts() -> impl Iterator<Item = (String, String)> {
    let mut scripts = BTreeMap::new();
    for entry in fs::read_dir(folder().join("scripts")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let main = fs::read_dir(&path)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .find(|file| file.starts_with("main."))
                .unwrap_or_else(|| panic!("`{name}` has no main script"));
            scripts.insert(name.clone(), format!("scripts/{name}/{main}"));
        } else {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            scripts.insert(stem, format!("scripts/{name}"));
        }
    }
    scripts.into_iter()
}

/// Runs a script in the sandbox with its arguments, input and workspace.
fn run(name: &str, script: &str) -> Result<End, Failed> {
    let env = TestEnv::new();
    let given = |what: &str| folder().join(format!("given/{name}.{what}"));
    copy(&folder().join("SKILL.md"), &env.path("skill/SKILL.md"))?;
    copy(&folder().join("scripts"), &env.path("skill/scripts"))?;
    fs::create_dir(env.path("workspace"))?;
    if given("workspace").is_dir() {
        copy(&given("workspace"), &env.path("workspace"))?;
    }
    let arguments = fs::read_to_string(given("args")).unwrap_or_default();
    let (skill, workspace) = (env.text("skill"), env.text("workspace"));
    let words = ["run", &skill, script, "--workspace", &workspace, "--"];
    let mut command = env.command(&words);
    command.args(arguments.lines());
    if let Ok(stdin) = fs::File::open(given("stdin")) {
        command.stdin(Stdio::from(stdin));
    }
    let mut end = env.end_of(&mut command);
    end.stderr = without_pid(&end.stderr);
    env.check_left_behind()?;
    Ok(end)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap())?;
        fs::copy(from, to)?;
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Warnings start with the process id.
fn without_pid(text: &str) -> String {
    let mut parts = text.split("(node:");
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = if rest.len() < part.len() { "{pid}" } else { "" };
        let _ = write!(named, "(node:{number}{rest}");
    }
    named
}

/// Compares with `differs/` if the file is there, with `expected/` otherwise.
fn compare(name: &str, end: &End) -> Result<(), Failed> {
    let code = match end.code {
        0 => String::new(),
        code => format!("{code}\n"),
    };
    let mut report = String::new();
    for (part, got) in [
        ("stdout", &end.stdout),
        ("stderr", &end.stderr),
        ("exit", &code),
    ] {
        let wanted = ["differs", "expected"]
            .iter()
            .find_map(|kind| {
                fs::read_to_string(folder().join(format!("{kind}/{name}.{part}"))).ok()
            })
            .unwrap_or_default();
        if *got != wanted {
            let _ = writeln!(report, "{part} differs:\n{}", difference(&wanted, got));
        }
    }
    if report.is_empty() {
        Ok(())
    } else {
        Err(report.into())
    }
}

/// The first lines that differ, `-` as Node printed them and `+` as the sandbox did.
fn difference(wanted: &str, got: &str) -> String {
    let mut lines = [wanted.split_inclusive('\n'), got.split_inclusive('\n')];
    let (mut number, mut text) = (0, String::new());
    while number < 1000 && text.lines().count() < 20 {
        number += 1;
        let [wanted, got] = lines.each_mut().map(Iterator::next);
        if (wanted, got) == (None, None) {
            break;
        }
        if wanted != got {
            let _ = writeln!(text, "{number} - {wanted:?}\n{number} + {got:?}");
        }
    }
    text
}

/// Compares the table in `docs/javascript.md` with what the sandbox exports; with `UPDATE=1` writes it instead.
fn table_is_up_to_date() -> Result<(), Failed> {
    let node = Surface::read(&fs::read_to_string(folder().join("surface.json"))?)?;
    let end = run(SURFACE, "scripts/surface.mjs")?;
    let ours = Surface::read(&end.stdout)
        .map_err(|error| format!("{error}\n{}{}", end.stdout, end.stderr))?;
    let table = table(&node, &ours);
    let list = list(&node, &ours);
    let path = folder().join("../../host/check/src/node.modules");
    let update = std::env::var_os("UPDATE").is_some_and(|update| update == "1");
    if update {
        fs::write(&path, &list)?;
    }
    let known = fs::read_to_string(&path)?;
    if known != list {
        return Err(difference(&known, &list).into());
    }
    let path = folder().join("../../docs/javascript.md");
    let readme = fs::read_to_string(&path)?;
    let [start, end] = MARKERS.map(|mark| readme.find(mark));
    let (Some(start), Some(end)) = (start, end) else {
        return Err(format!("docs/javascript.md has no place for the table: {MARKERS:?}").into());
    };
    let start = start + MARKERS[0].len();
    if readme[start..end] == table {
        return Ok(());
    }
    if update {
        fs::write(
            &path,
            format!("{}{table}{}", &readme[..start], &readme[end..]),
        )?;
        return Ok(());
    }
    Err(difference(&readme[start..end], &table).into())
}

/// The names of a module that the sandbox has, and those it lacks.
fn split<'a>(module: &str, names: &'a [String], ours: &Surface) -> [Vec<&'a str>; 2] {
    let present = match module {
        "globals" => Some(&ours.globals),
        module => ours.modules.get(module).and_then(Option::as_ref),
    };
    let unusable = ours.unusable.get(module).map_or(&[][..], Vec::as_slice);
    let usable = |name: &&str| {
        let is = |other: &String| other == name;
        present.is_some_and(|present| present.iter().any(is)) && !unusable.iter().any(is)
    };
    let (there, lacking) = names.iter().map(String::as_str).partition(usable);
    [there, lacking]
}

/// The list that `check` reads: a line for each module.
fn list(node: &Surface, ours: &Surface) -> String {
    let mut list = String::from(
        "# Node's modules, each as it is in the JavaScript interpreter: whole, partial without these names, granted (each\n\
         # use asks for that grant), absent. Written by the test `the_table_of_node_modules_is_up_to_date` with UPDATE=1.\n",
    );
    for (module, names) in &node.modules {
        let names = names.as_deref().unwrap_or_default();
        let [there, lacking] = split(module, names, ours);
        let state = match ours.grants.get(module) {
            Some(grant) if grant.starts_with("net:") => "granted net:HOST".to_owned(),
            Some(_) => "granted run:COMMAND".to_owned(),
            None if lacking.is_empty() => "whole".to_owned(),
            None if there.is_empty() => "absent".to_owned(),
            None => format!("partial {}", lacking.join(" ")),
        };
        let _ = writeln!(list, "{module} {state}");
    }
    list
}

/// The complete modules in one row, a row for each incomplete one, the rest in two.
fn table(node: &Surface, ours: &Surface) -> String {
    let (mut complete, mut partial) = (Vec::new(), String::new());
    let (mut asking, mut absent) = (Vec::new(), Vec::new());
    let globals = ("globals".to_owned(), Some(node.globals.clone()));
    for (module, names) in node.modules.clone().into_iter().chain([globals]) {
        let title = match module.as_str() {
            "globals" => module.clone(),
            module => format!("`{module}`"),
        };
        let names = names.unwrap_or_default();
        let [there, lacking] = split(&module, &names, ours);
        if ours.grants.contains_key(&module) {
            asking.push(title);
        } else if lacking.is_empty() {
            complete.push(title);
        } else if there.is_empty() {
            absent.push(title);
        } else {
            let shown: Vec<&str> = lacking.iter().take(MAX_NAMED).copied().collect();
            let more = match lacking.len().saturating_sub(MAX_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown = shown.join(" ");
            let _ = writeln!(partial, "| {title} | partial, without `{shown}`{more} |");
        }
    }
    let mut table = String::from("\n| module | |\n|---|---|\n");
    let mut row = |titles: &[String], state: &str| {
        if !titles.is_empty() {
            let _ = writeln!(table, "| {} | {state} |", titles.join(" "));
        }
    };
    row(&complete, "complete");
    row(&asking, "importable; each use says which grant is missing");
    row(&absent, "absent");
    table.push_str(&partial);
    table.push('\n');
    table
}
