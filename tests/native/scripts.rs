//! Native scripts through the command line and the library, for cases that a folder test cannot
//! express.

use crate::containment::meanwhile_of;
use crate::env::{SKILL_MD, TestEnv};
use crate::library::{block_on, host, permitted, skill};
use skillrun::{Decision, Live, Policy, Request};
use std::os::unix::fs::MetadataExt as _;

tests! {
    what_a_native_script_makes_belongs_to_the_caller,
    a_native_script_rewritten_after_the_decision_is_not_what_runs,
    a_crash_of_a_native_script_is_an_error_in_the_log,
    the_outcome_of_a_native_script_says_what_held_it,
    a_full_scratch_directory_is_within_the_memory_that_was_promised,
    without_namespaces_a_script_runs_unless_the_policy_demands_them,
    a_protected_policy_that_another_program_replaces_ends_the_run,
    a_policy_that_a_native_script_wrote_does_not_count,
    a_granted_etc_is_the_machines_own,
    the_last_output_of_a_script_waits_for_its_reader,
    arguments_that_the_kernel_passes_to_no_program_are_refused,
    a_workspace_that_no_private_user_can_have_is_refused,
}

fn bash(script: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    env.write("skill/scripts/main.sh", script);
    env
}

fn what_a_native_script_makes_belongs_to_the_caller() {
    let own = rustix::process::geteuid().as_raw();
    let other = if own == 0 { 65534 } else { own };
    for owner in [own, other] {
        let env = bash("mkdir -p a/b && echo x > a/b/c && ln -s c a/b/d && rm -r gone\n");
        env.write("workspace/gone/x", "");
        let words = ["run", "./skill", "main.sh", "-w", "workspace"];
        let mut command = match owner == own {
            true => env.command(&words),
            false => env.unprivileged_command(&words),
        };
        let end = env.end_of(&mut command);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0));
        for made in ["a", "a/b", "a/b/c", "a/b/d"] {
            let path = env.path("workspace").join(made);
            assert_eq!(path.symlink_metadata().unwrap().uid(), owner, "{made}");
        }
        env.check_left_behind().unwrap();
    }
}

fn a_native_script_rewritten_after_the_decision_is_not_what_runs() {
    let env = bash("echo decided\n");
    let host = host(&env);
    let request = Request::typed(&skill(&env), "main.sh");
    let permit = permitted(&host, &Policy::default(), request);
    env.write("skill/scripts/main.sh", "echo other\n");
    let printed = match block_on(host.run(permit)) {
        Ok(outcome) => outcome.stdout,
        Err(error) => error.to_string(),
    };
    assert_eq!(printed, "decided\n");
}

fn a_crash_of_a_native_script_is_an_error_in_the_log() {
    let env = bash("echo before\nkill -SEGV $$\n");
    let end = env.end(&["run", "./skill", "main.sh", "--json"]);
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
    let log = env.audit();
    let finished = log.last().unwrap();
    assert_eq!(finished["event"], "finished");
    assert_eq!(finished["level"], "error");
    assert_eq!(finished["status"], "signaled");
}

