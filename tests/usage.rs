//! How `skillrun` helps its users: help texts, corrected commands, notes, completions, the window's width.

use crate::env::{End, TestEnv};
use crate::terminal::at_terminal;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

tests! {
    output_that_cannot_be_written_is_an_error,
    every_help_fits_the_window_and_is_wrapped_once,
    every_help_has_two_examples_and_all_examples_work,
    a_missing_separator_is_suggested_with_the_corrected_command,
    a_skill_with_one_script_runs_it,
    a_skill_with_several_scripts_lists_them,
    a_skill_folder_is_used_where_no_skill_has_the_name,
    wrong_usage_has_one_exit_code,
    an_approval_is_revoked_by_its_number,
    empty_results_are_reported,
    descriptions_fit_the_window_and_are_complete_in_a_pipe,
    bash_completes_the_names_of_skills_and_scripts,
    no_completion_controls_the_terminal,
    no_completion_is_code_for_the_shell_or_an_option,
    an_unusable_temporary_directory_is_named,
    a_file_size_limit_does_not_kill_skillrun,
}

/// The binary, found in PATH as a user finds it.
fn shell(env: &TestEnv, directory: &str, line: &str) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_skillrun")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = env.program("bash");
    command
        .args(["-c", line])
        .current_dir(env.path(directory))
        .env("PATH", format!("{}:{path}", binary.display()));
    command
}

/// What a clone of the repository contains of skills and texts, as `project` in a test environment.
fn project() -> TestEnv {
    let env = TestEnv::new();
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    std::fs::create_dir(env.path("project")).unwrap();
    let mut copy = Command::new("cp");
    copy.arg("-r")
        .args(["skills", "README.md", "docs"].map(|name| root.join(name)));
    assert!(copy.arg(env.path("project")).status().unwrap().success());
    env
}

/// The help of every command, by the words that name it.
fn pages(columns: Option<&str>) -> BTreeMap<Vec<String>, String> {
    let mut pages = BTreeMap::new();
    let mut open = vec![Vec::new()];
    let env = TestEnv::new();
    let help = |words: &[&str]| {
        let mut command = env.command(words);
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        let end = env.end_of(&mut command);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{words:?}");
        end.stdout
    };
    while let Some(words) = open.pop() {
        let named: Vec<&str> = words.iter().map(String::as_str).collect();
        let text = help(&[&["help"], named.as_slice()].concat());
        assert_eq!(text, help(&[named.as_slice(), &["--help"]].concat()));
        let usage = format!(
            "Usage: {} ",
            [&["skillrun"], named.as_slice()].concat().join(" ")
        );
        assert!(text.contains(&usage), "{usage}\n{text}");
        let below = section(&text, "Commands:").filter(|line| !line.starts_with("   "));
        for name in below.filter_map(|line| line.split_whitespace().next()) {
            if name != "help" {
                open.push([words.as_slice(), &[name.to_owned()]].concat());
            }
        }
        pages.insert(words, text);
    }
    pages
}

/// The indented lines below a heading.
fn section<'a>(text: &'a str, heading: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = text.lines().skip_while(move |line| *line != heading);
    lines.skip(1).take_while(|line| line.starts_with("  "))
}

fn every_help_fits_the_window_and_is_wrapped_once() {
    // Without a terminal, clap wraps at 100.
    for (columns, width) in [(Some("80"), 80), (Some("120"), 120), (None, 100)] {
        for (words, text) in pages(columns) {
            let lines: Vec<&str> = text.lines().collect();
            for line in &lines {
                assert!(line.chars().count() <= width, "{words:?}: {line}");
            }
            // The first word of a line would not have fit into the line before it.
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            for pair in lines
                .windows(2)
                .filter(|pair| pair.iter().all(|line| is_prose(line)))
            {
                let word = pair[1].split(' ').next().unwrap();
                let length = pair[0].chars().count() + 1 + word.chars().count();
                assert!(length > width, "{words:?} at {width}: {pair:#?}");
            }
        }
    }
}

