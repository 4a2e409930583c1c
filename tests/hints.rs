//! Suggested commands and lines of a policy contain names that skills and scripts chose. Pasted, each means what it says.

use crate::env::{SKILL_MD, TestEnv};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

tests! {
    a_suggested_run_has_the_words_of_one_command,
    a_suggested_path_is_one_word,
    a_suggested_grant_is_one_string_of_toml,
    a_suggested_folder_is_one_word,
    a_suggested_repair_of_the_approvals_has_one_path,
    a_suggested_trust_has_one_path,
    a_relative_argument_that_names_something_granted_is_shown_with_its_full_path,
}

/// Names that a shell, an option parser or TOML would read as something else.
const HOSTILE: [&str; 14] = [
    "a;touch pwned;",
    "$(touch pwned)",
    "a&touch pwned&",
    "a|touch pwned",
    "a b",
    "it's",
    "'; touch pwned; '",
    "*",
    "~",
    "=ls",
    "!x",
    "--allow=write:",
    "-y",
    "a\", \"write:",
];

/// Names that no command can show, or that shells read in different ways.
const NOT_SHOWN: [&str; 5] = [
    "a`touch pwned`",
    "\\'; touch pwned;'",
    "a\nb",
    "a\u{1b}[2J",
    "a\u{202e}b",
];

/// The hint of a command that failed, with real paths.
fn hint(env: &TestEnv, words: &[&str], variables: &[(&str, String)]) -> String {
    let mut command = env.command(words);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let end = env.end_of(&mut command);
    let (_, hint) = end.stderr.rsplit_once("hint: ").unwrap_or_else(|| {
        panic!("{words:?}: {}", end.stderr);
    });
    let root = env.root().to_str().unwrap();
    hint.trim_end().replace("{root}", root)
}

/// The part of a hint between two texts.
fn between<'a>(hint: &'a str, before: &str, after: &str) -> &'a str {
    let part = hint.strip_prefix(before);
    let part = part.and_then(|part| part.split_once(after));
    part.unwrap_or_else(|| panic!("{hint}")).0
}

/// Asserts that shells read a text as these words.
fn is_words(env: &TestEnv, text: &str, words: &[&str]) {
    for shell in ["bash", "sh"] {
        let end = env.end_of(env.program(shell).args([
            "-c",
            &format!("printed() {{ printf '%s\\n' \"$@\"; }}; printed {text}"),
        ]));
        let root = env.root().to_str().unwrap();
        let printed = end.stdout.replace("{root}", root);
        let printed: Vec<&str> = printed.lines().collect();
        assert_eq!(
            (printed.as_slice(), end.code),
            (words, 0),
            "{shell}: {text}"
        );
        assert!(!env.path("pwned").exists(), "{shell}: {text}");
    }
}

fn a_suggested_run_has_the_words_of_one_command() {
    for name in HOSTILE {
        let env = TestEnv::new();
        let folder = format!("./{name}");
        env.write(&format!("{name}/SKILL.md"), SKILL_MD);
        for file in ["a b.py", "c.py"] {
            env.write(&format!("{name}/{name}/{file}"), "");
        }
        let hint = hint(&env, &["run", &folder], &[]);
        let command = between(&hint, "name one, as in `", "`");
        let script = match name.starts_with('-') {
            true => format!("./{name}/a b.py"),
            false => format!("{name}/a b.py"),
        };
        is_words(&env, command, &["skillrun", "run", &folder, &script]);
    }
    for name in NOT_SHOWN {
        let env = TestEnv::new();
        env.write("skill/SKILL.md", SKILL_MD);
        env.write(&format!("skill/{name}/a.py"), "");
        env.write(&format!("skill/{name}/b.py"), "");
        let hint = hint(&env, &["run", "./skill"], &[]);
        assert_eq!(hint, "name one of them", "{name:?}");
    }
}

