//! Policies that bind the person who types: `enforce = true`, and the policy of root in `/etc`.
//!
//! The real `/etc` is not touched: the binary runs in a mount namespace whose `/etc/skillrun` is a directory of the test.

use crate::env::{End, SKILL_MD, TestEnv, may_mount};
use crate::expand::expand;
use crate::library::{block_on, host, skill};
use crate::terminal::{ASKS, at_terminal};
use skillrun::{Check, Decision, Host, Limits, Policy, Request, RequestedBy};
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

tests! {
    every_policy_below_every_ceiling_is_decided_as_the_table_says,
    no_flag_widens_an_enforcing_policy,
    flags_within_an_enforcing_policy_count,
    run_asks_if_an_enforcing_policy_demands_an_approval,
    yes_is_not_an_answer_to_an_enforcing_policy,
    no_policy_widens_an_enforcing_policy_of_the_user,
    a_trusted_policy_of_the_current_directory_binds_a_named_one,
    a_trusted_policy_that_changed_or_cannot_be_read_still_binds_a_named_one,
    a_limit_of_a_policy_is_a_maximum_for_flags,
    a_flag_does_not_choose_the_skill_that_an_enforcing_policy_means,
    the_policy_of_root_binds_flags_and_policies,
    the_policy_of_root_binds_programs_that_embed_the_library,
    the_policy_of_root_restricts_only_what_it_names,
    interpreters_of_an_enforcing_policy_bind_commands,
    grants_of_a_policy_are_narrowed_to_those_of_root,
    a_policy_of_root_that_others_could_have_written_stops_everything,
    a_link_does_not_lead_out_of_what_a_ceiling_grants,
    policy_check_and_doctor_show_the_ceiling,
    a_section_chooses_the_runtime,
}

const RAN: &str = "print('ran')\n";

fn is(end: &End, stdout: &str, stderr: &str, code: i32) {
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (stdout, stderr, code)
    );
}

/// What the policy of a user says.
const OWN: [(&str, &str); 5] = [
    ("empty", ""),
    ("grants", "allow = [\"env:X\"]\n"),
    ("never", "approval = \"never\"\n"),
    ("enforce", "enforce = true\n"),
    ("enforce, always", "enforce = true\napproval = \"always\"\n"),
];
/// What its ceiling says.
const CEILING: [(&str, Option<&str>); 10] = [
    ("none", None),
    ("empty", Some("")),
    ("enforce", Some("enforce = true\n")),
    ("grants", Some("allow = [\"env:X\"]\n")),
    ("grants nothing", Some("allow = []\n")),
    ("first-run", Some("approval = \"first-run\"\n")),
    ("always", Some("approval = \"always\"\n")),
    ("bash only", Some("interpreters = [\"bash\"]\n")),
    ("10s", Some("[limits]\ntime = \"10s\"\n")),
    ("no native", Some("native = \"refuse\"\n")),
];
/// What is requested, and typed by a person.
const REQUESTS: [&str; 6] = ["python", "bash", "env:X", "20s", "60s", "workspace"];

fn every_policy_below_every_ceiling_is_decided_as_the_table_says() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    env.write("skill/scripts/a.py", "");
    env.write("skill/scripts/a.sh", "");
    fs::create_dir(env.path("workspace")).unwrap();
    let (host, skill) = (host(&env), skill(&env));
    let mut table =
        String::from("policy           ceiling         request    person       agent\n");
    for (own, text) in OWN {
        for (above, ceiling) in CEILING {
            for wanted in REQUESTS {
                let policy = Policy::parse(text, Path::new("/")).unwrap();
                let policy = match ceiling {
                    Some(text) => policy.bounded_by(Policy::parse(text, Path::new("/")).unwrap()),
                    None => policy,
                };
                let decide = |requested_by| {
                    let script = if wanted == "bash" { "a.sh" } else { "a.py" };
                    let mut request = Request {
                        requested_by,
                        ..Request::new(&skill, script)
                    };
                    let mut policy = policy.clone();
                    let is_person = requested_by == RequestedBy::Person;
                    match wanted {
                        "env:X" => {
                            request.env.push(("X".into(), String::new()));
                            if is_person {
                                policy = policy.and_allow(["env:X".parse().unwrap()]);
                            }
                        }
                        "20s" | "60s" => {
                            let time = wanted.trim_end_matches('s').parse().unwrap();
                            let limits = Limits {
                                time: Duration::from_secs(time),
                                ..Limits::default()
                            };
                            if is_person {
                                policy = policy.and_limits(&limits);
                            }
                            request.limits = Some(limits);
                        }
                        "workspace" => request.workspace = Some(env.path("workspace").into()),
                        _ => {}
                    }
                    match host.blocking().decide(&policy, request).unwrap() {
                        Decision::Permitted(_) => "runs",
                        Decision::Pending(question) => {
                            let closed = host.blocking().decline(&question.id, "a test");
                            closed.unwrap();
                            "asks"
                        }
                        Decision::Refused(refusal) => match refusal.check {
                            Check::Interpreter => "interpreter",
                            Check::Grants => "grants",
                            Check::Limits => "limits",
                            Check::Isolation => "isolation",
                            other => panic!("{other:?}: {refusal}"),
                        },
                    }
                };
                let (person, agent) = (decide(RequestedBy::Person), decide(RequestedBy::Agent));
                let _ = writeln!(
                    table,
                    "{own:<16} {above:<15} {wanted:<10} {person:<12} {agent}"
                );
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ceilings.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, table).unwrap();
        return;
    }
    let expected = fs::read_to_string(path).unwrap();
    for (is, should) in table.lines().zip(expected.lines()) {
        assert_eq!(is, should);
    }
    assert_eq!(table.lines().count(), expected.lines().count());
}

