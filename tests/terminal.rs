//! Asking at a terminal: a person's keys, and what is no clear yes.

use crate::place::Place;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

trials! {
    a_yes_at_the_terminal_runs_the_script_and_is_remembered,
    whatever_is_not_clearly_yes_is_no,
    ctrl_c_is_a_no_and_ends_the_command,
    what_was_typed_before_the_question_answers_nothing,
    a_skill_cannot_steer_the_terminal_or_hide_its_arguments,
    a_question_takes_back_what_output_before_it_set,
    what_changed_since_the_last_yes_is_shown_on_request,
    changed_files_cannot_hide_what_would_be_touched,
    all_arguments_are_shown_on_request,
    somebody_who_does_not_see_the_question_is_not_asked,
    no_message_steers_the_terminal,
    a_signal_at_a_question_leaves_the_terminal_as_it_was,
    a_signal_at_a_question_ends_what_runs_beside_it,
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
    let mut talk = Talk::start(place, words, before);
    for (until, press) in keys {
        talk.hear(until);
        talk.own.write_all(press).unwrap();
    }
    talk.hear(last);
    talk.end()
}

/// A command at a terminal of its own, and what came there.
struct Talk {
    own: File,
    /// The terminal is there before anybody reads it.
    held: File,
    child: Child,
    text: String,
    heard: usize,
}

impl Talk {
    fn start(place: &Place, words: &[&str], before: &[u8]) -> Self {
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
        let held = other();
        own.write_all(before).unwrap();
        let child = place
            .program("setsid")
            .args(["--ctty", "--wait"])
            .args(words)
            .stdin(Stdio::from(other()))
            .stdout(Stdio::from(other()))
            .stderr(Stdio::from(other()))
            .spawn()
            .unwrap();
        Self {
            own,
            held,
            child,
            text: String::new(),
            heard: 0,
        }
    }

    fn hear(&mut self, until: &str) {
        while !self.text[self.heard..].contains(until) {
            assert!(self.more(), "`{until}` never came after: {}", self.text);
        }
        self.heard = self.text.len();
    }

    fn more(&mut self) -> bool {
        let mut part = [0; 4096];
        let count = self.own.read(&mut part).unwrap_or(0);
        self.text.push_str(&String::from_utf8_lossy(&part[..count]));
        count > 0
    }

