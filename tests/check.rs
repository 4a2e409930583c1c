//! `check` and `prompt`: agreement with the reference validator, the handling of hostile skills, and
//! the tables of modules.
//!
//! `check/front-matter` contains documents and `check/reference.json` the reference's results for them
//! (`check/reference.py` records them). The recorded results are always compared; the live ones if
//! `python3` has the reference.

use crate::env::{End, TestEnv};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where we differ from the reference on purpose, and why.
const DIFFERS: [(&str, &str, &str); 3] = [
    (
        "control-character",
        "yaml-invalid",
        "the reference fails itself; YAML has no such character",
    ),
    (
        "not-utf8",
        "skill-md-not-utf8",
        "the reference fails itself",
    ),
    ("utf16", "skill-md-not-utf8", "the reference fails itself"),
];
/// Skills that are printed differently from the reference, and why.
const SHOWN_OTHERWISE: [(&str, &str); 5] = [
    (
        "next-line",
        "U+0085 in a value ends a line in YAML 1.1 and is a character in 1.2",
    ),
    ("nul-name", "no skill is loaded whose name holds a NUL byte"),
    (
        "null-word",
        "no skill is loaded whose description is `null`",
    ),
    (
        "old-mac-lines",
        "no skill is loaded whose lines end in a carriage return alone",
    ),
    (
        "on-first-line",
        "no skill is loaded whose first line is more than `---`",
    ),
];
/// The module list of the Python interpreter, which `check` reads.
const PYTHON_MODULES: &str = "../../host/check/src/python.modules";

/// All tests; the one with the live reference is ignored where there is none.
pub(crate) fn tests() -> Vec<Trial> {
    let mut tests = functions();
    let live = Trial::test("the_recorded_answers_are_those_of_the_reference", || {
        recorded_answers_are_current()
    });
    tests.push(match reference() {
        Some(_) => live,
        None => live
            .with_kind("needs skills-ref 0.1.1")
            .with_ignored_flag(true),
    });
    tests
}

mod listed {
    use super::*;
    tests! {
        every_front_matter_is_judged_as_the_reference_judges_it,
        every_skill_is_shown_as_the_reference_shows_it,
        the_example_skills_are_clean,
        the_example_skills_are_shown_as_the_reference_shows_them,
        the_library_finds_what_the_command_finds,
        unreadable_parts_of_a_skill_are_reported_and_the_rest_is_checked,
        a_skill_with_thousands_of_scripts_is_checked_up_to_the_limit,
        sources_made_to_parse_slowly_are_checked_to_their_end,
        a_sarif_log_has_what_its_format_demands,
        the_list_of_python_modules_is_up_to_date,
    }
}
use listed::tests as functions;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/check")
}

fn recorded() -> Value {
    serde_json::from_str(&fs::read_to_string(folder().join("reference.json")).unwrap()).unwrap()
}

/// The documents by the name of their folder, each written as a skill in `skills/`.
fn documents(env: &TestEnv) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder().join("front-matter"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    for name in &names {
        let bytes = fs::read(folder().join(format!("front-matter/{name}.md"))).unwrap();
        env.write(&format!("skills/{name}/SKILL.md"), bytes);
    }
    names
}

/// The rules that a report lists, without duplicates.
fn broken(skill: &Value) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    for finding in skill["findings"].as_array().unwrap() {
        let rule = finding["rule"].as_str().unwrap().to_owned();
        if finding["level"] == "error" && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}