fn no_flag_widens_an_enforcing_policy() {
    let env = TestEnv::with_script(RAN);
    env.write("data/file", "");
    let named = "`{root}/own.toml`";
    let enforces = "which enforces its rules: no flag can allow it\n";
    let cases: [(&str, &[&str], String); 5] = [
        (
            "interpreters = []\n",
            &["--allow", "interpreter:python3"],
            format!(
                "interpreter `python3` is not allowed for skill `skill` by {named} (allowed: )\n\
                 hint: add \"python3\" to `interpreters` in {named}, {enforces}"
            ),
        ),
        (
            "",
            &["--allow", "read:data"],
            format!(
                "`read:{{root}}/data` is not granted to skill `skill` by {named}\n\
                 hint: add \"read:{{root}}/data\" to `allow` in {named}, {enforces}"
            ),
        ),
        (
            "allow = [\"env:A\"]\n",
            &["--env", "B=1"],
            format!(
                "`env:B` is not granted to skill `skill` by {named}\n\
                 hint: add \"env:B\" to `allow` in {named}, {enforces}"
            ),
        ),
        (
            "",
            &["--timeout", "60s"],
            format!(
                "time `60s` exceeds the maximum of `30s`, the default that {named} enforces\n\
                 hint: write time = \"60s\" under [limits] in {named}, {enforces}"
            ),
        ),
        (
            "allow = [\"write:other\"]\n",
            &["-w", "data"],
            format!(
                "workspace `data` is not granted by {named}\n\
                 hint: add \"write:{{root}}/data\" to `allow` in {named}, {enforces}"
            ),
        ),
    ];
    fs::create_dir(env.path("other")).unwrap();
    for (policy, flags, why) in cases {
        let words = [&["--policy", "own.toml"], flags].concat();
        env.write("own.toml", format!("enforce = true\n{policy}"));
        is(&env.run(&words), "", &format!("refused: {why}"), 126);
        let line = env.audit().pop().unwrap();
        assert_eq!(line["event"], "refused", "{line}");
        // The twin: the same policy, which does not enforce.
        env.write("own.toml", policy);
        is(&env.run(&words), "ran\n", "", 0);
    }
}

fn flags_within_an_enforcing_policy_count() {
    let env =
        TestEnv::with_script("import os, sys\nprint(open(sys.argv[1]).read(), os.environ['A'])\n");
    let file = env.write("data/file", "read");
    env.write("work/file", "");
    let policy = "enforce = true\nallow = [\"read:.\", \"env:A\", \"write:work\", \"interpreter:python3\"]\n\
                  [limits]\ntime = \"60s\"\n";
    env.write("own.toml", policy);
    let flags = [
        "--policy=own.toml",
        "--allow=read:data",
        "--allow=interpreter:python3",
        "--env=A=1",
        "--timeout=60s",
        "-w",
        "work",
        "--",
        file.to_str().unwrap(),
    ];
    is(&env.run(&flags), "read 1\n", "", 0);
}

fn run_asks_if_an_enforcing_policy_demands_an_approval() {
    let env = TestEnv::with_script(RAN);
    let refused = |why: &str, hint: &str| {
        format!(
            "refused: `scripts/main.py` of skill `skill` was not approved: {why}\nhint: {hint}; \
             `{{root}}/own.toml` demands a person's answer, and -y does not count as one\n"
        )
    };
    let no_terminal = refused("there is no terminal to ask at", "run it at a terminal");
    let flags = ["--policy", "own.toml"];
    let words = [
        env!("CARGO_BIN_EXE_skillrun"),
        "run",
        "./skill",
        "main.py",
        "--policy",
        "own.toml",
    ];
    for (mode, again) in [("always", false), ("first-run", true)] {
        // The twin: without `enforce`, typing is the approval.
        env.write("own.toml", format!("approval = \"{mode}\"\n"));
        is(&env.run(&flags), "ran\n", "", 0);
        env.write(
            "own.toml",
            format!("enforce = true\napproval = \"{mode}\"\n"),
        );
        is(&env.run(&flags), "", &no_terminal, 126);
        let seen = at_terminal(&env, &words, b"", &[(ASKS, b"n\r")], "refused");
        assert_eq!(seen.code, 126, "{}", seen.text);
        assert!(
            seen.text.contains("a person answered `no`"),
            "{}",
            seen.text
        );
        let seen = at_terminal(&env, &words, b"", &[(ASKS, b"y\r")], "ran");
        assert_eq!(seen.code, 0, "{}", seen.text);
        // A yes to `first-run` is remembered.
        match again {
            true => is(&env.run(&flags), "ran\n", "", 0),
            false => is(&env.run(&flags), "", &no_terminal, 126),
        }
    }
    env.write("own.toml", "enforce = true\napproval = \"never\"\n");
    is(&env.run(&flags), "ran\n", "", 0);
}

