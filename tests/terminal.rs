//! Asking at a terminal: a person's keys, and what is no clear yes.

use crate::folder::needs;
use crate::place::Place;
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

pub(crate) fn trials() -> Vec<Trial> {
    let mut all = listed::trials();
    let in_tmux = Trial::test("no_text_before_a_question_hides_or_imitates_it", || {
        no_text_before_a_question_hides_or_imitates_it();
        Ok(())
    });
    all.push(needs(in_tmux, "tmux"));
    all
}

mod listed {
    use super::*;

    trials! {
        a_yes_at_the_terminal_runs_the_script_and_is_remembered,
        whatever_is_not_clearly_yes_is_no,
        ctrl_c_is_a_no_and_ends_the_command,
        what_was_typed_before_the_question_answers_nothing,
        a_skill_cannot_steer_the_terminal_or_hide_its_arguments,
        a_question_ends_and_resets_everything_before_its_first_character,
        a_question_is_drawn_again_with_every_key_and_while_nobody_answers,
        the_screen_before_a_question_comes_back_after_it,
        a_question_that_is_longer_than_the_window_is_shown_in_pages,
        the_mouse_wheel_answers_nothing,
        a_terminal_without_a_screen_gets_the_text_alone,
        what_changed_since_the_last_yes_is_shown_on_request,
        changed_files_cannot_hide_what_would_be_touched,
        all_arguments_are_shown_on_request,
        somebody_who_does_not_see_the_question_is_not_asked,
        no_message_steers_the_terminal,
        no_text_of_a_skill_steers_the_terminal_and_a_pipe_gets_every_byte,
        a_signal_at_a_question_leaves_the_terminal_as_it_was,
        a_signal_at_a_question_ends_what_runs_beside_it,
    }
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
        talk.press(press);
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
        loop {
            if let Some(at) = self.text[self.heard..].find(until) {
                self.heard += at + until.len();
                return;
            }
            assert!(self.more(), "`{until}` never came after: {}", self.text);
        }
    }

    /// Presses keys, and waits until the first of them is shown if it is: the question that was heard may be drawn
    /// again before that, and must not be taken for another one.
    fn press(&mut self, keys: &[u8]) {
        self.own.write_all(keys).unwrap();
        if let Some(shown @ b' '..=b'~') = keys.first() {
            self.hear(&format!("> {}", char::from(*shown)));
        }
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

/// The end of a question that waits for its first key.
pub(crate) const ASKS: &str = "[n] no\r\n> \u{1b}[?25h";
/// What begins a question, once.
const OPENS: &str = "\u{1b}[22;0t";

/// How often somebody was asked.
fn questions(seen: &Seen) -> usize {
    seen.text.matches(OPENS).count()
}

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
    assert_eq!(questions(&seen), 2, "{}", seen.text);
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
    let question = question.strip_prefix(&before_question(24)).unwrap();
    assert!(
        !question.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{question:?}"
    );
    assert!(question.contains("\\u{1b}[2J\\u{202e}xxx"), "{question}");
    assert!(question.contains("x… (505"), "{question}");
}

/// Everything that is ended and reset before the first character of a question in a window with so many rows.
fn before_question(rows: usize) -> String {
    let mut all = opening();
    all.push_str(&frame(rows));
    all
}

/// What comes once, on the screen that the person sees.
fn opening() -> String {
    let steps: [(&str, &str); 4] = [
        ("strings, Tektronix and VT52 modes end", END),
        (
            "another alternate screen is left, margins go, the cursor stays",
            "\u{1b}7\u{1b}[?1049l\u{1b}[?69l\u{1b}[r\u{1b}8\u{1b}[!p",
        ),
        ("modes", MODES),
        ("the title is kept", "\u{1b}[22;0t"),
    ];
    steps.map(|(_, bytes)| bytes).concat()
}

/// What comes before each drawing.
fn frame(rows: usize) -> String {
    let colours = [
        "R", "104", "105", "110", "111", "112", "113", "114", "117", "119",
    ];
    let colours: String = colours
        .map(|number| format!("\u{1b}]{number}\u{1b}\\"))
        .concat();
    let single: String = (1..=rows)
        .map(|row| format!("\u{1b}[{row};1H\u{1b}#5"))
        .collect();
    let steps: [(&str, &str); 8] = [
        ("strings, Tektronix and VT52 modes end", END),
        ("modes", MODES),
        (
            "the alternate screen, without origin and margins",
            "\u{1b}[?1049h\u{1b}[?6l\u{1b}[r",
        ),
        (
            "its keyboard protocol and pictures",
            "\u{1b}[=0;1u\u{1b}_Ga=d,d=A;\u{1b}\\",
        ),
        ("every colour that can be set", &colours),
        ("the title", "\u{1b}]2;skillrun asks\u{1b}\\"),
        (
            "colours of its own",
            "\u{1b}[38;5;231m\u{1b}[48;5;16m\u{1b}[38;2;255;255;255m\u{1b}[48;2;1;1;1m\u{1b}[22;24;25;27;28;29m",
        ),
        ("rows of single width", &single),
    ];
    steps.map(|(_, bytes)| bytes).concat() + "\u{1b}[H\u{1b}[J"
}

