//! Which skill a section of a policy is for: never one that merely has its name.

use crate::place::{End, Place};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

trials! {
    a_skill_of_a_project_does_not_get_what_the_home_policy_grants_to_its_name,
    a_skill_that_hides_one_with_a_section_is_refused,
    a_section_that_narrows_is_not_escaped_by_lying_elsewhere,
    a_bare_name_counts_in_the_skill_directories_of_its_policy,
    a_bare_name_counts_for_skills_that_were_typed_with_the_policy,
    a_section_names_a_skill_by_path,
    a_section_names_a_skill_by_content,
    a_skill_behind_a_link_is_known_by_where_it_really_is,
    two_sections_for_one_skill_are_refused,
    what_hides_itself_hides_nothing,
    a_refused_skill_is_on_the_record,
    a_script_cannot_plant_or_change_a_skill_on_the_search_path,
    the_skills_of_a_workspace_are_protected_wherever_the_run_is_started,
    the_skills_that_any_policy_names_are_protected_under_every_other,
    a_skill_behind_a_link_on_the_search_path_is_protected,
    answers_to_a_name_are_not_for_a_skill_that_hides_another,
    a_name_in_skill_md_means_a_skill_only_if_no_folder_has_it,
    show_prints_the_digest,
}

/// Prints which one it is, and what it can read.
const READS: &str = "import os, sys\n\
    print(os.environ['SKILL_BASE_DIR'])\n\
    print(open(sys.argv[1]).read() if sys.argv[1:] else 'nothing to read')\n";

/// A skill that reads the secret.
fn skill(place: &Place, folder: &str) {
    let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
    let text = format!("---\nname: {name}\ndescription: A skill.\n---\nscripts/go.py\n");
    place.write(&format!("{folder}/SKILL.md"), text);
    place.write(&format!("{folder}/scripts/go.py"), READS);
}

/// A home with a skill `deploy` that may read a secret, and an empty project.
fn place(section: &str) -> Place {
    let place = Place::new();
    place.write("secret/file", "the secret");
    fs::create_dir(place.path("repo")).unwrap();
    skill(&place, "home/.claude/skills/deploy");
    let policy = section.replace("{root}", place.root().to_str().unwrap());
    place.write("home/.config/skillrun/skillrun.toml", policy);
    place
}

const GRANTS: &str = "[skill.deploy]\nallow = [\"read:{root}/secret\"]\napproval = \"never\"\n";

/// Runs the script of a skill from a folder in each of the ways there are, with the secret as its argument where that is
/// possible.
fn each_way(place: &Place, folder: &str, skill: &str) -> [End; 3] {
    let file = place.text("secret/file");
    let name = skill.rsplit('/').next().unwrap();
    place.write("text", format!("!{{{name}/scripts/go.py {file}}}\n"));
    let commands: [&[&str]; 3] = [
        &["run", skill, "go.py", "--", &file],
        &["load", skill],
        &["expand", "--skill", skill],
    ];
    commands.map(|words| {
        let mut command = place.command(words);
        command.stdin(fs::File::open(place.path("text")).unwrap());
        place.end_of(command.current_dir(place.path(folder)))
    })
}

/// The refusal is the same in each way, and nothing ran.
fn refused_everywhere(place: &Place, folder: &str, skill: &str, why: &str) {
    for end in each_way(place, folder, skill) {
        assert_eq!(end.code, 126, "{}{}", end.stdout, end.stderr);
        assert!(end.stderr.ends_with(why), "{}\nis not\n{why}", end.stderr);
        assert!(!end.stdout.contains("the secret"), "{}", end.stdout);
        assert!(!end.stdout.contains("nothing to read"), "{}", end.stdout);
    }
    let log = place.audit();
    assert!(log.iter().all(|line| line["event"] == "refused"), "{log:?}");
}

