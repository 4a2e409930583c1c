//! Approvals: what is asked, what counts as an answer, what is remembered, and the file that stores it.

use crate::env::{SKILL_MD, TestEnv, shared_cache};
use crate::library::{block_on, host, skill};
use crate::setup;
use skillrun::approval::Approver;
use skillrun::{
    Answer, AnswerError, Approvals, AuditLog, Check, Decision, Error, Host, Permit, Policy,
    Question, Refusal, Request, Settings,
};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

tests! {
    ad_7_a_request_of_an_agent_needs_approval_and_a_typed_one_does_not,
    setting_012_a_first_run_needs_one_approval_that_outlives_the_host,
    ad_7_yes_in_session_is_valid_only_for_its_tenant_session_and_skill,
    under_always_a_yes_is_valid_for_one_run,
    a_policy_with_approval_never_asks_no_question,
    ad_7_no_is_a_refusal_and_both_are_recorded,
    who_said_yes_is_stored_and_shown,
    who_typed_a_request_is_recorded_with_its_start,
    any_change_in_the_skill_asks_again_and_names_what_changed,
    more_grants_ask_again_and_are_named,
    approvals_for_a_session_do_not_add_up,
    an_approval_of_one_tenant_does_not_apply_to_another,
    ad_6_answers_to_unknown_expired_and_answered_questions_are_distinguished,
    ad_6_a_question_without_an_answer_in_time_is_refused_and_recorded,
    an_unknown_option_is_not_an_answer,
    two_open_questions_are_answered_separately,
    questions_beyond_the_limit_of_open_ones_are_refused,
    scripts_decided_together_share_one_question,
    a_session_name_with_control_characters_stays_on_one_line_of_the_log,
    a_damaged_approvals_file_is_refused_and_left_unchanged,
    an_approvals_file_that_other_users_may_write_is_refused,
    an_approvals_file_that_is_not_a_regular_file_is_refused_without_blocking,
    a_locked_approvals_file_is_refused_and_loses_nothing,
    many_hosts_approve_at_once_and_lose_nothing,
    a_skill_too_large_to_hash_is_refused_with_the_reason,
    an_expired_question_can_still_be_declined,
    an_answer_to_a_file_that_was_replaced_is_refused,
    a_yes_is_recorded_with_what_it_approves,
    an_answer_that_cannot_be_recorded_leaves_the_question_open,
}

pub(crate) const ADDS: &str = "import sys\nprint('ran', *sys.argv[1:])\n";

pub(crate) fn policy(text: &str) -> Policy {
    Policy::parse(text, Path::new("/")).unwrap()
}

pub(crate) fn request(env: &TestEnv, script: &str) -> Request {
    Request::new(&skill(env), script)
}

pub(crate) fn open(host: &Host, policy: &Policy, request: Request) -> Box<Question> {
    match host.blocking().decide(policy, request).unwrap() {
        Decision::Pending(question) => question,
        other => panic!("{other:?}"),
    }
}

/// What became of a request about which nobody has to be asked any more.
pub(crate) type Decided = Result<Permit, Refusal>;

pub(crate) fn decided(decision: Decision) -> Decided {
    match decision {
        Decision::Permitted(permit) => Ok(permit),
        Decision::Refused(refusal) => Err(refusal),
        Decision::Pending(question) => panic!("{question:?}"),
    }
}

pub(crate) fn runs(host: &Host, decided: Decided) -> String {
    block_on(host.run(decided.unwrap())).unwrap().stdout
}

pub(crate) fn alice() -> Approver {
    Approver::new("alice", "test")
}

/// Answers a question that this host asked.
pub(crate) fn answer(
    host: &Host,
    question: &str,
    answer: Answer,
) -> Result<Vec<Decided>, AnswerError> {
    let decided = host.blocking().answer(question, answer, alice())?;
    Ok(decided.unwrap())
}

pub(crate) fn answered(host: &Host, question: &Question, given: Answer) -> Decided {
    let mut decisions = answer(host, &question.id, given).unwrap();
    assert_eq!(decisions.len(), 1);
    decisions.remove(0)
}

pub(crate) fn refusal(decided: Decided) -> Refusal {
    decided.unwrap_err()
}

