//! Protected paths through the command line: skill directories, and the files of skillrun in a home. What native
//! scripts can do about a path that does not exist is in `native/protected.rs`, one test for each way.

use crate::containment::meanwhile;
use crate::env::{End, SKILL_MD, TestEnv, shared_cache};
use crate::folder::needs;
use crate::library::{block_on, host, permitted, skill};
use crate::native::without_namespaces;
use libtest_mimic::Trial;
use skillrun::running::{Run, RunEvent};
use skillrun::tenant::{Tenant, TenantSettings};
use skillrun::{
    Approvals, AuditLog, Check, Decision, Host, Outcome, Permit, Policy, Request, Settings,
};
use std::fs;
use std::path::Path;
use std::process::Command;
use tokio::io::AsyncWriteExt as _;

/// All tests; ignored if native scripts cannot be confined.
pub(crate) fn tests() -> Vec<Trial> {
    let all = listed::tests().into_iter();
    all.map(|test| needs(test, "bash namespaces")).collect()
}

mod listed {
    use super::*;

    tests! {
        a_trusted_policy_in_the_workspace_applies_to_a_native_script_and_is_protected,
        nothing_is_created_in_a_workspace_in_place_of_a_policy,
        a_native_script_cannot_plant_a_skill,
        a_native_script_cannot_change_another_skill,
        a_native_script_cannot_change_the_skills_of_its_workspace_wherever_the_run_is_started,
        a_native_script_cannot_change_a_skill_that_another_policy_names,
        a_native_script_cannot_change_a_skill_behind_a_link_on_the_search_path,
        a_native_script_cannot_change_the_skills_of_a_home,
        a_link_to_the_skills_and_its_target_are_protected,
        a_skill_directory_that_is_mounted_at_a_second_place_is_protected_there,
        a_skill_granted_for_writing_is_writable_among_protected_skills,
        a_home_can_be_a_workspace,
        a_folder_with_a_protected_file_cannot_be_moved,
        a_skill_directory_made_by_another_program_does_not_end_a_wasm_run,
        a_wasm_script_cannot_plant_a_skill_of_its_tenant,
        a_native_script_cannot_plant_a_skill_of_its_tenant,
        a_tenant_cannot_plant_a_skill_of_another_by_moving_a_workspace,
        a_directory_on_the_way_to_a_skill_is_replaced_even_if_the_disk_is_full,
        a_wasm_script_cannot_create_a_side_file_of_the_approvals_database,
        a_native_script_cannot_create_a_side_file_of_the_approvals_database,
        a_native_script_does_not_run_if_the_approvals_database_is_directly_in_its_workspace,
        a_native_run_leaves_no_stand_in_for_a_missing_protected_path,
        a_question_does_not_end_a_native_run_around_the_approvals_database,
    }
}

/// The user who runs the binary, and how scripts are then confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Namespaces,
    NamespacesAsUser,
    LandlockAsUser,
}

const WAYS: [Way; 3] = [Way::Namespaces, Way::NamespacesAsUser, Way::LandlockAsUser];

impl Way {
    /// The binary, in the folder `project` of the test environment.
    fn command(self, env: &TestEnv, words: &[&str]) -> Command {
        fs::create_dir_all(env.path("project")).unwrap();
        let mut command = match self {
            Self::Namespaces => env.command(words),
            Self::NamespacesAsUser => env.unprivileged_command(words),
            Self::LandlockAsUser => without_namespaces(env, words),
        };
        command.current_dir(env.path("project"));
        command
    }

    fn end(self, env: &TestEnv, words: &[&str]) -> End {
        env.end_of(&mut self.command(env, words))
    }
}

fn bash(script: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    env.write("skill/scripts/main.sh", script);
    env
}

const IN_PROJECT: [&str; 5] = ["run", "../skill", "main.sh", "-w", "."];

fn a_trusted_policy_in_the_workspace_applies_to_a_native_script_and_is_protected() {
    let policy = "allow = [\"env:SKILLRUN_TEST_SECRET\"]\n";
    for way in WAYS {
        let env = bash(
            "echo $SKILLRUN_TEST_SECRET\n\
             try() { output=$(\"$@\" 2>&1) && echo \"$1: done\" || echo \"$1: ${output##*: }\"; }\n\
             for name in skillrun.toml other.toml; do\n\
             try bash -c \"echo x > $name\"; echo x > new; try mv new $name; try rm -f $name\ndone\n\
             rm -f new; ls -A\n",
        );
        env.write("project/skillrun.toml", policy);
        let end = way.end(&env, &IN_PROJECT);
        let untrusted = "refused: policy `skillrun.toml` is inside the workspace and not trusted\n\
                         hint: run `skillrun policy trust` after reading it\n";
        assert_eq!((end.stderr.as_str(), end.code), (untrusted, 126), "{way:?}");
        let end = way.end(&env, &["policy", "trust", "--yes"]);
        assert_eq!(end.code, 0, "{way:?}: {}", end.stderr);
        let end = way.end(&env, &IN_PROJECT);
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        if way == Way::LandlockAsUser {
            let message = "refused: `scripts/main.sh` cannot be confined here: `{root}/project/skillrun.toml` is a \
                           protected path inside a directory that the script may write, and without \
                           namespaces it cannot be read-only\n\
                           hint: use a separate directory as the workspace\n";
            assert_eq!(got, ("", message, 126));
            // The twin: with the same policy in a directory that the script may not write.
            fs::create_dir(env.path("work")).unwrap();
            let words = ["run", "../skill", "main.sh", "-w", "../work"];
            let end = way.end(&env, &words);
            assert!(end.stdout.starts_with("leaked\n"), "{end:?}");
        } else {
            let tried = "leaked\nbash: Read-only file system\nmv: Device or resource busy\n\
                         rm: Device or resource busy\nbash: done\nmv: done\nrm: done\nskillrun.toml\n";
            assert_eq!(got, (tried, "", 0), "{way:?}");
        }
        assert_eq!(env.read("project/skillrun.toml"), policy, "{way:?}");
    }
}

