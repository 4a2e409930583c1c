//! Which files may say what runs: none that a script, a skill or another user could have written.

use crate::env::{SKILL_MD, TestEnv};
use crate::setup;
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

tests! {
    events_do_not_go_to_files_of_skillrun,
    a_policy_inside_a_skill_is_ignored_and_refused_if_it_is_named,
    a_refused_or_broken_policy_is_recorded,
    a_link_that_replaced_a_granted_directory_grants_nothing,
    a_granted_directory_named_skill_is_not_the_skill_itself,
    answers_and_events_where_scripts_may_write_are_refused,
    an_events_file_behind_a_link_is_not_written,
    answers_and_events_files_must_belong_to_the_user_alone,
    answers_and_events_files_with_a_second_hard_link_are_refused,
    events_in_a_granted_directory_that_is_missing_are_refused,
    a_workspace_inside_the_directories_of_skillrun_is_refused,
    a_grant_of_a_missing_directory_names_the_policy_and_the_line,
    events_go_to_a_descriptor_that_the_caller_opened,
    the_events_file_is_protected_from_later_grants,
    answers_name_the_folder_of_a_skill_and_have_the_right_types,
    a_skill_that_shadows_another_is_reported_by_run_load_and_expand,
}

const READS: &str = "import sys\nprint(open(sys.argv[1]).read())\n";

fn secret() -> TestEnv {
    let env = TestEnv::with_script(READS);
    env.write("secret/file", "secret");
    env
}

fn granting(env: &TestEnv) -> String {
    format!(
        "approval = \"never\"\nallow = [\"read:{}\"]\n",
        env.text("secret")
    )
}

fn a_policy_inside_a_skill_is_ignored_and_refused_if_it_is_named() {
    let env = secret();
    env.write("evil/SKILL.md", SKILL_MD);
    env.write("evil/skillrun.toml", granting(&env));
    env.write("evil/scripts/skillrun.toml", granting(&env));
    env.write("plain/skillrun.toml", granting(&env));
    let file = env.text("secret/file");
    let words = ["run", "../skill", "main.py", "--", &file];
    let from = |folder: &str| {
        let mut command = env.command(&words);
        env.end_of(command.current_dir(env.path(folder)))
    };
    assert_eq!(from("evil").code, 1);
    let named = env.end(&[
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
            .contains("is inside a skill, where no policy is read"),
        "{}",
        named.stderr
    );
    env.trust("plain/skillrun.toml");
    let twin = from("plain");
    assert_eq!((twin.stdout.as_str(), twin.code), ("secret\n", 0));
}

fn a_refused_or_broken_policy_is_recorded() {
    let env = secret();
    env.write("broken.toml", "alow = []\n");
    env.write("workspace/skillrun.toml", "");
    env.write("workspace/policy.toml", "approval = \"never\"\n");
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
        assert_eq!(env.end(words).code, 126, "{words:?}");
    }
    let log = env.audit();
    assert_eq!(log.len(), broken.len());
    for line in log {
        assert_eq!(line["event"], "refused");
        assert!(
            line["reason"].as_str().unwrap().starts_with("policy `"),
            "{line}"
        );
    }
}

fn a_link_that_replaced_a_granted_directory_grants_nothing() {
    let env = secret();
    fs::create_dir(env.path("project")).unwrap();
    let policy = format!(
        "[skill.\"./skill\"]\nallow = [\"write:{}\"]\n",
        env.text("project/out")
    );
    env.write("policy.toml", policy);
    let file = env.text("secret/file");
    let run = || env.run(&["--policy", "policy.toml", "--", &file]);
    symlink(env.path("secret"), env.path("project/out")).unwrap();
    let end = run();
    assert_eq!((end.stdout.as_str(), end.code), ("", 126));
    assert!(
        end.stderr.contains("which the policy does not grant"),
        "{}",
        end.stderr
    );
    // The same with a link further up the path.
    fs::rename(env.path("project"), env.path("moved")).unwrap();
    symlink("moved", env.path("project")).unwrap();
    fs::remove_file(env.path("moved/out")).unwrap();
    fs::create_dir(env.path("moved/out")).unwrap();
    assert_eq!(run().code, 126);
    fs::remove_file(env.path("project")).unwrap();
    fs::rename(env.path("moved"), env.path("project")).unwrap();
    env.write("project/out/file", "granted");
    let file = env.text("project/out/file");
    let twin = env.run(&["--policy", "policy.toml", "--", &file]);
    assert_eq!((twin.stdout.as_str(), twin.code), ("granted\n", 0));
}