pub(crate) fn is_permitted(host: &Host, policy: &Policy, request: Request) -> bool {
    match host.blocking().decide(policy, request).unwrap() {
        Decision::Permitted(_) => true,
        Decision::Pending(question) => {
            answer(host, &question.id, Answer::No).unwrap();
            false
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) fn events(env: &TestEnv) -> Vec<String> {
    let lines = env.audit();
    let events = lines
        .iter()
        .map(|line| line["event"].as_str().unwrap().to_owned());
    events.collect()
}

fn ad_7_a_request_of_an_agent_needs_approval_and_a_typed_one_does_not() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let wanted = Request {
        args: vec!["a".into()],
        tenant: "w".into(),
        session: "c".into(),
        ..request(&env, "main.py")
    };
    let question = open(&host, &Policy::default(), wanted);
    assert_eq!(
        (question.tenant.as_str(), question.session.as_str()),
        ("w", "c")
    );
    assert_eq!(question.skill, "skill");
    let [script] = question.scripts.as_slice() else {
        panic!("{question:?}")
    };
    assert_eq!(script.script, "scripts/main.py");
    assert_eq!(script.args, ["a"]);
    assert_eq!(script.sha256.len(), 64);
    let words = question.options.map(Answer::word);
    assert_eq!(words, ["yes_once", "yes_in_session", "no"]);
    assert_eq!(question.default, Answer::No);
    assert_eq!(question.timeout_seconds, 300);
    assert_eq!(host.blocking().questions().unwrap(), [*question.clone()]);
    // Nothing ran, and no `started` line was written.
    assert_eq!(events(&env), Vec::<String>::new());
    assert_eq!(
        runs(&host, answered(&host, &question, Answer::YesOnce)),
        "ran a\n"
    );
    assert_eq!(events(&env), ["approved", "started", "finished"]);
    // The twin: a command that a person types is that person's approval.
    env.write("skill/scripts/other.py", ADDS);
    let typed = Request::typed(&skill(&env), "other.py");
    let decided = host.blocking().decide(&Policy::default(), typed).unwrap();
    assert_eq!(runs(&host, self::decided(decided)), "ran\n");
}

fn setting_012_a_first_run_needs_one_approval_that_outlives_the_host() {
    let env = TestEnv::with_script(ADDS);
    let policy = Policy::default();
    let first = host(&env);
    let question = open(&first, &policy, request(&env, "main.py"));
    assert!(question.remembered && question.change.is_none());
    runs(&first, answered(&first, &question, Answer::YesOnce));
    assert!(is_permitted(&first, &policy, request(&env, "main.py")));
    drop(first);
    let second = host(&env);
    assert!(is_permitted(&second, &policy, request(&env, "main.py")));
    let all = second.blocking().approvals().unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].skill.as_str(), all[0].script.as_str()),
        ("skill", "scripts/main.py")
    );
    // After it is revoked, the question is asked again.
    assert_eq!(second.blocking().revoke(&[all[0].id]).unwrap(), 1);
    assert!(!is_permitted(&second, &policy, request(&env, "main.py")));
}

fn ad_7_yes_in_session_is_valid_only_for_its_tenant_session_and_skill() {
    let env = TestEnv::with_script(ADDS);
    env.write("skill/scripts/other.py", ADDS);
    env.write("second/SKILL.md", SKILL_MD);
    env.write("second/scripts/main.py", ADDS);
    let host = host(&env);
    let policy = policy("approval = \"always\"");
    let (one, two) = (
        skill(&env),
        skillrun::Skill::load(env.path("second")).unwrap().into(),
    );
    let of = |skill, script: &str, tenant: &str, session: &str| Request {
        tenant: tenant.into(),
        session: session.into(),
        ..Request::new(skill, script)
    };
    let question = open(&host, &policy, of(&one, "main.py", "w", "c"));
    answered(&host, &question, Answer::YesInSession).unwrap();
    for (skill, script, tenant, session, valid) in [
        (&one, "main.py", "w", "c", true),
        (&one, "other.py", "w", "c", true),
        (&one, "main.py", "w", "d", false),
        (&one, "main.py", "v", "c", false),
        (&one, "main.py", "", "", false),
        (&two, "main.py", "w", "c", false),
    ] {
        let wanted = of(skill, script, tenant, session);
        assert_eq!(
            is_permitted(&host, &policy, wanted),
            valid,
            "{script} {tenant} {session}"
        );
    }
    // A skill that changes within the session needs approval again.
    env.write("skill/scripts/lib.py", "x = 1\n");
    assert!(!is_permitted(&host, &policy, of(&one, "main.py", "w", "c")));
    std::fs::remove_file(env.path("skill/scripts/lib.py")).unwrap();
    assert!(is_permitted(&host, &policy, of(&one, "main.py", "w", "c")));
    host.blocking().end_session("w", "c").unwrap();
    assert!(!is_permitted(&host, &policy, of(&one, "main.py", "w", "c")));
    // Nothing of it is stored.
    assert_eq!(host.blocking().approvals().unwrap(), []);
}