fn nothing_is_created_in_a_workspace_in_place_of_a_policy() {
    for way in WAYS {
        let env = bash("ls -A\n");
        env.write(
            "skill/scripts/main.py",
            "import os\nprint(os.listdir('.'))\n",
        );
        env.write("project/notes.md", "");
        for (script, seen) in [("main.sh", "notes.md\n"), ("main.py", "['notes.md']\n")] {
            let end = way.end(&env, &["run", "../skill", script, "-w", "."]);
            let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
            assert_eq!(got, (seen, "", 0), "{way:?}");
            let after = fs::read_dir(env.path("project")).unwrap();
            let after: Vec<_> = after.map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(after, ["notes.md"], "{way:?}");
        }
    }
}

fn a_native_script_cannot_plant_a_skill() {
    for folder in [
        ".agents/skills",
        ".claude/skills",
        ".chorus/skills",
        "skills",
    ] {
        for way in WAYS {
            // It first lists what exists: nothing is created in place of a protected path.
            let env = bash(&format!(
                "ls -A; mkdir -p evil/deploy/scripts .agents .claude .chorus; echo x > evil/deploy/SKILL.md\n\
                 mv -T evil {folder}\n"
            ));
            env.write("project/README.md", "");
            let end = way.end(&env, &IN_PROJECT);
            let message = format!(
                "Stopped: a protected path appeared during the run\nSignal: SIGKILL\n\
                 warning: `{{root}}/project/{folder}` is a protected path and appeared during the run; moved to \
                 `{{root}}/project/{folder}.refused`\n"
            );
            let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
            assert_eq!(got, ("README.md\n", message.as_str(), 137), "{way:?}");
            assert!(!env.path("project").join(folder).exists(), "{way:?}");
            let aside = format!("project/{folder}.refused/deploy/SKILL.md");
            assert_eq!(env.read(&aside), "x\n", "{way:?}");
            let log = env.audit();
            assert_eq!(log.last().unwrap()["status"], "signaled", "{way:?}");
            env.check_left_behind().unwrap();
        }
    }
    for way in WAYS {
        // The twin: everything beside it.
        let env = bash(
            "mkdir .agents .claude skill.d; echo a > .agents/notes.md; echo b > .claude/settings.json\n\
             echo c > skills.md; mv .agents/notes.md skill.d; rmdir .agents; ls -A\n",
        );
        let end = way.end(&env, &IN_PROJECT);
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, (".claude\nskill.d\nskills.md\n", "", 0), "{way:?}");
    }
}

const CHANGE: &str = r#"
try() {
    local output
    output=$("$@" 2>&1) && echo "$1: done" || echo "$1: ${output##*: }"
}
try bash -c "echo x > $1/deploy/scripts/go.sh"
try bash -c "echo x > $1/deploy/new.sh"
echo x > own
try mv own $1/deploy/scripts/go.sh
try rm $1/deploy/scripts/go.sh
try mkdir $1/other
try mv -T $1 away
try touch beside
"#;

fn a_native_script_cannot_change_another_skill() {
    for way in WAYS {
        let env = bash(CHANGE);
        for folder in ["skills", "other"] {
            env.write(&format!("project/{folder}/deploy/SKILL.md"), "");
            env.write(
                &format!("project/{folder}/deploy/scripts/go.sh"),
                "echo deployed\n",
            );
        }
        let change = |folder| way.end(&env, &[&IN_PROJECT[..], &["--", folder]].concat());
        let end = change("skills");
        assert_eq!(
            env.read("project/skills/deploy/scripts/go.sh"),
            "echo deployed\n"
        );
        if way == Way::LandlockAsUser {
            let message = "refused: `scripts/main.sh` cannot be confined here: `{root}/project/skills` is a \
                           protected path inside a directory that the script may write, and without \
                           namespaces it cannot be read-only\n\
                           hint: use a separate directory as the workspace\n";
            assert_eq!((end.stderr.as_str(), end.code), (message, 126));
            continue;
        }
        let refused = "bash: Read-only file system\nbash: Read-only file system\nmv: Read-only file system\n\
                       rm: Read-only file system\nmkdir: Read-only file system\nmv: Device or resource busy\n\
                       touch: done\n";
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, (refused, "", 0), "{way:?}");
        let end = change("other");
        let done =
            "bash: done\nbash: done\nmv: done\nrm: done\nmkdir: done\nmv: done\ntouch: done\n";
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, (done, "", 0), "{way:?}");
    }
}

/// Tries to change the skill whose directory is its argument, and to create a file beside.
const CHANGE_SKILL: &str = r#"
try() {
    local output
    output=$("$@" 2>&1) && echo "$1: done" || echo "$1: ${output##*: }"
}
try bash -c "echo x > $1/scripts/go.sh"
try bash -c "echo x > $1/new.sh"
echo x > own
try mv own $1/scripts/go.sh
try rm $1/scripts/go.sh
try mkdir $1/other
try mv -T $1 away
try touch beside
"#;

