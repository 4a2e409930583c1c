//! Costs that a skill or a script could cause for the host: quadratic work, work that takes no fuel, handles, and
//! directories that must be removed.

use crate::containment::{meanwhile, start_until_ready};
use crate::env::{SKILL_MD, TestEnv};
use std::fs;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

tests! {
    nineteen_thousand_scripts_with_clashing_names_get_distinct_tool_names,
    the_prompt_of_four_skills_with_nineteen_thousand_scripts_each_is_printed,
    a_name_of_a_hundred_thousand_letters_gets_no_suggestion,
    suggestions_come_from_the_first_thousand_scripts,
    thousands_of_tool_patterns_and_long_arguments_are_decided,
    half_a_million_unclosed_links_are_checked,
    thousands_of_scripts_that_are_mentioned_and_missing_are_counted,
    references_are_counted_up_to_a_hundred_thousand,
    thousands_of_unusual_names_are_searched_for_in_half_a_million_words,
    more_skills_than_the_soft_limit_has_files_are_all_listed,
    as_many_files_can_be_open_as_the_policy_allows,
    a_directory_listing_is_read_on_demand,
    a_large_scratch_directory_is_gone_when_the_process_ends,
    the_scratch_directory_of_a_killed_process_is_removed_by_the_next_run,
    a_run_keeps_its_scratch_directory_while_other_runs_end,
}

/// Many hard links to one empty file: faster to create and to remove than many files.
fn names(folder: &Path, all: impl Iterator<Item = String>) {
    fs::create_dir_all(folder).unwrap();
    let first = folder.join("first");
    fs::write(&first, "").unwrap();
    for name in all {
        fs::hard_link(&first, folder.join(name)).unwrap();
    }
    fs::remove_file(first).unwrap();
}