fn every_help_has_two_examples_and_all_examples_work() {
    let pages = pages(Some("80"));
    assert!(pages.len() > 20, "{:?}", pages.keys());
    for (words, text) in pages {
        let examples: Vec<&str> = section(&text, "Examples:").map(str::trim).collect();
        assert!(examples.len() >= 2, "{words:?}: {text}");
        for example in examples {
            assert!(example.contains("skillrun "), "{words:?}: {example}");
            let env = project();
            prepare(&env, words.first().map_or("", String::as_str));
            let end = env.end_of(&mut shell(
                &env,
                "project",
                &format!("set -o pipefail; {example}"),
            ));
            assert_eq!(
                end.code, 0,
                "{words:?}: {example}\n{}{}",
                end.stdout, end.stderr
            );
            // A filter may match nothing, and a note says so. Good skills have no annotations.
            let is_silent = end.stdout.is_empty() && end.stderr.is_empty();
            let writes_nothing = example.contains('>') || example.contains("--format github");
            assert_eq!(is_silent, writes_nothing, "{example}");
        }
    }
}

/// Creates the files and records that the examples of a command use.
fn prepare(env: &TestEnv, command: &str) {
    env.write("project/data/sales.csv", "name,sold\na,1\nb,2\n");
    env.write("project/request.json", r#"{"path": "sales.csv"}"#);
    env.write(
        "project/server.log",
        "2026-01-31T12:00:00Z ERROR no route\n",
    );
    let answers =
        r#"[{"skill": "word-count", "script": "scripts/count.py", "answer": "yes_once"}]"#;
    env.write("home/answers.json", answers);
    let first = match command {
        "approvals" | "audit" => {
            "skillrun load word-count -w . --answers ~/answers.json
             mkdir ~/backup && cp \"$XDG_STATE_HOME/skillrun/audit.jsonl\" ~/backup"
        }
        "policy" => {
            "mkdir ../other && echo 'approval = \"always\"' | tee skillrun.toml ../other/skillrun.toml
             skillrun policy trust --yes && skillrun policy trust --yes ../other/skillrun.toml"
        }
        _ => return,
    };
    let end = env.end_of(&mut shell(env, "project", first));
    assert_eq!(end.code, 0, "{}{}", end.stdout, end.stderr);
}

const PRINTS_ARGUMENTS: &str = "import sys\nprint(sys.argv[1:])\n";

fn a_missing_separator_is_suggested_with_the_corrected_command() {
    let env = TestEnv::with_script(PRINTS_ARGUMENTS);
    for (typed, unexpected, corrected, printed) in [
        ("main.py a", "a", "main.py -- a", "['a']"),
        (
            "main.py 'a b' '' c",
            "a b",
            "main.py -- 'a b' '' c",
            "['a b', '', 'c']",
        ),
        (
            "main.py --top 3 -q a",
            "--top",
            "main.py -q -- --top 3 a",
            "['--top', '3', 'a']",
        ),
        ("-q main.py a -- b", "a", "-q main.py -- a b", "['a', 'b']"),
        (
            "main.py main.py",
            "main.py",
            "main.py -- main.py",
            "['main.py']",
        ),
        (
            "main.py \"it's\"",
            "it's",
            "main.py -- 'it'\\''s'",
            "[\"it's\"]",
        ),
    ] {
        let end = env.end_of(&mut shell(
            &env,
            "",
            &format!("skillrun run ./skill {typed}"),
        ));
        let command = format!("skillrun run ./skill {corrected}");
        let wanted = End {
            stdout: String::new(),
            stderr: format!(
                "error: unexpected argument `{unexpected}`\n\
                 hint: put `--` before the script's arguments: {command}\n"
            ),
            code: 125,
        };
        assert_eq!(end, wanted, "{typed}");
        let end = env.end_of(&mut shell(&env, "", &command));
        assert_eq!(
            (end.stdout, end.code),
            (format!("{printed}\n"), 0),
            "{command}"
        );
    }
    // A misspelt option is corrected, and an unknown one without a script is not the script's.
    for typed in [["main.py", "--jsno"].as_slice(), &["--nonsense"]] {
        let end = env.end(&[&["run", "./skill"], typed].concat());
        assert!(!end.stderr.contains("script's arguments"), "{}", end.stderr);
        assert!(end.stderr.starts_with("error: unexpected argument '--"));
        assert_eq!((end.stdout.as_str(), end.code), ("", 125));
    }
}

fn a_skill_with_one_script_runs_it() {
    let env = TestEnv::with_script(PRINTS_ARGUMENTS);
    let end = env.end(&["run", "./skill", "--", "a"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("['a']\n", "", 0)
    );
}

fn a_skill_with_several_scripts_lists_them() {
    let env = TestEnv::with_script(PRINTS_ARGUMENTS);
    env.write("skill/scripts/other.py", PRINTS_ARGUMENTS);
    let end = env.end(&["run", "./skill"]);
    let why = "error: no script was named, and skill `skill` has 2: scripts/main.py, scripts/other.py\n\
               hint: name one, as in `skillrun run ./skill scripts/main.py`\n";
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", why, 127)
    );
    let end = env.end(&["run", "./skill", "scripts/main.py"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("[]\n", "", 0)
    );
    for file in ["main.py", "other.py"] {
        std::fs::remove_file(env.path(&format!("skill/scripts/{file}"))).unwrap();
    }
    let end = env.end(&["run", "./skill"]);
    let why = "error: skill `skill` has no scripts\n";
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", why, 127)
    );
}

fn a_skill_folder_is_used_where_no_skill_has_the_name() {
    let env = TestEnv::with_script("print('in the current directory')\n");
    let note = "note: no skill is named `skill`; using the folder `./skill`, without grants\n";
    for (words, note) in [
        (["run", "skill", "main.py"].as_slice(), note),
        // A script may have created the folder, so the note is always printed.
        (&["run", "-q", "skill", "main.py"], note),
    ] {
        let end = env.end(words);
        let wanted = ("in the current directory\n", note, 0);
        assert_eq!((end.stdout.as_str(), end.stderr.as_str(), end.code), wanted);
    }
    let end = env.end(&["show", "skill"]);
    assert!(end.stderr.starts_with(note), "{}", end.stderr);
    assert_eq!(end.code, 0);
    // An agent, and a person who grants something, have to name the path.
    env.write("grants.toml", "allow = [\"read:.\"]\n");
    env.write("variable.toml", "allow = [\"env:XDG_STATE_HOME\"]\n");
    env.write("nothing.toml", "[limits]\ntime = \"5s\"\n");
    for grants in [
        ["--allow", "read:."].as_slice(),
        &["--env", "SECRET=1"],
        &["--env", "XDG_STATE_HOME"],
        &["-w", "."],
        &["--workspace=."],
        &["--policy", "grants.toml"],
        &["--policy", "variable.toml"],
    ] {
        let end = env.end(&[&["run", "-q", "skill", "main.py"], grants].concat());
        let wanted = "error: skill `skill` not found\nhint: there is a folder of this name here: \
                      write `./skill` to give it grants or a workspace\n";
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("", wanted, 127),
            "{grants:?}"
        );
        let end = env.end(&[&["run", "-q", "./skill", "main.py"], grants].concat());
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("in the current directory\n", "", 0),
            "{grants:?}"
        );
    }
    let end = env.end(&["run", "skill", "main.py", "--policy", "nothing.toml"]);
    let wanted = ("in the current directory\n", note, 0);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str(), end.code), wanted);
    for words in [
        ["load", "skill"].as_slice(),
        &["load", "-y", "skill"],
        &["prompt", "skill"],
        &["expand", "--skill", "skill"],
    ] {
        let end = env.end(words);
        assert_eq!(end.code, 127, "{words:?}");
        assert!(
            !end.stdout.contains("in the current directory"),
            "{words:?}"
        );
        assert!(
            end.stderr.contains("`./skill`"),
            "{words:?}: {}",
            end.stderr
        );
    }
    // A skill that can be looked up comes first.
    env.write("skills/skill/SKILL.md", crate::env::SKILL_MD);
    env.write("skills/skill/scripts/main.py", "print('looked up')\n");
    let end = env.end(&["run", "skill", "main.py"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("looked up\n", "", 0)
    );
    // A folder without a SKILL.md is no skill.
    env.write("plain/main.py", "");
    let end = env.end(&["run", "plain", "main.py"]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 127));
}