fn a_granted_directory_named_skill_is_not_the_skill_itself() {
    let env = TestEnv::with_script("open(__file__ + '.new', 'w')\n");
    env.write("policy/policy.toml", "allow = [\"write:./skill\"]\n");
    fs::create_dir(env.path("policy/skill")).unwrap();
    let end = env.run(&["--policy", "policy/policy.toml"]);
    assert_eq!(end.code, 1);
    assert!(end.stderr.contains("PermissionError"), "{}", end.stderr);
    env.write("policy/policy.toml", "allow = [\"write:skill\"]\n");
    assert_eq!(env.run(&["--policy", "policy/policy.toml"]).code, 0);
}

/// Writes into the file that is its argument.
const WRITES: &str = "import sys\nopen(sys.argv[1], 'w').write('evil')\n";
const YES: &str = r#"[{"skill": "skill", "script": "scripts/main.py", "answer": "yes_once"}]"#;

fn answers_and_events_where_scripts_may_write_are_refused() {
    let env = TestEnv::with_script(WRITES);
    for folder in ["workspace", "skill", "wr", "wr/deep", "other", "elsewhere"] {
        env.write(&format!("{folder}/answers.json"), YES);
    }
    env.write("all.toml", "allow = [\"write:./wr\"]\n");
    env.write(
        "one.toml",
        "[skill.\"./skill\"]\nallow = [\"write:./wr\"]\n",
    );
    env.write("none.toml", "[skill.absent]\nallow = [\"write:./wr\"]\n");
    symlink("wr", env.path("link")).unwrap();
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
            let end = env.end(&[&own, words].concat());
            let message = format!(
                "refused: {what} file `{file}` is inside {why}, so a script could have written it\n\
                 hint: keep it where only you can write\n"
            );
            // The skill itself has another placeholder in the output.
            let message = message.replace("{root}/skill", "{skill}");
            assert_eq!((end.stderr, end.code), (message, 126), "{words:?} {flag}");
            assert!(!env.path("wr/new").exists());
        }
        let file = format!("{file}/answers.json");
        let end = env.end(&[&["load", "./skill", "--answers", &file], words].concat());
        assert_eq!(end.code, 126, "{}", end.stderr);
        assert!(
            end.stderr.contains("so a script could have written it"),
            "{}",
            end.stderr
        );
    }
    let file = env.text("answers.json");
    env.write("answers.json", YES);
    let grant = format!("write:{file}");
    let end = env.end(&[
        "expand",
        "--skill",
        "./skill",
        "--answers",
        "answers.json",
        "--allow",
        &grant,
    ]);
    assert_eq!(end.code, 126, "{}", end.stderr);
    assert_eq!(env.audit().last().unwrap()["event"], "refused");
    // The twins: a file beside the granted directory, and a grant of a skill that does not exist.
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
        env.write("text", "!{scripts/main.py wr/victim}");
        let mut command = env.command(&[&["expand", "--skill", "./skill"], words].concat());
        command.stdin(fs::File::open(env.path("text")).unwrap());
        let end = env.end_of(&mut command);
        assert_eq!(end.code, 0, "{words:?}: {}", end.stderr);
    }
    assert_eq!(env.read("events").lines().count(), 1);
    assert_eq!(env.read("wr/events").lines().count(), 1);
}

fn an_events_file_behind_a_link_is_not_written() {
    let env = TestEnv::with_script("");
    env.write("victim", "before\n");
    env.write("wr/file", "");
    symlink(env.path("victim"), env.path("wr/events")).unwrap();
    symlink("nothing", env.path("wr/dangling")).unwrap();
    symlink("wr", env.path("around")).unwrap();
    let expand = |events: &str| env.end(&["expand", "--skill", "./skill", "--events", events]);
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
            "refused: events file `{events}` {why}\nhint: pass `{target}` if that is the file you mean\n"
        );
        assert_eq!((end.stderr, end.code), (message, 126));
    }
    assert_eq!(env.read("victim"), "before\n");
    assert!(!env.path("wr/nothing").exists());
    assert_eq!(expand("wr/file").code, 0);
}