/// A skill that a script tries to change, and how the run of the script is started.
struct Target<'a> {
    /// The workspace of the run.
    workspace: &'a str,
    /// The directory of the skill in the workspace.
    skill: &'a str,
    /// The protected path inside the workspace: the skill, or a directory of skills around it.
    protected: &'a str,
    /// Further arguments of the command line.
    words: &'a [&'a str],
}

impl Target<'_> {
    /// A test environment with the skill, with ordinary files of the same shape in the workspace and in another one, and
    /// with a script that tries to change them.
    fn env(&self) -> TestEnv {
        let env = bash(CHANGE_SKILL);
        let inside = |path: &str| format!("{}/{path}", self.workspace);
        for folder in [inside(self.skill), inside("free"), "another/free".into()] {
            env.write(&format!("{folder}/SKILL.md"), SKILL_MD);
            env.write(&format!("{folder}/scripts/go.sh"), "echo deployed\n");
        }
        env
    }

    /// The script changes nothing in the skill; its twin changes everything in an ordinary directory.
    fn cannot_be_changed(&self, way: Way, env: &TestEnv) {
        let change = |workspace: &str, folder: &str| {
            let workspace = format!("../{workspace}");
            let words = ["run", "../skill", "main.sh", "-w", &workspace];
            let end = way.end(env, &[&words[..], self.words, &["--", folder]].concat());
            (end.stdout, end.stderr, end.code)
        };
        let file = |path: &str| format!("{}/{path}", self.workspace);
        let (stdout, stderr, code) = change(self.workspace, self.skill);
        let script = file(&format!("{}/scripts/go.sh", self.skill));
        assert_eq!(env.read(&script), "echo deployed\n", "{way:?}");
        let done =
            "bash: done\nbash: done\nmv: done\nrm: done\nmkdir: done\nmv: done\ntouch: done\n";
        let done = (done.to_owned(), String::new(), 0);
        if way == Way::LandlockAsUser {
            let message = format!(
                "refused: `scripts/main.sh` cannot be confined here: `{{root}}/{}` is a protected path inside a \
                 directory that the script may write, and without namespaces it cannot be read-only\n\
                 hint: use a separate directory as the workspace\n",
                file(self.protected)
            );
            let got = (stdout.as_str(), stderr.as_str(), code);
            assert_eq!(got, ("", message.as_str(), 126), "{way:?}");
            assert!(!env.path(&file("beside")).exists(), "{way:?}");
            assert_eq!(change("another", "free"), done, "{way:?}");
            assert_eq!(env.read("another/beside"), "", "{way:?}");
            return;
        }
        // The mount point itself is busy; its content is copied and then not removed.
        let moved = match self.skill == self.protected {
            true => "Device or resource busy",
            false => "Read-only file system",
        };
        let refused = format!(
            "bash: Read-only file system\nbash: Read-only file system\nmv: Read-only file system\n\
             rm: Read-only file system\nmkdir: Read-only file system\nmv: {moved}\ntouch: done\n"
        );
        assert_eq!(
            (stdout, stderr, code),
            (refused, String::new(), 0),
            "{way:?}"
        );
        assert_eq!(env.read(&file("beside")), "", "{way:?}");
        let _ = fs::remove_dir_all(env.path(&file("away")));
        assert_eq!(change(self.workspace, "free"), done, "{way:?}");
    }
}

fn a_native_script_cannot_change_the_skills_of_its_workspace_wherever_the_run_is_started() {
    for way in WAYS {
        let target = Target {
            workspace: "elsewhere",
            skill: "skills/deploy",
            protected: "skills",
            words: &[],
        };
        target.cannot_be_changed(way, &target.env());
    }
}

fn a_native_script_cannot_change_a_skill_that_another_policy_names() {
    for way in WAYS {
        for skill in ["deploy", "trusted"] {
            let target = Target {
                workspace: "vault",
                skill,
                protected: skill,
                words: &["--policy", "../empty.toml"],
            };
            let env = target.env();
            env.write("empty.toml", "");
            let (policy, key) = match skill {
                "deploy" => (
                    "home/.config/skillrun/skillrun.toml",
                    "../../../vault/deploy",
                ),
                _ => ("other/skillrun.toml", "../vault/trusted"),
            };
            env.write(policy, format!("[skill.\"{key}\"]\n"));
            if skill == "trusted" {
                let mut trust = way.command(&env, &["policy", "trust", "--yes"]);
                let end = env.end_of(trust.current_dir(env.path("other")));
                assert_eq!(end.code, 0, "{}", end.stderr);
            }
            target.cannot_be_changed(way, &env);
        }
    }
}

fn a_native_script_cannot_change_a_skill_behind_a_link_on_the_search_path() {
    for way in WAYS {
        let target = Target {
            workspace: "dev",
            skill: "deploy",
            protected: "deploy",
            words: &[],
        };
        let env = target.env();
        fs::create_dir_all(env.path("home/.claude/skills")).unwrap();
        let link = env.path("home/.claude/skills/deploy");
        std::os::unix::fs::symlink(env.path("dev/deploy"), link).unwrap();
        target.cannot_be_changed(way, &env);
    }
}

fn a_native_script_cannot_change_the_skills_of_a_home() {
    for way in WAYS {
        let target = Target {
            workspace: "home",
            skill: ".claude/skills/deploy",
            protected: ".claude/skills",
            words: &[],
        };
        target.cannot_be_changed(way, &target.env());
    }
}

