//! Which files are believed to say what may run: not those that scripts, skills or other users may have written.

use crate::place::{Place, SKILL_MD};
use std::fs;
use std::os::unix::fs::symlink;

trials! {
    a_policy_in_any_skill_is_passed_over_and_refused_if_it_is_named,
    a_refused_or_broken_policy_is_on_the_record,
    a_link_in_the_place_of_a_granted_directory_gives_nothing,
    what_is_typed_means_what_its_links_lead_to,
    a_granted_folder_called_skill_is_not_the_skills_own,
    answers_and_events_where_scripts_may_write_are_refused,
    answers_are_for_the_folder_of_a_skill_and_of_the_right_type,
    a_skill_that_hides_another_is_told_of_wherever_it_is_named,
}

const READS: &str = "import sys\nprint(open(sys.argv[1]).read())\n";

fn secret() -> Place {
    let place = Place::with_script(READS);
    place.write("secret/file", "secret");
    place
}

fn granting(place: &Place) -> String {
    format!(
        "approval = \"never\"\nallow = [\"read:{}\"]\n",
        place.text("secret")
    )
}

fn a_policy_in_any_skill_is_passed_over_and_refused_if_it_is_named() {
    let place = secret();
    place.write("evil/SKILL.md", SKILL_MD);
    place.write("evil/skillrun.toml", granting(&place));
    place.write("evil/scripts/skillrun.toml", granting(&place));
    place.write("plain/skillrun.toml", granting(&place));
    let file = place.text("secret/file");
    let words = ["run", "../skill", "main.py", "--", &file];
    let from = |folder: &str| {
        let mut command = place.command(&words);
        place.end_of(command.current_dir(place.path(folder)))
    };
    assert_eq!(from("evil").code, 1);
    let named = place.end(&[
        "run",
        "./skill",
        "main.py",
        "--policy",
        "evil/scripts/skillrun.toml",
    ]);
    assert_eq!(named.code, 126);
    assert!(
        named
            .stderr
            .contains("lies in a skill, which does not say what may run"),
        "{}",
        named.stderr
    );
    place.trust("plain/skillrun.toml");
    let twin = from("plain");
    assert_eq!((twin.stdout.as_str(), twin.code), ("secret\n", 0));
}

fn a_refused_or_broken_policy_is_on_the_record() {
    let place = secret();
    place.write("broken.toml", "alow = []\n");
    place.write("workspace/skillrun.toml", "");
    place.write("workspace/policy.toml", "approval = \"never\"\n");
    let broken: [&[&str]; 4] = [
        &["run", "./skill", "main.py", "--policy", "broken.toml"],
        &["load", "./skill", "--policy", "broken.toml"],
        &["expand", "--skill", "./skill", "--policy", "broken.toml"],
        &[
            "run",
            "./skill",
            "main.py",
            "-w",
            "workspace",
            "--policy",
            "workspace/policy.toml",
        ],
    ];
    for words in broken {
        assert_eq!(place.end(words).code, 126, "{words:?}");
    }
    let log = place.audit();
    assert_eq!(log.len(), broken.len());
    for line in log {
        assert_eq!(line["event"], "refused");
        assert!(
            line["reason"].as_str().unwrap().starts_with("policy `"),
            "{line}"
        );
    }
}

fn a_link_in_the_place_of_a_granted_directory_gives_nothing() {
    let place = secret();
    fs::create_dir(place.path("project")).unwrap();
    let policy = format!(
        "[skill.\"./skill\"]\nallow = [\"write:{}\"]\n",
        place.text("project/out")
    );
    place.write("policy.toml", policy);
    let file = place.text("secret/file");
    let run = || place.run(&["--policy", "policy.toml", "--", &file]);
    symlink(place.path("secret"), place.path("project/out")).unwrap();
    let end = run();
    assert_eq!((end.stdout.as_str(), end.code), ("", 126));
    assert!(
        end.stderr.contains("out of what the policy grants"),
        "{}",
        end.stderr
    );
    // A link further up leads as far.
    fs::rename(place.path("project"), place.path("moved")).unwrap();
    symlink("moved", place.path("project")).unwrap();
    fs::remove_file(place.path("moved/out")).unwrap();
    fs::create_dir(place.path("moved/out")).unwrap();
    assert_eq!(run().code, 126);
    fs::remove_file(place.path("project")).unwrap();
    fs::rename(place.path("moved"), place.path("project")).unwrap();
    place.write("project/out/file", "granted");
    let file = place.text("project/out/file");
    let twin = place.run(&["--policy", "policy.toml", "--", &file]);
    assert_eq!((twin.stdout.as_str(), twin.code), ("granted\n", 0));
}

