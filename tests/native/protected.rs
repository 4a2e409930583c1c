//! Protected paths that do not exist: whatever creates one, it is gone after the run.
//!
//! Each script runs with a workspace in which `.agents/skills`, `.kept/skills` and
//! `sub/.claude/skills` are protected; `.kept` and `sub` exist. What it plants is complete at once,
//! by a rename or a link, because the run may end at any instruction after that.

use super::{NativeEnv, Variant};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use skillrun_confine::Backend;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;

/// The paths in the workspace that are protected, for the host.
pub(super) const PATHS: [&str; 3] = [".agents/skills", ".kept/skills", "sub/.claude/skills"];

type Test = fn(Variant) -> Result<(), String>;

pub(super) const ALL: [(&str, Test); 23] = [
    ("what_is_not_protected_may_be_created", |variant| {
        let script = "ls -A; mkdir .agents .kept/skills2 skills sub/.claude; echo a > .agents/notes.md; \
                      echo b > sub/.claude/settings.json; echo c > .kept/.skills; mv .kept/.skills skills/c; \
                      rmdir .kept/skills2; mv sub/.claude/settings.json .agents";
        let shown = [".kept", "sub", "ended: Exited(0)"];
        let left = [
            ".agents/",
            ".agents/notes.md",
            ".agents/settings.json",
            ".kept/",
            "skills/",
            "skills/c",
            "sub/",
            "sub/.claude/",
        ];
        compare(variant, script, &shown, &left)
    }),
    (
        "a_protected_path_created_at_the_end_is_moved_aside",
        |variant| moved(variant, "mkdir .agents; mkdir .agents/skills"),
    ),
    (
        "a_protected_path_created_by_a_rename_is_moved_aside",
        |variant| planted(variant, "mv x .agents; sleep 1000"),
    ),
    (
        "a_protected_path_in_a_directory_that_existed_is_moved_aside",
        |variant| {
            let script = "mkdir -p x/deploy; mv -T x .kept/skills; exit 3";
            let shown = [
                "ended: ProtectedAppeared",
                "{workspace}/.kept/skills: moved to {workspace}/.kept/skills.refused",
            ];
            let left = [
                ".kept/",
                ".kept/skills.refused/",
                ".kept/skills.refused/deploy/",
                "sub/",
            ];
            compare(variant, script, &shown, &left)
        },
    ),
    ("a_file_at_a_protected_path_is_moved_aside", |variant| {
        let script = "mkdir .agents; echo > .agents/skills";
        let shown = ["ended: ProtectedAppeared", MOVED];
        let left = [".agents/", ".agents/skills.refused", ".kept/", "sub/"];
        compare(variant, script, &shown, &left)
    }),
    (
        "a_link_on_the_way_to_a_protected_path_is_moved_aside",
        |variant| {
            let script = "mkdir -p evil/skills; ln -s evil .agents; sleep 1000";
            let left = [
                ".agents.refused -> evil",
                ".kept/",
                "evil/",
                "evil/skills/",
                "sub/",
            ];
            compare(
                variant,
                script,
                &["ended: ProtectedAppeared", LINK_MOVED],
                &left,
            )
        },
    ),
    (
        "a_link_on_the_way_that_leads_nowhere_is_moved_aside",
        |variant| {
            let script = "ln -s ../elsewhere .agents";
            let left = [".agents.refused -> ../elsewhere", ".kept/", "sub/"];
            compare(
                variant,
                script,
                &["ended: ProtectedAppeared", LINK_MOVED],
                &left,
            )
        },
    ),
    ("a_link_at_a_protected_path_is_moved_aside", |variant| {
        let script = "mkdir .agents; ln -s nowhere .agents/skills";
        let shown = ["ended: ProtectedAppeared", MOVED];
        let left = [
            ".agents/",
            ".agents/skills.refused -> nowhere",
            ".kept/",
            "sub/",
        ];
        compare(variant, script, &shown, &left)
    }),
    (
        "a_protected_path_in_a_new_directory_of_the_same_name_is_moved_aside",
        |variant| {
            let script = "mv sub old; mkdir -p x/.claude/skills; mv x sub";
            let shown = [
                "ended: ProtectedAppeared",
                "{workspace}/sub/.claude/skills: moved to {workspace}/sub/.claude/skills.refused",
            ];
            let left = [
                ".kept/",
                "old/",
                "sub/",
                "sub/.claude/",
                "sub/.claude/skills.refused/",
            ];
            compare(variant, script, &shown, &left)
        },
    ),
    (
        "a_protected_path_in_a_renamed_directory_is_moved_aside",
        |variant| {
            // A shell whose working directory is `sub` keeps it, whatever its name is.
            let script = "mkdir -p x/skills; mv x sub/.claude; mv sub new; exit";
            let shown = [
                "ended: ProtectedAppeared",
                "{workspace}/sub/.claude/skills: moved to {workspace}/DIR/.claude/skills.refused",
            ];
            compare_renamed(variant, script, &shown)
        },
    ),
    ("a_closed_directory_hides_no_protected_path", |variant| {
        // Without namespaces the mode cannot be changed at all.
        planted(variant, "chmod 0 x 2>/dev/null; mv x .agents; exit")
    }),
    (
        "a_protected_path_that_a_detached_process_creates_is_moved_aside",
        |variant| {
            let script = "mkfifo $TMPDIR/f; ( setsid bash -c 'mv x .agents; echo > $TMPDIR/f' & ); read < $TMPDIR/f";
            planted(variant, script)
        },
    ),
    ("what_is_moved_aside_replaces_nothing", |variant| {
        let script = "ln -s first .agents.refused; ln -s second .agents";
        let shown = [
            "ended: ProtectedAppeared",
            "{workspace}/.agents/skills: moved to {workspace}/.agents.refused-2",
        ];
        let left = [
            ".agents.refused -> first",
            ".agents.refused-2 -> second",
            ".kept/",
            "sub/",
        ];
        compare(variant, script, &shown, &left)
    }),
    ("a_protected_path_that_comes_and_goes_ends_the_run", flipped),
    (
        "a_protected_path_that_vanishes_before_it_is_mounted_is_not_created",
        vanished,
    ),
    (
        "a_protected_path_is_moved_aside_although_the_supervisor_was_killed",
        lost,
    ),
    (
        "a_protected_path_is_moved_aside_after_the_host_was_killed",
        killed,
    ),
    (
        "a_protected_path_is_moved_aside_once_the_run_is_dropped",
        dropped,
    ),
    (
        "a_directory_of_another_run_that_is_moved_onto_the_way_is_no_way_in",
        |variant| {
            // Landlock allows what is below the directory of the run, and its entries are in a fresh one now.
            let made: &[&str] = match variant.backend {
                Backend::Namespaces => &["made in ."],
                Backend::Landlock => &[],
            };
            moved_by_another(variant, "mv work .agents", made)
        },
    ),
    (
        "a_directory_moved_into_one_that_is_locked_is_no_way_in",
        |variant| {
            let made: &[&str] = match variant.backend {
                Backend::Namespaces => &["made in ."],
                Backend::Landlock => &[],
            };
            moved_by_another(
                variant,
                "mv work .agents; chmod 555 . 2> $TMPDIR/e; exit 0",
                made,
            )
        },
    ),
    (
        "a_directory_inside_that_of_another_run_is_no_way_in_either",
        |variant| moved_by_another(variant, "mv work/in .agents", &[]),
    ),
    (
        "a_directory_of_another_run_that_is_moved_elsewhere_is_still_its_own",
        |variant| moved_by_another(variant, "mv work elsewhere", &["made in .", "made in .."]),
    ),
    ("what_replaces_a_protected_path_is_moved_aside", replaced),
];

