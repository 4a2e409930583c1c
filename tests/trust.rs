//! The policy of a directory applies only in the form that a person has trusted.

use crate::env::{End, SKILL_MD, TestEnv};
use crate::setup;
use crate::terminal::at_terminal;
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};

tests! {
    a_policy_of_a_directory_applies_only_once_it_is_trusted,
    a_policy_that_a_script_wrote_does_not_apply,
    a_changed_policy_is_refused_until_it_is_trusted_again,
    trust_is_for_one_path,
    a_skill_md_placed_beside_a_policy_does_not_disable_it,
    an_empty_policy_needs_no_trust,
    an_emptied_policy_applies_once_it_is_trusted_again,
    a_named_policy_inside_a_typed_grant_needs_trust,
    a_home_policy_of_a_private_group_is_accepted,
    a_directory_of_skillrun_that_other_users_may_write_is_refused,
    policy_commands_exit_with_the_same_code_for_the_same_error,
    a_named_policy_needs_no_trust_outside_the_workspace,
    a_trusted_policy_in_the_workspace_applies_and_is_protected,
    files_that_are_not_valid_policies_cannot_be_trusted,
    policy_trust_shows_the_policy_at_a_terminal_and_asks,
    no_text_of_a_policy_looks_like_a_row_of_the_question,
    a_policy_that_is_a_link_is_refused_with_what_would_help,
    a_damaged_record_is_refused_with_what_would_help,
    a_trust_store_that_other_users_may_write_is_refused,
    a_trust_record_that_others_could_have_written_is_refused,
    trust_can_be_listed_and_revoked,
    a_home_policy_that_other_users_may_write_is_refused,
    policy_check_prints_what_a_policy_means_or_its_error,
}

const SHOWS: &str = "import os\nprint(os.environ.get('SKILLRUN_TEST_SECRET'))\n";
const POLICY: &str = "allow = [\"env:SKILLRUN_TEST_SECRET\"]\n";
const UNTRUSTED: &str = "refused: policy `skillrun.toml` is not trusted\n\
    hint: run `skillrun policy trust` after reading it\n";

fn env() -> TestEnv {
    let env = TestEnv::with_script(SHOWS);
    env.write("skillrun.toml", POLICY);
    env
}

fn is(end: &End, stdout: &str, stderr: &str, code: i32) {
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (stdout, stderr, code)
    );
}

