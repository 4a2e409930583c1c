//! Messages about skills and scripts that are missing or cannot be used: a clear message, a hint where one helps,
//! the right exit code, and the same as JSON.

use crate::env::{SKILL_MD, TestEnv};
use crate::setup;
use serde_json::{Value, json};

tests! {
    an_unknown_skill_is_not_found_and_the_nearest_name_is_suggested,
    an_unknown_skill_without_a_similar_name_lists_those_available,
    an_unknown_skill_among_none_lists_the_searched_directories,
    a_path_without_a_skill_is_not_found,
    a_folder_without_skill_md_is_not_a_skill,
    a_file_is_not_a_skill,
    a_binary_skill_md_is_refused,
    a_skill_md_of_ten_megabytes_is_refused,
    a_skill_md_without_front_matter_is_refused,
    a_skill_md_with_broken_yaml_is_refused,
    a_skill_md_without_a_description_is_refused,
    an_unknown_script_is_not_found_and_the_nearest_name_is_suggested,
    an_empty_script_name_is_not_found,
    a_script_that_is_a_directory_is_refused,
    a_file_that_is_not_a_script_is_refused,
    a_script_of_eleven_megabytes_is_refused,
    an_unreadable_script_is_refused,
    a_script_without_a_runtime_is_refused,
    a_script_for_an_interpreter_that_is_not_allowed_is_refused,
}

pub(crate) const HELLO: &str = "print('this must not run')\n";

/// Runs `run` with these arguments, as text and as JSON, and compares everything.
pub(crate) fn fails(env: &TestEnv, words: &[&str], code: i32, message: &str, hint: Option<&str>) {
    let (word, kind) = match code {
        126 => ("refused", "refused"),
        127 => ("error", "not_found"),
        _ => ("error", "error"),
    };
    let run: Vec<&str> = ["run"].into_iter().chain(words.iter().copied()).collect();
    let end = env.end(&run);
    let hint_line = hint.map(|hint| format!("hint: {hint}\n"));
    let wanted = format!("{word}: {message}\n{}", hint_line.unwrap_or_default());
    assert_eq!(end.stderr, wanted);
    assert_eq!((end.stdout.as_str(), end.code), ("", code));

    let run: Vec<&str> = ["run", "--json"]
        .into_iter()
        .chain(words.iter().copied())
        .collect();
    let end = env.end(&run);
    let object: Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(
        object,
        json!({"error": {"kind": kind, "message": message, "hint": hint}, "exit_code": code})
    );
    assert_eq!((end.stderr.as_str(), end.code), ("", code));
    let started = env.audit().iter().any(|line| line["event"] == "started");
    assert!(!started, "something ran");
    env.check_left_behind().unwrap();
}

fn with_skills(names: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    for name in names {
        env.write(&format!("skills/{name}/SKILL.md"), SKILL_MD);
        env.write(&format!("skills/{name}/main.py"), HELLO);
    }
    env
}

fn an_unknown_skill_is_not_found_and_the_nearest_name_is_suggested() {
    let env = with_skills(&["word-count", "csv"]);
    let hint = Some("did you mean `word-count`?");
    fails(
        &env,
        &["wrd-count", "main.py"],
        127,
        "skill `wrd-count` not found",
        hint,
    );
}

fn an_unknown_skill_without_a_similar_name_lists_those_available() {
    let env = with_skills(&["word-count", "csv"]);
    let hint = Some("available skills: csv, word-count");
    fails(
        &env,
        &["zzzzzzzz", "main.py"],
        127,
        "skill `zzzzzzzz` not found",
        hint,
    );
}

fn an_unknown_skill_among_none_lists_the_searched_directories() {
    let hint = Some(
        "no skills in .agents/skills, .claude/skills, .chorus/skills, skills, \
         {root}/home/.agents/skills, {root}/home/.claude/skills, {root}/home/.r9s/skills; \
         name a folder by path, or pass --skills DIR",
    );
    fails(
        &TestEnv::new(),
        &["any", "main.py"],
        127,
        "skill `any` not found",
        hint,
    );
}

fn a_path_without_a_skill_is_not_found() {
    let env = TestEnv::new();
    fails(
        &env,
        &["./nowhere", "a"],
        127,
        "skill `./nowhere` not found",
        Some("check the path"),
    );
}

/// A test environment whose `skill/SKILL.md` contains these bytes, and the error that loading it must give.
fn bad_skill_md(content: &[u8], why: &str) {
    let env = TestEnv::with_script(HELLO);
    env.write("skill/SKILL.md", content);
    let message = format!("`./skill` is not a skill: {why}");
    fails(&env, &["./skill", "main.py"], 127, &message, None);
}

fn a_folder_without_skill_md_is_not_a_skill() {
    let env = TestEnv::with_script(HELLO);
    std::fs::remove_file(env.path("skill/SKILL.md")).unwrap();
    let message = "`./skill` is not a skill: it has no SKILL.md";
    fails(&env, &["./skill", "main.py"], 127, message, None);
}