    fn end(mut self) -> Seen {
        drop(std::mem::replace(
            &mut self.held,
            File::open("/dev/null").unwrap(),
        ));
        while self.more() {}
        let code = self.child.wait().unwrap().code().unwrap();
        Seen {
            text: self.text,
            code,
        }
    }
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
        b"\x04",
        b"\x1c",
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

fn ctrl_c_is_a_no_and_ends_the_command() {
    let place = self::place(DESCRIPTION, "print('it', 'ran')\n");
    let words = [env!("CARGO_BIN_EXE_skillrun"), "load", "./demo"];
    let seen = at_terminal(&place, &words, b"", &[(ASKS, b"\x03")], "");
    assert_eq!(seen.code, 130, "{}", seen.text);
    assert!(
        seen.text.contains("a person answered `no`"),
        "{}",
        seen.text
    );
    assert!(!seen.text.contains("it ran"), "{}", seen.text);
    assert_eq!(place.audit().pop().unwrap()["event"], "refused");
    // One is enough for many markers, and for what runs beside the question.
    let place = self::place(DESCRIPTION, "");
    let mut talk = beside(&place, "--events events");
    talk.own.write_all(b"\x03").unwrap();
    let seen = talk.end();
    assert!(seen.text.contains("ended with 130\r\n"), "{}", seen.text);
    assert_eq!(seen.text.matches(ASKS).count(), 2, "{}", seen.text);
    check_left_as_it_was(&seen);
    let lines = place.audit();
    for (key, value) in [("event", "refused"), ("status", "cancelled")] {
        assert!(lines.iter().any(|line| line[key] == value), "{lines:?}");
    }
    assert!(place.read("events").contains("a person answered `no`"));
    place.check_left_behind().unwrap();
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
        "-w",
        "home",
    ];
    let seen = at_terminal(&place, &words, b"", &[(ASKS, b"n\r")], "</skill_context>");
    let question = seen.text.split(ASKS).next().unwrap();
    assert!(
        question.contains("  CHANGED   since the yes of "),
        "{question}"
    );
    assert!(question.contains(" more files\r\n"), "{question}");
    assert!(
        question.contains("\r\n  may       read and change everything in /"),
        "{question}"
    );
    assert!(question.contains("/home\r\n  [y] "), "{question}");
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
    let seen = at_terminal(&place, &words, b"", &keys, "a person answered `no`");
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

/// A command whose terminal is looked at before and after it; its number is in the file `pid`.
fn watched(command: &str) -> String {
    let command = format!("{} {command}", env!("CARGO_BIN_EXE_skillrun"));
    format!("stty -g; sh -c 'echo $$ > pid; exec {command}'; echo \"ended with $?\"; stty -g")
}

/// Whether the terminal is after a command as it was before.
fn check_left_as_it_was(seen: &Seen) {
    let modes: Vec<&str> = seen
        .text
        .lines()
        .filter(|line| line.split(':').count() > 20)
        .collect();
    assert_eq!(modes.len(), 2, "{}", seen.text);
    assert_eq!(modes[0], modes[1], "{}", seen.text);
}

fn signal(place: &Place, signal: Signal) {
    let pid = place.read("pid").trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn a_signal_at_a_question_leaves_the_terminal_as_it_was() {
    for kind in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        for command in ["load ./demo", "expand --skill ./demo < text"] {
            let place = place(DESCRIPTION, "print('it', 'ran')\n");
            place.write("text", "!{scripts/a.py}");
            let mut talk = Talk::start(&place, &["/bin/sh", "-c", &watched(command)], b"");
            talk.hear(ASKS);
            signal(&place, kind);
            let seen = talk.end();
            assert!(
                seen.text.contains("ended with 130\r\n"),
                "{kind:?}: {}",
                seen.text
            );
            assert!(!seen.text.contains("it ran"), "{}", seen.text);
            check_left_as_it_was(&seen);
        }
    }
}

/// `scripts/a.py` runs and `scripts/b.py` is asked for.
fn beside(place: &Place, options: &str) -> Talk {
    let waits =
        "import os, time\nopen('begun', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)\n";
    place.write("demo/scripts/a.py", waits);
    place.write("demo/scripts/b.py", "print('it', 'ran')\n");
    place.write("workspace/file", "");
    place.write("text", "%{scripts/a.py}!{scripts/b.py}!{scripts/b.py 2}");
    let command = format!("expand --skill ./demo -w workspace {options} < text");
    let mut talk = Talk::start(place, &["/bin/sh", "-c", &watched(&command)], b"");
    talk.hear(ASKS);
    talk.own.write_all(b"y\r").unwrap();
    talk.hear(ASKS);
    while !place.path("workspace/begun").exists() {
        std::thread::yield_now();
    }
    talk
}

fn a_signal_at_a_question_ends_what_runs_beside_it() {
    for kind in [Signal::TERM, Signal::HUP] {
        let place = place(DESCRIPTION, "");
        let talk = beside(&place, "");
        signal(&place, kind);
        let seen = talk.end();
        assert!(seen.text.contains("ended with 130\r\n"), "{}", seen.text);
        assert_eq!(seen.text.matches(ASKS).count(), 2, "{}", seen.text);
        check_left_as_it_was(&seen);
        let lines = place.audit();
        assert!(
            lines.iter().any(|line| line["status"] == "cancelled"),
            "{lines:?}"
        );
        place.check_left_behind().unwrap();
    }
}
