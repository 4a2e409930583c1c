//! `skillrun expand`: what becomes of a model's text and of the markers in it.

use crate::library::host;
use crate::place::{End, Place, SKILL_MD};
use crate::terminal::{ASKS, at_terminal};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use skillrun::{Decision, Expander, Marker, Piece, Policy};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

trials! {
    r9s_phase_1_a_marker_for_its_effect_runs_and_leaves_the_text,
    r9s_phase_2_a_captured_marker_is_replaced_by_what_it_prints,
    r9s_phase_2_captured_output_can_be_handed_back_as_events,
    r9s_phase_3_without_a_yes_no_marker_runs,
    a_script_is_named_as_instructions_name_it,
    a_script_that_two_skills_have_is_named_with_its_skill,
    the_name_of_a_folder_comes_before_the_name_that_a_skill_gives_itself,
    what_is_no_marker_passes_byte_by_byte,
    text_is_passed_on_before_the_next_comes,
    a_marker_may_come_byte_by_byte,
    text_behind_an_effect_does_not_wait_for_it,
    markers_run_one_after_the_other,
    what_a_script_prints_holds_no_markers,
    captured_output_is_cut_at_its_limit,
    failed_and_timed_out_markers_are_told_as_events,
    markers_that_mean_nothing_are_told_and_removed,
    events_that_cannot_be_written_stop_everything,
    a_marker_that_changed_its_skill_leaves_nothing_approved_behind_it,
    a_skill_that_is_not_there_is_told_before_any_text,
    ctrl_c_stops_a_marker_and_leaves_nothing_behind,
    a_text_that_nobody_reads_is_no_crash,
    a_model_cannot_steer_the_terminal_where_questions_are_asked,
    every_marker_beyond_a_thousand_is_refused,
}

const ECHO: &str = "import sys\nprint('ran', *sys.argv[1:])\n";

pub(crate) fn place() -> Place {
    let place = Place::with_script(ECHO);
    std::fs::create_dir(place.path("workspace")).unwrap();
    place
}

fn start(place: &Place, words: &[&str]) -> (Child, ChildStdin, ChildStdout) {
    let mut command = place.command(&[&["expand"], words].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    (child, stdin, stdout)
}

/// Sends the whole text through.
pub(crate) fn expand(place: &Place, text: &str, words: &[&str]) -> End {
    let mut command = place.command(&[&["expand"], words].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let end = place.end_of_child(child);
    // Whoever refuses to read has said so.
    let _ = writer.join().unwrap();
    place.check_left_behind().unwrap();
    end
}

pub(crate) const EVENTS: [&str; 2] = ["--events", "events.jsonl"];

pub(crate) fn events(place: &Place) -> Vec<Value> {
    let text = place.read("events.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn hear(stdout: &mut ChildStdout, expected: &str) {
    let mut bytes = vec![0; expected.len()];
    stdout.read_exact(&mut bytes).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), expected);
}

fn r9s_phase_1_a_marker_for_its_effect_runs_and_leaves_the_text() {
    let place = place();
    place.write(
        "skill/scripts/say.py",
        "import sys\nopen('said', 'a').write(sys.argv[1] + '\\n')\nprint('noise')\n",
    );
    let text = "One%{scripts/say.py \"a b\"}, two!{! scripts/say.py c}.\n";
    let end = expand(
        &place,
        text,
        &["--skill", "./skill", "-w", "workspace", "-y"],
    );
    let expected = ("One, two.\n", "", 0);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        expected
    );
    assert_eq!(place.read("workspace/said"), "a b\nc\n");
}

fn r9s_phase_2_a_captured_marker_is_replaced_by_what_it_prints() {
    let place = place();
    let text = "It says «!{scripts/main.py 'a  b' \"c}\" d\\ e}».\n";
    let end = expand(&place, text, &["--skill", "./skill", "-y"]);
    assert_eq!(end.stdout, "It says «ran a  b c} d e».\n");
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
}