/// It runs in each way; the secret is printed where it was asked for.
fn runs_everywhere(place: &Place, folder: &str, skill: &str, real: &str) {
    let [run, load, expand] = each_way(place, folder, skill);
    let printed = format!("{{root}}/{real}\nthe secret\n");
    assert_eq!(
        (run.stdout.as_str(), run.code),
        (printed.as_str(), 0),
        "{}",
        run.stderr
    );
    let loaded = format!("{{root}}/{real}\nnothing to read\n");
    assert!(
        load.stdout.contains(&loaded),
        "{}{}",
        load.stdout,
        load.stderr
    );
    assert_eq!(
        (expand.stdout, expand.code),
        (printed, 0),
        "{}",
        expand.stderr
    );
}

const HOME_DIRS: &str =
    "{root}/home/.agents/skills, {root}/home/.claude/skills, {root}/home/.r9s/skills";

fn elsewhere(section: &str, place: &str, name: &str, dirs: &str) -> String {
    format!(
        "refused: the policy's section `{section}` does not cover the skill in `{{root}}/{place}`\n\
         hint: if this skill is meant, add a section `[skill.\"{{root}}/{place}\"]`; the bare name `{name}` counts only \
         in {dirs}\n"
    )
}

fn a_skill_of_a_project_does_not_get_what_the_home_policy_grants_to_its_name() {
    let place = place(GRANTS);
    // Whether it hides the home's, or is the only one.
    for (theirs, hides) in [
        ("repo/.claude/skills/deploy", true),
        ("other/skills/deploy", false),
    ] {
        skill(&place, theirs);
        if !hides {
            fs::remove_dir_all(place.path("home/.claude/skills")).unwrap();
        }
        let folder = theirs.split('/').next().unwrap();
        let why = elsewhere("[skill.deploy]", theirs, "deploy", HOME_DIRS);
        refused_everywhere(&place, folder, "deploy", &why);
        // Naming it by its path makes no difference.
        let path = format!("../{theirs}");
        refused_everywhere(&place, "home", &path, &why);
    }
    // The twin: the skill that the section is for.
    let place = self::place(GRANTS);
    runs_everywhere(&place, "repo", "deploy", "home/.claude/skills/deploy");
}

fn a_skill_that_hides_one_with_a_section_is_refused() {
    let by_path = GRANTS.replace("deploy", "\"~/.claude/skills/deploy\"");
    let place = place(&format!("approval = \"never\"\n{by_path}"));
    runs_everywhere(&place, "repo", "deploy", "home/.claude/skills/deploy");
    let place = self::place(&format!("approval = \"never\"\n{by_path}"));
    skill(&place, "repo/skills/deploy");
    let why = "refused: the skill in `{root}/repo/skills/deploy` hides the one in `{root}/home/.claude/skills/deploy`, \
               which the policy's section `[skill.\"~/.claude/skills/deploy\"]` is for\n\
               hint: name the skill by its path, or add a section `[skill.\"{root}/repo/skills/deploy\"]`\n";
    refused_everywhere(&place, "repo", "deploy", why);
    // The same within the directories of one policy.
    let place = self::place(GRANTS);
    skill(&place, "home/.agents/skills/deploy");
    let why = "refused: the skill in `{root}/home/.agents/skills/deploy` hides the one in \
               `{root}/home/.claude/skills/deploy`, which the policy's section `[skill.deploy]` is for\n\
               hint: name the skill by its path, or add a section `[skill.\"{root}/home/.agents/skills/deploy\"]`\n";
    refused_everywhere(&place, "repo", "deploy", why);
    // The twins: one that is named by its path hides nothing, and one with a section of its own is meant.
    let place = self::place(GRANTS);
    skill(&place, "home/.agents/skills/deploy");
    runs_everywhere(
        &place,
        "repo",
        "../home/.agents/skills/deploy",
        "home/.agents/skills/deploy",
    );
    let own = GRANTS.replace("deploy", "\"~/.agents/skills/deploy\"");
    let place = self::place(&format!("{GRANTS}{own}"));
    skill(&place, "home/.agents/skills/deploy");
    runs_everywhere(&place, "repo", "deploy", "home/.agents/skills/deploy");
}