fn wrong_usage_has_one_exit_code() {
    let env = TestEnv::new();
    let commands: [&[&str]; 10] = [
        &[],
        &["nonsense"],
        &["run"],
        &["list", "--nonsense"],
        &["show"],
        &["check", "--format", "nonsense", "skills"],
        &["policy"],
        &["approvals", "revoke"],
        &["audit", "show", "--since", "yesterday"],
        &["completions", "tcsh"],
    ];
    for words in commands {
        let end = env.end(words);
        assert_eq!((end.stdout.as_str(), end.code), ("", 125), "{words:?}");
        assert_ne!(end.stderr, "", "{words:?}");
    }
}

fn an_approval_is_revoked_by_its_number() {
    let env = TestEnv::new();
    let end = env.end(&["approvals", "revoke", "word-count"]);
    let why = "error: invalid value 'word-count' for '[NUMBER]...': write the number that `skillrun approvals list` \
               prints, or --skill NAME to revoke every approval of a skill\n";
    assert!(end.stderr.starts_with(why), "{}", end.stderr);
    assert_eq!((end.stdout.as_str(), end.code), ("", 125));
}

fn empty_results_are_reported() {
    let env = TestEnv::new();
    let nowhere = "warning: no skills in .agents/skills, .claude/skills, .chorus/skills, skills, \
                   {root}/home/.agents/skills, {root}/home/.claude/skills, {root}/home/.r9s/skills\n";
    let found = "note: no skills were found\n";
    for (words, note, printed) in [
        (["list"].as_slice(), nowhere, ""),
        (&["prompt"], found, ""),
        (
            &["prompt", "--format", "xml"],
            found,
            "<available_skills>\n</available_skills>",
        ),
        (
            &["audit", "show"],
            "note: no lines of the audit log match\n",
            "",
        ),
        (
            &["audit", "show", "--json"],
            "note: no lines of the audit log match\n",
            "",
        ),
        (&["approvals", "list"], "nothing is approved\n", ""),
    ] {
        let end = env.end(words);
        let wanted = (printed, note, 0);
        assert_eq!(
            (end.stdout.trim_end(), end.stderr.as_str(), end.code),
            wanted,
            "{words:?}"
        );
    }
    env.write(
        "skills/one/SKILL.md",
        "---\nname: one\ndescription: One.\n---\n",
    );
    let end = env.end(&["prompt"]);
    let note = "note: no skill has scripts; --format xml lists the skills\n";
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", note, 0)
    );
    for words in [["list"].as_slice(), &["prompt", "--format", "xml"]] {
        let end = env.end(words);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{words:?}");
    }
    // A refusal is a line of the log.
    let end = env.end(&["run", "one", "../x.py"]);
    assert_ne!(end.code, 0);
    let end = env.end(&["audit", "show"]);
    assert_eq!((end.stdout.lines().count(), end.stderr.as_str()), (1, ""));
}

