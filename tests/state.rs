//! What skillrun keeps for itself, and native scripts that see the folders around it.

use crate::folder::needs;
use crate::place::Place;
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead as _, BufReader};

/// All trials; ignored where there is no Perl, or nothing to hold it.
pub(crate) fn trials() -> Vec<Trial> {
    let all = listed::trials().into_iter();
    all.map(|trial| needs(trial, "perl namespaces")).collect()
}

mod listed {
    use super::*;

    trials! {
        a_script_that_may_read_the_log_cannot_keep_others_from_writing_it,
        runs_at_once_put_nothing_into_a_home_without_our_folders,
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

/// Nothing is put into a home to keep a script from creating our folders there: neither during a run, nor after it,
/// nor by runs at once.
fn runs_at_once_put_nothing_into_a_home_without_our_folders() {
    let place = Place::new();
    place.write("skill/SKILL.md", crate::place::SKILL_MD);
    place.write(
        "skill/scripts/wait.pl",
        "$| = 1; opendir my $d, '.'; print join(' ', sort readdir $d), \"\\n\"; <STDIN>;\n",
    );
    let start = || {
        let mut command = place.command(&WAITS);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.as_mut().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, ". ..\n");
        (child, input)
    };
    let entries = || fs::read_dir(place.path("home")).unwrap().count();
    let (first, first_input) = start();
    let (second, second_input) = start();
    assert_eq!(entries(), 0);
    for (child, input) in [(first, first_input), (second, second_input)] {
        drop(input);
        let end = place.end_of_child(child);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0));
        assert_eq!(entries(), 0);
    }
}