fn a_section_that_narrows_is_not_escaped_by_lying_elsewhere() {
    let policy = "approval = \"never\"\nallow = [\"read:{root}/secret\"]\n\
                  [skill.deploy]\ninherit = false\napproval = \"always\"\n";
    let place = place(policy);
    skill(&place, "repo/skills/deploy");
    let why = elsewhere("[skill.deploy]", "repo/skills/deploy", "deploy", HOME_DIRS);
    refused_everywhere(&place, "repo", "deploy", &why);
    // The twin: another name is free to use what every skill may.
    let place = self::place(policy);
    skill(&place, "repo/skills/other");
    runs_everywhere(&place, "repo", "other", "repo/skills/other");
}

fn a_bare_name_counts_in_the_skill_directories_of_its_policy() {
    let policy = |place: &Place| GRANTS.replace("{root}", place.root().to_str().unwrap());
    for dir in [
        ".agents/skills",
        ".claude/skills",
        ".chorus/skills",
        "skills",
    ] {
        let place = Place::new();
        place.write("secret/file", "the secret");
        skill(&place, &format!("repo/{dir}/deploy"));
        place.write("repo/skillrun.toml", policy(&place));
        place.trust("repo/skillrun.toml");
        runs_everywhere(&place, "repo", "deploy", &format!("repo/{dir}/deploy"));
    }
    // Not below any other folder, and not in the home.
    for theirs in [
        "repo/more/skills/deploy",
        "repo/deploy",
        "home/.claude/skills/deploy",
    ] {
        let place = Place::new();
        place.write("secret/file", "the secret");
        skill(&place, theirs);
        place.write("repo/skillrun.toml", policy(&place));
        place.trust("repo/skillrun.toml");
        let dirs = [
            ".agents/skills",
            ".claude/skills",
            ".chorus/skills",
            "skills",
        ];
        let dirs = dirs.map(|dir| format!("{{root}}/repo/{dir}")).join(", ");
        let why = elsewhere("[skill.deploy]", theirs, "deploy", &dirs);
        refused_everywhere(&place, "repo", &format!("../{theirs}"), &why);
    }
}

fn a_bare_name_counts_for_skills_that_were_typed_with_the_policy() {
    let place = place("");
    skill(&place, "mine/deploy");
    place.write(
        "p/own.toml",
        GRANTS.replace("{root}", place.root().to_str().unwrap()),
    );
    let file = place.text("secret/file");
    let run = |words: &[&str]| {
        place.end(&[&["run"], words, &["--policy", "p/own.toml", "--", &file]].concat())
    };
    let end = run(&["deploy", "go.py", "--skills", "mine"]);
    assert_eq!(
        end.stdout, "{root}/mine/deploy\nthe secret\n",
        "{}",
        end.stderr
    );
    // Without it, the same skill is not one that the policy knows.
    let end = run(&["./mine/deploy", "go.py"]);
    let dirs = [
        ".agents/skills",
        ".claude/skills",
        ".chorus/skills",
        "skills",
    ];
    let dirs = dirs.map(|dir| format!("{{root}}/p/{dir}")).join(", ");
    assert_eq!(
        (end.stdout.as_str(), end.stderr, end.code),
        (
            "",
            elsewhere("[skill.deploy]", "mine/deploy", "deploy", &dirs),
            126
        )
    );
    // Beside the policy is where its names count.
    skill(&place, "p/skills/deploy");
    let end = run(&["./p/skills/deploy", "go.py"]);
    assert_eq!(
        end.stdout, "{root}/p/skills/deploy\nthe secret\n",
        "{}",
        end.stderr
    );
    // The policy of the user means the same whether it is found or named.
    let own = place.text("home/.config/skillrun/skillrun.toml");
    place.write(
        "home/.config/skillrun/skillrun.toml",
        place.read("p/own.toml"),
    );
    let words = ["run", "deploy", "go.py", "--policy", &own, "--", &file];
    let end = place.end(&words);
    assert_eq!(
        end.stdout, "{root}/home/.claude/skills/deploy\nthe secret\n",
        "{}",
        end.stderr
    );
}