fn under_always_a_yes_is_valid_for_one_run() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let policy = policy("approval = \"always\"");
    let question = open(&host, &policy, request(&env, "main.py"));
    assert!(!question.remembered);
    runs(&host, answered(&host, &question, Answer::YesOnce));
    assert!(!is_permitted(&host, &policy, request(&env, "main.py")));
    assert_eq!(host.blocking().approvals().unwrap(), []);
}

fn a_policy_with_approval_never_asks_no_question() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let for_all = policy("approval = \"never\"");
    assert!(is_permitted(&host, &for_all, request(&env, "main.py")));
    let for_one = Policy::parse("[skill.\"./skill\"]\napproval = \"never\"", env.root()).unwrap();
    assert!(is_permitted(&host, &for_one, request(&env, "main.py")));
    let for_another = policy("[skill.another]\napproval = \"never\"");
    assert!(!is_permitted(&host, &for_another, request(&env, "main.py")));
}

fn ad_7_no_is_a_refusal_and_both_are_recorded() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    let refusal = refusal(answered(&host, &question, Answer::No));
    assert_eq!(refusal.check, Check::Approval);
    assert_eq!(
        refusal.to_string(),
        "refused: `scripts/main.py` of skill `skill` was not approved: a person answered `no`\n\
         hint: ask again and approve it; a policy with approval = \"never\" for this skill asks nobody"
    );
    let by = |question: &Question, word: &str| {
        let approver = serde_json::json!({"id": "alice", "channel": "test"});
        (question.id.clone(), word.to_owned(), approver)
    };
    let recorded = |line: &serde_json::Value| {
        let text = |key: &str| line[key].as_str().unwrap().to_owned();
        (text("question"), text("answer"), line["approver"].clone())
    };
    let log = env.audit();
    assert_eq!((log.len(), &log[0]["event"]), (1, &"refused".into()));
    assert_eq!(recorded(&log[0]), by(&question, "no"));
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    answered(&host, &question, Answer::YesInSession).unwrap();
    let log = env.audit();
    assert_eq!(log[1]["event"], "approved");
    assert_eq!(recorded(&log[1]), by(&question, "yes_in_session"));
}

fn who_said_yes_is_stored_and_shown() {
    let env = TestEnv::with_script(ADDS);
    env.write("skill/scripts/no.py", ADDS);
    let host = host(&env);
    for (script, given) in [("main.py", Answer::YesOnce), ("no.py", Answer::No)] {
        let question = open(&host, &Policy::default(), request(&env, script));
        let odd = Approver::new("al\u{1b}ice", "chat");
        host.blocking().answer(&question.id, given, odd).unwrap();
    }
    let [stored] = &host.blocking().approvals().unwrap()[..] else {
        panic!()
    };
    assert_eq!(stored.approver, Some(Approver::new("al\u{1b}ice", "chat")));
    let listed = env.end(&["approvals", "list"]).stdout;
    assert!(
        listed.ends_with("  no grants  by al\\u{1b}ice (chat)\n"),
        "{listed}"
    );
    let shown = env.end(&["audit", "show"]).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(
        lines[0].ends_with("  yes_once by al\\u{1b}ice (chat)"),
        "{shown}"
    );
    let no = "a person answered `no` by al\\u{1b}ice (chat)";
    assert!(lines[1].ends_with(no), "{shown}");
}

fn who_typed_a_request_is_recorded_with_its_start() {
    let env = TestEnv::with_script(ADDS);
    assert_eq!(env.run(&[]).code, 0);
    let log = env.audit();
    assert_eq!(log[0]["event"], "started");
    assert_eq!(log[0]["approver"]["channel"], "command");
    let me = log[0]["approver"]["id"].as_str().unwrap();
    assert!(!me.is_empty());
    assert!(log[1]["approver"].is_null(), "{}", log[1]);
    // An agent cannot name who approved it.
    let host = host(&env);
    let wanted = Request {
        approver: Some(alice()),
        ..request(&env, "main.py")
    };
    let never = policy("approval = \"never\"");
    let decided = host.blocking().decide(&never, wanted).unwrap();
    runs(&host, self::decided(decided));
    let log = env.audit();
    assert_eq!(log[2]["event"], "started");
    assert!(log[2]["approver"].is_null(), "{}", log[2]);
}