const MOVED: &str = "{workspace}/.agents/skills: moved to {workspace}/.agents/skills.refused";
const LINK_MOVED: &str = "{workspace}/.agents/skills: moved to {workspace}/.agents.refused";
/// A directory that is ready to be renamed to `.agents`.
const PREPARE: &str = "mkdir -p x/skills/deploy; echo planted > x/skills/deploy/SKILL.md;";
const PLANTED: [&str; 6] = [
    ".agents/",
    ".agents/skills.refused/",
    ".agents/skills.refused/deploy/",
    ".agents/skills.refused/deploy/SKILL.md",
    ".kept/",
    "sub/",
];

fn env(variant: Variant) -> NativeEnv {
    let env = NativeEnv::new(variant);
    for folder in [".kept", "sub"] {
        let path = env.path("workspace").join(folder);
        fs::create_dir(&path).unwrap();
        env.give(&path);
    }
    env
}

fn bash(env: &NativeEnv, role: &str, script: &str) -> Command {
    let mut command = env.host(role);
    command.args(["/bin/bash", "-c", script]);
    command
}

/// Runs a script and compares its output and the contents of the workspace afterwards.
fn compare(variant: Variant, script: &str, shown: &[&str], left: &[&str]) -> Result<(), String> {
    let env = env(variant);
    let output = bash(&env, "protected", script).output().unwrap();
    same(&env, &output, shown)?;
    same_lines(left, &listed(&env.path("workspace")))
}

