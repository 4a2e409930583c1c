//! Tests that are folders: a skill, the command, and the whole expected output.
//!
//! Each attack has an allowed twin beside it: the same skill, with a command that may do what the attack
//! may not. An attack that prints nothing proves nothing, so it must print the error it got, unless
//! it was refused before it ran.

use crate::env::{End, SKILL_MD, TestEnv};
use crate::{setup, words};
use libtest_mimic::{Failed, Trial};
use skillrun_confine::{Backend, Confinement};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;

/// The command of a folder that has no `command` file.
const COMMAND: &str = "run {skill} main.py";
/// Values of an outcome that differ from run to run.
const VOLATILE: [&str; 5] = [
    "run_id",
    "execution_time_ms",
    "fuel",
    "peak_memory_bytes",
    "cpu_time_ms",
];

/// One test for each folder of `tests/cases`.
pub(crate) fn cases() -> Vec<Trial> {
    folders("cases")
        .map(|(name, folder)| test(name, folder, |folder| run(folder, "").map(drop)))
        .collect()
}

/// One test for each folder of `tests/attacks`.
pub(crate) fn attacks() -> Vec<Trial> {
    folders("attacks")
        .map(|(name, folder)| test(name, folder, attack))
        .collect()
}

/// A test that is ignored, with the reason as its kind, if this machine lacks what it `needs`.
fn test(name: String, folder: PathBuf, run: fn(&Path) -> Result<(), Failed>) -> Trial {
    let needs = fs::read_to_string(folder.join("needs")).unwrap_or_default();
    self::needs(Trial::test(name, move || run(&folder)), &needs)
}

/// The test, ignored if one of these is missing.
pub(crate) fn needs(test: Trial, words: &str) -> Trial {
    match words.split_whitespace().find(|word| !is_available(word)) {
        Some(word) => test
            .with_kind(format!("needs {word}"))
            .with_ignored_flag(true),
        None => test,
    }
}

/// Whether namespaces work here, or a program is where scripts see it.
fn is_available(word: &str) -> bool {
    if word == "namespaces" {
        static NAMESPACES: LazyLock<bool> =
            LazyLock::new(|| Confinement::with(Backend::Namespaces).is_ok());
        return *NAMESPACES;
    }
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"].iter();
    let mut paths = folders.map(|folder| Path::new(folder).join(word));
    paths.any(|path| path.is_file() && skillrun_confine::is_shown(&path))
}