fn yes_is_not_an_answer_to_an_enforcing_policy() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", format!("{SKILL_MD}scripts/main.py\n"));
    env.write("skill/scripts/main.py", RAN);
    let load = |words: &[&str]| {
        let end = env.end(&[&["load", "./skill", "--policy", "own.toml"], words].concat());
        (end.stdout.contains("ran\n"), end.stderr, end.code)
    };
    let why = "refused: `scripts/main.py` of skill `skill` was not approved: there is no terminal to ask at\n\
               hint: run it at a terminal; `{root}/own.toml` demands a person's answer, and -y does not count as one\n";
    env.write("own.toml", "enforce = true\napproval = \"first-run\"\n");
    assert_eq!(load(&["-y"]), (false, why.into(), 126));
    assert_eq!(load(&[]), (false, why.into(), 126));
    // An answer that names the script is one.
    let answers =
        "[{\"skill\": \"skill\", \"script\": \"scripts/main.py\", \"answer\": \"yes_once\"}]";
    env.write("answers.json", answers);
    assert_eq!(
        load(&["--answers", "answers.json"]),
        (true, String::new(), 0)
    );
    // The twin: without `enforce`.
    env.write("own.toml", "approval = \"always\"\n");
    assert_eq!(load(&["-y"]), (true, String::new(), 0));
}

fn no_policy_widens_an_enforcing_policy_of_the_user() {
    let env = TestEnv::with_script("import os\nprint(os.environ.get('SKILLRUN_TEST_SECRET'))\n");
    let home = "home/.config/skillrun/skillrun.toml";
    let grants = "allow = [\"env:SKILLRUN_TEST_SECRET\"]\n";
    env.write("own.toml", grants);
    let named = ["--policy", "own.toml"];
    let warning = format!(
        "warning: `env:SKILLRUN_TEST_SECRET` of the policy is not granted by `{{root}}/{home}`\n"
    );
    env.write(home, "enforce = true\n");
    is(&env.run(&named), "None\n", &warning, 0);
    let flag = [
        "--policy",
        "own.toml",
        "--allow",
        "env:SKILLRUN_TEST_SECRET",
    ];
    let why = format!(
        "refused: `env:SKILLRUN_TEST_SECRET` is not granted to skill `skill` by `{{root}}/{home}`\n\
         hint: ask whoever maintains `{{root}}/{home}` to add \"env:SKILLRUN_TEST_SECRET\" to `allow`\n"
    );
    is(&env.run(&flag), "", &format!("{warning}{why}"), 126);
    // Nor does that of a directory.
    env.write("skillrun.toml", grants);
    env.trust("skillrun.toml");
    is(&env.run(&[]), "None\n", &warning, 0);
    // If it cannot be read, it may enforce.
    env.write(home, "enforc = true\n");
    let broken = format!(
        "refused: policy `{{root}}/{home}`: line 1, column 1: `enforc` is not a key; did you mean `enforce`?\n"
    );
    is(&env.run(&named), "", &broken, 126);
    // The twins: it grants the same, and it does not enforce.
    env.write(home, format!("enforce = true\n{grants}"));
    is(&env.run(&named), "leaked\n", "", 0);
    env.write(home, "");
    is(&env.run(&named), "leaked\n", "", 0);
}

fn a_trusted_policy_of_the_current_directory_binds_a_named_one() {
    let env = TestEnv::with_script(RAN);
    env.write("skillrun.toml", "enforce = true\ninterpreters = []\n");
    env.write("own.toml", "");
    let named = ["--policy", "own.toml"];
    // Untrusted, it binds nobody.
    is(&env.run(&named), "ran\n", "", 0);
    env.trust("skillrun.toml");
    let why = "refused: interpreter `python3` is not allowed for skill `skill` by `{root}/skillrun.toml` (allowed: )\n\
               hint: ask whoever maintains `{root}/skillrun.toml` to add \"python3\" to `interpreters`\n";
    is(&env.run(&named), "", why, 126);
}