fn r9s_phase_2_captured_output_can_be_handed_back_as_events() {
    let place = place();
    let words = ["--skill", "./skill", "-y", "--hand-back"];
    let end = expand(
        &place,
        "a!{scripts/main.py x}b",
        &[&words[..], &EVENTS].concat(),
    );
    assert_eq!((end.stdout.as_str(), end.code), ("ab", 0));
    let [event] = &events(&place)[..] else {
        panic!("{:?}", events(&place))
    };
    assert_eq!(event["stdout"], "ran x\n");
    assert_eq!(event["kind"], "capture");
    assert_eq!(event["source"], "!{scripts/main.py x}");
    assert_eq!(
        event["command"],
        serde_json::json!(["scripts/main.py", "x"])
    );
    assert_eq!(
        (&event["marker"], &event["success"]),
        (&1.into(), &true.into())
    );
    let end = expand(&place, "", &words);
    assert_eq!(end.code, 2, "{}", end.stderr);
}

fn r9s_phase_3_without_a_yes_no_marker_runs() {
    let place = place();
    let words = [&["--skill", "./skill"][..], &EVENTS].concat();
    let end = expand(&place, "a !{scripts/main.py} b", &words);
    assert_eq!((end.stdout.as_str(), end.code), ("a  b", 126));
    let why = "`scripts/main.py` of skill `skill` was not approved: there is no terminal to ask at";
    assert!(end.stderr.contains(why), "{}", end.stderr);
    let [event] = &events(&place)[..] else {
        panic!()
    };
    assert_eq!(
        (&event["status"], &event["reason"]),
        (&"refused".into(), &why.into())
    );
    // What would allow it is for the operator, and not for the model that may read the events.
    assert!(event.get("hint").is_none() && !event.to_string().contains("skillrun.toml"));
    place.write(
        "answers.json",
        r#"[{"skill": "skill", "script": "scripts/main.py", "answer": "yes_once"}]"#,
    );
    let end = expand(
        &place,
        "a !{scripts/main.py} b",
        &["--skill", "./skill", "--answers", "answers.json"],
    );
    assert_eq!((end.stdout.as_str(), end.code), ("a ran b", 0));
}

fn a_script_is_named_as_instructions_name_it() {
    let place = place();
    place.write("skill/root.py", ECHO);
    let absolute = place.text("skill/scripts/main.py");
    for command in [
        "scripts/main.py",
        "./scripts/main.py",
        "skill/scripts/main.py",
        "skills/skill/scripts/main.py",
        "{baseDir}/scripts/main.py",
        "${CLAUDE_SKILL_DIR}/scripts/main.py",
        "python3 scripts/main.py",
        "python {baseDir}/scripts/main.py",
        "./root.py",
        absolute.as_str(),
    ] {
        let end = expand(
            &place,
            &format!("!{{{command} x}}"),
            &["--skill", "./skill", "-y"],
        );
        assert_eq!(
            (end.stdout.as_str(), end.code),
            ("ran x", 0),
            "{command}: {}",
            end.stderr
        );
    }
    for (command, why) in [
        ("main.py", "`run:main.py` is not granted"),
        ("root.py", "`run:root.py` is not granted"),
        (
            "scripts/other.py",
            "script `scripts/other.py` not found in skill `skill`",
        ),
        (
            "other/scripts/main.py",
            "script `other/scripts/main.py` not found in skill `skill`",
        ),
        ("../skill/scripts/main.py", "leads out of skill `skill`"),
        ("/bin/echo", "leads out of skill `skill`"),
        ("bash scripts/main.py", "`run:bash` is not granted"),
        ("python3 -c scripts/main.py", "`run:python3` is not granted"),
    ] {
        let end = expand(
            &place,
            &format!("!{{{command} x}}"),
            &["--skill", "./skill", "-y"],
        );
        assert_eq!((end.stdout.as_str(), end.code), ("", 126), "{command}");
        assert!(end.stderr.contains(why), "{command}: {}", end.stderr);
    }
}

fn a_script_that_two_skills_have_is_named_with_its_skill() {
    let place = place();
    for name in ["one", "two"] {
        place.write(
            &format!("{name}/SKILL.md"),
            SKILL_MD.replace("name: skill", &format!("name: {name}")),
        );
        place.write(
            &format!("{name}/scripts/x.py"),
            format!("print('{name}')\n"),
        );
    }
    place.write("two/scripts/y.py", "print('y')\n");
    let words = ["--skill", "./one", "--skill", "./two", "-y"];
    let text =
        "!{one/scripts/x.py} !{two/scripts/x.py} !{scripts/y.py} !{scripts/x.py} !{scripts/z.py}";
    let end = expand(&place, text, &words);
    assert_eq!((end.stdout.as_str(), end.code), ("one two y  ", 126));
    for why in [
        "`scripts/x.py` is ambiguous: `one/scripts/x.py`, `two/scripts/x.py`",
        "no loaded skill has a script `scripts/z.py`",
    ] {
        assert!(end.stderr.contains(why), "{}", end.stderr);
    }
    // What cannot be resolved is on the record as well.
    let refused = place
        .audit()
        .into_iter()
        .filter(|line| line["event"] == "refused");
    let scripts: Vec<Value> = refused.map(|line| line["script"].clone()).collect();
    assert_eq!(scripts, ["scripts/x.py", "scripts/z.py"]);
}

