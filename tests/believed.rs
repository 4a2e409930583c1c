//! Which files are believed to say what may run: not those that scripts, skills or other users may have written.

use crate::place::{Place, SKILL_MD};
use crate::setup;
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

trials! {
    a_policy_in_any_skill_is_passed_over_and_refused_if_it_is_named,
    a_refused_or_broken_policy_is_on_the_record,
    a_link_in_the_place_of_a_granted_directory_gives_nothing,
    a_granted_folder_called_skill_is_not_the_skills_own,
    answers_and_events_where_scripts_may_write_are_refused,
    events_behind_a_link_are_appended_to_nothing,
    answers_and_events_are_files_of_the_user_alone,
    events_go_to_what_the_caller_opened,
    events_are_protected_whatever_is_granted_later,
    answers_are_for_the_folder_of_a_skill_and_of_the_right_type,
    a_skill_that_hides_another_is_told_of_wherever_it_is_named,
}

const READS: &str = "import sys\nprint(open(sys.argv[1]).read())\n";

fn secret() -> Place {
    let place = Place::with_script(READS);
    place.write("secret/file", "secret");
    place
}

fn granting(place: &Place) -> String {
    format!(
        "approval = \"never\"\nallow = [\"read:{}\"]\n",
        place.text("secret")
    )
}

fn a_policy_in_any_skill_is_passed_over_and_refused_if_it_is_named() {
    let place = secret();
    place.write("evil/SKILL.md", SKILL_MD);
    place.write("evil/skillrun.toml", granting(&place));
    place.write("evil/scripts/skillrun.toml", granting(&place));
    place.write("plain/skillrun.toml", granting(&place));
    let file = place.text("secret/file");
    let words = ["run", "../skill", "main.py", "--", &file];
    let from = |folder: &str| {
        let mut command = place.command(&words);
        place.end_of(command.current_dir(place.path(folder)))
    };
    assert_eq!(from("evil").code, 1);
    let named = place.end(&[
        "run",
        "./skill",
        "main.py",
        "--policy",
        "evil/scripts/skillrun.toml",
    ]);
    assert_eq!(named.code, 126);
    assert!(
        named
            .stderr
            .contains("lies in a skill, which does not say what may run"),
        "{}",
        named.stderr
    );
    place.trust("plain/skillrun.toml");
    let twin = from("plain");
    assert_eq!((twin.stdout.as_str(), twin.code), ("secret\n", 0));
}

fn a_refused_or_broken_policy_is_on_the_record() {
    let place = secret();
    place.write("broken.toml", "alow = []\n");
    place.write("workspace/skillrun.toml", "");
    place.write("workspace/policy.toml", "approval = \"never\"\n");
    let broken: [&[&str]; 4] = [
        &["run", "./skill", "main.py", "--policy", "broken.toml"],
        &["load", "./skill", "--policy", "broken.toml"],
        &["expand", "--skill", "./skill", "--policy", "broken.toml"],
        &[
            "run",
            "./skill",
            "main.py",
            "-w",
            "workspace",
            "--policy",
            "workspace/policy.toml",
        ],
    ];
    for words in broken {
        assert_eq!(place.end(words).code, 126, "{words:?}");
    }
    let log = place.audit();
    assert_eq!(log.len(), broken.len());
    for line in log {
        assert_eq!(line["event"], "refused");
        assert!(
            line["reason"].as_str().unwrap().starts_with("policy `"),
            "{line}"
        );
    }
}

