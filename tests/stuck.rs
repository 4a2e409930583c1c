//! Host calls that do not return: the run ends all the same, and so does the process.
//!
//! A lease on a file makes whoever opens it wait in the kernel until the holder gives it up, without any
//! privilege and on a plain disk; a network or FUSE mount that hangs does the same.

use crate::library::{block_on, host_of, permitted, skill};
use crate::place::{Place, SKILL_MD};
use rustix::process::{Pid, Signal, kill_process};
use skillrun::{Error, Limits, Live, Policy, Request, Status};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

trials! {
    a_host_call_that_hangs_ends_with_the_time_limit,
    a_file_without_a_lease_is_read,
    ctrl_c_ends_a_run_whose_host_call_hangs,
    ctrl_c_twice_ends_a_run_whose_host_call_hangs,
    ctrl_c_ends_a_marker_whose_host_call_hangs,
    ctrl_c_twice_ends_a_command_that_cannot_print,
    a_guest_whose_call_returns_too_late_gets_no_further,
    a_future_dropped_during_a_host_call_that_hangs_is_an_aborted_run,
}

const SCRIPTS: [(&str, &str); 2] = [
    (
        "main.py",
        "print('ready', flush=True)\nprint(open('leased').read())\nopen('after', 'w')\n",
    ),
    (
        "main.js",
        "const fs = require('fs');\nconsole.log('ready');\n\
         console.log(fs.readFileSync('leased', 'utf8'));\nfs.writeFileSync('after', '');\n",
    ),
];

const WARNING: &str = "warning: a host call of the script did not return; \
                       it may still take effect, and nothing after it\n";

/// A process that holds a lease on a file until it is dropped.
struct Lease {
    child: Child,
    stdin: Option<ChildStdin>,
    said: BufReader<ChildStdout>,
}

const HOLDER: &str = "\
import fcntl, os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO})
file = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
signal.sigwait({signal.SIGIO})
print('wanted', flush=True)
sys.stdin.read()
";

impl Lease {
    fn take(path: &Path) -> Self {
        let mut child = Command::new("python3")
            .args(["-c", HOLDER])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let said = BufReader::new(child.stdout.take().unwrap());
        let mut lease = Self { child, stdin, said };
        lease.hear("held\n");
        lease
    }

    /// Waits until somebody opens the file; the call waits from then on.
    fn wait_until_wanted(&mut self) {
        self.hear("wanted\n");
    }

    fn hear(&mut self, expected: &str) {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        assert_eq!(line, expected);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn place(script: &str, source: &str) -> (Place, Lease) {
    let place = Place::new();
    place.write("skill/SKILL.md", SKILL_MD);
    place.write(&format!("skill/scripts/{script}"), source);
    let leased = place.write("workspace/leased", "text");
    let lease = Lease::take(&leased);
    (place, lease)
}

fn words<'a>(script: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["run", "-w", "workspace"];
    words.extend(more);
    words.extend(["./skill", script]);
    words
}

/// The last event of the audit log and its status; the log must verify.
fn recorded(place: &Place) -> (String, String) {
    let log = skillrun::AuditFiles::of(place.path("state/skillrun/audit.jsonl"));
    let verified = log.verify(None).unwrap();
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
    let last = place.audit().pop().unwrap();
    let text = |key: &str| last[key].as_str().unwrap_or_default().to_owned();
    (text("event"), text("status"))
}

fn a_host_call_that_hangs_ends_with_the_time_limit() {
    for (script, source) in SCRIPTS {
        let (place, _lease) = place(script, source);
        let end = place.end(&words(script, &["--timeout", "1s"]));
        assert_eq!(end.stdout, "ready\n");
        let stopped = format!(
            "Timeout: stopped after 1s\n{WARNING}\
             warning: `scripts/{script}` was stopped at its time limit of 1s\n"
        );
        assert_eq!((end.stderr.as_str(), end.code), (stopped.as_str(), 124));
        let expected = ("finished".into(), "timed_out".into());
        assert_eq!(recorded(&place), expected);
        assert!(!place.path("workspace/after").exists());
    }
}

fn a_file_without_a_lease_is_read() {
    for (script, source) in SCRIPTS {
        let (place, lease) = place(script, source);
        drop(lease);
        let end = place.end(&words(script, &[]));
        let expected = ("ready\ntext\n", "", 0);
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, expected);
        assert!(place.path("workspace/after").exists());
        place.check_left_behind().unwrap();
    }
}

fn press(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// Presses Ctrl-C until the process has ended.
fn press_until_it_ends(child: &mut Child) {
    while child.try_wait().unwrap().is_none() {
        press(child);
        // Faster is taken for one press.
        std::thread::sleep(Duration::from_millis(150));
    }
}

fn ctrl_c_ends_a_run_whose_host_call_hangs() {
    for (script, source) in SCRIPTS {
        let (place, mut lease) = place(script, source);
        let child = place.command(&words(script, &[])).spawn().unwrap();
        lease.wait_until_wanted();
        press(&child);
        let end = place.end_of_child(child);
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, ("ready\n", WARNING, 130));
        let expected = ("finished".into(), "cancelled".into());
        assert_eq!(recorded(&place), expected);
    }
}