fn a_link_to_the_skills_and_its_target_are_protected() {
    for way in WAYS {
        let env = bash(
            "for each in 'rm .claude' 'mv .claude away' 'ln -sfn evil .claude' 'mkdir .claude/skills/new' \
             'mkdir shared/skills/new' 'mv shared away' 'mkdir .claude/other'; do\n\
             output=$($each 2>&1) && echo \"$each: done\" || echo \"$each: ${output##*: }\"\ndone\n",
        );
        env.write("project/shared/skills/deploy/SKILL.md", "");
        std::os::unix::fs::symlink("shared", env.path("project/.claude")).unwrap();
        let end = way.end(&env, &IN_PROJECT);
        if way == Way::LandlockAsUser {
            assert_eq!(end.code, 126, "{}", end.stderr);
            let named = "`{root}/project/shared/skills` is a protected path";
            assert!(end.stderr.contains(named), "{}", end.stderr);
            continue;
        }
        let stays = "rm .claude: Device or resource busy\nmv .claude away: Device or resource busy\n\
                     ln -sfn evil .claude: Device or resource busy\n\
                     mkdir .claude/skills/new: Read-only file system\n\
                     mkdir shared/skills/new: Read-only file system\n\
                     mv shared away: Device or resource busy\nmkdir .claude/other: done\n";
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, (stays, "", 0), "{way:?}");
    }
}

/// As in a container that has one volume for a project and another one for the skills.
fn a_skill_directory_that_is_mounted_at_a_second_place_is_protected_there() {
    if !crate::env::may_mount() {
        println!("not run: this user cannot mount");
        return;
    }
    let env = bash(
        "try() { mkdir -p $1 2> /dev/null && echo $1: done || echo $1: kept; }\n\
         try claude/skills/evil; try claude/other; try one/evil; try two/evil\n",
    );
    env.write(
        "skill/scripts/main.py",
        "import os\n\
         for path in ['claude/skills/evil', 'claude/new', 'one/evil', 'two/new']:\n\
         \x20   try:\n\
         \x20       os.makedirs(path)\n\
         \x20       print(path + ': done')\n\
         \x20   except OSError:\n\
         \x20       print(path + ': kept')\n",
    );
    for directory in ["home/.claude/skills/one", "work/claude", "work/one"] {
        fs::create_dir_all(env.path(directory)).unwrap();
    }
    fs::create_dir_all(env.path("work/two")).unwrap();
    let mount = "mount --bind home/.claude work/claude && mount --bind home/.claude/skills/one work/one && \
                 exec \"$0\" \"$@\"";
    let tried = "claude/skills/evil: kept\nclaude/new: done\none/evil: kept\ntwo/new: done\n";
    let words = ["run", "./skill", "main.py", "-w", "work"];
    let end = env.end_of(&mut env.command_in_mounts(mount, &words));
    assert_eq!(end.stdout, tried, "{}", end.stderr);
    // A user who is root in a namespace only has no other one for native scripts.
    if rustix::process::geteuid().is_root() {
        let tried =
            "claude/skills/evil: kept\nclaude/other: done\none/evil: kept\ntwo/evil: done\n";
        let mut command = env.program("unshare");
        command.args(["--mount", "sh", "-c", mount, env!("CARGO_BIN_EXE_skillrun")]);
        command.args(["run", "./skill", "main.sh", "-w", "work"]);
        let end = env.end_of(command.env("PATH", "/usr/bin:/bin"));
        assert_eq!(end.stdout, tried, "{}", end.stderr);
    }
    assert!(!env.path("home/.claude/skills/evil").exists());
    assert!(!env.path("home/.claude/skills/one/evil").exists());
}

fn a_skill_granted_for_writing_is_writable_among_protected_skills() {
    let env = TestEnv::new();
    env.write("skills/own/SKILL.md", SKILL_MD);
    env.write(
        "skills/own/scripts/main.sh",
        "{ echo x > $SKILL_BASE_DIR/data; } 2>/dev/null && echo wrote\n\
         { echo x > $SKILL_BASE_DIR/../new; } 2>/dev/null || echo held\n",
    );
    env.write(
        "skills/own/scripts/main.py",
        "import os\nbase = os.environ['SKILL_BASE_DIR']\n\
         for path in ('/data', '/../new'):\n    \
         try:\n        open(base + path, 'w').write('y')\n        print('wrote')\n    \
         except PermissionError:\n        print('held')\n",
    );
    for (script, data) in [("main.sh", "x\n"), ("main.py", "y")] {
        let words = ["run", "own", script, "-w", ".", "--allow", "write:skill"];
        let end = env.end(&words);
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, ("wrote\nheld\n", "", 0), "{script}");
        assert_eq!(env.read("skills/own/data"), data);
        // The twin: without the grant.
        let end = env.end(&words[..5]);
        let held = end.stdout.replace("held\n", "");
        assert_eq!((held.as_str(), end.code), ("", 0), "{script}");
        assert!(!env.path("skills/new").exists());
    }
}