fn a_link_in_the_place_of_a_granted_directory_gives_nothing() {
    let place = secret();
    fs::create_dir(place.path("project")).unwrap();
    let policy = format!(
        "[skill.\"./skill\"]\nallow = [\"write:{}\"]\n",
        place.text("project/out")
    );
    place.write("policy.toml", policy);
    let file = place.text("secret/file");
    let run = || place.run(&["--policy", "policy.toml", "--", &file]);
    symlink(place.path("secret"), place.path("project/out")).unwrap();
    let end = run();
    assert_eq!((end.stdout.as_str(), end.code), ("", 126));
    assert!(
        end.stderr.contains("out of what the policy grants"),
        "{}",
        end.stderr
    );
    // A link further up leads as far.
    fs::rename(place.path("project"), place.path("moved")).unwrap();
    symlink("moved", place.path("project")).unwrap();
    fs::remove_file(place.path("moved/out")).unwrap();
    fs::create_dir(place.path("moved/out")).unwrap();
    assert_eq!(run().code, 126);
    fs::remove_file(place.path("project")).unwrap();
    fs::rename(place.path("moved"), place.path("project")).unwrap();
    place.write("project/out/file", "granted");
    let file = place.text("project/out/file");
    let twin = place.run(&["--policy", "policy.toml", "--", &file]);
    assert_eq!((twin.stdout.as_str(), twin.code), ("granted\n", 0));
}

fn a_granted_folder_called_skill_is_not_the_skills_own() {
    let place = Place::with_script("open(__file__ + '.new', 'w')\n");
    place.write("policy/policy.toml", "allow = [\"write:./skill\"]\n");
    fs::create_dir(place.path("policy/skill")).unwrap();
    let end = place.run(&["--policy", "policy/policy.toml"]);
    assert_eq!(end.code, 1);
    assert!(end.stderr.contains("PermissionError"), "{}", end.stderr);
    place.write("policy/policy.toml", "allow = [\"write:skill\"]\n");
    assert_eq!(place.run(&["--policy", "policy/policy.toml"]).code, 0);
}

/// Writes into the file that it is given.
const WRITES: &str = "import sys\nopen(sys.argv[1], 'w').write('evil')\n";
const YES: &str = r#"[{"skill": "skill", "script": "scripts/main.py", "answer": "yes_once"}]"#;

fn answers_and_events_where_scripts_may_write_are_refused() {
    let place = Place::with_script(WRITES);
    for folder in ["workspace", "skill", "wr", "wr/deep", "other", "elsewhere"] {
        place.write(&format!("{folder}/answers.json"), YES);
    }
    place.write("all.toml", "allow = [\"write:./wr\"]\n");
    place.write(
        "one.toml",
        "[skill.\"./skill\"]\nallow = [\"write:./wr\"]\n",
    );
    place.write("none.toml", "[skill.absent]\nallow = [\"write:./wr\"]\n");
    symlink("wr", place.path("link")).unwrap();
    for (words, file, why) in [
        (&["-w", "workspace"][..], "workspace", "the workspace"),
        (&["-w", "workspace"], "skill", "the skill"),
        (&["--allow", "write:skill"], "skill", "the skill"),
        (&["--allow", "write:wr"], "wr", "`write:{root}/wr`"),
        (&["--allow", "write:wr"], "wr/deep", "`write:{root}/wr`"),
        (&["--allow", "write:wr"], "wr/../wr", "`write:{root}/wr`"),
        (
            &["--allow", "write:link", "--follow"],
            "wr",
            "`write:{root}/link`",
        ),
        (&["--policy", "all.toml"], "wr", "`write:{root}/wr`"),
        (&["--policy", "one.toml"], "wr", "`write:{root}/wr`"),
    ] {
        for (flag, what, name) in [
            ("--answers", "answers", "answers.json"),
            ("--events", "events", "answers.json"),
            ("--events", "events", "new"),
        ] {
            let file = format!("{file}/{name}");
            let own = ["expand", "--skill", "./skill", flag, &file];
            let end = place.end(&[&own, words].concat());
            let message = format!(
                "refused: {what} file `{file}` is inside {why}, so a script could have written it\n\
                 hint: keep it where only you can write\n"
            );
            // The skill's own folder has a name of its own in what is compared.
            let message = message.replace("{root}/skill", "{skill}");
            assert_eq!((end.stderr, end.code), (message, 126), "{words:?} {flag}");
            assert!(!place.path("wr/new").exists());
        }
        let file = format!("{file}/answers.json");
        let end = place.end(&[&["load", "./skill", "--answers", &file], words].concat());
        assert_eq!(end.code, 126, "{}", end.stderr);
        assert!(
            end.stderr.contains("so a script could have written it"),
            "{}",
            end.stderr
        );
    }
    let file = place.text("answers.json");
    place.write("answers.json", YES);
    let grant = format!("write:{file}");
    let end = place.end(&[
        "expand",
        "--skill",
        "./skill",
        "--answers",
        "answers.json",
        "--allow",
        &grant,
    ]);
    assert_eq!(end.code, 126, "{}", end.stderr);
    assert_eq!(place.audit().last().unwrap()["event"], "refused");
    // The twins: a neighbour of what is granted, and a grant of a skill that is not there.
    for words in [
        &[
            "--answers",
            "elsewhere/answers.json",
            "--events",
            "events",
            "--allow",
            "write:wr",
        ][..],
        &[
            "--answers",
            "wr/answers.json",
            "--events",
            "wr/events",
            "--policy",
            "none.toml",
        ],
    ] {
        place.write("text", "!{scripts/main.py wr/victim}");
        let mut command = place.command(&[&["expand", "--skill", "./skill"], words].concat());
        command.stdin(fs::File::open(place.path("text")).unwrap());
        let end = place.end_of(&mut command);
        assert_eq!(end.code, 0, "{words:?}: {}", end.stderr);
    }
    assert_eq!(place.read("events").lines().count(), 1);
    assert_eq!(place.read("wr/events").lines().count(), 1);
}