fn a_trusted_policy_that_changed_or_cannot_be_read_still_binds_a_named_one() {
    let env = TestEnv::with_script(RAN);
    let path = env.path("skillrun.toml");
    env.write("skillrun.toml", "enforce = true\ninterpreters = []\n");
    env.write("own.toml", "");
    let named = ["--policy", "own.toml"];
    env.trust("skillrun.toml");
    env.write("skillrun.toml", "enforce = true\n");
    let why = "refused: policy `skillrun.toml` changed after it was trusted\n\
               hint: run `skillrun policy trust` after reading it\n";
    is(&env.run(&named), "", why, 126);
    let is_unusable = || {
        let (used, ignored) = (env.run(&[]), env.run(&named));
        assert_eq!((ignored.stdout.as_str(), ignored.code), ("", used.code));
        assert_eq!(
            ignored.stderr, used.stderr,
            "without --policy it is another error"
        );
    };
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    is_unusable();
    fs::remove_dir(&path).unwrap();
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    is_unusable();
    // The twins: one that is not there, and one that no person has trusted.
    fs::remove_file(&path).unwrap();
    is(&env.run(&named), "ran\n", "", 0);
    env.write("skillrun.toml", "enforce = true\ninterpreters = []\n");
    env.trust("skillrun.toml");
    let end = env.end(&["policy", "untrust"]);
    assert_eq!(end.code, 0, "{}", end.stderr);
    env.write("skillrun.toml", "enforce =\n");
    is(&env.run(&named), "ran\n", "", 0);
}

fn a_limit_of_a_policy_is_a_maximum_for_flags() {
    let env = TestEnv::with_script(RAN);
    let section = "[skill.\"./skill\"]\nlimits.time = \"10s\"\n";
    for policy in ["[limits]\ntime = \"10s\"\n", section] {
        env.write("own.toml", policy);
        let run = |time| env.run(&["--policy", "own.toml", "--timeout", time]);
        let why = "refused: time `20s` exceeds the maximum of `10s` that `limits.time` in `{root}/own.toml` sets\n\
                   hint: write time = \"20s\" under [limits] in skillrun.toml\n";
        is(&run("20s"), "", why, 126);
        is(&run("10s"), "ran\n", "", 0);
        // Without a flag, the default is lowered.
        let words = ["run", "./skill", "main.py", "--policy", "own.toml"];
        is(&env.end(&words), "ran\n", "", 0);
    }
}

fn a_flag_does_not_choose_the_skill_that_an_enforcing_policy_means() {
    let env = TestEnv::new();
    env.write("other/demo/SKILL.md", SKILL_MD);
    env.write("other/demo/scripts/main.py", RAN);
    let section = "[skill.demo]\nallow = [\"env:A\"]\n";
    let words = [
        "run",
        "demo",
        "main.py",
        "--policy=own.toml",
        "--skills=other",
    ];
    env.write("own.toml", format!("enforce = true\n{section}"));
    let end = env.end(&words);
    let why = "refused: the policy's section `[skill.demo]` does not cover the skill in `{root}/other/demo`\n";
    assert!(end.stderr.starts_with(why), "{}", end.stderr);
    assert_eq!(end.code, 126);
    // The twin: without `enforce`, a directory that is typed with the policy belongs to it.
    env.write("own.toml", section);
    is(&env.end(&words), "ran\n", "", 0);
}

/// Makes the directory `etc` of the test a part of `/etc`, and runs a program.
const MOUNT_ETC: &str = "mount -t overlay overlay -o lowerdir=etc:/etc /etc && exec \"$0\" \"$@\"";

/// The binary where the directory `etc` of the test is a part of `/etc`.
fn with_etc(env: &TestEnv, words: &[&str]) -> Command {
    env.command_in_mounts(MOUNT_ETC, words)
}

/// Writes the policy of root.
fn write_machine_policy(env: &TestEnv, text: &str) {
    env.write("etc/skillrun/skillrun.toml", text);
    for (path, mode) in [
        ("etc", 0o755),
        ("etc/skillrun", 0o755),
        ("etc/skillrun/skillrun.toml", 0o644),
    ] {
        fs::set_permissions(env.path(path), Permissions::from_mode(mode)).unwrap();
    }
}

/// Whether this user can give a program another `/etc`.
fn may_change_etc() -> bool {
    let can = may_mount() && {
        let env = TestEnv::new();
        write_machine_policy(&env, "");
        let shell = "mount -t overlay overlay -o lowerdir=etc:/etc /etc && ls /etc/skillrun";
        let mut command = env.command_in_mounts(shell, &[]);
        env.end_of(&mut command).stdout == "skillrun.toml\n"
    };
    if !can {
        println!("not run: this user may not mount file systems over /etc");
    }
    can
}

/// Runs `scripts/main.py` of the skill below the policy of root.
fn run_below(env: &TestEnv, words: &[&str]) -> End {
    let start = ["run", "./skill", "main.py"];
    env.end_of(&mut with_etc(env, &[&start, words].concat()))
}

const ETC: &str = "`/etc/skillrun/skillrun.toml`";

