//! Every combination of what decides about a run, with the decision that `docs/policy.md` promises: the table in
//! `decisions.txt` has one line for each.

use crate::env::{SKILL_MD, TestEnv};
use crate::library::{block_on, host, permitted, settings, skill};
use skillrun::runtime::Workers;
use skillrun::skill::Library;
use skillrun::{
    Approvals, Check, Decision, Grant, Host, Limits, Policy, Request, RequestedBy, Settings, Skill,
    Tier,
};
use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

tests! {
    every_combination_of_policy_tools_approval_and_isolation_is_decided_as_the_table_says,
    every_way_to_name_a_skill_in_a_policy_is_decided_as_the_table_says,
    r9s_the_fields_of_a_script_policy_mean_what_the_documentation_says,
}

/// What is requested, and where.
const SCRIPTS: [(&str, &str, Tier); 5] = [
    ("python", "a.py", Tier::Auto),
    ("bash", "a.sh", Tier::Auto),
    ("ruby", "a.rb", Tier::Auto),
    ("native python", "a.py", Tier::Native),
    ("command", "date", Tier::Auto),
];
const TOOLS: [(&str, &str); 4] = [
    ("no tools", ""),
    ("Bash", "allowed-tools: Bash, Read\n"),
    ("Read", "allowed-tools: Read\n"),
    ("Bash(git:*)", "allowed-tools: Bash(git:*)\n"),
];
const NATIVE: [&str; 3] = ["refuse", "confined", "namespaces"];
const APPROVAL: [&str; 3] = ["never", "first-run", "always"];
/// Who may use a worker after a run. Only the first one decides about a run, and only where guests share the host's process.
const WORKERS: [&str; 3] = ["per-run", "per-tenant", "shared"];
/// What the policy grants in addition.
const ALLOW: [(&str, &str); 2] = [
    ("nothing", ""),
    (
        "all",
        "allow = [\"env:X\", \"native\", \"interpreter:ruby\", \"run:date\"]\n",
    ),
];
/// What is requested in addition.
const WANTS: [(&str, &[&str]); 2] = [("-", &[]), ("env:X", &["X"])];