fn what_is_typed_means_what_its_links_lead_to() {
    let place = secret();
    symlink("secret", place.path("link")).unwrap();
    let end = place.run(&["--allow", "read:./link", "--", &place.text("secret/file")]);
    assert_eq!((end.stdout.as_str(), end.code), ("secret\n", 0));
}

fn a_granted_folder_called_skill_is_not_the_skills_own() {
    let place = Place::with_script("open(__file__ + '.new', 'w')\n");
    place.write("policy/policy.toml", "allow = [\"write:./skill\"]\n");
    fs::create_dir(place.path("policy/skill")).unwrap();
    let end = place.run(&["--policy", "policy/policy.toml"]);
    assert_eq!(end.code, 1);
    assert!(end.stderr.contains("PermissionError"), "{}", end.stderr);
    place.write("policy/policy.toml", "allow = [\"write:skill\"]\n");
    assert_eq!(place.run(&["--policy", "policy/policy.toml"]).code, 0);
}

fn answers_and_events_where_scripts_may_write_are_refused() {
    let place = secret();
    let yes = r#"[{"skill": "skill", "script": "scripts/main.py", "answer": "yes_once"}]"#;
    place.write("workspace/answers.json", yes);
    place.write("skill/answers.json", yes);
    for (words, why) in [
        (
            ["-w", "workspace", "--answers", "workspace/answers.json"],
            "answers `workspace/answers.json` lie in the workspace",
        ),
        (
            ["-w", "workspace", "--answers", "skill/answers.json"],
            "answers `skill/answers.json` lie in the skill",
        ),
        (
            ["-w", "workspace", "--events", "workspace/events"],
            "events `workspace/events` lie in the workspace",
        ),
    ] {
        let end = place.end(&[&["expand", "--skill", "./skill"], &words[..]].concat());
        assert_eq!(end.code, 126, "{words:?}: {}", end.stderr);
        assert!(end.stderr.contains(why), "{}", end.stderr);
    }
    assert!(!place.path("workspace/events").exists());
}

fn answers_are_for_the_folder_of_a_skill_and_of_the_right_type() {
    let place = Place::new();
    place.write(
        "imp/SKILL.md",
        "---\nname: deploy\ndescription: A skill.\n---\nscripts/a.py\n",
    );
    place.write("imp/scripts/a.py", "print('it ran')\n");
    let load = |answers: &str| {
        place.write("answers.json", answers);
        place.end(&["load", "./imp", "--answers", "answers.json"])
    };
    let end = load(r#"[{"skill": "deploy", "script": "scripts/a.py", "answer": "yes_once"}]"#);
    assert_eq!(end.code, 126);
    assert!(!end.stdout.contains("it ran"));
    let end =
        load(r#"[{"skill": "imp", "script": "scripts/a.py", "answer": "yes_once", "sha256": 1}]"#);
    assert_eq!(
        end.stderr,
        "error: answers `answers.json`: answer 1: `sha256` is not a text\n"
    );
    let end = load(r#"[{"skill": "imp", "script": "scripts/a.py", "answer": "yes_once"}]"#);
    assert!(end.stdout.contains("it ran"), "{}", end.stderr);
}

fn a_skill_that_hides_another_is_told_of_wherever_it_is_named() {
    let place = Place::new();
    for folder in ["skills/deploy", "home/.claude/skills/deploy"] {
        place.write(
            &format!("{folder}/SKILL.md"),
            "---\nname: deploy\ndescription: A skill.\n---\n",
        );
        place.write(&format!("{folder}/scripts/a.py"), "");
    }
    let commands: [&[&str]; 3] = [
        &["run", "deploy", "a.py"],
        &["load", "deploy"],
        &["expand", "--skill", "deploy"],
    ];
    for words in commands {
        let end = place.end(words);
        let hides =
            "warning: skill `{root}/skills/deploy` hides `{root}/home/.claude/skills/deploy`\n";
        assert_eq!((end.stderr.as_str(), end.code), (hides, 0), "{words:?}");
    }
}