/// A home with all files of skillrun in their default places.
fn at_home(way: Way, env: &TestEnv, words: &[&str]) -> End {
    let mut command = way.command(env, words);
    for name in ["XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    env.end_of(&mut command)
}

fn a_home_can_be_a_workspace() {
    for way in WAYS {
        let env = bash(
            "echo x > made; mkdir .config; echo y > .config/other\n\
             for file in audit.lock audit.head audit.jsonl new; do\n\
             { echo > .local/state/skillrun/$file; } 2>/dev/null && echo WROTE || echo held\ndone\n\
             mv .local away 2>/dev/null && echo MOVED\n\
             [ -z \"$1\" ] || mkdir .config/skillrun; ls -A\n",
        );
        let home = env.text("home");
        let words = ["run", "../skill", "main.sh", "-w", &home];
        let end = at_home(way, &env, &words);
        if way == Way::LandlockAsUser {
            let message = "refused: `scripts/main.sh` cannot be confined here: \
                           `{root}/home/.local/state/skillrun` is a protected path inside a directory \
                           that the script may write, and without namespaces it cannot be read-only\n\
                           hint: use a separate directory as the workspace\n";
            assert_eq!((end.stderr.as_str(), end.code), (message, 126));
            continue;
        }
        let held = "held\n".repeat(4);
        let stdout = format!("{held}.config\n.local\nmade\n");
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, (stdout.as_str(), "", 0), "{way:?}");
        assert_eq!(env.read("home/.config/other"), "y\n");
        // No file that would affect the next run exists after this one.
        let end = at_home(way, &env, &[&words[..], &["--", "plant"]].concat());
        let warning = "warning: `{root}/home/.config/skillrun` is a protected path and appeared during the run; \
                       moved to `{root}/home/.config/skillrun.refused`\n";
        assert!(end.stderr.ends_with(warning), "{way:?}: {}", end.stderr);
        assert_eq!(end.code, 137, "{way:?}");
        assert!(!env.path("home/.config/skillrun").exists());
    }
}

const MOVE: &str = "\
import errno, os, sys

def attempt(what, do):
    try:
        print(f'{what}: {do()!r}')
    except OSError as error:
        print(f'{what}: {type(error).__name__} {errno.errorcode[error.errno]}')

folder = sys.argv[1]
attempt('make', lambda: os.makedirs(folder, exist_ok=True))
attempt('rename', lambda: os.rename(folder, 'moved'))
attempt('rename the outer', lambda: os.rename(os.path.dirname(folder), 'moved'))
attempt('exchange', lambda: (os.makedirs('mine'), os.rename('mine', folder)))
attempt('link', lambda: os.symlink('mine', folder))
attempt('remove', lambda: os.rmdir(folder))
attempt('beside', lambda: open(folder + '/beside', 'w').write('x'))
";

fn a_folder_with_a_protected_file_cannot_be_moved() {
    for exists in [true, false] {
        let env = TestEnv::with_script(MOVE);
        if exists {
            env.write("workspace/a/project/skillrun.toml", "");
        }
        fs::create_dir_all(env.path("workspace/a")).unwrap();
        let run = |protected: &str| {
            let host = Host::new(Settings {
                cache: shared_cache().join("skillrun"),
                audit: AuditLog::file(env.path("state/skillrun/audit.jsonl")),
                approvals: Approvals::file(env.path("state/skillrun/approvals.db")),
                protected: vec![env.path("workspace").join(protected)],
                slots: None,
                workers: Default::default(),
            });
            let mut request = Request::typed(&skill(&env), "main.py");
            request.workspace = Some(env.path("workspace").into());
            request.args = vec!["a/project".into()];
            let permit = permitted(&host, &Policy::default(), request);
            block_on(host.run(permit)).unwrap().stdout
        };
        let held = "make: None\nrename: PermissionError EPERM\nrename the outer: PermissionError EPERM\n\
                    exchange: PermissionError EPERM\nlink: PermissionError EPERM\nremove: PermissionError EPERM\n\
                    beside: 1\n";
        assert_eq!(run("a/project/skillrun.toml"), held, "{exists}");
        // The twin: the same folder, if another path is protected.
        let moves = "make: None\nrename: None\n";
        let got = run("other/skillrun.toml");
        assert!(got.starts_with(moves), "{exists}: {got}");
        assert!(env.path("workspace/moved").is_dir());
    }
}

/// The wasm tier refuses what the script does, so it does not need to end a run for what other processes do.
fn a_skill_directory_made_by_another_program_does_not_end_a_wasm_run() {
    let env = TestEnv::with_script(
        "import os, sys\nprint('ready', flush=True)\nsys.stdin.readline()\n\
         try:\n    open('.agents/skills/x', 'w')\nexcept OSError as error:\n    print(type(error).__name__)\n",
    );
    let end = meanwhile(&env, &["-w", "."], || {
        env.write(".agents/skills/deploy/SKILL.md", "");
    });
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(got, ("PermissionError\n", "", 0));
    assert!(env.path(".agents/skills/deploy/SKILL.md").exists());
}

/// A host with an approvals database at this path, with one open question in it.
fn host_with_database(env: &TestEnv, path: &str, script: &str) -> Host {
    let host = host_without_database(env, path);
    ask(&host, env, script);
    host
}

fn host_without_database(env: &TestEnv, path: &str) -> Host {
    fs::create_dir_all(env.path("workspace")).unwrap();
    Host::new(Settings {
        cache: shared_cache().join("skillrun"),
        audit: AuditLog::file(env.path("state/skillrun/audit.jsonl")),
        approvals: Approvals::file(env.path(path)),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    })
}

fn ask(host: &Host, env: &TestEnv, script: &str) {
    let asked = Request::new(&skill(env), script);
    let asked = host.blocking().decide(&Policy::default(), asked).unwrap();
    assert!(matches!(asked, Decision::Pending(_)), "{asked:?}");
}