fn the_policy_of_root_binds_flags_and_policies() {
    if !may_change_etc() {
        return;
    }
    let env = TestEnv::with_script(RAN);
    env.write("skill/scripts/main.sh", "echo ran\n");
    env.write(
        "own.toml",
        "interpreters = [\"python3\", \"bash\"]\nallow = [\"native\"]\n",
    );
    fs::create_dir(env.path("work")).unwrap();
    let cases: [(&str, &str, &[&str], String); 7] = [
        (
            "interpreters = []\n",
            "main.py",
            &["--allow", "interpreter:python3"],
            format!(
                "interpreter `python3` is not allowed for skill `skill` by {ETC} (allowed: )\n\
                 hint: ask whoever maintains {ETC} to add \"python3\" to `interpreters`\n"
            ),
        ),
        (
            "interpreters = [\"bash\"]\n",
            "main.py",
            &["--policy", "own.toml"],
            format!(
                "interpreter `python3` is not allowed for skill `skill` by {ETC} (allowed: bash)\n\
                 hint: ask whoever maintains {ETC} to add \"python3\" to `interpreters`\n"
            ),
        ),
        (
            "[limits]\ntime = \"10s\"\n",
            "main.py",
            &["--timeout", "20s"],
            format!(
                "time `20s` exceeds the maximum of `10s` that `limits.time` in {ETC} sets\n\
                 hint: ask whoever maintains {ETC} to write time = \"20s\" under [limits]\n"
            ),
        ),
        (
            "allow = [\"env:A\"]\n",
            "main.py",
            &["--env", "B=1"],
            format!(
                "`env:B` is not granted to skill `skill` by {ETC}\n\
                 hint: ask whoever maintains {ETC} to add \"env:B\" to `allow`\n"
            ),
        ),
        (
            "allow = []\n",
            "main.py",
            &["-w", "work"],
            format!(
                "workspace `work` is not granted by {ETC}\n\
                 hint: ask whoever maintains {ETC} to add \"write:{{root}}/work\" to `allow`\n"
            ),
        ),
        (
            "native = \"refuse\"\n",
            "main.sh",
            &[],
            format!(
                "native scripts are refused by {ETC}, and `scripts/main.sh` needs this machine's bash\n\
                 hint: ask whoever maintains {ETC} to set native = \"confined\"\n"
            ),
        ),
        (
            "approval = \"always\"\n",
            "main.py",
            &[],
            format!(
                "`scripts/main.py` of skill `skill` was not approved: there is no terminal to ask at\n\
                 hint: run it at a terminal; {ETC} demands a person's answer, and -y does not count as one\n"
            ),
        ),
    ];
    for (ceiling, script, flags, why) in cases {
        write_machine_policy(&env, ceiling);
        let words = [&["run", "./skill", script], flags].concat();
        let end = env.end_of(&mut with_etc(&env, &words));
        is(&end, "", &format!("refused: {why}"), 126);
        // No environment and no file of the user avoids it.
        let mut command = with_etc(&env, &words);
        command
            .env("HOME", "/nonexistent")
            .env("XDG_CONFIG_HOME", "/nonexistent");
        is(
            &env.end_of(&mut command),
            "",
            &format!("refused: {why}"),
            126,
        );
        // The twin: where there is no such file.
        is(&env.end(&words), "ran\n", "", 0);
    }
}

/// The variable that makes this binary a program that embeds the library.
pub(crate) const ROLE: &str = "SKILLRUN_CEILING_HOST";

/// Decides on the script of the skill here: under a policy, for a tenant, and in a batch. Prints each decision.
pub(crate) fn host_process() -> ExitCode {
    let root = std::env::current_dir().unwrap();
    let host = Host::new(skillrun::Settings {
        cache: root.join("cache"),
        audit: skillrun::AuditLog::file(root.join("state/skillrun/audit.jsonl")),
        approvals: skillrun::Approvals::memory(),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    });
    let skill = Arc::new(skillrun::Skill::load(root.join("skill")).unwrap());
    let policy = Policy::parse("approval = \"never\"", &root).unwrap();
    let request = || Request::new(&skill, "main.py");
    let (calls, tenant) = (host.blocking(), host.tenant("acme"));
    let settings = skillrun::tenant::TenantSettings {
        policy: policy.clone(),
        ..Default::default()
    };
    tenant.configure(settings).unwrap();
    let show = |decision: Decision| match decision {
        Decision::Permitted(permit) => println!("{:?}", permit.plan().limits().time),
        Decision::Pending(question) => println!("question about {}", question.skill),
        Decision::Refused(refusal) => println!("{:?}: {refusal}", refusal.check),
    };
    show(calls.decide(&policy, request()).unwrap());
    show(block_on(tenant.decide(request())).unwrap());
    let batch = calls.decide_all(&policy, vec![request()]).unwrap();
    for (_, decided) in batch.decided {
        show(match decided {
            Ok(permit) => Decision::Permitted(permit),
            Err(refusal) => Decision::Refused(refusal),
        });
    }
    let questions = batch.questions.into_iter();
    questions.for_each(|asked| show(Decision::Pending(asked.question)));
    ExitCode::SUCCESS
}