fn events_behind_a_link_are_appended_to_nothing() {
    let place = Place::with_script("");
    place.write("victim", "before\n");
    place.write("wr/file", "");
    symlink(place.path("victim"), place.path("wr/events")).unwrap();
    symlink("nothing", place.path("wr/dangling")).unwrap();
    symlink("wr", place.path("around")).unwrap();
    let expand = |events: &str| place.end(&["expand", "--skill", "./skill", "--events", events]);
    for (events, why, target) in [
        (
            "wr/events",
            "is a symbolic link to `{root}/victim` that a script could have made",
            "{root}/victim",
        ),
        (
            "wr/dangling",
            "is a symbolic link to `{root}/wr/nothing` that a script could have made",
            "{root}/wr/nothing",
        ),
        (
            "around/file",
            "leads to `{root}/wr/file` through the symbolic link `{root}/around`, which a script could \
             have made",
            "{root}/wr/file",
        ),
    ] {
        let end = expand(events);
        let message = format!(
            "refused: events file `{events}` {why}\nhint: pass `{target}` itself if that is meant\n"
        );
        assert_eq!((end.stderr, end.code), (message, 126));
    }
    assert_eq!(place.read("victim"), "before\n");
    assert!(!place.path("wr/nothing").exists());
    assert_eq!(expand("wr/file").code, 0);
}

