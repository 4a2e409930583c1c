//! Skills and workspaces that are given as bytes: the same as in a folder, private, and gone afterwards.

use crate::approval::{answered, decided, is_permitted, open, refusal};
use crate::env::{SKILL_MD, TestEnv};
use crate::folder::needs;
use crate::library::{block_on, host, permitted, skill};
use crate::native::scripts::WITHOUT_NAMESPACES;
use libtest_mimic::Trial;
use skillrun::runtime::{LeftOut, PrivateWorkspace};
use skillrun::skill::{Bounds, FileMap, SkillError};
use skillrun::{Answer, Check, Host, Outcome, Paths, Policy, Request, Skill};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

/// The variable that makes this binary a host of [`host_process`].
pub(crate) const ROLE: &str = "SKILLRUN_MEMORY_HOST";

const PYTHON: &str = r#""""Says where it is."""
import json, os, sys
import helper
base = os.environ["SKILL_BASE_DIR"]
print(__file__, sys.argv, os.getcwd(), helper.__file__)
print(json.dumps(dict(os.environ), sort_keys=True))
print([sorted(names) for _, *names in os.walk(base) for names in names])
try:
    open(base + "/new", "w")
except OSError as error:
    print(error.errno)
print(sys.stdin.read())
sys.exit(3)
"#;

const JAVASCRIPT: &str = r#"// Says where it is.
import { name } from './name.mjs';
import fs from 'node:fs';
console.log(import.meta.url, process.argv.slice(1), process.cwd(), name);
console.log(fs.readdirSync(process.env.SKILL_BASE_DIR).sort());
process.exit(3);
"#;

