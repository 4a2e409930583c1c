//! Protected paths through the command line: skill directories, and what skillrun keeps in a home. What native
//! scripts can do about a path that does not exist is in `native/protected.rs`, one test for each way.

use crate::containment::meanwhile;
use crate::folder::needs;
use crate::library::{block_on, permitted, skill};
use crate::native::without_namespaces;
use crate::place::{End, Place, SKILL_MD, shared_cache};
use libtest_mimic::Trial;
use skillrun::{Approvals, AuditLog, Host, Policy, Request, Settings};
use std::fs;
use std::process::Command;

/// All tests; ignored where nothing holds a native script.
pub(crate) fn trials() -> Vec<Trial> {
    let all = listed::trials().into_iter();
    all.map(|trial| needs(trial, "bash namespaces")).collect()
}

mod listed {
    use super::*;

    trials! {
        a_native_script_cannot_plant_a_skill,
        a_native_script_cannot_change_another_skill,
        a_link_to_the_skills_stays_and_so_does_what_it_leads_to,
        a_skill_granted_for_writing_is_writable_among_protected_skills,
        a_home_is_a_workspace_like_any_other,
        a_folder_with_a_protected_file_stays_where_it_is,
        a_skill_directory_made_by_another_program_ends_no_wasm_run,
    }
}

/// Who runs the binary, and how scripts are then confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Namespaces,
    NamespacesAsUser,
    LandlockAsUser,
}

const WAYS: [Way; 3] = [Way::Namespaces, Way::NamespacesAsUser, Way::LandlockAsUser];

impl Way {
    /// The binary, in the folder `project` of the place.
    fn command(self, place: &Place, words: &[&str]) -> Command {
        fs::create_dir_all(place.path("project")).unwrap();
        let mut command = match self {
            Self::Namespaces => place.command(words),
            Self::NamespacesAsUser => place.unprivileged_command(words),
            Self::LandlockAsUser => without_namespaces(place, words),
        };
        command.current_dir(place.path("project"));
        command
    }

    fn end(self, place: &Place, words: &[&str]) -> End {
        place.end_of(&mut self.command(place, words))
    }
}

fn bash(script: &str) -> Place {
    let place = Place::new();
    place.write("skill/SKILL.md", SKILL_MD);
    place.write("skill/scripts/main.sh", script);
    place
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
            // It lists first what it finds: nothing stands in the place of what is protected.
            let place = bash(&format!(
                "ls -A; mkdir -p evil/deploy/scripts .agents .claude .chorus; echo x > evil/deploy/SKILL.md\n\
                 mv -T evil {folder}\n"
            ));
            place.write("project/README.md", "");
            let end = way.end(&place, &IN_PROJECT);
            let told = format!(
                "Stopped: a protected path appeared during the run\nSignal: SIGKILL\n\
                 warning: `{{root}}/project/{folder}` is a protected path and appeared during the run; moved to \
                 `{{root}}/project/{folder}.refused`\n"
            );
            let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
            assert_eq!(got, ("README.md\n", told.as_str(), 137), "{way:?}");
            assert!(!place.path("project").join(folder).exists(), "{way:?}");
            let aside = format!("project/{folder}.refused/deploy/SKILL.md");
            assert_eq!(place.read(&aside), "x\n", "{way:?}");
            let log = place.audit();
            assert_eq!(log.last().unwrap()["status"], "signaled", "{way:?}");
            place.check_left_behind().unwrap();
        }
    }
    for way in WAYS {
        // The twin: everything beside it.
        let place = bash(
            "mkdir .agents .claude skill.d; echo a > .agents/notes.md; echo b > .claude/settings.json\n\
             echo c > skills.md; mv .agents/notes.md skill.d; rmdir .agents; ls -A\n",
        );
        let end = way.end(&place, &IN_PROJECT);
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, (".claude\nskill.d\nskills.md\n", "", 0), "{way:?}");
    }
}