fn the_outcome_of_a_native_script_says_what_held_it() {
    let env = bash("echo held\n");
    let end = env.end(&["run", "./skill", "main.sh", "--json"]);
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

fn a_full_scratch_directory_is_within_the_memory_that_was_promised() {
    let env = bash("exec head -c 67108864 /dev/zero > \"$TMPDIR/file\"\n");
    let outcome = |memory: &str| {
        let words = ["run", "./skill", "main.sh", "--json", "--memory", memory];
        let end = env.end(&words);
        serde_json::from_str::<serde_json::Value>(&end.stdout).unwrap()
    };
    // The allowed twin: it fits into more.
    let roomy = outcome("128MiB");
    assert_eq!(roomy["status"], "exited", "{roomy}");
    let limits = &roomy["isolation"]["limits"];
    // A polled limit may be exceeded for a moment, and a directory that is not in memory may be
    // filled.
    let layers = roomy["isolation"]["layers"].to_string();
    if limits["memory"] != "hard" || !layers.contains("mount_namespace") {
        return;
    }
    let narrow = outcome("64MiB");
    assert_eq!(narrow["status"], "out_of_memory", "{narrow}");
    assert_eq!(
        narrow["stderr"],
        "Out of memory: the limit is 64MiB (limits.memory)\n"
    );
    let peak = narrow["usage"]["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak <= 64 << 20, "{peak}");
}

/// Starts a program where no more namespaces can be created, for a shell.
pub(crate) const WITHOUT_NAMESPACES: &str =
    "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";

/// The binary, run by an ordinary user who can create no namespaces.
pub(crate) fn without_namespaces(env: &TestEnv, words: &[&str]) -> std::process::Command {
    use std::os::unix::process::CommandExt as _;
    let plain = env.unprivileged_command(words);
    let mut command = env.program("/usr/bin/unshare");
    command
        .args([
            "--user",
            "--map-root-user",
            "/bin/sh",
            "-c",
            WITHOUT_NAMESPACES,
            "sh",
        ])
        .arg(plain.get_program())
        .args(plain.get_args())
        .envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    command
}

fn without_namespaces_a_script_runs_unless_the_policy_demands_them() {
    let env = bash("echo ran\n");
    env.write("demands.toml", "native = \"namespaces\"\n");
    env.write("refuses.toml", "native = \"refuse\"\n");
    let words = ["run", "./skill", "main.sh", "--json"];
    let end = env.end_of(&mut without_namespaces(&env, &words));
    let outcome: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    let layers = ["landlock", "seccomp", "rlimits", "no_new_privileges"];
    assert_eq!(outcome["stdout"], "ran\n", "{outcome}");
    assert_eq!(outcome["isolation"]["layers"], serde_json::json!(layers));
    assert_eq!(outcome["isolation"]["limits"]["disk"], "polled");

    let words = ["run", "./skill", "main.sh", "--policy", "demands.toml"];
    let end = env.end_of(&mut without_namespaces(&env, &words));
    let message = "refused: the policy demands namespaces for `scripts/main.sh`, and they do not work \
                   on this machine: cannot create namespaces: No space left on device (os error 28)\n\
                   hint: set native = \"confined\" in skillrun.toml to accept Landlock and seccomp\n";
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", message, 126)
    );
    // The twin: where there are namespaces, the same policy lets it run.
    let allowed = env.end_of(&mut env.unprivileged_command(&words));
    assert_eq!((allowed.stdout.as_str(), allowed.code), ("ran\n", 0));

    // The log belongs to that user now, and no other user writes it.
    let words = ["run", "./skill", "main.sh", "--policy", "refuses.toml"];
    let end = env.end_of(&mut env.unprivileged_command(&words));
    let message = "refused: the policy refuses native scripts, and `scripts/main.sh` needs this machine's \
                   bash\nhint: set native = \"confined\" in skillrun.toml\n";
    assert_eq!((end.stderr.as_str(), end.code), (message, 126));

    // A path that only a separate file tree can keep read-only is not granted without one.
    let words = ["run", "./skill", "main.sh", "--workspace", "."];
    let end = env.end_of(&mut without_namespaces(&env, &words));
    let message = "refused: `scripts/main.sh` cannot be confined here: `{root}/cache/skillrun` is a protected path \
                   inside a directory that the script may write, and without namespaces it cannot be \
                   read-only\nhint: use a separate directory as the workspace\n";
    assert_eq!((end.stderr.as_str(), end.code), (message, 126));
}

fn a_protected_policy_that_another_program_replaces_ends_the_run() {
    let script = "echo ready; read -r _\n\
                  while :; do { echo x > skillrun.toml; } 2>/dev/null && echo WROTE; done\n";
    let env = bash(script);
    env.write("skillrun.toml", "# a policy\n");
    env.trust("skillrun.toml");
    let words = ["--workspace", ".", "--timeout", "60s"];
    let end = meanwhile_of(&env, "main.sh", &words, || {
        env.write("other", "interpreters = [\"bash\", \"node\"]\n");
        std::fs::rename(env.path("other"), env.path("skillrun.toml")).unwrap();
    });
    let stderr = "Stopped: another process replaced a protected path\n\
                  Signal: SIGKILL\n\
                  warning: `{root}/skillrun.toml` is a protected path and was replaced during the run; moved to \
                  `{root}/skillrun.toml.refused`\n";
    assert_eq!((end.stderr.as_str(), end.code), (stderr, 137));
}

fn a_policy_that_a_native_script_wrote_does_not_count() {
    let env = bash("echo 'approval = \"never\"' > skillrun.toml && echo written\n");
    std::fs::create_dir(env.path("project")).unwrap();
    let words = ["run", "./skill", "main.sh", "--workspace", "project"];
    assert_eq!(env.end(&words).stdout, "written\n");
    let mut load = env.command(&["load", "../skill"]);
    let end = env.end_of(load.current_dir(env.path("project")));
    let why = "refused: policy `skillrun.toml` is not trusted\n\
               hint: run `skillrun policy trust` after reading it\n";
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", why, 126)
    );
}