fn the_name_of_a_folder_comes_before_the_name_that_a_skill_gives_itself() {
    let place = Place::new();
    let skill = |folder: &str, name: &str, script: &str| {
        let matter = format!("---\nname: {name}\ndescription: A skill.\n---\n");
        place.write(&format!("{folder}/SKILL.md"), matter);
        let script = format!("{folder}/{script}");
        place.write(&script, format!("print('{script}')\n"));
    };
    skill("a", "a", "scripts/x.py");
    skill("b", "a", "scripts/y.py");
    skill("c", "a", "scripts/z.py");
    skill("d", "d", "a/scripts/y.py");
    skill("more/a", "a", "scripts/x.py");
    let of = |folders: &[&str], path: &str| {
        let mut words = vec!["-y"];
        words.extend(folders.iter().flat_map(|folder| ["--skill", folder]));
        expand(&place, &format!("!{{{path}}}"), &words)
    };
    for (folders, path, why) in [
        // `b` says that it is `a`.
        (
            &["./a", "./b"][..],
            "a/scripts/y.py",
            "error: script `scripts/y.py` not found in skill `a`\nhint: did you mean `scripts/x.py`? there are: scripts/x.py\n",
        ),
        (
            &["./b", "./a"],
            "skills/a/scripts/y.py",
            "error: script `scripts/y.py` not found in skill `a`\nhint: did you mean `scripts/x.py`? there are: scripts/x.py\n",
        ),
        // Two say so, and no folder has the name.
        (
            &["./b", "./c"],
            "a/scripts/y.py",
            "error: `a/scripts/y.py` is ambiguous: `b/scripts/y.py`, `c/scripts/y.py`\nhint: name it with its skill\n",
        ),
        // `d` has a folder that looks like the skill.
        (
            &["./a", "./d"],
            "a/scripts/y.py",
            "error: `a/scripts/y.py` is ambiguous: `a/scripts/y.py`, `d/a/scripts/y.py`\nhint: name it with its skill\n",
        ),
        (
            &["./a", "./more/a"],
            "a/scripts/x.py",
            "error: `a/scripts/x.py` is ambiguous: `{root}/a/scripts/x.py`, `{root}/more/a/scripts/x.py`\n\
             hint: name it with its skill\n",
        ),
    ] {
        let end = of(folders, path);
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("", why, 126),
            "{folders:?}"
        );
    }
    // The twins: what a folder's name means, and a name that no folder has.
    for (folders, path, printed) in [
        (&["./a", "./b"][..], "a/scripts/x.py", "a/scripts/x.py"),
        (&["./a", "./b"], "b/scripts/y.py", "b/scripts/y.py"),
        (&["./a", "./b"], "scripts/y.py", "b/scripts/y.py"),
        (&["./b"], "a/scripts/y.py", "b/scripts/y.py"),
        (&["./b", "./d"], "d/a/scripts/y.py", "d/a/scripts/y.py"),
        (
            &["./a", "./more/a"],
            &place.text("more/a/scripts/x.py"),
            "more/a/scripts/x.py",
        ),
    ] {
        let end = of(folders, path);
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            (printed, "", 0),
            "{folders:?} {path}"
        );
    }
}