fn folders(kind: &str) -> impl Iterator<Item = (String, PathBuf)> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests")
        .join(kind);
    let mut folders: Vec<PathBuf> = fs::read_dir(&all)
        .unwrap_or_else(|error| panic!("{}: {error}", all.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders.into_iter().map(|folder| {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        (name, folder)
    })
}

fn attack(folder: &Path) -> Result<(), Failed> {
    let twin = ["allowed.command", "allowed.setup", "allowed.stdout"]
        .iter()
        .any(|name| folder.join(name).exists());
    if !twin {
        return Err("an attack needs its allowed twin: an `allowed.command` beside it".into());
    }
    let end = run(folder, "")?;
    if end.stdout.is_empty() && !(125..=127).contains(&end.code) {
        return Err("the attack ran and printed nothing: it must print the error it got".into());
    }
    run(folder, "allowed.").map(drop)
}

/// Runs the folder's command, or its twin's, in a fresh copy and compares everything.
fn run(folder: &Path, prefix: &str) -> Result<End, Failed> {
    let file = |name: &str| folder.join(format!("{prefix}{name}"));
    let text = |name: &str| fs::read_to_string(file(name)).ok();
    let env = TestEnv::new();
    for part in ["skill", "workspace"] {
        let from = folder.join(part);
        if from.is_dir() {
            copy(&from, &env.path(part))?;
        } else if let Ok(name) = fs::read_to_string(&from) {
            // One of the example skills, by name.
            let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
            copy(&examples.join(name.trim()), &env.path(part))?;
        }
    }
    let shared = fs::read_to_string(folder.join("shared")).unwrap_or_default();
    for line in shared.lines() {
        // A script of `tests/shared`, and its name in the skill if that is another one.
        let (from, name) = line.split_once(' ').unwrap_or((line, line));
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/shared")
            .join(from);
        fs::create_dir_all(env.path("skill/scripts"))?;
        fs::copy(from, env.path("skill/scripts").join(name))?;
    }
    default_skill_md(&env);
    let line = text("command").unwrap_or_else(|| COMMAND.into());
    if line.contains("{workspace}") {
        // Git does not track empty folders.
        fs::create_dir_all(env.path("workspace"))?;
    }
    let has_skill = env.path("skill").is_dir();
    setup::prepare(env.root(), &text("setup").unwrap_or_default())?;
    if !has_skill {
        // The steps may have created the whole skill.
        default_skill_md(&env);
    }
    let words: Vec<String> = words::split(line.trim())?
        .into_iter()
        .map(|word| {
            word.replace("{skill}", &env.text("skill"))
                .replace("{workspace}", &env.text("workspace"))
                .replace("{root}", env.root().to_str().unwrap())
        })
        .collect();
    let mut command = env.command(&words);
    if let Ok(stdin) = fs::File::open(file("stdin")) {
        command.stdin(Stdio::from(stdin));
    }
    let mut end = env.end_of(&mut command);
    end.stdout = without_volatile(end.stdout);
    compare(&file(""), &end)?;
    env.check_left_behind()?;
    Ok(end)
}

/// Writes a description of the skill unless it has one: most tests are not about it.
fn default_skill_md(env: &TestEnv) {
    if env.path("skill").is_dir() && !env.path("skill/SKILL.md").exists() {
        env.write("skill/SKILL.md", SKILL_MD);
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// An outcome with its volatile values replaced by their type.
fn without_volatile(stdout: String) -> String {
    fn visit(value: &mut serde_json::Value) {
        let Some(object) = value.as_object_mut() else {
            return;
        };
        for (key, value) in object {
            match value {
                serde_json::Value::String(text) if VOLATILE.contains(&key.as_str()) => {
                    *text = "{text}".into();
                }
                serde_json::Value::Number(_) if VOLATILE.contains(&key.as_str()) => {
                    *value = "{number}".into();
                }
                other => visit(other),
            }
        }
    }
    match serde_json::from_str::<serde_json::Value>(&stdout) {
        Ok(mut value) if value.get("run_id").is_some() => {
            visit(&mut value);
            format!("{value}\n")
        }
        _ => stdout,
    }
}

/// Compares with the files beside `base`; with `UPDATE=1` writes them instead.
fn compare(base: &Path, end: &End) -> Result<(), Failed> {
    let base = base.display();
    let code = match end.code {
        0 => String::new(),
        code => format!("{code}\n"),
    };
    let parts = [
        ("stdout", &end.stdout),
        ("stderr", &end.stderr),
        ("exit", &code),
    ];
    let mut report = String::new();
    for (name, got) in parts {
        let path = PathBuf::from(format!("{base}{name}"));
        let wanted = match fs::read_to_string(&path) {
            Ok(text) if name == "exit" && text.trim() == "0" => String::new(),
            Ok(text) => text,
            Err(_) => String::new(),
        };
        if *got == wanted {
            continue;
        }
        if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
            match got.as_str() {
                "" => fs::remove_file(&path)?,
                text => fs::write(&path, text)?,
            }
            continue;
        }
        let _ = write!(report, "{name} differs:\n{}", difference(&wanted, got));
    }
    if report.is_empty() {
        Ok(())
    } else {
        Err(report.into())
    }
}

/// The lines that differ, `-` wanted and `+` got, with their common start and end left out.
pub(crate) fn difference(wanted: &str, got: &str) -> String {
    let (wanted, got): (Vec<_>, Vec<_>) = (
        wanted.split_inclusive('\n').collect(),
        got.split_inclusive('\n').collect(),
    );
    let same = |(a, b): &(&&str, &&str)| a == b;
    let start = wanted.iter().zip(&got).take_while(same).count();
    let end = wanted[start..]
        .iter()
        .rev()
        .zip(got[start..].iter().rev())
        .take_while(same)
        .count();
    let mut text = String::new();
    if start > 0 {
        let _ = writeln!(text, "  … {start} equal lines");
    }
    for (mark, lines) in [
        ('-', &wanted[start..wanted.len() - end]),
        ('+', &got[start..got.len() - end]),
    ] {
        for line in lines.iter().take(40) {
            let shown: String = line.trim_end_matches('\n').chars().take(400).collect();
            let unfinished = if line.ends_with('\n') {
                ""
            } else {
                " (no newline)"
            };
            let _ = writeln!(text, "{mark} {shown}{unfinished}");
        }
        if lines.len() > 40 {
            let _ = writeln!(text, "{mark} … {} more lines", lines.len() - 40);
        }
    }
    if end > 0 {
        let _ = writeln!(text, "  … {end} equal lines");
    }
    text
}
