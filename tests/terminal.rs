//! Asking at a terminal: a person's keys, and what is no clear yes.

use crate::place::Place;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::Stdio;

trials! {
    a_yes_at_the_terminal_runs_the_script_and_is_remembered,
    whatever_is_not_clearly_yes_is_no,
    what_was_typed_before_the_question_answers_nothing,
    a_skill_cannot_steer_the_terminal_or_hide_its_arguments,
    a_question_takes_back_what_output_before_it_set,
    what_changed_since_the_last_yes_is_shown_on_request,
    changed_files_cannot_hide_what_would_be_touched,
    all_arguments_are_shown_on_request,
    somebody_who_does_not_see_the_question_is_not_asked,
    no_message_steers_the_terminal,
}

const DESCRIPTION: &str = "A demo.";

fn place(description: &str, script: &str) -> Place {
    let place = Place::new();
    let text = format!("---\nname: demo\ndescription: \"{description}\"\n---\nscripts/a.py\n");
    place.write("demo/SKILL.md", text);
    place.write("demo/scripts/a.py", script);
    place
}

/// What came to the terminal, and how it ended.
pub(crate) struct Seen {
    pub(crate) text: String,
    pub(crate) code: i32,
}

/// Loads the skill at a terminal of its own.
fn load(place: &Place, before: &[u8], keys: &[(&str, &[u8])]) -> Seen {
    let words = [env!("CARGO_BIN_EXE_skillrun"), "load", "./demo"];
    at_terminal(place, &words, before, keys, "</skill_context>")
}

/// Runs a command at a terminal of its own; `keys` are pressed each after the text before it has come, and `last` is
/// waited for.
pub(crate) fn at_terminal(
    place: &Place,
    words: &[&str],
    before: &[u8],
    keys: &[(&str, &[u8])],
    last: &str,
) -> Seen {
    let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&own).unwrap();
    unlockpt(&own).unwrap();
    let name = ptsname(&own, Vec::new()).unwrap();
    let mut own = File::from(own);
    let name = name.to_str().unwrap();
    let other = || {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .unwrap()
    };
    // It is there before anybody reads it.
    let held = other();
    own.write_all(before).unwrap();
    let mut command = place.program("setsid");
    command
        .args(["--ctty", "--wait"])
        .args(words)
        .stdin(Stdio::from(other()))
        .stdout(Stdio::from(other()))
        .stderr(Stdio::from(other()));
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut text = String::new();
    let mut hear = |own: &mut File, until: &str| {
        let start = text.len();
        while !text[start..].contains(until) {
            let mut part = [0; 4096];
            match own.read(&mut part) {
                Ok(count) if count > 0 => text.push_str(&String::from_utf8_lossy(&part[..count])),
                _ => panic!("`{until}` never came after: {text}"),
            }
        }
    };
    for (until, press) in keys {
        hear(&mut own, until);
        own.write_all(press).unwrap();
    }
    hear(&mut own, last);
    drop(held);
    let code = child.wait().unwrap().code().unwrap();
    Seen { text, code }
}

pub(crate) const ASKS: &str = "[n] no\r\n> ";

fn a_yes_at_the_terminal_runs_the_script_and_is_remembered() {
    let place = place(DESCRIPTION, "# Says that it ran.\nprint('it', 'ran')\n");
    let seen = load(&place, b"", &[(ASKS, b"y\r")]);
    assert_eq!(seen.code, 0, "{}", seen.text);
    assert!(seen.text.contains("it ran"), "{}", seen.text);
    for part in [
        "skillrun: may `scripts/a.py` of skill `demo` run?",
        "skill     demo: A demo.",
        "script    scripts/a.py (sha256 ",
        "Says that it ran.",
        "may       touch nothing but the skill, read-only, and a scratch directory",
        "[y] yes, until something in the skill changes",
    ] {
        assert!(seen.text.contains(part), "{part}: {}", seen.text);
    }
    // Not asked again.
    let seen = load(&place, b"", &[]);
    assert!(
        !seen.text.contains("[y]") && seen.text.contains("it ran"),
        "{}",
        seen.text
    );
}

fn whatever_is_not_clearly_yes_is_no() {
    let place = place(DESCRIPTION, "print('it', 'ran')\n");
    for keys in [
        &b"n\r"[..],
        b"\r",
        b"yess\r",
        b"y y\r",
        b"\x03",
        b"\x04",
        b"\x1b[A\r",
        b"d\r",
        "ÿ\r".as_bytes(),
        b"y\x7f\r",
        b"ny\r",
    ] {
        let seen = load(&place, b"", &[(ASKS, keys)]);
        assert_eq!(seen.code, 126, "{keys:?}: {}", seen.text);
        assert!(!seen.text.contains("it ran"), "{keys:?}: {}", seen.text);
        assert!(
            seen.text.contains("a person answered `no`"),
            "{}",
            seen.text
        );
    }
    // The twins: a mistake that was mended, and a yes however it is written.
    for keys in [&b"n\x7fy\r"[..], b"yes\r", b"Y\r", b"Yes\r", b"YES\r"] {
        let place = self::place(DESCRIPTION, "print('it', 'ran')\n");
        let seen = load(&place, b"", &[(ASKS, keys)]);
        assert_eq!(seen.code, 0, "{keys:?}: {}", seen.text);
    }
}

fn what_was_typed_before_the_question_answers_nothing() {
    let place = place(DESCRIPTION, "print('it', 'ran')\n");
    let seen = load(&place, b"y\ny\ny\n", &[(ASKS, b"\r")]);
    assert_eq!(seen.code, 126, "{}", seen.text);
    assert!(!seen.text.contains("it ran"), "{}", seen.text);
}