fn ctrl_c_twice_ends_a_run_whose_host_call_hangs() {
    for (script, source) in SCRIPTS {
        let (place, mut lease) = place(script, source);
        let mut child = place.command(&words(script, &[])).spawn().unwrap();
        lease.wait_until_wanted();
        press_until_it_ends(&mut child);
        assert_eq!(place.end_of_child(child).code, 130);
        // Whether the second one comes before the first has stopped the run is for the machine to say.
        let (event, status) = recorded(&place);
        match event.as_str() {
            "aborted" => {}
            "finished" => assert_eq!(status, "cancelled"),
            other => panic!("{other}"),
        }
        assert!(!place.path("workspace/after").exists());
    }
}

fn ctrl_c_ends_a_marker_whose_host_call_hangs() {
    let (script, source) = SCRIPTS[0];
    let (place, mut lease) = place(script, source);
    let words = ["expand", "--skill", "./skill", "-w", "workspace", "-y"];
    let mut command = place.command(&words);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"a !{scripts/main.py} b").unwrap();
    lease.wait_until_wanted();
    press(&child);
    let end = place.end_of_child(child);
    // Whether the text goes on before the process ends is for the machine to say.
    assert!(end.stdout.starts_with("a "), "{}", end.stdout);
    assert_eq!(end.code, 130);
    let expected = ("finished".into(), "cancelled".into());
    assert_eq!(recorded(&place), expected);
    drop(stdin);
}

/// The output of `load` fills the pipe that nobody reads, and then the process waits for ever: nothing
/// runs any more that could be stopped in order.
fn ctrl_c_twice_ends_a_command_that_cannot_print() {
    let place = Place::new();
    // What a script prints is cut, and might fit into the pipe.
    let text = ["Run `scripts/main.py`.\n", &"Text.\n".repeat(50_000)].concat();
    place.write("skill/SKILL.md", [SKILL_MD, &text].concat());
    // Only what has run something receives signals.
    place.write("skill/scripts/main.py", "print('ran')\n");
    let words = ["load", "-y", "./skill"];
    let mut child = place.command(&words).spawn().unwrap();
    // It prints after everything has run.
    let mut first = [0];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    press_until_it_ends(&mut child);
    drop(stdout);
    let end = place.end_of_child(child);
    assert_eq!((end.stderr.as_str(), end.code), ("", 130));
    place.check_left_behind().unwrap();
}

fn one_second() -> Option<Limits> {
    Some(Limits {
        time: Duration::from_secs(1),
        ..Limits::default()
    })
}

fn a_guest_whose_call_returns_too_late_gets_no_further() {
    for (script, source) in SCRIPTS {
        let (place, lease) = place(script, source);
        // In the same language: each interpreter has slots of its own.
        let (next, says) = match script {
            "main.py" => ("next.py", "print('next')\n"),
            _ => ("next.js", "console.log('next')\n"),
        };
        place.write(&format!("skill/scripts/{next}"), says);
        // With one slot the next run finds out whether the thread has returned.
        let host = host_of(&place, Some(1));
        let skill = skill(&place);
        let run = |script: &str, workspace: bool, limits| {
            let request = Request {
                workspace: workspace.then(|| place.path("workspace")),
                limits,
                ..Request::typed(&skill, script)
            };
            let permit = permitted(&host, &Policy::default(), request);
            block_on(host.run(permit))
        };
        let outcome = run(script, true, one_second()).unwrap();
        assert_eq!((outcome.status, outcome.exit_code), (Status::TimedOut, 124));
        assert_eq!(outcome.stdout, "ready\n");
        let warning = WARNING.trim_start_matches("warning: ").trim_end();
        assert_eq!(outcome.warnings[0], warning);
        let Err(Error::Sandbox(why)) = run(next, false, None) else {
            panic!("it ran although no slot is free");
        };
        assert_eq!(why, "the limit of 1 runs in hanging host calls is reached");
        drop(lease);
        let outcome = loop {
            if let Ok(outcome) = run(next, false, None) {
                break outcome;
            }
        };
        assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("next\n", 0));
        assert!(!place.path("workspace/after").exists());
    }
}

fn a_future_dropped_during_a_host_call_that_hangs_is_an_aborted_run() {
    let (script, source) = SCRIPTS[0];
    let (place, mut lease) = place(script, source);
    let host = host_of(&place, None);
    let request = Request {
        workspace: Some(place.path("workspace")),
        ..Request::typed(&skill(&place), script)
    };
    let permit = permitted(&host, &Policy::default(), request);
    block_on(async {
        let run = host.run_live(permit, Live::default());
        let wanted = tokio::task::spawn_blocking(move || {
            lease.wait_until_wanted();
            lease
        });
        tokio::select! {
            _ = run => panic!("it ended by itself"),
            lease = wanted => drop(lease.unwrap()),
        }
    });
    let expected = ("aborted".into(), String::new());
    assert_eq!(recorded(&place), expected);
}
