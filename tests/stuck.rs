//! Host calls that do not return: the run and the process end nevertheless.
//!
//! A lease on a file makes any process that opens it wait in the kernel until the holder releases it, without any
//! privilege and on a plain disk; a network or FUSE mount that hangs does the same.

use crate::env::{SKILL_MD, TestEnv};
use crate::library::{block_on, host_of, permitted, skill};
use rustix::process::{Pid, Signal, kill_process};
use skillrun::tenant::{Quota, Tenant, TenantSettings};
use skillrun::{Check, Decision, Error, Limits, Live, Policy, Request, RunError, Status};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

tests! {
    a_host_call_that_hangs_ends_with_the_time_limit,
    a_file_without_a_lease_is_read,
    ctrl_c_ends_a_run_whose_host_call_hangs,
    ctrl_c_twice_ends_a_run_whose_host_call_hangs,
    ctrl_c_ends_a_marker_whose_host_call_hangs,
    ctrl_c_twice_ends_a_command_that_cannot_print,
    a_guest_whose_call_returns_too_late_does_not_continue,
    a_future_dropped_during_a_host_call_that_hangs_is_an_aborted_run,
    runs_that_hang_count_for_the_quota_of_their_tenant_and_leave_the_other_slots,
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
                       that call may still take effect, nothing after it will\n";

/// A process that holds a lease on a file until it is dropped.
pub(crate) struct Lease {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
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
    pub(crate) fn take(path: &Path) -> Self {
        let mut child = Command::new("python3")
            .args(["-c", HOLDER])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut lease = Self {
            child,
            stdin,
            stdout,
        };
        lease.expect_line("held\n");
        lease
    }

    /// Waits until a process opens the file; from then on that call blocks.
    pub(crate) fn wait_until_wanted(&mut self) {
        self.expect_line("wanted\n");
    }

    fn expect_line(&mut self, expected: &str) {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
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

fn env(script: &str, source: &str) -> (TestEnv, Lease) {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    env.write(&format!("skill/scripts/{script}"), source);
    let leased = env.write("workspace/leased", "text");
    let lease = Lease::take(&leased);
    (env, lease)
}

fn words<'a>(script: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["run", "-w", "workspace"];
    words.extend(more);
    words.extend(["./skill", script]);
    words
}

/// The last event of the audit log and its status; the log must verify.
fn recorded(env: &TestEnv) -> (String, String) {
    let log = skillrun::audit::AuditFiles::of(env.path("state/skillrun/audit.jsonl"));
    let verified = log.verify(None).unwrap();
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
    let last = env.audit().pop().unwrap();
    let text = |key: &str| last[key].as_str().unwrap_or_default().to_owned();
    (text("event"), text("status"))
}

fn a_host_call_that_hangs_ends_with_the_time_limit() {
    for (script, source) in SCRIPTS {
        let (env, _lease) = env(script, source);
        let end = env.end(&words(script, &["--timeout", "1s"]));
        assert_eq!(end.stdout, "ready\n");
        let stopped = format!(
            "{WARNING}\
             warning: `scripts/{script}` was stopped at its time limit of 1s (limits.time)\n\
             hint: raise limits.time with --timeout\n"
        );
        assert_eq!((end.stderr.as_str(), end.code), (stopped.as_str(), 124));
        let expected = ("finished".into(), "timed_out".into());
        assert_eq!(recorded(&env), expected);
        assert!(!env.path("workspace/after").exists());
    }
}

fn a_file_without_a_lease_is_read() {
    for (script, source) in SCRIPTS {
        let (env, lease) = env(script, source);
        drop(lease);
        let end = env.end(&words(script, &[]));
        let expected = ("ready\ntext\n", "", 0);
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, expected);
        assert!(env.path("workspace/after").exists());
        env.check_left_behind().unwrap();
    }
}

fn press(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// Presses Ctrl-C until the process has ended.
fn press_until_it_ends(child: &mut Child) {
    while child.try_wait().unwrap().is_none() {
        press(child);
        // Faster presses count as one.
        std::thread::sleep(Duration::from_millis(150));
    }
}

fn ctrl_c_ends_a_run_whose_host_call_hangs() {
    for (script, source) in SCRIPTS {
        let (env, mut lease) = env(script, source);
        let child = env.command(&words(script, &[])).spawn().unwrap();
        lease.wait_until_wanted();
        press(&child);
        let end = env.end_of_child(child);
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, ("ready\n", WARNING, 130));
        let expected = ("finished".into(), "cancelled".into());
        assert_eq!(recorded(&env), expected);
    }
}

fn ctrl_c_twice_ends_a_run_whose_host_call_hangs() {
    for (script, source) in SCRIPTS {
        let (env, mut lease) = env(script, source);
        let mut child = env.command(&words(script, &[])).spawn().unwrap();
        lease.wait_until_wanted();
        press_until_it_ends(&mut child);
        assert_eq!(env.end_of_child(child).code, 130);
        // Whether the second press arrives before the first has stopped the run depends on the machine.
        let (event, status) = recorded(&env);
        match event.as_str() {
            "aborted" => {}
            "finished" => assert_eq!(status, "cancelled"),
            other => panic!("{other}"),
        }
        assert!(!env.path("workspace/after").exists());
    }
}

fn ctrl_c_ends_a_marker_whose_host_call_hangs() {
    let (script, source) = SCRIPTS[0];
    let (env, mut lease) = env(script, source);
    let words = ["expand", "--skill", "./skill", "-w", "workspace", "-y"];
    let mut command = env.command(&words);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"a !{scripts/main.py} b").unwrap();
    lease.wait_until_wanted();
    press(&child);
    let end = env.end_of_child(child);
    // Whether more text arrives before the process ends depends on the machine.
    assert!(end.stdout.starts_with("a "), "{}", end.stdout);
    assert_eq!(end.code, 130);
    let expected = ("finished".into(), "cancelled".into());
    assert_eq!(recorded(&env), expected);
    drop(stdin);
}

