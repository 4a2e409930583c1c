//! Protected paths through the command line: skill directories, and the files of skillrun in a home. What native
//! scripts can do about a path that does not exist is in `native/protected.rs`, one test for each way.

use crate::containment::meanwhile;
use crate::env::{End, SKILL_MD, TestEnv, shared_cache};
use crate::folder::needs;
use crate::library::{block_on, permitted, skill};
use crate::native::without_namespaces;
use libtest_mimic::Trial;
use skillrun::{Approvals, AuditLog, Host, Policy, Request, Settings};
use std::fs;
use std::process::Command;

/// All tests; ignored if native scripts cannot be confined.
pub(crate) fn tests() -> Vec<Trial> {
    let all = listed::tests().into_iter();
    all.map(|test| needs(test, "bash namespaces")).collect()
}

mod listed {
    use super::*;

    tests! {
        a_native_script_cannot_plant_a_skill,
        a_native_script_cannot_change_another_skill,
        a_native_script_cannot_change_the_skills_of_its_workspace_wherever_the_run_is_started,
        a_native_script_cannot_change_a_skill_that_another_policy_names,
        a_native_script_cannot_change_a_skill_behind_a_link_on_the_search_path,
        a_native_script_cannot_change_the_skills_of_a_home,
        a_link_to_the_skills_and_its_target_are_protected,
        a_skill_granted_for_writing_is_writable_among_protected_skills,
        a_home_can_be_a_workspace,
        a_folder_with_a_protected_file_cannot_be_moved,
        a_skill_directory_made_by_another_program_does_not_end_a_wasm_run,
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
        let stdout = format!("{held}.cache\n.config\n.local\nmade\n");
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
            });
            let mut request = Request::typed(&skill(&env), "main.py");
            request.workspace = Some(env.path("workspace"));
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