/// Runs a script that was typed, in the workspace.
async fn run_in_workspace(host: &Host, env: &TestEnv, script: &str, args: &[&str]) -> Outcome {
    let mut request = Request::typed(&skill(env), script);
    request.workspace = Some(env.path("workspace").into());
    request.args = args.iter().map(|&arg| arg.to_owned()).collect();
    let permit = permitted(host, &Policy::default(), request);
    host.run(permit).await.unwrap()
}

/// SQLite rolls the pages of a journal or a write-ahead log back into the database when it next opens it.
const SIDE_FILES: [&str; 3] = [
    "approvals.db-journal",
    "approvals.db-wal",
    "approvals.db-shm",
];

fn a_wasm_script_cannot_create_a_side_file_of_the_approvals_database() {
    let env = TestEnv::with_script(
        "import errno, os, sys\n\n\
         def attempt(what, do):\n    \
             try:\n        print(f'{what}: {do()!r}')\n    \
             except OSError as error:\n        print(f'{what}: {errno.errorcode[error.errno]}')\n\n\
         name = sys.argv[1]\n\
         open('pages', 'w').write('x')\n\
         attempt('write', lambda: open(name, 'w').write('x'))\n\
         attempt('rename', lambda: os.rename('pages', name))\n\
         attempt('link', lambda: os.link('pages', name))\n\
         attempt('symlink', lambda: os.symlink('pages', name))\n",
    );
    let host = host_with_database(&env, "workspace/approvals.db", "main.py");
    for name in SIDE_FILES {
        let before = fs::read(env.path("workspace").join(name)).ok();
        let outcome = block_on(run_in_workspace(&host, &env, "main.py", &[name]));
        let refused = "write: EPERM\nrename: EPERM\nlink: EPERM\nsymlink: EPERM\n";
        assert_eq!(outcome.stdout, refused, "{name}");
        assert_eq!(
            fs::read(env.path("workspace").join(name)).ok(),
            before,
            "{name}"
        );
    }
    assert_eq!(host.blocking().approvals().unwrap(), []);
    // The twin: a file beside it.
    let outcome = block_on(run_in_workspace(
        &host,
        &env,
        "main.py",
        &["approvals.db-notes"],
    ));
    let stdout = &outcome.stdout;
    assert!(stdout.starts_with("write: 1\nrename: None\n"), "{stdout}");
}

/// An approvals database in the workspace, in a directory of its own.
const DATABASE: &str = "workspace/state/approvals.db";

fn a_native_script_cannot_create_a_side_file_of_the_approvals_database() {
    let plant = "\
        echo x > pages\n\
        attempt() { output=$(\"$@\" 2>&1) && echo done || echo ${output##*: }; }\n\
        attempt mv -T pages $1; attempt mv -T state away\n";
    // The database may not even exist before.
    let all = SIDE_FILES.map(|name| (name, true));
    for (name, exists) in all.into_iter().chain([("approvals.db", false)]) {
        let env = bash(plant);
        let host = match exists {
            true => host_with_database(&env, DATABASE, "main.sh"),
            false => host_without_database(&env, DATABASE),
        };
        let name = format!("state/{name}");
        let outcome = block_on(run_in_workspace(&host, &env, "main.sh", &[&name]));
        let refused = "Read-only file system\nDevice or resource busy\n";
        assert_eq!(outcome.stdout, refused, "{name}");
        assert_eq!(outcome.warnings, [""; 0], "{name}");
        assert_eq!(host.blocking().approvals().unwrap(), []);
    }
    // The twin: a file beside the directory.
    let env = bash(plant);
    let host = host_with_database(&env, DATABASE, "main.sh");
    let outcome = block_on(run_in_workspace(&host, &env, "main.sh", &["notes"]));
    assert_eq!(outcome.stdout, "done\nDevice or resource busy\n");
    assert_eq!(env.read("workspace/notes"), "x\n");
}

/// A directory that the script may write cannot be read-only, and a missing side file cannot be protected in it.
fn a_native_script_does_not_run_if_the_approvals_database_is_directly_in_its_workspace() {
    let env = bash("echo ran\n");
    let host = host_without_database(&env, "workspace/approvals.db");
    let mut request = Request::typed(&skill(&env), "main.sh");
    request.workspace = Some(env.path("workspace").into());
    let decision = host.blocking().decide(&Policy::default(), request).unwrap();
    let Decision::Refused(refusal) = decision else {
        panic!("{decision:?}")
    };
    let why = format!(
        "`scripts/main.sh` cannot be confined here: the approvals database is in `{}`, which the script may write, and \
         there the files that SQLite keeps beside it cannot be protected",
        env.text("workspace")
    );
    assert_eq!((refusal.check, refusal.message), (Check::Isolation, why));
    assert_eq!(files_below(&env.path("workspace")), [""; 0]);
    // The twin: in a directory of its own.
    let host = host_without_database(&env, DATABASE);
    let outcome = block_on(run_in_workspace(&host, &env, "main.sh", &[]));
    assert_eq!(outcome.stdout, "ran\n");
}

/// The files and directories below a directory, sorted.
fn files_below(top: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut directories = vec![top.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            all.push(path.strip_prefix(top).unwrap().display().to_string());
            directories.extend(path.is_dir().then_some(path));
        }
    }
    all.sort();
    all
}

