//! Every run and every refusal is in the log, and every yes is whole or not there, wherever the process is
//! killed.
//!
//! The n-th system call of a kind kills the process, for every n that there is: before the log is
//! opened, between the line and its head, before the script starts, and so on. What ran has its line,
//! and the log verifies after every one of these deaths.

use crate::place::{End, Place};
use libtest_mimic::Trial;
use serde_json::Value;
use skillrun::{AuditFiles, AuditWrong};
use std::path::Path;

/// The system calls by which a run reads, writes and locks.
const RUN: [&str; 11] = [
    "openat", "openat2", "flock", "fstat", "statx", "pread64", "write", "pwrite64", "close",
    "mkdir", "rmdir",
];

/// Those by which SQLite does.
const STORE: [&str; 7] = [
    "fdatasync",
    "pwrite64",
    "fcntl",
    "unlink",
    "openat",
    "newfstatat",
    "close",
];

pub(crate) fn trials() -> Vec<Trial> {
    let trials = [
        Trial::test(
            "what_ran_is_in_the_log_wherever_the_process_was_killed",
            || {
                what_ran_is_in_the_log_wherever_the_process_was_killed();
                Ok(())
            },
        ),
        Trial::test(
            "what_was_refused_is_in_the_log_wherever_the_process_was_killed",
            || {
                what_was_refused_is_in_the_log_wherever_the_process_was_killed();
                Ok(())
            },
        ),
    ];
    let approval = Trial::test(
        "a_yes_is_remembered_whole_or_not_at_all_wherever_the_process_was_killed",
        || {
            a_yes_is_remembered_whole_or_not_at_all_wherever_the_process_was_killed();
            Ok(())
        },
    );
    let traced = Place::new()
        .program("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .env("PATH", "/usr/bin:/bin")
        .status();
    let trials = trials.into_iter().chain([approval]);
    if traced.is_ok_and(|status| status.success()) {
        return trials.collect();
    }
    let ignored = |trial: Trial| trial.with_kind("needs strace").with_ignored_flag(true);
    trials.map(ignored).collect()
}

/// Runs the words again and again, each time killed one step later, until it survives each kind of
/// step; `check` sees the last argument of the run and its end. Returns how many were killed.
fn killed_everywhere(
    place: &Place,
    calls: &[&str],
    words: impl Fn(&str) -> Vec<String>,
    mut check: impl FnMut(&str, &End),
) -> usize {
    let mut killed = 0;
    for call in calls {
        for n in 1.. {
            let name = format!("{call}-{n}");
            let mut command = place.program("strace");
            command.env("PATH", "/usr/bin:/bin");
            command.args(["-f", "-qq", "-o", "/dev/null"]);
            command.args(["-e", &format!("trace={call}")]);
            command.args(["-e", &format!("inject={call}:signal=KILL:when={n}")]);
            command
                .arg(env!("CARGO_BIN_EXE_skillrun"))
                .args(words(&name));
            let end = place.end_of(&mut command);
            check(&name, &end);
            verify(place, &name);
            if end.code != 128 + 9 {
                break;
            }
            killed += 1;
        }
    }
    killed
}

/// These words, with the name of the step as the script's argument.
fn with_name(words: &[&str]) -> impl Fn(&str) -> Vec<String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    move |name| [&words[..], &["--".to_owned(), name.to_owned()]].concat()
}

/// The log is as it was written, but for what a killed writer may leave.
fn verify(place: &Place, name: &str) {
    let log = AuditFiles::of(place.path("state/skillrun/audit.jsonl"));
    let done = log.verify(None).unwrap();
    assert!(done.holds(), "{name}: {:?}", done.findings);
    let left = |kind| matches!(kind, AuditWrong::CutShort | AuditWrong::Head);
    assert!(
        done.notes.iter().all(|note| left(note.kind)),
        "{name}: {:?}",
        done.notes
    );
}