fn moved(variant: Variant, script: &str) -> Result<(), String> {
    let left = [".agents/", ".agents/skills.refused/", ".kept/", "sub/"];
    compare(variant, script, &["ended: ProtectedAppeared", MOVED], &left)
}

fn planted(variant: Variant, script: &str) -> Result<(), String> {
    let script = format!("{PREPARE} {script}");
    compare(
        variant,
        &script,
        &["ended: ProtectedAppeared", MOVED],
        &PLANTED,
    )
}

/// The run may end before the directory has its new name, or after.
fn compare_renamed(variant: Variant, script: &str, shown: &[&str]) -> Result<(), String> {
    let env = env(variant);
    let output = bash(&env, "protected", script).output().unwrap();
    let left = listed(&env.path("workspace"));
    let name = match left.contains(&"new/".to_owned()) {
        true => "new",
        false => "sub",
    };
    let shown: Vec<String> = shown.iter().map(|line| line.replace("DIR", name)).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    same(&env, &output, &shown)?;
    let inside = ["", ".claude/", ".claude/skills.refused/"].map(|path| format!("{name}/{path}"));
    let mut all = vec![".kept/"];
    all.extend(inside.iter().map(String::as_str));
    all.sort_unstable();
    same_lines(&all, &left)
}

/// The script ends only if it is killed: it hides what it planted as fast as it can.
fn flipped(variant: Variant) -> Result<(), String> {
    let env = env(variant);
    let script =
        format!("{PREPARE} perl -e 'while (1) {{ rename qw(x .agents); rename qw(.agents x) }}'");
    let output = bash(&env, "protected", &script).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let ended = text.lines().next() == Some("ended: ProtectedAppeared");
    let there = env.path("workspace/.agents/skills").exists();
    match ended && !there {
        true => Ok(()),
        false => Err(format!("{output:?}")),
    }
}

/// Other programs move a protected path away after it was opened and before it is mounted.
fn vanished(variant: Variant) -> Result<(), String> {
    let script = "mkdir .agents/skills/x; rm .kept/policy; echo ran";
    for (path, happens, left) in [
        (
            ".agents/skills",
            "mv .agents/skills moved",
            &[".agents/", ".kept/", ".kept/policy", "moved/", "sub/"][..],
        ),
        (
            ".agents/skills",
            "mv .agents moved",
            &[".kept/", ".kept/policy", "moved/", "moved/skills/", "sub/"],
        ),
        (
            ".kept/policy",
            "mv .kept/policy moved",
            &[".agents/", ".agents/skills/", ".kept/", "moved", "sub/"],
        ),
    ] {
        let env = env(variant);
        lay_out(&env);
        let output = vanishing(&env, path, happens, script);
        let unable = match variant.backend {
            Backend::Namespaces => {
                format!("unable: cannot mount `{{workspace}}/{path}`: it was moved or removed")
            }
            Backend::Landlock => read_only(path),
        };
        same(&env, &output, &[unable.as_str()])?;
        same_lines(left, &listed(&env.path("workspace")))?;
    }
    // The twin: what stays where it was is mounted, and is read-only.
    let env = env(variant);
    lay_out(&env);
    let output = vanishing(&env, ".agents/skills", ":", script);
    let shown: &[&str] = match variant.backend {
        Backend::Namespaces => &[
            "ran",
            "stderr| mkdir: cannot create directory '.agents/skills/x': Read-only file system",
            "ended: Exited(0)",
        ],
        Backend::Landlock => &[&read_only(".agents/skills")],
    };
    same(&env, &output, shown)
}

fn lay_out(env: &NativeEnv) {
    for folder in [".agents", ".agents/skills"] {
        let path = env.path("workspace").join(folder);
        fs::create_dir(&path).unwrap();
        env.give(&path);
    }
    env.write("workspace/.kept/policy", "");
}

fn vanishing(env: &NativeEnv, path: &str, happens: &str, script: &str) -> std::process::Output {
    let mut host = env.host("vanished");
    host.args([path, happens, "/bin/bash", "-c", script]);
    host.output().unwrap()
}

/// Why a protected path that exists cannot be mounted without namespaces.
fn read_only(path: &str) -> String {
    format!(
        "unable: cannot make `{{workspace}}/{path}` read-only: it is inside `{{workspace}}`, which is \
         writable, and without namespaces nothing in there can be read-only"
    )
}