const END: &str = "\u{18}\u{1b}\\\u{1b}\u{3}\u{1b}<";
const MODES: &str = "\u{1b}[?2026l\u{1b}[0m\u{1b}[0\"q\u{1b}]8;;\u{1b}\\\
    \u{1b}%G\u{1b}(B\u{1b})B\u{1b}*B\u{1b}+B\u{f}\u{1b}[2l\u{1b}[4l\u{1b}[12h\u{1b}[20l\
    \u{1b}[?1l\u{1b}[?5l\u{1b}[?42l\u{1b}[?45l\u{1b}[?66l\u{1b}>\u{1b}[?69l\u{1b}[?7h\u{1b}[?25h\u{1b}[0 q\
    \u{1b}[?9l\u{1b}[?1000l\u{1b}[?1001l\u{1b}[?1002l\u{1b}[?1003l\u{1b}[?1004l\u{1b}[?1005l\
    \u{1b}[?1006l\u{1b}[?1015l\u{1b}[?1016l\u{1b}[?2004l\u{1b}[?2031l\u{1b}[?2048l\u{1b}[>4m\u{1b}[?9001l\
    \u{1b}[?5W";

/// Loads the skill after `printf` has written this.
fn load_after(place: &Place, before: &str, keys: &[(&str, &[u8])]) -> Seen {
    let command = format!(
        "printf '{before}'; exec {} load ./demo",
        env!("CARGO_BIN_EXE_skillrun")
    );
    let words = ["/bin/sh", "-c", &command];
    at_terminal(place, &words, b"", keys, "</skill_context>")
}

fn a_question_ends_and_resets_everything_before_its_first_character() {
    let place = place(DESCRIPTION, "print(1)\n");
    // The last one is a string that nobody ended: it would swallow what follows.
    let hostile =
        "\\033]10;#000000\\007\\033]11;#000000\\007\\033[8m\\033[1;2r\\033[?25lhidden\\033]0;";
    let seen = load_after(&place, hostile, &[(ASKS, b"n\r")]);
    let reset = before_question(24);
    assert!(
        seen.text.contains(&format!(
            "hidden\u{1b}]0;{reset}skillrun: may `scripts/a.py`"
        )),
        "{:?}",
        seen.text
    );
}

fn a_question_is_drawn_again_with_every_key_and_while_nobody_answers() {
    let place = place(DESCRIPTION, "print('it', 'ran')\n");
    let words = [env!("CARGO_BIN_EXE_skillrun"), "load", "./demo"];
    let mut talk = Talk::start(&place, &words, b"");
    talk.hear(ASKS);
    // Whatever covers it, it is there again without a key.
    let drawn = format!("{}skillrun: may ", frame(24));
    talk.hear(&drawn);
    talk.hear(ASKS);
    talk.own.write_all(b"y").unwrap();
    talk.hear("[n] no\r\n> y\u{1b}[?25h");
    talk.own.write_all(b"\x7f").unwrap();
    talk.hear(ASKS);
    talk.own.write_all(b"\r").unwrap();
    talk.hear("</skill_context>");
    let seen = talk.end();
    assert_eq!(seen.code, 126, "{}", seen.text);
    assert_eq!(questions(&seen), 1, "{:?}", seen.text);
    // At first, once without a key, and with two keys; a slow machine draws it more often.
    assert!(seen.text.matches(&drawn).count() >= 4, "{:?}", seen.text);
}