fn every_front_matter_is_judged_as_the_reference_judges_it() {
    let env = TestEnv::new();
    let names = documents(&env);
    let end = env.end(&["check", "./skills", "--json"]);
    assert_eq!((end.code, end.stderr.as_str()), (1, ""));
    let checked: Value = serde_json::from_str(&end.stdout).unwrap();
    let ours: BTreeMap<String, Vec<String>> = checked["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| {
            let path = Path::new(skill["path"].as_str().unwrap());
            let name = path.file_name().unwrap().to_str().unwrap();
            (name.to_owned(), broken(skill))
        })
        .collect();
    let mut wanted: BTreeMap<String, Vec<String>> =
        serde_json::from_value(recorded()["rules"].take()).unwrap();
    assert_eq!(names, wanted.keys().cloned().collect::<Vec<_>>());
    for (name, rule, why) in DIFFERS {
        assert_eq!(wanted[name], ["crash"], "{why}");
        wanted.insert(name.to_owned(), vec![rule.to_owned()]);
    }
    let valid = wanted.values().filter(|rules| rules.is_empty()).count();
    assert!(valid > 30 && wanted.len() - valid > 60, "{valid} are valid");
    for (name, rules) in &wanted {
        assert_eq!(&ours[name], rules, "{name}");
    }
}

fn every_skill_is_shown_as_the_reference_shows_it() {
    let env = TestEnv::new();
    let names = documents(&env);
    let recorded = recorded();
    let mut words = vec!["prompt".to_owned(), "--format".into(), "xml".into()];
    let mut wanted = String::from("<available_skills>\n");
    for name in &names {
        let skipped = SHOWN_OTHERWISE.iter().any(|(known, _)| known == name);
        if let (Some(block), false) = (recorded["prompts"][name].as_str(), skipped) {
            let inner = block.strip_prefix("<available_skills>\n").unwrap();
            let inner = inner.strip_suffix("</available_skills>\n").unwrap();
            wanted.push_str(&inner.replace("{root}", "{root}/skills"));
            words.push(env.text(&format!("skills/{name}")));
        }
    }
    wanted.push_str("</available_skills>\n");
    let end = env.end(&words);
    assert_eq!((end.code, end.stderr.as_str()), (0, ""));
    assert_eq!(end.stdout, wanted);
    // The same bytes again.
    assert_eq!(env.end(&words).stdout, wanted);
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../skills")
        .canonicalize()
        .unwrap()
}

fn the_example_skills_are_clean() {
    let env = TestEnv::new();
    let end = env.end(&["check", examples().to_str().unwrap(), "--json"]);
    let checked: Value = serde_json::from_str(&end.stdout).unwrap();
    let skills = checked["skills"].as_array().unwrap();
    assert_eq!(end.code, 0);
    assert_eq!(skills.len(), fs::read_dir(examples()).unwrap().count());
    for skill in skills {
        assert_eq!(skill["findings"], Value::Array(vec![]), "{}", skill["name"]);
        assert!(!skill["scripts"].as_array().unwrap().is_empty());
    }
}

fn the_example_skills_are_shown_as_the_reference_shows_them() {
    let env = TestEnv::new();
    let examples = examples();
    let words = [
        "prompt",
        "--format",
        "xml",
        "--skills",
        examples.to_str().unwrap(),
    ];
    let end = env.end(&words);
    let wanted = recorded()["examples"].as_str().unwrap().to_owned();
    let around = examples.parent().unwrap().to_str().unwrap().to_owned();
    assert_eq!(end.stdout, wanted.replace("{root}", &around));
}

fn the_library_finds_what_the_command_finds() {
    let env = TestEnv::with_script("import numpy\n");
    let report = skillrun_check::check(env.path("skill")).unwrap();
    let rules: Vec<_> = report.findings.iter().map(|found| found.rule.id).collect();
    assert_eq!(
        rules,
        ["import-native", "grant-wanted", "script-unreferenced"]
    );
    assert!(report.is_valid());
    assert_eq!(report.scripts[0].runtime, skillrun_check::Runtime::Native);
    assert_eq!(
        report.scripts[0].wants[0].grant,
        Some(skillrun::Grant::Native)
    );
    assert!(skillrun_check::check(env.path("nothing")).is_err());
    let skill = skillrun::Skill::load(env.path("skill")).unwrap();
    let end = env.end(&["prompt", "./skill"]);
    assert_eq!(
        skillrun_skill::prompt::available_scripts(&skill),
        Some(end.stdout)
    );
    let end = env.end(&["prompt", "--format", "xml", "./skill"]);
    let block = skillrun_skill::prompt::available_skills([&skill]);
    assert_eq!(env.named(block.as_bytes()), end.stdout);
}

