//! A skill or a workspace that changes after the approval: during the decision, the question and the answer, and before
//! the run.

use crate::approval::{ADDS, answered, events, is_permitted, open, policy, refusal, request, runs};
use crate::env::{TestEnv, shared_cache};
use crate::library::{block_on, host, host_of, permitted, skill};
use skillrun::running::RunEvent;
use skillrun::{Answer, Approvals, AuditLog, Decision, Host, Policy, Request, RunError, Settings};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

tests! {
    a_script_replaced_during_the_decision_never_runs_by_an_earlier_approval,
    a_skill_changed_while_its_question_is_open_does_not_run,
    a_skill_changed_between_the_yes_and_the_run_does_not_run,
    a_skill_changed_while_its_run_waits_for_a_slot_does_not_run,
    an_approval_is_valid_for_one_workspace,
    a_workspace_and_a_grant_of_the_same_directory_are_two_questions,
    a_workspace_whose_name_reads_like_a_grant_is_another_question,
    runs_in_different_workspaces_are_different_questions,
    names_that_are_not_utf8_and_execute_bits_count_as_changes,
}

fn a_script_replaced_during_the_decision_never_runs_by_an_earlier_approval() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let env = TestEnv::with_script("print('good')\n");
    // Large, so that there is time between reading the script and hashing the skill.
    for number in 0..20 {
        env.write(&format!("skill/a{number}"), vec![0; 256 * 1024]);
    }
    let host = host(&env);
    let policy = Policy::default();
    let question = open(&host, &policy, request(&env, "main.py"));
    let good = question.scripts[0].sha256.clone();
    answered(&host, &question, Answer::YesOnce).unwrap();
    let stop = AtomicBool::new(false);
    let (mut permitted, mut asked, mut refused) = (0, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let main = env.path("skill/scripts/main.py");
            for turn in 0.. {
                let text = ["print('evil')\n", "print('good')\n"][turn % 2];
                // Beside the skill, because everything inside it is hashed.
                let next = env.write("next", text);
                std::fs::rename(next, &main).unwrap();
                if stop.load(Ordering::Relaxed) && turn % 2 == 1 {
                    break;
                }
            }
        });
        for _ in 0..150 {
            match host
                .blocking()
                .decide(&policy, request(&env, "main.py"))
                .unwrap()
            {
                Decision::Permitted(permit) => {
                    assert_eq!(permit.plan().script_hash(), good);
                    permitted += 1;
                }
                Decision::Pending(question) => {
                    host.blocking()
                        .decline(&question.id, "the test only asks")
                        .unwrap();
                    asked += 1;
                }
                // The script that was read and the one that was hashed differed.
                Decision::Refused(refusal) => {
                    assert_eq!(
                        refusal.message,
                        "`scripts/main.py` of skill `skill` was not approved: the skill changed while it was read"
                    );
                    refused += 1;
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(asked + refused > 0, "{permitted} {asked} {refused}");
    assert!(is_permitted(&host, &policy, request(&env, "main.py")));
}

fn a_skill_changed_while_its_question_is_open_does_not_run() {
    let env = TestEnv::with_script("import lib\n");
    env.write("skill/scripts/lib.py", "print('good')\n");
    let host = host(&env);
    let policy = Policy::default();
    for answer in [Answer::YesOnce, Answer::YesInSession] {
        let question = open(&host, &policy, request(&env, "main.py"));
        env.write("skill/scripts/lib.py", "print('evil')\n");
        let refusal = refusal(answered(&host, &question, answer));
        assert_eq!(
            refusal.message,
            "`scripts/main.py` of skill `skill` was not approved: the skill changed while the question was open"
        );
        assert!(!is_permitted(&host, &policy, request(&env, "main.py")));
        env.write("skill/scripts/lib.py", "print('good')\n");
    }
    let question = open(&host, &policy, request(&env, "main.py"));
    let decision = answered(&host, &question, Answer::YesOnce);
    assert_eq!(runs(&host, decision), "good\n");
}

fn a_skill_changed_between_the_yes_and_the_run_does_not_run() {
    let env = TestEnv::with_script("import lib\n");
    env.write("skill/scripts/lib.py", "print('good')\n");
    let host = host(&env);
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    let permit = answered(&host, &question, Answer::YesOnce).unwrap();
    env.write("skill/scripts/lib.py", "print('evil')\n");
    let Err(RunError::Refused(refusal)) = block_on(host.run(permit)) else {
        panic!()
    };
    assert_eq!(
        refusal.message,
        "`scripts/main.py` of skill `skill` did not run: its skill changed after it was checked"
    );
    assert_eq!(events(&env), ["approved", "refused"]);
    // Where no approval is needed, a skill may change freely.
    let Decision::Permitted(permit) = host
        .blocking()
        .decide(&policy("approval = \"never\""), request(&env, "main.py"))
        .unwrap()
    else {
        panic!()
    };
    env.write("skill/scripts/lib.py", "print('other')\n");
    assert_eq!(block_on(host.run(permit)).unwrap().stdout, "other\n");
}

fn a_skill_changed_while_its_run_waits_for_a_slot_does_not_run() {
    for (text, expected) in [
        ("print('good')\n", Ok("good\n")),
        (
            "print('evil')\n",
            Err(
                "`scripts/main.py` of skill `skill` did not run: its skill changed after it was checked",
            ),
        ),
    ] {
        let env = TestEnv::with_script("import lib\n");
        env.write("skill/scripts/lib.py", "print('good')\n");
        env.write("skill/scripts/wait.py", "input()\n");
        let host = host_of(&env, Some(1));
        let question = open(&host, &Policy::default(), request(&env, "main.py"));
        let permit = answered(&host, &question, Answer::YesOnce).unwrap();
        let holder = Request::typed(&skill(&env), "wait.py");
        let holder = permitted(&host, &Policy::default(), holder);
        let ended = block_on(async {
            let (mut first, mut stdin) = host.start_with_stdin(holder);
            assert!(matches!(first.next_event().await, Some(RunEvent::Started)));
            let second = host.start(permit);
            let id = second.id().to_owned();
            // Both runs are recorded as started, and the second one has waited for some time.
            let is_started = |event: &&String| *event == "started";
            while events(&env).iter().filter(is_started).count() < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
            env.write("skill/scripts/lib.py", text);
            stdin.write_all(b"\n").await.unwrap();
            assert!(first.wait().await.unwrap().success);
            (second.wait().await, id)
        });
        let (ended, id) = ended;
        match ended {
            Ok(outcome) => assert_eq!(Ok(outcome.stdout.as_str()), expected),
            Err(RunError::Refused(refusal)) => assert_eq!(Err(refusal.message.as_str()), expected),
            Err(error) => panic!("{error}"),
        }
        let lines = env.audit();
        let lines = lines.iter().filter(|line| line["run_id"] == *id);
        let recorded: Vec<_> = lines.map(|line| line["event"].as_str().unwrap()).collect();
        match expected {
            Ok(_) => assert_eq!(recorded, ["approved", "started", "finished"]),
            Err(_) => assert_eq!(recorded, ["approved", "started", "refused", "aborted"]),
        }
    }
}

fn an_approval_is_valid_for_one_workspace() {
    let env = TestEnv::with_script(ADDS);
    for folder in ["one", "two"] {
        std::fs::create_dir(env.path(folder)).unwrap();
    }
    let within = |folder: Option<&str>| Request {
        workspace: folder.map(|folder| env.path(folder).into()),
        ..request(&env, "main.py")
    };
    let policy = Policy::default();
    for answer in [Answer::YesOnce, Answer::YesInSession] {
        let host = Host::new(Settings {
            cache: shared_cache().join("skillrun"),
            audit: AuditLog::file(env.path("state/skillrun/audit.jsonl")),
            approvals: match answer {
                Answer::YesOnce => Approvals::file(env.path("state/approvals.db")),
                _ => Approvals::memory(),
            },
            protected: vec![],
            slots: None,
            workers: Default::default(),
        });
        let question = open(&host, &policy, within(Some("one")));
        answered(&host, &question, answer).unwrap();
        assert!(is_permitted(&host, &policy, within(Some("one"))));
        assert!(!is_permitted(&host, &policy, within(Some("two"))));
        let question = open(&host, &policy, within(Some("two")));
        if let Some(change) = question.change {
            let two = format!("workspace:{}", env.text("two"));
            assert_eq!(change.more_grants, [two]);
        }
    }
}

fn a_workspace_and_a_grant_of_the_same_directory_are_two_questions() {
    let env = TestEnv::with_script(ADDS);
    std::fs::create_dir(env.path("dir")).unwrap();
    let write = format!("write:{}", env.text("dir"));
    let policy = policy(&format!("allow = [\"{write}\"]"));
    let as_workspace = || Request {
        workspace: Some(env.path("dir").into()),
        ..request(&env, "main.py")
    };
    let as_grant = || Request {
        grants: vec![write.parse().unwrap()],
        ..request(&env, "main.py")
    };
    type Asks<'a> = &'a dyn Fn() -> Request;
    let both: [(Asks<'_>, Asks<'_>); 2] = [(&as_workspace, &as_grant), (&as_grant, &as_workspace)];
    for (at, (approved, other)) in both.into_iter().enumerate() {
        for answer in [Answer::YesOnce, Answer::YesInSession] {
            let host = Host::new(Settings {
                cache: shared_cache().join("skillrun"),
                audit: AuditLog::file(env.path("state/skillrun/audit.jsonl")),
                approvals: match answer {
                    Answer::YesOnce => Approvals::file(env.path(&format!("state/{at}.db"))),
                    _ => Approvals::memory(),
                },
                protected: vec![],
                slots: None,
                workers: Default::default(),
            });
            let question = open(&host, &policy, approved());
            answered(&host, &question, answer).unwrap();
            assert!(is_permitted(&host, &policy, approved()));
            assert!(!is_permitted(&host, &policy, other()), "{at} {answer:?}");
        }
    }
}

fn a_workspace_whose_name_reads_like_a_grant_is_another_question() {
    let env = TestEnv::with_script(ADDS);
    // `/…/a⏎write:/…/b` is one directory.
    let odd = format!("{}\nwrite:{}", env.text("a"), env.text("b"));
    std::fs::create_dir_all(&odd).unwrap();
    for folder in ["a", "b"] {
        std::fs::create_dir(env.path(folder)).unwrap();
    }
    let write = format!("write:{}", env.text("b"));
    let policy = policy(&format!("allow = [\"{write}\"]"));
    let within = |folder: &str, grants: &[&str]| Request {
        workspace: Some(folder.into()),
        grants: grants.iter().map(|text| text.parse().unwrap()).collect(),
        ..request(&env, "main.py")
    };
    let host = host(&env);
    let question = open(&host, &policy, within(&odd, &[]));
    answered(&host, &question, Answer::YesOnce).unwrap();
    assert!(is_permitted(&host, &policy, within(&odd, &[])));
    assert!(!is_permitted(
        &host,
        &policy,
        within(&env.text("a"), &[&write])
    ));
    // A person sees one grant.
    let end = env.end(&["approvals", "list"]);
    let shown = format!(
        "\"workspace:{}\\nwrite:{}\"  by alice (test)\n",
        "{root}/a", "{root}/b"
    );
    assert!(end.stdout.ends_with(&shown), "{}", end.stdout);
    assert_eq!(end.stdout.lines().count(), 1);
}

fn runs_in_different_workspaces_are_different_questions() {
    let env = TestEnv::with_script(ADDS);
    for folder in ["one", "two"] {
        std::fs::create_dir(env.path(folder)).unwrap();
    }
    let within = |folder: &str| Request {
        workspace: Some(env.path(folder).into()),
        ..request(&env, "main.py")
    };
    let host = host(&env);
    let requests = vec![within("one"), within("two")];
    let batch = host.blocking().decide_all(&Policy::default(), requests);
    let asked = batch.unwrap().questions.into_iter();
    let asked = asked.map(|asked| asked.question.workspace.unwrap());
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [env.text("one"), env.text("two")]
    );
}

fn names_that_are_not_utf8_and_execute_bits_count_as_changes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::with_script(ADDS);
    let odd = |byte: u8| env.path("skill").join(OsStr::from_bytes(&[byte]));
    std::fs::write(odd(0xff), "").unwrap();
    std::fs::create_dir(env.path("skill/lib")).unwrap();
    let (host, policy) = (host(&env), Policy::default());
    let approve = || {
        let question = open(&host, &policy, request(&env, "main.py"));
        answered(&host, &question, Answer::YesOnce).unwrap();
        assert!(is_permitted(&host, &policy, request(&env, "main.py")));
    };
    approve();
    std::fs::rename(odd(0xff), odd(0xfe)).unwrap();
    approve();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(env.path("skill/scripts/main.py"), executable).unwrap();
    approve();
    std::fs::remove_dir(env.path("skill/lib")).unwrap();
    approve();
}
