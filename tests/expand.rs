//! `skillrun expand`: what happens to a model's text and to the markers in it.

use crate::env::{End, SKILL_MD, TestEnv};
use crate::library::host;
use crate::terminal::{ASKS, at_terminal};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use skillrun::expand::{Marker, Piece};
use skillrun::{Decision, Expander, Policy};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

tests! {
    r9s_phase_1_a_marker_for_its_effect_runs_and_leaves_the_text,
    r9s_phase_2_a_captured_marker_is_replaced_by_what_it_prints,
    r9s_phase_2_captured_output_can_be_returned_as_events,
    r9s_phase_3_no_marker_runs_without_approval,
    a_script_is_named_as_instructions_name_it,
    a_script_name_that_two_skills_have_needs_the_name_of_the_skill,
    the_name_of_a_folder_takes_precedence_over_a_name_in_skill_md,
    a_skill_that_is_named_as_only_its_skill_md_does_is_reported_once,
    text_that_is_not_a_marker_is_passed_on_unchanged,
    text_is_passed_on_as_it_arrives,
    a_marker_may_arrive_byte_by_byte,
    text_after_an_effect_marker_does_not_wait_for_it,
    markers_run_one_after_the_other,
    markers_that_a_script_prints_are_not_expanded,
    captured_output_is_cut_at_its_limit,
    failed_and_timed_out_markers_are_reported_as_events,
    invalid_markers_are_reported_and_removed,
    events_that_cannot_be_written_stop_everything,
    a_marker_that_changes_its_skill_invalidates_the_approvals_after_it,
    a_missing_skill_is_reported_before_any_text,
    ctrl_c_stops_a_marker_and_leaves_nothing_behind,
    text_written_to_a_closed_pipe_is_not_a_crash,
    a_model_cannot_steer_the_terminal_where_questions_are_asked,
    markers_after_the_first_thousand_are_refused,
    a_refusal_starts_on_a_line_of_its_own_at_a_terminal,
}

const ECHO: &str = "import sys\nprint('ran', *sys.argv[1:])\n";

pub(crate) fn env() -> TestEnv {
    let env = TestEnv::with_script(ECHO);
    std::fs::create_dir(env.path("workspace")).unwrap();
    env
}

fn start(env: &TestEnv, words: &[&str]) -> (Child, ChildStdin, ChildStdout) {
    let mut command = env.command(&[&["expand"], words].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    (child, stdin, stdout)
}

/// Sends the whole text through.
pub(crate) fn expand(env: &TestEnv, text: &str, words: &[&str]) -> End {
    let mut command = env.command(&[&["expand"], words].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let end = env.end_of_child(child);
    // A process that stops reading closes the pipe; the error is expected.
    let _ = writer.join().unwrap();
    env.check_left_behind().unwrap();
    end
}

pub(crate) const EVENTS: [&str; 2] = ["--events", "events.jsonl"];

pub(crate) fn events(env: &TestEnv) -> Vec<Value> {
    let text = env.read("events.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn expect(stdout: &mut ChildStdout, expected: &str) {
    let mut bytes = vec![0; expected.len()];
    stdout.read_exact(&mut bytes).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), expected);
}

fn r9s_phase_1_a_marker_for_its_effect_runs_and_leaves_the_text() {
    let env = env();
    env.write(
        "skill/scripts/say.py",
        "import sys\nopen('said', 'a').write(sys.argv[1] + '\\n')\nprint('noise')\n",
    );
    let text = "One%{scripts/say.py \"a b\"}, two!{! scripts/say.py c}.\n";
    let end = expand(&env, text, &["--skill", "./skill", "-w", "workspace", "-y"]);
    let expected = ("One, two.\n", "", 0);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        expected
    );
    assert_eq!(env.read("workspace/said"), "a b\nc\n");
}

fn r9s_phase_2_a_captured_marker_is_replaced_by_what_it_prints() {
    let env = env();
    let text = "It says «!{scripts/main.py 'a  b' \"c}\" d\\ e}».\n";
    let end = expand(&env, text, &["--skill", "./skill", "-y"]);
    assert_eq!(end.stdout, "It says «ran a  b c} d e».\n");
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
}