fn any_change_in_the_skill_asks_again_and_names_what_changed() {
    let env = TestEnv::with_script("import lib\nprint('one')\n");
    env.write("skill/scripts/lib.py", "x = 1\n");
    env.write("skill/data.txt", "a\n");
    let host = host(&env);
    let policy = Policy::default();
    let question = open(&host, &policy, request(&env, "main.py"));
    answered(&host, &question, Answer::YesOnce).unwrap();
    for (file, content, how) in [
        (
            "skill/scripts/main.py",
            "import lib\nprint('two')\n",
            "changed",
        ),
        ("skill/scripts/lib.py", "x = 2\n", "changed"),
        ("skill/SKILL.md", &format!("{SKILL_MD}More.\n"), "changed"),
        ("skill/data.txt", "b\n", "changed"),
        ("skill/new.py", "", "new"),
    ] {
        let before = std::fs::read(env.path(file)).ok();
        env.write(file, content);
        let question = open(&host, &policy, request(&env, "main.py"));
        let change = question.change.clone().unwrap();
        let files: Vec<_> = change
            .files
            .iter()
            .map(|f| (f.path.as_str(), f.how))
            .collect();
        assert_eq!(files, [(file.strip_prefix("skill/").unwrap(), how)]);
        let sources = change.sources.is_some();
        assert_eq!(sources, file.ends_with("main.py"), "{file}");
        answer(&host, &question.id, Answer::No).unwrap();
        // The twin: with the file restored, the old approval applies again.
        match before {
            Some(before) => drop(env.write(file, before)),
            None => std::fs::remove_file(env.path(file)).unwrap(),
        }
        assert!(
            is_permitted(&host, &policy, request(&env, "main.py")),
            "{file}"
        );
    }
    setup::prepare(env.root(), "symlink lib.py skill/scripts/alias.py").unwrap();
    assert!(!is_permitted(&host, &policy, request(&env, "main.py")));
}

fn approvals_for_a_session_do_not_add_up() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let policy = policy("approval = \"always\"\nallow = [\"env:X\", \"env:Y\"]");
    let with = |variables: &[&str]| Request {
        env: variables
            .iter()
            .map(|name| ((*name).into(), "v".into()))
            .collect(),
        ..request(&env, "main.py")
    };
    for variable in ["X", "Y"] {
        let question = open(&host, &policy, with(&[variable]));
        answered(&host, &question, Answer::YesInSession).unwrap();
        assert!(is_permitted(&host, &policy, with(&[variable])));
    }
    // Nobody was asked about both at once.
    let question = open(&host, &policy, with(&["X", "Y"]));
    answered(&host, &question, Answer::YesInSession).unwrap();
    assert!(is_permitted(&host, &policy, with(&["X", "Y"])));
}

fn more_grants_ask_again_and_are_named() {
    let env = TestEnv::with_script(ADDS);
    env.write("data/a", "");
    let host = host(&env);
    let grant = format!("read:{}", env.text("data"));
    let policy = policy(&format!("allow = [\"{grant}\", \"env:X\"]"));
    let question = open(&host, &policy, request(&env, "main.py"));
    answered(&host, &question, Answer::YesInSession).unwrap();
    let with = |grants: &[&str], variables: &[&str]| Request {
        grants: grants.iter().map(|text| text.parse().unwrap()).collect(),
        env: variables
            .iter()
            .map(|name| ((*name).into(), "v".into()))
            .collect(),
        ..request(&env, "main.py")
    };
    let question = open(&host, &policy, with(&[&grant], &["X"]));
    assert_eq!(
        question.grants,
        [grant.as_str(), "env:X"]
            .map(String::from)
            .iter()
            .rev()
            .cloned()
            .collect::<Vec<_>>()
    );
    let change = question.change.clone().unwrap();
    assert_eq!(change.files, []);
    assert_eq!(change.more_grants.len(), 2);
    answered(&host, &question, Answer::YesInSession).unwrap();
    // In the session, an approval with more grants covers fewer.
    assert!(is_permitted(&host, &policy, with(&[], &["X"])));
}

fn an_approval_of_one_tenant_does_not_apply_to_another() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let policy = Policy::default();
    let of = |tenant: &str| Request {
        tenant: tenant.into(),
        ..request(&env, "main.py")
    };
    let question = open(&host, &policy, of("a"));
    answered(&host, &question, Answer::YesOnce).unwrap();
    assert!(is_permitted(&host, &policy, of("a")));
    assert!(!is_permitted(&host, &policy, of("b")));
}

fn message_of(error: AnswerError) -> String {
    error.to_string()
}

