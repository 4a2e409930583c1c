//! The policy of a directory counts only as a person has trusted it.

use crate::place::{End, Place, SKILL_MD};
use crate::setup;
use crate::terminal::at_terminal;
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};

trials! {
    a_policy_of_a_directory_counts_only_once_it_is_trusted,
    a_policy_that_a_script_wrote_does_not_count,
    a_changed_policy_is_refused_until_it_is_trusted_again,
    trust_is_for_one_path,
    a_skill_md_laid_around_a_policy_does_not_switch_it_off,
    an_empty_policy_needs_no_trust,
    a_named_policy_needs_no_trust_outside_the_workspace,
    a_trusted_policy_in_the_workspace_holds_and_is_protected,
    what_cannot_be_trusted_is_not,
    somebody_at_the_terminal_is_shown_the_policy_and_asked,
    a_store_that_others_may_write_is_not_believed,
    a_record_that_is_not_ours_is_not_believed,
    trust_can_be_listed_and_taken_back,
    a_home_policy_that_others_may_write_is_refused,
    check_prints_what_a_policy_means_or_where_it_is_wrong,
}

const SHOWS: &str = "import os\nprint(os.environ.get('SKILLRUN_TEST_SECRET'))\n";
const POLICY: &str = "allow = [\"env:SKILLRUN_TEST_SECRET\"]\n";
const UNTRUSTED: &str = "refused: policy `skillrun.toml` is not trusted\n\
    hint: run `skillrun policy trust` after reading it, or pass --policy skillrun.toml\n";

fn place() -> Place {
    let place = Place::with_script(SHOWS);
    place.write("skillrun.toml", POLICY);
    place
}

fn is(end: &End, stdout: &str, stderr: &str, code: i32) {
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (stdout, stderr, code)
    );
}

