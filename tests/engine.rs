//! The tests that come with QuickJS-ng, run in the guest: they show that our build of the engine is intact.
//!
//! They are part of the crate from which the guest is compiled. A file that is neither run nor listed
//! here with a reason fails the test, so a new version of the engine brings its new tests along.

use crate::env::{SKILL_MD, TestEnv};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

tests!(the_engines_own_tests_pass_in_the_guest);

/// The crate with the engine's sources, and the path of the tests in it.
const CRATE: &str = "libquickjs-ng-sys";
const TESTS: &str = "embed/quickjs/tests";

/// What `qjs` provides to its tests. The guest collects garbage automatically, so `gc` does nothing. How a string
/// is stored cannot be queried, so the answer is the one that the test expects.
const MAIN: &str = "globalThis.print = console.log;
globalThis.gc = () => {};
globalThis.qjs = { getStringKind: (text) => Number(text.length > 8) };
await import(process.argv[2]);
";

/// Replacements in the sources of the tests: for modules of the engine of which the tests use no more
/// than this, and for parts of a test that read what scripts see in Node's form.
const REPLACEMENTS: [(&str, &str); 8] = [
    (
        "import * as std from \"qjs:std\";",
        "const std = { gc: globalThis.gc };",
    ),
    (
        "import * as os from \"qjs:os\";",
        "const os = { platform: process.platform };",
    ),
    ("    test_eval2();", ""),
    ("\"04/07/2024, 0", "\"4/7/2024, "),
    ("\"04/07/2024, ", "\"4/7/2024, "),
    ("\ntest_exception_source_pos();", ""),
    ("\ntest_exception_prepare_stack();", ""),
    ("\ntest_exception_stack_size_limit();", ""),
];

const STACKS: &str = "it reads the engine's own stacks; scripts see Node's";
const MESSAGES: &str = "it compares the engine's own messages; scripts see Node's";

/// Files that are not run, or prefixes of their names, and why.
const NOT_RUN: [(&str, &str); 22] = [
    ("assert.js", "other files import it"),
    ("empty.js", "other files import it"),
    ("fixture_", "other files import them"),
    ("test_worker_module.js", "a worker imports it"),
    ("microbench.js", "it measures time"),
    (
        "bug1672/",
        "they end by an interrupt handler of their runner; ours is the time limit",
    ),
    ("test_bjson.js", "the module bjson is no part of the guest"),
    ("test_std.js", "the module std is no part of the guest"),
    (
        "detect_module/4.js",
        "the module os is no part of the guest",
    ),
    ("test_worker.js", "the guest has no workers"),
    (
        "atomics-store-leak.js",
        "Atomics are not the engine's own without threads, and keep another order",
    ),
    ("bug1498.js", STACKS),
    ("callsite-native-position.js", STACKS),
    ("parse-error-column.js", STACKS),
    ("test_dynamic_import_line_numbers.js", STACKS),
    ("bug1591.js", MESSAGES),
    ("bug1735.js", MESSAGES),
    ("null_or_undefined.js", MESSAGES),
    (
        "bug1661.js",
        "it leaves a rejection unhandled, which ends a run as under Node",
    ),
    (
        "bug633/0.js",
        "it is an error in a global script; scripts are modules here, as under Node",
    ),
    (
        "import-attributes-identity.js",
        "Node has no import of type text",
    ),
    ("test_domexception.js", "the guest has Node's DOMException"),
];

fn the_engines_own_tests_pass_in_the_guest() {
    let tests = tests_folder();
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    env.write("skill/scripts/main.mjs", MAIN);
    let mut names = Vec::new();
    copy(&tests, &tests, &env, &mut names);
    names.sort();

    let mut failures = Vec::new();
    let mut ran = 0;
    for name in &names {
        if NOT_RUN.iter().any(|(start, _)| name.starts_with(start)) {
            continue;
        }
        ran += 1;
        let path = format!("./{name}");
        let end = env.end(&["run", "./skill", "main.mjs", "--", &path]);
        let wanted = wanted_error(&env.read(&format!("skill/scripts/{name}")));
        let as_wanted = match &wanted {
            None => end.code == 0,
            Some(class) => end.code == 1 && end.stderr.contains(class),
        };
        if !as_wanted {
            failures.push(format!(
                "{name} exited with {}, wanted {wanted:?}:\n{}",
                end.code, end.stderr
            ));
        }
    }
    assert!(ran > 80, "only {ran} files in {}", tests.display());
    for (start, why) in NOT_RUN {
        let there = names.iter().any(|name| name.starts_with(start));
        assert!(there, "{start} is gone: {why}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The folder of the tests, from Cargo.
fn tests_folder() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtimes/sources/Cargo.toml");
    let printed = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--locked", "--format-version", "1"])
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .unwrap();
    assert!(
        printed.status.success(),
        "{}",
        String::from_utf8_lossy(&printed.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    let package = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|package| package["name"] == CRATE)
        .unwrap();
    Path::new(package["manifest_path"].as_str().unwrap())
        .with_file_name("")
        .join(TESTS)
}

/// Copies the files below `folder` into the skill and adds the scripts' names.
fn copy(tests: &Path, folder: &Path, env: &TestEnv, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            copy(tests, &path, env, names);
            continue;
        }
        let name = path.strip_prefix(tests).unwrap().to_str().unwrap();
        let mut text = fs::read_to_string(&path).unwrap();
        for (import, instead) in REPLACEMENTS {
            text = text.replace(import, instead);
        }
        env.write(&format!("skill/scripts/{name}"), text);
        if name.ends_with(".js") {
            names.push(name.to_owned());
        }
    }
}

/// The class of the error with which a test is declared to end.
fn wanted_error(text: &str) -> Option<String> {
    let (_, negative) = text.split_once("negative:")?;
    let (_, class) = negative.split_once("type: ")?;
    class.lines().next().map(str::to_owned)
}