fn descriptions_fit_the_window_and_are_complete_in_a_pipe() {
    let env = TestEnv::new();
    let description = "word ".repeat(40);
    let description = description.trim();
    let tools = "Bash(git:*) ".repeat(20);
    let text = format!("---\nname: one\ndescription: {description}\nallowed-tools: {tools}\n---\n");
    env.write("skills/one/SKILL.md", text);
    let long = "a-long-name-".repeat(5) + "end";
    let text = format!("---\nname: {long}\ndescription: {description}\n---\n");
    env.write(&format!("skills/{long}/SKILL.md"), text);
    env.write(&format!("skills/one/scripts/{long}.sh"), "#!/bin/sh\n");
    let comment = "# ".to_owned() + &"comment ".repeat(30);
    env.write("skills/one/scripts/main.py", comment.trim());
    for words in [["list"].as_slice(), &["show", "one"]] {
        let end = env.end(words);
        assert!(
            end.stdout.contains(description),
            "{words:?}: {}",
            end.stdout
        );
        for columns in [50, 90] {
            let binary = env!("CARGO_BIN_EXE_skillrun");
            let command = format!("stty cols {columns}; exec {binary} {}", words.join(" "));
            let seen = at_terminal(&env, &["sh", "-c", &command], b"", &[], "one");
            let lines = seen.text.lines().map(|line| line.chars().count());
            let longest = lines.max().unwrap();
            // No word of the texts is longer than ten characters.
            assert!(
                (columns - 10..=columns).contains(&longest),
                "{columns}: {}",
                seen.text
            );
        }
    }
    let end = env.end(&["show", "one"]);
    assert!(end.stdout.contains(comment[2..].trim()), "{}", end.stdout);
}