/// The output of `load` fills the pipe that nothing reads, and then the process blocks for ever: nothing
/// is running any more that could be stopped in order.
fn ctrl_c_twice_ends_a_command_that_cannot_print() {
    let env = TestEnv::new();
    // The output of a script is truncated, and might fit into the pipe.
    let text = ["Run `scripts/main.py`.\n", &"Text.\n".repeat(50_000)].concat();
    env.write("skill/SKILL.md", [SKILL_MD, &text].concat());
    // Only a command that has run something receives signals.
    env.write("skill/scripts/main.py", "print('ran')\n");
    let words = ["load", "-y", "./skill"];
    let mut child = env.command(&words).spawn().unwrap();
    // It prints after everything has run.
    let mut first = [0];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    press_until_it_ends(&mut child);
    drop(stdout);
    let end = env.end_of_child(child);
    assert_eq!((end.stderr.as_str(), end.code), ("", 130));
    env.check_left_behind().unwrap();
}

fn one_second() -> Option<Limits> {
    Some(Limits {
        time: Duration::from_secs(1),
        ..Limits::default()
    })
}

fn a_guest_whose_call_returns_too_late_does_not_continue() {
    for (script, source) in SCRIPTS {
        let (env, lease) = env(script, source);
        // In the same language: each interpreter has slots of its own.
        let (next, says) = match script {
            "main.py" => ("next.py", "print('next')\n"),
            _ => ("next.js", "console.log('next')\n"),
        };
        env.write(&format!("skill/scripts/{next}"), says);
        // With one slot, the next run finds out whether the thread has returned.
        let host = host_of(&env, Some(1));
        let skill = skill(&env);
        let run = |script: &str, workspace: bool, limits| {
            let request = Request {
                workspace: workspace.then(|| env.path("workspace").into()),
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
        let Err(RunError::Host(error @ Error::Stuck { .. })) = run(next, false, None) else {
            panic!("it ran although no slot is free");
        };
        let why = "1 runs are stuck in host calls, so no further run is started";
        assert_eq!(error.to_string(), why);
        drop(lease);
        let outcome = loop {
            if let Ok(outcome) = run(next, false, None) {
                break outcome;
            }
        };
        assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("next\n", 0));
        assert!(!env.path("workspace/after").exists());
    }
}

fn a_future_dropped_during_a_host_call_that_hangs_is_an_aborted_run() {
    let (script, source) = SCRIPTS[0];
    let (env, mut lease) = env(script, source);
    let host = host_of(&env, None);
    let request = Request {
        workspace: Some(env.path("workspace").into()),
        ..Request::typed(&skill(&env), script)
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
        // A dropped future does not wait for its last line.
        assert_eq!(host.clean_up().await, None);
    });
    let expected = ("aborted".into(), String::new());
    assert_eq!(recorded(&env), expected);
}

fn runs_that_hang_count_for_the_quota_of_their_tenant_and_leave_the_other_slots() {
    let (script, source) = SCRIPTS[0];
    let (env, lease) = env(script, source);
    env.write("skill/scripts/next.py", "print('next')\n");
    let host = host_of(&env, Some(2));
    let (hung, other) = (host.tenant("hung"), host.tenant("other"));
    let quota = Quota {
        running: Some(1),
        waiting: 0,
        ..Quota::default()
    };
    let settings = TenantSettings {
        quota,
        ..TenantSettings::default()
    };
    hung.configure(settings).unwrap();
    let skill = skill(&env);
    let run = async |tenant: &Tenant, script: &str, limits: Option<Limits>| {
        let request = Request {
            workspace: limits.is_some().then(|| env.path("workspace").into()),
            limits,
            ..Request::typed(&skill, script)
        };
        match tenant.decide(request).await.unwrap() {
            Decision::Permitted(permit) => tenant.run(permit).await,
            decision => panic!("{decision:?}"),
        }
    };
    block_on(async {
        let outcome = run(&hung, script, one_second()).await.unwrap();
        assert_eq!(outcome.status, Status::TimedOut);
        let Err(RunError::Refused(refusal)) = run(&hung, "next.py", None).await else {
            panic!("it ran although its tenant has used up its quota");
        };
        assert_eq!(refusal.check, Check::Quota);
        let outcome = run(&other, "next.py", None).await.unwrap();
        assert_eq!(outcome.stdout, "next\n");
        drop(lease);
    });
}