fn killed(variant: Variant) -> Result<(), String> {
    let env = env(variant);
    let script = format!("{PREPARE} echo ready; sleep 1000");
    let mut host = bash(&env, "protected, held", &script).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(host.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let supervisors: Vec<_> = super::readings::children(host.id())
        .into_iter()
        .filter_map(|process| Pid::from_raw(process.cast_signed()))
        .filter_map(|process| pidfd_open(process, PidfdFlags::empty()).ok())
        .collect();
    // Created in place of the script, so that it exists when the host dies.
    fs::rename(env.path("workspace/x"), env.path("workspace/.agents")).unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    for supervisor in &supervisors {
        let ended = poll(&mut [PollFd::new(supervisor, PollFlags::IN)], None).unwrap();
        assert_eq!(ended, 1);
    }
    same_lines(&PLANTED, &listed(&env.path("workspace")))
}

fn lost(variant: Variant) -> Result<(), String> {
    let env = env(variant);
    let script = format!("{PREPARE} echo ready; sleep 1000");
    let output = bash(&env, "protected, lost", &script).output().unwrap();
    same(&env, &output, &["ready", "the supervisor is gone"])?;
    same_lines(&PLANTED, &listed(&env.path("workspace")))
}

fn dropped(variant: Variant) -> Result<(), String> {
    let env = env(variant);
    let script = format!("{PREPARE} echo ready; read; sleep 1000");
    let output = bash(&env, "protected, dropped", &script).output().unwrap();
    same(&env, &output, &["ready"])?;
    same_lines(&PLANTED, &listed(&env.path("workspace")))
}

/// A script in a directory of the workspace tries to create a protected path, after one in the whole workspace has moved
/// that directory, or one inside it, to the directory around that path.
fn moved_by_another(variant: Variant, other: &str, made: &[&str]) -> Result<(), String> {
    let env = env(variant);
    for folder in ["work", "work/in"] {
        let path = env.path("workspace").join(folder);
        fs::create_dir(&path).unwrap();
        env.give(&path);
    }
    env.write("workspace/work/kept", "kept");
    let script = "cd in; echo ready; read; for i in . ..; do mkdir -p $i/skills/x 2> $TMPDIR/e && echo made in $i; done; exit 0";
    let mut host = env.host("protected, moved");
    host.args(["/bin/bash", "-c", script, other]);
    let output = host.output().unwrap();
    let mut shown = vec!["ready", "ended: Exited(0)"];
    shown.extend(made);
    shown.push("ended: Exited(0)");
    same(&env, &output, &shown)?;
    let left = listed(&env.path("workspace"));
    let is_kept = left.iter().any(|path| path.ends_with("/kept"));
    let is_planted = env.path("workspace/.agents/skills").exists();
    match is_kept && !is_planted {
        true => Ok(()),
        false => Err(left.join("\n")),
    }
}

/// Another process moves away a protected directory, and the script creates one at its path at once.
fn replaced(variant: Variant) -> Result<(), String> {
    if variant.backend == Backend::Landlock {
        // Without namespaces it could not be read-only, so nothing starts: see `vanished`.
        return Ok(());
    }
    let env = env(variant);
    let script = "echo ready; until mkdir sub 2> $TMPDIR/e; do :; done; echo planted > sub/x";
    let output = bash(&env, "replaced", script).output().unwrap();
    let left = listed(&env.path("workspace"));
    let text = String::from_utf8_lossy(&output.stdout);
    match text.starts_with("ready\n")
        && left.contains(&"old/".to_owned())
        && !left.contains(&"sub/".to_owned())
    {
        true => Ok(()),
        false => Err(format!("{output:?} {left:?}")),
    }
}

fn same(env: &NativeEnv, output: &std::process::Output, wanted: &[&str]) -> Result<(), String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let workspace = env.path("workspace").canonicalize().unwrap();
    let text = text.replace(workspace.to_str().unwrap(), "{workspace}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !stderr.is_empty() {
        return Err(format!("{text}{stderr}"));
    }
    let got: Vec<String> = text.lines().map(str::to_owned).collect();
    same_lines(wanted, &got)
}

fn same_lines(wanted: &[&str], got: &[String]) -> Result<(), String> {
    match wanted == got {
        true => Ok(()),
        false => Err(crate::folder::difference(
            &wanted.join("\n"),
            &got.join("\n"),
        )),
    }
}

/// Every path in a directory, sorted; directories end with a slash, links show their target.
fn listed(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let mut name = path
                .strip_prefix(folder)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if let Ok(target) = path.read_link() {
                name.push_str(&format!(" -> {}", target.display()));
            } else if path.is_dir() {
                name.push('/');
                open.push(path);
            }
            all.push(name);
        }
    }
    all.sort();
    all
}