/// Comparing each with each would take minutes, and the test would time out.
fn nineteen_thousand_scripts_with_clashing_names_get_distinct_tool_names() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    for folder in 0..10 {
        let folder = env.path(&format!("skill/scripts/f{folder}"));
        names(&folder, (0..1900).map(|n| format!("s{n}.py")));
    }
    let end = env.end(&["show", "--json", "./skill"]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    let shown: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    let tools: std::collections::HashSet<_> = shown["scripts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|script| script["tool"].as_str().unwrap())
        .collect();
    assert_eq!(tools.len(), 19_000);
    assert!(tools.contains("skill.f7.s1234"));
}

/// Searching for each among all scripts of its skill would take minutes.
fn the_prompt_of_four_skills_with_nineteen_thousand_scripts_each_is_printed() {
    let env = TestEnv::new();
    let skills = ["a", "b", "c", "d"];
    for skill in skills {
        env.write(
            &format!("{skill}/SKILL.md"),
            format!("---\nname: {skill}\ndescription: A skill of a test.\n---\n"),
        );
        for folder in 0..10 {
            let names_of = (0..1900).map(|n| format!("{folder}-{n}.py"));
            names(&env.path(&format!("{skill}/scripts/f{folder}")), names_of);
        }
    }
    let end = env.end(&["prompt", "./a", "./b", "./c", "./d"]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    for folder in 0..10 {
        for n in [0, 1899] {
            let row = format!("| {folder}-{n}.py |  |\n");
            assert_eq!(end.stdout.matches(&row).count(), 4, "{row}");
        }
    }
    assert_eq!(end.stdout.matches(".py |  |\n").count(), 4 * 19_000);
}

/// Comparing takes the product of the lengths: minutes here.
fn a_name_of_a_hundred_thousand_letters_gets_no_suggestion() {
    let env = TestEnv::with_script("");
    let long = "a".repeat(200);
    names(
        &env.path("skill/scripts"),
        (0..1000).map(|n| format!("{long}{n}.py")),
    );
    let end = env.end(&["run", "./skill", &"a".repeat(100_000)]);
    assert!(end.stderr.contains("not found in skill `skill`"));
    assert!(!end.stderr.contains("did you mean"));
    assert_eq!(end.code, 127);
}

fn suggestions_come_from_the_first_thousand_scripts() {
    let near = |scripts: usize| {
        let env = TestEnv::with_script("");
        names(
            &env.path("skill/scripts"),
            (1..scripts)
                .map(|n| format!("a{n}.py"))
                .chain(["zebra.py".to_owned()]),
        );
        fs::remove_file(env.path("skill/scripts/main.py")).unwrap();
        let end = env.end(&["run", "./skill", "zebar.py"]);
        assert_eq!(end.code, 127);
        end.stderr.contains("did you mean `zebra.py`?")
    };
    assert!(near(1000));
    assert!(!near(1001));
}

/// Searching for each pattern in each form of the command line would take minutes.
fn thousands_of_tool_patterns_and_long_arguments_are_decided() {
    let env = TestEnv::with_script("print('ran')\n");
    let patterns = "Bash(*aaaab*),".repeat(4600);
    let skill_md = |first: &str| {
        let tools = format!("allowed-tools: {first}{patterns}");
        SKILL_MD.replace("description:", &format!("{tools}\ndescription:"))
    };
    let argument = "a".repeat(100_000);
    let words: Vec<&str> = ["--"].into_iter().chain([argument.as_str(); 17]).collect();
    env.write("skill/SKILL.md", skill_md(""));
    let end = env.run(&words);
    assert!(end.stderr.contains("matches none of the allowed-tools"));
    assert_eq!((end.stdout.as_str(), end.code), ("", 126));
    env.write("skill/SKILL.md", skill_md("Bash(python3:*),"));
    assert_eq!(env.run(&words).stdout, "ran\n");
}

/// Reading to the end of the line for each would take minutes.
fn half_a_million_unclosed_links_are_checked() {
    let env = TestEnv::new();
    env.write(
        "skill/SKILL.md",
        SKILL_MD.to_owned() + &"](".repeat(500_000),
    );
    let end = env.end(&["check", "./skill"]);
    assert_eq!(end.stdout, "./skill: nothing found\n");
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
}

/// Searching for the nearest name to each of them among all names would take minutes.
fn thousands_of_scripts_that_are_mentioned_and_missing_are_counted() {
    let env = TestEnv::new();
    let long = "a".repeat(40);
    let missing = (0..9900).map(|n| format!("scripts/{long}{n:05}.py "));
    env.write(
        "skill/SKILL.md",
        SKILL_MD.to_owned() + &missing.collect::<String>(),
    );
    names(
        &env.path("skill/scripts"),
        (0..1000).map(|n| format!("{long}{n}.js")),
    );
    let end = env.end(&["load", "./skill"]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    let reported = end.stdout.matches(" status=\"not_found\">").count();
    assert_eq!(reported, 100);
    let last = format!("source=\"scripts/{long}00099.py\"");
    assert!(end.stdout.contains(&last));
    let more =
        "</script_output>\n<more scripts=\"9800\" status=\"not_found\"/>\n<reference_files>\n";
    assert!(end.stdout.contains(more));
}

fn references_are_counted_up_to_a_hundred_thousand() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    // One file has at most 65,000 names on some file systems.
    for folder in ["a", "b", "c"] {
        names(
            &env.path(&format!("skill/references/{folder}")),
            (0..34_000).map(|n| format!("{n}.md")),
        );
    }
    let end = env.end(&["load", "./skill"]);
    assert_eq!(end.stdout.matches("<file ").count(), 1000);
    let more = "<more files=\"98997\" complete=\"false\"/>\n";
    assert!(end.stdout.contains(more));
}

/// Comparing each with each would take minutes.
fn thousands_of_unusual_names_are_searched_for_in_half_a_million_words() {
    let env = TestEnv::new();
    let start = "a ".repeat(100);
    let text = "a ".repeat(500_000) + "00007.py";
    env.write("skill/SKILL.md", SKILL_MD.to_owned() + &text);
    for folder in ["skill", "skill/scripts"] {
        names(
            &env.path(folder),
            (0..19_000).map(|n| format!("{start}{n:05}.py")),
        );
    }
    let end = env.end(&["load", "./skill"]);
    assert_eq!(end.stdout.matches("<script_output ").count(), 1);
    let source = format!("<script_output source=\"{start}00007.py\" status=\"refused\">");
    assert!(end.stdout.contains(&source));
    assert_eq!(end.code, 126);
}

/// The binary with a smaller soft limit of open files.
fn with_files(env: &TestEnv, files: usize, words: &[&str]) -> Command {
    let template = env.command(words);
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -Sn {files}; exec \"$0\" \"$@\"")])
        .arg(template.get_program())
        .args(words)
        .current_dir(env.root())
        .env_clear()
        .envs(template.get_envs().filter_map(|(k, v)| Some((k, v?))))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn more_skills_than_the_soft_limit_has_files_are_all_listed() {
    let env = TestEnv::new();
    for n in 0..200 {
        let text = format!("---\nname: s{n}\ndescription: A skill of a test.\n---\n");
        env.write(&format!("skills/s{n}/SKILL.md"), text);
    }
    let end = env.end_of(&mut with_files(&env, 64, &["list", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(listed["skills"].as_array().unwrap().len(), 200);
    assert_eq!(listed["skipped"], serde_json::json!([]));
}

/// Each open file may have a stream too, and the limit covers both.
fn as_many_files_can_be_open_as_the_policy_allows() {
    let env = TestEnv::with_script(
        "import errno\nheld = []\ntry:\n    while True:\n        \
         held.append(open('/tmp/a', 'a'))\n        held[-1].write('x')\n        held[-1].flush()\n\
         except OSError as error:\n    print(len(held), errno.errorcode[error.errno])\n\
         held.clear()\nprint(len(open('/tmp/a').read()))\n",
    );
    env.write("skillrun.toml", "[limits]\nopen_files = 600\n");
    env.trust("skillrun.toml");
    let end = env.run(&[]);
    assert_eq!(end.stdout, "600 EDQUOT\n600\n");
    assert_eq!(
        end.stderr,
        "warning: the script hit its limit of 600 open files\n"
    );
    assert_eq!(end.code, 0);
}

/// If a directory of millions of names were read as a whole before its first name is returned, the time limit could not
/// act. So names that change before their turn are reported as they are then, and one that was removed is no error.
fn a_directory_listing_is_read_on_demand() {
    let env = TestEnv::with_script(
        "import os, sys\nlisting = os.scandir('.')\nnext(listing)\nprint('ready', flush=True)\n\
         sys.stdin.readline()\nprint(sum(entry.is_file(follow_symlinks=False) for entry in listing))\n",
    );
    let workspace = env.path("workspace");
    names(&workspace, (0..10_000).map(|n| n.to_string()));
    let link = env.path("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    let end = meanwhile(&env, &["-w", "workspace"], || {
        for n in 0..10_000 {
            let path = workspace.join(n.to_string());
            fs::remove_file(&path).unwrap();
            if n % 2 == 0 {
                fs::hard_link(&link, path).unwrap();
            }
        }
    });
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    let files: usize = end.stdout.trim().parse().unwrap();
    assert!(files < 2500, "{files} of 5000 names were read too early");
}

fn left_in_tmp(env: &TestEnv) -> usize {
    fs::read_dir(env.path("tmp")).unwrap().count()
}

fn a_large_scratch_directory_is_gone_when_the_process_ends() {
    let env = TestEnv::with_script(
        "import os, sys\nfor n in range(20):\n    os.makedirs(f'/tmp/{n}/a/b')\n    \
         for m in range(20): open(f'/tmp/{n}/a/{m}', 'w').close()\n\
         print('made', flush=True)\n\
         while sys.argv[1:]: pass\n",
    );
    let end = env.run(&[]);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("made\n", ""));
    env.check_left_behind().unwrap();
    let end = env.run(&["--fuel", "1000000000", "--", "for ever"]);
    assert_eq!((end.stdout.as_str(), end.code), ("made\n", 124));
    env.check_left_behind().unwrap();
}

const WAITS: &str = "\
import sys
open('/tmp/own', 'w').write('own')
print('ready', flush=True)
sys.stdin.readline()
print(open('/tmp/own').read())
";

fn the_scratch_directory_of_a_killed_process_is_removed_by_the_next_run() {
    let env = TestEnv::with_script(WAITS);
    env.write("other/SKILL.md", SKILL_MD.replace("skill", "other"));
    env.write("other/scripts/main.py", "print('ran')\n");
    env.write("tmp/skillrun-scratch-notes/a", "of somebody else");
    let (mut child, _) = start_until_ready(&env, "main.py", &[]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(left_in_tmp(&env), 2);
    let end = env.end(&["run", "./other", "main.py"]);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("ran\n", ""));
    assert_eq!(left_in_tmp(&env), 1);
    assert_eq!(env.read("tmp/skillrun-scratch-notes/a"), "of somebody else");
}

fn a_run_keeps_its_scratch_directory_while_other_runs_end() {
    let env = TestEnv::with_script(WAITS);
    env.write("other/SKILL.md", SKILL_MD.replace("skill", "other"));
    env.write("other/scripts/main.py", "print('ran')\n");
    let (mut child, mut stdout) = start_until_ready(&env, "main.py", &[]);
    assert_eq!(env.end(&["run", "./other", "main.py"]).stdout, "ran\n");
    assert_eq!(left_in_tmp(&env), 1);
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut rest = String::new();
    stdout.read_line(&mut rest).unwrap();
    assert_eq!((rest.as_str(), env.end_of_child(child).code), ("own\n", 0));
    env.check_left_behind().unwrap();
}
