//! The examples of docs/embedding.md. Each runs here; tests/docs.rs compares the page with what stands between the marks.

use crate::env::{TestEnv, shared_cache};
use crate::library::block_on;
use std::error::Error;
use std::path::Path;

tests! {
    run_a_script,
    stream_write_and_cancel,
    serve_several_customers,
    ask_a_person,
    read_the_outcome,
    set_the_rules_in_code,
    show_what_root_allows,
    run_a_skill_from_bytes,
    keep_the_records_elsewhere,
    put_guests_into_processes_of_their_own,
    add_a_runtime,
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The repository's example skills.
const SKILLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills");

/// An environment with a workspace that contains a text, and a link to the example skills.
fn env() -> TestEnv {
    let env = TestEnv::with_script("print('hello')\n");
    env.write("notes/README.md", "one two three\n");
    env
}

fn root(env: &TestEnv) -> &Path {
    env.root()
}

#[rustfmt::skip]
fn run_a_script() {
    let env = env();
    let (cache, state, notes) = (shared_cache().join("skillrun"), env.path("state"), env.path("notes"));
    let skills = Path::new(SKILLS);
    let run = async {
        // docs: begin
        use skillrun::{Approvals, AuditLog, Decision, Host, Policy, Request, Settings};

        // One host per process, shared by all tasks.
        let host = Host::new(Settings {
            cache, // of compiled interpreters; only this user may write it
            audit: AuditLog::file(state.join("audit.jsonl")),
            approvals: Approvals::file(state.join("approvals.db")),
            protected: vec![],
            slots: Some(32),
            workers: Default::default(), // guests on threads of this process
        });
        let skill = host.load_skill(skills.join("word-count")).await?;
        let request = Request {
            args: vec!["README.md".into()],
            workspace: Some(notes.into()),
            ..Request::new(&skill, "count.py")
        };
        let policy = Policy::parse("approval = \"never\"", &state)?;
        let outcome = match host.decide(&policy, request).await? {
            Decision::Permitted(permit) => host.run(permit).await?,
            Decision::Pending(question) => return Err(format!("ask about {}", question.skill).into()),
            Decision::Refused(refusal) => return Err(refusal.into()),
        };
        println!("{}", outcome.stdout);
        // docs: end
        assert!(outcome.success, "{outcome:?}");
        Result::Ok(())
    };
    block_on(run).unwrap();
}

/// A host for the examples that do not show how to make one.
fn host(env: &TestEnv) -> skillrun::Host {
    crate::library::host_of(env, Some(4))
}

fn permit(host: &skillrun::Host, env: &TestEnv, script: &str) -> skillrun::Permit {
    env.write("skill/scripts/main.py", script);
    let request = skillrun::Request {
        workspace: Some(env.path("notes").into()),
        ..skillrun::Request::typed(&crate::library::skill(env), "main.py")
    };
    crate::library::permitted(host, &skillrun::Policy::default(), request)
}

#[rustfmt::skip]
fn stream_write_and_cancel() {
    let env = env();
    let host = host(&env);
    let permit = permit(&host, &env, "while True: print(input().upper(), flush=True)\n");
    let run = async {
        // docs: begin
        use skillrun::running::RunEvent;
        use tokio::io::AsyncWriteExt as _;

        let (mut run, mut stdin) = host.start_with_stdin(permit);
        stdin.write_all(b"hello\n").await?;
        while let Some(event) = run.next_event().await {
            match event {
                RunEvent::Started => println!("run {} has started", run.id()),
                // Dropping the handle would stop the script, too. `detach` lets it run on.
                RunEvent::Stdout(bytes) if &*bytes == b"HELLO\n" => run.cancel(),
                RunEvent::Stdout(bytes) | RunEvent::Stderr(bytes) => println!("{bytes:?}"),
                RunEvent::Denied(denial) => println!("denied {}", denial.grant),
                _ => {}
            }
        }
        let outcome = run.wait().await?;
        // docs: end
        assert_eq!((outcome.status, outcome.stdout.as_str()), (skillrun::Status::Cancelled, "HELLO\n"));
        Result::Ok(())
    };
    block_on(run).unwrap();
}

#[rustfmt::skip]
fn serve_several_customers() {
    let env = env();
    let host = host(&env);
    let run = async {
        // docs: begin
        use skillrun::tenant::{Quota, TenantSettings};
        use skillrun::{Decision, Policy, Request, RunError};

        let acme = host.tenant("acme");
        acme.configure(TenantSettings {
            policy: Policy::parse("approval = \"never\"", "/srv/acme".as_ref())?,
            skill_dirs: vec![SKILLS.into()],
            quota: Quota {
                running: Some(4),
                waiting: 100,
                memory: Some(1 << 30),
                ..Quota::default()
            },
            // In each of its lines in the audit log.
            audit_fields: [("region".into(), "eu".into())].into(),
        })?;
        let skill = acme.skill("word-count").await?;
        let request = Request::new(&skill, "count.py");
        if let Decision::Permitted(permit) = acme.decide(request).await? {
            match acme.run(permit).await {
                Ok(outcome) => println!("exit code {}", outcome.exit_code),
                // The queue is full: `retry_after` says when to try again.
                Err(RunError::Refused(refusal)) => println!("{refusal}, {:?}", refusal.retry_after),
                Err(error) => return Err(error.into()),
            }
        }
        // docs: end
        assert!(env.audit().iter().all(|line| line["tenant"] == "acme"));
        assert_eq!(env.audit().last().unwrap()["event"], "finished");
        Result::Ok(())
    };
    block_on(run).unwrap();
}

#[rustfmt::skip]
fn ask_a_person() {
    let env = env();
    let host = host(&env);
    let skill = crate::library::skill(&env);
    let run = async {
        // docs: begin
        use skillrun::approval::Approver;
        use skillrun::{Answer, Decision, Policy, Request};

        let request = Request::new(&skill, "main.py");
        let Decision::Pending(question) = host.decide(&Policy::default(), request).await? else {
            return Err("nobody has to be asked".into());
        };
        // Wherever the person is: another task, or another process with the same approvals file.
        let operator = host.clone();
        let id = question.id.clone();
        let page = tokio::spawn(async move {
            let alice = Approver::new("alice@example.com", "web");
            operator.record_answer(&id, Answer::YesOnce, alice).await
        });
        for permit in host.answered(&question.id).await? {
            println!("{}", host.run(permit?).await?.stdout);
        }
        page.await??;
        // docs: end
        let lines = env.audit();
        let approved = lines.iter().find(|line| line["event"] == "approved").unwrap();
        assert_eq!(approved["approver"]["id"], "alice@example.com");
        assert_eq!(lines.last().unwrap()["event"], "finished");
        Result::Ok(())
    };
    block_on(run).unwrap();
}

#[rustfmt::skip]
fn read_the_outcome() {
    let env = env();
    let host = host(&env);
    let script = "open('report.txt', 'w').write('done')\ntry: open('/etc/hosts')\nexcept OSError: pass\n";
    let permit = permit(&host, &env, script);
    let run = async {
        // docs: begin
        let outcome = host.run(permit).await?;
        println!("{:?}, exit code {}", outcome.status, outcome.exit_code);
        for file in &outcome.artifacts {
            println!("{:?} {} {:?}", file.change, file.path, file.sha256); // Created report.txt Some("…")
        }
        for denial in &outcome.denied {
            println!("{} ×{}", denial.grant, denial.count); // read:/etc/hosts ×1
        }
        println!("{}", serde_json::to_string(&outcome)?);
        // docs: end
        assert_eq!((outcome.artifacts.len(), outcome.denied.len()), (1, 1));
        Result::Ok(())
    };
    block_on(run).unwrap();
}

#[rustfmt::skip]
fn set_the_rules_in_code() {
    let env = env();
    env.write("tenant.toml", "allow = [\"read:/srv/agent/data\"]\n");
    let root = root(&env);
    let run = || {
        // docs: begin
        use skillrun::policy::{ApprovalMode, Definition, LimitRules, Rules, SkillRules};
        use skillrun::{Grant, Policy, Tier};
        use std::time::Duration;

        // The same as a policy file, with a field for each key. Relative paths start at the directory.
        let policy = Policy::new(
            Definition {
                enforce: true,
                rules: Rules {
                    approval: Some(ApprovalMode::Always),
                    allow: Some(vec![Grant::Read("data".into()), "env:API_KEY".parse()?]),
                    limits: LimitRules {
                        time: Some(Duration::from_secs(10)),
                        ..LimitRules::default()
                    },
                    ..Rules::default()
                },
                skills: [(
                    "deploy".to_owned(),
                    SkillRules {
                        runtime: Some(Tier::Native),
                        ..SkillRules::default()
                    },
                )]
                .into(),
            },
            "/srv/agent".as_ref(),
        )?;
        println!("{}", policy.to_toml()?); // parses to the same policy

        // What a tenant brings cannot exceed it.
        let text = std::fs::read_to_string(root.join("tenant.toml"))?;
        let tenant = Policy::parse(&text, "/srv/tenant".as_ref())?.bounded_by(policy);
        // docs: end
        drop(tenant);
        Result::Ok(())
    };
    run().unwrap();
}

#[rustfmt::skip]
fn show_what_root_allows() {
    let run = || {
        // docs: begin
        use skillrun::Policy;

        let policy = Policy::parse("allow = [\"env:API_KEY\"]", "/srv/agent".as_ref())?;
        let in_force = policy.bounded_by_machine()?;
        for ceiling in in_force.ceilings() {
            println!("bounded by {:?}: {}", ceiling.source(), ceiling.to_toml()?);
        }
        // docs: end
        Result::Ok(in_force)
    };
    let of_root = skillrun::Policy::of_machine().unwrap();
    assert_eq!(run().unwrap().ceilings(), of_root.as_slice());
}

#[rustfmt::skip]
fn run_a_skill_from_bytes() {
    let env = env();
    let host = host(&env);
    let script = std::fs::read(Path::new(SKILLS).join("word-count/scripts/count.py")).unwrap();
    let document = std::fs::read(Path::new(SKILLS).join("word-count/SKILL.md")).unwrap();
    let uploaded = skillrun::skill::FileMap::from_files([
        ("SKILL.md", document),
        ("scripts/count.py", script),
    ]);
    let uploaded = uploaded.unwrap().to_tar().unwrap();
    let policy = skillrun::Policy::parse("approval = \"never\"", root(&env)).unwrap();
    let run = async {
        // docs: begin
        use skillrun::skill::{Bounds, FileMap};
        use skillrun::{Decision, Request};

        let files = FileMap::from_tar(&uploaded)?; // or FileMap::from_files([("SKILL.md", …), …])
        let skill = host.skill_from_files("word-count", files).await?.into();
        let notes = FileMap::from_files([("notes.txt", "one two three\n")])?;
        let workspace = host.workspace_from_files(notes).await?;
        let request = Request {
            args: vec!["notes.txt".into()],
            workspace: Some((&workspace).into()),
            ..Request::new(&skill, "count.py")
        };
        if let Decision::Permitted(permit) = host.decide(&policy, request).await? {
            println!("{}", host.run(permit).await?.stdout);
        }
        let returned = host.files_of(&workspace, Bounds::default()).await?;
        for left_out in &returned.left_out {
            eprintln!("`{}` is not returned: {}", left_out.path, left_out.why);
        }
        let archive = returned.files.to_tar()?;
        // docs: end
        drop(archive);
        assert_eq!(env.audit().last().unwrap()["event"], "finished");
        Result::Ok(())
    };
    block_on(run).unwrap();
}

#[rustfmt::skip]
fn keep_the_records_elsewhere() {
    let env = env();
    let cache = shared_cache().join("skillrun");
    let (send, received) = std::sync::mpsc::channel();
    let skill = crate::library::skill(&env);
    let run = async {
        // docs: begin
        use skillrun::{Approvals, AuditLog, Decision, Host, Policy, Request, Settings};

        let host = Host::new(Settings {
            cache,
            // Each line reaches the sink before anything happens because of it. If it fails, nothing runs.
            audit: AuditLog::sink(move |line: &[u8]| {
                send.send(line.to_owned()).map_err(std::io::Error::other)
            }),
            // `Approvals::stores` takes stores of your own.
            approvals: Approvals::memory(),
            protected: vec![],
            slots: None,
            workers: Default::default(),
        });
        let request = Request::typed(&skill, "main.py");
        if let Decision::Permitted(permit) = host.decide(&Policy::default(), request).await? {
            host.run(permit).await?;
        }
        // docs: end
        assert_eq!(received.try_iter().count(), 2);
        Result::Ok(())
    };
    block_on(run).unwrap();
}

#[rustfmt::skip]
fn put_guests_into_processes_of_their_own() {
    let env = env();
    let settings = skillrun::Settings {
        cache: shared_cache().join("skillrun"),
        audit: skillrun::AuditLog::file(env.path("state/skillrun/audit.jsonl")),
        approvals: skillrun::Approvals::memory(),
        protected: vec![],
        slots: Some(1),
        workers: Default::default(),
    };
    let run = async {
        let skill = skillrun::Host::new(settings.clone()).load_skill(env.path("skill")).await?;
        // docs: begin
        use skillrun::runtime::{Workers, serve_if_worker};
        use skillrun::{Decision, Host, Policy, Request, Settings};

        // First in `main`, before any thread is started: workers are processes of this program.
        serve_if_worker();
        let workers = Workers::Processes("/proc/self/exe".into());
        let host = Host::new(Settings { workers, ..settings });
        let request = Request::typed(&skill, "main.py");
        if let Decision::Permitted(permit) = host.decide(&Policy::default(), request).await? {
            let outcome = host.run(permit).await?;
            assert!(outcome.isolation.layers.contains(&"worker"));
        }
        // docs: end
        Ok(())
    };
    let run: Result<()> = block_on(run);
    run.unwrap();
}

#[rustfmt::skip]
fn add_a_runtime() {
    // The page has the one of the standard library.
    use std::result::Result;

    let env = env();
    env.write("skill/scripts/total.sum", "40\n2\n");
    let root = root(&env);
    let settings = skillrun::Settings {
        cache: shared_cache().join("skillrun"),
        audit: skillrun::AuditLog::file(env.path("state/skillrun/audit.jsonl")),
        approvals: skillrun::Approvals::memory(),
        protected: vec![],
        slots: Some(1),
        workers: Default::default(),
    };
    let run = async {
        // docs: begin
        use skillrun::outcome::{Enforcement, Isolation, LimitEnforcement, Usage};
        use skillrun::runtime::{BoxFuture, Ended, RunContext, RunsIn, Runtime};
        use skillrun::skill::CustomLanguage;
        use skillrun::{
            Decision, Error, Grant, Host, Language, Permit, Plan, Policy, Refusal, Request, Status, Tier,
        };
        use std::sync::Arc;
        use std::time::Instant;

        // Scripts that end in `.sum` have a number on each line.
        static LANGUAGES: [CustomLanguage; 1] = [CustomLanguage {
            word: "sum",
            extension: "sum",
            interpreter: "sum",
        }];

        struct Sum;

        impl Runtime for Sum {
            fn name(&self) -> &'static str {
                "sum"
            }

            fn runs(&self, language: Language, tier: Tier) -> RunsIn {
                match language == Language::Custom(&LANGUAGES[0]) && tier != Tier::Native {
                    true => RunsIn::Wasm, // in a sandbox: it needs no grant but the interpreter's name
                    false => RunsIn::Nowhere,
                }
            }

            fn can_enforce(&self, _: &Plan) -> Result<(), Refusal> {
                Ok(()) // a script can neither loop nor open anything
            }

            fn isolation(&self) -> Isolation {
                Isolation {
                    tier: "sum",
                    layers: vec!["interpreter"],
                    limits: LimitEnforcement {
                        time: Enforcement::Absent,
                        memory: Enforcement::Absent,
                        disk: Enforcement::Hard,
                        processes: Enforcement::Hard,
                    },
                }
            }

            fn run<'a>(
                &'a self,
                permit: Arc<Permit>,
                context: RunContext,
            ) -> BoxFuture<'a, Result<Ended, Error>> {
                Box::pin(async move {
                    let began = Instant::now();
                    let source = String::from_utf8_lossy(permit.plan().source().unwrap_or_default());
                    let sum: Result<f64, _> = source.lines().map(str::parse::<f64>).sum();
                    match &sum {
                        Ok(sum) => context.stdout.write(format!("{sum}\n")).await,
                        Err(why) => context.stderr.write(format!("{why}\n")).await,
                    };
                    Ok(Ended {
                        status: Status::Exited,
                        exit_code: i32::from(sum.is_err()),
                        signal: None,
                        time: began.elapsed(),
                        usage: Usage::default(),
                        denied: vec![],
                        denied_truncated: false,
                        artifacts: vec![],
                        artifacts_truncated: false,
                        isolation: self.isolation(),
                        warnings: vec![],
                        limits_hit: vec![],
                    })
                })
            }
        }

        let host = Host::with_runtimes(settings, vec![Arc::new(Sum)])?;
        let skill = host.load_skill_with(root.join("skill"), &LANGUAGES).await?;
        // By default, a policy allows python3, bash and node.
        let policy = Policy::default().and_allow([Grant::Interpreter("sum".into())]);
        let request = Request::typed(&skill, "total.sum");
        if let Decision::Permitted(permit) = host.decide(&policy, request).await? {
            println!("{}", host.run(permit).await?.stdout); // 42
        }
        // docs: end
        Result::<(), Box<dyn std::error::Error>>::Ok(())
    };
    block_on(run).unwrap();
    let finished = env.audit().pop().unwrap();
    assert_eq!((&finished["event"], &finished["exit_code"]), (&"finished".into(), &0.into()));
}
