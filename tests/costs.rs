//! What a skill or a script could make the host pay for: work that grows with the square of what is
//! there, work that takes no fuel, handles, and directories that somebody has to remove.

use crate::containment::meanwhile;
use crate::place::{Place, SKILL_MD};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

trials! {
    nineteen_thousand_scripts_whose_names_clash_have_tool_names_of_their_own,
    the_prompt_of_four_skills_with_nineteen_thousand_scripts_each_is_printed,
    a_name_of_a_hundred_thousand_letters_is_compared_with_nothing,
    a_suggestion_is_sought_among_the_first_thousand_scripts,
    thousands_of_tool_patterns_and_long_arguments_are_answered,
    half_a_million_links_that_nothing_closes_are_checked,
    thousands_of_scripts_that_are_mentioned_and_missing_are_counted,
    references_are_counted_up_to_a_hundred_thousand,
    thousands_of_odd_names_are_sought_among_half_a_million_words,
    more_skills_than_the_soft_limit_has_files_are_all_listed,
    as_many_files_as_the_policy_says_are_open_at_once,
    a_directory_is_read_only_as_far_as_its_listing_is_asked_for,
    a_large_scratch_directory_is_gone_when_the_process_ends,
    what_a_killed_process_left_is_removed_by_the_next_one,
    a_run_keeps_its_scratch_directory_while_others_come_and_go,
}

/// Many names of one empty file: quicker made, and quicker removed, than many files.
fn names(folder: &Path, all: impl Iterator<Item = String>) {
    fs::create_dir_all(folder).unwrap();
    let first = folder.join("first");
    fs::write(&first, "").unwrap();
    for name in all {
        fs::hard_link(&first, folder.join(name)).unwrap();
    }
    fs::remove_file(first).unwrap();
}