fn a_suggested_path_is_one_word() {
    for name in HOSTILE.iter().chain(&NOT_SHOWN) {
        let env = TestEnv::with_script("");
        fs::create_dir(env.path(name)).unwrap();
        env.write(&format!("{name}/file"), "[]");
        symlink(env.path(name), env.path("directory")).unwrap();
        symlink(env.path(name).join("file"), env.path("file")).unwrap();
        let run = ["run", "./skill", "main.py"];
        let (directory, file) = (env.text(name), env.text(&format!("{name}/file")));
        let at_file = format!("@{file}");
        let others = "name its target itself, or pass --follow if the link is yours";
        let cases: [(&[&str], &str, &str, &str, &str); 4] = [
            (
                &["-w", "directory"],
                "name `",
                "` itself",
                &directory,
                others,
            ),
            (
                &["--allow", "read:./directory"],
                "name `",
                "` itself",
                &directory,
                others,
            ),
            (
                &["--input", "@file"],
                "name `",
                "` itself",
                &at_file,
                others,
            ),
            (
                &["--answers", "file"],
                "pass `",
                "` if that is",
                &file,
                "pass the target of the link if that is the file you mean",
            ),
        ];
        for (flags, before, after, word, described) in cases {
            let start: &[&str] = match flags[0] {
                "--answers" => &["load", "./skill"],
                _ => &run,
            };
            let hint = hint(&env, &[start, flags].concat(), &[]);
            match NOT_SHOWN.contains(name) {
                true => assert_eq!(hint, described, "{name:?}"),
                false => is_words(&env, between(&hint, before, after), &[word]),
            }
        }
    }
}

fn a_suggested_grant_is_one_string_of_toml() {
    // A backslash and a backtick are characters like any other in TOML.
    let shown = |name: &str| HOSTILE.contains(&name) || name.contains(['`', '\\']);
    for name in HOSTILE.iter().chain(&NOT_SHOWN) {
        let env = TestEnv::with_script("");
        fs::create_dir(env.path(name)).unwrap();
        symlink(env.path(name), env.path("link")).unwrap();
        env.write("own.toml", "allow = [\"read:./link\"]\n");
        env.write("strict.toml", "enforce = true\n");
        let run = ["run", "./skill", "main.py", "--policy"];
        let real = hint(&env, &[&run[..], &["own.toml"]].concat(), &[]);
        let workspace = ["strict.toml", "--follow", "-w", "link"];
        let workspace = hint(&env, &[&run[..], &workspace].concat(), &[]);
        for (hint, before, word) in [
            (real, "if that is intended, add ", "read"),
            (workspace, "add ", "write"),
        ] {
            let text = between(&hint, before, " to `allow` in ");
            if !shown(name) {
                assert_eq!(text, "this grant", "{name:?}");
                continue;
            }
            env.write("pasted.toml", format!("allow = [{text}]\n"));
            let end = env.end(&["policy", "check", "--json", "pasted.toml"]);
            let checked: Value = serde_json::from_str(&end.stdout).unwrap();
            let grant = format!("{word}:{{root}}/{name}");
            assert_eq!(checked["parts"][0]["grants"], json!([grant]), "{text}");
        }
    }
}

fn a_suggested_folder_is_one_word() {
    let names = HOSTILE.iter().chain(&NOT_SHOWN);
    // A word that begins with `-` is no skill.
    for name in names.filter(|name| !name.starts_with('-')) {
        let env = TestEnv::new();
        env.write(&format!("{name}/SKILL.md"), SKILL_MD);
        env.write(&format!("{name}/main.py"), "");
        let (before, after) = (
            "there is a folder of this name here: write ",
            " to give it ",
        );
        // A name with a backslash is a path.
        if name.contains('\\') {
            continue;
        }
        let hint = hint(&env, &["run", name, "main.py", "-w", "."], &[]);
        match NOT_SHOWN.contains(name) {
            true => assert_eq!(between(&hint, before, after), "its path", "{name:?}"),
            false => {
                let path = between(&hint, before, after).trim_matches('`');
                is_words(&env, path, &[&format!("./{name}")]);
            }
        }
    }
}