fn r9s_phase_2_captured_output_can_be_returned_as_events() {
    let env = env();
    let words = ["--skill", "./skill", "-y", "--hand-back"];
    let end = expand(
        &env,
        "a!{scripts/main.py x}b",
        &[&words[..], &EVENTS].concat(),
    );
    assert_eq!((end.stdout.as_str(), end.code), ("ab", 0));
    let [event] = &events(&env)[..] else {
        panic!("{:?}", events(&env))
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
    let end = expand(&env, "", &words);
    assert_eq!(end.code, 125, "{}", end.stderr);
}

fn r9s_phase_3_no_marker_runs_without_approval() {
    let env = env();
    let words = [&["--skill", "./skill"][..], &EVENTS].concat();
    let end = expand(&env, "a !{scripts/main.py} b", &words);
    assert_eq!((end.stdout.as_str(), end.code), ("a  b", 126));
    let why = "`scripts/main.py` of skill `skill` was not approved: there is no terminal to ask at";
    assert_eq!(
        end.stderr,
        format!(
            "refused: {why}\n\
             hint: run it at a terminal, pass --answers FILE, or pass -y if you approve it yourself\n"
        )
    );
    let [event] = &events(&env)[..] else { panic!() };
    assert_eq!(
        (&event["status"], &event["reason"]),
        (&"refused".into(), &why.into())
    );
    // The line that would allow it is for the operator, not for the model that may read the events.
    assert!(event.get("hint").is_none() && !event.to_string().contains("skillrun.toml"));
    env.write(
        "answers.json",
        r#"[{"skill": "skill", "script": "scripts/main.py", "answer": "yes_once"}]"#,
    );
    let end = expand(
        &env,
        "a !{scripts/main.py} b",
        &["--skill", "./skill", "--answers", "answers.json"],
    );
    assert_eq!((end.stdout.as_str(), end.code), ("a ran b", 0));
}

fn a_script_is_named_as_instructions_name_it() {
    let env = env();
    env.write("skill/root.py", ECHO);
    let absolute = env.text("skill/scripts/main.py");
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
            &env,
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
            &env,
            &format!("!{{{command} x}}"),
            &["--skill", "./skill", "-y"],
        );
        assert_eq!((end.stdout.as_str(), end.code), ("", 126), "{command}");
        assert!(end.stderr.contains(why), "{command}: {}", end.stderr);
    }
}

fn a_script_name_that_two_skills_have_needs_the_name_of_the_skill() {
    let env = env();
    for name in ["one", "two"] {
        env.write(
            &format!("{name}/SKILL.md"),
            SKILL_MD.replace("name: skill", &format!("name: {name}")),
        );
        env.write(
            &format!("{name}/scripts/x.py"),
            format!("print('{name}')\n"),
        );
    }
    env.write("two/scripts/y.py", "print('y')\n");
    let words = ["--skill", "./one", "--skill", "./two", "-y"];
    let text =
        "!{one/scripts/x.py} !{two/scripts/x.py} !{scripts/y.py} !{scripts/x.py} !{scripts/z.py}";
    let end = expand(&env, text, &words);
    assert_eq!((end.stdout.as_str(), end.code), ("one two y  ", 126));
    for why in [
        "`scripts/x.py` is ambiguous: `one/scripts/x.py`, `two/scripts/x.py`",
        "no loaded skill has a script `scripts/z.py`",
    ] {
        assert!(end.stderr.contains(why), "{}", end.stderr);
    }
    // A marker that cannot be resolved is recorded as well.
    let refused = env
        .audit()
        .into_iter()
        .filter(|line| line["event"] == "refused");
    let scripts: Vec<Value> = refused.map(|line| line["script"].clone()).collect();
    assert_eq!(scripts, ["scripts/x.py", "scripts/z.py"]);
}