fn what_is_no_marker_passes_byte_by_byte() {
    let place = place();
    let text = "100% !important {a} ${b} !{} %{ } \r\n\u{1b}[1m\0é😀 a!\n!{never \"closed}\n%{x";
    let end = expand(&place, text, &["-y"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (text, "", 0)
    );
    assert_eq!(place.audit().len(), 0);
}

fn text_is_passed_on_before_the_next_comes() {
    let place = place();
    let (child, mut stdin, mut stdout) = start(&place, &["-y"]);
    for (part, passed) in [
        ("Hel", "Hel"),
        ("lo wor!", "lo wor"),
        ("ld ", "!ld "),
        ("%", ""),
        ("d", "%d"),
    ] {
        stdin.write_all(part.as_bytes()).unwrap();
        hear(&mut stdout, passed);
    }
    drop(stdin);
    assert_eq!(place.end_of_child(child).code, 0);
}

fn a_marker_may_come_byte_by_byte() {
    let place = place();
    let (child, mut stdin, mut stdout) = start(&place, &["--skill", "./skill", "-y"]);
    for byte in "ä!{scripts/main.py \"ö 😀\"}ü".bytes() {
        stdin.write_all(&[byte]).unwrap();
    }
    hear(&mut stdout, "äran ö 😀ü");
    drop(stdin);
    assert_eq!(place.end_of_child(child).code, 0);
}

fn text_behind_an_effect_does_not_wait_for_it() {
    let place = place();
    place.write(
        "skill/scripts/wait.py",
        "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nopen('went', 'w')\n",
    );
    let words = ["--skill", "./skill", "-w", "workspace", "-y"];
    let (child, mut stdin, mut stdout) = start(&place, &words);
    stdin.write_all(b"a %{scripts/wait.py}b").unwrap();
    hear(&mut stdout, "a b");
    assert!(!place.path("workspace/went").exists());
    place.write("workspace/go", "");
    drop(stdin);
    assert_eq!(place.end_of_child(child).code, 0);
    assert!(place.path("workspace/went").exists());
}

fn markers_run_one_after_the_other() {
    let place = place();
    place.write(
        "skill/scripts/add.py",
        "import sys, time\ntime.sleep(float(sys.argv[2]))\nopen('log', 'a').write(sys.argv[1])\nprint(open('log').read())\n",
    );
    let text = "%{scripts/add.py a 0.2}%{scripts/add.py b 0}!{scripts/add.py c 0}%{scripts/add.py d 0}!{scripts/add.py e 0}";
    let end = expand(
        &place,
        text,
        &["--skill", "./skill", "-w", "workspace", "-y"],
    );
    assert_eq!((end.stdout.as_str(), end.code), ("abcabcde", 0));
}

fn what_a_script_prints_holds_no_markers() {
    let place = place();
    place.write(
        "skill/scripts/evil.py",
        "print('!{scripts/main.py x} %{scripts/main.py y}')\nprint('!{', end='')\n",
    );
    let end = expand(
        &place,
        "!{scripts/evil.py}scripts/main.py z}",
        &["--skill", "./skill", "-y"],
    );
    let expected = "!{scripts/main.py x} %{scripts/main.py y}\n!{scripts/main.py z}";
    assert_eq!((end.stdout.as_str(), end.code), (expected, 0));
    assert_eq!(place.audit().len(), 2);
}

fn captured_output_is_cut_at_its_limit() {
    let place = place();
    place.write("skill/scripts/flood.py", "print('x' * 1000000)\n");
    let words = [&["--skill", "./skill", "-y"][..], &EVENTS].concat();
    let end = expand(&place, "!{scripts/flood.py}|", &words);
    let marker = "[... output truncated ...]";
    let (kept, rest) = end.stdout.split_once(marker).unwrap();
    assert_eq!(kept.trim_end(), "x".repeat(64 * 1024));
    assert_eq!(rest, "|");
    let event = &events(&place)[0];
    assert_eq!(
        (&event["stdout_truncated"], &event["stdout_bytes"]),
        (&true.into(), &1_000_001.into())
    );
    let end = expand(
        &place,
        "!{scripts/flood.py}|",
        &["--skill", "./skill", "-y", "--max-output", "1KiB"],
    );
    assert_eq!(end.stdout.find(['\n', '[']), Some(1024));
    let end = expand(&place, "", &["--max-output", "1 furlong"]);
    assert_eq!(
        (end.stderr.as_str(), end.code),
        (
            "error: `1 furlong` is not a size: write `256MiB`, `1GiB`, `10MB`\n",
            125
        )
    );
    let end = expand(&place, "text", &["--max-output", "1"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", "error: output `1` is out of range: 1KiB to 1GiB\n", 125)
    );
}

fn failed_and_timed_out_markers_are_told_as_events() {
    let place = place();
    place.write(
        "skill/scripts/fail.py",
        "import sys\nprint('half')\nsys.exit('oh')\n",
    );
    place.write(
        "skill/scripts/hang.py",
        "print('begun', flush=True)\nwhile True: pass\n",
    );
    place.write(
        "policy.toml",
        "approval = \"never\"\n[limits]\ntime = \"1s\"\n",
    );
    let words = [
        &["--skill", "./skill", "--policy", "policy.toml"][..],
        &EVENTS,
    ]
    .concat();
    let end = expand(
        &place,
        "a !{scripts/fail.py} b !{scripts/hang.py} c\n",
        &words,
    );
    assert_eq!((end.stdout.as_str(), end.code), ("a half b begun c\n", 0));
    assert_eq!(
        end.stderr,
        "warning: marker 1 `scripts/fail.py` ended with exit code 1\n\
         warning: `scripts/hang.py` was stopped at its time limit of 1s\n"
    );
    let told: Vec<_> = events(&place)
        .iter()
        .map(|event| {
            format!(
                "{} {} {}",
                event["status"], event["exit_code"], event["success"]
            )
        })
        .collect();
    assert_eq!(told, ["\"exited\" 1 false", "\"timed_out\" 124 false"]);
    assert_eq!(events(&place)[0]["stderr"], "oh\n");
}

fn markers_that_mean_nothing_are_told_and_removed() {
    let place = place();
    let words = [&["--skill", "./skill", "-y"][..], &EVENTS].concat();
    let end = expand(
        &place,
        "a!{git log | head}b%{echo x > y}c!{a/b\u{1b}[2J}d",
        &words,
    );
    assert_eq!((end.stdout.as_str(), end.code), ("abcd", 126));
    assert!(!end.stderr.contains('\u{1b}'), "{:?}", end.stderr);
    let told: Vec<_> = events(&place)
        .iter()
        .map(|event| {
            format!(
                "{}: {}",
                event["status"].as_str().unwrap(),
                event["reason"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "invalid: there is no shell that would understand `|`",
            "invalid: there is no shell that would understand `>`",
            "not_found: script `a/b\\u{1b}[2J` not found in skill `skill`",
        ]
    );
    // The twin: in quotes it is an argument.
    let end = expand(
        &place,
        "!{scripts/main.py '|' \">\"}",
        &["--skill", "./skill", "-y"],
    );
    assert_eq!((end.stdout.as_str(), end.code), ("ran | >", 0));
}

fn events_that_cannot_be_written_stop_everything() {
    let place = place();
    for (file, why) in [
        ("workspace", "error: events `workspace`: is a directory\n"),
        (
            "none/events",
            "error: events `none/events`: no such file or directory\n",
        ),
    ] {
        let end = expand(
            &place,
            "a !{scripts/main.py}",
            &["--skill", "./skill", "-y", "--events", file],
        );
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("", why, 125)
        );
    }
    assert_eq!(place.audit().len(), 0);
    // A descriptor that the caller opened may be anything.
    let full = |text: &str| {
        place.write("text", text);
        let line = "exec \"$0\" expand --skill ./skill -y --events /dev/fd/3 3>/dev/full <text";
        let mut command = place.program("/bin/sh");
        command.args(["-c", line, env!("CARGO_BIN_EXE_skillrun")]);
        place.end_of(&mut command)
    };
    let end = full("!{scripts/main.py}!{scripts/main.py}");
    assert_eq!(
        (end.stderr.as_str(), end.code),
        ("error: events: no space left on device\n", 125)
    );
    assert_eq!(place.audit().len(), 2);
    // The text is not lost.
    let end = full("a !{nothing} b !{scripts/main.py} c");
    assert_eq!((end.stdout.as_str(), end.code), ("a  b  c", 125));
}

fn a_marker_that_changed_its_skill_leaves_nothing_approved_behind_it() {
    let place = place();
    place.write("skill/scripts/lib.py", "print('good')\n");
    place.write("skill/scripts/uses.py", "import lib\n");
    place.write(
        "skill/scripts/change.py",
        "import time\ntime.sleep(0.3)\nopen(__file__.replace('change', 'lib'), 'w').write('print(\"evil\")')\n",
    );
    place.write(
        "answers.json",
        r#"[{"skill": "skill", "script": "scripts/change.py", "answer": "yes_once"},
            {"skill": "skill", "script": "scripts/uses.py", "answer": "yes_once"}]"#,
    );
    let words = [
        "--skill",
        "./skill",
        "--allow",
        "write:skill",
        "--answers",
        "answers.json",
    ];
    let end = expand(&place, "!{scripts/uses.py}", &words);
    assert_eq!((end.stdout.as_str(), end.code), ("good", 0));
    let end = expand(&place, "a %{scripts/change.py}!{scripts/uses.py} b", &words);
    assert_eq!(end.stdout, "a  b");
    let why =
        "`scripts/uses.py` of skill `skill` did not run: its skill changed after it was approved";
    assert!(end.stderr.contains(why), "{}", end.stderr);
}

fn a_skill_that_is_not_there_is_told_before_any_text() {
    let place = place();
    let end = expand(&place, "text", &["--skill", "skil", "--skills", "."]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 127));
    assert_eq!(
        end.stderr,
        "error: skill `skil` not found\nhint: did you mean `skill`?\n"
    );
}

fn ctrl_c_stops_a_marker_and_leaves_nothing_behind() {
    let place = place();
    place.write(
        "skill/scripts/hang.py",
        "open('begun', 'w')\nwhile True: pass\n",
    );
    let words = ["--skill", "./skill", "-w", "workspace", "-y"];
    let (child, mut stdin, mut stdout) = start(&place, &words);
    stdin.write_all(b"a !{scripts/hang.py} b").unwrap();
    hear(&mut stdout, "a ");
    while !place.path("workspace/begun").exists() {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let end = place.end_of_child(child);
    assert_eq!(end.code, 130, "{}", end.stderr);
    assert_eq!(place.audit().pop().unwrap()["status"], "cancelled");
    place.check_left_behind().unwrap();
    drop(stdin);
    // The same while nothing runs.
    let (child, mut stdin, mut stdout) = start(&place, &words);
    stdin.write_all(b"a").unwrap();
    hear(&mut stdout, "a");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(place.end_of_child(child).code, 130);
}

fn a_text_that_nobody_reads_is_no_crash() {
    let place = place();
    let (child, mut stdin, stdout) = start(&place, &["-y"]);
    drop(stdout);
    // It may be gone before all is written.
    let _ = stdin.write_all(&b"text ".repeat(100_000));
    drop(stdin);
    let end = place.end_of_child(child);
    assert_eq!(
        (end.stderr.as_str(), end.code),
        ("error: broken pipe\n", 125)
    );
}

fn a_model_cannot_steer_the_terminal_where_questions_are_asked() {
    let place = place();
    let text = "\u{1b}[2J\u{1b}[8mhidden\u{202e}\r\tthere !{scripts/main.py '\u{1b}]0;x\u{7}'} end!{scripts/nope.py}\n";
    place.write("text", text);
    let command = format!(
        "exec {} expand --skill ./skill < text",
        env!("CARGO_BIN_EXE_skillrun")
    );
    let words = ["/bin/sh", "-c", &command];
    let seen = at_terminal(&place, &words, b"", &[(ASKS, b"y\r")], "there are: ");
    for steers in ["\u{1b}[8m", "\u{1b}]0", "\u{202e}"] {
        assert!(!seen.text.contains(steers), "{:?}", seen.text);
    }
    // The first control character is our own: it ends whatever sequence is open before the question is drawn.
    let before = seen.text.split('\u{18}').next();
    assert_eq!(
        before,
        Some("\\u{1b}[2J\\u{1b}[8mhidden\\u{202e}\\r\tthere ")
    );
    assert!(
        seen.text.contains("ran \\u{1b}]0;x\\u{7} end"),
        "{}",
        seen.text
    );
}

fn every_marker_beyond_a_thousand_is_refused() {
    let mut expander = Expander::new(vec![]);
    let pieces = expander.push(b"%{date}".repeat(1002).as_slice());
    let markers: Vec<Marker> = pieces.into_iter().map(marker).collect();
    assert_eq!(markers.len(), 1002);
    let (place, policy) = (
        place(),
        Policy::parse("allow = [\"run:date\"]", Path::new("/")).unwrap(),
    );
    let Decision::Refused(refusal) = host(&place)
        .decide(&policy, markers[1000].request.clone())
        .unwrap()
    else {
        panic!();
    };
    assert_eq!(refusal.message, "the text holds more than 1000 markers");
    assert!(
        matches!(&markers[999].request.subject, skillrun::Subject::Command(name) if name == "date")
    );
}

pub(crate) fn marker(piece: Piece) -> Marker {
    match piece {
        Piece::Marker(marker) => marker,
        Piece::Text(text) => panic!("{text}"),
    }
}