fn a_section_names_a_skill_by_path() {
    for (section, folder, is_for) in [
        ("\"./mine/forecast\"", "mine/forecast", true),
        ("\"mine/forecast\"", "mine/forecast", true),
        ("\"../{here}/mine/forecast/\"", "mine/forecast", true),
        ("\"{root}/mine/forecast\"", "mine/forecast", true),
        ("\"~/x/forecast\"", "home/x/forecast", true),
        ("\"./link/forecast\"", "mine/forecast", true),
        ("\"./mine/forecast\"", "other/forecast", false),
        ("\"./mine\"", "mine/forecast", false),
        ("\"./nowhere/forecast\"", "mine/forecast", false),
    ] {
        let place = Place::new();
        place.write("secret/file", "the secret");
        for folder in ["mine/forecast", "other/forecast", folder] {
            skill(&place, folder);
        }
        symlink("mine", place.path("link")).unwrap();
        let here = place.root().file_name().unwrap().to_str().unwrap();
        let policy = GRANTS.replace("deploy", section).replace("{here}", here);
        let policy = policy.replace("{root}", place.root().to_str().unwrap());
        place.write("policy.toml", policy);
        let (path, file) = (place.text(folder), place.text("secret/file"));
        let words = [
            "run",
            &path,
            "go.py",
            "--policy",
            "policy.toml",
            "--",
            &file,
        ];
        let end = place.end(&words);
        // What no section is for runs with what every skill gets, which is nothing here.
        match is_for {
            true => assert_eq!(
                end.stdout,
                format!("{{root}}/{folder}\nthe secret\n"),
                "{section}"
            ),
            false => assert!(
                end.stderr.contains("FileNotFoundError"),
                "{section}: {}",
                end.stderr
            ),
        }
    }
}