fn a_native_run_leaves_no_stand_in_for_a_missing_protected_path() {
    let log = [
        "state",
        "state/audit.head",
        "state/audit.jsonl",
        "state/audit.lock",
    ];
    // What SQLite creates for a question.
    let database = [
        "approvals",
        "approvals/approvals.db",
        "approvals/approvals.db-journal",
    ];
    let path = "workspace/approvals/approvals.db";
    let env = bash("");
    host_with_database(&env, path, "main.sh");
    assert_eq!(files_below(&env.path("workspace")), database);
    for (approvals, created) in [
        // The directory exists once the audit log does, so nothing creates the database before a question.
        ("workspace/state/approvals.db", [&log[..], &["x"]].concat()),
        // The directory is created with the database, as for a question.
        (path, [&database[..], &log, &["x"]].concat()),
    ] {
        let env = bash("echo > x; ls -A\n");
        env.write("workspace/notes/before", "");
        let host = Host::new(Settings {
            cache: env.path("workspace/cache"),
            audit: AuditLog::file(env.path("workspace/state/audit.jsonl")),
            approvals: Approvals::file(env.path(approvals)),
            protected: vec![env.path("workspace/protected")],
            slots: None,
            workers: Default::default(),
        });
        let before = files_below(&env.path("workspace"));
        let outcome = block_on(run_in_workspace(&host, &env, "main.sh", &[]));
        assert_eq!((outcome.exit_code, &outcome.warnings[..]), (0, &[][..]));
        let mut after = files_below(&env.path("workspace"));
        // The script saw nothing else either.
        let seen: Vec<&str> = outcome.stdout.lines().collect();
        let top = after.iter().filter(|path| !path.contains('/'));
        assert_eq!(seen, top.collect::<Vec<_>>());
        after.retain(|path| !before.contains(path));
        assert_eq!(after, created);
        if let Ok(bytes) = fs::read(env.path(approvals)) {
            assert!(bytes.starts_with(b"SQLite format 3\0"), "{bytes:?}");
        }
        assert_eq!(host.blocking().approvals().unwrap(), []);
    }
}

/// The host writes a journal with every question. It must not be mistaken for one that the script created.
fn a_question_does_not_end_a_native_run_around_the_approvals_database() {
    let env = bash("echo > ready; until [ -e go ]; do sleep 0.01; done; echo done\n");
    let host = host_with_database(&env, DATABASE, "main.sh");
    let outcome = block_on(async {
        let run = run_in_workspace(&host, &env, "main.sh", &[]);
        let questions = async {
            while !env.path("workspace/ready").exists() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            for _ in 0..3 {
                ask(&host, &env, "main.sh");
            }
            env.write("workspace/go", "");
        };
        tokio::join!(run, questions).0
    });
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("done\n", 0));
    assert_eq!(host.blocking().questions().unwrap().len(), 4);
}

/// What a script of a tenant prints whose workspace contains the tenant's skill directory. `linked` is a skill there that
/// is a link to a folder beside it.
fn run_of_tenant(env: &TestEnv, script: &str, args: &[&str]) -> Outcome {
    env.write("workspace/skills/own/SKILL.md", SKILL_MD);
    env.write("workspace/elsewhere/SKILL.md", SKILL_MD);
    env.write("workspace/theirs/one/SKILL.md", SKILL_MD);
    let link = env.path("workspace/skills/linked");
    if !link.is_symlink() {
        std::os::unix::fs::symlink("../elsewhere", link).unwrap();
    }
    let host = host(env);
    // The skills of another tenant are there, too.
    host.tenant("globex")
        .configure(TenantSettings {
            skill_dirs: vec![env.path("workspace/theirs")],
            ..TenantSettings::default()
        })
        .unwrap();
    let tenant = host.tenant("acme");
    tenant
        .configure(TenantSettings {
            skill_dirs: vec![env.path("workspace/skills"), env.path("workspace/later")],
            ..TenantSettings::default()
        })
        .unwrap();
    let mut request = Request::typed(&skill(env), script);
    request.workspace = Some(env.path("workspace").into());
    request.args = args.iter().map(|&arg| arg.to_owned()).collect();
    block_on(async {
        let Decision::Permitted(permit) = tenant.decide(request).await.unwrap() else {
            panic!("it is not permitted");
        };
        tenant.run(permit).await.unwrap()
    })
}

fn a_wasm_script_cannot_plant_a_skill_of_its_tenant() {
    let env = TestEnv::with_script(
        "import errno, os, sys\n\
         os.makedirs('evil/deploy', exist_ok=True)\n\
         for name in sys.argv[1:]:\n    \
             try:\n        os.rename('evil/deploy', name)\n        print('done')\n    \
             except OSError as error:\n        print(errno.errorcode[error.errno])\n",
    );
    let planted = [
        "skills/deploy",
        "later",
        "elsewhere/scripts",
        "theirs/deploy",
    ];
    let outcome = run_of_tenant(&env, "main.py", &planted);
    assert_eq!(outcome.stdout, "EPERM\n".repeat(4));
    // The twin: a directory beside them.
    let outcome = run_of_tenant(&env, "main.py", &["beside"]);
    assert_eq!(outcome.stdout, "done\n");
    assert!(env.path("workspace/beside").is_dir());
}

fn a_native_script_cannot_plant_a_skill_of_its_tenant() {
    let env = bash(
        "mkdir -p evil/deploy\n\
         for name in \"$@\"; do\n\
         output=$(mv -T evil/deploy $name 2>&1) && echo done || echo ${output##*: }\ndone\n",
    );
    let planted = ["skills/deploy", "elsewhere/scripts", "theirs/deploy"];
    let outcome = run_of_tenant(&env, "main.sh", &planted);
    let refused = "Read-only file system\n".repeat(3);
    assert_eq!(outcome.stdout, refused, "{outcome:?}");
    // One that does not exist ends the run when it appears.
    let outcome = run_of_tenant(&env, "main.sh", &["later"]);
    assert_eq!(outcome.signal.as_deref(), Some("SIGKILL"), "{outcome:?}");
    assert!(!env.path("workspace/later").exists());
    // The twin: a directory beside them.
    let outcome = run_of_tenant(&env, "main.sh", &["beside"]);
    assert_eq!(outcome.stdout, "done\n");
    assert!(env.path("workspace/beside").is_dir());
}

