//! Tenants of a host: what each may see, and how much it may use.

use crate::approval::alice;
use crate::env::{SKILL_MD, TestEnv};
use crate::library::{block_on, host_of, skill};
use skillrun::approval::{AnswerError, QuestionEvent};
use skillrun::audit::AuditFilter;
use skillrun::running::{Run, RunEvent};
use skillrun::runtime::WorkspaceError;
use skillrun::skill::{Bounds, FileMap};
use skillrun::tenant::{Quota, Tenant, TenantSettings};
use skillrun::{Answer, Check, Decision, Permit, Policy, Request, RunError, Status};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::io::DuplexStream;

tests! {
    a_tenant_sees_and_answers_its_own_questions_only,
    a_tenant_lists_and_revokes_its_own_approvals_only,
    a_permit_runs_through_the_handle_of_its_tenant_only,
    each_tenant_has_its_own_policy,
    each_tenant_has_its_own_audit_fields_and_reads_its_own_lines_only,
    more_audit_fields_than_a_line_may_have_are_an_error,
    each_tenant_finds_its_own_skills_by_name_only,
    files_that_a_tenant_gave_as_bytes_are_for_its_own_runs_only,
    a_tenant_misses_no_event_because_of_another,
    a_full_queue_refuses_with_a_time_to_try_again,
    a_run_that_exceeds_its_tenants_quota_alone_is_refused,
    a_tenant_that_may_run_nothing_is_refused_with_the_quota_to_raise,
    a_waiting_run_of_a_tenant_starts_when_its_other_run_ends,
    a_waiting_run_of_a_tenant_that_is_removed_starts,
    a_waiting_run_of_a_tenant_that_may_run_nothing_any_more_is_refused,
}

fn env() -> TestEnv {
    TestEnv::with_script("import sys\nprint('ready', flush=True)\nprint(sys.stdin.read())\n")
}