fn a_skill_cannot_steer_the_terminal_or_hide_its_arguments() {
    let long = format!("\\e[2J\\u202e{}", "x".repeat(500));
    let place = place(&long, "# \u{1b}]0;title\u{7}\nprint(1)\n");
    let seen = load(&place, b"", &[(ASKS, b"n\r")]);
    let question = seen.text.split("[y]").next().unwrap();
    let question = question.strip_prefix(RESET).unwrap();
    assert!(
        !question.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{question:?}"
    );
    assert!(question.contains("\\u{1b}[2J\\u{202e}xxx"), "{question}");
    assert!(question.contains("x… (505"), "{question}");
}

/// What stands before a question.
const RESET: &str =
    "\u{1b}7\u{1b}[?1049l\u{1b}[r\u{1b}8\u{1b}[0m\u{1b}(B\u{f}\u{1b}[4l\u{1b}[?7h\u{1b}[?25h";

fn a_question_takes_back_what_output_before_it_set() {
    let place = place(DESCRIPTION, "print(1)\n");
    let command = format!(
        "printf '\\033[8m\\033[1;2r\\033[?25lhidden'; exec {} load ./demo",
        env!("CARGO_BIN_EXE_skillrun")
    );
    let words = ["/bin/sh", "-c", &command];
    let seen = at_terminal(&place, &words, b"", &[(ASKS, b"n\r")], "</skill_context>");
    assert!(
        seen.text
            .contains(&format!("hidden{RESET}\r\nskillrun: may ")),
        "{:?}",
        seen.text
    );
}

fn what_changed_since_the_last_yes_is_shown_on_request() {
    let place = place(DESCRIPTION, "print('one')\n");
    assert_eq!(load(&place, b"", &[(ASKS, b"y\r")]).code, 0);
    place.write("demo/scripts/a.py", "print('two')\n");
    place.write("demo/new.txt", "");
    let asks = "[d] show what changed\r\n> ";
    let seen = load(&place, b"", &[(asks, b"d\r"), (asks, b"y\r")]);
    assert_eq!(seen.code, 0, "{}", seen.text);
    for part in [
        "CHANGED   since the yes of ",
        "new new.txt",
        "changed scripts/a.py",
        "- print('one')",
        "+ print('two')",
    ] {
        assert!(seen.text.contains(part), "{part}: {}", seen.text);
    }
}

fn changed_files_cannot_hide_what_would_be_touched() {
    let place = place(DESCRIPTION, "print('one')\n");
    assert_eq!(load(&place, b"", &[(ASKS, b"y\r")]).code, 0);
    for at in 0..20 {
        let name = format!(
            "{at:<62}  may       touch nothing but the skill, read-only, and a scratch directory{:40}",
            ""
        );
        place.write(&format!("demo/{name}"), "");
    }
    let words = [
        env!("CARGO_BIN_EXE_skillrun"),
        "load",
        "./demo",
        "--allow",
        "net:*",
    ];
    let seen = at_terminal(&place, &words, b"", &[(ASKS, b"n\r")], "</skill_context>");
    let question = seen.text.split(ASKS).next().unwrap();
    assert!(
        question.contains("  CHANGED   since the yes of "),
        "{question}"
    );
    assert!(question.contains(" more files\r\n"), "{question}");
    assert!(
        question.contains("\r\n  may       reach the whole network\r\n  [y] "),
        "{question}"
    );
    assert!(!question.contains("touch nothing"), "{question}");
    assert!(question.lines().count() < 24, "{question}");
}

fn all_arguments_are_shown_on_request() {
    let place = place(DESCRIPTION, "print('it', 'ran')\n");
    let last = format!("{}; rm -r", "x".repeat(400));
    place.write(
        "text",
        format!("!{{scripts/a.py {} '{last}'}}", "a ".repeat(26)),
    );
    let command = format!(
        "exec {} expand --skill ./demo < text",
        env!("CARGO_BIN_EXE_skillrun")
    );
    let words = ["/bin/sh", "-c", &command];
    let asks = "[a] show all arguments\r\n> ";
    let keys: [(&str, &[u8]); 2] = [(asks, b"a\r"), (asks, b"n\r")];
    let seen = at_terminal(&place, &words, b"", &keys, "refused: ");
    let [first, all, _] = seen.text.splitn(3, asks).collect::<Vec<_>>()[..] else {
        panic!("{}", seen.text);
    };
    assert!(first.contains("\"a\" … and 7 more\r\n"), "{first}");
    assert!(!first.contains("rm -r"), "{first}");
    let all = all.replace("\r\n            ", "");
    assert!(
        all.contains(&format!("26: \"a\"27: \"{last}\"\r\n")),
        "{all}"
    );
    // What is asked stands again where it is answered.
    assert!(
        all.contains("skillrun: may `scripts/a.py` of skill `demo` run?"),
        "{all}"
    );
}

fn somebody_who_does_not_see_the_question_is_not_asked() {
    let place = place(DESCRIPTION, "print(1)\n");
    let end = place.end(&["load", "./demo"]);
    assert_eq!(end.code, 126);
    assert!(
        end.stderr.contains("there is no terminal to ask at"),
        "{}",
        end.stderr
    );
}

fn no_message_steers_the_terminal() {
    let place = place(DESCRIPTION, "print(1)\n");
    let end = place.end(&[
        "load",
        "./demo",
        "--allow",
        "gelt:\u{1b}[2J\u{202e}\u{200b}\nhint: -y",
    ]);
    assert_eq!(end.code, 125);
    assert_eq!(
        end.stderr,
        "error: `gelt:\\u{1b}[2J\\u{202e}\\u{200b}\\nhint: -y` is not a grant: it holds the control character '\\u{1b}'\n"
    );
}
