//! Which skill a section of a policy applies to: never one that merely has the same name.

use crate::env::{End, TestEnv};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

tests! {
    a_skill_of_a_project_does_not_get_what_the_home_policy_grants_to_its_name,
    a_skill_that_shadows_one_with_a_section_is_refused,
    a_restricting_section_cannot_be_avoided_from_another_directory,
    a_bare_name_applies_in_the_skill_directories_of_its_policy,
    a_bare_name_applies_in_skill_directories_typed_with_the_policy,
    a_section_names_a_skill_by_path,
    a_section_names_a_skill_by_content,
    a_skill_behind_a_link_is_identified_by_its_real_path,
    two_sections_for_one_skill_are_refused,
    a_skill_found_twice_does_not_hide_itself,
    a_refused_skill_is_recorded,
    a_script_cannot_plant_or_change_a_skill_on_the_search_path,
    the_skills_of_a_workspace_are_protected_wherever_the_run_is_started,
    skills_that_one_policy_names_are_protected_under_every_other,
    a_skill_behind_a_link_on_the_search_path_is_protected,
    answers_for_a_name_do_not_apply_to_a_skill_that_shadows_another,
    a_name_in_skill_md_means_a_skill_only_if_no_folder_has_it,
    show_prints_the_digest,
}

/// Prints its own path, and what it can read.
const READS: &str = "import os, sys\n\
    print(os.environ['SKILL_BASE_DIR'])\n\
    print(open(sys.argv[1]).read() if sys.argv[1:] else 'nothing to read')\n";

/// A skill that reads the secret.
fn skill(env: &TestEnv, folder: &str) {
    let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
    let text = format!("---\nname: {name}\ndescription: A skill.\n---\nscripts/go.py\n");
    env.write(&format!("{folder}/SKILL.md"), text);
    env.write(&format!("{folder}/scripts/go.py"), READS);
}

/// A home with a skill `deploy` that may read a secret, and an empty project.
fn env(section: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("secret/file", "the secret");
    fs::create_dir(env.path("repo")).unwrap();
    skill(&env, "home/.claude/skills/deploy");
    let policy = section.replace("{root}", env.root().to_str().unwrap());
    env.write("home/.config/skillrun/skillrun.toml", policy);
    env
}

const GRANTS: &str = "[skill.deploy]\nallow = [\"read:{root}/secret\"]\napproval = \"never\"\n";

/// Runs the script of a skill from a folder with each command that can run one, with the secret as its argument where
/// that is possible.
fn each_way(env: &TestEnv, folder: &str, skill: &str) -> [End; 3] {
    let file = env.text("secret/file");
    let name = skill.rsplit('/').next().unwrap();
    env.write("text", format!("!{{{name}/scripts/go.py {file}}}\n"));
    let commands: [&[&str]; 3] = [
        &["run", skill, "go.py", "--", &file],
        &["load", skill],
        &["expand", "--skill", skill],
    ];
    commands.map(|words| {
        let mut command = env.command(words);
        command.stdin(fs::File::open(env.path("text")).unwrap());
        env.end_of(command.current_dir(env.path(folder)))
    })
}

/// Every command refuses with the same message, and nothing ran.
fn refused_everywhere(env: &TestEnv, folder: &str, skill: &str, why: &str) {
    for end in each_way(env, folder, skill) {
        assert_eq!(end.code, 126, "{}{}", end.stdout, end.stderr);
        assert!(end.stderr.ends_with(why), "{}\nis not\n{why}", end.stderr);
        assert!(!end.stdout.contains("the secret"), "{}", end.stdout);
        assert!(!end.stdout.contains("nothing to read"), "{}", end.stdout);
    }
    let log = env.audit();
    assert!(log.iter().all(|line| line["event"] == "refused"), "{log:?}");
}