fn the_name_of_a_folder_takes_precedence_over_a_name_in_skill_md() {
    let env = TestEnv::new();
    let skill = |folder: &str, name: &str, script: &str| {
        let matter = format!("---\nname: {name}\ndescription: A skill.\n---\n");
        env.write(&format!("{folder}/SKILL.md"), matter);
        let script = format!("{folder}/{script}");
        env.write(&script, format!("print('{script}')\n"));
    };
    skill("a", "a", "scripts/x.py");
    skill("b", "a", "scripts/y.py");
    skill("c", "a", "scripts/z.py");
    skill("d", "d", "a/scripts/y.py");
    skill("more/a", "a", "scripts/x.py");
    let of = |folders: &[&str], path: &str| {
        let mut words = vec!["-y"];
        words.extend(folders.iter().flat_map(|folder| ["--skill", folder]));
        expand(&env, &format!("!{{{path}}}"), &words)
    };
    for (folders, path, why) in [
        // `b` has the name `a` in its SKILL.md.
        (
            &["./a", "./b"][..],
            "a/scripts/y.py",
            "error: script `scripts/y.py` not found in skill `a`\nhint: did you mean `scripts/x.py`? its scripts: scripts/x.py\n",
        ),
        (
            &["./b", "./a"],
            "skills/a/scripts/y.py",
            "error: script `scripts/y.py` not found in skill `a`\nhint: did you mean `scripts/x.py`? its scripts: scripts/x.py\n",
        ),
        // Two have that name, and no folder has it.
        (
            &["./b", "./c"],
            "a/scripts/y.py",
            "error: `a/scripts/y.py` is ambiguous: `b/scripts/y.py`, `c/scripts/y.py`\nhint: name it with its skill\n",
        ),
        // `d` has a folder whose name looks like the skill's.
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
    // The twins: what a folder's name means.
    for (folders, path, printed) in [
        (&["./a", "./b"][..], "a/scripts/x.py", "a/scripts/x.py"),
        (&["./a", "./b"], "b/scripts/y.py", "b/scripts/y.py"),
        (&["./a", "./b"], "scripts/y.py", "b/scripts/y.py"),
        (&["./b", "./d"], "d/a/scripts/y.py", "d/a/scripts/y.py"),
        (
            &["./a", "./more/a"],
            &env.text("more/a/scripts/x.py"),
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

fn a_skill_that_is_named_as_only_its_skill_md_does_is_reported_once() {
    let env = TestEnv::new();
    let matter = "---\nname: a\ndescription: A skill.\n---\n";
    env.write("skills/b/SKILL.md", matter);
    env.write("skills/b/scripts/y.py", "print('it ran')\n");
    let run = env.end(&["run", "a", "y.py"]);
    let of = |text: &str, words: &[&str]| {
        let end = expand(&env, text, &[&["-y"], words].concat());
        assert_eq!(end.code, 0, "{}", end.stderr);
        (end.stdout, end.stderr)
    };
    let warning = run.stderr;
    assert!(warning.contains("`a`") && warning.contains("`{root}/skills/b`"));
    assert_eq!(warning.matches("warning: ").count(), 1);
    // Once, with and without the interpreter. The search path is not searched here.
    let named = "no folder of a skill that `--skill` names is";
    let expanded = warning.replace("no skill folder is named", named);
    let twice = "!{a/scripts/y.py} !{skills/a/scripts/y.py}";
    let expected = ("it ran it ran".to_owned(), expanded.clone());
    assert_eq!(of(twice, &["--skill", "./skills/b"]), expected);
    let expected = ("it ran".to_owned(), expanded);
    let interpreter = "!{python3 a/scripts/y.py}";
    assert_eq!(of(interpreter, &["--skill", "./skills/b"]), expected);
    let expected = ("it ran".to_owned(), warning);
    // It is not repeated if the skill was loaded by that name.
    assert_eq!(of("!{a/scripts/y.py}", &["--skill", "a"]), expected);
    // The twins: the folder's name, a path in the skill, a link of that name, and no messages.
    let expected = ("it ran".to_owned(), String::new());
    for path in ["b/scripts/y.py", "scripts/y.py"] {
        let text = format!("!{{{path}}}");
        assert_eq!(of(&text, &["--skill", "./skills/b"]), expected);
    }
    let text = "!{a/scripts/y.py}";
    assert_eq!(of(text, &["-q", "--skill", "./skills/b"]), expected);
    std::os::unix::fs::symlink("skills/b", env.path("a")).unwrap();
    assert_eq!(of(text, &["--skill", "./a"]), expected);
}

fn text_that_is_not_a_marker_is_passed_on_unchanged() {
    let env = env();
    let text = "100% !important {a} ${b} !{} %{ } \r\n\u{1b}[1m\0é😀 a!\n!{never \"closed}\n%{x";
    let end = expand(&env, text, &["-y"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (text, "", 0)
    );
    assert_eq!(env.audit().len(), 0);
}

fn text_is_passed_on_as_it_arrives() {
    let env = env();
    let (child, mut stdin, mut stdout) = start(&env, &["-y"]);
    for (part, passed) in [
        ("Hel", "Hel"),
        ("lo wor!", "lo wor"),
        ("ld ", "!ld "),
        ("%", ""),
        ("d", "%d"),
    ] {
        stdin.write_all(part.as_bytes()).unwrap();
        expect(&mut stdout, passed);
    }
    drop(stdin);
    assert_eq!(env.end_of_child(child).code, 0);
}

fn a_marker_may_arrive_byte_by_byte() {
    let env = env();
    let (child, mut stdin, mut stdout) = start(&env, &["--skill", "./skill", "-y"]);
    for byte in "ä!{scripts/main.py \"ö 😀\"}ü".bytes() {
        stdin.write_all(&[byte]).unwrap();
    }
    expect(&mut stdout, "äran ö 😀ü");
    drop(stdin);
    assert_eq!(env.end_of_child(child).code, 0);
}

fn text_after_an_effect_marker_does_not_wait_for_it() {
    let env = env();
    env.write(
        "skill/scripts/wait.py",
        "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nopen('went', 'w')\n",
    );
    let words = ["--skill", "./skill", "-w", "workspace", "-y"];
    let (child, mut stdin, mut stdout) = start(&env, &words);
    stdin.write_all(b"a %{scripts/wait.py}b").unwrap();
    expect(&mut stdout, "a b");
    assert!(!env.path("workspace/went").exists());
    env.write("workspace/go", "");
    drop(stdin);
    assert_eq!(env.end_of_child(child).code, 0);
    assert!(env.path("workspace/went").exists());
}

fn markers_run_one_after_the_other() {
    let env = env();
    env.write(
        "skill/scripts/add.py",
        "import sys, time\ntime.sleep(float(sys.argv[2]))\nopen('log', 'a').write(sys.argv[1])\nprint(open('log').read())\n",
    );
    let text = "%{scripts/add.py a 0.2}%{scripts/add.py b 0}!{scripts/add.py c 0}%{scripts/add.py d 0}!{scripts/add.py e 0}";
    let end = expand(&env, text, &["--skill", "./skill", "-w", "workspace", "-y"]);
    assert_eq!((end.stdout.as_str(), end.code), ("abcabcde", 0));
}

fn markers_that_a_script_prints_are_not_expanded() {
    let env = env();
    env.write(
        "skill/scripts/evil.py",
        "print('!{scripts/main.py x} %{scripts/main.py y}')\nprint('!{', end='')\n",
    );
    let end = expand(
        &env,
        "!{scripts/evil.py}scripts/main.py z}",
        &["--skill", "./skill", "-y"],
    );
    let expected = "!{scripts/main.py x} %{scripts/main.py y}\n!{scripts/main.py z}";
    assert_eq!((end.stdout.as_str(), end.code), (expected, 0));
    assert_eq!(env.audit().len(), 2);
}

fn captured_output_is_cut_at_its_limit() {
    let env = env();
    env.write("skill/scripts/flood.py", "print('x' * 1000000)\n");
    let words = [&["--skill", "./skill", "-y"][..], &EVENTS].concat();
    let end = expand(&env, "!{scripts/flood.py}|", &words);
    let marker = "[... output truncated ...]";
    let (kept, rest) = end.stdout.split_once(marker).unwrap();
    assert_eq!(kept.trim_end(), "x".repeat(64 * 1024));
    assert_eq!(rest, "|");
    let event = &events(&env)[0];
    assert_eq!(
        (&event["stdout_truncated"], &event["stdout_bytes"]),
        (&true.into(), &1_000_001.into())
    );
    let end = expand(
        &env,
        "!{scripts/flood.py}|",
        &["--skill", "./skill", "-y", "--max-output", "1KiB"],
    );
    assert_eq!(end.stdout.find(['\n', '[']), Some(1024));
    let end = expand(&env, "", &["--max-output", "1 furlong"]);
    assert_eq!(
        (end.stderr.as_str(), end.code),
        (
            "error: `1 furlong` is not a size: write `256MiB`, `1GiB`, `10MB`\n",
            125
        )
    );
    let end = expand(&env, "text", &["--max-output", "1"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", "error: output `1` is out of range: 1KiB to 1GiB\n", 125)
    );
}

fn failed_and_timed_out_markers_are_reported_as_events() {
    let env = env();
    env.write(
        "skill/scripts/fail.py",
        "import sys\nprint('half')\nsys.exit('oh')\n",
    );
    env.write(
        "skill/scripts/hang.py",
        "print('begun', flush=True)\nwhile True: pass\n",
    );
    env.write(
        "policy.toml",
        "approval = \"never\"\n[limits]\ntime = \"1s\"\n",
    );
    let words = [
        &["--skill", "./skill", "--policy", "policy.toml"][..],
        &EVENTS,
    ]
    .concat();
    let end = expand(
        &env,
        "a !{scripts/fail.py} b !{scripts/hang.py} c\n",
        &words,
    );
    assert_eq!((end.stdout.as_str(), end.code), ("a half b begun c\n", 0));
    assert_eq!(
        end.stderr,
        "warning: marker 1 `scripts/fail.py` ended with exit code 1\n\
         warning: `scripts/hang.py` was stopped at its time limit of 1s (limits.time)\n"
    );
    let reported: Vec<_> = events(&env)
        .iter()
        .map(|event| {
            format!(
                "{} {} {}",
                event["status"], event["exit_code"], event["success"]
            )
        })
        .collect();
    assert_eq!(reported, ["\"exited\" 1 false", "\"timed_out\" 124 false"]);
    assert_eq!(events(&env)[0]["stderr"], "oh\n");
}

fn invalid_markers_are_reported_and_removed() {
    let env = env();
    let words = [&["--skill", "./skill", "-y"][..], &EVENTS].concat();
    let end = expand(
        &env,
        "a!{git log | head}b%{echo x > y}c!{a/b\u{1b}[2J}d",
        &words,
    );
    assert_eq!((end.stdout.as_str(), end.code), ("abcd", 126));
    assert!(!end.stderr.contains('\u{1b}'), "{:?}", end.stderr);
    let reported: Vec<_> = events(&env)
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
        reported,
        [
            "invalid: there is no shell to interpret `|`",
            "invalid: there is no shell to interpret `>`",
            "not_found: script `a/b\\u{1b}[2J` not found in skill `skill`",
        ]
    );
    // The twin: in quotes it is an argument.
    let end = expand(
        &env,
        "!{scripts/main.py '|' \">\"}",
        &["--skill", "./skill", "-y"],
    );
    assert_eq!((end.stdout.as_str(), end.code), ("ran | >", 0));
}

fn events_that_cannot_be_written_stop_everything() {
    let env = env();
    for (file, why) in [
        (
            "workspace",
            "error: events `workspace`: a directory, not a file\n",
        ),
        (
            "none/events",
            "error: events `none/events`: no such file or directory\n",
        ),
    ] {
        let end = expand(
            &env,
            "a !{scripts/main.py}",
            &["--skill", "./skill", "-y", "--events", file],
        );
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("", why, 125)
        );
    }
    assert_eq!(env.audit().len(), 0);
    // A descriptor that the caller opened may be of any type.
    let full = |text: &str| {
        env.write("text", text);
        let line = "exec \"$0\" expand --skill ./skill -y --events /dev/fd/3 3>/dev/full <text";
        let mut command = env.program("/bin/sh");
        command.args(["-c", line, env!("CARGO_BIN_EXE_skillrun")]);
        env.end_of(&mut command)
    };
    let end = full("!{scripts/main.py}!{scripts/main.py}");
    assert_eq!(
        (end.stderr.as_str(), end.code),
        ("error: events: no space left on device\n", 125)
    );
    assert_eq!(env.audit().len(), 2);
    // The text is not lost.
    let end = full("a !{nothing} b !{scripts/main.py} c");
    assert_eq!((end.stdout.as_str(), end.code), ("a  b  c", 125));
}

fn a_marker_that_changes_its_skill_invalidates_the_approvals_after_it() {
    let env = env();
    env.write("skill/scripts/lib.py", "print('good')\n");
    env.write("skill/scripts/uses.py", "import lib\n");
    env.write(
        "skill/scripts/change.py",
        "import time\ntime.sleep(0.3)\nopen(__file__.replace('change', 'lib'), 'w').write('print(\"evil\")')\n",
    );
    env.write(
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
    let end = expand(&env, "!{scripts/uses.py}", &words);
    assert_eq!((end.stdout.as_str(), end.code), ("good", 0));
    let end = expand(&env, "a %{scripts/change.py}!{scripts/uses.py} b", &words);
    assert_eq!(end.stdout, "a  b");
    let why =
        "`scripts/uses.py` of skill `skill` did not run: its skill changed after it was checked";
    assert!(end.stderr.contains(why), "{}", end.stderr);
}

fn a_missing_skill_is_reported_before_any_text() {
    let env = env();
    let end = expand(&env, "text", &["--skill", "skil", "--skills", "."]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 127));
    assert_eq!(
        end.stderr,
        "error: skill `skil` not found\nhint: did you mean `skill`?\n"
    );
}

fn ctrl_c_stops_a_marker_and_leaves_nothing_behind() {
    let env = env();
    env.write(
        "skill/scripts/hang.py",
        "open('begun', 'w')\nwhile True: pass\n",
    );
    let words = ["--skill", "./skill", "-w", "workspace", "-y"];
    let (child, mut stdin, mut stdout) = start(&env, &words);
    stdin.write_all(b"a !{scripts/hang.py} b").unwrap();
    expect(&mut stdout, "a ");
    while !env.path("workspace/begun").exists() {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let end = env.end_of_child(child);
    assert_eq!(end.code, 130, "{}", end.stderr);
    assert_eq!(env.audit().pop().unwrap()["status"], "cancelled");
    env.check_left_behind().unwrap();
    drop(stdin);
    // The same while nothing runs.
    let (child, mut stdin, mut stdout) = start(&env, &words);
    stdin.write_all(b"a").unwrap();
    expect(&mut stdout, "a");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(env.end_of_child(child).code, 130);
}

fn text_written_to_a_closed_pipe_is_not_a_crash() {
    let env = env();
    let (child, mut stdin, stdout) = start(&env, &["-y"]);
    drop(stdout);
    // The process may have exited before everything is written.
    let _ = stdin.write_all(&b"text ".repeat(100_000));
    drop(stdin);
    let end = env.end_of_child(child);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
}

fn a_model_cannot_steer_the_terminal_where_questions_are_asked() {
    let env = env();
    let text = "\u{1b}[2J\u{1b}[8mhidden\u{202e}\r\tthere !{scripts/main.py '\u{1b}]0;x\u{7}'} end!{scripts/nope.py}\n";
    env.write("text", text);
    let command = format!(
        "exec {} expand --skill ./skill < text",
        env!("CARGO_BIN_EXE_skillrun")
    );
    let words = ["/bin/sh", "-c", &command];
    let seen = at_terminal(&env, &words, b"", &[(ASKS, b"y\r")], "its scripts: ");
    for steers in ["\u{1b}[8m", "\u{1b}]0", "\u{202e}"] {
        assert!(!seen.text.contains(steers), "{:?}", seen.text);
    }
    // The first control character is our own: it ends any open sequence before the question is drawn.
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

fn markers_after_the_first_thousand_are_refused() {
    let mut expander = Expander::new(vec![]);
    let pieces = expander.push(b"%{date}".repeat(1002).as_slice());
    let markers: Vec<Marker> = pieces.into_iter().map(marker).collect();
    assert_eq!(markers.len(), 1002);
    let (env, policy) = (
        env(),
        Policy::parse("allow = [\"run:date\"]", Path::new("/")).unwrap(),
    );
    let Decision::Refused(refusal) = host(&env)
        .blocking()
        .decide(&policy, markers[1000].request.clone())
        .unwrap()
    else {
        panic!();
    };
    assert_eq!(refusal.message, "the text contains more than 1000 markers");
    assert!(
        matches!(&markers[999].request.target, skillrun::Target::Command(name) if name == "date")
    );
}

pub(crate) fn marker(piece: Piece) -> Marker {
    match piece {
        Piece::Marker(marker) => marker,
        Piece::Text(text) => panic!("{text}"),
    }
}

fn a_refusal_starts_on_a_line_of_its_own_at_a_terminal() {
    let env = env();
    env.write(
        "text",
        "one !{scripts/nope.py} two\n!{scripts/nope.py}three\n",
    );
    let seen = |to: &str| {
        let command = format!(
            "NO_COLOR=1 exec {} expand --skill ./skill < text {to}",
            env!("CARGO_BIN_EXE_skillrun")
        );
        let words = ["/bin/sh", "-c", &command];
        let seen = at_terminal(&env, &words, b"", &[], "its scripts: ");
        assert_eq!(seen.code, 126, "{}", seen.text);
        let messages = ["error: ", "hint: "];
        let lines = seen.text.split("\r\n").map(|line| {
            let message = messages.iter().find(|start| line.starts_with(**start));
            (*message.unwrap_or(&line)).to_owned()
        });
        lines.collect::<Vec<String>>()
    };
    assert_eq!(
        seen(""),
        [
            "one ", "error: ", "hint: ", " two", "error: ", "hint: ", "three", ""
        ]
    );
    // Text that goes elsewhere leaves no line unfinished here.
    assert_eq!(
        seen("> out"),
        ["error: ", "hint: ", "error: ", "hint: ", ""]
    );
    assert_eq!(env.read("out"), "one  two\nthree\n");
}