fn mode(env: &TestEnv, path: &str, mode: u32) {
    fs::set_permissions(env.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

fn a_policy_of_a_directory_applies_only_once_it_is_trusted() {
    let env = env();
    // Refused, not ignored: it may contain restrictions that a user relies on.
    env.write("home/.config/skillrun/skillrun.toml", POLICY);
    let commands: [&[&str]; 3] = [
        &["run", "./skill", "main.py"],
        &["load", "./skill"],
        &["expand", "--skill", "./skill"],
    ];
    for words in commands {
        is(&env.end(words), "", UNTRUSTED, 126);
    }
    let log = env.audit();
    assert_eq!(log.len(), commands.len());
    for line in log {
        assert_eq!(line["event"], "refused");
        assert_eq!(line["reason"], "policy `skillrun.toml` is not trusted");
    }
    is(
        &env.end(&["policy", "trust", "-y"]),
        "trusted {root}/skillrun.toml\n",
        "",
        0,
    );
    is(&env.run(&[]), "leaked\n", "", 0);
}

fn a_policy_that_a_script_wrote_does_not_apply() {
    let env = TestEnv::with_script(
        "import sys\nopen('skillrun.toml', 'w').write(sys.argv[1])\nprint('written')\n",
    );
    env.write("project/notes", "");
    env.write("secret/SKILL.md", SKILL_MD);
    env.write("secret/scripts/main.py", SHOWS);
    // The wasm tier lets the script write it: the name is not special there.
    let evil = format!("approval = \"never\"\n{POLICY}");
    let end = env.run(&["-w", "project", "--", &evil]);
    is(&end, "written\n", "", 0);
    assert_eq!(env.read("project/skillrun.toml"), evil);
    let mut load = env.command(&["load", "../secret"]);
    is(
        &env.end_of(load.current_dir(env.path("project"))),
        "",
        UNTRUSTED,
        126,
    );
}

fn a_changed_policy_is_refused_until_it_is_trusted_again() {
    let env = env();
    env.trust("skillrun.toml");
    is(&env.run(&[]), "leaked\n", "", 0);
    env.write("skillrun.toml", format!("{POLICY}# more\n"));
    let changed = UNTRUSTED.replace("is not trusted", "changed after it was trusted");
    is(&env.run(&[]), "", &changed, 126);
    env.trust("skillrun.toml");
    is(&env.run(&[]), "leaked\n", "", 0);
    // The version that was trusted before is no longer trusted.
    env.write("skillrun.toml", POLICY);
    is(&env.run(&[]), "", &changed, 126);
}

fn trust_is_for_one_path() {
    let env = env();
    env.trust("skillrun.toml");
    env.write("clone/skillrun.toml", POLICY);
    let from = |folder: &str| {
        let mut command = env.command(&["run", "../skill", "main.py"]);
        env.end_of(command.current_dir(env.path(folder)))
    };
    is(&from("clone"), "", UNTRUSTED, 126);
    // A directory is the same one by every path.
    std::os::unix::fs::symlink("clone", env.path("link")).unwrap();
    env.trust("link/skillrun.toml");
    is(&from("clone"), "leaked\n", "", 0);
}

fn a_skill_md_placed_beside_a_policy_does_not_disable_it() {
    let env = TestEnv::with_script(SHOWS);
    env.write("project/skillrun.toml", "interpreters = [\"bash\"]\n");
    let from = || {
        let mut command = env.command(&["run", "../skill", "main.py"]);
        env.end_of(command.current_dir(env.path("project")))
    };
    // An untrusted one belongs to a skill and is ignored.
    env.write("project/SKILL.md", SKILL_MD);
    is(&from(), "None\n", "", 0);
    fs::remove_file(env.path("project/SKILL.md")).unwrap();
    env.trust("project/skillrun.toml");
    assert!(
        from()
            .stderr
            .starts_with("refused: interpreter `python3` is not allowed")
    );
    env.write("project/SKILL.md", SKILL_MD);
    is(
        &from(),
        "",
        "refused: policy `skillrun.toml` is inside a skill, where no policy is read\n\
         hint: move it elsewhere, or remove `{root}/project/SKILL.md` if that is no skill\n",
        126,
    );
    // The same for the user's policy.
    let env = TestEnv::with_script(SHOWS);
    env.write(
        "home/.config/skillrun/skillrun.toml",
        "interpreters = [\"bash\"]\n",
    );
    env.write("home/SKILL.md", SKILL_MD);
    is(
        &env.run(&[]),
        "",
        "refused: policy `{root}/home/.config/skillrun/skillrun.toml` is inside a skill, where no policy is read\n\
         hint: move it elsewhere, or remove `{root}/home/SKILL.md` if that is no skill\n",
        126,
    );
}

fn an_empty_policy_needs_no_trust() {
    let env = TestEnv::with_script(SHOWS);
    env.write("skillrun.toml", "");
    is(&env.run(&[]), "None\n", "", 0);
    // It is empty, so the user's policy applies.
    env.write("home/.config/skillrun/skillrun.toml", POLICY);
    is(&env.run(&[]), "leaked\n", "", 0);
    // A file with a comment is not empty: a person must read it.
    env.write("skillrun.toml", "#\n");
    is(&env.run(&[]), "", UNTRUSTED, 126);
}

fn an_emptied_policy_applies_once_it_is_trusted_again() {
    let env = env();
    env.write("home/.config/skillrun/skillrun.toml", POLICY);
    env.write("skillrun.toml", "interpreters = [\"python3\"]\n");
    env.trust("skillrun.toml");
    is(&env.run(&[]), "None\n", "", 0);
    // Emptying it is a change like any other.
    env.write("skillrun.toml", "");
    let changed = UNTRUSTED.replace("is not trusted", "changed after it was trusted");
    is(&env.run(&[]), "", &changed, 126);
    // Trusted, it grants nothing, whatever the user's policy grants.
    env.trust("skillrun.toml");
    is(&env.run(&[]), "None\n", "", 0);
    // The twin: without it, the user's policy applies.
    fs::remove_file(env.path("skillrun.toml")).unwrap();
    is(&env.run(&[]), "leaked\n", "", 0);
}

fn a_named_policy_inside_a_typed_grant_needs_trust() {
    let env = TestEnv::with_script(SHOWS);
    env.write("wr/own.toml", POLICY);
    let words = ["--policy", "wr/own.toml", "--allow", "write:wr"];
    let why = "refused: policy `wr/own.toml` is inside the workspace and not trusted\n\
               hint: run `skillrun policy trust wr/own.toml` after reading it\n";
    is(&env.run(&words), "", why, 126);
    for command in [["load", "./skill"], ["expand", "--skill=./skill"]] {
        is(&env.end(&[&command[..], &words].concat()), "", why, 126);
    }
    // The twins: outside the grant it is the person's own choice, and inside it may be trusted.
    is(&env.run(&words[..2]), "leaked\n", "", 0);
    env.trust("wr/own.toml");
    is(&env.run(&words), "leaked\n", "", 0);
}

/// Where each user has a private group, files are group-writable by default (umask 002).
fn a_home_policy_of_a_private_group_is_accepted() {
    if !geteuid().is_root() {
        return;
    }
    let env = TestEnv::with_script(SHOWS);
    let policy = "home/.config/skillrun/skillrun.toml";
    env.write(policy, POLICY);
    let all = [
        (policy, 0o664),
        ("home/.config/skillrun", 0o775),
        ("home/.config", 0o775),
        ("home", 0o775),
    ];
    for (path, bits) in all {
        mode(&env, path, bits);
    }
    is(&env.run(&[]), "leaked\n", "", 0);
    // The twin: a group with other members.
    chown(env.path(policy), None, Some(12345)).unwrap();
    let why = format!(
        "refused: policy `{{root}}/{policy}` may be written by other users\n\
         hint: inspect it, then run `chmod go-w {{root}}/{policy}`\n"
    );
    is(&env.run(&[]), "", &why, 126);
}

fn a_directory_of_skillrun_that_other_users_may_write_is_refused() {
    for folder in ["state/skillrun", "home/.config/skillrun"] {
        let env = TestEnv::with_script(SHOWS);
        env.write(&format!("{folder}/other"), "");
        let words: [&[&str]; 3] = [
            &["run", "./skill", "main.py"],
            &["load", "./skill", "-y"],
            &["expand", "--skill", "./skill"],
        ];
        for bits in [0o777, 0o1777] {
            mode(&env, folder, bits);
            let why = format!(
                "refused: skillrun's directory `{{root}}/{folder}` may be written by other users\n\
                 hint: inspect it, then run `chmod go-w {{root}}/{folder}`\n"
            );
            for words in words {
                is(&env.end(words), "", &why, 126);
            }
        }
        mode(&env, folder, 0o755);
        is(&env.run(&[]), "None\n", "", 0);
        if geteuid().is_root() {
            chown(env.path(folder), Some(12345), None).unwrap();
            let why = format!(
                "refused: skillrun's directory `{{root}}/{folder}` belongs to another user\n\
                 hint: set XDG_STATE_HOME or XDG_CONFIG_HOME to another directory\n"
            );
            is(&env.run(&[]), "", &why, 126);
        }
    }
}

fn policy_commands_exit_with_the_same_code_for_the_same_error() {
    let env = TestEnv::new();
    env.write("wrong.toml", "alow = []\n");
    env.write("good.toml", "");
    env.write("in/SKILL.md", SKILL_MD);
    env.write("in/skillrun.toml", "");
    fs::create_dir(env.path("dir.toml")).unwrap();
    for (words, code) in [
        (&["check", "none.toml"][..], 127),
        (&["trust", "-y", "none.toml"], 127),
        (&["untrust", "none.toml"], 127),
        (&["untrust", "good.toml"], 127),
        (&["check", "wrong.toml"], 1),
        (&["trust", "-y", "wrong.toml"], 1),
        (&["check", "dir.toml"], 125),
        (&["trust", "-y", "dir.toml"], 125),
        (&["trust", "good.toml"], 126),
        (&["trust", "-y", "in/skillrun.toml"], 126),
        (&["check", "good.toml"], 0),
        (&["trust", "-y", "good.toml"], 0),
        (&["list"], 0),
    ] {
        let text = env.end(&[&["policy"], words].concat());
        assert_eq!(text.code, code, "{words:?}: {}", text.stderr);
        assert_eq!(
            text.stderr.is_empty(),
            code == 0,
            "{words:?}: {}",
            text.stderr
        );
        // The same as JSON, in one object.
        let end = env.end(&[&["policy"], words, &["--json"]].concat());
        assert_eq!((end.stderr.as_str(), end.code), ("", code), "{words:?}");
        let object: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
        match code {
            0 => assert!(object.get("error").is_none(), "{object}"),
            _ => assert_eq!(object["exit_code"], code, "{object}"),
        }
    }
    assert_eq!(env.end(&["policy", "untrust", "good.toml"]).code, 0);
}

fn a_named_policy_needs_no_trust_outside_the_workspace() {
    let env = env();
    is(&env.run(&["--policy", "skillrun.toml"]), "leaked\n", "", 0);
    env.write("workspace/own.toml", POLICY);
    let named = ["--policy", "workspace/own.toml", "-w", "workspace"];
    is(
        &env.run(&named),
        "",
        "refused: policy `workspace/own.toml` is inside the workspace and not trusted\n\
         hint: run `skillrun policy trust workspace/own.toml` after reading it\n",
        126,
    );
    is(&env.run(&named[..2]), "leaked\n", "", 0);
}

fn a_trusted_policy_in_the_workspace_applies_and_is_protected() {
    let env = TestEnv::with_script(
        "import errno, os\nprint(os.environ.get('SKILLRUN_TEST_SECRET'))\n\
         for name in 'skillrun.toml', 'other.toml':\n\
         \x20   for what, do in (\n\
         \x20       ('write', lambda: open(name, 'w')),\n\
         \x20       ('replace', lambda: (open('new', 'w'), os.rename('new', name))),\n\
         \x20       ('remove', lambda: os.remove(name)),\n\
         \x20   ):\n\
         \x20       try:\n\
         \x20           do()\n\
         \x20           print(what, name, 'done')\n\
         \x20       except OSError as error:\n\
         \x20           print(what, name, errno.errorcode[error.errno])\n",
    );
    env.write("project/skillrun.toml", POLICY);
    let from = |words: &[&str]| {
        let start = ["run", "../skill", "main.py"];
        let mut command = env.command(&[&start[..], words].concat());
        env.end_of(command.current_dir(env.path("project")))
    };
    is(
        &from(&["-w", "."]),
        "",
        "refused: policy `skillrun.toml` is inside the workspace and not trusted\n\
         hint: run `skillrun policy trust` after reading it\n",
        126,
    );
    env.trust("project/skillrun.toml");
    let tried = "leaked\nwrite skillrun.toml EPERM\nreplace skillrun.toml EPERM\nremove skillrun.toml EPERM\n\
                 write other.toml done\nreplace other.toml done\nremove other.toml done\n";
    is(&from(&["-w", "."]), tried, "", 0);
    assert_eq!(env.read("project/skillrun.toml"), POLICY);
    // Also in runs to which it does not apply.
    let end = env.run(&["-w", "project"]);
    is(&end, &tried.replace("leaked", "None"), "", 0);
    assert_eq!(env.read("project/skillrun.toml"), POLICY);
}

fn files_that_are_not_valid_policies_cannot_be_trusted() {
    let env = env();
    let steps = "dir folder\nfifo pipe\nsymlink skillrun.toml link.toml\nsymlink /etc/passwd out.toml\n\
                 symlink nowhere.toml dangling.toml";
    setup::prepare(env.root(), steps).unwrap();
    env.write("skill/policy.toml", POLICY);
    env.write("broken.toml", "\n alow = []\n");
    env.write("bytes.toml", b"\xff");
    for (file, stderr, code) in [
        (
            "missing.toml",
            "error: policy `missing.toml`: no such file or directory\n",
            127,
        ),
        (
            "folder",
            "error: policy `folder`: it is a directory, not a file\n",
            125,
        ),
        (
            "pipe",
            "error: policy `pipe`: it is a FIFO, not a file\n",
            125,
        ),
        (
            "link.toml",
            "refused: policy `{root}/link.toml` is a link\nhint: trust the file that it points to\n",
            126,
        ),
        (
            "out.toml",
            "error: policy `out.toml`: it is a link that leads out of its directory\n",
            125,
        ),
        (
            "dangling.toml",
            "error: policy `dangling.toml`: no such file or directory\n",
            125,
        ),
        (
            "skill/policy.toml",
            "refused: policy `skill/policy.toml` is inside a skill, where no policy is read\n\
             hint: move it elsewhere, or remove `{skill}/SKILL.md` if that is no skill\n",
            126,
        ),
        (
            "broken.toml",
            "error: policy `broken.toml`: line 2, column 2: `alow` is not a key; did you mean `allow`?\n",
            1,
        ),
        (
            "bytes.toml",
            "error: policy `bytes.toml`: it is not UTF-8 text\n",
            1,
        ),
    ] {
        is(
            &env.end(&["policy", "trust", "--yes", file]),
            "",
            stderr,
            code,
        );
    }
    // Without a terminal there is no one to ask.
    is(
        &env.end(&["policy", "trust"]),
        "",
        "refused: policy `{root}/skillrun.toml` was not trusted: there is no terminal to ask at\n\
         hint: read the policy, then run `skillrun policy trust --yes`\n",
        126,
    );
    is(&env.end(&["policy", "list", "--json"]), "[]\n", "", 0);
}

fn policy_trust_shows_the_policy_at_a_terminal_and_asks() {
    let asks = "trust this policy? [y/N]\r\n> \u{1b}[?25h";
    let words = [env!("CARGO_BIN_EXE_skillrun"), "policy", "trust"];
    let no = Err("was not trusted: a person answered `no`");
    for (keys, result) in [
        (&b"y\r"[..], Ok(())),
        (b"Yes\r", Ok(())),
        (b"n\r", no),
        (b"\r", no),
        (
            b"yn\r",
            Err("was not trusted: the answer was neither yes nor no"),
        ),
        (
            b"\x03",
            Err("was not trusted: the question was interrupted"),
        ),
    ] {
        let env = env();
        // Control sequences are escaped.
        let policy =
            format!("{POLICY}# a \u{202e} b \u{200b} c\n[skill.deploy]\napproval = \"never\"\n");
        env.write("skillrun.toml", &policy);
        let seen = at_terminal(&env, &words, b"", &[(asks, keys)], "\r\n");
        let text = env.named(seen.text.as_bytes());
        for part in [
            "\r\n\r\n  | allow = [\"env:SKILLRUN_TEST_SECRET\"]\r\n",
            "  | # a \\u{202e} b \\u{200b} c\r\n  | [skill.deploy]\r\n  | approval = \"never\"\r\n",
            "This means:\r\n\r\n  every skill\r\n    may touch     env:SKILLRUN_TEST_SECRET\r\n",
            "\r\n  [skill.deploy]\r\n    applies to    ",
            "    approval      never: scripts run without asking\r\n",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        let code = if result.is_ok() { 0 } else { 126 };
        let shown = result.map_or_else(|why| why, |()| "trusted {root}/skillrun.toml");
        assert!(text.contains(shown), "{keys:?}: {text}");
        assert_eq!(seen.code, code, "{keys:?}");
        assert_eq!(env.run(&[]).code, code, "{keys:?}");
    }
}

fn no_text_of_a_policy_looks_like_a_row_of_the_question() {
    let env = env();
    let forged = "This means:";
    // Each would start a row with the forged text if it were wrapped by the terminal, or if a tab were one column.
    let policy = format!(
        "allow = [\"env:{}\"]\n#{}{forged}\n#{}{forged}\n[skill.\"{forged}\"]\n",
        "A".repeat(100),
        " ".repeat(75),
        "\t".repeat(40),
    );
    env.write("skillrun.toml", &policy);
    let command = format!(
        "stty rows 50 cols 80; exec {} policy trust",
        env!("CARGO_BIN_EXE_skillrun")
    );
    let words = ["/bin/sh", "-c", &command];
    let asks = "trust this policy? [y/N]\r\n> \u{1b}[?25h";
    let seen = at_terminal(&env, &words, b"", &[(asks, b"y\r")], "trusted");
    assert_eq!(seen.code, 0, "{}", seen.text);
    let frame = seen.text.split("\u{1b}[H\u{1b}[J").nth(1).unwrap();
    let frame = frame.split("> \u{1b}[?25h").next().unwrap();
    assert!(!frame.contains('\t'), "{frame}");
    let rows: Vec<&str> = frame.split("\r\n").collect();
    let columns = |row: &&str| row.chars().count();
    assert!(rows.iter().map(columns).max().unwrap() < 80, "{frame}");
    let ours: Vec<&str> = rows
        .iter()
        .filter(|row| !row.is_empty() && !row.starts_with("  "))
        .copied()
        .collect();
    assert!(ours[0].starts_with("policy "), "{frame}");
    assert_eq!(ours[1..], [forged, "trust this policy? [y/N]"], "{frame}");
    // The policy itself is marked row by row, and nothing of it is missing.
    let end = rows.iter().position(|row| *row == forged).unwrap();
    let marked = rows[..end].iter().filter(|row| row.starts_with("  "));
    let own: String = marked
        .map(|row| match row.strip_prefix("  | ") {
            Some(line) => format!("\n{line}"),
            None => row.strip_prefix("  … ").unwrap().to_owned(),
        })
        .collect();
    assert_eq!(own.trim_start(), policy.trim_end().replace('\t', "\\t"));
}

fn a_policy_that_is_a_link_is_refused_with_what_would_help() {
    let env = TestEnv::with_script(SHOWS);
    env.write("real.toml", POLICY);
    setup::prepare(env.root(), "symlink real.toml skillrun.toml").unwrap();
    let why = "refused: policy `skillrun.toml` is not trusted\n\
               hint: a link cannot be trusted: replace it with the file, or name the file with --policy\n";
    is(&env.run(&[]), "", why, 126);
    // Both work.
    is(&env.run(&["--policy", "real.toml"]), "leaked\n", "", 0);
    fs::rename(env.path("real.toml"), env.path("skillrun.toml")).unwrap();
    env.trust("skillrun.toml");
    is(&env.run(&[]), "leaked\n", "", 0);
}

fn a_damaged_record_is_refused_with_what_would_help() {
    let env = env();
    env.trust("skillrun.toml");
    let folder = env.path("state/skillrun/trusted");
    let record = fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
    fs::write(record.path(), "{").unwrap();
    let why = format!(
        "refused: cannot use the trusted policies in `{{root}}/state/skillrun/trusted/{}`: the record is damaged\n\
         hint: run `skillrun policy untrust {{root}}/skillrun.toml`, then trust it again\n",
        record.file_name().to_str().unwrap()
    );
    is(&env.run(&[]), "", &why, 126);
    // The hint helps.
    let end = env.end(&["policy", "untrust", "skillrun.toml"]);
    is(&end, "no longer trusted {root}/skillrun.toml\n", "", 0);
    env.trust("skillrun.toml");
    is(&env.run(&[]), "leaked\n", "", 0);
}

fn a_trust_store_that_other_users_may_write_is_refused() {
    for folder in ["state/skillrun/trusted", "state/skillrun"] {
        let env = env();
        env.trust("skillrun.toml");
        for bits in [0o1707, 0o707] {
            mode(&env, folder, bits);
            let why = format!(
                "refused: cannot use the trusted policies in `{{root}}/{folder}`: it may be written by other users\n\
                 hint: run `chmod go-w {{root}}/{folder}`\n"
            );
            is(&env.end(&["policy", "trust", "-y"]), "", &why, 126);
            // The directory of all records is refused first.
            let why = match folder {
                "state/skillrun" => why
                    .replace("cannot use the trusted policies in", "skillrun's directory")
                    .replace("`: it may", "` may")
                    .replace("hint: run", "hint: inspect it, then run"),
                _ => why,
            };
            is(&env.run(&[]), "", &why, 126);
        }
        mode(&env, folder, 0o700);
        is(&env.run(&[]), "leaked\n", "", 0);
        if geteuid().is_root() {
            chown(env.path(folder), Some(12345), None).unwrap();
            let why = format!(
                "refused: cannot use the trusted policies in `{{root}}/{folder}`: it belongs to another user\n"
            );
            is(&env.end(&["policy", "trust", "-y"]), "", &why, 126);
        }
    }
}

fn a_trust_record_that_others_could_have_written_is_refused() {
    let env = env();
    env.trust("skillrun.toml");
    let folder = env.path("state/skillrun/trusted");
    let entries = || -> Vec<_> {
        let entries = fs::read_dir(&folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let [record] = entries().try_into().unwrap();
    assert_eq!(
        record.metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    let why = format!(
        "refused: cannot use the trusted policies in `{{root}}/state/skillrun/trusted/{}`: it is not a file that only its owner may write\n\
         hint: run `skillrun policy untrust {{root}}/skillrun.toml`, then trust it again\n",
        record.file_name().unwrap().to_str().unwrap()
    );
    fs::set_permissions(&record, fs::Permissions::from_mode(0o602)).unwrap();
    is(&env.run(&[]), "", &why, 126);
    // A link to the right bytes is not a record, and is replaced when the policy is trusted again.
    fs::set_permissions(&record, fs::Permissions::from_mode(0o600)).unwrap();
    let moved = env.path("moved");
    fs::rename(&record, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &record).unwrap();
    let end = env.run(&[]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 126));
    assert!(
        end.stderr
            .starts_with("refused: cannot use the trusted policies in "),
        "{}",
        end.stderr
    );
    let before = fs::read(&moved).unwrap();
    env.trust("skillrun.toml");
    assert!(record.symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read(&moved).unwrap(), before);
    is(&env.run(&[]), "leaked\n", "", 0);
    // A record under another name trusts nothing.
    env.write("other/skillrun.toml", POLICY);
    env.trust("other/skillrun.toml");
    let other = entries().into_iter().find(|path| *path != record).unwrap();
    fs::copy(&other, &record).unwrap();
    is(&env.run(&[]), "", UNTRUSTED, 126);
}

fn trust_can_be_listed_and_revoked() {
    let env = env();
    is(
        &env.end(&["policy", "list"]),
        "",
        "no policy is trusted\n",
        0,
    );
    env.trust("skillrun.toml");
    let end = env.end(&["policy", "list"]);
    assert!(
        end.stdout.ends_with("…  {root}/skillrun.toml\n"),
        "{}",
        end.stdout
    );
    // Also when the policy no longer exists.
    fs::remove_file(env.path("skillrun.toml")).unwrap();
    is(
        &env.end(&["policy", "untrust"]),
        "no longer trusted {root}/skillrun.toml\n",
        "",
        0,
    );
    env.write("skillrun.toml", POLICY);
    is(&env.run(&[]), "", UNTRUSTED, 126);
    is(
        &env.end(&["policy", "untrust"]),
        "",
        "error: policy `{root}/skillrun.toml` is not trusted\nhint: `skillrun policy list` shows the trusted policies\n",
        127,
    );
}

fn a_home_policy_that_other_users_may_write_is_refused() {
    let env = TestEnv::with_script(SHOWS);
    env.write("home/.config/skillrun/skillrun.toml", POLICY);
    let policy = "home/.config/skillrun/skillrun.toml";
    let refuses = |path: &str, why: &str| {
        // The directory is refused before its content is read.
        let start = match path == policy {
            true => format!("refused: policy `{{root}}/{policy}` "),
            false => "refused: skillrun's directory `{root}/home/.config/skillrun` ".to_owned(),
        };
        is(&env.run(&[]), "", &(start + why), 126);
    };
    for (path, usual) in [
        (policy, 0o644),
        ("home/.config/skillrun", 0o755),
        ("home/.config", 0o755),
        ("home", 0o755),
    ] {
        let what = match path {
            _ if path == policy => String::new(),
            "home/.config/skillrun" => String::new(),
            _ => format!("is in `{{root}}/{path}`, which "),
        };
        for bits in [0o020, 0o002] {
            // A group with other members; root's own group has none.
            match geteuid().is_root() {
                true => chown(env.path(path), None, Some(12345)).unwrap(),
                false if bits == 0o020 => continue,
                false => {}
            }
            mode(&env, path, usual | bits);
            refuses(
                path,
                &format!(
                    "{what}may be written by other users\nhint: inspect it, then run `chmod go-w {{root}}/{path}`\n"
                ),
            );
        }
        mode(&env, path, usual);
        is(&env.run(&[]), "leaked\n", "", 0);
        if geteuid().is_root() {
            chown(env.path(path), Some(12345), None).unwrap();
            let hint = match path == policy {
                true => "read it, then pass --policy FILE to use it",
                false => "set XDG_STATE_HOME or XDG_CONFIG_HOME to another directory",
            };
            refuses(
                path,
                &format!("{what}belongs to another user\nhint: {hint}\n"),
            );
            chown(env.path(path), Some(0), None).unwrap();
        }
    }
    // The twins: a directory where users cannot replace each other's files, and a policy named by the person.
    mode(&env, "home/.config", 0o1777);
    is(&env.run(&[]), "leaked\n", "", 0);
    mode(&env, policy, 0o666);
    is(&env.run(&["--policy", policy]), "leaked\n", "", 0);
}

fn policy_check_prints_what_a_policy_means_or_its_error() {
    let env = TestEnv::new();
    let policy = "approval = \"always\"\nallow = [\"read:./data\", \"run:git\"]\n[limits]\ntime = \"10s\"\n\
                  [skill.deploy]\ninherit = false\nnative = \"refuse\"\n\
                  [skill.\"~/x\"]\nallow = [\"net:*\"]\napproval = \"never\"\n\
                  [skill.pinned]\ndigest = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"\n";
    env.write("p/skillrun.toml", policy);
    let means = "policy {root}/p/skillrun.toml\n\n\
        every skill\n  may touch     read:{root}/p/data, run:git\n  approval      always\n  native        confined\n  \
        interpreters  python3, bash, node\n  limits        time 10s\n\
        [skill.deploy]\n  applies to    {root}/p/.agents/skills/deploy, {root}/p/.claude/skills/deploy, \
        {root}/p/.chorus/skills/deploy, {root}/p/skills/deploy\n  may touch     nothing\n  native        refuse\n\
        [skill.pinned]\n  applies to    any folder of this name with this content\n  \
        digest        sha256:0000000000000000000000000000000000000000000000000000000000000000\n  \
        may touch     what every skill may touch\n\
        [skill.\"~/x\"]\n  applies to    {root}/home/x\n  may touch     net:*, and what every skill may touch\n  \
        approval      never: scripts run without asking\n";
    is(
        &env.end(&["policy", "check", "p/skillrun.toml"]),
        means,
        "",
        0,
    );
    // Without a name it is the policy that would be found.
    env.write("home/.config/skillrun/skillrun.toml", "[skill.a]\n");
    let end = env.end(&["policy", "check"]);
    let start = "policy {root}/home/.config/skillrun/skillrun.toml\n\nevery skill\n  may touch     nothing\n";
    assert!(
        end.stdout.starts_with(start),
        "{}{}",
        end.stdout,
        end.stderr
    );
    assert!(
        end.stdout
            .contains("applies to    {root}/home/.agents/skills/a, "),
        "{}",
        end.stdout
    );
    env.write("skillrun.toml", "\n[skill.x]\nalow = []\n");
    is(
        &env.end(&["policy", "check"]),
        "",
        "error: policy `skillrun.toml`: line 3, column 1: `alow` is not a key of a section; did you mean `allow`?\n",
        1,
    );
    let end = env.end(&["policy", "check", "--json", "p/skillrun.toml"]);
    let parts: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(parts["parts"][0]["approval"], "always");
    assert_eq!(parts["parts"][1]["section"], "[skill.deploy]");
}