fn digest(place: &Place, folder: &str) -> String {
    let shown = place.end(&["show", &place.text(folder), "--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    shown["digest"].as_str().unwrap().to_owned()
}

fn a_section_names_a_skill_by_content() {
    let place = place("");
    for folder in ["repo/skills/deploy", "anywhere/deploy", "anywhere/other"] {
        skill(&place, folder);
        place.write(
            &format!("{folder}/SKILL.md"),
            "---\ndescription: d\n---\nscripts/go.py\n",
        );
    }
    let right = digest(&place, "anywhere/deploy");
    assert_eq!(right, digest(&place, "anywhere/other"));
    let policy = |key: &str, digest: &str| {
        let section = GRANTS.replace("deploy", key) + &format!("digest = \"{digest}\"\n");
        let text = section.replace("{root}", place.root().to_str().unwrap());
        place.write("home/.config/skillrun/skillrun.toml", text);
    };
    policy("deploy", &right);
    // Wherever it lies; that it hides another changes nothing about its content.
    runs_everywhere(&place, "anywhere", "./deploy", "anywhere/deploy");
    runs_everywhere(&place, "repo", "deploy", "repo/skills/deploy");
    // Another folder's name is not the section's.
    let file = place.text("secret/file");
    let other = place.end(&["run", "./anywhere/other", "go.py", "--", &file]);
    assert!(
        other.stderr.contains("FileNotFoundError"),
        "{}",
        other.stderr
    );
    fs::remove_dir_all(place.path("state")).unwrap();
    // Any other content is refused, also in the directory that the policy belongs to.
    place.write("anywhere/deploy/notes.md", "changed");
    for (from, wanted, real) in [
        ("anywhere", "./deploy", "anywhere/deploy"),
        ("home", "deploy", "home/.claude/skills/deploy"),
    ] {
        let now = digest(&place, real);
        let why = format!(
            "refused: the skill in `{{root}}/{real}` is not what the digest in the policy's section `[skill.deploy]` says\n\
             hint: if its content is meant, write digest = \"{now}\" in `[skill.deploy]`\n"
        );
        refused_everywhere(&place, from, wanted, &why);
    }
    // A path with a digest needs both.
    fs::remove_dir_all(place.path("state")).unwrap();
    policy("\"../../../repo/skills/deploy\"", &right);
    place.write("repo/skills/deploy/notes.md", "changed");
    let now = digest(&place, "repo/skills/deploy");
    let section = "[skill.\"../../../repo/skills/deploy\"]";
    let why = format!(
        "refused: the skill in `{{root}}/repo/skills/deploy` is not what the digest in the policy's section `{section}` says\n\
         hint: if its content is meant, write digest = \"{now}\" in `{section}`\n"
    );
    refused_everywhere(&place, "repo", "deploy", &why);
    fs::remove_dir_all(place.path("state")).unwrap();
    fs::remove_file(place.path("repo/skills/deploy/notes.md")).unwrap();
    runs_everywhere(&place, "repo", "deploy", "repo/skills/deploy");
}

fn a_skill_behind_a_link_is_known_by_where_it_really_is() {
    // A link in the home's own directory leads to where others may write.
    for target in ["dotfiles/deploy", "dotfiles/deploy-2"] {
        let place = place(GRANTS);
        fs::remove_dir_all(place.path("home/.claude/skills/deploy")).unwrap();
        skill(&place, target);
        symlink(place.path(target), place.path("home/.claude/skills/deploy")).unwrap();
        let why = elsewhere("[skill.deploy]", target, "deploy", HOME_DIRS);
        refused_everywhere(&place, "repo", "deploy", &why);
        // The twin: its path is the person's word, through the link or without it.
        for key in ["~/.claude/skills/deploy", &place.text(target)] {
            fs::remove_dir_all(place.path("state")).unwrap();
            let section = GRANTS.replace("deploy", &format!("\"{key}\""));
            let section = section.replace("{root}", place.root().to_str().unwrap());
            place.write("home/.config/skillrun/skillrun.toml", section);
            let file = place.text("secret/file");
            let end = place.end(&["run", "deploy", "go.py", "--", &file]);
            assert_eq!(
                end.stdout,
                format!("{{root}}/{target}\nthe secret\n"),
                "{}",
                end.stderr
            );
        }
    }
    // A skill directory that is itself a link is one.
    let place = place(GRANTS);
    fs::rename(place.path("home/.claude"), place.path("dotfiles")).unwrap();
    symlink("../dotfiles", place.path("home/.claude")).unwrap();
    runs_everywhere(&place, "repo", "deploy", "dotfiles/skills/deploy");
}

fn two_sections_for_one_skill_are_refused() {
    let twice = [
        "\"~/.claude/skills/deploy\"",
        "\"../../.claude/skills/deploy\"",
    ];
    let twice = twice.map(|key| GRANTS.replace("deploy", key)).concat();
    let place = place(&twice);
    let why = "refused: the policy's sections `[skill.\"../../.claude/skills/deploy\"]` and \
               `[skill.\"~/.claude/skills/deploy\"]` both name the skill in `{root}/home/.claude/skills/deploy`\n\
               hint: keep one of them\n";
    refused_everywhere(&place, "repo", "deploy", why);
    // The twin: a path is more exact than a name.
    let both = GRANTS.replace("deploy", "\"~/.claude/skills/deploy\"");
    let place = self::place(&format!("{both}[skill.deploy]\ninherit = false\n"));
    runs_everywhere(&place, "repo", "deploy", "home/.claude/skills/deploy");
}

fn what_hides_itself_hides_nothing() {
    let place = place(GRANTS);
    fs::create_dir_all(place.path("home/.agents")).unwrap();
    symlink("../.claude/skills", place.path("home/.agents/skills")).unwrap();
    runs_everywhere(&place, "repo", "deploy", "home/.claude/skills/deploy");
}

fn a_refused_skill_is_on_the_record() {
    let place = place(GRANTS);
    skill(&place, "repo/skills/deploy");
    let mut command = place.command(&["run", "deploy", "go.py"]);
    place.end_of(command.current_dir(place.path("repo")));
    let log = place.audit();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["event"], "refused");
    assert_eq!(
        log[0]["reason"].as_str().unwrap(),
        format!(
            "the policy's section `[skill.deploy]` does not cover the skill in `{}`",
            place
                .path("repo/skills/deploy")
                .canonicalize()
                .unwrap()
                .display()
        )
    );
}

const PLANTS: &str = "import errno, os, sys\n\
def attempt(what, do):\n\
\x20   try:\n\
\x20       do()\n\
\x20       print(what, 'done')\n\
\x20   except OSError as error:\n\
\x20       print(what, errno.errorcode[error.errno])\n\
for path in sys.argv[1:]:\n\
\x20   attempt('make ' + path, lambda: os.makedirs(path + '/deploy/scripts'))\n\
\x20   attempt('write ' + path, lambda: open(path + '/deploy/scripts/go.py', 'w'))\n\
\x20   attempt('move ' + path, lambda: os.rename(path, 'moved'))\n";

fn a_script_cannot_plant_or_change_a_skill_on_the_search_path() {
    let place = Place::with_script(PLANTS);
    skill(&place, "skills/deploy");
    skill(&place, "mine/deploy");
    let tried = [
        ".agents/skills",
        ".claude/skills",
        ".chorus/skills",
        "skills",
        "mine",
    ];
    let words = [&["-w", ".", "--skills", "mine", "--"], &tried[..]].concat();
    let end = place.run(&words);
    let mut expected = String::new();
    for path in tried {
        let there = place.path(path).exists();
        let missing = if there { "EPERM" } else { "ENOENT" };
        expected += &format!("make {path} EPERM\nwrite {path} {missing}\nmove {path} EPERM\n");
    }
    assert_eq!(end.stdout, expected, "{}", end.stderr);
    assert_eq!(place.read("skills/deploy/scripts/go.py"), READS);
    // The twin: any other folder of the workspace.
    let end = place.run(&["-w", ".", "--", "other"]);
    assert_eq!(
        end.stdout,
        "make other done\nwrite other done\nmove other done\n"
    );
}

fn the_skills_of_a_workspace_are_protected_wherever_the_run_is_started() {
    let place = Place::with_script(PLANTS);
    skill(&place, "project/skills/deploy");
    let words = ["-w", "project", "--", ".agents/skills", "skills", "other"];
    let end = place.run(&words);
    assert_eq!(
        end.stdout,
        "make .agents/skills EPERM\nwrite .agents/skills ENOENT\nmove .agents/skills EPERM\n\
         make skills EPERM\nwrite skills EPERM\nmove skills EPERM\n\
         make other done\nwrite other done\nmove other done\n",
        "{}",
        end.stderr
    );
}

fn the_skills_that_any_policy_names_are_protected_under_every_other() {
    let place = self::place("[skill.\"{root}/vault/deploy\"]\napproval = \"never\"\n");
    place.write(
        "skill/SKILL.md",
        "---\nname: skill\ndescription: A skill.\n---\n",
    );
    place.write("skill/scripts/main.py", PLANTS);
    skill(&place, "vault/deploy");
    skill(&place, "vault/trusted");
    place.write("empty.toml", "");
    place.write("other/skillrun.toml", "[skill.\"../vault/trusted\"]\n");
    let mut trust = place.command(&["policy", "trust", "--yes"]);
    let end = place.end_of(trust.current_dir(place.path("other")));
    assert_eq!(end.code, 0, "{}", end.stderr);
    let words = ["-w", "vault", "--policy", "empty.toml", "--"];
    let end = place.run(&[&words[..], &["deploy", "trusted", "free"]].concat());
    assert_eq!(
        end.stdout,
        "make deploy EPERM\nwrite deploy ENOENT\nmove deploy EPERM\n\
         make trusted EPERM\nwrite trusted ENOENT\nmove trusted EPERM\n\
         make free done\nwrite free done\nmove free done\n",
        "{}",
        end.stderr
    );
}

fn a_skill_behind_a_link_on_the_search_path_is_protected() {
    let place = Place::with_script(PLANTS);
    skill(&place, "dev/deploy");
    fs::create_dir_all(place.path("home/.claude/skills")).unwrap();
    symlink(
        place.path("dev/deploy"),
        place.path("home/.claude/skills/deploy"),
    )
    .unwrap();
    let end = place.run(&["-w", "dev", "--", "deploy", "free"]);
    assert_eq!(
        end.stdout,
        "make deploy EPERM\nwrite deploy ENOENT\nmove deploy EPERM\n\
         make free done\nwrite free done\nmove free done\n",
        "{}",
        end.stderr
    );
}

fn answers_to_a_name_are_not_for_a_skill_that_hides_another() {
    let place = self::place("");
    skill(&place, "repo/.claude/skills/deploy");
    let load = |folder: &str, skill: &str| {
        let answers = format!(
            "[{{\"skill\": \"{skill}\", \"script\": \"scripts/go.py\", \"answer\": \"yes_once\"}}]"
        );
        place.write("answers.json", answers);
        let mut load = place.command(&["load", "deploy", "--answers", "../answers.json"]);
        place.end_of(load.current_dir(place.path(folder))).code
    };
    assert_eq!(load("repo", "deploy"), 126);
    // The twins: a name that means one skill, and a path.
    assert_eq!(load("secret", "deploy"), 0);
    assert_eq!(load("repo", &place.text("repo/.claude/skills/deploy")), 0);
}

fn a_name_in_skill_md_means_a_skill_only_if_no_folder_has_it() {
    let place = Place::new();
    let named = |folder: &str, name: &str, script: &str| {
        let text = format!("---\nname: {name}\ndescription: A skill.\n---\n");
        place.write(&format!("{folder}/SKILL.md"), text);
        place.write(&format!("{folder}/scripts/{script}"), "print('it ran')\n");
    };
    named("skills/b", "a", "y.py");
    let warning =
        "warning: no folder has the name `a`; the skill in `{root}/skills/b` calls itself so\n";
    let end = place.end(&["run", "a", "y.py"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("it ran\n", warning, 0)
    );
    // Two that call themselves so are as good as each other.
    named("skills/c", "a", "y.py");
    let end = place.end(&["run", "a", "y.py"]);
    let why = "error: skill `a` is ambiguous: `{root}/skills/b`, `{root}/skills/c` call themselves so\n\
               hint: name the one that is meant by its path\n";
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", why, 127)
    );
    // A folder's name comes first, wherever it lies.
    named("home/.r9s/skills/a", "z", "other.py");
    let end = place.end(&["run", "a", "y.py"]);
    assert_eq!(
        end.stderr,
        "error: script `y.py` not found in skill `z`\nhint: there are: scripts/other.py\n"
    );
    // A section for the name is not for whoever calls himself so.
    let place = self::place(GRANTS);
    fs::remove_dir_all(place.path("home/.claude/skills/deploy")).unwrap();
    skill(&place, "repo/skills/imp");
    let text = "---\nname: deploy\ndescription: A skill.\n---\nscripts/go.py\n";
    place.write("repo/skills/imp/SKILL.md", text);
    let why = elsewhere("[skill.deploy]", "repo/skills/imp", "deploy", HOME_DIRS);
    refused_everywhere(&place, "repo", "deploy", &why);
}

fn show_prints_the_digest() {
    let place = Place::with_script("print(1)\n");
    let digest = digest(&place, "skill");
    let hex = digest.strip_prefix("sha256:").unwrap();
    assert!(
        hex.len() == 64 && hex.chars().all(|c| c.is_ascii_hexdigit()),
        "{digest}"
    );
    let end = place.end(&["show", "./skill"]);
    assert!(
        end.stdout.contains(&format!("\ndigest         {digest}\n")),
        "{}",
        end.stdout
    );
    place.write("skill/new", "");
    assert_ne!(digest, self::digest(&place, "skill"));
}
