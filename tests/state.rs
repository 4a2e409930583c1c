//! What skillrun keeps for itself, and native scripts that see the folders around it.

use crate::folder::needs;
use crate::place::Place;
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::process::Child;

/// All trials; ignored where there is no Perl, or nothing to hold it.
pub(crate) fn trials() -> Vec<Trial> {
    let all = listed::trials().into_iter();
    all.map(|trial| needs(trial, "perl namespaces")).collect()
}

mod listed {
    use super::*;

    trials! {
        a_script_that_may_read_the_log_cannot_keep_others_from_writing_it,
        runs_at_once_share_what_keeps_a_missing_folder_away,
        what_a_killed_run_left_to_keep_a_folder_away_goes_with_the_next,
    }
}

fn a_script_that_may_read_the_log_cannot_keep_others_from_writing_it() {
    let place = Place::with_script("");
    let end = place.run(&[]);
    assert_eq!(end.code, 0, "{}", end.stderr);
    place.write(
        "skill/scripts/hold.pl",
        "use Fcntl ':flock';\n\
         for my $file (glob \"$ARGV[0]/*\") {\n\
             my $name = (split '/', $file)[-1];\n\
             if (open(my $held, '<', $file)) { print \"$name \", flock($held, LOCK_EX | LOCK_NB) ? 'held' : 'free', \"\\n\"; push @all, $held }\n\
             else { print \"$name $!\\n\" }\n\
         }\n\
         $| = 1; print \"ready\\n\"; sleep 100;\n",
    );
    let state = place.text("state/skillrun");
    let read = format!("read:{state}");
    let words = [
        "run",
        "./skill",
        "hold.pl",
        "--allow",
        "interpreter:perl",
        "--allow",
        &read,
        "--",
        &state,
    ];
    let mut child = place.command(&words).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut seen = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0);
        match line.trim_end() {
            "ready" => break,
            other => seen.push(other.to_owned()),
        }
    }
    assert!(seen.contains(&"audit.head held".to_owned()), "{seen:?}");
    assert!(
        seen.contains(&"audit.lock Permission denied".to_owned()),
        "{seen:?}"
    );
    let end = place.run(&[]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(place.end_of_child(child).code, 130);
    place.check_left_behind().unwrap();
}

const WAITS: [&str; 7] = [
    "run",
    "./skill",
    "wait.pl",
    "--allow",
    "interpreter:perl",
    "-w",
    "home",
];

/// A home without the folders that skillrun would keep its own things in.
fn home() -> Place {
    let place = Place::new();
    place.write("skill/SKILL.md", crate::place::SKILL_MD);
    place.write(
        "skill/scripts/wait.pl",
        "$| = 1; print mkdir('.config/skillrun') ? 'made' : \"$!\", \"\\n\"; print \"ready\\n\"; <STDIN>;\n",
    );
    place
}

fn start(place: &Place) -> (Child, std::process::ChildStdin) {
    let mut command = place.command(&WAITS);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.as_mut().unwrap());
    let lines: Vec<String> = stdout.lines().map_while(Result::ok).take(2).collect();
    assert_eq!(lines, ["Read-only file system", "ready"]);
    (child, stdin)
}

fn entries(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path("home")).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn runs_at_once_share_what_keeps_a_missing_folder_away() {
    let place = home();
    let (first, first_input) = start(&place);
    let (second, second_input) = start(&place);
    drop(first_input);
    assert_eq!(place.end_of_child(first).code, 0);
    assert!(entries(&place).contains(&".config".to_owned()));
    drop(second_input);
    assert_eq!(place.end_of_child(second).code, 0);
    assert_eq!(entries(&place), [""; 0]);
}

fn what_a_killed_run_left_to_keep_a_folder_away_goes_with_the_next() {
    let place = home();
    fs::DirBuilder::new()
        .mode(0o500)
        .create(place.path("home/.config"))
        .unwrap();
    let (child, input) = start(&place);
    drop(input);
    assert_eq!(place.end_of_child(child).code, 0);
    assert_eq!(entries(&place), [""; 0]);
    // What somebody else made stays.
    fs::create_dir(place.path("home/.config")).unwrap();
    let mode =
        |mode| fs::set_permissions(place.path("home/.config"), fs::Permissions::from_mode(mode));
    mode(0o755).unwrap();
    assert_eq!(place.end(&WAITS).code, 0);
    assert_eq!(entries(&place), [".config"]);
}