fn ad_6_answers_to_unknown_expired_and_answered_questions_are_distinguished() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let unknown = answer(&host, "nobody\nasked", Answer::YesOnce).unwrap_err();
    assert_eq!(message_of(unknown), "there is no question `nobody\\nasked`");
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    answered(&host, &question, Answer::YesOnce).unwrap();
    for again in Answer::ALL {
        let error = message_of(answer(&host, &question.id, again).unwrap_err());
        assert_eq!(
            error,
            format!("question `{}` is already answered", question.id)
        );
    }
    assert_eq!(events(&env), ["approved"]);
    let late = expiring_host(&env);
    env.write("skill/new", "");
    let question = open(&late, &Policy::default(), request(&env, "main.py"));
    let error = message_of(answer(&late, &question.id, Answer::YesOnce).unwrap_err());
    assert_eq!(error, format!("question `{}` has expired", question.id));
    assert_eq!(late.blocking().approvals().unwrap().len(), 1);
}

/// A host whose questions expire immediately.
fn expiring_host(env: &TestEnv) -> Host {
    let approvals = Approvals::file(env.path("state/skillrun/approvals.db"));
    Host::new(Settings {
        cache: shared_cache().join("skillrun"),
        audit: AuditLog::file(env.path("state/skillrun/audit.jsonl")),
        approvals: approvals.timeout(Duration::ZERO),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    })
}

fn ad_6_a_question_without_an_answer_in_time_is_refused_and_recorded() {
    let env = TestEnv::with_script(ADDS);
    let host = expiring_host(&env);
    open(&host, &Policy::default(), request(&env, "main.py"));
    assert_eq!(host.blocking().questions().unwrap(), []);
    let log = env.audit();
    assert_eq!(log[0]["event"], "refused");
    assert_eq!(
        log[0]["reason"],
        "`scripts/main.py` of skill `skill` was not approved: nobody answered in time"
    );
}

fn an_unknown_option_is_not_an_answer() {
    for text in ["yes", "YES_ONCE", "", "yes_once ", "no\n", "y"] {
        let error = text.parse::<Answer>().unwrap_err();
        assert!(matches!(error, AnswerError::NoSuchOption { .. }), "{text}");
    }
    assert_eq!(
        message_of("yes\u{1b}".parse::<Answer>().unwrap_err()),
        "`yes\\u{1b}` is not an answer: use yes_once, yes_in_session or no"
    );
    for answer in Answer::ALL {
        assert_eq!(answer.word().parse::<Answer>().unwrap(), answer);
    }
}

fn two_open_questions_are_answered_separately() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let policy = policy("approval = \"always\"");
    let first = open(&host, &policy, request(&env, "main.py"));
    let second = open(&host, &policy, request(&env, "main.py"));
    assert_ne!(first.id, second.id);
    assert_eq!(
        host.blocking().questions().unwrap(),
        [*first.clone(), *second.clone()]
    );
    refusal(answered(&host, &second, Answer::No));
    assert_eq!(
        runs(&host, answered(&host, &first, Answer::YesOnce)),
        "ran\n"
    );
}

fn questions_beyond_the_limit_of_open_ones_are_refused() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let policy = policy("approval = \"always\"");
    let first = open(&host, &policy, request(&env, "main.py"));
    for _ in 1..256 {
        open(&host, &policy, request(&env, "main.py"));
    }
    let refusal = refusal(decided(
        host.blocking()
            .decide(&policy, request(&env, "main.py"))
            .unwrap(),
    ));
    assert_eq!(
        refusal.message,
        "`scripts/main.py` of skill `skill` was not approved: 256 questions are open, the maximum"
    );
    answered(&host, &first, Answer::No).unwrap_err();
    open(&host, &policy, request(&env, "main.py"));
}

fn scripts_decided_together_share_one_question() {
    let env = TestEnv::with_script(ADDS);
    env.write("skill/scripts/b.py", "print('b')\n");
    let host = host(&env);
    let wanted = ["main.py", "nowhere.py", "b.py"].map(|name| request(&env, name));
    let batch = host
        .blocking()
        .decide_all(&Policy::default(), wanted.into());
    let batch = batch.unwrap();
    let ([(1, Err(missing))], [asked]) = (&batch.decided[..], &batch.questions[..]) else {
        panic!("{batch:?}")
    };
    assert_eq!(
        (missing.check, &asked.requests[..]),
        (Check::Script, &[0, 2][..])
    );
    let scripts = asked.question.scripts.iter();
    let scripts: Vec<&str> = scripts.map(|script| script.script.as_str()).collect();
    assert_eq!(scripts, ["scripts/main.py", "scripts/b.py"]);
    let answered = answer(&host, &asked.question.id, Answer::YesOnce);
    let decided = answered.unwrap().into_iter();
    let printed: Vec<String> = decided.map(|decision| runs(&host, decision)).collect();
    assert_eq!(printed, ["ran\n", "b\n"]);
    assert_eq!(host.blocking().approvals().unwrap().len(), 2);
}