/// Every command runs it; the secret is printed where it was requested.
fn runs_everywhere(env: &TestEnv, folder: &str, skill: &str, real: &str) {
    let [run, load, expand] = each_way(env, folder, skill);
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

fn elsewhere(section: &str, env: &str, name: &str, dirs: &str) -> String {
    format!(
        "refused: the policy's section `{section}` does not cover the skill in `{{root}}/{env}`\n\
         hint: if you mean this skill, add a section `[skill.\"{{root}}/{env}\"]`; the bare name `{name}` applies only \
         in {dirs}\n"
    )
}

fn a_skill_of_a_project_does_not_get_what_the_home_policy_grants_to_its_name() {
    let env = env(GRANTS);
    // Whether it shadows the skill in the home or is the only one of its name.
    for (theirs, shadows) in [
        ("repo/.claude/skills/deploy", true),
        ("other/skills/deploy", false),
    ] {
        skill(&env, theirs);
        if !shadows {
            fs::remove_dir_all(env.path("home/.claude/skills")).unwrap();
        }
        let folder = theirs.split('/').next().unwrap();
        let why = elsewhere("[skill.deploy]", theirs, "deploy", HOME_DIRS);
        refused_everywhere(&env, folder, "deploy", &why);
        // Naming it by its path makes no difference.
        let path = format!("../{theirs}");
        refused_everywhere(&env, "home", &path, &why);
    }
    // The twin: the skill that the section applies to.
    let env = self::env(GRANTS);
    runs_everywhere(&env, "repo", "deploy", "home/.claude/skills/deploy");
}

fn a_skill_that_shadows_one_with_a_section_is_refused() {
    let by_path = GRANTS.replace("deploy", "\"~/.claude/skills/deploy\"");
    let env = env(&format!("approval = \"never\"\n{by_path}"));
    runs_everywhere(&env, "repo", "deploy", "home/.claude/skills/deploy");
    let env = self::env(&format!("approval = \"never\"\n{by_path}"));
    skill(&env, "repo/skills/deploy");
    let why = "refused: the skill in `{root}/repo/skills/deploy` shadows the one in `{root}/home/.claude/skills/deploy`, \
               which the policy's section `[skill.\"~/.claude/skills/deploy\"]` is for\n\
               hint: name the skill by its path, or add a section `[skill.\"{root}/repo/skills/deploy\"]`\n";
    refused_everywhere(&env, "repo", "deploy", why);
    // The same within the directories of one policy.
    let env = self::env(GRANTS);
    skill(&env, "home/.agents/skills/deploy");
    let why = "refused: the skill in `{root}/home/.agents/skills/deploy` shadows the one in \
               `{root}/home/.claude/skills/deploy`, which the policy's section `[skill.deploy]` is for\n\
               hint: name the skill by its path, or add a section `[skill.\"{root}/home/.agents/skills/deploy\"]`\n";
    refused_everywhere(&env, "repo", "deploy", why);
    // The twins: a skill named by its path shadows nothing, and one with a section of its own is meant.
    let env = self::env(GRANTS);
    skill(&env, "home/.agents/skills/deploy");
    runs_everywhere(
        &env,
        "repo",
        "../home/.agents/skills/deploy",
        "home/.agents/skills/deploy",
    );
    let own = GRANTS.replace("deploy", "\"~/.agents/skills/deploy\"");
    let env = self::env(&format!("{GRANTS}{own}"));
    skill(&env, "home/.agents/skills/deploy");
    runs_everywhere(&env, "repo", "deploy", "home/.agents/skills/deploy");
}

fn a_restricting_section_cannot_be_avoided_from_another_directory() {
    let policy = "approval = \"never\"\nallow = [\"read:{root}/secret\"]\n\
                  [skill.deploy]\ninherit = false\napproval = \"always\"\n";
    let env = env(policy);
    skill(&env, "repo/skills/deploy");
    let why = elsewhere("[skill.deploy]", "repo/skills/deploy", "deploy", HOME_DIRS);
    refused_everywhere(&env, "repo", "deploy", &why);
    // The twin: a skill of another name may use what every skill may.
    let env = self::env(policy);
    skill(&env, "repo/skills/other");
    runs_everywhere(&env, "repo", "other", "repo/skills/other");
}

fn a_bare_name_applies_in_the_skill_directories_of_its_policy() {
    let policy = |env: &TestEnv| GRANTS.replace("{root}", env.root().to_str().unwrap());
    for dir in [
        ".agents/skills",
        ".claude/skills",
        ".chorus/skills",
        "skills",
    ] {
        let env = TestEnv::new();
        env.write("secret/file", "the secret");
        skill(&env, &format!("repo/{dir}/deploy"));
        env.write("repo/skillrun.toml", policy(&env));
        env.trust("repo/skillrun.toml");
        runs_everywhere(&env, "repo", "deploy", &format!("repo/{dir}/deploy"));
    }
    // Not below any other folder, and not in the home.
    for theirs in [
        "repo/more/skills/deploy",
        "repo/deploy",
        "home/.claude/skills/deploy",
    ] {
        let env = TestEnv::new();
        env.write("secret/file", "the secret");
        skill(&env, theirs);
        env.write("repo/skillrun.toml", policy(&env));
        env.trust("repo/skillrun.toml");
        let dirs = [
            ".agents/skills",
            ".claude/skills",
            ".chorus/skills",
            "skills",
        ];
        let dirs = dirs.map(|dir| format!("{{root}}/repo/{dir}")).join(", ");
        let why = elsewhere("[skill.deploy]", theirs, "deploy", &dirs);
        refused_everywhere(&env, "repo", &format!("../{theirs}"), &why);
    }
}

fn a_bare_name_applies_in_skill_directories_typed_with_the_policy() {
    let env = env("");
    skill(&env, "mine/deploy");
    env.write(
        "p/own.toml",
        GRANTS.replace("{root}", env.root().to_str().unwrap()),
    );
    let file = env.text("secret/file");
    let run = |words: &[&str]| {
        env.end(&[&["run"], words, &["--policy", "p/own.toml", "--", &file]].concat())
    };
    let end = run(&["deploy", "go.py", "--skills", "mine"]);
    assert_eq!(
        end.stdout, "{root}/mine/deploy\nthe secret\n",
        "{}",
        end.stderr
    );
    // Without `--skills`, the policy does not know the same skill.
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
    // Bare names apply beside the policy.
    skill(&env, "p/skills/deploy");
    let end = run(&["./p/skills/deploy", "go.py"]);
    assert_eq!(
        end.stdout, "{root}/p/skills/deploy\nthe secret\n",
        "{}",
        end.stderr
    );
    // The user's policy means the same whether it is found or named.
    let own = env.text("home/.config/skillrun/skillrun.toml");
    env.write(
        "home/.config/skillrun/skillrun.toml",
        env.read("p/own.toml"),
    );
    let words = ["run", "deploy", "go.py", "--policy", &own, "--", &file];
    let end = env.end(&words);
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
        let env = TestEnv::new();
        env.write("secret/file", "the secret");
        for folder in ["mine/forecast", "other/forecast", folder] {
            skill(&env, folder);
        }
        symlink("mine", env.path("link")).unwrap();
        let here = env.root().file_name().unwrap().to_str().unwrap();
        let policy = GRANTS.replace("deploy", section).replace("{here}", here);
        let policy = policy.replace("{root}", env.root().to_str().unwrap());
        env.write("policy.toml", policy);
        let (path, file) = (env.text(folder), env.text("secret/file"));
        let words = [
            "run",
            &path,
            "go.py",
            "--policy",
            "policy.toml",
            "--",
            &file,
        ];
        let end = env.end(&words);
        // A skill without a section runs with what every skill gets, which is nothing here.
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

fn digest(env: &TestEnv, folder: &str) -> String {
    let shown = env.end(&["show", &env.text(folder), "--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    shown["digest"].as_str().unwrap().to_owned()
}

fn a_section_names_a_skill_by_content() {
    let env = env("");
    for folder in ["repo/skills/deploy", "anywhere/deploy", "anywhere/other"] {
        skill(&env, folder);
        env.write(
            &format!("{folder}/SKILL.md"),
            "---\ndescription: d\n---\nscripts/go.py\n",
        );
    }
    let right = digest(&env, "anywhere/deploy");
    assert_eq!(right, digest(&env, "anywhere/other"));
    let policy = |key: &str, digest: &str| {
        let section = GRANTS.replace("deploy", key) + &format!("digest = \"{digest}\"\n");
        let text = section.replace("{root}", env.root().to_str().unwrap());
        env.write("home/.config/skillrun/skillrun.toml", text);
    };
    policy("deploy", &right);
    // In any directory; hiding another skill changes nothing about its content.
    runs_everywhere(&env, "anywhere", "./deploy", "anywhere/deploy");
    runs_everywhere(&env, "repo", "deploy", "repo/skills/deploy");
    // A folder of another name does not match the section.
    let file = env.text("secret/file");
    let other = env.end(&["run", "./anywhere/other", "go.py", "--", &file]);
    assert!(
        other.stderr.contains("FileNotFoundError"),
        "{}",
        other.stderr
    );
    fs::remove_dir_all(env.path("state")).unwrap();
    // Any other content is refused, also in the directory of the policy.
    env.write("anywhere/deploy/notes.md", "changed");
    for (from, wanted, real) in [
        ("anywhere", "./deploy", "anywhere/deploy"),
        ("home", "deploy", "home/.claude/skills/deploy"),
    ] {
        let now = digest(&env, real);
        let why = format!(
            "refused: the skill in `{{root}}/{real}` does not match the digest in the policy's section `[skill.deploy]`\n\
             hint: if this content is intended, write digest = \"{now}\" in `[skill.deploy]`\n"
        );
        refused_everywhere(&env, from, wanted, &why);
    }
    // A path with a digest needs both.
    fs::remove_dir_all(env.path("state")).unwrap();
    policy("\"../../../repo/skills/deploy\"", &right);
    env.write("repo/skills/deploy/notes.md", "changed");
    let now = digest(&env, "repo/skills/deploy");
    let section = "[skill.\"../../../repo/skills/deploy\"]";
    let why = format!(
        "refused: the skill in `{{root}}/repo/skills/deploy` does not match the digest in the policy's section `{section}`\n\
         hint: if this content is intended, write digest = \"{now}\" in `{section}`\n"
    );
    refused_everywhere(&env, "repo", "deploy", &why);
    fs::remove_dir_all(env.path("state")).unwrap();
    fs::remove_file(env.path("repo/skills/deploy/notes.md")).unwrap();
    runs_everywhere(&env, "repo", "deploy", "repo/skills/deploy");
}

fn a_skill_behind_a_link_is_identified_by_its_real_path() {
    // A link in the home's own skill directory leads to a directory that others may write.
    for target in ["dotfiles/deploy", "dotfiles/deploy-2"] {
        let env = env(GRANTS);
        fs::remove_dir_all(env.path("home/.claude/skills/deploy")).unwrap();
        skill(&env, target);
        symlink(env.path(target), env.path("home/.claude/skills/deploy")).unwrap();
        let why = elsewhere("[skill.deploy]", target, "deploy", HOME_DIRS);
        refused_everywhere(&env, "repo", "deploy", &why);
        // The twin: a section for its path, through the link or without it.
        for key in ["~/.claude/skills/deploy", &env.text(target)] {
            fs::remove_dir_all(env.path("state")).unwrap();
            let section = GRANTS.replace("deploy", &format!("\"{key}\""));
            let section = section.replace("{root}", env.root().to_str().unwrap());
            env.write("home/.config/skillrun/skillrun.toml", section);
            let file = env.text("secret/file");
            let end = env.end(&["run", "deploy", "go.py", "--", &file]);
            assert_eq!(
                end.stdout,
                format!("{{root}}/{target}\nthe secret\n"),
                "{}",
                end.stderr
            );
        }
    }
    // A skill directory may itself be a link.
    let env = env(GRANTS);
    fs::rename(env.path("home/.claude"), env.path("dotfiles")).unwrap();
    symlink("../dotfiles", env.path("home/.claude")).unwrap();
    runs_everywhere(&env, "repo", "deploy", "dotfiles/skills/deploy");
}

fn two_sections_for_one_skill_are_refused() {
    let twice = [
        "\"~/.claude/skills/deploy\"",
        "\"../../.claude/skills/deploy\"",
    ];
    let twice = twice.map(|key| GRANTS.replace("deploy", key)).concat();
    let env = env(&twice);
    let why = "refused: the policy's sections `[skill.\"../../.claude/skills/deploy\"]` and \
               `[skill.\"~/.claude/skills/deploy\"]` both select the skill in `{root}/home/.claude/skills/deploy`\n\
               hint: keep one of them\n";
    refused_everywhere(&env, "repo", "deploy", why);
    // The twin: a path is more specific than a name.
    let both = GRANTS.replace("deploy", "\"~/.claude/skills/deploy\"");
    let env = self::env(&format!("{both}[skill.deploy]\ninherit = false\n"));
    runs_everywhere(&env, "repo", "deploy", "home/.claude/skills/deploy");
}

fn a_skill_found_twice_does_not_hide_itself() {
    let env = env(GRANTS);
    fs::create_dir_all(env.path("home/.agents")).unwrap();
    symlink("../.claude/skills", env.path("home/.agents/skills")).unwrap();
    runs_everywhere(&env, "repo", "deploy", "home/.claude/skills/deploy");
}

fn a_refused_skill_is_recorded() {
    let env = env(GRANTS);
    skill(&env, "repo/skills/deploy");
    let mut command = env.command(&["run", "deploy", "go.py"]);
    env.end_of(command.current_dir(env.path("repo")));
    let log = env.audit();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["event"], "refused");
    assert_eq!(
        log[0]["reason"].as_str().unwrap(),
        format!(
            "the policy's section `[skill.deploy]` does not cover the skill in `{}`",
            env.path("repo/skills/deploy")
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
    let env = TestEnv::with_script(PLANTS);
    skill(&env, "skills/deploy");
    skill(&env, "mine/deploy");
    let tried = [
        ".agents/skills",
        ".claude/skills",
        ".chorus/skills",
        "skills",
        "mine",
    ];
    let words = [&["-w", ".", "--skills", "mine", "--"], &tried[..]].concat();
    let end = env.run(&words);
    let mut expected = String::new();
    for path in tried {
        let there = env.path(path).exists();
        let missing = if there { "EPERM" } else { "ENOENT" };
        expected += &format!("make {path} EPERM\nwrite {path} {missing}\nmove {path} EPERM\n");
    }
    assert_eq!(end.stdout, expected, "{}", end.stderr);
    assert_eq!(env.read("skills/deploy/scripts/go.py"), READS);
    // The twin: any other folder of the workspace.
    let end = env.run(&["-w", ".", "--", "other"]);
    assert_eq!(
        end.stdout,
        "make other done\nwrite other done\nmove other done\n"
    );
}

fn the_skills_of_a_workspace_are_protected_wherever_the_run_is_started() {
    let env = TestEnv::with_script(PLANTS);
    skill(&env, "project/skills/deploy");
    let words = ["-w", "project", "--", ".agents/skills", "skills", "other"];
    let end = env.run(&words);
    assert_eq!(
        end.stdout,
        "make .agents/skills EPERM\nwrite .agents/skills ENOENT\nmove .agents/skills EPERM\n\
         make skills EPERM\nwrite skills EPERM\nmove skills EPERM\n\
         make other done\nwrite other done\nmove other done\n",
        "{}",
        end.stderr
    );
}

fn skills_that_one_policy_names_are_protected_under_every_other() {
    let env = self::env("[skill.\"{root}/vault/deploy\"]\napproval = \"never\"\n");
    env.write(
        "skill/SKILL.md",
        "---\nname: skill\ndescription: A skill.\n---\n",
    );
    env.write("skill/scripts/main.py", PLANTS);
    skill(&env, "vault/deploy");
    skill(&env, "vault/trusted");
    env.write("empty.toml", "");
    env.write("other/skillrun.toml", "[skill.\"../vault/trusted\"]\n");
    let mut trust = env.command(&["policy", "trust", "--yes"]);
    let end = env.end_of(trust.current_dir(env.path("other")));
    assert_eq!(end.code, 0, "{}", end.stderr);
    let words = ["-w", "vault", "--policy", "empty.toml", "--"];
    let end = env.run(&[&words[..], &["deploy", "trusted", "free"]].concat());
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
    let env = TestEnv::with_script(PLANTS);
    skill(&env, "dev/deploy");
    fs::create_dir_all(env.path("home/.claude/skills")).unwrap();
    symlink(
        env.path("dev/deploy"),
        env.path("home/.claude/skills/deploy"),
    )
    .unwrap();
    let end = env.run(&["-w", "dev", "--", "deploy", "free"]);
    assert_eq!(
        end.stdout,
        "make deploy EPERM\nwrite deploy ENOENT\nmove deploy EPERM\n\
         make free done\nwrite free done\nmove free done\n",
        "{}",
        end.stderr
    );
}

fn answers_for_a_name_do_not_apply_to_a_skill_that_shadows_another() {
    let env = self::env("");
    skill(&env, "repo/.claude/skills/deploy");
    let load = |folder: &str, skill: &str| {
        let answers = format!(
            "[{{\"skill\": \"{skill}\", \"script\": \"scripts/go.py\", \"answer\": \"yes_once\"}}]"
        );
        env.write("answers.json", answers);
        let mut load = env.command(&["load", "deploy", "--answers", "../answers.json"]);
        env.end_of(load.current_dir(env.path(folder))).code
    };
    assert_eq!(load("repo", "deploy"), 126);
    // The twins: a name that means one skill, and a path.
    assert_eq!(load("secret", "deploy"), 0);
    assert_eq!(load("repo", &env.text("repo/.claude/skills/deploy")), 0);
}

fn a_name_in_skill_md_means_a_skill_only_if_no_folder_has_it() {
    let env = TestEnv::new();
    let named = |folder: &str, name: &str, script: &str| {
        let text = format!("---\nname: {name}\ndescription: A skill.\n---\n");
        env.write(&format!("{folder}/SKILL.md"), text);
        env.write(&format!("{folder}/scripts/{script}"), "print('it ran')\n");
    };
    named("skills/b", "a", "y.py");
    let warning = "warning: no skill folder is named `a`; using `{root}/skills/b`, whose SKILL.md has that name\n";
    let end = env.end(&["run", "a", "y.py"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("it ran\n", warning, 0)
    );
    let expanded = "warning: no folder of a skill that `--skill` names is `a`; using `{root}/skills/b`, whose SKILL.md has that name\n";
    // With grants, the warning is printed in spite of -q.
    env.write("work/file", "");
    env.write("text", "!{a/scripts/y.py}");
    for (words, stderr) in [
        (["run", "-q", "a", "y.py"].as_slice(), ""),
        (&["run", "-q", "a", "y.py", "--allow", "read:."], warning),
        (&["run", "-q", "a", "y.py", "--env", "A=b"], warning),
        (&["run", "-q", "a", "y.py", "-w", "work"], warning),
        (&["run", "-q", "b", "y.py", "-w", "work"], ""),
        (&["load", "-yq", "a"], ""),
        (&["load", "-yq", "a", "-w", "work"], warning),
        (&["load", "-yq", "b", "-w", "work"], ""),
        (&["expand", "-yq", "--skill", "b"], ""),
        (&["expand", "-yq", "--skill", "b", "-w", "work"], expanded),
    ] {
        let mut command = env.command(words);
        let text = fs::File::open(env.path("text")).unwrap();
        let end = env.end_of(command.stdin(text));
        let printed = (end.stderr.as_str(), end.code);
        assert_eq!(printed, (stderr, 0), "{words:?}");
    }
    // A folder of that name on the search path is not loaded if `--skill` names others.
    named("skills/a", "z", "y.py");
    let mut command = env.command(&["expand", "-y", "--skill", "./skills/b"]);
    let end = env.end_of(command.stdin(fs::File::open(env.path("text")).unwrap()));
    assert_eq!((end.stderr.as_str(), end.code), (expanded, 0));
    fs::remove_dir_all(env.path("skills/a")).unwrap();
    // Two skills with the same name in their SKILL.md are ambiguous.
    named("skills/c", "a", "y.py");
    let end = env.end(&["run", "a", "y.py"]);
    let why = "error: skill `a` is ambiguous: `{root}/skills/b`, `{root}/skills/c` have that name in SKILL.md\n\
               hint: name the skill by its path\n";
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", why, 127)
    );
    // A folder's name comes first, wherever it is.
    named("home/.r9s/skills/a", "z", "other.py");
    let end = env.end(&["run", "a", "y.py"]);
    assert_eq!(
        end.stderr,
        "error: script `y.py` not found in skill `z`\nhint: its scripts: scripts/other.py\n"
    );
    // A section for the name does not apply to a skill that only has it in its SKILL.md.
    let env = self::env(GRANTS);
    fs::remove_dir_all(env.path("home/.claude/skills/deploy")).unwrap();
    skill(&env, "repo/skills/imp");
    let text = "---\nname: deploy\ndescription: A skill.\n---\nscripts/go.py\n";
    env.write("repo/skills/imp/SKILL.md", text);
    let why = elsewhere("[skill.deploy]", "repo/skills/imp", "deploy", HOME_DIRS);
    refused_everywhere(&env, "repo", "deploy", &why);
}

fn show_prints_the_digest() {
    let env = TestEnv::with_script("print(1)\n");
    let digest = digest(&env, "skill");
    let hex = digest.strip_prefix("sha256:").unwrap();
    assert!(
        hex.len() == 64 && hex.chars().all(|c| c.is_ascii_hexdigit()),
        "{digest}"
    );
    let end = env.end(&["show", "./skill"]);
    assert!(
        end.stdout.contains(&format!("\ndigest         {digest}\n")),
        "{}",
        end.stdout
    );
    env.write("skill/new", "");
    assert_ne!(digest, self::digest(&env, "skill"));
}