const BASH: &str = r#"# Says where it is.
echo "$0" "$PWD" "$SKILL_BASE_DIR" "$@"
source "${BASH_SOURCE[0]%/*}/lib.sh"
cd "$SKILL_BASE_DIR"
stat -c '%A %u %g %n' . */ * */*
scripts/tool
(echo x > new) 2> /dev/null || echo read-only
exit 3
"#;

/// The files of a skill with a script in each tier, with their modes.
fn skill_files() -> [(&'static str, &'static str, u32); 9] {
    [
        ("SKILL.md", SKILL_MD, 0o644),
        ("scripts/main.py", PYTHON, 0o644),
        ("scripts/helper.py", "", 0o644),
        ("scripts/main.mjs", JAVASCRIPT, 0o644),
        ("scripts/name.mjs", "export const name = 'name';\n", 0o644),
        ("scripts/main.sh", BASH, 0o755),
        ("scripts/lib.sh", "echo lib\n", 0o600),
        ("scripts/tool", "#!/bin/bash\necho tool\n", 0o755),
        ("references/r.md", "text\n", 0o640),
    ]
}

fn map(files: &[(&str, &str, u32)]) -> FileMap {
    let mut map = FileMap::new();
    for (path, bytes, mode) in files {
        map.insert_with_mode(path, *bytes, *mode).unwrap();
    }
    map
}

/// The same skill in a folder and as bytes.
fn both(env: &TestEnv, host: &Host) -> [Arc<Skill>; 2] {
    for (path, bytes, mode) in skill_files() {
        let file = env.write(&format!("skill/{path}"), bytes);
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::create_dir(env.path("skill/empty")).unwrap();
    let mut files = map(&skill_files());
    files.insert_directory("empty").unwrap();
    let given = host.blocking().skill_from_files("skill", files).unwrap();
    [skill(env), Arc::new(given)]
}

fn given(host: &Host, files: &[(&str, &str)]) -> Arc<Skill> {
    let files = FileMap::from_files(files.iter().copied()).unwrap();
    Arc::new(host.blocking().skill_from_files("skill", files).unwrap())
}

/// A skill as bytes whose only script is this one.
fn with_script(host: &Host, name: &str, script: &str) -> Arc<Skill> {
    given(host, &[("SKILL.md", SKILL_MD), (name, script)])
}

fn run(host: &Host, request: Request) -> Outcome {
    let permit = permitted(host, &Policy::default(), request);
    block_on(host.run(permit)).unwrap()
}

/// An outcome without what differs from run to run.
fn comparable(outcome: &Outcome) -> serde_json::Value {
    let mut json = serde_json::to_value(outcome).unwrap();
    for key in ["run_id", "execution_time_ms", "usage", "script_path"] {
        json.as_object_mut().unwrap().remove(key);
    }
    json["warnings"] = outcome.warnings.clone().into();
    json
}

/// The private directory of a skill or workspace: the one that is removed.
fn private_directory(host: &Host, request: Request, mount: usize) -> PathBuf {
    let permit = permitted(host, &Policy::default(), request);
    let mount = permit.plan().mounts().nth(mount).unwrap();
    let outer = mount.host_path().ancestors().nth(2).unwrap();
    let name = outer.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("skillrun-scratch-"), "{name}");
    outer.to_owned()
}

pub(crate) fn tests() -> Vec<Trial> {
    let mut all = plain::tests();
    let with_bash: [(&str, fn()); 4] = [
        (
            "private_files_of_a_killed_process_are_removed_by_the_next",
            removed_after_a_kill,
        ),
        (
            "a_skill_given_as_bytes_runs_like_the_same_folder_in_bash",
            || runs_alike("main.sh"),
        ),
        (
            "a_native_script_finds_its_private_workspace_and_leaves_files_in_it",
            a_native_workspace_is_returned,
        ),
        (
            "a_skill_given_as_bytes_runs_for_every_user_and_backend",
            every_user_and_backend,
        ),
    ];
    all.extend(with_bash.map(|(name, test)| {
        let trial = Trial::test(name, move || {
            test();
            Ok(())
        });
        needs(trial, "namespaces bash")
    }));
    all
}

mod plain {
    use super::*;

    tests! {
        a_skill_given_as_bytes_runs_like_the_same_folder_in_python,
        a_skill_given_as_bytes_runs_like_the_same_folder_in_javascript,
        a_skill_given_as_bytes_is_the_same_skill_as_its_folder,
        a_skill_given_as_bytes_has_no_path_of_this_machine,
        a_skill_given_as_bytes_passes_the_same_checks_in_the_same_order,
        a_skill_given_as_bytes_needs_a_plain_name_and_a_skill_md,
        an_approval_of_a_folder_applies_to_the_same_bytes_and_no_others,
        skills_given_as_bytes_that_share_a_name_are_separate_questions,
        a_section_of_a_policy_selects_a_skill_given_as_bytes_by_its_content,
        a_private_workspace_is_returned_as_the_run_left_it,
        a_private_workspace_is_one_question_whatever_is_in_it,
        a_private_workspace_beyond_its_bounds_is_not_returned,
        a_grant_around_a_private_directory_is_refused,
        a_file_written_into_a_skill_of_bytes_has_the_path_of_the_skill_in_the_outcome,
        private_files_are_removed_with_the_last_handle,
        a_permit_keeps_the_private_files_of_its_run,
    }

    fn a_skill_given_as_bytes_runs_like_the_same_folder_in_python() {
        runs_alike("main.py");
    }

    fn a_skill_given_as_bytes_runs_like_the_same_folder_in_javascript() {
        runs_alike("main.mjs");
    }

    fn a_skill_given_as_bytes_is_the_same_skill_as_its_folder() {
        let env = TestEnv::new();
        let [folder, bytes] = both(&env, &host(&env));
        let facts = |skill: &Skill| {
            let scripts = skill.scripts().iter();
            let scripts: Vec<_> = scripts
                .map(|script| (script.clone(), skill.describe(script)))
                .collect();
            (
                skill.digest(),
                skill.name().to_owned(),
                skill.folder().to_owned(),
                skill.document().to_owned(),
                skill.warnings().to_vec(),
                skill.tool_names(),
                scripts,
            )
        };
        assert_eq!(facts(&folder), facts(&bytes));
        assert_eq!(bytes.scripts().len(), 7);
        // An archive of the folder is the same skill.
        let mut around = FileMap::new();
        for (path, bytes, mode) in skill_files() {
            let path = format!("skill/{path}");
            around.insert_with_mode(&path, bytes, mode).unwrap();
        }
        around.insert_directory("skill/empty").unwrap();
        let archive = FileMap::from_tar(&around.to_tar().unwrap()).unwrap();
        let host = host(&env);
        let again = host.blocking().skill_from_files("skill", archive).unwrap();
        assert_eq!(facts(&folder), facts(&again));
    }

    fn a_skill_given_as_bytes_has_no_path_of_this_machine() {
        let env = TestEnv::new();
        let host = host(&env);
        let skill = with_script(&host, "scripts/main.py", "print(__file__)\n");
        assert_eq!(skill.path(), Path::new("memory:/skill"));
        let question = open(&host, &Policy::default(), Request::new(&skill, "main.py"));
        let shown = (&question.skill_path[..], &question.scripts[0].path[..]);
        assert_eq!(shown, ("memory:/skill", "memory:/skill/scripts/main.py"));
        let outcome = run(&host, Request::typed(&skill, "main.py"));
        let shown = (&outcome.script_path[..], &outcome.stdout[..]);
        let expected = ("memory:/skill/scripts/main.py", "/skill/scripts/main.py\n");
        assert_eq!(shown, expected);
        let paths: Vec<_> = env
            .audit()
            .iter()
            .map(|line| line["script_path"].clone())
            .collect();
        assert_eq!(paths, [expected.0; 2]);
        let log = env.read("state/skillrun/audit.jsonl");
        assert!(!log.contains("skillrun-scratch-"), "{log}");
    }

    fn a_skill_given_as_bytes_passes_the_same_checks_in_the_same_order() {
        let env = TestEnv::new();
        let host = host(&env);
        let tools = "---\nname: skill\ndescription: d\nallowed-tools: Read\n---\n";
        let cases: [(&str, &str, u32, &str, Check); 5] = [
            (
                SKILL_MD,
                "scripts/main.py",
                0o644,
                "other.py",
                Check::Script,
            ),
            (
                SKILL_MD,
                "scripts/main.py",
                0o644,
                "../main.py",
                Check::Path,
            ),
            (
                SKILL_MD,
                "scripts/main.py",
                0o4755,
                "main.py",
                Check::Permission,
            ),
            (
                SKILL_MD,
                "scripts/main.rb",
                0o2755,
                "main.rb",
                Check::Permission,
            ),
            (
                tools,
                "scripts/main.py",
                0o644,
                "main.py",
                Check::AllowedTools,
            ),
        ];
        for (document, path, mode, wanted, check) in cases {
            let files = map(&[("SKILL.md", document, 0o644), (path, "", mode)]);
            // As other tenants upload it: the mode is that of the archive.
            let files = FileMap::from_tar(&files.to_tar().unwrap()).unwrap();
            let skill = host.blocking().skill_from_files("skill", files).unwrap();
            let folder = TestEnv::new();
            folder.write("skill/SKILL.md", document);
            let file = folder.write(&format!("skill/{path}"), "");
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
            let refused = |skill: Arc<Skill>| {
                let request = Request::typed(&skill, wanted);
                let decided = host.blocking().decide(&Policy::default(), request);
                refusal(self::decided(decided.unwrap()))
            };
            let found = refused(Arc::new(skill));
            assert_eq!(found.check, check);
            assert_eq!(
                found.to_string(),
                refused(crate::library::skill(&folder)).to_string()
            );
        }
        // The twin.
        let skill = with_script(&host, "scripts/main.py", "print('ran')\n");
        assert_eq!(
            run(&host, Request::typed(&skill, "main.py")).stdout,
            "ran\n"
        );
    }

    fn a_skill_given_as_bytes_needs_a_plain_name_and_a_skill_md() {
        let env = TestEnv::new();
        let host = host(&env);
        let load = |name: &str, files: &[(&str, &str)]| {
            let files = FileMap::from_files(files.iter().copied()).unwrap();
            let loaded = host.blocking().skill_from_files(name, files);
            loaded.map_err(|error: SkillError| error.to_string())
        };
        let fine = [("SKILL.md", SKILL_MD)];
        for (name, why) in [
            ("", "its name is empty"),
            ("..", "its name is not a name"),
            ("a/b", "its name contains `/` or a NUL byte"),
        ] {
            let message = format!("`{name}` is not a skill: {why}");
            assert_eq!(load(name, &fine).unwrap_err(), message);
        }
        let cases: [(&[(&str, &str)], &str); 4] = [
            (&[], "it has no SKILL.md"),
            (&[("a/b/SKILL.md", SKILL_MD)], "it has no SKILL.md"),
            (
                &[("SKILL.md", "text")],
                "SKILL.md: it does not start with `---`",
            ),
            (
                &[("SKILL.md", "---\nname: a\n---\n")],
                "SKILL.md: the front matter has no `description`",
            ),
        ];
        for (files, why) in cases {
            // What a folder says about the same content.
            let folder = TestEnv::new();
            fs::create_dir(folder.path("skill")).unwrap();
            for (path, bytes) in files {
                folder.write(&format!("skill/{path}"), bytes);
            }
            let of_folder = Skill::load(folder.path("skill")).unwrap_err().to_string();
            let (_, of_folder) = of_folder.split_once(": ").unwrap();
            let message = load("skill", files).unwrap_err();
            assert_eq!(
                message,
                format!("`memory:/skill` is not a skill: {of_folder}")
            );
            if !why.contains("start") {
                assert_eq!(of_folder, why);
            }
        }
        assert_eq!(load("named", &fine).unwrap().folder(), "named");
    }

    fn an_approval_of_a_folder_applies_to_the_same_bytes_and_no_others() {
        let env = TestEnv::new();
        let (host, policy) = (host(&env), Policy::default());
        let [folder, bytes] = both(&env, &host);
        let question = open(&host, &policy, Request::new(&folder, "main.py"));
        answered(&host, &question, Answer::YesOnce).unwrap();
        assert!(is_permitted(
            &host,
            &policy,
            Request::new(&bytes, "main.py")
        ));
        let mut changed = map(&skill_files());
        changed.insert_directory("empty").unwrap();
        changed.insert("another", "").unwrap();
        let changed = host.blocking().skill_from_files("skill", changed).unwrap();
        let changed = Arc::new(changed);
        let question = open(&host, &policy, Request::new(&changed, "main.py"));
        let files = &question.change.as_ref().unwrap().files;
        assert_eq!((&files[0].path[..], files[0].how), ("another", "new"));
        let other_tenant = Request {
            tenant: "other".into(),
            ..Request::new(&bytes, "main.py")
        };
        assert!(!is_permitted(&host, &policy, other_tenant));
        // The other way round, and for another name.
        let question = open(&host, &policy, Request::new(&bytes, "main.sh"));
        answered(&host, &question, Answer::YesOnce).unwrap();
        assert!(is_permitted(
            &host,
            &policy,
            Request::new(&folder, "main.sh")
        ));
        let mut renamed = map(&skill_files());
        renamed.insert_directory("empty").unwrap();
        let renamed = host
            .blocking()
            .skill_from_files("renamed", renamed)
            .unwrap();
        let request = Request::new(&Arc::new(renamed), "main.sh");
        assert!(!is_permitted(&host, &policy, request));
    }

    fn skills_given_as_bytes_that_share_a_name_are_separate_questions() {
        let env = TestEnv::new();
        let host = host(&env);
        let harmless = with_script(&host, "scripts/main.py", "print('harmless')\n");
        let other = with_script(&host, "scripts/main.py", "print('other')\n");
        let requests = vec![
            Request::new(&harmless, "main.py"),
            Request::new(&other, "main.py"),
        ];
        let batch = host.blocking().decide_all(&Policy::default(), requests);
        let questions = batch.unwrap().questions;
        assert_eq!(questions.len(), 2);
        let hashes: Vec<_> = questions
            .iter()
            .map(|asked| asked.question.content_hash.clone())
            .collect();
        assert_ne!(hashes[0], hashes[1]);
        answered(&host, &questions[0].question, Answer::YesInSession).unwrap();
        let policy = Policy::default();
        assert!(is_permitted(
            &host,
            &policy,
            Request::new(&harmless, "main.py")
        ));
        assert!(!is_permitted(
            &host,
            &policy,
            Request::new(&other, "main.py")
        ));
    }

    fn a_section_of_a_policy_selects_a_skill_given_as_bytes_by_its_content() {
        let env = TestEnv::new();
        let host = host(&env);
        let skill = with_script(&host, "scripts/main.py", "print('ran')\n");
        let digest = skill.digest().unwrap();
        let decide = |section: &str| {
            let text = format!("[skill.skill]\n{section}\nallow = [\"env:A\"]\n");
            let policy = Policy::parse(&text, env.root()).unwrap();
            let request = Request {
                env: vec![("A".into(), "a".into())],
                ..Request::typed(&skill, "main.py")
            };
            decided(host.blocking().decide(&policy, request).unwrap())
        };
        let refused = refusal(decide(""));
        assert_eq!(refused.check, Check::Policy);
        assert_eq!(
            refused.to_string(),
            format!(
                "refused: the policy's section `[skill.skill]` does not cover the skill in `memory:/skill`\n\
                 hint: a skill that is given as bytes is selected by its content: if you mean this one, write \
                 digest = \"{digest}\" in `[skill.skill]`"
            )
        );
        let other = refusal(decide(&format!("digest = \"sha256:{}\"", "0".repeat(64))));
        assert_eq!(other.check, Check::Policy);
        let decided = decide(&format!("digest = \"{digest}\""));
        assert_eq!(crate::approval::runs(&host, decided), "ran\n");
    }

    fn a_private_workspace_is_returned_as_the_run_left_it() {
        let env = TestEnv::new();
        let host = host(&env);
        let script = "import os\n\
             print(os.getcwd(), sorted(os.listdir('.')), open('in/notes').read())\n\
             os.remove('in/notes')\nos.mkdir('out')\nos.mkdir('empty')\n\
             open('out/report', 'w').write('done')\nopen('kept', 'a').write('+')\n";
        let skill = with_script(&host, "scripts/main.py", script);
        let files = FileMap::from_files([("in/notes", "notes"), ("kept", "k")]).unwrap();
        let workspace = host.blocking().workspace_from_files(&files).unwrap();
        let request = || Request {
            workspace: Some((&workspace).into()),
            ..Request::typed(&skill, "main.py")
        };
        let outcome = run(&host, request());
        let seen = (outcome.stdout.as_str(), outcome.stderr.as_str());
        assert_eq!(seen, ("/workspace ['in', 'kept'] notes\n", ""));
        let returned = block_on(host.files_of(&workspace, Bounds::default())).unwrap();
        let mut expected = FileMap::from_files([("out/report", "done"), ("kept", "k+")]).unwrap();
        expected.insert_directory("in").unwrap();
        expected.insert_directory("empty").unwrap();
        assert_eq!(returned.files, expected);
        assert_eq!(returned.left_out, []);
        let archive = returned.files.to_tar().unwrap();
        assert_eq!(FileMap::from_tar(&archive), Ok(expected));
        // The next run finds what this one left, and another workspace does not.
        let again = run(&host, request());
        assert!(again.stderr.contains("in/notes"), "{}", again.stderr);
        let fresh = host.blocking().workspace_from_files(&files).unwrap();
        let fresh = Request {
            workspace: Some(fresh.into()),
            ..Request::typed(&skill, "main.py")
        };
        assert_eq!(run(&host, fresh).stdout, outcome.stdout);
    }

    fn a_private_workspace_is_one_question_whatever_is_in_it() {
        let env = TestEnv::new();
        let (host, policy) = (host(&env), Policy::default());
        let skill = with_script(&host, "scripts/main.py", "");
        let request = |bytes: &str| {
            let files = FileMap::from_files([("a", bytes)]).unwrap();
            let workspace = host.blocking().workspace_from_files(&files).unwrap();
            Request {
                workspace: Some(workspace.into()),
                ..Request::new(&skill, "main.py")
            }
        };
        let question = open(&host, &policy, request("1"));
        assert_eq!(question.workspace.as_deref(), Some("memory:/workspace"));
        answered(&host, &question, Answer::YesOnce).unwrap();
        assert!(is_permitted(&host, &policy, request("2")));
        // A directory of this machine is another question.
        fs::create_dir(env.path("workspace")).unwrap();
        let directory = Request {
            workspace: Some(env.path("workspace").into()),
            ..Request::new(&skill, "main.py")
        };
        assert!(!is_permitted(&host, &policy, directory));
    }

    fn a_private_workspace_beyond_its_bounds_is_not_returned() {
        let env = TestEnv::new();
        let host = host(&env);
        let script = "for n in range(5): open(str(n), 'w').write('12345')\n";
        let skill = with_script(&host, "scripts/main.py", script);
        let files = FileMap::new();
        let workspace = host.blocking().workspace_from_files(&files).unwrap();
        let request = Request {
            workspace: Some((&workspace).into()),
            ..Request::typed(&skill, "main.py")
        };
        assert!(run(&host, request).success);
        let back = |entries, bytes| {
            let returned = host
                .blocking()
                .files_of(&workspace, Bounds { entries, bytes });
            returned
                .map(|returned| returned.files.len())
                .map_err(|error| error.to_string())
        };
        assert_eq!(back(5, 25), Ok(5));
        let message = "there are more than 4 files and directories";
        assert_eq!(back(4, 25), Err(message.into()));
        let message = "the files have more than 24 bytes";
        assert_eq!(back(5, 24), Err(message.into()));
    }

    fn a_grant_around_a_private_directory_is_refused() {
        let env = TestEnv::new();
        let host = host(&env);
        let secret = with_script(&host, "scripts/secret.py", "");
        let private = private_directory(&host, Request::typed(&secret, "secret.py"), 0);
        let skill = with_script(&host, "scripts/main.py", "");
        let inner = private.join("private");
        for path in [private.parent().unwrap(), &private, &inner] {
            let grant: skillrun::Grant = format!("read:{}", path.display()).parse().unwrap();
            let policy = Policy::default().and_allow([grant.clone()]);
            let granted = Request {
                grants: vec![grant],
                ..Request::typed(&skill, "main.py")
            };
            let workspace = Request {
                workspace: Some(path.into()),
                ..Request::typed(&skill, "main.py")
            };
            for (request, what) in [(granted, "`read:"), (workspace, "workspace `")] {
                let refused = refusal(decided(host.blocking().decide(&policy, request).unwrap()));
                let message = format!(
                    "{what}{}` contains private directories of skills or workspaces that were given as bytes",
                    path.display()
                );
                assert_eq!((refused.check, refused.message), (Check::Grants, message));
            }
        }
        // The twin: a directory beside it.
        fs::create_dir(env.path("beside")).unwrap();
        let grant: skillrun::Grant = format!("read:{}", env.text("beside")).parse().unwrap();
        let policy = Policy::default().and_allow([grant.clone()]);
        let beside = Request {
            grants: vec![grant],
            workspace: Some(env.path("beside").into()),
            ..Request::typed(&skill, "main.py")
        };
        permitted(&host, &policy, beside);
    }

    fn a_file_written_into_a_skill_of_bytes_has_the_path_of_the_skill_in_the_outcome() {
        let env = TestEnv::new();
        let host = host(&env);
        let script = "import os\nopen(os.environ['SKILL_BASE_DIR'] + '/new', 'w').write('x')\n";
        let skill = with_script(&host, "scripts/main.py", script);
        let grant: skillrun::Grant = "write:skill".parse().unwrap();
        let policy = Policy::default().and_allow([grant.clone()]);
        let request = Request {
            grants: vec![grant],
            ..Request::typed(&skill, "main.py")
        };
        let outcome = block_on(host.run(permitted(&host, &policy, request))).unwrap();
        let paths: Vec<&str> = outcome
            .artifacts
            .iter()
            .map(|one| one.path.as_str())
            .collect();
        assert_eq!(paths, ["memory:/skill/new"]);
    }

    fn private_files_are_removed_with_the_last_handle() {
        let env = TestEnv::new();
        let host = host(&env);
        let many: Vec<(String, &str)> = (0..100).map(|n| (format!("d/{n}"), "")).collect();
        let skill = with_script(&host, "scripts/main.py", "open('new', 'w')\n");
        let mut files = FileMap::from_files(many).unwrap();
        files.insert_with_mode("closed/file", "", 0).unwrap();
        let workspace = host.blocking().workspace_from_files(&files).unwrap();
        let request = || Request {
            workspace: Some((&workspace).into()),
            ..Request::typed(&skill, "main.py")
        };
        let private = [0, 1].map(|mount| private_directory(&host, request(), mount));
        for outer in &private {
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
            let modes = (mode(outer), mode(&outer.join("private")));
            assert_eq!(modes, (0o700, 0o100), "{}", outer.display());
        }
        assert!(run(&host, request()).success);
        assert!(private.iter().all(|outer| outer.exists()));
        drop((skill, workspace));
        // Waits until the background has removed the larger one.
        drop(host);
        assert!(!private.iter().any(|outer| outer.exists()));
    }

    fn a_permit_keeps_the_private_files_of_its_run() {
        let env = TestEnv::new();
        let host = host(&env);
        let skill = with_script(&host, "scripts/main.py", "print(open('a').read())\n");
        let files = FileMap::from_files([("a", "kept")]).unwrap();
        let workspace = host.blocking().workspace_from_files(&files).unwrap();
        let request = Request {
            workspace: Some(workspace.into()),
            ..Request::typed(&skill, "main.py")
        };
        let permit = permitted(&host, &Policy::default(), request);
        drop(skill);
        assert_eq!(block_on(host.run(permit)).unwrap().stdout, "kept\n");
    }
}

fn runs_alike(script: &str) {
    let env = TestEnv::new();
    let host = host(&env);
    let [folder, bytes] = both(&env, &host).map(|skill| {
        let request = Request {
            args: vec!["a b".into()],
            input: Some(serde_json::json!({"n": 1})),
            paths: Paths::Virtual,
            ..Request::typed(&skill, script)
        };
        run(&host, request)
    });
    assert_eq!(comparable(&bytes), comparable(&folder));
    let ran = (bytes.exit_code, bytes.stderr.as_str());
    assert_eq!(ran, (3, ""), "{}", bytes.stdout);
    assert_eq!(bytes.script_path, format!("memory:/skill/scripts/{script}"));
    let path = env.text(&format!("skill/scripts/{script}"));
    assert_eq!(folder.script_path, path);
    env.check_left_behind().unwrap();
}

/// Changes everything that a workspace can contain.
const CHANGES: &str = r#"pwd
cat in/notes
rm in/notes
mkdir -m 700 out
echo done > out/report
mv in/tool out/run
ln -s /etc/passwd link
ln -s out inward
mkfifo pipe
ln out/report out/again
"#;

fn changed_files() -> FileMap {
    let mut files = map(&[
        ("out/report", "done\n", 0o644),
        ("out/again", "done\n", 0o644),
        ("out/run", "#!/bin/sh\n", 0o755),
    ]);
    files.insert_directory("in").unwrap();
    files
}

fn left_out() -> [LeftOut; 3] {
    [
        ("inward", "it is a symbolic link"),
        ("link", "it is a symbolic link"),
        ("pipe", "it is a FIFO"),
    ]
    .map(|(path, why)| LeftOut {
        path: path.into(),
        why: why.into(),
    })
}

fn workspace(host: &Host) -> PrivateWorkspace {
    let files = map(&[
        ("in/notes", "notes\n", 0o644),
        ("in/tool", "#!/bin/sh\n", 0o755),
    ]);
    host.blocking().workspace_from_files(&files).unwrap()
}

fn a_native_workspace_is_returned() {
    let env = TestEnv::new();
    let host = host(&env);
    let skill = with_script(&host, "scripts/main.sh", CHANGES);
    let workspace = workspace(&host);
    let request = Request {
        workspace: Some((&workspace).into()),
        ..Request::typed(&skill, "main.sh")
    };
    let outcome = run(&host, request);
    let seen = (outcome.stdout.as_str(), outcome.stderr.as_str());
    assert_eq!(seen, ("/workspace\nnotes\n", ""));
    let returned = host
        .blocking()
        .files_of(&workspace, Bounds::default())
        .unwrap();
    assert_eq!(returned.files, changed_files());
    assert_eq!(returned.left_out, left_out());
}

/// How a host process is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// As the user who runs the tests.
    Own,
    /// As an ordinary user.
    User,
    /// As an ordinary user who can create no namespaces.
    Landlock,
}

fn every_user_and_backend() {
    for start in [Start::Own, Start::User, Start::Landlock] {
        let env = TestEnv::new();
        let mut command = host_command(&env, start);
        let end = env.end_of(&mut command);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{start:?}");
        let paths = match start {
            Start::Own | Start::User => "/skill/scripts/main.sh\n/workspace\n",
            // As with its scratch directory, the script sees the private path.
            Start::Landlock => "{private}/scripts/main.sh\n{private}\n",
        };
        // Modes do not bind root, nor the root of a user namespace.
        let is_root = rustix::process::geteuid().is_root();
        let listed = match start {
            Start::Own => is_root,
            Start::User => false,
            Start::Landlock => true,
        };
        let listed = if listed {
            "listed"
        } else {
            "permission denied"
        };
        let printed = format!("{paths}notes\nmemory:/skill/scripts/main.sh\n{listed}\n");
        assert_eq!(end.stdout, printed, "{start:?}");
        let left: Vec<_> = fs::read_dir(env.path("tmp")).unwrap().collect();
        assert!(left.is_empty(), "{start:?}: {left:?}");
    }
}

fn removed_after_a_kill() {
    let env = TestEnv::new();
    let holds = || {
        let mut command = host_command(&env, Start::User);
        command.env(ROLE, "holds").stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "holds\n");
        child
    };
    let left = || fs::read_dir(env.path("tmp")).unwrap().count();
    // Started first, so that its sweep at the start cannot remove what the killed process leaves.
    let mut alive = holds();
    let mut killed = holds();
    killed.kill().unwrap();
    killed.wait().unwrap();
    // A skill and a workspace of each.
    assert_eq!(left(), 4);
    let mut next = host_command(&env, Start::User);
    let end = env.end_of(&mut next);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    // What a living process holds stays.
    assert_eq!(left(), 2);
    drop(alive.stdin.take());
    assert!(alive.wait().unwrap().success());
    assert_eq!(left(), 0);
}

/// This binary as a host. Another user may have no access to it, so it is opened here.
fn host_command(env: &TestEnv, start: Start) -> Command {
    let own = fs::File::open("/proc/self/exe").unwrap();
    rustix::io::fcntl_setfd(&own, rustix::io::FdFlags::empty()).unwrap();
    let own_path = format!("/proc/self/fd/{}", own.as_raw_fd());
    // Needed until the command has been started, which the caller does at once.
    std::mem::forget(own);
    let mut command = match start {
        Start::Landlock => {
            let mut command = env.program("/usr/bin/unshare");
            command.args(["--user", "--map-root-user", "/bin/sh", "-c"]);
            command.args([WITHOUT_NAMESPACES, "sh", &own_path]);
            command
        }
        Start::Own | Start::User => env.program(&own_path),
    };
    command.env(ROLE, "1");
    if start != Start::Own && rustix::process::geteuid().is_root() {
        crate::env::chown_all(env.root());
        command.uid(65534).gid(65534);
    }
    command
}

/// Runs a skill and a workspace that are given as bytes, and prints what became of them.
pub(crate) fn host_process() -> ExitCode {
    let root = std::env::current_dir().unwrap();
    let host = Host::new(skillrun::Settings {
        cache: root.join("cache"),
        audit: skillrun::AuditLog::file(root.join("state/audit.jsonl")),
        approvals: skillrun::Approvals::memory(),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    });
    let script = format!("echo \"$0\"\n{CHANGES}");
    let skill = with_script(&host, "scripts/main.sh", &script);
    let workspace = workspace(&host);
    if std::env::var(ROLE).is_ok_and(|role| role == "holds") {
        // Waits for the sweep. After it, this process removes only its own files.
        assert_eq!(block_on(host.clean_up()), None);
        println!("holds");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        return ExitCode::SUCCESS;
    }
    let request = || Request {
        workspace: Some((&workspace).into()),
        ..Request::typed(&skill, "main.sh")
    };
    let outcome = run(&host, request());
    eprint!("{}", outcome.stderr);
    let permit = permitted(&host, &Policy::default(), request());
    let mut printed = outcome.stdout;
    for mount in permit.plan().mounts() {
        let path = mount.host_path().to_str().unwrap();
        printed = printed.replace(path, "{private}");
    }
    print!("{printed}");
    println!("{}", outcome.script_path);
    let files = host.blocking().files_of(&workspace, Bounds::default());
    let files = files.unwrap();
    assert_eq!(files.files, changed_files());
    assert_eq!(files.left_out, left_out());
    let unlistable = permit.plan().mounts().next().unwrap();
    let unlistable = unlistable.host_path().parent().unwrap();
    match fs::read_dir(unlistable) {
        Ok(_) => println!("listed"),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            println!("permission denied");
        }
        Err(error) => println!("{error}"),
    }
    drop(permit);
    drop((skill, workspace));
    // Also waits for what killed processes left.
    assert_eq!(block_on(host.clean_up()), None);
    ExitCode::SUCCESS
}