fn unreadable_parts_of_a_skill_are_reported_and_the_rest_is_checked() {
    let env = TestEnv::with_script("import json\n");
    env.write("secret.py", "import secret_module\n");
    env.write("skill/SKILL.md", "---\nname: skill\ndescription: d\n---\nmain.py binary.py fifo.py huge.py out.py [o](references/out.md)\n");
    env.write("skill/scripts/binary.py", b"import sys\n\xff\xfe\0\n");
    let huge = fs::File::create(env.path("skill/scripts/huge.py")).unwrap();
    huge.set_len(100 * 1024 * 1024).unwrap();
    let setup = "fifo skill/scripts/fifo.py\nsymlink ../../secret.py skill/scripts/out.py\nsymlink ../../secret.py skill/references/out.md\nfifo skill/fifo.md\nsymlink / skill/outside\n";
    fs::create_dir(env.path("skill/references")).unwrap();
    crate::setup::prepare(env.root(), setup).unwrap();
    let deep = "d/".repeat(200);
    env.write(&format!("skill/{deep}x.py"), "import deep\n");
    let end = env.end(&["check", "./skill"]);
    let wanted = "\
./skill: 2 warnings
  warning  SKILL.md:5: `references/out.md` is not in the skill [reference-missing]
  warning  scripts/huge.py: `scripts/huge.py` is larger than 1048576 bytes [script-unreadable]
  scripts/binary.py: wasm
  scripts/main.py: wasm
";
    assert_eq!(
        end,
        End {
            stdout: wanted.into(),
            stderr: String::new(),
            code: 0
        }
    );
    for (setup, rule) in [
        ("fifo skill/SKILL.md", "skill-md-unreadable"),
        ("symlink ../secret.py skill/SKILL.md", "skill-md-unreadable"),
        ("symlink nowhere skill/SKILL.md", "skill-md-missing"),
    ] {
        let env = TestEnv::with_script("");
        fs::remove_file(env.path("skill/SKILL.md")).unwrap();
        env.write("secret.py", "---\nname: skill\ndescription: secret\n---\n");
        crate::setup::prepare(env.root(), setup).unwrap();
        let end = env.end(&["check", "./skill", "--json"]);
        let checked: Value = serde_json::from_str(&end.stdout).unwrap();
        assert_eq!(broken(&checked["skills"][0]), [rule], "{setup}");
        assert!(!end.stdout.contains("secret"));
    }
}

fn a_skill_with_thousands_of_scripts_is_checked_up_to_the_limit() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", crate::env::SKILL_MD);
    for index in 0..1200 {
        env.write(&format!("skill/scripts/s{index}.py"), "import json\n");
    }
    let end = env.end(&["check", "./skill", "--json"]);
    let checked: Value = serde_json::from_str(&end.stdout).unwrap();
    let skill = &checked["skills"][0];
    assert_eq!(skill["scripts"].as_array().unwrap().len(), 1000);
    let findings = skill["findings"].as_array().unwrap();
    let last = findings.last().unwrap();
    assert_eq!(last["rule"], "check-incomplete");
    assert_eq!(end.code, 0);
}