fn a_session_name_with_control_characters_stays_on_one_line_of_the_log() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let odd = Request {
        tenant: "a\nb".into(),
        session: "\u{1b}[2J\"}\n{".into(),
        ..request(&env, "main.py")
    };
    let question = open(&host, &Policy::default(), odd);
    answered(&host, &question, Answer::YesInSession).unwrap();
    let log = env.audit();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["session"], "\u{1b}[2J\"}\n{");
    let endless = Request {
        session: "c".repeat(1025),
        ..request(&env, "main.py")
    };
    let refused = refusal(decided(
        host.blocking().decide(&Policy::default(), endless).unwrap(),
    ));
    assert_eq!(
        refused.message,
        "the name of the session is longer than 1024 bytes"
    );
    let other = Request {
        tenant: "a".into(),
        session: "b\u{1b}[2J\"}\n{".into(),
        ..request(&env, "main.py")
    };
    assert!(!is_permitted(
        &host,
        &policy("approval = \"always\""),
        other
    ));
}

/// The error of a host about its approvals, and its hint.
fn approvals_error(env: &TestEnv) -> (String, String) {
    let error = host(env)
        .blocking()
        .decide(&Policy::default(), request(env, "main.py"));
    match error.unwrap_err() {
        Error::Approvals { why, hint, .. } => (why, hint.unwrap_or_default()),
        other => panic!("{other:?}"),
    }
}

const FILE: &str = "state/skillrun/approvals.db";

fn approved_once(env: &TestEnv) {
    let host = host(env);
    let question = open(&host, &Policy::default(), request(env, "main.py"));
    answered(&host, &question, Answer::YesOnce).unwrap();
}

fn a_damaged_approvals_file_is_refused_and_left_unchanged() {
    let env = TestEnv::with_script(ADDS);
    approved_once(&env);
    let good = std::fs::read(env.path(FILE)).unwrap();
    let mut damaged = good.clone();
    damaged[4096..].fill(0xa5);
    for bytes in [b"this was never a database at all".to_vec(), damaged] {
        std::fs::write(env.path(FILE), &bytes).unwrap();
        let (why, hint) = approvals_error(&env);
        assert_eq!(why, "it is damaged");
        assert!(hint.contains(".recover` may recover"), "{hint}");
        assert_eq!(std::fs::read(env.path(FILE)).unwrap(), bytes);
        let end = env.end(&["approvals", "list"]);
        assert_eq!(end.code, 126, "{}", end.stderr);
        assert!(
            end.stderr.contains("it is damaged\nhint: "),
            "{}",
            end.stderr
        );
    }
    // A typed command needs no approvals file.
    assert_eq!(env.run(&[]).code, 0);
    std::fs::write(env.path(FILE), good).unwrap();
    assert!(is_permitted(
        &host(&env),
        &Policy::default(),
        request(&env, "main.py")
    ));
}

fn an_approvals_file_that_other_users_may_write_is_refused() {
    let env = TestEnv::with_script(ADDS);
    approved_once(&env);
    let mode = |mode| {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(env.path(FILE), mode).unwrap();
    };
    mode(0o666);
    assert_eq!(
        approvals_error(&env).0,
        "it is accessible to other users, who could have written it"
    );
    mode(0o600);
    assert!(is_permitted(
        &host(&env),
        &Policy::default(),
        request(&env, "main.py")
    ));
}

fn an_approvals_file_that_is_not_a_regular_file_is_refused_without_blocking() {
    for step in [
        "fifo",
        "dir",
        "socket",
        "symlink nowhere",
        "symlink /dev/zero",
    ] {
        let env = TestEnv::with_script(ADDS);
        std::fs::create_dir(env.path("state/skillrun")).unwrap();
        setup::prepare(env.root(), &format!("{step} {FILE}")).unwrap();
        assert_eq!(
            approvals_error(&env).0,
            "it is not a regular file",
            "{step}"
        );
    }
}