fn a_suggested_repair_of_the_approvals_has_one_path() {
    for name in HOSTILE.iter().chain(&NOT_SHOWN) {
        let env = TestEnv::new();
        let file = env.write(
            &format!("{name}/skillrun/approvals.db"),
            "damaged".repeat(99),
        );
        let path = file.to_str().unwrap();
        let state = [("XDG_STATE_HOME", env.text(name))];
        for (mode, before, after, words, described) in [
            (
                0o644,
                "run `",
                "`, then check it with",
                ["chmod", "600", path],
                "make it accessible only to yourself, then check it with",
            ),
            (
                0o600,
                "`",
                "` may recover",
                ["sqlite3", path, ".recover"],
                "the command `.recover` of `sqlite3` may recover",
            ),
        ] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let hint = hint(&env, &["approvals", "list"], &state);
            match NOT_SHOWN.contains(name) {
                true => assert!(hint.starts_with(described), "{name:?}: {hint}"),
                false => is_words(&env, between(&hint, before, after), &words),
            }
        }
    }
}

fn a_suggested_trust_has_one_path() {
    for name in HOSTILE.iter().chain(&NOT_SHOWN) {
        let env = TestEnv::with_script("");
        env.write(&format!("{name}/p.toml"), "");
        let policy = format!("--policy={name}/p.toml");
        let words = ["run", "./skill", "main.py", "-w", ".", &policy];
        let trust = hint(&env, &words, &[]);
        let config = env.write(
            &format!("{name}/skillrun/skillrun.toml"),
            "enforce = true\n",
        );
        fs::set_permissions(&config, Permissions::from_mode(0o666)).unwrap();
        let shared = [("XDG_CONFIG_HOME", env.text(name))];
        let shared = hint(&env, &["run", "./skill", "main.py"], &shared);
        if NOT_SHOWN.contains(name) {
            assert_eq!(trust, "trust it after reading it", "{name:?}");
            let described = "inspect it, then remove the write permission of others";
            assert_eq!(shared, described, "{name:?}");
            continue;
        }
        let path = match name.starts_with('-') {
            true => format!("./{name}/p.toml"),
            false => format!("{name}/p.toml"),
        };
        let command = between(&trust, "run `", "` after reading it");
        is_words(&env, command, &["skillrun", "policy", "trust", &path]);
        let command = between(&shared, "inspect it, then run `", "`");
        let config = config.to_str().unwrap();
        is_words(&env, command, &["chmod", "go-w", config]);
    }
}

fn a_relative_argument_that_names_something_granted_is_shown_with_its_full_path() {
    let script = "import sys\ntry:\n    open(sys.argv[1])\nexcept OSError:\n    sys.exit(1)\n";
    let env = TestEnv::with_script(script);
    env.write("f.txt", "text");
    env.write("dir/a b", "text");
    fs::create_dir(env.path("workspace")).unwrap();
    let hint = |start: &str, typed: &str, full: &str| {
        format!(
            "hint: the script starts in {start}, where `{typed}` is not; pass the full path: {full}\n"
        )
    };
    let skill = "the skill's folder";
    let cases: [(&[&str], String); 3] = [
        (
            &["--allow", "read:f.txt", "--", "f.txt"],
            hint(skill, "f.txt", "{root}/f.txt"),
        ),
        (
            &["--allow", "read:dir", "--", "-x", "dir/a b"],
            hint(skill, "dir/a b", "'{root}/dir/a b'"),
        ),
        (
            &["-w", "workspace", "--allow", "write:f.txt", "--", "f.txt"],
            hint("the workspace", "f.txt", "{root}/f.txt"),
        ),
    ];
    for (words, expected) in cases {
        let end = env.run(words);
        assert_eq!((end.stderr, end.code), (expected, 1), "{words:?}");
    }
    let full = env.path("f.txt").display().to_string();
    let end = env.run(&["--allow", "read:f.txt", "--", &full]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    // What was not granted, and what is where the script starts, needs no other path.
    let others: [&[&str]; 3] = [
        &["--", "f.txt"],
        &["--allow", "read:f.txt", "--", "missing.txt"],
        &["-q", "--allow", "read:f.txt", "--", "f.txt"],
    ];
    for words in others {
        let end = env.run(words);
        assert_eq!((end.stderr.as_str(), end.code), ("", 1), "{words:?}");
    }
}