fn the_policy_of_root_binds_programs_that_embed_the_library() {
    if !may_change_etc() {
        return;
    }
    let env = TestEnv::with_script(RAN);
    let program = std::env::current_exe().unwrap();
    let decisions = |policy: &str, mode: u32| {
        write_machine_policy(&env, policy);
        let file = env.path("etc/skillrun/skillrun.toml");
        fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
        let mut command = env.program_in_mounts(MOUNT_ETC, &program);
        env.end_of(command.env(ROLE, ""))
    };
    let cases = [
        ("", 0o644, "30s\n".to_owned()),
        ("[limits]\ntime = \"10s\"\n", 0o644, "10s\n".to_owned()),
        (
            "interpreters = [\"bash\"]\n",
            0o644,
            format!(
                "Interpreter: refused: interpreter `python3` is not allowed for skill `skill` by {ETC} (allowed: bash)\n\
                 hint: ask whoever maintains {ETC} to add \"python3\" to `interpreters`\n"
            ),
        ),
        (
            "approval = \"always\"\n",
            0o644,
            "question about skill\n".to_owned(),
        ),
        // If others could have written it, nothing runs.
        (
            "",
            0o666,
            format!(
                "Policy: refused: {ETC} may be written by users other than root\n\
                 hint: only root may write it; /etc/skillrun/skillrun.toml is a ceiling for every policy\n"
            ),
        ),
    ];
    for (policy, mode, decision) in cases {
        is(&decisions(policy, mode), &decision.repeat(3), "", 0);
    }
    let recorded = env.audit();
    let refused = recorded.iter().filter(|line| line["event"] == "refused");
    assert_eq!(refused.count(), 6);
}

fn interpreters_of_an_enforcing_policy_bind_commands() {
    let env = TestEnv::new();
    let own = env.path("home/.config/skillrun/skillrun.toml");
    let start = "enforce = true\nallow = [\"run:sh\", \"run:echo\"]\n";
    for (listed, text, refused) in [
        (
            "interpreters = [\"python3\"]\n",
            "!{sh -c 'echo ran'}\n",
            true,
        ),
        (
            "interpreters = [\"bash\"]\n",
            "!{sh -c 'echo ran'}\n",
            false,
        ),
        ("interpreters = []\n", "!{echo ran}\n", false),
        // Without the key, the grant is enough.
        ("", "!{sh -c 'echo ran'}\n", false),
    ] {
        // As the policy that is used, and as a ceiling for one that is named.
        env.write(
            "home/.config/skillrun/skillrun.toml",
            format!("{start}{listed}"),
        );
        env.write("named.toml", "allow = [\"run:sh\", \"run:echo\"]\n");
        for words in [["-y"].as_slice(), &["-y", "--policy", "named.toml"]] {
            let end = expand(&env, text, words);
            if !refused {
                is(&end, "ran\n", "", 0);
                continue;
            }
            let file = format!("`{}`", env.named(own.to_str().unwrap().as_bytes()));
            let add = "add \"bash\" to `interpreters`";
            let hint = match words.len() {
                1 => format!("{add} in {file}, which enforces its rules: no flag can allow it"),
                _ => format!("ask whoever maintains {file} to {add}"),
            };
            let why = format!(
                "refused: the command `sh` is the interpreter `bash`, which is not allowed by {file}\nhint: {hint}\n"
            );
            is(&end, "\n", &why, 126);
        }
    }
}

fn the_policy_of_root_restricts_only_what_it_names() {
    if !may_change_etc() {
        return;
    }
    let env = TestEnv::with_script(
        "import os\nprint(os.environ.get('A'), os.getcwd() != os.environ['SKILL_BASE_DIR'])\n",
    );
    fs::create_dir(env.path("work")).unwrap();
    let flags = ["--env", "A=1", "-w", "work", "--timeout", "20s"];
    for text in ["", "[limits]\ntime = \"20s\"\n"] {
        write_machine_policy(&env, text);
        is(&run_below(&env, &flags), "1 True\n", "", 0);
    }
    // The twin: with `enforce = true` it is a maximum as it stands.
    write_machine_policy(&env, "enforce = true\n");
    let why = format!(
        "refused: `env:A` is not granted to skill `skill` by {ETC}\n\
         hint: ask whoever maintains {ETC} to add \"env:A\" to `allow`\n"
    );
    is(&run_below(&env, &flags), "", &why, 126);
}