fn a_locked_approvals_file_is_refused_and_loses_nothing() {
    let env = TestEnv::with_script(ADDS);
    approved_once(&env);
    // SQLite's own lock: another process keeps a write lock on the bytes from 2^30.
    let holder = "import fcntl, sys\nf = open(sys.argv[1], 'r+b')\n\
                  fcntl.lockf(f, fcntl.LOCK_EX, 512, 2**30)\nprint('held', flush=True)\nsys.stdin.read()\n";
    let mut child = std::process::Command::new("python3")
        .args(["-c", holder, &env.text(FILE)])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut held = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut held).unwrap();
    assert_eq!(held, "held\n");
    assert_eq!(approvals_error(&env).0, "it is locked by another process");
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(is_permitted(
        &host(&env),
        &Policy::default(),
        request(&env, "main.py")
    ));
}

fn many_hosts_approve_at_once_and_lose_nothing() {
    const HOSTS: usize = 8;
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    for number in 0..HOSTS {
        env.write(&format!("skill/scripts/s{number}.py"), ADDS);
    }
    std::thread::scope(|scope| {
        for number in 0..HOSTS {
            let env = &env;
            scope.spawn(move || {
                let host = host(env);
                let wanted = request(env, &format!("s{number}.py"));
                let question = open(&host, &Policy::default(), wanted);
                answered(&host, &question, Answer::YesOnce).unwrap();
            });
        }
    });
    assert_eq!(host(&env).blocking().approvals().unwrap().len(), HOSTS);
}

fn a_skill_too_large_to_hash_is_refused_with_the_reason() {
    type Make = fn(&TestEnv);
    let cases: [(Make, &str); 4] = [
        (
            |env| drop(env.write(&format!("skill/{}x", "d/".repeat(70)), "")),
            "it has more than 64 levels of directories",
        ),
        (
            |env| {
                let first = env.write("skill/data/first", "");
                for n in 0..20_000 {
                    std::fs::hard_link(&first, env.path(&format!("skill/data/{n}"))).unwrap();
                }
            },
            "it contains more than 20000 files",
        ),
        (
            |env| {
                let file = std::fs::File::create(env.path("skill/model")).unwrap();
                file.set_len((256 << 20) + 1).unwrap();
            },
            "`model` exceeds the limit of 256MiB for a skill",
        ),
        (
            |env| setup::prepare(env.root(), "fifo skill/pipe").unwrap(),
            "`pipe` is a FIFO or a device",
        ),
    ];
    for (make, why) in cases {
        let env = TestEnv::with_script(ADDS);
        make(&env);
        let host = host(&env);
        let decision = host
            .blocking()
            .decide(&Policy::default(), request(&env, "main.py"));
        let refusal = refusal(decided(decision.unwrap()));
        assert_eq!(
            (refusal.check, refusal.message, refusal.hint),
            (
                Check::Approval,
                format!(
                    "`scripts/main.py` of skill `skill` was not approved: the skill cannot be hashed, so a change would go unnoticed: {why}"
                ),
                Some(
                    "make the skill smaller, or type `skillrun run`, or set approval = \"never\" for it in skillrun.toml"
                        .into()
                )
            )
        );
        assert_eq!(events(&env), ["refused"]);
        // What a person types, or the policy runs without asking, is not approved by hash.
        let typed = Request::typed(&skill(&env), "main.py");
        let decision = host.blocking().decide(&Policy::default(), typed).unwrap();
        assert_eq!(runs(&host, decided(decision)), "ran\n");
        let never = policy("approval = \"never\"");
        let decision = host
            .blocking()
            .decide(&never, request(&env, "main.py"))
            .unwrap();
        assert_eq!(runs(&host, decided(decision)), "ran\n");
    }
}

fn an_expired_question_can_still_be_declined() {
    let env = TestEnv::with_script(ADDS);
    let host = expiring_host(&env);
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    let refused = host
        .blocking()
        .decline(&question.id, "nobody answered in time")
        .unwrap();
    assert!(matches!(refused[..], [Err(_)]), "{refused:?}");
    assert_eq!(events(&env), ["refused"]);
}

fn an_answer_to_a_file_that_was_replaced_is_refused() {
    let env = TestEnv::with_script(ADDS);
    let host = host(&env);
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    // After the question was asked, a directory was created where the file should be.
    std::fs::remove_file(env.path(FILE)).unwrap();
    std::fs::create_dir(env.path(FILE)).unwrap();
    let error = answer(&host, &question.id, Answer::YesOnce).unwrap_err();
    assert!(matches!(error, AnswerError::Host(Error::Approvals { .. })));
    assert_eq!(events(&env), Vec::<String>::new());
    // The twin: with a file again that does not know the question, it is still not answered.
    std::fs::remove_dir(env.path(FILE)).unwrap();
    let error = answer(&host, &question.id, Answer::YesOnce).unwrap_err();
    assert!(matches!(error, AnswerError::Unknown { .. }));
    assert_eq!(host.blocking().approvals().unwrap(), []);
}

