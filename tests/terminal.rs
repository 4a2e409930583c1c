//! Questions at a terminal: a person's keys, and what is not a clear yes.

use crate::env::TestEnv;
use crate::folder::needs;
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

pub(crate) fn tests() -> Vec<Trial> {
    let mut all = listed::tests();
    let in_tmux = Trial::test("no_text_before_a_question_hides_or_imitates_it", || {
        no_text_before_a_question_hides_or_imitates_it();
        Ok(())
    });
    all.push(needs(in_tmux, "tmux"));
    all
}

mod listed {
    use super::*;

    tests! {
        a_yes_at_the_terminal_runs_the_script_and_is_remembered,
        any_answer_that_is_not_clearly_yes_is_no,
        ctrl_c_is_a_no_and_ends_the_command,
        keys_typed_before_the_question_do_not_answer_it,
        a_skill_cannot_steer_the_terminal_or_hide_its_arguments,
        a_question_resets_the_terminal_before_its_first_character,
        a_question_is_drawn_again_with_every_key_and_while_it_waits,
        the_screen_before_a_question_comes_back_after_it,
        a_question_that_is_longer_than_the_window_is_shown_in_pages,
        a_window_too_small_for_the_question_accepts_no_yes,
        the_mouse_wheel_answers_nothing,
        a_terminal_without_a_screen_gets_the_text_alone,
        what_changed_since_the_last_yes_is_shown_on_request,
        changed_files_cannot_hide_what_would_be_touched,
        all_arguments_are_shown_on_request,
        a_person_who_does_not_see_the_question_is_not_asked,
        no_message_steers_the_terminal,
        no_text_of_a_skill_steers_the_terminal_and_a_pipe_gets_every_byte,
        a_signal_at_a_question_leaves_the_terminal_as_it_was,
        a_signal_at_a_question_ends_the_runs_beside_it,
        a_terminal_that_is_closed_after_a_question_leaves_a_record,
    }
}

const DESCRIPTION: &str = "A demo.";

fn env(description: &str, script: &str) -> TestEnv {
    let env = TestEnv::new();
    let text = format!("---\nname: demo\ndescription: \"{description}\"\n---\nscripts/a.py\n");
    env.write("demo/SKILL.md", text);
    env.write("demo/scripts/a.py", script);
    env
}

/// The output at the terminal, and how the command ended.
pub(crate) struct Seen {
    pub(crate) text: String,
    pub(crate) code: i32,
}

/// Loads the skill at a terminal of its own.
fn load(env: &TestEnv, before: &[u8], keys: &[(&str, &[u8])]) -> Seen {
    let words = [env!("CARGO_BIN_EXE_skillrun"), "load", "./demo"];
    at_terminal(env, &words, before, keys, "</skill_context>")
}

/// Runs a command at a terminal of its own; each of `keys` is pressed after the text before it has appeared, and then the
/// test waits for `last`.
pub(crate) fn at_terminal(
    env: &TestEnv,
    words: &[&str],
    before: &[u8],
    keys: &[(&str, &[u8])],
    last: &str,
) -> Seen {
    let mut run = TerminalRun::start(env, words, before);
    for (until, press) in keys {
        run.wait_for(until);
        run.press(press);
    }
    run.wait_for(last);
    run.end()
}

/// A command at a terminal of its own, and its output there.
struct TerminalRun {
    own: File,
    /// The terminal exists before anything reads it.
    held: File,
    child: Child,
    text: String,
    searched: usize,
}