/// Compared each with each, these would take minutes, and the process would not be waited for.
fn nineteen_thousand_scripts_whose_names_clash_have_tool_names_of_their_own() {
    let place = Place::new();
    place.write("skill/SKILL.md", SKILL_MD);
    for folder in 0..10 {
        let folder = place.path(&format!("skill/scripts/f{folder}"));
        names(&folder, (0..1900).map(|n| format!("s{n}.py")));
    }
    let end = place.end(&["show", "--json", "./skill"]);
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

/// Each sought among all of its skill would take minutes.
fn the_prompt_of_four_skills_with_nineteen_thousand_scripts_each_is_printed() {
    let place = Place::new();
    let skills = ["a", "b", "c", "d"];
    for skill in skills {
        place.write(
            &format!("{skill}/SKILL.md"),
            format!("---\nname: {skill}\ndescription: A skill of a test.\n---\n"),
        );
        for folder in 0..10 {
            let names_of = (0..1900).map(|n| format!("{folder}-{n}.py"));
            names(&place.path(&format!("{skill}/scripts/f{folder}")), names_of);
        }
    }
    let end = place.end(&["prompt", "./a", "./b", "./c", "./d"]);
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
fn a_name_of_a_hundred_thousand_letters_is_compared_with_nothing() {
    let place = Place::with_script("");
    let long = "a".repeat(200);
    names(
        &place.path("skill/scripts"),
        (0..1000).map(|n| format!("{long}{n}.py")),
    );
    let end = place.end(&["run", "./skill", &"a".repeat(100_000)]);
    assert!(end.stderr.contains("not found in skill `skill`"));
    assert!(!end.stderr.contains("did you mean"));
    assert_eq!(end.code, 127);
}

fn a_suggestion_is_sought_among_the_first_thousand_scripts() {
    let near = |scripts: usize| {
        let place = Place::with_script("");
        names(
            &place.path("skill/scripts"),
            (1..scripts)
                .map(|n| format!("a{n}.py"))
                .chain(["zebra.py".to_owned()]),
        );
        fs::remove_file(place.path("skill/scripts/main.py")).unwrap();
        let end = place.end(&["run", "./skill", "zebar.py"]);
        assert_eq!(end.code, 127);
        end.stderr.contains("did you mean `zebra.py`?")
    };
    assert!(near(1000));
    assert!(!near(1001));
}

/// Each pattern searched for in each way to write the command line would take minutes.
fn thousands_of_tool_patterns_and_long_arguments_are_answered() {
    let place = Place::with_script("print('ran')\n");
    let patterns = "Bash(*aaaab*),".repeat(4600);
    let skill_md = |first: &str| {
        let tools = format!("allowed-tools: {first}{patterns}");
        SKILL_MD.replace("description:", &format!("{tools}\ndescription:"))
    };
    let argument = "a".repeat(100_000);
    let words: Vec<&str> = ["--"].into_iter().chain([argument.as_str(); 17]).collect();
    place.write("skill/SKILL.md", skill_md(""));
    let end = place.run(&words);
    assert!(end.stderr.contains("matches none of the tools"));
    assert_eq!((end.stdout.as_str(), end.code), ("", 126));
    place.write("skill/SKILL.md", skill_md("Bash(python3:*),"));
    assert_eq!(place.run(&words).stdout, "ran\n");
}

/// Each read to the end of the line would take minutes.
fn half_a_million_links_that_nothing_closes_are_checked() {
    let place = Place::new();
    place.write(
        "skill/SKILL.md",
        SKILL_MD.to_owned() + &"](".repeat(500_000),
    );
    let end = place.end(&["check", "./skill"]);
    assert_eq!(end.stdout, "./skill: nothing found\n");
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
}

/// The nearest name to each of them, sought among all that are there, would take minutes.
fn thousands_of_scripts_that_are_mentioned_and_missing_are_counted() {
    let place = Place::new();
    let long = "a".repeat(40);
    let missing = (0..9900).map(|n| format!("scripts/{long}{n:05}.py "));
    place.write(
        "skill/SKILL.md",
        SKILL_MD.to_owned() + &missing.collect::<String>(),
    );
    names(
        &place.path("skill/scripts"),
        (0..1000).map(|n| format!("{long}{n}.js")),
    );
    let end = place.end(&["load", "./skill"]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    let told = end.stdout.matches(" status=\"not_found\">").count();
    assert_eq!(told, 100);
    let last = format!("source=\"scripts/{long}00099.py\"");
    assert!(end.stdout.contains(&last));
    let more =
        "</script_output>\n<more scripts=\"9800\" status=\"not_found\"/>\n<reference_files>\n";
    assert!(end.stdout.contains(more));
}

fn references_are_counted_up_to_a_hundred_thousand() {
    let place = Place::new();
    place.write("skill/SKILL.md", SKILL_MD);
    // One file has at most 65,000 names on some file systems.
    for folder in ["a", "b", "c"] {
        names(
            &place.path(&format!("skill/references/{folder}")),
            (0..34_000).map(|n| format!("{n}.md")),
        );
    }
    let end = place.end(&["load", "./skill"]);
    assert_eq!(end.stdout.matches("<file ").count(), 1000);
    let more = "<more files=\"98997\" complete=\"false\"/>\n";
    assert!(end.stdout.contains(more));
}

/// Each compared with each would take minutes.
fn thousands_of_odd_names_are_sought_among_half_a_million_words() {
    let place = Place::new();
    let start = "a ".repeat(100);
    let text = "a ".repeat(500_000) + "00007.py";
    place.write("skill/SKILL.md", SKILL_MD.to_owned() + &text);
    for folder in ["skill", "skill/scripts"] {
        names(
            &place.path(folder),
            (0..19_000).map(|n| format!("{start}{n:05}.py")),
        );
    }
    let end = place.end(&["load", "./skill"]);
    assert_eq!(end.stdout.matches("<script_output ").count(), 1);
    let source = format!("<script_output source=\"{start}00007.py\" status=\"refused\">");
    assert!(end.stdout.contains(&source));
    assert_eq!(end.code, 126);
}

/// The binary with a smaller soft limit of open files.
fn with_files(place: &Place, files: usize, words: &[&str]) -> Command {
    let template = place.command(words);
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -Sn {files}; exec \"$0\" \"$@\"")])
        .arg(template.get_program())
        .args(words)
        .current_dir(place.root())
        .env_clear()
        .envs(template.get_envs().filter_map(|(k, v)| Some((k, v?))))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn more_skills_than_the_soft_limit_has_files_are_all_listed() {
    let place = Place::new();
    for n in 0..200 {
        let text = format!("---\nname: s{n}\ndescription: A skill of a test.\n---\n");
        place.write(&format!("skills/s{n}/SKILL.md"), text);
    }
    let end = place.end_of(&mut with_files(&place, 64, &["list", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(listed["skills"].as_array().unwrap().len(), 200);
    assert_eq!(listed["skipped"], serde_json::json!([]));
}

/// Each open file may hold a stream too, and there is room for both.
fn as_many_files_as_the_policy_says_are_open_at_once() {
    let place = Place::with_script(
        "import errno\nheld = []\ntry:\n    while True:\n        \
         held.append(open('/tmp/a', 'a'))\n        held[-1].write('x')\n        held[-1].flush()\n\
         except OSError as error:\n    print(len(held), errno.errorcode[error.errno])\n\
         held.clear()\nprint(len(open('/tmp/a').read()))\n",
    );
    place.write("skillrun.toml", "[limits]\nopen_files = 600\n");
    place.trust("skillrun.toml");
    let end = place.run(&[]);
    assert_eq!(end.stdout, "600 EDQUOT\n600\n");
    assert_eq!(
        end.stderr,
        "warning: the script met its limit of 600 open files\n"
    );
    assert_eq!(end.code, 0);
}

/// Read as a whole before its first name is told, a directory of millions of names would hold up the
/// clock. So what became of a name before its turn came is told, and one that is gone is no error.
fn a_directory_is_read_only_as_far_as_its_listing_is_asked_for() {
    let place = Place::with_script(
        "import os, sys\nlisting = os.scandir('.')\nnext(listing)\nprint('ready', flush=True)\n\
         sys.stdin.readline()\nprint(sum(entry.is_file(follow_symlinks=False) for entry in listing))\n",
    );
    let workspace = place.path("workspace");
    names(&workspace, (0..10_000).map(|n| n.to_string()));
    let link = place.path("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    let end = meanwhile(&place, &["-w", "workspace"], || {
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

fn left_in_tmp(place: &Place) -> usize {
    fs::read_dir(place.path("tmp")).unwrap().count()
}

fn a_large_scratch_directory_is_gone_when_the_process_ends() {
    let place = Place::with_script(
        "import os, sys\nfor n in range(20):\n    os.makedirs(f'/tmp/{n}/a/b')\n    \
         for m in range(20): open(f'/tmp/{n}/a/{m}', 'w').close()\n\
         print('made', flush=True)\n\
         while sys.argv[1:]: pass\n",
    );
    let end = place.run(&[]);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("made\n", ""));
    place.check_left_behind().unwrap();
    let end = place.run(&["--fuel", "1000000000", "--", "for ever"]);
    assert_eq!((end.stdout.as_str(), end.code), ("made\n", 124));
    place.check_left_behind().unwrap();
}

const WAITS: &str = "\
import sys
open('/tmp/own', 'w').write('own')
print('ready', flush=True)
sys.stdin.readline()
print(open('/tmp/own').read())
";

/// Starts a run that waits to be told to go on.
fn waiting(place: &Place) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let mut command = place.command(&["run", "./skill", "main.py"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut ready = String::new();
    stdout.read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    (child, stdout)
}

fn what_a_killed_process_left_is_removed_by_the_next_one() {
    let place = Place::with_script(WAITS);
    place.write("other/SKILL.md", SKILL_MD.replace("skill", "other"));
    place.write("other/scripts/main.py", "print('ran')\n");
    place.write("tmp/skillrun-scratch-notes/a", "of somebody else");
    let (mut child, _) = waiting(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(left_in_tmp(&place), 2);
    let end = place.end(&["run", "./other", "main.py"]);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("ran\n", ""));
    assert_eq!(left_in_tmp(&place), 1);
    assert_eq!(
        place.read("tmp/skillrun-scratch-notes/a"),
        "of somebody else"
    );
}

fn a_run_keeps_its_scratch_directory_while_others_come_and_go() {
    let place = Place::with_script(WAITS);
    place.write("other/SKILL.md", SKILL_MD.replace("skill", "other"));
    place.write("other/scripts/main.py", "print('ran')\n");
    let (mut child, mut stdout) = waiting(&place);
    assert_eq!(place.end(&["run", "./other", "main.py"]).stdout, "ran\n");
    assert_eq!(left_in_tmp(&place), 1);
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut rest = String::new();
    stdout.read_line(&mut rest).unwrap();
    assert_eq!(
        (rest.as_str(), place.end_of_child(child).code),
        ("own\n", 0)
    );
    place.check_left_behind().unwrap();
}