const CHANGE: &str = r#"
try() {
    local said
    said=$("$@" 2>&1) && echo "$1: done" || echo "$1: ${said##*: }"
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
        let place = bash(CHANGE);
        for folder in ["skills", "other"] {
            place.write(&format!("project/{folder}/deploy/SKILL.md"), "");
            place.write(
                &format!("project/{folder}/deploy/scripts/go.sh"),
                "echo deployed\n",
            );
        }
        let change = |folder| way.end(&place, &[&IN_PROJECT[..], &["--", folder]].concat());
        let end = change("skills");
        assert_eq!(
            place.read("project/skills/deploy/scripts/go.sh"),
            "echo deployed\n"
        );
        if way == Way::LandlockAsUser {
            let message = "refused: `scripts/main.sh` cannot be held here: `{root}/project/skills` is a \
                           protected path inside a directory that the script may write, and without \
                           namespaces it cannot be read-only\n\
                           hint: give the script a folder of its own as its workspace\n";
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

fn a_link_to_the_skills_stays_and_so_does_what_it_leads_to() {
    for way in WAYS {
        let place = bash(
            "for each in 'rm .claude' 'mv .claude away' 'ln -sfn evil .claude' 'mkdir .claude/skills/new' \
             'mkdir shared/skills/new' 'mv shared away' 'mkdir .claude/other'; do\n\
             said=$($each 2>&1) && echo \"$each: done\" || echo \"$each: ${said##*: }\"\ndone\n",
        );
        place.write("project/shared/skills/deploy/SKILL.md", "");
        std::os::unix::fs::symlink("shared", place.path("project/.claude")).unwrap();
        let end = way.end(&place, &IN_PROJECT);
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
    let place = Place::new();
    place.write("skills/own/SKILL.md", SKILL_MD);
    place.write(
        "skills/own/scripts/main.sh",
        "{ echo x > $SKILL_BASE_DIR/data; } 2>/dev/null && echo wrote\n\
         { echo x > $SKILL_BASE_DIR/../new; } 2>/dev/null || echo held\n",
    );
    place.write(
        "skills/own/scripts/main.py",
        "import os\nbase = os.environ['SKILL_BASE_DIR']\n\
         for path in ('/data', '/../new'):\n    \
         try:\n        open(base + path, 'w').write('y')\n        print('wrote')\n    \
         except PermissionError:\n        print('held')\n",
    );
    for (script, data) in [("main.sh", "x\n"), ("main.py", "y")] {
        let words = ["run", "own", script, "-w", ".", "--allow", "write:skill"];
        let end = place.end(&words);
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, ("wrote\nheld\n", "", 0), "{script}");
        assert_eq!(place.read("skills/own/data"), data);
        // The twin: without the grant.
        let end = place.end(&words[..5]);
        let held = end.stdout.replace("held\n", "");
        assert_eq!((held.as_str(), end.code), ("", 0), "{script}");
        assert!(!place.path("skills/new").exists());
    }
}

/// A home with everything of ours in it, where it is by default.
fn at_home(way: Way, place: &Place, words: &[&str]) -> End {
    let mut command = way.command(place, words);
    for name in ["XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    place.end_of(&mut command)
}

fn a_home_is_a_workspace_like_any_other() {
    for way in WAYS {
        let place = bash(
            "echo x > made; mkdir .config; echo y > .config/other\n\
             for file in audit.lock audit.head audit.jsonl new; do\n\
             { echo > .local/state/skillrun/$file; } 2>/dev/null && echo WROTE || echo held\ndone\n\
             mv .local away 2>/dev/null && echo MOVED\n\
             [ -z \"$1\" ] || mkdir .config/skillrun; ls -A\n",
        );
        let home = place.text("home");
        let words = ["run", "../skill", "main.sh", "-w", &home];
        let end = at_home(way, &place, &words);
        if way == Way::LandlockAsUser {
            let message = "refused: `scripts/main.sh` cannot be held here: \
                           `{root}/home/.local/state/skillrun` is a protected path inside a directory \
                           that the script may write, and without namespaces it cannot be read-only\n\
                           hint: give the script a folder of its own as its workspace\n";
            assert_eq!((end.stderr.as_str(), end.code), (message, 126));
            continue;
        }
        let held = "held\n".repeat(4);
        let stdout = format!("{held}.cache\n.config\n.local\nmade\n");
        let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(got, (stdout.as_str(), "", 0), "{way:?}");
        assert_eq!(place.read("home/.config/other"), "y\n");
        // What steers the next run is not there after this one.
        let end = at_home(way, &place, &[&words[..], &["--", "plant"]].concat());
        let warning = "warning: `{root}/home/.config/skillrun` is a protected path and appeared during the run; \
                       moved to `{root}/home/.config/skillrun.refused`\n";
        assert!(end.stderr.ends_with(warning), "{way:?}: {}", end.stderr);
        assert_eq!(end.code, 137, "{way:?}");
        assert!(!place.path("home/.config/skillrun").exists());
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

fn a_folder_with_a_protected_file_stays_where_it_is() {
    for exists in [true, false] {
        let place = Place::with_script(MOVE);
        if exists {
            place.write("workspace/a/project/skillrun.toml", "");
        }
        fs::create_dir_all(place.path("workspace/a")).unwrap();
        let run = |protected: &str| {
            let host = Host::new(Settings {
                cache: shared_cache().join("skillrun"),
                audit: AuditLog::file(place.path("state/skillrun/audit.jsonl")),
                approvals: Approvals::file(place.path("state/skillrun/approvals.db")),
                sealed: vec![place.path("workspace").join(protected)],
                slots: None,
            });
            let mut request = Request::typed(&skill(&place), "main.py");
            request.workspace = Some(place.path("workspace"));
            request.args = vec!["a/project".into()];
            let permit = permitted(&host, &Policy::default(), request);
            block_on(host.run(permit)).unwrap().stdout
        };
        let held = "make: None\nrename: PermissionError EPERM\nrename the outer: PermissionError EPERM\n\
                    exchange: PermissionError EPERM\nlink: PermissionError EPERM\nremove: PermissionError EPERM\n\
                    beside: 1\n";
        assert_eq!(run("a/project/skillrun.toml"), held, "{exists}");
        // The twin: the same folder, if something else is protected.
        let moves = "make: None\nrename: None\n";
        let got = run("other/skillrun.toml");
        assert!(got.starts_with(moves), "{exists}: {got}");
        assert!(place.path("workspace/moved").is_dir());
    }
}

/// The wasm tier refuses what the script does, and so has no need to end a run for what others do.
fn a_skill_directory_made_by_another_program_ends_no_wasm_run() {
    let place = Place::with_script(
        "import os, sys\nprint('ready', flush=True)\nsys.stdin.readline()\n\
         try:\n    open('.agents/skills/x', 'w')\nexcept OSError as error:\n    print(type(error).__name__)\n",
    );
    let end = meanwhile(&place, &["-w", "."], || {
        place.write(".agents/skills/deploy/SKILL.md", "");
    });
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(got, ("PermissionError\n", "", 0));
    assert!(place.path(".agents/skills/deploy/SKILL.md").exists());
}