fn the_screen_before_a_question_comes_back_after_it() {
    let colours = frame(0);
    let colours = colours.split("\u{1b}]2;").next().unwrap();
    let colours = &colours[colours.find("\u{1b}]R").unwrap()..];
    let closes =
        format!("{END}{MODES}{colours}\u{1b}[r\u{1b}[H\u{1b}[J\u{1b}[?1049l{MODES}\u{1b}[23;0t");
    let place = place(DESCRIPTION, "print('it', 'ran')\n");
    let seen = load(&place, b"", &[(ASKS, b"y\r")]);
    assert_eq!(seen.text.matches(&closes).count(), 1, "{:?}", seen.text);
    // Nothing else is left of the question: what is printed next stands where the cursor was.
    let (_, after) = seen.text.split_once(&closes).unwrap();
    assert!(after.starts_with("<skill_context"), "{after:?}");
    // A signal ends the command, and the screen comes back all the same.
    let place = self::place(DESCRIPTION, "print('it', 'ran')\n");
    let mut talk = Talk::start(&place, &["/bin/sh", "-c", &watched("load ./demo")], b"");
    talk.hear(ASKS);
    signal(&place, Signal::TERM);
    let seen = talk.end();
    assert_eq!(seen.text.matches(&closes).count(), 1, "{:?}", seen.text);
}

fn a_question_that_is_longer_than_the_window_is_shown_in_pages() {
    let place = place(DESCRIPTION, "print('it', 'ran')\n");
    let mut words = vec![env!("CARGO_BIN_EXE_skillrun"), "load", "./demo"];
    for at in 0..30 {
        std::fs::create_dir(place.path(&format!("d{at}"))).unwrap();
    }
    let grants: Vec<String> = (0..30).map(|at| format!("read:d{at}")).collect();
    for grant in &grants {
        words.extend(["--allow", grant]);
    }
    let more = "page 1 of 2: Enter shows the next one, anything else is no\r\n> \u{1b}[?25h";
    let keys: [(&str, &[u8]); 2] = [(more, b"\r"), (ASKS, b"y\r")];
    let seen = at_terminal(&place, &words, b"", &keys, "</skill_context>");
    assert_eq!(seen.code, 0, "{}", seen.text);
    let pages = [seen.text.split(more).next().unwrap(), {
        let (_, last) = seen.text.split_once(more).unwrap();
        last.split(ASKS).next().unwrap()
    }];
    let of = |page: &str| -> Vec<usize> {
        let named = |at: &usize| page.contains(&format!("/d{at}\r\n"));
        (0..30).filter(named).collect()
    };
    let (first, last) = (of(pages[0]), of(pages[1]));
    assert!(first.len() > 5 && last.len() > 5, "{first:?} {last:?}");
    assert_eq!(first.len() + last.len(), 30, "{first:?} {last:?}");
    assert!(pages[1].contains("(30 grants above)\r\n"), "{}", pages[1]);
    // A yes before all of it was seen is none.
    let place = self::place(DESCRIPTION, "print('it', 'ran')\n");
    for at in 0..30 {
        std::fs::create_dir(place.path(&format!("d{at}"))).unwrap();
    }
    let seen = at_terminal(&place, &words, b"", &[(more, b"y\r")], "</skill_context>");
    assert_eq!(seen.code, 126, "{}", seen.text);
    assert!(!seen.text.contains("it ran"), "{}", seen.text);
}

fn the_mouse_wheel_answers_nothing() {
    let place = place(DESCRIPTION, "print('it', 'ran')\n");
    let keys = b"\x1b[A\x1bOB\x1b[1;2Ay\r";
    let words = [env!("CARGO_BIN_EXE_skillrun"), "load", "./demo"];
    let seen = at_terminal(&place, &words, b"", &[(ASKS, keys)], "</skill_context>");
    assert_eq!(seen.code, 0, "{}", seen.text);
    // Its twin: other sequences are Escape, which is no.
    for keys in [
        &b"\x1b[?1;2cy\r"[..],
        b"\x1b]l y\r",
        b"\x1by\r",
        b"\x1b[200~y\r\x1b[201~",
    ] {
        let place = self::place(DESCRIPTION, "print('it', 'ran')\n");
        let seen = at_terminal(&place, &words, b"", &[(ASKS, keys)], "</skill_context>");
        assert_eq!(seen.code, 126, "{keys:?}: {}", seen.text);
    }
}

fn a_terminal_without_a_screen_gets_the_text_alone() {
    let place = place(DESCRIPTION, "print('it', 'ran')\n");
    let command = format!(
        "TERM=dumb NO_COLOR=1 exec {} load ./demo",
        env!("CARGO_BIN_EXE_skillrun")
    );
    let mut talk = Talk::start(&place, &["/bin/sh", "-c", &command], b"");
    talk.hear("[n] no\r\n> ");
    talk.own.write_all(b"y\r").unwrap();
    let seen = talk.end();
    assert_eq!(seen.code, 0, "{}", seen.text);
    assert!(!seen.text.contains('\u{1b}'), "{:?}", seen.text);
    assert!(
        seen.text
            .starts_with("\r\nskillrun: may `scripts/a.py` of skill `demo` run?\r\n"),
        "{:?}",
        seen.text
    );
}