/// What bash offers for the last of these words.
fn completed(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let line = format!(
        "source <(skillrun completions bash)
         function=$(complete -p skillrun | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
         COMP_WORDS=({words}) COMP_CWORD={last}
         $function skillrun {current} {before}
         printf '%s\\0' \"${{COMPREPLY[@]}}\"",
        words = quoted.join(" "),
        last = words.len() - 1,
        current = quoted[words.len() - 1],
        before = quoted[words.len() - 2],
    );
    let end = env.end_of(&mut shell(env, "project", &line));
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    // A name may contain a newline.
    let names = end.stdout.split('\0').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn bash_completes_the_names_of_skills_and_scripts() {
    let env = project();
    std::fs::rename(
        env.path("project/skills/csv-summary"),
        env.path("csv-summary"),
    )
    .unwrap();
    env.write(
        "project/skills/disk-usage/scripts/more/usage.sh",
        "#!/bin/sh\n",
    );
    let cases: [(&[&str], &[&str]); 10] = [
        (&["run", "w"], &["word-count"]),
        (&["show", "c"], &["changelog-lint"]),
        (
            &["show", "--skills", "..", "c"],
            &["changelog-lint", "csv-summary"],
        ),
        (&["expand", "--skill", "js"], &["json-query"]),
        (&["run", "word-count", ""], &["count.py"]),
        (
            &["run", "-w", ".", "csv-summary", "--skills", "..", "s"],
            &["summarize.py"],
        ),
        (&["run", "./skills/log-digest", "d"], &["digest.py"]),
        (
            &["run", "disk-usage", ""],
            &["duplicates.sh", "scripts/more/usage.sh", "scripts/usage.sh"],
        ),
        (&["run", "word-count", "scripts/"], &["scripts/count.py"]),
        (&["run", "no-such-skill", "c"], &[]),
    ];
    for (words, offered) in cases {
        let words = [&["skillrun"], words].concat();
        let names: Vec<String> = completed(&env, &words);
        // An empty word may become an option, too.
        let is_name = |name: &&str| !name.starts_with('-');
        let names: Vec<&str> = names.iter().map(String::as_str).filter(is_name).collect();
        assert_eq!(names, offered, "{words:?}");
    }
    // Commands and options are still offered.
    assert!(completed(&env, &["skillrun", "comp"]).contains(&"completions".to_owned()));
    let options = completed(&env, &["skillrun", "run", "--virt"]);
    assert_eq!(options, ["--virtual-paths"]);
}

fn no_completion_controls_the_terminal() {
    let env = project();
    let text = "---\nname: wo\ndescription: Odd.\n---\n";
    env.write("project/skills/wo\u{1b}[2J/SKILL.md", text);
    assert_eq!(completed(&env, &["skillrun", "run", "wo"]), ["word-count"]);
}

/// The arguments of every command that take a value, as the words before the value. Read from the help, so that a new
/// argument is tried, too.
fn words_before_values() -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (command, text) in pages(None) {
        let words = |more: &str| {
            let more = more.split_whitespace().map(str::to_owned);
            let command = command.iter().cloned();
            let all = std::iter::once("skillrun".to_owned()).chain(command);
            all.chain(more).collect::<Vec<String>>()
        };
        if section(&text, "Arguments:").next().is_some() {
            all.push(words(""));
        }
        for line in text.lines().map(str::trim_start) {
            let option = line.split_once(" <").map(|(option, _)| option);
            let option = option.filter(|option| option.starts_with('-'));
            if let Some(name) = option.and_then(|option| option.rsplit(", ").next()) {
                all.push(words(name));
            }
        }
    }
    all
}

/// Bash puts a completion on the command line as it is.
fn no_completion_is_code_for_the_shell_or_an_option() {
    let env = project();
    for name in [
        "wo$(touch x)",
        "wo`x`",
        "wo;x",
        "wo&x",
        "wo|x",
        "wo x",
        "wo*",
        "wo\nx",
        "wo\u{b}x",
        "wo\u{1b}[2J",
        "~wo",
        "-wo",
        "--wo",
    ] {
        let text = format!("---\nname: wo\ndescription: Odd.\n---\n{name}\n");
        env.write(&format!("project/skills/{name}/SKILL.md"), &text);
        env.write(&format!("project/{name}/SKILL.md"), &text);
        env.write(&format!("project/{name}.toml"), "");
    }
    env.write("project/wo-1/file", "");
    env.write("project/wo-2.toml", "");
    env.write("project/skills/word-count/scripts/$(touch x).py", "");
    let is_plain = |name: &String| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._/".contains(c))
    };
    let before = words_before_values();
    let tries = |known: &[&str]| before.iter().any(|words| words[1..] == *known);
    for known in [
        ["run", "--workspace"].as_slice(),
        &["list", "--skills"],
        &["expand", "--events"],
        &["expand", "--answers"],
        &["doctor", "--policy"],
        &["policy", "trust"],
        &["show"],
    ] {
        assert!(tries(known), "{known:?}");
    }
    for words in before {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for typed in ["", "wo", "./", "./wo", "~", "-w", "skills/"] {
            let words = [words.as_slice(), &[typed]].concat();
            let names = completed(&env, &words);
            // A vertical tab separates names, so `x` would be the rest of one.
            let hostile = [
                "x",
                "x/",
                "x.toml",
                "-wo/",
                "-wo.toml",
                "--wo/",
                "--wo.toml",
            ];
            let is_hostile = |name: &&String| !is_plain(name) || hostile.contains(&name.as_str());
            let odd: Vec<&String> = names.iter().filter(is_hostile).collect();
            assert!(odd.is_empty(), "{words:?}: {odd:?}");
        }
    }
    // Plain names are offered.
    for (words, offered) in [
        (["run", "wo"].as_slice(), ["word-count"].as_slice()),
        (&["run", "./wo"], &["./wo-1/"]),
        (&["run", "-w", "wo"], &["wo-1/"]),
        (&["run", "--skills", "./wo"], &["./wo-1/"]),
        (&["run", "--policy", "wo"], &["wo-2.toml", "wo-1/"]),
        (&["policy", "trust", "wo"], &["wo-2.toml", "wo-1/"]),
    ] {
        let words = [&["skillrun"], words].concat();
        assert_eq!(completed(&env, &words), offered, "{words:?}");
    }
    let scripts = completed(&env, &["skillrun", "run", "word-count", ""]);
    assert!(
        scripts.contains(&"count.py".to_owned()) && scripts.iter().all(is_plain),
        "{scripts:?}"
    );
}