fn answers_and_events_are_files_of_the_user_alone() {
    let place = Place::with_script("print('it ran')\n");
    place.write("skill/SKILL.md", format!("{SKILL_MD}Run scripts/main.py\n"));
    let answers = place.write("own/answers.json", YES);
    let load = || place.end(&["load", "./skill", "--answers", "own/answers.json"]);
    let is_refused = |why: &str| {
        let end = load();
        let message = format!(
            "refused: answers file `own/answers.json` {why}\nhint: keep it where only you can write\n"
        );
        assert_eq!(
            (end.stdout, end.stderr, end.code),
            (String::new(), message, 126)
        );
    };
    let ran = || {
        let end = load();
        assert!(end.stdout.contains("it ran"), "{}", end.stderr);
    };
    let mode = |path: &str, mode| {
        fs::set_permissions(place.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    ran();
    // A file that is made is its user's alone, whatever the umask.
    let end = place.end(&["expand", "--skill", "./skill", "--events", "new"]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    let made = place.path("new").metadata().unwrap();
    assert_eq!(made.permissions().mode() & 0o777, 0o600);
    mode("own/answers.json", 0o666);
    is_refused("may be written by other users");
    mode("own/answers.json", 0o600);
    mode("own", 0o777);
    is_refused("is in a directory that other users may write");
    // As in /tmp, where nobody can replace the files of others.
    mode("own", 0o1777);
    ran();
    mode("own", 0o700);
    if geteuid().is_root() {
        // A group of others; root's own has nobody else in it.
        chown(&answers, None, Some(12345)).unwrap();
        mode("own/answers.json", 0o660);
        is_refused("may be written by other users");
        mode("own/answers.json", 0o640);
        ran();
        chown(&answers, Some(12345), None).unwrap();
        is_refused("belongs to another user");
        chown(&answers, Some(0), None).unwrap();
        chown(place.path("own"), Some(12345), None).unwrap();
        is_refused("is in a directory of another user");
        chown(place.path("own"), Some(0), None).unwrap();
        ran();
        // For a user, root's are as good as his own; another user's are not.
        let as_user = |owner: Option<u32>| {
            let words = ["load", "./skill", "--answers", "own/answers.json"];
            let mut command = place.unprivileged_command(&words);
            chown(&answers, owner, None).unwrap();
            place.end_of(&mut command)
        };
        mode("own", 0o755);
        mode("own/answers.json", 0o644);
        for owner in [None, Some(0)] {
            let end = as_user(owner);
            assert!(end.stdout.contains("it ran"), "{}", end.stderr);
        }
        let end = as_user(Some(12345));
        assert!(
            end.stderr.contains("belongs to another user"),
            "{}",
            end.stderr
        );
    }
}

fn events_go_to_what_the_caller_opened() {
    let place = Place::with_script("print('it ran')\n");
    place.write("text", "!{scripts/main.py}");
    setup::prepare(place.root(), "fifo fifo\nsocket socket").unwrap();
    // A pipe is used through a descriptor, and by no name that a script could give it.
    for file in ["fifo", "socket", "/dev/zero"] {
        let end = place.end(&["expand", "--skill", "./skill", "--events", file]);
        let message = format!(
            "error: events `{file}`: is not a regular file\n\
             hint: name a file, or a descriptor: /dev/stderr, /dev/fd/3\n"
        );
        assert_eq!((end.stderr, end.code), (message, 125));
    }
    let end = place.end(&["expand", "--skill", "./skill", "--events", "-"]);
    let message = "error: events `-`: does not name a stream here\n\
                   hint: name a file, or a descriptor: /dev/stderr, /dev/fd/3\n";
    assert_eq!((end.stderr.as_str(), end.code), (message, 125));
    let shell = |line: &str| {
        let mut command = place.program("/bin/sh");
        command.args(["-c", line, env!("CARGO_BIN_EXE_skillrun")]);
        place.end_of(&mut command)
    };
    let expand = "\"$0\" expand --skill ./skill -y <text --events";
    let event = |text: &str| {
        let event: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(event["stdout"], "it ran\n", "{text}");
    };
    let end = shell(&format!("{expand} /dev/null"));
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("it ran", "", 0)
    );
    let end = shell(&format!("{expand} /dev/stderr"));
    assert_eq!((end.stdout.as_str(), end.code), ("it ran", 0));
    event(&end.stderr);
    // As bash has it for `--events >(cat >&2)`.
    let end = shell(&format!(
        "{{ {expand} /dev/fd/3 3>&1 >&4 | cat >&2; }} 4>&1"
    ));
    assert_eq!((end.stdout.as_str(), end.code), ("it ran", 0));
    event(&end.stderr);
    let end = shell(&format!("{expand} /dev/fd/3 3>>events"));
    assert_eq!(
        (end.stdout.as_str(), end.code),
        ("it ran", 0),
        "{}",
        end.stderr
    );
    event(&place.read("events"));
    // A file in a directory that is given to scripts is none, however it was opened.
    place.write("wr/answers.json", YES);
    let end = shell(
        "\"$0\" expand --skill ./skill --allow write:wr --answers /dev/fd/3 3<wr/answers.json",
    );
    let message = "refused: answers file `/dev/fd/3` is inside `write:{root}/wr`, so a script could have \
                   written it\nhint: keep it where only you can write\n";
    assert_eq!((end.stderr.as_str(), end.code), (message, 126));
    let end = shell("\"$0\" expand --skill ./skill --answers /dev/fd/3 3<wr/answers.json <text");
    assert_eq!(
        (end.stdout.as_str(), end.code),
        ("it ran", 0),
        "{}",
        end.stderr
    );
}

fn events_are_protected_whatever_is_granted_later() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let script = "import os, sys\n\
        def attempt(name, act):\n    \
            try: act(); print(name, 'done')\n    \
            except OSError as error: print(name, error.strerror)\n\
        here = sys.argv[1]\n\
        attempt('append', lambda: open(here + '/events', 'a'))\n\
        attempt('replace', lambda: os.rename(here + '/other', here + '/events'))\n\
        attempt('remove', lambda: os.remove(here + '/events'))\n\
        attempt('make', lambda: open(here + '/new', 'w'))\n";
    let place = Place::with_script(script);
    place.write("granted/other", "");
    place.write("log/other", "");
    symlink("granted", place.path("wr")).unwrap();
    let words = [
        "expand",
        "--skill",
        "./skill",
        "-y",
        "--events",
        "log/events",
        "--allow",
        "write:wr",
        "--follow",
    ];
    let mut command = place.command(&words);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut say = |folder: &str, lines: usize| {
        writeln!(stdin, "!{{scripts/main.py {}}}", place.text(folder)).unwrap();
        stdin.flush().unwrap();
        let mut told = String::new();
        for _ in 0..lines {
            stdout.read_line(&mut told).unwrap();
        }
        told
    };
    // The twin: what is granted may be changed.
    place.write("granted/events", "");
    assert_eq!(
        say("granted", 4),
        "append done\nreplace done\nremove done\nmake done\n"
    );
    // Somebody has the link lead to the directory of the events while the session is open.
    fs::remove_file(place.path("wr")).unwrap();
    symlink("log", place.path("wr")).unwrap();
    assert_eq!(
        say("log", 4),
        "append Operation not permitted\nreplace Operation not permitted\n\
         remove Operation not permitted\nmake done\n"
    );
    drop(stdin);
    let end = place.end_of_child(child);
    assert_eq!(end.code, 0, "{}", end.stderr);
    assert_eq!(place.read("log/events").lines().count(), 2);
}

fn answers_are_for_the_folder_of_a_skill_and_of_the_right_type() {
    let place = Place::new();
    place.write(
        "imp/SKILL.md",
        "---\nname: deploy\ndescription: A skill.\n---\nscripts/a.py\n",
    );
    place.write("imp/scripts/a.py", "print('it ran')\n");
    let load = |answers: &str| {
        place.write("answers.json", answers);
        place.end(&["load", "./imp", "--answers", "answers.json"])
    };
    let end = load(r#"[{"skill": "deploy", "script": "scripts/a.py", "answer": "yes_once"}]"#);
    assert_eq!(end.code, 126);
    assert!(!end.stdout.contains("it ran"));
    let end =
        load(r#"[{"skill": "imp", "script": "scripts/a.py", "answer": "yes_once", "sha256": 1}]"#);
    assert_eq!(
        end.stderr,
        "error: answers `answers.json`: answer 1: `sha256` is not a text\n"
    );
    let end = load(r#"[{"skill": "imp", "script": "scripts/a.py", "answer": "yes_once"}]"#);
    assert!(end.stdout.contains("it ran"), "{}", end.stderr);
}

fn a_skill_that_hides_another_is_told_of_wherever_it_is_named() {
    let place = Place::new();
    for folder in ["skills/deploy", "home/.claude/skills/deploy"] {
        place.write(
            &format!("{folder}/SKILL.md"),
            "---\nname: deploy\ndescription: A skill.\n---\n",
        );
        place.write(&format!("{folder}/scripts/a.py"), "");
    }
    let commands: [&[&str]; 3] = [
        &["run", "deploy", "a.py"],
        &["load", "deploy"],
        &["expand", "--skill", "deploy"],
    ];
    for words in commands {
        let end = place.end(words);
        let hides =
            "warning: skill `{root}/skills/deploy` hides `{root}/home/.claude/skills/deploy`\n";
        assert_eq!((end.stderr.as_str(), end.code), (hides, 0), "{words:?}");
    }
}
