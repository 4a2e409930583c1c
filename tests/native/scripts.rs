//! Native scripts through the command line and the library, where a folder cannot say it.

use crate::library::{block_on, host, permitted, skill};
use crate::place::{Place, SKILL_MD};
use skillrun::{Policy, Request};
use std::os::unix::fs::MetadataExt as _;

trials! {
    what_a_native_script_makes_belongs_to_the_caller,
    a_native_script_rewritten_after_the_decision_is_not_what_runs,
    a_crash_of_a_native_script_is_an_error_in_the_log,
    the_outcome_of_a_native_script_says_what_held_it,
}

fn bash(script: &str) -> Place {
    let place = Place::new();
    place.write("skill/SKILL.md", SKILL_MD);
    place.write("skill/scripts/main.sh", script);
    place
}

fn what_a_native_script_makes_belongs_to_the_caller() {
    let own = rustix::process::geteuid().as_raw();
    let other = if own == 0 { 65534 } else { own };
    for owner in [own, other] {
        let place = bash("mkdir -p a/b && echo x > a/b/c && ln -s c a/b/d && rm -r gone\n");
        place.write("workspace/gone/x", "");
        let words = ["run", "./skill", "main.sh", "-w", "workspace"];
        let mut command = match owner == own {
            true => place.command(&words),
            false => place.unprivileged_command(&words),
        };
        let end = place.end_of(&mut command);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0));
        for made in ["a", "a/b", "a/b/c", "a/b/d"] {
            let path = place.path("workspace").join(made);
            assert_eq!(path.symlink_metadata().unwrap().uid(), owner, "{made}");
        }
        place.check_left_behind().unwrap();
    }
}

fn a_native_script_rewritten_after_the_decision_is_not_what_runs() {
    let place = bash("echo decided\n");
    let host = host(&place);
    let request = Request::new(&skill(&place), "main.sh");
    let permit = permitted(&host, &Policy::default(), request);
    place.write("skill/scripts/main.sh", "echo other\n");
    let printed = match block_on(host.run(permit)) {
        Ok(outcome) => outcome.stdout,
        Err(error) => error.to_string(),
    };
    assert_eq!(printed, "decided\n");
}

fn a_crash_of_a_native_script_is_an_error_in_the_log() {
    let place = bash("echo before\nkill -SEGV $$\n");
    let end = place.end(&["run", "./skill", "main.sh", "--json"]);
    let outcome: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    let got = [
        "status",
        "exit_code",
        "signal",
        "signal_number",
        "signaled",
        "success",
        "stdout",
        "stderr",
    ]
    .map(|key| outcome[key].to_string());
    assert_eq!(
        got,
        [
            "\"signaled\"",
            "-11",
            "\"SIGSEGV\"",
            "11",
            "true",
            "false",
            "\"before\\n\"",
            "\"Signal: SIGSEGV\\n\""
        ]
    );
    assert_eq!(end.code, 139);
    let log = place.audit();
    let finished = log.last().unwrap();
    assert_eq!(finished["event"], "finished");
    assert_eq!(finished["level"], "error");
    assert_eq!(finished["status"], "signaled");
}

fn the_outcome_of_a_native_script_says_what_held_it() {
    let place = bash("echo held\n");
    let end = place.end(&["run", "./skill", "main.sh", "--json"]);
    let outcome: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    let isolation = &outcome["isolation"];
    assert_eq!(isolation["tier"], "native", "{}", end.stderr);
    let layers: Vec<&str> = isolation["layers"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|layer| layer.as_str())
        .collect();
    for layer in ["landlock", "seccomp", "rlimits", "no_new_privileges"] {
        assert!(layers.contains(&layer), "{layer} is not among {layers:?}");
    }
    assert_eq!(isolation["limits"]["time"], "hard");
    assert!(isolation["limits"]["memory"] == "hard" || isolation["limits"]["memory"] == "polled");
}