impl TerminalRun {
    fn start(env: &TestEnv, words: &[&str], before: &[u8]) -> Self {
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
        let child = env
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
            searched: 0,
        }
    }

    fn wait_for(&mut self, until: &str) {
        loop {
            if let Some(at) = self.text[self.searched..].find(until) {
                self.searched += at + until.len();
                return;
            }
            assert!(
                self.more(),
                "`{until}` was not printed after: {}",
                self.text
            );
        }
    }

    /// Presses keys, and waits until the first of them is echoed, if it is: the answered question may be drawn
    /// again before that, and must not be taken for another one.
    fn press(&mut self, keys: &[u8]) {
        self.own.write_all(keys).unwrap();
        if let Some(shown @ b' '..=b'~') = keys.first() {
            self.wait_for(&format!("> {}", char::from(*shown)));
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
/// The beginning of a question, printed once.
const OPENS: &str = "\u{1b}[22;0t";

/// How many questions were asked.
fn questions(seen: &Seen) -> usize {
    seen.text.matches(OPENS).count()
}

fn a_yes_at_the_terminal_runs_the_script_and_is_remembered() {
    let env = env(DESCRIPTION, "# Says that it ran.\nprint('it', 'ran')\n");
    let seen = load(&env, b"", &[(ASKS, b"y\r")]);
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
    let seen = load(&env, b"", &[]);
    assert!(
        !seen.text.contains("[y]") && seen.text.contains("it ran"),
        "{}",
        seen.text
    );
}

fn any_answer_that_is_not_clearly_yes_is_no() {
    let env = env(DESCRIPTION, "print('it', 'ran')\n");
    let no = "a person answered `no`";
    let unclear = "the answer was neither yes nor no";
    for (keys, why) in [
        (&b"n\r"[..], no),
        (b"No\r", no),
        (b"\r", no),
        (b"\x04", no),
        (b"\x1c", no),
        (b"y\x7f\r", no),
        // A key that moves the cursor redraws the question.
        (b"\x1b[A\r", no),
        (b"yess\r", unclear),
        (b"y y\r", unclear),
        (b"d\r", unclear),
        ("ÿ\r".as_bytes(), unclear),
        (b"ny\r", unclear),
    ] {
        let seen = load(&env, b"", &[(ASKS, keys)]);
        assert_eq!(seen.code, 126, "{keys:?}: {}", seen.text);
        assert!(!seen.text.contains("it ran"), "{keys:?}: {}", seen.text);
        assert!(seen.text.contains(why), "{keys:?}: {}", seen.text);
    }
    // The twins: a corrected mistake, and a yes in any spelling.
    for keys in [&b"n\x7fy\r"[..], b"yes\r", b"Y\r", b"Yes\r", b"YES\r"] {
        let env = self::env(DESCRIPTION, "print('it', 'ran')\n");
        let seen = load(&env, b"", &[(ASKS, keys)]);
        assert_eq!(seen.code, 0, "{keys:?}: {}", seen.text);
    }
}

fn ctrl_c_is_a_no_and_ends_the_command() {
    let env = self::env(DESCRIPTION, "print('it', 'ran')\n");
    let words = [env!("CARGO_BIN_EXE_skillrun"), "load", "./demo"];
    let seen = at_terminal(&env, &words, b"", &[(ASKS, b"\x03")], "");
    assert_eq!(seen.code, 130, "{}", seen.text);
    assert!(
        seen.text.contains("the question was interrupted"),
        "{}",
        seen.text
    );
    assert!(!seen.text.contains("it ran"), "{}", seen.text);
    assert_eq!(env.audit().pop().unwrap()["event"], "refused");
    // One is enough for many markers, and for the runs beside the question.
    let env = self::env(DESCRIPTION, "");
    let mut run = run_with_question(&env, "--events events");
    run.own.write_all(b"\x03").unwrap();
    let seen = run.end();
    assert!(seen.text.contains("ended with 130\r\n"), "{}", seen.text);
    assert_eq!(questions(&seen), 2, "{}", seen.text);
    check_left_as_it_was(&seen);
    let lines = env.audit();
    for (key, value) in [("event", "refused"), ("status", "cancelled")] {
        assert!(lines.iter().any(|line| line[key] == value), "{lines:?}");
    }
    assert!(env.read("events").contains("the question was interrupted"));
    env.check_left_behind().unwrap();
}

fn keys_typed_before_the_question_do_not_answer_it() {
    let env = env(DESCRIPTION, "print('it', 'ran')\n");
    let seen = load(&env, b"y\ny\ny\n", &[(ASKS, b"\r")]);
    assert_eq!(seen.code, 126, "{}", seen.text);
    assert!(!seen.text.contains("it ran"), "{}", seen.text);
}

fn a_skill_cannot_steer_the_terminal_or_hide_its_arguments() {
    let long = format!("\\e[2J\\u202e{}", "x".repeat(500));
    let env = env(&long, "# \u{1b}]0;title\u{7}\nprint(1)\n");
    let seen = load(&env, b"", &[(ASKS, b"n\r")]);
    let question = seen.text.split("[y]").next().unwrap();
    let question = question.strip_prefix(&before_question(24)).unwrap();
    assert!(
        !question.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{question:?}"
    );
    assert!(question.contains("\\u{1b}[2J\\u{202e}xxx"), "{question}");
    assert!(question.contains("x… (505"), "{question}");
}

/// Everything that is ended and reset before the first character of a question in a window with this many rows.
fn before_question(rows: usize) -> String {
    let mut all = opening();
    all.push_str(&frame(rows));
    all
}

/// Printed once, on the screen that the person sees.
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

/// Printed before each drawing.
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
fn load_after(env: &TestEnv, before: &str, keys: &[(&str, &[u8])]) -> Seen {
    let command = format!(
        "printf '{before}'; exec {} load ./demo",
        env!("CARGO_BIN_EXE_skillrun")
    );
    let words = ["/bin/sh", "-c", &command];
    at_terminal(env, &words, b"", keys, "</skill_context>")
}

fn a_question_resets_the_terminal_before_its_first_character() {
    let env = env(DESCRIPTION, "print(1)\n");
    // The last one is a string that is never terminated: it would swallow what follows.
    let hostile =
        "\\033]10;#000000\\007\\033]11;#000000\\007\\033[8m\\033[1;2r\\033[?25lhidden\\033]0;";
    let seen = load_after(&env, hostile, &[(ASKS, b"n\r")]);
    let reset = before_question(24);
    assert!(
        seen.text.contains(&format!(
            "hidden\u{1b}]0;{reset}skillrun: may `scripts/a.py`"
        )),
        "{:?}",
        seen.text
    );
}

fn a_question_is_drawn_again_with_every_key_and_while_it_waits() {
    let env = env(DESCRIPTION, "print('it', 'ran')\n");
    let words = [env!("CARGO_BIN_EXE_skillrun"), "load", "./demo"];
    let mut run = TerminalRun::start(&env, &words, b"");
    run.wait_for(ASKS);
    // Whatever covers the question, it is drawn again without a key.
    let drawn = format!("{}skillrun: may ", frame(24));
    run.wait_for(&drawn);
    run.wait_for(ASKS);
    run.own.write_all(b"y").unwrap();
    run.wait_for("[n] no\r\n> y\u{1b}[?25h");
    run.own.write_all(b"\x7f").unwrap();
    run.wait_for(ASKS);
    run.own.write_all(b"\r").unwrap();
    run.wait_for("</skill_context>");
    let seen = run.end();
    assert_eq!(seen.code, 126, "{}", seen.text);
    assert_eq!(questions(&seen), 1, "{:?}", seen.text);
    // The first time, once without a key, and with two keys; a slow machine draws it more often.
    assert!(seen.text.matches(&drawn).count() >= 4, "{:?}", seen.text);
}

fn the_screen_before_a_question_comes_back_after_it() {
    let colours = frame(0);
    let colours = colours.split("\u{1b}]2;").next().unwrap();
    let colours = &colours[colours.find("\u{1b}]R").unwrap()..];
    let closes =
        format!("{END}{MODES}{colours}\u{1b}[r\u{1b}[H\u{1b}[J\u{1b}[?1049l{MODES}\u{1b}[23;0t");
    let env = env(DESCRIPTION, "print('it', 'ran')\n");
    let seen = load(&env, b"", &[(ASKS, b"y\r")]);
    assert_eq!(seen.text.matches(&closes).count(), 1, "{:?}", seen.text);
    // Nothing else is left of the question: the next output starts where the cursor was.
    let (_, after) = seen.text.split_once(&closes).unwrap();
    assert!(after.starts_with("<skill_context"), "{after:?}");
    // A signal ends the command, and the screen is restored nevertheless.
    let env = self::env(DESCRIPTION, "print('it', 'ran')\n");
    let mut run = TerminalRun::start(&env, &["/bin/sh", "-c", &with_settings("load ./demo")], b"");
    run.wait_for(ASKS);
    signal(&env, Signal::TERM);
    let seen = run.end();
    assert_eq!(seen.text.matches(&closes).count(), 1, "{:?}", seen.text);
}

fn a_question_that_is_longer_than_the_window_is_shown_in_pages() {
    let env = env(DESCRIPTION, "print('it', 'ran')\n");
    let mut words = vec![env!("CARGO_BIN_EXE_skillrun"), "load", "./demo"];
    for at in 0..30 {
        std::fs::create_dir(env.path(&format!("d{at}"))).unwrap();
    }
    let grants: Vec<String> = (0..30).map(|at| format!("read:d{at}")).collect();
    for grant in &grants {
        words.extend(["--allow", grant]);
    }
    let more = "page 1 of 2: Enter shows the next one, anything else is no\r\n> \u{1b}[?25h";
    let keys: [(&str, &[u8]); 2] = [(more, b"\r"), (ASKS, b"y\r")];
    let seen = at_terminal(&env, &words, b"", &keys, "</skill_context>");
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
    // A yes before all pages were seen does not count.
    let env = self::env(DESCRIPTION, "print('it', 'ran')\n");
    for at in 0..30 {
        std::fs::create_dir(env.path(&format!("d{at}"))).unwrap();
    }
    let seen = at_terminal(&env, &words, b"", &[(more, b"y\r")], "</skill_context>");
    assert_eq!(seen.code, 126, "{}", seen.text);
    assert!(!seen.text.contains("it ran"), "{}", seen.text);
}

fn a_window_too_small_for_the_question_accepts_no_yes() {
    let small = "skillrun asks: enlarge the window to answer\r\n> \u{1b}[?25h";
    for (rows, asks, code) in [(1, small, 126), (7, small, 126), (24, ASKS, 0)] {
        let env = env(DESCRIPTION, "print('it', 'ran')\n");
        let binary = env!("CARGO_BIN_EXE_skillrun");
        let steps = format!("stty rows {rows} cols 80; exec {binary} load ./demo");
        let words = ["/bin/sh", "-c", &steps];
        let seen = at_terminal(&env, &words, b"", &[(asks, b"y\r")], "</skill_context>");
        assert_eq!(seen.code, code, "{rows}: {}", seen.text);
        assert_eq!(seen.text.contains("it ran"), code == 0, "{}", seen.text);
    }
    // `policy trust` asks in the same way. In a narrow window rows of a policy would be wrapped to column 0.
    let asks = "trust this policy? [y/N]\r\n> \u{1b}[?25h";
    for (rows, columns, asks, code) in [
        (7, 80, small, 126),
        (24, 32, small, 126),
        (24, 33, asks, 0),
        (24, 80, asks, 0),
    ] {
        let env = TestEnv::new();
        env.write("skillrun.toml", "");
        let binary = env!("CARGO_BIN_EXE_skillrun");
        let steps = format!("stty rows {rows} cols {columns}; exec {binary} policy trust");
        let words = ["/bin/sh", "-c", &steps];
        let last = "skillrun.toml";
        let seen = at_terminal(&env, &words, b"", &[(asks, b"y\r")], last);
        assert_eq!(seen.code, code, "{rows}, {columns}: {}", seen.text);
    }
}

fn the_mouse_wheel_answers_nothing() {
    let env = env(DESCRIPTION, "print('it', 'ran')\n");
    let keys = b"\x1b[A\x1bOB\x1b[1;2Ay\r";
    let words = [env!("CARGO_BIN_EXE_skillrun"), "load", "./demo"];
    let seen = at_terminal(&env, &words, b"", &[(ASKS, keys)], "</skill_context>");
    assert_eq!(seen.code, 0, "{}", seen.text);
    // The twin: other sequences count as Escape, which is no.
    for keys in [
        &b"\x1b[?1;2cy\r"[..],
        b"\x1b]l y\r",
        b"\x1by\r",
        b"\x1b[200~y\r\x1b[201~",
    ] {
        let env = self::env(DESCRIPTION, "print('it', 'ran')\n");
        let seen = at_terminal(&env, &words, b"", &[(ASKS, keys)], "</skill_context>");
        assert_eq!(seen.code, 126, "{keys:?}: {}", seen.text);
    }
}

fn a_terminal_without_a_screen_gets_the_text_alone() {
    let env = env(DESCRIPTION, "print('it', 'ran')\n");
    let command = format!(
        "TERM=dumb NO_COLOR=1 exec {} load ./demo",
        env!("CARGO_BIN_EXE_skillrun")
    );
    let mut run = TerminalRun::start(&env, &["/bin/sh", "-c", &command], b"");
    run.wait_for("[n] no\r\n> ");
    run.own.write_all(b"y\r").unwrap();
    let seen = run.end();
    assert_eq!(seen.code, 0, "{}", seen.text);
    assert!(!seen.text.contains('\u{1b}'), "{:?}", seen.text);
    assert!(
        seen.text
            .starts_with("\r\nskillrun: may `scripts/a.py` of skill `demo` run?\r\n"),
        "{:?}",
        seen.text
    );
}

/// A real terminal emulator: what a person would see.
struct Tmux<'a> {
    env: &'a TestEnv,
}

impl<'a> Tmux<'a> {
    /// Writes `before` to a terminal of 80 by 24, and loads the skill there.
    fn load_after(env: &'a TestEnv, before: &str) -> Self {
        let command = format!(
            "printf 'first\\nsecond '; printf '{before}'; {} load ./demo >/dev/null; printf 'ended %s' $?; sleep 1000",
            env!("CARGO_BIN_EXE_skillrun")
        );
        let tmux = Self { env };
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
        let mut command = self.env.program("tmux");
        command
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C.UTF-8");
        let end = self.env.end_of(command.args(["-S", "tmux"]).args(words));
        assert_eq!(end.code, 0, "{words:?}: {}", end.stderr);
        end.stdout
    }

    /// The screen with its colours, once this is on it.
    fn screen(&self, wanted: &str) -> String {
        // Each capture takes some milliseconds.
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
        // Text and background are black; a forged question is shown in white.
        "\\033]10;#000000\\007\\033]11;#000000\\007\\033[38;2;255;255;255mFORGED",
        "\\033]4;15;#000000\\007\\033]4;231;#000000\\007\\033]4;16;#ffffff\\007FORGED",
        // Strings and sequences that are never terminated.
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
        let env = env(DESCRIPTION, "print(1)\n");
        let tmux = Tmux::load_after(&env, before);
        let screen = tmux.screen("[n] no");
        assert!(screen.starts_with(plain), "{before}: {screen}");
        assert!(!screen.contains("FORGED"), "{before}: {screen}");
        assert_eq!(
            tmux.state("#{pane_fg} #{pane_bg} #{alternate_on} #{scroll_region_upper}-#{scroll_region_lower} #{cursor_x},#{cursor_y} #{cursor_flag}#{insert_flag}#{keypad_flag}#{mouse_any_flag}#{origin_flag}#{wrap_flag} #{pane_title}"),
            "default default 1 0-23 2,8 100001 skillrun asks\n",
            "{before}"
        );
        tmux.tmux(&["send-keys", "n", "Enter"]);
        // The person's screen is restored, and the question is gone.
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
    let env = env(DESCRIPTION, "print('one')\n");
    assert_eq!(load(&env, b"", &[(ASKS, b"y\r")]).code, 0);
    env.write("demo/scripts/a.py", "print('two')\n");
    env.write("demo/new.txt", "");
    let asks = "[d] show what changed\r\n> \u{1b}[?25h";
    let shown = "page 1 of 2: Enter shows the next one, anything else is no\r\n> \u{1b}[?25h";
    let seen = load(&env, b"", &[(asks, b"d\r"), (shown, b"\r"), (asks, b"y\r")]);
    assert_eq!(seen.code, 0, "{}", seen.text);
    for part in [
        "CHANGED   since it was approved at ",
        "new new.txt",
        "changed scripts/a.py",
        "- print('one')",
        "+ print('two')",
    ] {
        assert!(seen.text.contains(part), "{part}: {}", seen.text);
    }
}

fn changed_files_cannot_hide_what_would_be_touched() {
    let env = env(DESCRIPTION, "print('one')\n");
    assert_eq!(load(&env, b"", &[(ASKS, b"y\r")]).code, 0);
    for at in 0..20 {
        let name = format!(
            "{at:<62}  may       touch nothing but the skill, read-only, and a scratch directory{:40}",
            ""
        );
        env.write(&format!("demo/{name}"), "");
    }
    let words = [
        env!("CARGO_BIN_EXE_skillrun"),
        "load",
        "./demo",
        "-w",
        "home",
    ];
    let seen = at_terminal(&env, &words, b"", &[(ASKS, b"n\r")], "</skill_context>");
    let question = seen.text.split(ASKS).next().unwrap();
    let question = question.strip_prefix(&before_question(24)).unwrap();
    assert!(
        question.contains("  CHANGED   since it was approved at "),
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
    let env = env(DESCRIPTION, "print('it', 'ran')\n");
    let last = format!("{}; rm -r", "x".repeat(400));
    env.write(
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
    let seen = at_terminal(&env, &words, b"", &keys, "a person answered `no`");
    let (first, all) = seen.text.split_once(asks).unwrap();
    // The pages without the text between them.
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
    // The request is repeated where it is answered.
    assert!(
        asked.contains("skillrun: may `scripts/a.py` of skill `demo` run?"),
        "{all}"
    );
}

fn a_person_who_does_not_see_the_question_is_not_asked() {
    let env = env(DESCRIPTION, "print(1)\n");
    let end = env.end(&["load", "./demo"]);
    assert_eq!(end.code, 126);
    assert!(
        end.stderr.contains("there is no terminal to ask at"),
        "{}",
        end.stderr
    );
}

fn no_message_steers_the_terminal() {
    let env = env(DESCRIPTION, "print(1)\n");
    let end = env.end(&[
        "load",
        "./demo",
        "--allow",
        "gelt:\u{1b}[2J\u{202e}\u{200b}\nhint: -y",
    ]);
    assert_eq!(end.code, 125);
    assert_eq!(
        end.stderr,
        "error: `gelt:\\u{1b}[2J\\u{202e}\\u{200b}\\nhint: -y` is not a grant: it contains the control character '\\u{1b}'\n"
    );
    // The parser of the command line has its own messages.
    for words in [
        ["approvals", "revoke", "7\u{9b}31m\u{1b}"].as_slice(),
        &["run", "./demo", "--\u{9b}31m\u{1b}"],
        &["\u{9b}31m\u{1b}"],
    ] {
        let end = env.end(words);
        assert_eq!(end.code, 125);
        assert!(end.stderr.contains("\\u{9b}31m\\u{1b}"), "{}", end.stderr);
        assert!(!end.stderr.contains(['\u{9b}', '\u{1b}']), "{}", end.stderr);
    }
}

/// Control sequences of a terminal: Escape, the same as one character, and right-to-left overrides.
fn no_text_of_a_skill_steers_the_terminal_and_a_pipe_gets_every_byte() {
    let steers = ['\u{1b}', '\u{9b}', '\u{7f}', '\u{202e}', '\u{7}'];
    let env = TestEnv::new();
    env.write(
        "skills/demo/SKILL.md",
        "---\nname: demo\ndescription: \"A \\e[31mred\\x9b demo.\\x7f\\u202e\"\nmetadata:\n  version: \"1\\x9b\"\n---\n\u{9b}31m \u{202e} scripts/b.py\n",
    );
    env.write("skills/demo/scripts/a\u{9b}\u{1b}.py", "# \u{9b}red\n");
    env.write("answers.json", "[]");
    env.end(&["run", "demo", "x\u{9b}\u{7f}.py"]);
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
        // Messages contain our own colours.
        let run = TerminalRun::start(&env, &[&["env", "NO_COLOR=1"], &all[..]].concat(), b"");
        let seen = run.end();
        assert!(!seen.text.is_empty(), "{words:?}");
        assert!(!seen.text.contains(steers), "{words:?}: {:?}", seen.text);
        piped.push_str(&env.end(words).stdout);
    }
    // In a pipe, the block of a reference is what the reference prints.
    let xml = env.end(commands[0]).stdout;
    let description = "<description>\nA \u{1b}[31mred\u{9b} demo.\u{7f}\u{202e}\n</description>";
    assert!(xml.contains(description), "{xml:?}");
    assert!(piped.contains('\u{9b}') && piped.contains('\u{202e}'));
}

/// A command that records the terminal's settings before and after it; its process id is in the file `pid`.
fn with_settings(command: &str) -> String {
    let command = format!("{} {command}", env!("CARGO_BIN_EXE_skillrun"));
    format!("stty -g; sh -c 'echo $$ > pid; exec {command}'; echo \"ended with $?\"; stty -g")
}

/// Whether the terminal's settings after a command are those from before.
fn check_left_as_it_was(seen: &Seen) {
    let modes: Vec<&str> = seen
        .text
        .lines()
        .filter(|line| line.split(':').count() > 20)
        .collect();
    assert_eq!(modes.len(), 2, "{}", seen.text);
    assert_eq!(modes[0], modes[1], "{}", seen.text);
}

fn signal(env: &TestEnv, signal: Signal) {
    let pid = env.read("pid").trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn a_signal_at_a_question_leaves_the_terminal_as_it_was() {
    for kind in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        for command in ["load ./demo", "expand --skill ./demo < text"] {
            let env = env(DESCRIPTION, "print('it', 'ran')\n");
            env.write("text", "!{scripts/a.py}");
            let mut run =
                TerminalRun::start(&env, &["/bin/sh", "-c", &with_settings(command)], b"");
            run.wait_for(ASKS);
            signal(&env, kind);
            let seen = run.end();
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

/// `scripts/a.py` runs, and a question asks for `scripts/b.py`.
fn run_with_question(env: &TestEnv, options: &str) -> TerminalRun {
    let waits =
        "import os, time\nopen('begun', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)\n";
    env.write("demo/scripts/a.py", waits);
    env.write("demo/scripts/b.py", "print('it', 'ran')\n");
    env.write("workspace/file", "");
    env.write("text", "%{scripts/a.py}!{scripts/b.py}!{scripts/b.py 2}");
    let command = format!("expand --skill ./demo -w workspace {options} < text");
    let mut run = TerminalRun::start(env, &["/bin/sh", "-c", &with_settings(&command)], b"");
    run.wait_for(ASKS);
    run.press(b"y\r");
    run.wait_for(ASKS);
    while !env.path("workspace/begun").exists() {
        std::thread::yield_now();
    }
    run
}

fn a_signal_at_a_question_ends_the_runs_beside_it() {
    for kind in [Signal::TERM, Signal::HUP] {
        let env = env(DESCRIPTION, "");
        let run = run_with_question(&env, "");
        signal(&env, kind);
        let seen = run.end();
        assert!(seen.text.contains("ended with 130\r\n"), "{}", seen.text);
        assert_eq!(questions(&seen), 2, "{}", seen.text);
        check_left_as_it_was(&seen);
        let lines = env.audit();
        assert!(
            lines.iter().any(|line| line["status"] == "cancelled"),
            "{lines:?}"
        );
        env.check_left_behind().unwrap();
    }
}

fn a_terminal_that_is_closed_after_a_question_leaves_a_record() {
    for command in [
        "load ./demo -w workspace",
        "expand --skill ./demo -w workspace < text",
    ] {
        let env = env(DESCRIPTION, "open('begun', 'w')\nwhile True: pass\n");
        env.write("workspace/file", "");
        env.write("text", "%{scripts/a.py}");
        let mut run = TerminalRun::start(&env, &["/bin/sh", "-c", &with_settings(command)], b"");
        run.wait_for(ASKS);
        run.press(b"y\r");
        while !env.path("workspace/begun").exists() {
            std::thread::yield_now();
        }
        signal(&env, Signal::HUP);
        let seen = run.end();
        assert!(seen.text.contains("ended with 130\r\n"), "{}", seen.text);
        check_left_as_it_was(&seen);
        let last = env.audit().pop().unwrap();
        assert_eq!(
            (&last["event"], &last["status"]),
            (&"finished".into(), &"cancelled".into()),
            "{command}"
        );
        env.check_left_behind().unwrap();
    }
}
