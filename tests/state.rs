//! The files that skillrun keeps for itself, and native scripts that see the directories around them.

use crate::env::TestEnv;
use crate::folder::needs;
use crate::native::without_namespaces;
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead as _, BufReader};

/// All tests; ignored if there is no Perl, or it cannot be confined.
pub(crate) fn tests() -> Vec<Trial> {
    let all = listed::tests().into_iter();
    all.map(|test| needs(test, "perl namespaces")).collect()
}

mod listed {
    use super::*;

    tests! {
        a_script_that_may_read_the_log_cannot_block_its_writers,
        a_script_of_root_that_may_read_the_lock_is_refused_without_namespaces,
        concurrent_runs_create_nothing_in_a_home_without_our_directories,
    }
}

fn a_script_that_may_read_the_log_cannot_block_its_writers() {
    let env = TestEnv::with_script("");
    let end = env.run(&[]);
    assert_eq!(end.code, 0, "{}", end.stderr);
    env.write(
        "skill/scripts/hold.pl",
        "use Fcntl ':flock';\n\
         for my $file (glob \"$ARGV[0]/*\") {\n\
             my $name = (split '/', $file)[-1];\n\
             if (open(my $held, '<', $file)) { print \"$name \", flock($held, LOCK_EX | LOCK_NB) ? 'held' : 'free', \"\\n\"; push @all, $held }\n\
             else { print \"$name $!\\n\" }\n\
         }\n\
         $| = 1; print \"ready\\n\"; sleep 100;\n",
    );
    let state = env.text("state/skillrun");
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
    let mut child = env.command(&words).spawn().unwrap();
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
    let end = env.run(&[]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(env.end_of_child(child).code, 130);
    env.check_left_behind().unwrap();
}

/// The private user of a host that is root may open every file that it is granted, and so hold the lock.
fn a_script_of_root_that_may_read_the_lock_is_refused_without_namespaces() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", crate::env::SKILL_MD);
    env.write("skill/scripts/main.sh", "echo ran\n");
    fs::create_dir_all(env.path("other")).unwrap();
    let run = |path: &str| {
        let grant = format!("read:{}", env.path(path).display());
        let words = ["run", "./skill", "main.sh", "--allow", &grant];
        env.end_of(&mut without_namespaces(&env, &words))
    };
    let allowed = run("other");
    assert_eq!(
        (allowed.stdout.as_str(), allowed.code),
        ("ran\n", 0),
        "{}",
        allowed.stderr
    );
    let why = "refused: `scripts/main.sh` cannot be confined here: `{root}/state/skillrun/audit.lock` is inside a \
               directory that the script may read, and without namespaces a script started by root could lock the \
               audit log\nhint: use a separate directory as the workspace\n";
    for path in ["state/skillrun", "state/skillrun/audit.lock"] {
        let end = run(path);
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("", why, 126),
            "{path}"
        );
    }
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

/// Nothing is created in a home to prevent a script from creating our directories there: not during a run, not after it,
/// and not by concurrent runs.
fn concurrent_runs_create_nothing_in_a_home_without_our_directories() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", crate::env::SKILL_MD);
    env.write(
        "skill/scripts/wait.pl",
        "$| = 1; opendir my $d, '.'; print join(' ', sort readdir $d), \"\\n\"; <STDIN>;\n",
    );
    let start = || {
        let mut command = env.command(&WAITS);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.as_mut().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, ". ..\n");
        (child, input)
    };
    let entries = || fs::read_dir(env.path("home")).unwrap().count();
    let (first, first_input) = start();
    let (second, second_input) = start();
    assert_eq!(entries(), 0);
    for (child, input) in [(first, first_input), (second, second_input)] {
        drop(input);
        let end = env.end_of_child(child);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0));
        assert_eq!(entries(), 0);
    }
}