/// A host whose log keeps the events in memory and fails at one write.
fn host_failing_at(env: &TestEnv, fails: usize) -> (Host, Arc<Mutex<Vec<String>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let (written, count) = (Arc::clone(&events), AtomicUsize::new(0));
    let audit = AuditLog::sink(move |line| {
        if count.fetch_add(1, Ordering::SeqCst) == fails {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        let line: serde_json::Value = serde_json::from_slice(line)?;
        let event = format!("{} {}", line["event"], line["script"]).replace('"', "");
        written.lock().unwrap().push(event);
        Ok(())
    });
    let host = Host::new(Settings {
        cache: shared_cache().join("skillrun"),
        audit,
        approvals: Approvals::file(env.path("approvals.db")),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    });
    (host, events)
}

fn an_answer_that_cannot_be_recorded_leaves_the_question_open() {
    const A: &str = "scripts/a.py";
    const B: &str = "scripts/b.py";
    let line = |event: &str, script: &str| format!("{event} {script}");
    let yes = || vec![line("approved", A), line("approved", B)];
    let no = || vec![line("refused", A), line("refused", B)];
    for (given, fails, first, then) in [
        (Answer::YesOnce, 0, vec![], yes()),
        // The approval that is already recorded ends with a refusal.
        (
            Answer::YesOnce,
            1,
            vec![line("approved", A), line("refused", A)],
            yes(),
        ),
        (Answer::No, 0, vec![], no()),
        (Answer::No, 1, vec![line("refused", A)], no()),
    ] {
        let env = TestEnv::new();
        env.write("skill/SKILL.md", "---\nname: skill\ndescription: d\n---\n");
        for script in [A, B] {
            env.write(&format!("skill/{script}"), "print('it ran')\n");
        }
        let (host, events) = host_failing_at(&env, fails);
        let requests = vec![request(&env, "a.py"), request(&env, "b.py")];
        let batch = host.blocking().decide_all(&Policy::default(), requests);
        let [asked] = &batch.unwrap().questions[..] else {
            panic!("not asked once")
        };
        let question = &asked.question;
        let error = answer(&host, &question.id, given).unwrap_err();
        assert!(
            matches!(error, AnswerError::Host(Error::Audit { .. })),
            "{error}"
        );
        assert_eq!(std::mem::take(&mut *events.lock().unwrap()), first);
        // Nothing was approved, and the same question can be answered again.
        assert_eq!(host.blocking().approvals().unwrap(), []);
        assert_eq!(host.blocking().questions().unwrap(), [(**question).clone()]);
        let decided = answer(&host, &question.id, given).unwrap();
        let permitted = decided.iter().filter(|one| one.is_ok());
        assert_eq!(permitted.count(), if given == Answer::No { 0 } else { 2 });
        assert_eq!(*events.lock().unwrap(), then);
    }
    // The same for a question that is declined, and for one that expires.
    let env = TestEnv::with_script(ADDS);
    let (host, events) = host_failing_at(&env, 0);
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    let error = host
        .blocking()
        .decline(&question.id, "nobody is there")
        .unwrap_err();
    assert!(
        matches!(error, AnswerError::Host(Error::Audit { .. })),
        "{error}"
    );
    assert_eq!(host.blocking().questions().unwrap(), [*question.clone()]);
    host.blocking()
        .decline(&question.id, "nobody is there")
        .unwrap();
    assert_eq!(
        *events.lock().unwrap(),
        [line("refused", "scripts/main.py")]
    );
}

fn a_yes_is_recorded_with_what_it_approves() {
    let env = TestEnv::with_script(ADDS);
    std::fs::create_dir(env.path("one")).unwrap();
    let host = host(&env);
    let wanted = Request {
        workspace: Some(env.path("one").into()),
        ..request(&env, "main.py")
    };
    let question = open(&host, &Policy::default(), wanted);
    answered(&host, &question, Answer::YesInSession).unwrap();
    let line = &env.audit()[0];
    for (key, value) in [
        ("event", "approved"),
        ("answer", "yes_in_session"),
        ("question", &question.id),
        ("script_hash", &question.scripts[0].sha256),
        ("content_hash", &question.content_hash),
        ("workspace", &env.text("one")),
    ] {
        assert_eq!(line[key], value, "{key}");
    }
}
