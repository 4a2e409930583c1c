//! Skills that are links on the search path: no script can replace the target of such a link.

use crate::containment::meanwhile;
use crate::env::TestEnv;
use std::fs;
use std::os::unix::fs::symlink;

tests! {
    a_link_on_the_way_to_a_linked_skill_is_protected,
    the_missing_target_of_a_linked_skill_is_protected,
    a_linked_skill_is_protected_when_the_run_is_started_elsewhere,
    a_link_that_vanishes_leaves_the_skills_of_a_workspace_protected,
    nothing_before_a_parent_directory_in_a_link_is_replaced,
    a_repository_with_thousands_of_links_does_not_use_up_the_time_of_a_script,
    a_workspace_inside_another_skill_is_read_only,
    a_workspace_inside_a_skill_inside_the_running_one_is_read_only,
    a_workspace_with_scripts_of_the_skill_is_refused,
}

/// Replaces each argument by a link to `evil`, a skill with a script that the name would mean in the next run.
const PYTHON: &str = "import errno, os, sys\n\
    for path in sys.argv[1:]:\n\
    \x20   try:\n\
    \x20       os.path.lexists(path) and os.rename(path, path + '.old')\n\
    \x20       os.mkdir(path)\n\
    \x20       print(path, 'done')\n\
    \x20   except OSError as error:\n\
    \x20       print(path, errno.errorcode[error.errno])\n";
const BASH: &str = "for path in \"$@\"; do\n\
    \x20   if [ -L \"$path\" ] && ! mv -T \"$path\" \"$path.old\" 2>/dev/null; then echo \"$path kept\"; continue; fi\n\
    \x20   if mkdir \"$path\" 2>/dev/null; then echo \"$path done\"; else echo \"$path kept\"; fi\n\
    done\n";

fn env() -> TestEnv {
    let env = TestEnv::with_script(PYTHON);
    env.write("skill/scripts/main.sh", BASH);
    fs::create_dir_all(env.path("home/.claude/skills")).unwrap();
    env
}

/// `home/.claude/skills/deploy` leads to `src/deploy` through the link `src/current`.
fn a_link_on_the_way_to_a_linked_skill_is_protected() {
    let env = env();
    env.write("src/v1/deploy/SKILL.md", crate::env::SKILL_MD);
    symlink("v1", env.path("src/current")).unwrap();
    symlink(
        env.path("src/current/deploy"),
        env.path("home/.claude/skills/deploy"),
    )
    .unwrap();
    let end = env.run(&["-w", "src", "--", "current", "free"]);
    assert_eq!(end.stdout, "current EPERM\nfree done\n", "{}", end.stderr);
    fs::remove_dir(env.path("src/free")).unwrap();
    let end = env.end(&[
        "run", "./skill", "main.sh", "-w", "src", "--", "current", "free",
    ]);
    assert_eq!(end.stdout, "current kept\nfree done\n", "{}", end.stderr);
    assert_eq!(
        fs::read_link(env.path("src/current")).unwrap(),
        std::path::Path::new("v1")
    );
}

fn the_missing_target_of_a_linked_skill_is_protected() {
    let env = env();
    fs::create_dir(env.path("src")).unwrap();
    symlink(env.path("src/late"), env.path("home/.claude/skills/late")).unwrap();
    let end = env.run(&["-w", "src", "--", "late", "free"]);
    assert_eq!(end.stdout, "late EPERM\nfree done\n", "{}", end.stderr);
    assert!(!env.path("src/late").exists());
    // Natively the run ends as soon as the path appears, and what appeared is moved aside, also if its name has no room
    // for a suffix.
    let long = "n".repeat(250);
    symlink(
        env.path("src").join(&long),
        env.path("home/.claude/skills/long"),
    )
    .unwrap();
    for (name, aside) in [
        ("late", "src/late.refused".to_owned()),
        (&long, "n.refused".to_owned()),
    ] {
        let end = env.end(&["run", "./skill", "main.sh", "-w", "src", "--", name]);
        assert_ne!(end.code, 0, "{}", end.stdout);
        assert!(!env.path("src").join(name).exists(), "{}", end.stderr);
        assert!(end.stderr.contains(&aside), "{}", end.stderr);
    }
}

fn a_linked_skill_is_protected_when_the_run_is_started_elsewhere() {
    let env = env();
    env.write("project/vendor/x/SKILL.md", crate::env::SKILL_MD);
    fs::create_dir_all(env.path("project/.claude/skills")).unwrap();
    symlink("../../vendor/x", env.path("project/.claude/skills/x")).unwrap();
    let words = ["-w", "project", "--", "vendor/x/scripts", "vendor/free"];
    let end = env.run(&words);
    assert_eq!(
        end.stdout, "vendor/x/scripts EPERM\nvendor/free done\n",
        "{}",
        end.stderr
    );
    fs::remove_dir(env.path("project/vendor/free")).unwrap();
    let end = env.end(&[&["run", "./skill", "main.sh"], &words[..]].concat());
    assert_eq!(
        end.stdout, "vendor/x/scripts kept\nvendor/free done\n",
        "{}",
        end.stderr
    );
}

/// Another run may have made the link: its supervisor removes it, and this run began while it was there.
fn a_link_that_vanishes_leaves_the_skills_of_a_workspace_protected() {
    let env = TestEnv::with_script(
        "import errno, os, sys\nprint('ready', flush=True)\nsys.stdin.readline()\n\
         for path in ('.claude/skills/evil', 'x/skills/evil', '.claude/free', 'x/free'):\n\
         \x20   try:\n\
         \x20       os.makedirs(path)\n\
         \x20       print(path, 'done')\n\
         \x20   except OSError as error:\n\
         \x20       print(path, errno.errorcode[error.errno])\n",
    );
    fs::create_dir_all(env.path("w/x")).unwrap();
    symlink("x", env.path("w/.claude")).unwrap();
    let end = meanwhile(&env, &["-w", "w"], || {
        fs::remove_file(env.path("w/.claude")).unwrap();
    });
    assert_eq!(
        end.stdout,
        ".claude/skills/evil EPERM\nx/skills/evil EPERM\n.claude/free done\nx/free done\n",
        "{}",
        end.stderr
    );
    assert!(!env.path("w/.claude/skills").exists());
}

