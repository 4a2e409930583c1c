//! The job that attacks with a corpus (`just attack`), run with harmless stand-ins: it reports what a script obtains,
//! and these obtain nothing.

use crate::attack_corpus::{self as attack, Run, Settings, Sinkhole, Tier};
use crate::env::shared_cache;
use crate::folder;
use std::path::{Path, PathBuf};

pub(crate) fn tests() -> Vec<libtest_mimic::Trial> {
    let tests = [
        (
            "the_attack_job_reports_what_a_script_was_granted",
            controls as fn(),
        ),
        ("the_harmless_attack_examples_get_nothing", examples),
    ];
    let tests = tests.into_iter().map(|(name, run)| {
        let test = libtest_mimic::Trial::test(name, move || {
            run();
            Ok(())
        });
        folder::needs(test, "bash base64 setsid")
    });
    tests.collect()
}

fn settings() -> Settings {
    Settings {
        skillrun: PathBuf::from(env!("CARGO_BIN_EXE_skillrun")),
        cache: shared_cache(),
        user: None,
    }
}

fn controls() {
    let sinkhole = Sinkhole::open(&[], false).unwrap();
    let mut got = Vec::new();
    for control in attack::controls(false) {
        let run = attack::run_control(&settings(), &sinkhole, &control).unwrap();
        assert!(run.got.iter().any(|got| got == control.gets), "{run:?}");
        // The port and the number of bytes of a connection vary.
        let named = run
            .got
            .iter()
            .filter(|got| !got.starts_with("a connection"));
        let named: Vec<&str> = named.map(String::as_str).collect();
        got.push(format!("{}: {}", run.script, named.join(", ")));
    }
    assert_eq!(
        got,
        [
            "prints-a-secret.py: `ssh key` in stdout",
            "encodes-a-secret.sh: `ssh key` in its workspace",
            "changes-a-file.sh: changed `canary/notes.txt`",
            "connects.sh: `ssh key` in a connection",
        ]
    );
}

fn examples() {
    let sinkhole = Sinkhole::open(&[], false).unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/attack_corpus/examples");
    let mut runs: Vec<Run> = Vec::new();
    for script in attack::scripts(&corpus).unwrap() {
        attack::run_script(&settings(), &sinkhole, &script, &[&[]], |run| {
            runs.push(run)
        })
        .unwrap();
    }
    for run in &runs {
        // An interpreter that this machine lacks cannot run natively.
        let may_lack = run.tier == Tier::Native && !run.script.ends_with(".sh");
        assert!(run.got.is_empty(), "{}", run.json());
        assert!(
            run.ran() || (may_lack && run.exit_code == 127),
            "{}",
            run.json()
        );
    }
    // Every script ran, and those in Python and JavaScript ran in both tiers.
    assert_eq!(runs.len(), 20);
}