fn grants_of_a_policy_are_narrowed_to_those_of_root() {
    if !may_change_etc() {
        return;
    }
    let env = TestEnv::with_script(
        "import os, sys\nfor path in sys.argv[1:]:\n    \
         try:\n        print(os.listdir(path))\n    \
         except OSError:\n        print('not granted')\n",
    );
    env.write("files/data/a", "");
    env.write("files/other/b", "");
    env.write("own.toml", "allow = [\"read:files\", \"env:A\"]\n");
    let [data, other] = ["files/data", "files/other"].map(|path| env.text(path));
    write_machine_policy(&env, &format!("allow = [\"write:{data}\"]\n"));
    let warnings = format!(
        "warning: `read:{{root}}/files` of the policy is not granted by {ETC}\n\
         warning: `env:A` of the policy is not granted by {ETC}\n"
    );
    let words = ["--policy", "own.toml", "--", &data, &other];
    let quiet = ["--policy", "own.toml", "-q", "--", &data, &other];
    let narrowed = "['a']\nnot granted\n";
    is(&run_below(&env, &words), narrowed, &warnings, 0);
    is(&run_below(&env, &quiet), narrowed, "", 0);
    // The twin: where there is no such file.
    is(&env.run(&words), "['a']\n['b']\n", "", 0);
}

fn a_policy_of_root_that_others_could_have_written_stops_everything() {
    if !may_change_etc() {
        return;
    }
    let env = TestEnv::with_script(RAN);
    let (file, folder) = ("etc/skillrun/skillrun.toml", "etc/skillrun");
    let refuses = |why: &str| {
        let stderr = format!("refused: {why}\n");
        is(&run_below(&env, &[]), "", &stderr, 126);
        let line = env.audit().pop().unwrap();
        assert_eq!(line["event"], "refused", "{line}");
        let load = env.end_of(&mut with_etc(&env, &["load", "./skill", "-y"]));
        is(&load, "", &stderr, 126);
        // The file of a person does not replace it.
        env.write("own.toml", "");
        is(
            &run_below(&env, &["--policy", "own.toml"]),
            "",
            &stderr,
            126,
        );
    };
    let only_root =
        "hint: only root may write it; /etc/skillrun/skillrun.toml is a ceiling for every policy";
    for (path, mode) in [
        (file, 0o664),
        (file, 0o646),
        (folder, 0o775),
        (folder, 0o1777),
    ] {
        write_machine_policy(&env, "");
        is(&run_below(&env, &[]), "ran\n", "", 0);
        fs::set_permissions(env.path(path), Permissions::from_mode(mode)).unwrap();
        let shown = path.replace("etc/", "/etc/");
        refuses(&format!(
            "`{shown}` may be written by users other than root\n{only_root}"
        ));
    }
    if rustix::process::geteuid().is_root() {
        for path in [file, folder] {
            write_machine_policy(&env, "");
            chown(env.path(path), Some(12345), None).unwrap();
            let shown = path.replace("etc/", "/etc/");
            refuses(&format!("`{shown}` does not belong to root\n{only_root}"));
            chown(env.path(path), Some(0), None).unwrap();
        }
    }
    write_machine_policy(&env, "enforc = true\n");
    refuses(
        "policy `/etc/skillrun/skillrun.toml`: line 1, column 1: `enforc` is not a key; did you mean `enforce`?",
    );
    write_machine_policy(&env, "");
    fs::rename(env.path(file), env.path("etc/skillrun/other.toml")).unwrap();
    symlink("other.toml", env.path(file)).unwrap();
    refuses(
        "`/etc/skillrun/skillrun.toml` is a link\n\
         hint: replace it with what it points to; /etc/skillrun/skillrun.toml is a ceiling for every policy",
    );
}

fn a_link_does_not_lead_out_of_what_a_ceiling_grants() {
    let env = TestEnv::with_script(RAN);
    env.write("inside/file", "");
    env.write("outside/file", "");
    symlink(env.path("outside"), env.path("inside/link")).unwrap();
    let inside = env.text("inside");
    let ceiling = Policy::parse(&format!("allow = [\"read:{inside}\"]\n"), env.root()).unwrap();
    let policy = Policy::parse("allow = [\"read:.\"]\n", env.root()).unwrap();
    let decide = |policy: &Policy, path: &str| {
        let request = Request {
            grants: vec![format!("read:{}", env.text(path)).parse().unwrap()],
            ..Request::typed(&skill(&env), "main.py")
        };
        match host(&env).blocking().decide(policy, request).unwrap() {
            Decision::Refused(refusal) => Err(refusal.message),
            _ => Ok(()),
        }
    };
    let bounded = policy.clone().bounded_by(ceiling);
    assert_eq!(decide(&bounded, "inside"), Ok(()));
    let why = format!(
        "`read:{inside}/link` resolves to `{}`, which is not granted by the host's own policy",
        env.text("outside")
    );
    assert_eq!(decide(&bounded, "inside/link"), Err(why));
    // The twin: the policy alone covers the target too.
    assert_eq!(decide(&policy, "inside/link"), Ok(()));
}