/// A script has the directory `work` as its workspace. Another one of the same tenant moves that directory to where the
/// skills of another tenant would be, and then the first one creates a skill.
fn a_tenant_cannot_plant_a_skill_of_another_by_moving_a_workspace() {
    let scripts = ["main.sh", "main.py"];
    for (first, second) in scripts
        .iter()
        .flat_map(|first| scripts.map(|second| (first, second)))
    {
        // The twin moves it elsewhere.
        for (to, planted) in [
            (".agents", ".agents/skills"),
            ("elsewhere", "elsewhere/skills"),
        ] {
            let env = bash(
                "case $1 in\n\
                 plant) echo ready; read -r _; mkdir -p skills/deploy; echo end;;\n\
                 move) mv work $2; echo moved;;\nesac\n",
            );
            env.write(
                "skill/scripts/main.py",
                "import os, sys\n\
                 if sys.argv[1] == 'plant':\n    \
                     print('ready', flush=True)\n    sys.stdin.readline()\n    \
                     try:\n        os.makedirs('skills/deploy')\n    except OSError:\n        pass\n    \
                     print('end')\n\
                 else:\n    \
                     try:\n        os.rename('work', sys.argv[2])\n        print('moved')\n    \
                     except PermissionError as error:\n        print(error.strerror)\n",
            );
            env.write("workspace/work/kept", "");
            let host = host(&env);
            let settings = TenantSettings {
                skill_dirs: vec![env.path("workspace/.agents/skills")],
                ..TenantSettings::default()
            };
            host.tenant("globex").configure(settings).unwrap();
            let tenant = host.tenant("acme");
            let request = |script: &str, workspace: &str, args: &[&str]| {
                let mut request = Request::typed(&skill(&env), script);
                request.workspace = Some(env.path(workspace).into());
                request.args = args.iter().map(|&arg| arg.to_owned()).collect();
                request
            };
            block_on(async {
                let permit =
                    permitted_by(&tenant, request(first, "workspace/work", &["plant"])).await;
                let (mut run, mut stdin) = tenant.start_with_stdin(permit).unwrap();
                until_ready(&mut run).await;
                let permit =
                    permitted_by(&tenant, request(second, "workspace", &["move", to])).await;
                let moved = tenant.run(permit).await.unwrap();
                // The wasm tier lets no directory be moved there.
                let expected = match (second, to) {
                    ("main.py", ".agents") => "Operation not permitted\n",
                    _ => "moved\n",
                };
                assert_eq!(moved.stdout, expected, "{first} {second}: {moved:?}");
                stdin.write_all(b"go\n").await.unwrap();
                let outcome = run.wait().await.unwrap();
                assert_eq!(
                    outcome.stdout, "ready\nend\n",
                    "{first} {second}: {outcome:?}"
                );
            });
            let is_planted = env.path("workspace").join(planted).exists();
            assert_eq!(is_planted, to == "elsewhere", "{first} {second} {to}");
        }
    }
}

async fn permitted_by(tenant: &Tenant, request: Request) -> Permit {
    match tenant.decide(request).await.unwrap() {
        Decision::Permitted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

async fn until_ready(run: &mut Run) {
    loop {
        match run.next_event().await {
            Some(RunEvent::Stdout(bytes)) if bytes.starts_with(b"ready") => return,
            Some(_) => {}
            None => panic!("it ended before it was ready"),
        }
    }
}

/// Another run may have the directory open. A fresh one needs an inode, and the script leaves none.
fn a_directory_on_the_way_to_a_skill_is_replaced_even_if_the_disk_is_full() {
    // In a user namespace, there would be no private user for the script.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let fill = "i=0; while mkdir fill$i 2> /dev/null; do i=$((i + 1)); done; echo full; ";
    for (to, then, stdout) in [
        (".agents", fill, "full\n.agents: another directory\n"),
        (".agents", "", ".agents: another directory\n"),
        ("agents", fill, "full\nagents: the same directory\n"),
    ] {
        let env = bash(&format!("mv work {to}; {then}"));
        fs::create_dir(env.path("disk")).unwrap();
        let mount = "mount -t tmpfs -o nr_inodes=40,mode=777 none disk && mkdir -m 777 disk/work && \
                     inode=$(stat -c %i disk/work) && \"$0\" \"$@\" && moved=$(ls -A disk | grep agents) && \
                     case $(stat -c %i \"disk/$moved\") in \
                     $inode) echo \"$moved: the same directory\" ;; \
                     *) echo \"$moved: another directory\" ;; esac";
        let mut command = env.program("unshare");
        command.args(["--mount", "sh", "-c", mount, env!("CARGO_BIN_EXE_skillrun")]);
        command.args(["run", "./skill", "main.sh", "-w", "disk"]);
        let end = env.end_of(command.env("PATH", "/usr/bin:/bin"));
        assert_eq!(
            (end.stdout.as_str(), end.code),
            (stdout, 0),
            "{}",
            end.stderr
        );
    }
}