async fn permitted(tenant: &Tenant, request: Request) -> Permit {
    match tenant.decide(request).await.unwrap() {
        Decision::Permitted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

/// Starts the script, which runs until its input is closed.
async fn start(tenant: &Tenant, env: &TestEnv) -> (Run, DuplexStream) {
    let permit = permitted(tenant, Request::typed(&skill(env), "main.py")).await;
    tenant.start_with_stdin(permit).unwrap()
}

fn a_tenant_sees_and_answers_its_own_questions_only() {
    let env = env();
    let host = host_of(&env, None);
    let (acme, globex) = (host.tenant("acme"), host.tenant("globex"));
    block_on(async {
        let request = Request::new(&skill(&env), "main.py");
        // A name that the caller wrote into the request does not count.
        let forged = Request {
            tenant: "globex".into(),
            ..request
        };
        let Decision::Pending(question) = acme.decide(forged).await.unwrap() else {
            panic!("nobody was asked");
        };
        assert_eq!(question.tenant, "acme");
        assert!(globex.questions().await.unwrap().is_empty());
        let answered = globex.answer(&question.id, Answer::YesOnce, alice()).await;
        let recorded = globex.record_answer(&question.id, Answer::YesOnce, alice());
        let recorded = recorded.await;
        for answered in [
            answered.map(Option::unwrap_or_default),
            globex.decline(&question.id, "no").await,
            globex.answered(&question.id).await,
            recorded.map(|()| vec![]),
        ] {
            assert!(matches!(answered, Err(AnswerError::Unknown { .. })));
        }
        let own = acme.questions().await.unwrap();
        assert_eq!(own.len(), 1);
        let decisions = acme.answer(&own[0].id, Answer::YesOnce, alice()).await;
        let decisions = decisions.unwrap().unwrap();
        assert!(matches!(decisions[..], [Ok(_)]));
    });
}

fn a_tenant_lists_and_revokes_its_own_approvals_only() {
    let env = env();
    let host = host_of(&env, None);
    let (acme, globex) = (host.tenant("acme"), host.tenant("globex"));
    block_on(async {
        let request = || Request {
            session: "s".into(),
            ..Request::new(&skill(&env), "main.py")
        };
        let mut others = globex.events();
        let Decision::Pending(question) = acme.decide(request()).await.unwrap() else {
            panic!("nobody was asked");
        };
        let answer = acme.answer(&question.id, Answer::YesInSession, alice());
        answer.await.unwrap();
        let own = acme.approvals().await.unwrap();
        assert_eq!(own.len(), 1);
        assert_eq!(globex.approvals().await.unwrap(), []);
        assert_eq!(globex.revoke(&[own[0].id]).await.unwrap(), 0);
        globex.end_session("s").await.unwrap();
        permitted(&acme, request()).await;
        // With either of the two, it is still approved.
        assert_eq!(acme.revoke(&[own[0].id]).await.unwrap(), 1);
        permitted(&acme, request()).await;
        acme.end_session("s").await.unwrap();
        let decision = acme.decide(request()).await.unwrap();
        assert!(matches!(decision, Decision::Pending(_)));
        // The first event that another tenant gets is its own.
        let Decision::Pending(question) = globex.decide(request()).await.unwrap() else {
            panic!("nobody was asked");
        };
        let asked = QuestionEvent::Asked(Arc::new(*question));
        assert_eq!(others.next().await, Some(asked));
    });
}

fn a_permit_runs_through_the_handle_of_its_tenant_only() {
    let env = env();
    let host = host_of(&env, None);
    let (acme, globex) = (host.tenant("acme"), host.tenant("globex"));
    block_on(async {
        let request = Request::typed(&skill(&env), "main.py");
        let permit = permitted(&acme, request.clone()).await;
        let Err(RunError::Refused(refusal)) = globex.run(permit).await else {
            panic!("it ran");
        };
        let expected = "the permit belongs to another tenant, not to `globex`";
        assert_eq!(
            (refusal.check, refusal.message.as_str()),
            (Check::Tenant, expected)
        );
        let permit = permitted(&acme, request.clone()).await;
        assert!(matches!(globex.start(permit), Err(RunError::Refused(_))));
        let outcome = acme.run(permitted(&acme, request).await).await.unwrap();
        assert_eq!(
            (outcome.stdout.as_str(), outcome.exit_code),
            ("ready\n\n", 0)
        );
    });
    let lines = env.audit();
    assert!(lines.iter().all(|line| line["tenant"] == "acme"));
    let events: Vec<_> = lines.iter().map(|line| &line["event"]).collect();
    assert_eq!(events, ["refused", "refused", "started", "finished"]);
}

fn each_tenant_has_its_own_policy() {
    let env = env();
    let host = host_of(&env, None);
    let (acme, globex) = (host.tenant("acme"), host.tenant("globex"));
    let policy = Policy::parse("interpreters = []\n", Path::new("/")).unwrap();
    globex
        .configure(TenantSettings {
            policy,
            ..TenantSettings::default()
        })
        .unwrap();
    block_on(async {
        let request = Request::typed(&skill(&env), "main.py");
        drop(permitted(&acme, request.clone()).await);
        // Another handle of the same tenant has the same settings.
        match host.tenant("globex").decide(request.clone()).await.unwrap() {
            Decision::Refused(refusal) => assert_eq!(refusal.check, Check::Interpreter),
            other => panic!("{other:?}"),
        }
        globex.remove();
        drop(permitted(&globex, request).await);
    });
}

fn each_tenant_has_its_own_audit_fields_and_reads_its_own_lines_only() {
    let env = env();
    let host = host_of(&env, None);
    let (acme, globex) = (host.tenant("acme"), host.tenant("globex"));
    for (tenant, plan) in [(&acme, "pro"), (&globex, "free")] {
        let fields = [("plan", plan), ("tenant", "mallory")];
        let fields = fields.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let settings = TenantSettings {
            audit_fields: fields.into(),
            ..TenantSettings::default()
        };
        tenant.configure(settings).unwrap();
    }
    block_on(async {
        for tenant in [&acme, &globex] {
            let request = Request {
                session: "s".into(),
                ..Request::new(&skill(&env), "main.py")
            };
            let Decision::Pending(question) = tenant.decide(request).await.unwrap() else {
                panic!("nobody was asked");
            };
            let answer = tenant.answer(&question.id, Answer::YesInSession, alice());
            let permit = answer.await.unwrap().unwrap().remove(0).unwrap();
            assert_eq!(tenant.run(permit).await.unwrap().exit_code, 0);
            let missing = Request::new(&skill(&env), "missing.py");
            let refused = tenant.decide(missing).await.unwrap();
            assert!(matches!(refused, Decision::Refused(_)));
            let sessions = tenant.sessions().await.unwrap();
            let sessions: Vec<_> = sessions.iter().map(|one| one.tenant.as_str()).collect();
            assert_eq!(sessions, [tenant.name()]);
        }
        assert_eq!(host.sessions().await.unwrap().len(), 2);
        for (tenant, plan) in [(&acme, "pro"), (&globex, "free")] {
            // A filter cannot name another tenant.
            let filter = AuditFilter {
                tenant: Some("globex".into()),
                ..AuditFilter::default()
            };
            let lines = tenant.audit(filter).await.unwrap();
            let events = ["approved", "started", "finished", "refused"];
            let found: Vec<_> = lines.iter().map(|line| line.field("event")).collect();
            assert_eq!(found, events);
            let fields = serde_json::json!({"plan": plan, "tenant": "mallory"});
            for line in &lines {
                assert_eq!(line.field("tenant"), tenant.name());
                assert_eq!(*line.field("fields"), fields, "{}", line.json());
            }
            let filter = AuditFilter {
                event: Some("refused".into()),
                ..AuditFilter::default()
            };
            assert_eq!(tenant.audit(filter).await.unwrap().len(), 1);
        }
        assert_eq!(host.audit(AuditFilter::default()).await.unwrap().len(), 8);
    });
    let shown = env.end(&["audit", "show", "--tenant", "acme", "--event", "started"]);
    let fields = "  [plan=pro, tenant=mallory]\n";
    assert!(shown.stdout.ends_with(fields), "{}", shown.stdout);
}

fn more_audit_fields_than_a_line_may_have_are_an_error() {
    let env = env();
    let acme = host_of(&env, None).tenant("acme");
    let configure = |audit_fields: BTreeMap<String, String>| {
        let settings = TenantSettings {
            audit_fields,
            ..TenantSettings::default()
        };
        acme.configure(settings).map_err(|error| error.to_string())
    };
    let fields = |count, key, value| {
        let field = |number| (format!("{number:0key$}"), "v".repeat(value));
        (0..count).map(field).collect::<BTreeMap<_, _>>()
    };
    configure(fields(16, 64, 256)).unwrap();
    let long = "0".repeat(64);
    for (count, key, value, why) in [
        (17, 2, 1, "17 audit fields are more than 16".to_owned()),
        (
            1,
            65,
            1,
            format!("the audit field `{long}` has no name of 1 to 64 characters"),
        ),
        (
            1,
            1,
            257,
            "the audit field `0` is longer than 256 characters".to_owned(),
        ),
    ] {
        let failed = configure(fields(count, key, value)).unwrap_err();
        assert_eq!(failed, format!("cannot configure tenant `acme`: {why}"));
        assert_eq!(acme.settings().audit_fields.len(), 16);
    }
}

fn each_tenant_finds_its_own_skills_by_name_only() {
    let env = env();
    env.write("acme/report/SKILL.md", SKILL_MD);
    env.write("globex/secret/SKILL.md", SKILL_MD);
    let host = host_of(&env, None);
    let (acme, globex) = (host.tenant("acme"), host.tenant("globex"));
    for (tenant, dir) in [(&acme, "acme"), (&globex, "globex")] {
        tenant
            .configure(TenantSettings {
                skill_dirs: vec![env.path(dir)],
                ..TenantSettings::default()
            })
            .unwrap();
    }
    block_on(async {
        let names = |skills: Vec<std::sync::Arc<skillrun::Skill>>| -> Vec<String> {
            skills
                .iter()
                .map(|skill| skill.folder().to_owned())
                .collect()
        };
        assert_eq!(names(acme.skills().await), ["report"]);
        assert_eq!(acme.skill("report").await.unwrap().folder(), "report");
        assert_eq!(globex.skill("secret").await.unwrap().folder(), "secret");
        let path = env.path("globex/secret").display().to_string();
        // On Linux, this is a name like any other.
        env.write(r"acme/..\globex/SKILL.md", SKILL_MD);
        for name in [
            "secret",
            "../globex/secret",
            r"..\globex",
            "..",
            ".",
            "",
            &path,
        ] {
            assert!(acme.skill(name).await.is_err(), "`{name}` was found");
        }
    });
}

fn a_full_queue_refuses_with_a_time_to_try_again() {
    let env = env();
    let host = host_of(&env, Some(4));
    let acme = host.tenant("acme");
    acme.configure(TenantSettings {
        quota: Quota {
            running: Some(1),
            waiting: 0,
            ..Quota::default()
        },
        ..TenantSettings::default()
    })
    .unwrap();
    let run_id = block_on(async {
        let (mut first, stdin) = start(&acme, &env).await;
        // It has its slot.
        assert_eq!(first.next_event().await, Some(RunEvent::Started));
        let permit = permitted(&acme, Request::typed(&skill(&env), "main.py")).await;
        let run_id = permit.plan().run_id().to_owned();
        let Err(RunError::Refused(refusal)) = acme.run(permit).await else {
            panic!("it ran");
        };
        assert_eq!(refusal.check, Check::Quota);
        assert!(refusal.retry_after.is_some());
        let expected = "`scripts/main.py` of skill `skill` did not run: the quota of tenant `acme` is used up: \
                        at most 0 of its runs may wait";
        assert_eq!(refusal.message, expected);
        // Another tenant runs meanwhile.
        let globex = host.tenant("globex");
        let (other, other_stdin) = start(&globex, &env).await;
        drop(other_stdin);
        assert_eq!(other.wait().await.unwrap().exit_code, 0);
        drop(stdin);
        assert_eq!(first.wait().await.unwrap().exit_code, 0);
        run_id
    });
    let lines = env.audit();
    let events: Vec<_> = lines
        .iter()
        .filter(|line| line["run_id"] == *run_id)
        .map(|line| line["event"].as_str().unwrap())
        .collect();
    assert_eq!(events, ["refused"]);
}

fn a_run_that_exceeds_its_tenants_quota_alone_is_refused() {
    let env = env();
    let host = host_of(&env, None);
    let acme = host.tenant("acme");
    acme.configure(TenantSettings {
        quota: Quota {
            memory: Some(64 << 20),
            ..Quota::default()
        },
        ..TenantSettings::default()
    })
    .unwrap();
    block_on(async {
        let request = Request::typed(&skill(&env), "main.py");
        let permit = permitted(&acme, request.clone()).await;
        let Err(RunError::Refused(refusal)) = acme.run(permit).await else {
            panic!("it ran");
        };
        assert_eq!((refusal.check, refusal.retry_after), (Check::Quota, None));
        let expected = "`scripts/main.py` of skill `skill` did not run: its memory limit of 256MiB exceeds the quota \
                        `memory` of 64MiB of tenant `acme`";
        assert_eq!(refusal.message, expected);
        let limits = skillrun::Limits {
            memory: 64 << 20,
            ..skillrun::Limits::default()
        };
        let small = Request {
            limits: Some(limits),
            ..request
        };
        let outcome = acme.run(permitted(&acme, small).await).await.unwrap();
        assert_eq!(outcome.status, Status::Exited);
    });
}

fn a_tenant_that_may_run_nothing_is_refused_with_the_quota_to_raise() {
    let env = env();
    let acme = host_of(&env, None).tenant("acme");
    acme.configure(TenantSettings {
        quota: Quota {
            running: Some(0),
            ..Quota::default()
        },
        ..TenantSettings::default()
    })
    .unwrap();
    block_on(async {
        let permit = permitted(&acme, Request::typed(&skill(&env), "main.py")).await;
        let Err(RunError::Refused(refusal)) = acme.run(permit).await else {
            panic!("it ran");
        };
        let expected =
            "`scripts/main.py` of skill `skill` did not run: tenant `acme` may run nothing";
        assert_eq!(refusal.message, expected);
        assert_eq!(refusal.hint.as_deref(), Some("raise the quota `running`"));
    });
}

fn a_waiting_run_of_a_tenant_starts_when_its_other_run_ends() {
    let env = env();
    let host = host_of(&env, Some(4));
    let acme = host.tenant("acme");
    acme.configure(TenantSettings {
        quota: Quota {
            running: Some(1),
            ..Quota::default()
        },
        ..TenantSettings::default()
    })
    .unwrap();
    block_on(async {
        let (first, first_stdin) = start(&acme, &env).await;
        let (second, second_stdin) = start(&acme, &env).await;
        drop(second_stdin);
        drop(first_stdin);
        let (first, second) = tokio::join!(first.wait(), second.wait());
        for outcome in [first.unwrap(), second.unwrap()] {
            assert_eq!(
                (outcome.stdout.as_str(), outcome.exit_code),
                ("ready\n\n", 0)
            );
        }
    });
}

fn files_that_a_tenant_gave_as_bytes_are_for_its_own_runs_only() {
    let env = env();
    let host = host_of(&env, None);
    let (acme, globex) = (host.tenant("acme"), host.tenant("globex"));
    block_on(async {
        let files = || FileMap::from_files([("secret.txt", "of acme")]).unwrap();
        let workspace = acme.workspace_from_files(files()).await.unwrap();
        let refused = globex.files_of(&workspace, Bounds::default()).await;
        let Err(WorkspaceError::Refused(refusal)) = refused else {
            panic!("{refused:?}");
        };
        let expected = "the workspace belongs to another tenant, not to `globex`";
        assert_eq!(
            (refusal.check, &*refusal.message),
            (Check::Tenant, expected)
        );
        let own = acme.files_of(&workspace, Bounds::default()).await.unwrap();
        assert_eq!(own.files, files());

        let bundle = [("SKILL.md", SKILL_MD), ("scripts/a.py", "print(1)")];
        let bundle = FileMap::from_files(bundle).unwrap();
        let private = acme.skill_from_files("private", bundle).await.unwrap();
        let with_skill = Request::typed(&Arc::new(private), "a.py");
        let with_workspace = Request {
            workspace: Some((&workspace).into()),
            ..Request::typed(&skill(&env), "main.py")
        };
        for (request, what) in [(with_skill, "skill"), (with_workspace, "workspace")] {
            let Decision::Refused(refusal) = globex.decide(request.clone()).await.unwrap() else {
                panic!("the {what} can be used");
            };
            let expected = format!("the {what} belongs to another tenant, not to `globex`");
            assert_eq!((refusal.check, refusal.message), (Check::Tenant, expected));
            let outcome = acme.run(permitted(&acme, request).await).await.unwrap();
            assert_eq!(outcome.exit_code, 0);
        }
        // What the operator gave is for whom the operator gives it to.
        let shared = host.workspace_from_files(files()).await.unwrap();
        globex.files_of(&shared, Bounds::default()).await.unwrap();
    });
    let lines = env.audit();
    let refused = lines.iter().filter(|line| line["event"] == "refused");
    let tenants: Vec<_> = refused.map(|line| line["tenant"].as_str()).collect();
    assert_eq!(tenants, [Some("globex"); 3]);
}

fn a_tenant_misses_no_event_because_of_another() {
    let env = env();
    let host = host_of(&env, None);
    let (acme, globex) = (host.tenant("acme"), host.tenant("globex"));
    block_on(async {
        let (mut events, mut all) = (globex.events(), host.events());
        let ask = async |tenant: &Tenant| {
            let request = Request::new(&skill(&env), "main.py");
            match tenant.decide(request).await.unwrap() {
                Decision::Pending(question) => question,
                other => panic!("{other:?}"),
            }
        };
        let own = ask(&globex).await;
        // More events than a receiver may be behind.
        for _ in 0..150 {
            let question = ask(&acme).await;
            acme.decline(&question.id, "no").await.unwrap();
        }
        globex.decline(&own.id, "no").await.unwrap();
        let own = Arc::new(*own);
        let asked = QuestionEvent::Asked(Arc::clone(&own));
        assert_eq!(events.next().await, Some(asked));
        assert_eq!(events.next().await, Some(QuestionEvent::Declined(own)));
        assert_eq!(all.next().await, Some(QuestionEvent::Missed));
    });
}

/// A tenant with one run, and one that waits for its end.
async fn one_running_and_one_waiting(acme: &Tenant, env: &TestEnv) -> [(Run, DuplexStream); 2] {
    let quota = Quota {
        running: Some(1),
        ..Quota::default()
    };
    acme.configure(TenantSettings {
        quota,
        ..TenantSettings::default()
    })
    .unwrap();
    let mut first = start(acme, env).await;
    assert_eq!(first.0.next_event().await, Some(RunEvent::Started));
    let second = start(acme, env).await;
    // The line `started` is written once it waits.
    while env.audit().len() < 2 {
        tokio::task::yield_now().await;
    }
    [first, second]
}

fn a_waiting_run_of_a_tenant_that_is_removed_starts() {
    let env = env();
    let acme = host_of(&env, Some(4)).tenant("acme");
    block_on(async {
        let [(first, first_stdin), (mut second, second_stdin)] =
            one_running_and_one_waiting(&acme, &env).await;
        acme.remove();
        assert_eq!(second.next_event().await, Some(RunEvent::Started));
        drop((first_stdin, second_stdin));
        let (first, second) = tokio::join!(first.wait(), second.wait());
        assert_eq!(
            (first.unwrap().exit_code, second.unwrap().exit_code),
            (0, 0)
        );
    });
}

fn a_waiting_run_of_a_tenant_that_may_run_nothing_any_more_is_refused() {
    let env = env();
    let acme = host_of(&env, Some(4)).tenant("acme");
    let run_id = block_on(async {
        let [(first, stdin), (second, _stdin)] = one_running_and_one_waiting(&acme, &env).await;
        let run_id = second.id().to_owned();
        let quota = Quota {
            running: Some(0),
            ..Quota::default()
        };
        acme.configure(TenantSettings {
            quota,
            ..TenantSettings::default()
        })
        .unwrap();
        let Err(RunError::Refused(refusal)) = second.wait().await else {
            panic!("it ran");
        };
        let expected =
            "`scripts/main.py` of skill `skill` did not run: tenant `acme` may run nothing";
        assert_eq!((refusal.check, &*refusal.message), (Check::Quota, expected));
        // The one that runs keeps its slot.
        drop(stdin);
        assert_eq!(first.wait().await.unwrap().exit_code, 0);
        run_id
    });
    let lines = env.audit();
    let own = lines.iter().filter(|line| line["run_id"] == *run_id);
    let events: Vec<_> = own.map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["started", "refused", "aborted"]);
}