fn policy_check_and_doctor_show_the_ceiling() {
    let env = TestEnv::new();
    let home = "home/.config/skillrun/skillrun.toml";
    env.write(
        home,
        "enforce = true\nallow = [\"env:A\"]\n[limits]\ntime = \"20s\"\n",
    );
    let policy = "approval = \"never\"\nallow = [\"env:A\", \"env:B\"]\n\
                  [skill.\"./x\"]\nruntime = \"native\"\n";
    env.write("skillrun.toml", policy);
    let shown = "policy {root}/skillrun.toml\n\n\
        every skill\n  may touch     env:A, env:B\n  approval      never: scripts run without asking\n  \
        native        confined\n  interpreters  python3, bash, node\n\
        [skill.\"./x\"]\n  applies to    {root}/x\n  may touch     what every skill may touch\n  runtime       native\n\n\
        ceiling {root}/home/.config/skillrun/skillrun.toml\n\n\
        every skill\n  enforce       flags and other policies can only narrow it\n  may touch     env:A\n  \
        approval      first-run\n  native        confined\n  interpreters  python3, bash, node\n  \
        limits        time 20s\n\n\
        in force\n\n\
        every skill\n  may touch     env:A\n  approval      first-run\n  native        confined\n  \
        interpreters  python3, bash, node\n  limits        time 20s, memory 256MiB, output 10MiB, scratch 64MiB, \
        disk 1GiB, open_files 256, processes 32\n";
    is(&env.end(&["policy", "check"]), shown, "", 0);
    let end = env.end(&["policy", "check", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(
        object["ceilings"][0]["path"],
        env.text(home).replace(&env.text(""), "{root}/")
    );
    assert_eq!(object["in_force"]["approval"], "first-run");
    env.trust("skillrun.toml");
    let line =
        format!("ok   ceiling    {{root}}/{home}: flags and other policies can only narrow it\n");
    let end = env.end(&["doctor"]);
    assert!(end.stdout.contains(&line), "{}", end.stdout);
    if !may_change_etc() {
        return;
    }
    write_machine_policy(&env, "native = \"refuse\"\n[limits]\ntime = \"10s\"\n");
    let end = env.end_of(&mut with_etc(&env, &["policy", "check"]));
    let part = "\nceiling /etc/skillrun/skillrun.toml\n\nevery skill\n  may touch     anything that is granted elsewhere\n  \
                native        refuse\n  limits        time 10s\n";
    assert!(end.stdout.contains(part), "{}", end.stdout);
    assert!(end.stdout.contains("\nin force\n"), "{}", end.stdout);
    let end = env.end_of(&mut with_etc(&env, &["doctor"]));
    // Also where there is no other policy.
    fs::remove_file(env.path("skillrun.toml")).unwrap();
    fs::remove_file(env.path(home)).unwrap();
    let none = env.end_of(&mut with_etc(&env, &["policy", "check"]));
    assert!(none.stdout.starts_with("policy none\n"), "{}", none.stdout);
    assert!(none.stdout.contains(part), "{}", none.stdout);
    assert_eq!(env.end(&["policy", "check"]).code, 127);
    let line = "ok   ceiling    /etc/skillrun/skillrun.toml: flags and other policies can only narrow it\n";
    assert!(end.stdout.contains(line), "{}", end.stdout);
}

fn a_section_chooses_the_runtime() {
    let env = TestEnv::with_script(RAN);
    let missing = host(&env).blocking().native_state().missing;
    if missing.contains(&"python3") {
        println!("not run: python3 is not installed");
        return;
    }
    let section = "[skill.\"./skill\"]\nruntime = \"native\"\n";
    let tier = |words: &[&str]| {
        let words = [&["--policy", "own.toml"], words].concat();
        let outcome = env.outcome(&words);
        let refused = outcome["error"]["message"].as_str();
        let tier = outcome["isolation"]["tier"].as_str();
        refused.or(tier).map(str::to_owned).unwrap()
    };
    env.write("own.toml", section);
    // As everywhere, Python needs a grant to run natively.
    assert_eq!(tier(&[]), "`native` is not granted to skill `skill`");
    assert_eq!(tier(&["--allow", "native"]), "native");
    env.write("own.toml", format!("{section}allow = [\"native\"]\n"));
    assert_eq!(tier(&[]), "native");
    // A flag chooses otherwise, also under `enforce`: to run in the wasm tier is narrower.
    assert_eq!(tier(&["--runtime", "wasm"]), "wasm");
    env.write("own.toml", format!("enforce = true\n{section}"));
    assert_eq!(
        tier(&["--allow", "native"]),
        "`native` is not granted to skill `skill` by `{root}/own.toml`"
    );
    assert_eq!(tier(&["--runtime", "wasm"]), "wasm");
    // Other skills are not affected.
    env.write(
        "own.toml",
        "allow = [\"native\"]\n[skill.\"./other\"]\nruntime = \"native\"\n",
    );
    assert_eq!(tier(&[]), "wasm");
    // An agent's request runs there too.
    let text =
        "approval = \"never\"\n[skill.\"./skill\"]\nruntime = \"native\"\nallow = [\"native\"]\n";
    let policy = Policy::parse(text, env.root()).unwrap();
    let request = Request::new(&skill(&env), "main.py");
    match host(&env).blocking().decide(&policy, request).unwrap() {
        Decision::Permitted(permit) => assert_eq!(permit.plan().runtime(), "native"),
        other => panic!("{other:?}"),
    }
}