/// A terminal that is real: what a person would see.
struct Tmux<'a> {
    place: &'a Place,
}

impl<'a> Tmux<'a> {
    /// Writes `before` to a terminal of 80 by 24, and loads the skill there.
    fn load_after(place: &'a Place, before: &str) -> Self {
        let command = format!(
            "printf 'first\\nsecond '; printf '{before}'; {} load ./demo >/dev/null; printf 'ended %s' $?; sleep 1000",
            env!("CARGO_BIN_EXE_skillrun")
        );
        let tmux = Self { place };
        let words = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
        ];
        tmux.tmux(&[&words[..], &["sh", "-c", &command]].concat());
        tmux
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut command = self.place.program("tmux");
        command
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C.UTF-8");
        let end = self.place.end_of(command.args(["-S", "tmux"]).args(words));
        assert_eq!(end.code, 0, "{words:?}: {}", end.stderr);
        end.stdout
    }

    /// The screen with its colours, once this is on it.
    fn screen(&self, wanted: &str) -> String {
        // Each look takes some milliseconds.
        for _ in 0..5000 {
            let screen = self.tmux(&["capture-pane", "-p", "-e"]);
            if screen.contains(wanted) {
                return screen;
            }
        }
        panic!("{wanted}: {}", self.tmux(&["capture-pane", "-p", "-e"]));
    }

    fn state(&self, format: &str) -> String {
        self.tmux(&["display", "-p", format])
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn no_text_before_a_question_hides_or_imitates_it() {
    let plain = concat!(
        "\u{1b}[38;2;255;255;255m\u{1b}[48;2;1;1;1mskillrun: may `scripts/a.py` of skill `demo` run?\n",
        "  skill     demo: A demo.\n",
    );
    for before in [
        "",
        // Text and background are black; a forged question stands there in white.
        "\\033]10;#000000\\007\\033]11;#000000\\007\\033[38;2;255;255;255mFORGED",
        "\\033]4;15;#000000\\007\\033]4;231;#000000\\007\\033]4;16;#ffffff\\007FORGED",
        // Strings and sequences that nobody ended.
        "FORGED\\033]0;",
        "FORGED\\033P1$q",
        "FORGED\\033P1$q\\033",
        "FORGED\\033_G",
        "FORGED\\033^",
        "FORGED\\033X",
        "FORGED\\033k",
        "FORGED\\033[38;2",
        "FORGED\\033",
        "FORGED\\342\\200",
        // Other screens, regions, modes and character sets.
        "\\033[?1049hFORGED\\033[2;3r\\033[?6h",
        "\\033[?47hFORGED",
        "FORGED\\033[23;24r\\033[?6h",
        "FORGED\\033(0\\016\\033)0",
        "FORGED\\033[?7l\\033[?25l\\033[4h\\033[?5h\\033[8m\\033[30;40m",
        "FORGED\\033[?2026h",
        "FORGED\\033[?1000h\\033[?1003h\\033[?1006h\\033[?2004h\\033=\\033[?1h",
    ] {
        let place = place(DESCRIPTION, "print(1)\n");
        let tmux = Tmux::load_after(&place, before);
        let screen = tmux.screen("[n] no");
        assert!(screen.starts_with(plain), "{before}: {screen}");
        assert!(!screen.contains("FORGED"), "{before}: {screen}");
        assert_eq!(
            tmux.state("#{pane_fg} #{pane_bg} #{alternate_on} #{scroll_region_upper}-#{scroll_region_lower} #{cursor_x},#{cursor_y} #{cursor_flag}#{insert_flag}#{keypad_flag}#{mouse_any_flag}#{origin_flag}#{wrap_flag} #{pane_title}"),
            "default default 1 0-23 2,8 100001 skillrun asks\n",
            "{before}"
        );
        tmux.tmux(&["send-keys", "n", "Enter"]);
        // The person's screen is there again, and the question is not.
        let screen = tmux.screen("ended 126");
        assert!(!screen.contains("skillrun: may"), "{before}: {screen}");
        assert_eq!(
            tmux.state("#{pane_fg} #{pane_bg} #{alternate_on}"),
            "default default 0\n"
        );
        if before.is_empty() {
            assert!(screen.starts_with("first\nsecond "), "{screen}");
        }
    }
}

fn what_changed_since_the_last_yes_is_shown_on_request() {
    let place = place(DESCRIPTION, "print('one')\n");
    assert_eq!(load(&place, b"", &[(ASKS, b"y\r")]).code, 0);
    place.write("demo/scripts/a.py", "print('two')\n");
    place.write("demo/new.txt", "");
    let asks = "[d] show what changed\r\n> \u{1b}[?25h";
    let shown = "page 1 of 2: Enter shows the next one, anything else is no\r\n> \u{1b}[?25h";
    let seen = load(
        &place,
        b"",
        &[(asks, b"d\r"), (shown, b"\r"), (asks, b"y\r")],
    );
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
    let question = question.strip_prefix(&before_question(24)).unwrap();
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
    let asks = "[a] show all arguments\r\n> \u{1b}[?25h";
    let page = |at: usize| {
        format!("page {at} of 3: Enter shows the next one, anything else is no\r\n> \u{1b}[?25h")
    };
    let [one, two] = [page(1), page(2)];
    let keys: [(&str, &[u8]); 4] = [(asks, b"a\r"), (&one, b"\r"), (&two, b"\r"), (asks, b"n\r")];
    let seen = at_terminal(&place, &words, b"", &keys, "a person answered `no`");
    let (first, all) = seen.text.split_once(asks).unwrap();
    // The pages without what stands between them.
    let (all, rest) = all.split_once(one.as_str()).unwrap();
    let all = &all[all.rfind("\u{1b}[J").unwrap() + 3..];
    let (rest, asked) = rest.split_once(two.as_str()).unwrap();
    let all = format!("{all}{}", &rest[rest.rfind("\u{1b}[J").unwrap() + 3..]);
    assert!(first.contains("\"a\" … and 7 more\r\n"), "{first}");
    assert!(!first.contains("rm -r"), "{first}");
    let all = all.replace("\r\n            ", "");
    assert!(
        all.contains(&format!("26: \"a\"27: \"{last}\"\r\n")),
        "{all}"
    );
    // What is asked stands again where it is answered.
    assert!(
        asked.contains("skillrun: may `scripts/a.py` of skill `demo` run?"),
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

/// What steers a terminal: Escape, the same as one character, and text that runs backwards.
fn no_text_of_a_skill_steers_the_terminal_and_a_pipe_gets_every_byte() {
    let steers = ['\u{1b}', '\u{9b}', '\u{7f}', '\u{202e}', '\u{7}'];
    let place = Place::new();
    place.write(
        "skills/demo/SKILL.md",
        "---\nname: demo\ndescription: \"A \\e[31mred\\x9b demo.\\x7f\\u202e\"\nmetadata:\n  version: \"1\\x9b\"\n---\n\u{9b}31m \u{202e} scripts/b.py\n",
    );
    place.write("skills/demo/scripts/a\u{9b}\u{1b}.py", "# \u{9b}red\n");
    place.write("answers.json", "[]");
    place.end(&["run", "demo", "x\u{9b}\u{7f}.py"]);
    let commands: [&[&str]; 15] = [
        &["prompt", "--format", "xml"],
        &["prompt", "--format", "markdown"],
        &["prompt", "--json"],
        &["list"],
        &["list", "--json"],
        &["show", "demo"],
        &["show", "demo", "--json"],
        &["check", "demo"],
        &["check", "demo", "--format", "json"],
        &["check", "demo", "--format", "sarif"],
        &["check", "demo", "--format", "github"],
        &["load", "demo"],
        &["load", "demo", "--json"],
        &["audit", "show"],
        &["audit", "show", "--json"],
    ];
    let mut piped = String::new();
    for words in commands {
        let all = [&[env!("CARGO_BIN_EXE_skillrun")][..], words].concat();
        // Messages have colours of our own.
        let talk = Talk::start(&place, &[&["env", "NO_COLOR=1"], &all[..]].concat(), b"");
        let seen = talk.end();
        assert!(!seen.text.is_empty(), "{words:?}");
        assert!(!seen.text.contains(steers), "{words:?}: {:?}", seen.text);
        piped.push_str(&place.end(words).stdout);
    }
    // Into a pipe, the reference's block is what the reference prints.
    let xml = place.end(commands[0]).stdout;
    let description = "<description>\nA \u{1b}[31mred\u{9b} demo.\u{7f}\u{202e}\n</description>";
    assert!(xml.contains(description), "{xml:?}");
    assert!(piped.contains('\u{9b}') && piped.contains('\u{202e}'));
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
    talk.press(b"y\r");
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
        assert_eq!(questions(&seen), 2, "{}", seen.text);
        check_left_as_it_was(&seen);
        let lines = place.audit();
        assert!(
            lines.iter().any(|line| line["status"] == "cancelled"),
            "{lines:?}"
        );
        place.check_left_behind().unwrap();
    }
}