fn an_unusable_temporary_directory_is_named() {
    let env = TestEnv::with_script("print('it ran')\n");
    env.write("file", "");
    std::os::unix::fs::symlink("tmp", env.path("linked")).unwrap();
    let hint = "hint: set TMPDIR to an existing directory, or unset it to use /tmp\n";
    for (directory, why) in [
        ("tmp".to_owned(), "`tmp` is not an absolute path"),
        (String::new(), "`` is not an absolute path"),
        (
            env.text("gone"),
            "`{root}/gone` cannot be used: no such file or directory",
        ),
        (env.text("file"), "`{root}/file` is not a directory"),
        (
            env.text("linked"),
            "`{root}/linked` is a symbolic link to `{root}/tmp` that a script could have made",
        ),
    ] {
        for words in [
            ["run", "./skill", "main.py"].as_slice(),
            &["load", "./skill"],
            &["doctor"],
        ] {
            let end = env.end_of(env.command(words).env("TMPDIR", &directory));
            let wanted = format!("error: TMPDIR {why}\n{hint}");
            assert_eq!(
                (end.stdout.as_str(), end.stderr, end.code),
                ("", wanted, 125)
            );
        }
        // Commands that run nothing do not need it.
        let end = env.end_of(env.command(&["show", "./skill"]).env("TMPDIR", &directory));
        assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    }
    assert_eq!(env.run(&[]).stdout, "it ran\n");
}