fn mode(place: &Place, path: &str, mode: u32) {
    fs::set_permissions(place.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

fn a_policy_of_a_directory_counts_only_once_it_is_trusted() {
    let place = place();
    // Refused, and not passed over: it may hold restrictions that somebody relies on.
    place.write("home/.config/skillrun/skillrun.toml", POLICY);
    let commands: [&[&str]; 3] = [
        &["run", "./skill", "main.py"],
        &["load", "./skill"],
        &["expand", "--skill", "./skill"],
    ];
    for words in commands {
        is(&place.end(words), "", UNTRUSTED, 126);
    }
    let log = place.audit();
    assert_eq!(log.len(), commands.len());
    for line in log {
        assert_eq!(line["event"], "refused");
        assert_eq!(line["reason"], "policy `skillrun.toml` is not trusted");
    }
    is(
        &place.end(&["policy", "trust", "-y"]),
        "trusted {root}/skillrun.toml\n",
        "",
        0,
    );
    is(&place.run(&[]), "leaked\n", "", 0);
}

fn a_policy_that_a_script_wrote_does_not_count() {
    let place = Place::with_script(
        "import sys\nopen('skillrun.toml', 'w').write(sys.argv[1])\nprint('written')\n",
    );
    place.write("project/notes", "");
    place.write("secret/SKILL.md", SKILL_MD);
    place.write("secret/scripts/main.py", SHOWS);
    // The wasm tier writes it: its name is that of any other file.
    let evil = format!("approval = \"never\"\n{POLICY}");
    let end = place.run(&["-w", "project", "--", &evil]);
    is(&end, "written\n", "", 0);
    assert_eq!(place.read("project/skillrun.toml"), evil);
    let mut load = place.command(&["load", "../secret"]);
    is(
        &place.end_of(load.current_dir(place.path("project"))),
        "",
        UNTRUSTED,
        126,
    );
}

fn a_changed_policy_is_refused_until_it_is_trusted_again() {
    let place = place();
    place.trust("skillrun.toml");
    is(&place.run(&[]), "leaked\n", "", 0);
    place.write("skillrun.toml", format!("{POLICY}# more\n"));
    let changed = UNTRUSTED.replace("is not trusted", "changed after it was trusted");
    is(&place.run(&[]), "", &changed, 126);
    place.trust("skillrun.toml");
    is(&place.run(&[]), "leaked\n", "", 0);
    // What was trusted before is no longer.
    place.write("skillrun.toml", POLICY);
    is(&place.run(&[]), "", &changed, 126);
}

fn trust_is_for_one_path() {
    let place = place();
    place.trust("skillrun.toml");
    place.write("clone/skillrun.toml", POLICY);
    let from = |folder: &str| {
        let mut command = place.command(&["run", "../skill", "main.py"]);
        place.end_of(command.current_dir(place.path(folder)))
    };
    is(&from("clone"), "", UNTRUSTED, 126);
    // However the directory is reached, it is the same one.
    std::os::unix::fs::symlink("clone", place.path("link")).unwrap();
    place.trust("link/skillrun.toml");
    is(&from("clone"), "leaked\n", "", 0);
}

fn a_skill_md_laid_around_a_policy_does_not_switch_it_off() {
    let place = Place::with_script(SHOWS);
    place.write("project/skillrun.toml", "interpreters = [\"bash\"]\n");
    let from = || {
        let mut command = place.command(&["run", "../skill", "main.py"]);
        place.end_of(command.current_dir(place.path("project")))
    };
    // One that nobody trusted is that of a skill, and counts for nothing.
    place.write("project/SKILL.md", SKILL_MD);
    is(&from(), "None\n", "", 0);
    fs::remove_file(place.path("project/SKILL.md")).unwrap();
    place.trust("project/skillrun.toml");
    assert!(
        from()
            .stderr
            .starts_with("refused: interpreter `python3` is not allowed")
    );
    place.write("project/SKILL.md", SKILL_MD);
    is(
        &from(),
        "",
        "refused: policy `skillrun.toml` lies in a skill, which does not say what may run\n\
         hint: move it elsewhere\n",
        126,
    );
    // The same for that of the user.
    let place = Place::with_script(SHOWS);
    place.write(
        "home/.config/skillrun/skillrun.toml",
        "interpreters = [\"bash\"]\n",
    );
    place.write("home/SKILL.md", SKILL_MD);
    is(
        &place.run(&[]),
        "",
        "refused: policy `{root}/home/.config/skillrun/skillrun.toml` lies in a skill, which does not say what may run\n\
         hint: move it elsewhere\n",
        126,
    );
}

fn an_empty_policy_needs_no_trust() {
    let place = Place::with_script(SHOWS);
    place.write("skillrun.toml", "");
    is(&place.run(&[]), "None\n", "", 0);
    // It says nothing, so that of the user holds.
    place.write("home/.config/skillrun/skillrun.toml", POLICY);
    is(&place.run(&[]), "leaked\n", "", 0);
    // A comment is not nothing: somebody has to read it to know.
    place.write("skillrun.toml", "#\n");
    is(&place.run(&[]), "", UNTRUSTED, 126);
}

fn a_named_policy_needs_no_trust_outside_the_workspace() {
    let place = place();
    is(
        &place.run(&["--policy", "skillrun.toml"]),
        "leaked\n",
        "",
        0,
    );
    place.write("workspace/own.toml", POLICY);
    let named = ["--policy", "workspace/own.toml", "-w", "workspace"];
    is(
        &place.run(&named),
        "",
        "refused: policy `workspace/own.toml` is inside the workspace and not trusted\n\
         hint: run `skillrun policy trust workspace/own.toml` after reading it\n",
        126,
    );
    is(&place.run(&named[..2]), "leaked\n", "", 0);
}

fn a_trusted_policy_in_the_workspace_holds_and_is_protected() {
    let place = Place::with_script(
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
    place.write("project/skillrun.toml", POLICY);
    let from = |words: &[&str]| {
        let start = ["run", "../skill", "main.py"];
        let mut command = place.command(&[&start[..], words].concat());
        place.end_of(command.current_dir(place.path("project")))
    };
    is(
        &from(&["-w", "."]),
        "",
        "refused: policy `skillrun.toml` is inside the workspace and not trusted\n\
         hint: run `skillrun policy trust` after reading it\n",
        126,
    );
    place.trust("project/skillrun.toml");
    let tried = "leaked\nwrite skillrun.toml EPERM\nreplace skillrun.toml EPERM\nremove skillrun.toml EPERM\n\
                 write other.toml done\nreplace other.toml done\nremove other.toml done\n";
    is(&from(&["-w", "."]), tried, "", 0);
    assert_eq!(place.read("project/skillrun.toml"), POLICY);
    // Also in runs that it does not hold for.
    let end = place.run(&["-w", "project"]);
    is(&end, &tried.replace("leaked", "None"), "", 0);
    assert_eq!(place.read("project/skillrun.toml"), POLICY);
}

fn what_cannot_be_trusted_is_not() {
    let place = place();
    let steps = "dir folder\nfifo pipe\nsymlink skillrun.toml link.toml\nsymlink /etc/passwd out.toml\n\
                 symlink nowhere.toml dangling.toml";
    setup::prepare(place.root(), steps).unwrap();
    place.write("skill/policy.toml", POLICY);
    place.write("broken.toml", "\n alow = []\n");
    place.write("bytes.toml", b"\xff");
    for (file, stderr, code) in [
        (
            "missing.toml",
            "error: policy `missing.toml`: no such file or directory\n",
            125,
        ),
        (
            "folder",
            "error: policy `folder`: is a directory, not a file\n",
            125,
        ),
        ("pipe", "error: policy `pipe`: is a FIFO, not a file\n", 125),
        (
            "link.toml",
            "refused: policy `{root}/link.toml` is a link\nhint: trust the file that it leads to\n",
            126,
        ),
        (
            "out.toml",
            "error: policy `out.toml`: is a link that leads out of its directory\n",
            125,
        ),
        (
            "dangling.toml",
            "error: policy `dangling.toml`: no such file or directory\n",
            125,
        ),
        (
            "skill/policy.toml",
            "refused: policy `skill/policy.toml` lies in a skill, which does not say what may run\n\
             hint: move it elsewhere\n",
            126,
        ),
        (
            "broken.toml",
            "error: policy `broken.toml`: line 2, column 2: `alow` is not a key; did you mean `allow`?\n",
            1,
        ),
        (
            "bytes.toml",
            "error: policy `bytes.toml`: is not UTF-8 text\n",
            1,
        ),
    ] {
        is(
            &place.end(&["policy", "trust", "--yes", file]),
            "",
            stderr,
            code,
        );
    }
    // Without a terminal there is nobody to ask.
    is(
        &place.end(&["policy", "trust"]),
        "",
        "refused: policy `{root}/skillrun.toml` was not trusted: there is no terminal to ask at\n\
         hint: read it, then run it with --yes\n",
        126,
    );
    is(&place.end(&["policy", "list", "--json"]), "[]\n", "", 0);
}

fn somebody_at_the_terminal_is_shown_the_policy_and_asked() {
    let asks = "trust this policy? [y/N]\r\n> \u{1b}[?25h";
    let words = [env!("CARGO_BIN_EXE_skillrun"), "policy", "trust"];
    for (keys, trusted) in [
        (&b"y\r"[..], true),
        (b"Yes\r", true),
        (b"n\r", false),
        (b"\r", false),
        (b"yn\r", false),
        (b"\x03", false),
    ] {
        let place = place();
        // What steers a terminal is shown, not done.
        let policy =
            format!("{POLICY}# a \u{202e} b \u{200b} c\n[skill.deploy]\napproval = \"never\"\n");
        place.write("skillrun.toml", &policy);
        let seen = at_terminal(&place, &words, b"", &[(asks, keys)], "\r\n");
        let text = place.named(seen.text.as_bytes());
        for part in [
            "policy {root}/skillrun.toml\r\n\r\n  allow = [\"env:SKILLRUN_TEST_SECRET\"]\r\n",
            "  # a \\u{202e} b \\u{200b} c\r\n  [skill.deploy]\r\n  approval = \"never\"\r\n",
            "This means:\r\n\r\nevery skill\r\n  may touch     env:SKILLRUN_TEST_SECRET\r\n",
            "[skill.deploy]\r\n  is for        {root}/.agents/skills/deploy, ",
            "  approval      never: nobody is asked\r\n",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        let said = match trusted {
            true => "trusted {root}/skillrun.toml",
            false => "was not trusted: a person answered `no`",
        };
        assert!(text.contains(said), "{keys:?}: {text}");
        assert_eq!(seen.code, if trusted { 0 } else { 126 }, "{keys:?}");
        assert_eq!(
            place.run(&[]).code,
            if trusted { 0 } else { 126 },
            "{keys:?}"
        );
    }
}

fn a_store_that_others_may_write_is_not_believed() {
    for folder in ["state/skillrun/trusted", "state/skillrun"] {
        let place = place();
        place.trust("skillrun.toml");
        for bits in [0o770, 0o707] {
            mode(&place, folder, bits);
            let why = format!(
                "refused: trusted policies in `{{root}}/{folder}`: other users may write it\n\
                 hint: chmod go-w {{root}}/{folder}\n"
            );
            is(&place.run(&[]), "", &why, 126);
            is(&place.end(&["policy", "trust", "-y"]), "", &why, 126);
        }
        mode(&place, folder, 0o700);
        is(&place.run(&[]), "leaked\n", "", 0);
        if geteuid().is_root() {
            chown(place.path(folder), Some(12345), None).unwrap();
            let why = format!(
                "refused: trusted policies in `{{root}}/{folder}`: it belongs to another user\n"
            );
            is(&place.run(&[]), "", &why, 126);
        }
    }
}

fn a_record_that_is_not_ours_is_not_believed() {
    let place = place();
    place.trust("skillrun.toml");
    let folder = place.path("state/skillrun/trusted");
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
        "refused: trusted policies in `{{root}}/state/skillrun/trusted/{}`: it is not a file that only its owner may write\n",
        record.file_name().unwrap().to_str().unwrap()
    );
    fs::set_permissions(&record, fs::Permissions::from_mode(0o620)).unwrap();
    is(&place.run(&[]), "", &why, 126);
    // A link to the right bytes is no record, and is replaced when the policy is trusted again.
    fs::set_permissions(&record, fs::Permissions::from_mode(0o600)).unwrap();
    let moved = place.path("moved");
    fs::rename(&record, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &record).unwrap();
    let end = place.run(&[]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 126));
    assert!(
        end.stderr.starts_with("refused: trusted policies in "),
        "{}",
        end.stderr
    );
    let before = fs::read(&moved).unwrap();
    place.trust("skillrun.toml");
    assert!(record.symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read(&moved).unwrap(), before);
    is(&place.run(&[]), "leaked\n", "", 0);
    // One under the name of another trusts nothing.
    place.write("other/skillrun.toml", POLICY);
    place.trust("other/skillrun.toml");
    let other = entries().into_iter().find(|path| *path != record).unwrap();
    fs::copy(&other, &record).unwrap();
    is(&place.run(&[]), "", UNTRUSTED, 126);
}

fn trust_can_be_listed_and_taken_back() {
    let place = place();
    is(
        &place.end(&["policy", "list"]),
        "",
        "no policy is trusted\n",
        0,
    );
    place.trust("skillrun.toml");
    let end = place.end(&["policy", "list"]);
    assert!(
        end.stdout.ends_with("…  {root}/skillrun.toml\n"),
        "{}",
        end.stdout
    );
    // Also when the policy is gone.
    fs::remove_file(place.path("skillrun.toml")).unwrap();
    is(
        &place.end(&["policy", "untrust"]),
        "no longer trusted {root}/skillrun.toml\n",
        "",
        0,
    );
    place.write("skillrun.toml", POLICY);
    is(&place.run(&[]), "", UNTRUSTED, 126);
    is(
        &place.end(&["policy", "untrust"]),
        "",
        "error: policy `{root}/skillrun.toml` is not trusted\nhint: `skillrun policy list` shows what is\n",
        127,
    );
}

fn a_home_policy_that_others_may_write_is_refused() {
    let place = Place::with_script(SHOWS);
    place.write("home/.config/skillrun/skillrun.toml", POLICY);
    let policy = "home/.config/skillrun/skillrun.toml";
    let refuses = |why: &str| {
        let start = format!("refused: policy `{{root}}/{policy}` ");
        is(&place.run(&[]), "", &(start + why), 126);
    };
    for (path, usual) in [
        (policy, 0o644),
        ("home/.config/skillrun", 0o755),
        ("home/.config", 0o755),
        ("home", 0o755),
    ] {
        let what = match path == policy {
            true => String::new(),
            false => format!("lies in `{{root}}/{path}`, which "),
        };
        for bits in [0o020, 0o002] {
            mode(&place, path, usual | bits);
            refuses(&format!(
                "{what}may be written by other users\nhint: look at it, then `chmod go-w {{root}}/{path}`\n"
            ));
        }
        mode(&place, path, usual);
        is(&place.run(&[]), "leaked\n", "", 0);
        if geteuid().is_root() {
            chown(place.path(path), Some(12345), None).unwrap();
            refuses(&format!(
                "{what}belongs to another user\n\
                 hint: look at it, and name it with --policy FILE if it is meant\n"
            ));
            chown(place.path(path), Some(0), None).unwrap();
        }
    }
    // The twins: a directory where others cannot replace what is not theirs, and a person's own word.
    mode(&place, "home/.config", 0o1777);
    is(&place.run(&[]), "leaked\n", "", 0);
    mode(&place, policy, 0o666);
    is(&place.run(&["--policy", policy]), "leaked\n", "", 0);
}

fn check_prints_what_a_policy_means_or_where_it_is_wrong() {
    let place = Place::new();
    let policy = "approval = \"always\"\nallow = [\"read:./data\", \"run:git\"]\n[limits]\ntime = \"10s\"\n\
                  [skill.deploy]\ninherit = false\nnative = \"refuse\"\n\
                  [skill.\"~/x\"]\nallow = [\"net:*\"]\napproval = \"never\"\n\
                  [skill.pinned]\ndigest = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"\n";
    place.write("p/skillrun.toml", policy);
    let means = "policy {root}/p/skillrun.toml\n\n\
        every skill\n  may touch     read:{root}/p/data, run:git\n  approval      always\n  native        confined\n  \
        interpreters  python3, bash, node\n  limits        time 10s\n\
        [skill.deploy]\n  is for        {root}/p/.agents/skills/deploy, {root}/p/.claude/skills/deploy, \
        {root}/p/.chorus/skills/deploy, {root}/p/skills/deploy\n  may touch     nothing\n  native        refuse\n\
        [skill.pinned]\n  is for        any folder of this name with this content\n  \
        digest        sha256:0000000000000000000000000000000000000000000000000000000000000000\n  \
        may touch     what every skill may touch\n\
        [skill.\"~/x\"]\n  is for        {root}/home/x\n  may touch     net:*, and what every skill may touch\n  \
        approval      never: nobody is asked\n";
    is(
        &place.end(&["policy", "check", "p/skillrun.toml"]),
        means,
        "",
        0,
    );
    // Without a name it is the policy that would be found.
    place.write("home/.config/skillrun/skillrun.toml", "[skill.a]\n");
    let end = place.end(&["policy", "check"]);
    let start = "policy {root}/home/.config/skillrun/skillrun.toml\n\nevery skill\n  may touch     nothing\n";
    assert!(
        end.stdout.starts_with(start),
        "{}{}",
        end.stdout,
        end.stderr
    );
    assert!(
        end.stdout
            .contains("is for        {root}/home/.agents/skills/a, "),
        "{}",
        end.stdout
    );
    place.write("skillrun.toml", "\n[skill.x]\nalow = []\n");
    is(
        &place.end(&["policy", "check"]),
        "",
        "error: policy `skillrun.toml`: line 3, column 1: `alow` is not a key of a skill; did you mean `allow`?\n",
        1,
    );
    let end = place.end(&["policy", "check", "--json", "p/skillrun.toml"]);
    let parts: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(parts["parts"][0]["approval"], "always");
    assert_eq!(parts["parts"][1]["section"], "[skill.deploy]");
}