fn answers_and_events_files_must_belong_to_the_user_alone() {
    let env = TestEnv::with_script("print('it ran')\n");
    env.write("skill/SKILL.md", format!("{SKILL_MD}Run scripts/main.py\n"));
    let answers = env.write("own/answers.json", YES);
    let load = || env.end(&["load", "./skill", "--answers", "own/answers.json"]);
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
        fs::set_permissions(env.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    ran();
    // A file that we create belongs to its user alone, whatever the umask.
    let end = env.end(&["expand", "--skill", "./skill", "--events", "new"]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    let made = env.path("new").metadata().unwrap();
    assert_eq!(made.permissions().mode() & 0o777, 0o600);
    mode("own/answers.json", 0o666);
    is_refused("may be written by other users");
    mode("own/answers.json", 0o600);
    mode("own", 0o777);
    is_refused("is in a directory that other users may write");
    // As in /tmp, where users cannot replace each other's files.
    mode("own", 0o1777);
    ran();
    mode("own", 0o700);
    if geteuid().is_root() {
        // A group with other members; root's own group has none.
        chown(&answers, None, Some(12345)).unwrap();
        mode("own/answers.json", 0o660);
        is_refused("may be written by other users");
        mode("own/answers.json", 0o640);
        ran();
        chown(&answers, Some(12345), None).unwrap();
        is_refused("belongs to another user");
        chown(&answers, Some(0), None).unwrap();
        chown(env.path("own"), Some(12345), None).unwrap();
        is_refused("is in a directory of another user");
        chown(env.path("own"), Some(0), None).unwrap();
        ran();
        // A user may trust root's files like their own, but not those of another user.
        let as_user = |owner: Option<u32>| {
            let words = ["load", "./skill", "--answers", "own/answers.json"];
            let mut command = env.unprivileged_command(&words);
            chown(&answers, owner, None).unwrap();
            env.end_of(&mut command)
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

/// Any process that may write the other name can write the file.
fn answers_and_events_files_with_a_second_hard_link_are_refused() {
    let env = TestEnv::with_script("print('it ran')\n");
    env.write("skill/SKILL.md", format!("{SKILL_MD}Run scripts/main.py\n"));
    env.write("own/answers.json", YES);
    env.write("own/events", "");
    env.write("text", "");
    let words: [&[&str]; 3] = [
        &["load", "./skill", "--answers", "own/answers.json"],
        &[
            "expand",
            "--skill",
            "./skill",
            "--answers",
            "own/answers.json",
        ],
        &["expand", "--skill", "./skill", "--events", "own/events"],
    ];
    for words in words {
        let end = env.end(words);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{words:?}");
        let file = words.last().unwrap();
        fs::hard_link(env.path(file), env.path("second")).unwrap();
        let what = &words[words.len() - 2][2..];
        let why = format!(
            "refused: {what} file `{file}` has more than one hard link\n\
             hint: keep it where only you can write\n"
        );
        let end = env.end(words);
        assert_eq!((end.stderr, end.code), (why, 126), "{words:?}");
        fs::remove_file(env.path("second")).unwrap();
    }
}

fn events_in_a_granted_directory_that_is_missing_are_refused() {
    let env = TestEnv::with_script("");
    env.write("policy.toml", "allow = [\"write:./wr\"]\n");
    for grants in [["--allow", "write:wr"], ["--policy", "policy.toml"]] {
        for file in ["wr", "wr/events", "wr/deep/events", "x/../wr/events"] {
            let own = ["expand", "--skill", "./skill", "--events", file];
            let end = env.end(&[&own[..], &grants].concat());
            let why = format!(
                "refused: events file `{file}` is inside `write:{{root}}/wr`, so a script could have written it\n\
                 hint: keep it where only you can write\n"
            );
            assert_eq!((end.stderr, end.code), (why, 126));
            assert!(!env.path("wr").exists());
        }
    }
    // The twin: beside it.
    let own = ["expand", "--skill", "./skill", "--events", "wrote"];
    let end = env.end(&[&own[..], &["--allow", "write:wr"]].concat());
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    assert!(env.path("wrote").exists());
}

fn a_workspace_inside_the_directories_of_skillrun_is_refused() {
    let env = TestEnv::with_script("print('it ran')\n");
    env.write("skill/SKILL.md", format!("{SKILL_MD}Run scripts/main.py\n"));
    let file = env.copy_cache("cache");
    env.write("state/skillrun/in/file", "");
    env.write("home/.config/skillrun/in/file", "");
    let end = |words: &[&str]| {
        let mut command = env.command(words);
        env.end_of(command.env("XDG_CACHE_HOME", env.path("cache")))
    };
    assert!(file.exists());
    for (folder, own) in [
        ("state/skillrun", "state/skillrun"),
        ("state/skillrun/in", "state/skillrun"),
        ("home/.config/skillrun/in", "home/.config/skillrun"),
        ("cache/skillrun", "cache/skillrun"),
    ] {
        let why = |shown: &str| {
            format!(
                "refused: `{shown}` is inside `{{root}}/{own}`, a protected path\n\
                 hint: choose another directory for the script\n"
            )
        };
        let write = format!("write:{folder}");
        let granted = format!("{{root}}/{folder}");
        for (words, shown) in [
            (&["run", "./skill", "main.py", "-w", folder][..], folder),
            (&["run", "./skill", "main.py", "--allow", &write], &granted),
            (&["load", "./skill", "-y", "-w", folder], folder),
            (&["expand", "--skill", "./skill", "-w", folder], folder),
        ] {
            let end = end(words);
            assert_eq!(
                (end.stdout.as_str(), end.stderr, end.code),
                ("", why(shown), 126),
                "{words:?}"
            );
        }
    }
    // The twin: a workspace around it, where protected paths stay protected.
    let end = end(&["run", "./skill", "main.py", "-w", "state"]);
    assert_eq!((end.stdout.as_str(), end.code), ("it ran\n", 0));
}

fn a_grant_of_a_missing_directory_names_the_policy_and_the_line() {
    let env = TestEnv::with_script("print('it ran')\n");
    env.write(
        "own.toml",
        "# comment\nallow = [\n  \"read:./there\",\n  \"read:./none\",\n]\n",
    );
    fs::create_dir(env.path("there")).unwrap();
    let end = env.run(&["--policy", "own.toml"]);
    let why = "error: `read:{root}/none`, granted in line 4 of `{root}/own.toml`: no such file or directory\n\
               hint: create it, or remove the grant from the policy\n";
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", why, 125)
    );
    // A typed grant names itself.
    let end = env.run(&["--allow", "read:none"]);
    let why = "error: `read:{root}/none`: no such file or directory\n";
    assert_eq!((end.stderr.as_str(), end.code), (why, 125));
    fs::create_dir(env.path("none")).unwrap();
    assert_eq!(env.run(&["--policy", "own.toml"]).stdout, "it ran\n");
}

fn events_go_to_a_descriptor_that_the_caller_opened() {
    let env = TestEnv::with_script("print('it ran')\n");
    env.write("text", "!{scripts/main.py}");
    setup::prepare(env.root(), "fifo fifo\nsocket socket").unwrap();
    // A pipe is used through its descriptor, never through a path that a script could replace.
    for file in ["fifo", "socket", "/dev/zero"] {
        let end = env.end(&["expand", "--skill", "./skill", "--events", file]);
        let message = format!(
            "error: events `{file}`: not a regular file\n\
             hint: name a file, or a descriptor: /dev/stderr, /dev/fd/3\n"
        );
        assert_eq!((end.stderr, end.code), (message, 125));
    }
    // Answers are read, so standard error is not one of the descriptors that would help.
    let end = env.end(&["expand", "--skill", "./skill", "--answers", "fifo"]);
    let message = "error: answers `fifo`: not a regular file\n\
                   hint: name a file, or a descriptor such as /dev/fd/3\n";
    assert_eq!((end.stderr.as_str(), end.code), (message, 125));
    let end = env.end(&["expand", "--skill", "./skill", "--events", "-"]);
    let message = "error: events `-`: `-` is not supported\n\
                   hint: name a file, or a descriptor: /dev/stderr, /dev/fd/3\n";
    assert_eq!((end.stderr.as_str(), end.code), (message, 125));
    let shell = |line: &str| {
        let mut command = env.program("/bin/sh");
        command.args(["-c", line, env!("CARGO_BIN_EXE_skillrun")]);
        env.end_of(&mut command)
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
    // The path that bash passes for `--events >(cat >&2)`.
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
    event(&env.read("events"));
    // A file in a directory that scripts may write is refused, however it was opened.
    env.write("wr/answers.json", YES);
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

fn the_events_file_is_protected_from_later_grants() {
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
    let env = TestEnv::with_script(script);
    env.write("granted/other", "");
    env.write("log/other", "");
    symlink("granted", env.path("wr")).unwrap();
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
    let mut command = env.command(&words);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut send = |folder: &str, lines: usize| {
        writeln!(stdin, "!{{scripts/main.py {}}}", env.text(folder)).unwrap();
        stdin.flush().unwrap();
        let mut printed = String::new();
        for _ in 0..lines {
            stdout.read_line(&mut printed).unwrap();
        }
        printed
    };
    // The twin: a granted file may be changed.
    env.write("granted/events", "");
    assert_eq!(
        send("granted", 4),
        "append done\nreplace done\nremove done\nmake done\n"
    );
    // The link is changed to lead to the directory of the events file while the session is open.
    fs::remove_file(env.path("wr")).unwrap();
    symlink("log", env.path("wr")).unwrap();
    assert_eq!(
        send("log", 4),
        "append Operation not permitted\nreplace Operation not permitted\n\
         remove Operation not permitted\nmake done\n"
    );
    drop(stdin);
    let end = env.end_of_child(child);
    assert_eq!(end.code, 0, "{}", end.stderr);
    assert_eq!(env.read("log/events").lines().count(), 2);
}

fn answers_name_the_folder_of_a_skill_and_have_the_right_types() {
    let env = TestEnv::new();
    env.write(
        "imp/SKILL.md",
        "---\nname: deploy\ndescription: A skill.\n---\nscripts/a.py\n",
    );
    env.write("imp/scripts/a.py", "print('it ran')\n");
    let load = |answers: &str| {
        env.write("answers.json", answers);
        env.end(&["load", "./imp", "--answers", "answers.json"])
    };
    let end = load(r#"[{"skill": "deploy", "script": "scripts/a.py", "answer": "yes_once"}]"#);
    assert_eq!(end.code, 126);
    assert!(!end.stdout.contains("it ran"));
    let end =
        load(r#"[{"skill": "imp", "script": "scripts/a.py", "answer": "yes_once", "sha256": 1}]"#);
    assert_eq!(
        end.stderr,
        "error: answers `answers.json`: answer 1: `sha256` is not a string\n"
    );
    // Which of two equal keys counts would depend on who reads the file.
    let end = load(
        r#"[{"skill": "imp", "script": "scripts/a.py", "answer": "no", "answer": "yes_once"}]"#,
    );
    assert_eq!(
        end.stderr,
        "error: answers `answers.json`: duplicate field `answer` at line 1 column 68\n"
    );
    assert!(!end.stdout.contains("it ran"));
    let end = load(r#"[{"skill": "imp", "script": "scripts/a.py", "answer": "yes_once"}]"#);
    assert!(end.stdout.contains("it ran"), "{}", end.stderr);
}

fn a_skill_that_shadows_another_is_reported_by_run_load_and_expand() {
    let env = TestEnv::new();
    for folder in ["skills/deploy", "home/.claude/skills/deploy"] {
        env.write(
            &format!("{folder}/SKILL.md"),
            "---\nname: deploy\ndescription: A skill.\n---\n",
        );
        env.write(&format!("{folder}/scripts/a.py"), "");
    }
    let commands: [&[&str]; 3] = [
        &["run", "deploy", "a.py"],
        &["load", "deploy"],
        &["expand", "--skill", "deploy"],
    ];
    for words in commands {
        let end = env.end(words);
        let warning =
            "warning: skill `{root}/skills/deploy` shadows `{root}/home/.claude/skills/deploy`\n";
        assert_eq!((end.stderr.as_str(), end.code), (warning, 0), "{words:?}");
    }
}

fn events_do_not_go_to_files_of_skillrun() {
    let env = TestEnv::with_script("print('it ran')\n");
    env.write(
        "home/.config/skillrun/skillrun.toml",
        "approval = \"never\"\n",
    );
    let expand = |events: &str, more: &[&str]| {
        let words = ["expand", "--skill", "./skill", "--events", events];
        let mut command = env.command(&[&words[..], more].concat());
        let text = std::fs::File::open(env.write("text", "!{scripts/main.py}")).unwrap();
        env.end_of(command.stdin(text))
    };
    for (file, own) in [
        ("state/skillrun/audit.jsonl", "state/skillrun"),
        ("state/skillrun/audit.head", "state/skillrun"),
        (
            "home/.config/skillrun/skillrun.toml",
            "home/.config/skillrun",
        ),
    ] {
        // The twin. It also creates the log.
        let end = expand("events.jsonl", &[]);
        assert_eq!(
            (end.stdout.as_str(), end.code),
            ("it ran", 0),
            "{}",
            end.stderr
        );
        let end = expand(file, &[]);
        let why = format!(
            "refused: events file `{file}` is inside `{{root}}/{own}`, a protected path\n\
             hint: choose a file in another directory\n"
        );
        assert_eq!((end.stdout.as_str(), end.stderr, end.code), ("", why, 126));
    }
    // Any policy and any skill, whether this run uses it or not.
    let policy = "approval = \"never\"\n";
    env.write("rules.toml", policy);
    env.write("project/skillrun.toml", policy);
    env.write(
        "other/SKILL.md",
        "---\nname: other\ndescription: Other.\n---\n",
    );
    env.write("other/references/more.md", "more\n");
    let in_use: &[&str] = &["--policy", "rules.toml"];
    for (file, more, why) in [
        ("rules.toml", in_use, "is a policy"),
        ("./rules.toml", in_use, "is a policy"),
        ("project/skillrun.toml", in_use, "is a policy"),
        ("skillrun.toml", in_use, "is a policy"),
        ("new/SKILL.md", in_use, "is the text of a skill"),
        ("other/SKILL.md", in_use, "is the text of a skill"),
        ("other/references/more.md", in_use, "is inside a skill"),
        ("other/new.jsonl", in_use, "is inside a skill"),
    ] {
        fs::create_dir_all(env.path("new")).unwrap();
        let before = fs::read(env.path(file)).ok();
        let end = expand(file, more);
        let why = format!(
            "refused: events file `{file}` {why}\nhint: choose a file in another directory\n"
        );
        assert_eq!((end.stdout.as_str(), end.stderr, end.code), ("", why, 126));
        assert_eq!(fs::read(env.path(file)).ok(), before, "{file}");
    }
    // The same through a descriptor, and the twin: a file that is not the policy in use.
    let line = "exec 3>>other/references/more.md; exec \"$0\" expand --events /dev/fd/3 < text";
    let mut command = env.program("/bin/sh");
    command.args(["-c", line, env!("CARGO_BIN_EXE_skillrun")]);
    let end = env.end_of(&mut command);
    let why = "refused: events file `/dev/fd/3` is inside a skill\n\
               hint: choose a file in another directory\n";
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", why, 126)
    );
    let end = expand("new/events.toml", in_use);
    assert_eq!(
        (end.stdout.as_str(), end.code),
        ("it ran", 0),
        "{}",
        end.stderr
    );
    env.write("answers.json", "[]");
    let end = expand("answers.json", &["--answers", "answers.json"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            "error: --answers and --events name the same file\n",
            125
        )
    );
    assert_eq!(env.read("answers.json"), "[]");
}