fn a_file_size_limit_does_not_kill_skillrun() {
    let script = "\
import errno, os
data = b'x' * 65536
file = os.open('big', os.O_CREAT | os.O_WRONLY)
written = 0
try:
    for _ in range(8):
        written += os.write(file, data)
except OSError as error:
    print(errno.errorcode[error.errno])
print(written)
";
    let env = TestEnv::with_script(script);
    std::fs::create_dir(env.path("workspace")).unwrap();
    // bash counts in units of 1024 bytes.
    let run = "skillrun run ./skill main.py -w workspace";
    let end = env.end_of(&mut shell(&env, "", &format!("ulimit -f 256; {run}")));
    // A stream of WASI reports no error number, so Python says EIO.
    let wanted = ("EIO\n262144\n", "", 0);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str(), end.code), wanted);
    env.check_left_behind().unwrap();
    let end = env.end_of(&mut shell(&env, "", run));
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("524288\n", "", 0)
    );
    // A log that cannot be continued stops the run.
    let end = env.end_of(&mut shell(&env, "", &format!("ulimit -f 1; {run}")));
    assert_eq!((end.stdout.as_str(), end.code), ("", 125));
    assert!(end.stderr.contains("file too large"), "{}", end.stderr);
}

fn output_that_cannot_be_written_is_an_error() {
    let env = TestEnv::with_script("print('it ran', flush=True)\n");
    env.write("skill/scripts/main.sh", "echo it ran\n");
    for script in ["main.py", "main.sh"] {
        for more in [None, Some("--raw")] {
            let full = std::fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap();
            let words = ["run", "./skill", script].into_iter().chain(more);
            let mut command = env.command(&words.collect::<Vec<_>>());
            let end = env.end_of(command.stdout(full));
            let why = "error: cannot write the output of the script: no space left on device\n";
            assert_eq!((end.stderr.as_str(), end.code), (why, 125), "{script}");
        }
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = env.command(&["run", "./skill", script, "--json"]);
        let end = env.end_of(command.stdout(full));
        assert_eq!(
            (end.stderr.as_str(), end.code),
            ("error: no space left on device\n", 125)
        );
        // The twin.
        let end = env.end(&["run", "./skill", script]);
        assert_eq!(
            (end.stdout.as_str(), end.code),
            ("it ran\n", 0),
            "{}",
            end.stderr
        );
    }
}