fn sources_made_to_parse_slowly_are_checked_to_their_end() {
    let env = TestEnv::new();
    let names = "quotes nested calls tries braces imports shell lists env heredoc";
    let md = format!("---\nname: skill\ndescription: d\n---\n{names}\n");
    env.write("skill/SKILL.md", md);
    for (name, piece) in [
        ("quotes.py", "f'{f\"{"),
        ("nested.js", "`${"),
        ("calls.py", "subprocess.run(x)\n"),
        ("calls.js", "require('child_process');spawn(x);"),
        ("tries.py", "try:\n import a\nexcept ImportError:\n pass\n"),
        ("braces.js", "try{"),
        ("imports.mjs", "import {"),
        ("shell.sh", "\"$(${a:-`"),
        ("lists.sh", "x=("),
        ("env.js", "const {a} = process.env;promisify(b);"),
        ("heredoc.sh", "cat <<EOF\n"),
    ] {
        env.write(
            &format!("skill/scripts/{name}"),
            piece.repeat(1_000_000 / piece.len()),
        );
    }
    let end = env.end(&["check", "./skill", "--json"]);
    let checked: Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(
        checked["skills"][0]["scripts"].as_array().unwrap().len(),
        11
    );
    assert_eq!(end.code, 0);
}

fn a_sarif_log_has_what_its_format_demands() {
    let env = TestEnv::with_script("import numpy, requests\n");
    env.write("skill/a b.py", "import x");
    let end = env.end(&["check", "./skill", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(run["tool"]["driver"]["name"], "skillrun");
    let results = run["results"].as_array().unwrap();
    assert!(results.len() > 3);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(
            rules[index]["defaultConfiguration"]["level"],
            result["level"]
        );
        assert!(result["message"]["text"].is_string());
        let env = &result["locations"][0]["physicalLocation"];
        let uri = env["artifactLocation"]["uri"].as_str().unwrap();
        assert!(
            ["skill/scripts/main.py", "skill/a%20b.py"].contains(&uri),
            "{uri}"
        );
        let line = &env["region"]["startLine"];
        assert!(line.is_null() || line.as_u64() > Some(0));
    }
}

/// Asks the Python interpreter for each module of its library; with `UPDATE=1` writes the list.
fn the_list_of_python_modules_is_up_to_date() {
    let script = "\
import importlib, sys
left_out = {'antigravity', 'this', 'idlelib', 'turtledemo'}
for name in sorted(sys.stdlib_module_names):
    if name in left_out or (name.startswith('_') and name != '__future__'):
        continue
    try:
        importlib.import_module(name)
        print(name)
    except ImportError as error:
        print(name, 'absent', str(error).partition(': ')[2])
";
    let end = TestEnv::with_script(script).run(&[]);
    assert_eq!((end.code, end.stderr.as_str()), (0, ""));
    let mut list = String::from(
        "# The modules of the standard library, each as it is in the Python interpreter: there, or absent and why.\n# Written by the test `the_list_of_python_modules_is_up_to_date` with UPDATE=1.\n",
    );
    for line in end.stdout.lines() {
        list.push_str(line.trim_end());
        list.push('\n');
    }
    let path = folder().join(PYTHON_MODULES);
    if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
        fs::write(&path, &list).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), list);
}

/// A Python that has the reference, in the version that was recorded.
fn reference() -> Option<Command> {
    let probe = "import importlib.metadata as m; assert m.version('skills-ref') == '0.1.1'; import skills_ref";
    let python = std::env::var_os("SKILLS_REF_PYTHON").unwrap_or_else(|| "python3".into());
    let works = Command::new(&python).args(["-c", probe]).output();
    works
        .is_ok_and(|output| output.status.success())
        .then(|| Command::new(python))
}

fn recorded_answers_are_current() -> Result<(), Failed> {
    let mut python = reference().ok_or("there is no reference")?;
    let output = python
        .arg(folder().join("reference.py"))
        .arg("--print")
        .output()?;
    let live = String::from_utf8(output.stdout)?;
    let recorded = fs::read_to_string(folder().join("reference.json"))?;
    match live == recorded {
        true => Ok(()),
        false => Err(crate::folder::difference(&recorded, &live).into()),
    }
}