/// The last two columns are the decisions about the requests of a person and of an agent, whatever the policy says about
/// `workers`; the two before them are those under `workers = "per-run"` in a process that has run another script.
fn every_combination_of_policy_tools_approval_and_isolation_is_decided_as_the_table_says() {
    let mut table = String::from(
        "script         tools        native      approval   grants   wants  person alone agent alone   person       agent\n",
    );
    // As `workers = "per-run"` demands, a process runs only one script then, and this one has run another.
    let used = TestEnv::with_script("");
    let (own, first) = (host(&used), Request::typed(&skill(&used), "main.py"));
    block_on(own.run(permitted(&own, &Policy::default(), first))).unwrap();
    for (tools, field) in TOOLS {
        let env = TestEnv::new();
        let matter = format!("---\nname: skill\ndescription: A skill.\n{field}---\n");
        env.write("skill/SKILL.md", matter);
        for name in ["a.py", "a.sh", "a.rb"] {
            env.write(&format!("skill/scripts/{name}"), "");
        }
        let skill = skill(&env);
        let host_with = |workers| {
            let approvals = Approvals::memory();
            Host::new(Settings {
                approvals,
                ..settings(&env, None, workers)
            })
        };
        let host = host_with(Workers::InProcess);
        let in_workers = host_with(Workers::Processes(env!("CARGO_BIN_EXE_skillrun").into()));
        for (kind, script, tier) in SCRIPTS {
            for native in NATIVE {
                for approval in APPROVAL {
                    for (allowed, allow) in ALLOW {
                        for (wants, env) in WANTS {
                            let decide = |host: &Host, workers: &str| {
                                let text = format!(
                                    "native = \"{native}\"\napproval = \"{approval}\"\n{workers}{allow}"
                                );
                                let policy = Policy::parse(&text, Path::new("/")).unwrap();
                                [RequestedBy::Person, RequestedBy::Agent].map(|requested_by| {
                                    let env =
                                        env.iter().map(|name| ((*name).into(), String::new()));
                                    let request = Request {
                                        tier,
                                        requested_by,
                                        env: env.collect(),
                                        ..match kind {
                                            "command" => Request::command(script),
                                            _ => Request::new(&skill, script),
                                        }
                                    };
                                    word(host, host.blocking().decide(&policy, request).unwrap())
                                })
                            };
                            let [person, agent] = decide(&host, "");
                            let [alone, others @ ..] = WORKERS.map(|mode| {
                                let workers = format!("workers = \"{mode}\"\n");
                                [decide(&host, &workers), decide(&in_workers, &workers)]
                            });
                            let expected = [person, agent];
                            assert_eq!(others, [[expected; 2]; 2]);
                            assert_eq!(alone[1], expected);
                            let [[alone_person, alone_agent], _] = alone;
                            let _ = writeln!(
                                table,
                                "{kind:<14} {tools:<12} {native:<11} {approval:<10} {allowed:<8} {wants:<6} {alone_person:<12} {alone_agent:<13} {person:<12} {agent}"
                            );
                        }
                    }
                }
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/decisions.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, table).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap();
    let state = host(&TestEnv::new()).blocking().native_state();
    let lacks_ruby = state.missing.contains(&"ruby");
    let lacks_namespaces = state.backend != Some("namespaces");
    for (is, should) in table.lines().zip(expected.lines()) {
        let words: Vec<&str> = should.split_whitespace().collect();
        let demands = words.contains(&"namespaces") && words[0] != "python";
        if (lacks_ruby && words[0] == "ruby") || (lacks_namespaces && demands) {
            continue;
        }
        assert_eq!(is, should);
    }
    assert_eq!(table.lines().count(), expected.lines().count());
}

/// Where a skill `deploy` is when the policy is that of `project`.
const LOCATIONS: [(&str, &str); 4] = [
    ("project", "project/skills/deploy"),
    ("elsewhere", "elsewhere/deploy"),
    ("linked", "elsewhere/deploy"),
    ("hides", "project/.agents/skills/deploy"),
];
/// How a section of the policy names the skill: the key, and whose digest it has.
const SECTIONS: [(&str, &str, &str); 10] = [
    ("none", "", ""),
    ("name", "deploy", ""),
    ("name, digest", "deploy", "own"),
    ("name, other digest", "deploy", "other"),
    ("path", "{real}", ""),
    ("path, digest", "{real}", "own"),
    ("path, other digest", "{real}", "other"),
    ("path of what it hides", "skills/deploy", ""),
    ("another path", "more/deploy", ""),
    ("another name", "other", ""),
];

/// The section grants what is requested and needs no approval; without it, the grant is missing and approval is needed.
fn every_way_to_name_a_skill_in_a_policy_is_decided_as_the_table_says() {
    let mut table = String::from("skill      section                 person       agent\n");
    for (location, real) in LOCATIONS {
        for (named, key, whose) in SECTIONS {
            let env = TestEnv::new();
            let write = |folder: &str| {
                env.write(&format!("{folder}/SKILL.md"), SKILL_MD);
                env.write(&format!("{folder}/scripts/a.py"), "");
            };
            write(real);
            let skills = env.path("project/skills");
            std::fs::create_dir_all(&skills).unwrap();
            match location {
                "linked" => symlink(env.path(real), skills.join("deploy")).unwrap(),
                "hides" => write("project/skills/deploy"),
                _ => {}
            }
            let skill = match location {
                "elsewhere" => Arc::new(Skill::load(env.path(real)).unwrap()),
                _ => {
                    let dirs =
                        [".agents/skills", "skills"].map(|dir| env.path("project").join(dir));
                    Library::new(dirs).find("deploy").unwrap().skill
                }
            };
            let digest = match whose {
                "own" => format!("digest = \"{}\"\n", skill.digest().unwrap()),
                "other" => format!("digest = \"sha256:{}\"\n", "0".repeat(64)),
                _ => String::new(),
            };
            let key = key.replace("{real}", &env.text(real));
            let section = match key.is_empty() {
                true => String::new(),
                false => format!(
                    "[skill.\"{key}\"]\n{digest}allow = [\"env:X\"]\napproval = \"never\"\n"
                ),
            };
            let policy = Policy::parse(&section, &env.path("project")).unwrap();
            let host = host(&env);
            let person = Request {
                env: vec![("X".into(), String::new())],
                ..Request::typed(&skill, "a.py")
            };
            let agent = Request::new(&skill, "a.py");
            let [person, agent] = [person, agent]
                .map(|request| word(&host, host.blocking().decide(&policy, request).unwrap()));
            let _ = writeln!(table, "{location:<10} {named:<23} {person:<12} {agent}");
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sections.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, table).unwrap();
        return;
    }
    assert_eq!(table, std::fs::read_to_string(path).unwrap());
}

/// Each field with what it allows, and the twin without it.
fn r9s_the_fields_of_a_script_policy_mean_what_the_documentation_says() {
    let env = TestEnv::with_script("");
    env.write("skill/scripts/a.sh", "");
    env.write("folder/a", "");
    let (host, skill) = (host(&env), skill(&env));
    let write: Grant = format!("write:{}", env.text("folder")).parse().unwrap();
    let network: Grant = "net:*".parse().unwrap();
    let late = Limits {
        time: std::time::Duration::from_secs(31),
        ..Limits::default()
    };
    let agent = |script: &str| Request::new(&skill, script);
    let of = |grant: &Grant, script: &str| Request {
        grants: vec![grant.clone()],
        ..Request::typed(&skill, script)
    };
    let timed = Request {
        limits: Some(late),
        ..Request::typed(&skill, "main.py")
    };
    for (request, policy, decided) in [
        // allow_scripts
        (agent("main.py"), "interpreters = []", "interpreter"),
        (agent("main.py"), "approval = \"never\"", "runs"),
        (agent("main.py"), "approval = \"first-run\"", "asks"),
        // allow_network
        (of(&network, "a.sh"), "", "grants"),
        (of(&network, "a.sh"), "allow = [\"net:*\"]", "runs"),
        // allow_filesystem
        (of(&write, "main.py"), "", "grants"),
        (
            of(&write, "main.py"),
            "allow = [\"write:./folder\"]",
            "runs",
        ),
        // timeout_seconds
        (timed.clone(), "[limits]\ntime = \"30s\"", "limits"),
        (timed, "[limits]\ntime = \"31s\"", "runs"),
        // allowed_commands
        (Request::command("date"), "", "grants"),
        (Request::command("date"), "allow = [\"run:env\"]", "grants"),
        (Request::command("date"), "allow = [\"run:date\"]", "asks"),
    ] {
        let policy = Policy::parse(policy, env.root()).unwrap();
        let found = word(&host, host.blocking().decide(&policy, request).unwrap());
        assert_eq!(found, decided, "{policy:?}");
    }
}

fn word(host: &Host, decision: Decision) -> &'static str {
    match decision {
        Decision::Permitted(_) => "runs",
        Decision::Pending(question) => {
            host.blocking()
                .decline(&question.id, "the test only asks")
                .unwrap();
            "asks"
        }
        Decision::Refused(refusal) => match refusal.check {
            Check::Policy => "policy",
            Check::Interpreter => "interpreter",
            Check::AllowedTools => "tools",
            Check::Grants => "grants",
            Check::Limits => "limits",
            Check::Isolation => "isolation",
            Check::Runtime => "runtime",
            other => panic!("{other:?}: {refusal}"),
        },
    }
}