fn a_granted_etc_is_the_machines_own() {
    let env = bash(
        "cat /etc/hostname 2>/dev/null || echo none; { : > /etc/x; } 2>/dev/null || echo held\n",
    );
    let words = ["run", "./skill", "main.sh"];
    // The twin: without the grant there is only what every program needs.
    let end = env.end(&words);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("none\nheld\n", "", 0)
    );
    let name = std::fs::read_to_string("/etc/hostname").unwrap_or("none\n".into());
    let end = env.end(&[&words[..], &["--allow", "read:/etc"]].concat());
    let expected = format!("{name}held\n");
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (expected.as_str(), "", 0)
    );
}

fn arguments_that_the_kernel_passes_to_no_program_are_refused() {
    let env = bash("echo $# ${#1}\n");
    let host = host(&env);
    let decide = |args: Vec<String>| {
        let mut request = Request::typed(&skill(&env), "main.sh");
        request.args = args;
        match host.blocking().decide(&Policy::default(), request).unwrap() {
            Decision::Permitted(permit) => block_on(host.run(permit)).unwrap().stdout,
            Decision::Refused(refusal) => refusal.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(decide(vec!["x".repeat(131_071)]), "1 131071\n");
    let most = "bytes, and a native script can get at most";
    let hint = "hint: pass large data as input or as a file in the workspace";
    assert_eq!(
        decide(vec!["x".repeat(131_072)]),
        format!("error: arguments or variables too large: one has 131072 {most} 131071\n{hint}")
    );
    let many = decide(vec!["x".repeat(100_000); 80]);
    assert!(
        many.starts_with("error: arguments or variables too large: all together have ")
            && many.contains(most)
            && many.ends_with(hint),
        "{many}"
    );
}

/// An overlay file system does not support id-mapped mounts; one in memory does.
fn a_workspace_that_no_private_user_can_have_is_refused() {
    let env = bash("echo ran; : > made\n");
    if !rustix::process::geteuid().is_root() {
        // An ordinary user's script keeps the user's id and needs no such mount.
        return;
    }
    env.write("workspace/x", "");
    let layers = "mount -t tmpfs none workspace && cd workspace && mkdir a b c d && \
                  mount -t overlay none -o lowerdir=a,upperdir=b,workdir=c d && cd .. && exec \"$@\"";
    let run = |workspace: &str| {
        let mut command = env.program("/usr/bin/unshare");
        let binary = env!("CARGO_BIN_EXE_skillrun");
        command.args(["--mount", "/bin/sh", "-c", layers, "sh", binary]);
        env.end_of(command.args(["run", "./skill", "main.sh", "-w", workspace]))
    };
    let end = run("workspace/d");
    let message = "refused: `scripts/main.sh` cannot be confined here: scripts started by root need \
                   id-mapped mounts, which this file system does not support: cannot map file owners in \
                   `{workspace}/d`: Invalid argument (os error 22)\n\
                   hint: use a directory on ext4, XFS, Btrfs or tmpfs\n";
    assert_eq!((end.stderr.as_str(), end.code), (message, 126));
    let end = run("workspace/a");
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("ran\n", "", 0)
    );
}

fn the_last_output_of_a_script_waits_for_its_reader() {
    let env = bash("head -c 160000 /dev/zero\n");
    let host = host(&env);
    let request = Request::typed(&skill(&env), "main.sh");
    let permit = permitted(&host, &Policy::default(), request);
    let (sink, mut queue) = tokio::sync::mpsc::channel(1);
    let live = Live {
        output: Some(sink),
        ..Live::default()
    };
    let (outcome, read) = block_on(async {
        // Longer than the host waits for a script that was stopped.
        let late = async {
            tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
            let mut read = 0;
            while let Some(chunk) = queue.recv().await {
                read += chunk.bytes.len();
            }
            read
        };
        tokio::join!(host.run_live(permit, live), late)
    });
    assert_eq!((outcome.unwrap().stdout_bytes, read), (160_000, 160_000));
}