/// `.claude` leads to `y` through `x/..`: a link in the place of `x` would make it lead elsewhere.
fn nothing_before_a_parent_directory_in_a_link_is_replaced() {
    let env = env();
    for (target, python, bash) in [
        (
            "x/../y",
            "x EPERM\nfree done\n",
            "goes through `{root}/w/x/..`, and the script could replace `{root}/w/x` by a link",
        ),
        ("y", "x done\nfree done\n", ""),
    ] {
        for exists in [false, true] {
            let workspace = env.path("w");
            let _ = fs::remove_dir_all(&workspace);
            fs::create_dir(&workspace).unwrap();
            symlink(target, workspace.join(".claude")).unwrap();
            if exists {
                fs::create_dir(workspace.join("x")).unwrap();
            }
            let end = env.end(&["run", "./skill", "main.sh", "-w", "w", "--", "free"]);
            assert!(end.stderr.contains(bash), "{target}: {}", end.stderr);
            let code = if bash.is_empty() { 0 } else { 126 };
            assert_eq!(end.code, code, "{target}: {}", end.stderr);
            let _ = fs::remove_dir(workspace.join("free"));
            // A new directory is no link: only what exists cannot be replaced.
            let python = match exists {
                true => python,
                false => "x done\nfree done\n",
            };
            let end = env.run(&["-w", "w", "--", "x", "free"]);
            assert_eq!(end.stdout, python, "{target}: {}", end.stderr);
        }
    }
    let link = "import errno, os\ntry:\n    os.symlink('sub', 'x')\n\
                except OSError as error:\n    print(errno.errorcode[error.errno])\n";
    env.write("skill/scripts/link.py", link);
    for (target, printed) in [("x/../y", "EPERM\n"), ("y", "")] {
        let workspace = env.path("v");
        let _ = fs::remove_dir_all(&workspace);
        fs::create_dir(&workspace).unwrap();
        symlink(target, workspace.join(".claude")).unwrap();
        let end = env.end(&["run", "./skill", "link.py", "-w", "v"]);
        assert_eq!(end.stdout, printed, "{target}: {}", end.stderr);
    }
}

/// Each link protects some paths, and each change is compared with all of them.
fn a_repository_with_thousands_of_links_does_not_use_up_the_time_of_a_script() {
    let env = TestEnv::with_script(
        "for number in range(2000):\n    open(str(number), 'w').close()\nprint('done')\n",
    );
    fs::create_dir_all(env.path("work/.claude/skills")).unwrap();
    for number in 0..20_000 {
        let link = env.path(&format!("work/.claude/skills/{number}"));
        symlink(format!("../../src/{number}"), link).unwrap();
    }
    let end = env.run(&["-w", "work"]);
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(got, ("done\n", "", 0));
}

fn a_workspace_inside_another_skill_is_read_only() {
    let env = env();
    env.write("home/.claude/skills/other/SKILL.md", crate::env::SKILL_MD);
    env.write("home/.claude/skills/other/data/file", "");
    env.write("elsewhere/data/file", "");
    for (workspace, python, bash) in [
        ("home/.claude/skills/other", "new EPERM\n", "new kept\n"),
        (
            "home/.claude/skills/other/data",
            "new EPERM\n",
            "new kept\n",
        ),
        ("elsewhere", "new done\n", "new kept\n"),
    ] {
        let end = env.run(&["-w", workspace, "--", "new"]);
        assert_eq!(end.stdout, python, "{workspace}: {}", end.stderr);
        let end = env.end(&["run", "./skill", "main.sh", "-w", workspace, "--", "new"]);
        assert_eq!(end.stdout, bash, "{workspace}: {}", end.stderr);
    }
}

/// A repository may be a skill itself, and have others.
fn a_workspace_inside_a_skill_inside_the_running_one_is_read_only() {
    let env = env();
    env.write("skill/skills/other/SKILL.md", crate::env::SKILL_MD);
    for workspace in ["skills/other/data", "skills/new", "data"] {
        env.write(&format!("skill/{workspace}/file"), "");
    }
    for (workspace, python, bash) in [
        ("skills/other/data", "new EPERM\n", "new kept\n"),
        ("skills/new", "new EPERM\n", "new kept\n"),
        ("data", "new done\n", "new kept\n"),
    ] {
        for (script, tried) in [("main.py", python), ("main.sh", bash)] {
            let mut command = env.command(&["run", ".", script, "-w", workspace, "--", "new"]);
            let end = env.end_of(command.current_dir(env.path("skill")));
            assert_eq!(end.stdout, tried, "{workspace} {script}: {}", end.stderr);
        }
        let is_new = env.path(&format!("skill/{workspace}/new")).exists();
        assert_eq!(is_new, workspace == "data", "{workspace}");
    }
}

fn a_workspace_with_scripts_of_the_skill_is_refused() {
    let env = env();
    env.write("skill/out/file", "");
    let end = env.run(&["-w", "skill/scripts", "--", "new"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            "refused: workspace `skill/scripts` contains scripts of the skill, which is read-only\n\
             hint: use another directory, or pass --allow write:skill\n",
            126
        )
    );
    let end = env.run(&["-w", "skill/out", "--", "new"]);
    assert_eq!(end.stdout, "new done\n", "{}", end.stderr);
}