/// The events of the run with this argument.
fn events(place: &Place, name: &str) -> Vec<Value> {
    let lines = place.audit().into_iter();
    let its = lines.filter(|line| line["arguments"] == name);
    its.map(|mut line| line["event"].take()).collect()
}

fn what_ran_is_in_the_log_wherever_the_process_was_killed() {
    let place = Place::with_script("import sys\nopen(sys.argv[1], 'w').close()\n");
    std::fs::create_dir(place.path("workspace")).unwrap();
    let words = with_name(&["run", "./skill", "main.py", "-w", "workspace"]);
    let (mut before, mut after, mut whole) = (0, 0, 0);
    let killed = killed_everywhere(&place, &RUN, words, |name, end| {
        let ran = Path::new(&place.path("workspace")).join(name).exists();
        let events = events(&place, name);
        match (end.code, ran) {
            (0, true) => {
                assert_eq!(events, ["started", "finished"], "{name}");
                whole += 1;
            }
            (137, true) => {
                assert_eq!(events[0], "started", "{name}");
                after += 1;
            }
            (137, false) => before += 1,
            _ => panic!("{name}: {end:?}"),
        }
    });
    // Some died before the script ran and some after, or this shows nothing.
    assert_eq!(whole, RUN.len());
    assert!(before > 50 && after > 20, "{before} {after} {killed}");
}

fn what_was_refused_is_in_the_log_wherever_the_process_was_killed() {
    let place = Place::with_script("");
    let words = with_name(&["run", "./skill", "../x.py"]);
    let (mut told, mut silent) = (0, 0);
    killed_everywhere(&place, &RUN, words, |name, end| {
        if end.stderr.contains("refused: ") {
            assert_eq!(events(&place, name), ["refused"], "{name}");
            told += 1;
        } else {
            assert_eq!(end.code, 137, "{name}: {end:?}");
            silent += 1;
        }
    });
    assert!(told >= RUN.len() && silent > 10, "{told} {silent}");
}

fn a_yes_is_remembered_whole_or_not_at_all_wherever_the_process_was_killed() {
    let place = Place::with_script("open('ran', 'w').close()\n");
    place.write(
        "skill/SKILL.md",
        "---\nname: skill\ndescription: A skill.\n---\nscripts/main.py\n",
    );
    std::fs::create_dir(place.path("workspace")).unwrap();
    let answers =
        "[{\"skill\": \"skill\", \"script\": \"scripts/main.py\", \"answer\": \"yes_once\"}]";
    place.write("answers.json", answers);
    let words = |_: &str| {
        let words = [
            "load",
            "./skill",
            "-w",
            "workspace",
            "--answers",
            "answers.json",
        ];
        words.map(str::to_owned).to_vec()
    };
    let (mut there, mut absent) = (0, 0);
    let killed = killed_everywhere(&place, &STORE, words, |name, end| {
        let listed = place.end(&["approvals", "list", "--json"]);
        assert_eq!(listed.code, 0, "{name}: {}", listed.stderr);
        let all: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
        assert!(all.len() <= 1, "{name}: {all:?}");
        let ran = place.path("workspace/ran").exists();
        if ran {
            assert_eq!(all.len(), 1, "{name}: it ran without a yes");
            std::fs::remove_file(place.path("workspace/ran")).unwrap();
        }
        assert!(ran || end.code != 0, "{name}: {end:?}");
        match all.len() {
            0 => absent += 1,
            _ => there += 1,
        }
        place.end(&["approvals", "revoke", "--all"]);
        // Half of them begin without a file.
        if killed_odd(name) {
            let _ = std::fs::remove_file(place.path("state/skillrun/approvals.db"));
        }
    });
    assert!(
        there > STORE.len() && absent > 20,
        "{there} {absent} {killed}"
    );
}

fn killed_odd(name: &str) -> bool {
    name.ends_with(['1', '3', '5', '7', '9'])
}