fn a_file_is_not_a_skill() {
    let env = TestEnv::with_script(HELLO);
    let message =
        "`./skill/SKILL.md` is not a skill: it is a file; name the folder that contains SKILL.md";
    fails(&env, &["./skill/SKILL.md", "main.py"], 127, message, None);
}

fn a_binary_skill_md_is_refused() {
    bad_skill_md(b"---\n\xff\xfe\0\x01\n---\n", "SKILL.md is not UTF-8 text");
}

fn a_skill_md_of_ten_megabytes_is_refused() {
    let content = format!("{SKILL_MD}{}", "text\n".repeat(2 << 20));
    bad_skill_md(content.as_bytes(), "SKILL.md is larger than 1048576 bytes");
}

fn a_skill_md_without_front_matter_is_refused() {
    let why = "SKILL.md: it does not start with a line `---`";
    bad_skill_md(b"# Title\n", why);
    bad_skill_md(b"", why);
}

fn a_skill_md_with_broken_yaml_is_refused() {
    let env = TestEnv::with_script(HELLO);
    env.write("skill/SKILL.md", "---\nname: [a\ndescription: {b\n---\n");
    let end = env.run(&[]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 127));
    let start = "error: `./skill` is not a skill: SKILL.md: ";
    assert!(end.stderr.starts_with(start), "{}", end.stderr);
    assert!(end.stderr.contains("line "), "{}", end.stderr);
}

fn a_skill_md_without_a_description_is_refused() {
    let why = "SKILL.md: the front matter has no `description`";
    bad_skill_md(b"---\nname: skill\n---\n", why);
    bad_skill_md(b"---\nname: skill\ndescription: ~\n---\n", why);
}

fn an_unknown_script_is_not_found_and_the_nearest_name_is_suggested() {
    let env = TestEnv::with_script(HELLO);
    env.write("skill/scripts/extract.py", HELLO);
    let hint = Some("did you mean `extract.py`? its scripts: scripts/extract.py, scripts/main.py");
    let message = "script `extrakt.py` not found in skill `skill`";
    fails(&env, &["./skill", "extrakt.py"], 127, message, hint);
}

fn an_empty_script_name_is_not_found() {
    let env = TestEnv::with_script(HELLO);
    let message = "script `` not found in skill `skill`";
    fails(
        &env,
        &["./skill", ""],
        127,
        message,
        Some("its scripts: scripts/main.py"),
    );
}

fn a_script_that_is_a_directory_is_refused() {
    let env = TestEnv::with_script(HELLO);
    env.write("skill/scripts/dir.py/inner.txt", "");
    let message = "`scripts/dir.py` of skill `skill` is a directory, not a file";
    fails(
        &env,
        &["./skill", "dir.py"],
        127,
        message,
        Some("its scripts: scripts/main.py"),
    );
}

fn a_file_that_is_not_a_script_is_refused() {
    let env = TestEnv::with_script(HELLO);
    let message = "`SKILL.md` of skill `skill` is not a script: neither its extension nor a `#!` line names a known language";
    fails(
        &env,
        &["./skill", "SKILL.md"],
        127,
        message,
        Some("its scripts: scripts/main.py"),
    );
}

fn a_script_of_eleven_megabytes_is_refused() {
    let env = TestEnv::with_script(&"# filler\n".repeat(1_300_000));
    let message = "script `scripts/main.py` of skill `skill` is larger than 10485760 bytes";
    fails(&env, &["./skill", "main.py"], 127, message, None);
}

fn an_unreadable_script_is_refused() {
    let env = TestEnv::with_script(HELLO);
    setup::prepare(env.root(), "mode 000 skill/scripts/main.py").unwrap();
    let mut command = env.unprivileged_command(&["run", "./skill", "main.py"]);
    let end = env.end_of(&mut command);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            "error: cannot read script `scripts/main.py` of skill `skill`: permission denied\n",
            127
        )
    );
}

fn a_script_without_a_runtime_is_refused() {
    let env = TestEnv::with_script(HELLO);
    env.write("skill/tool.sh", "echo hello\n");
    env.write("skill/tool.ps1", "echo hello\n");
    let hint = Some("`skillrun runtimes list` shows what can run here");
    let message = "no wasm runtime for bash script `tool.sh`";
    let words = ["./skill", "tool.sh", "--runtime", "wasm"];
    fails(&env, &words, 127, message, hint);
    let message = "no interpreter for powershell script `tool.ps1` on this system";
    let words = ["./skill", "tool.ps1", "--allow", "interpreter:powershell"];
    fails(&env, &words, 127, message, hint);
}

fn a_script_for_an_interpreter_that_is_not_allowed_is_refused() {
    let env = TestEnv::with_script(HELLO);
    env.write("skill/tool.rb", "puts 1\n");
    let message =
        "interpreter `ruby` is not allowed for skill `skill` (allowed: python3, bash, node)";
    let hint =
        Some("add \"ruby\" to `interpreters` in skillrun.toml, or pass --allow interpreter:ruby");
    fails(&env, &["./skill", "tool.rb"], 126, message, hint);
}
