//! Approvals, sessions and questions that several processes share, how they expire, and stores of an embedding program.
//!
//! Two hosts with the same approvals file stand for two processes: they share nothing else.

use crate::approval::{ADDS, Decided, alice, events, open, policy, refusal, request, runs};
use crate::env::{TestEnv, shared_cache};
use crate::library::{block_on, skill};
use skillrun::approval::{
    ApprovalKey, ApprovalStore, Approver, Clock, GivenAnswer, LastApproval, ManualClock,
    NewApproval, QuestionEvent, Scope, SessionApproval, StoredApproval,
};
use skillrun::{
    Answer, AnswerError, Approvals, AuditLog, Decision, Error, Host, Policy, Question, Request,
    Settings,
};
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};

tests! {
    a_question_of_one_process_is_answered_by_another,
    an_answer_of_another_process_is_recorded_by_the_one_that_asked,
    a_skill_that_changed_does_not_run_by_the_answer_of_another_process,
    who_waits_gets_the_answer_of_another_process,
    who_waits_gets_the_answer_of_this_process,
    an_answer_that_is_only_recorded_waits_for_the_one_who_asked,
    a_waiting_caller_that_is_dropped_leaves_the_question_open,
    of_two_processes_that_answer_one_is_told_that_it_was_late,
    a_question_expires_by_itself_with_an_event,
    a_question_that_expires_ends_the_wait_for_it,
    an_answer_that_nobody_used_is_refused,
    every_question_has_its_events,
    a_slow_receiver_learns_that_it_missed_events,
    a_session_ends_when_it_was_not_used_for_its_lifetime,
    a_session_with_a_name_is_shared_and_one_without_is_not,
    sessions_are_listed_and_revoked_at_the_command_line,
    a_yes_that_a_store_cannot_keep_is_recorded_as_a_refusal,
    no_call_that_uses_a_store_blocks_the_thread_of_its_caller,
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const ALWAYS: &str = "approval = \"always\"";

fn clock() -> Arc<ManualClock> {
    let start = SystemTime::UNIX_EPOCH + 500_000 * HOUR;
    Arc::new(ManualClock::new(start))
}

fn host_with(env: &TestEnv, approvals: Approvals) -> Host {
    Host::new(Settings {
        cache: shared_cache().join("skillrun"),
        audit: AuditLog::file(env.path("state/skillrun/audit.jsonl")),
        approvals,
        protected: vec![],
        slots: None,
        workers: Default::default(),
    })
}

fn approvals(env: &TestEnv, clock: &Arc<ManualClock>) -> Approvals {
    let approvals = Approvals::file(env.path("state/skillrun/approvals.db"));
    approvals.clock(Arc::clone(clock) as Arc<dyn Clock>)
}

/// Two processes with one approvals file and one clock.
fn two_hosts(env: &TestEnv) -> (Host, Host, Arc<ManualClock>) {
    let clock = clock();
    let host = || host_with(env, approvals(env, &clock));
    (host(), host(), clock)
}

fn only(decided: Vec<Decided>) -> Decided {
    let [decided] = decided.try_into().unwrap();
    decided
}

fn a_question_of_one_process_is_answered_by_another() {
    let env = TestEnv::with_script(ADDS);
    let (asks, answers, _) = two_hosts(&env);
    let question = open(&asks, &Policy::default(), request(&env, "main.py"));
    assert_eq!(answers.blocking().questions().unwrap(), [*question.clone()]);
    assert!(
        asks.blocking()
            .answered_now(&question.id)
            .unwrap()
            .is_none()
    );
    let answered = answers
        .blocking()
        .answer(&question.id, Answer::YesOnce, alice());
    // The permit exists only where the plan is.
    assert!(answered.unwrap().is_none());
    assert_eq!(answers.blocking().questions().unwrap(), []);
    assert!(matches!(
        answers.blocking().answered_now(&question.id),
        Err(AnswerError::Unknown { .. })
    ));
    let decided = asks.blocking().answered_now(&question.id).unwrap();
    assert_eq!(runs(&asks, only(decided.unwrap())), "ran\n");
    // It is used once.
    assert!(matches!(
        asks.blocking().answered_now(&question.id),
        Err(AnswerError::Answered { .. })
    ));
    // What was approved is remembered for both.
    let again = answers
        .blocking()
        .decide(&Policy::default(), request(&env, "main.py"));
    assert!(matches!(again.unwrap(), Decision::Permitted(_)));
}

fn an_answer_of_another_process_is_recorded_by_the_one_that_asked() {
    let env = TestEnv::with_script(ADDS);
    let (asks, answers, _) = two_hosts(&env);
    for (answer, event) in [(Answer::No, "refused"), (Answer::YesOnce, "approved")] {
        let question = open(&asks, &Policy::default(), request(&env, "main.py"));
        let bob = Approver::new("bob", "web");
        let lines = env.audit().len();
        answers
            .blocking()
            .answer(&question.id, answer, bob)
            .unwrap();
        assert_eq!(env.audit().len(), lines);
        let decided = asks.blocking().answered_now(&question.id).unwrap();
        let decided = only(decided.unwrap());
        assert_eq!(decided.is_ok(), answer != Answer::No);
        let line = &env.audit()[lines];
        assert_eq!(line["event"], event);
        assert_eq!(line["question"], question.id);
        let bob = serde_json::json!({"id": "bob", "channel": "web"});
        assert_eq!(line["approver"], bob);
    }
}

fn a_skill_that_changed_does_not_run_by_the_answer_of_another_process() {
    let env = TestEnv::with_script(ADDS);
    let (asks, answers, _) = two_hosts(&env);
    let question = open(&asks, &Policy::default(), request(&env, "main.py"));
    env.write("skill/scripts/main.py", "print('evil')\n");
    answers
        .blocking()
        .answer(&question.id, Answer::YesInSession, alice())
        .unwrap();
    let decided = asks.blocking().answered_now(&question.id).unwrap();
    assert_eq!(
        refusal(only(decided.unwrap())).message,
        "`scripts/main.py` of skill `skill` was not approved: the skill changed while the question was open"
    );
    assert_eq!(events(&env), ["refused"]);
    assert_eq!(asks.blocking().approvals().unwrap(), []);
}

fn who_waits_gets_the_answer_of_another_process() {
    let env = TestEnv::with_script(ADDS);
    let clock = clock();
    // The clock below advances as fast as this test runs.
    let host = || host_with(&env, approvals(&env, &clock).timeout(Duration::MAX));
    let (asks, answers) = (host(), host());
    let question = open(&asks, &Policy::default(), request(&env, "main.py"));
    let decided = block_on(async {
        let answer = async {
            let yes = answers.answer(&question.id, Answer::YesOnce, alice());
            assert!(yes.await.unwrap().is_none());
            loop {
                clock.advance(Duration::from_secs(1));
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            decided = asks.answered(&question.id) => decided,
            () = answer => unreachable!(),
        }
    });
    assert_eq!(runs(&asks, only(decided.unwrap())), "ran\n");
}

fn who_waits_gets_the_answer_of_this_process() {
    let env = TestEnv::with_script(ADDS);
    let (host, ..) = two_hosts(&env);
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    // The clock stands still, so nothing is polled.
    let (decided, answered) = block_on(async {
        tokio::join!(
            biased;
            host.answered(&question.id),
            host.answer(&question.id, Answer::YesOnce, alice())
        )
    });
    assert!(answered.unwrap().is_none());
    assert_eq!(runs(&host, only(decided.unwrap())), "ran\n");
}

fn an_answer_that_is_only_recorded_waits_for_the_one_who_asked() {
    let env = TestEnv::with_script(ADDS);
    let (host, ..) = two_hosts(&env);
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    block_on(async {
        let record = |given| host.record_answer(&question.id, given, alice());
        record(Answer::YesOnce).await.unwrap();
        let again = record(Answer::No).await.unwrap_err();
        assert!(matches!(again, AnswerError::Answered { .. }));
    });
    let decided = block_on(host.answered(&question.id));
    assert_eq!(runs(&host, only(decided.unwrap())), "ran\n");
}

fn a_waiting_caller_that_is_dropped_leaves_the_question_open() {
    let env = TestEnv::with_script(ADDS);
    let (host, ..) = two_hosts(&env);
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    block_on(async {
        tokio::select! {
            biased;
            decided = host.answered(&question.id) => panic!("{decided:?}"),
            () = std::future::ready(()) => {}
        }
    });
    assert_eq!(host.blocking().questions().unwrap(), [*question.clone()]);
    let decided = crate::approval::answered(&host, &question, Answer::YesOnce);
    assert_eq!(runs(&host, decided), "ran\n");
}

fn of_two_processes_that_answer_one_is_told_that_it_was_late() {
    let env = TestEnv::with_script(ADDS);
    let (asks, answers, _) = two_hosts(&env);
    let question = open(&asks, &Policy::default(), request(&env, "main.py"));
    let answer = |host: &Host, given| host.blocking().answer(&question.id, given, alice());
    assert!(answer(&answers, Answer::No).unwrap().is_none());
    for host in [&asks, &answers] {
        let error = answer(host, Answer::YesOnce).unwrap_err();
        assert!(matches!(error, AnswerError::Answered { .. }), "{error}");
    }
    let decided = asks.blocking().answered_now(&question.id).unwrap();
    refusal(only(decided.unwrap()));
}

fn a_question_expires_by_itself_with_an_event() {
    let env = TestEnv::with_script(ADDS);
    let (host, other, clock) = two_hosts(&env);
    let policy = Policy::default();
    block_on(async {
        let mut events = host.events();
        let decision = host.decide(&policy, request(&env, "main.py"));
        let Decision::Pending(question) = decision.await.unwrap() else {
            panic!()
        };
        let question = Arc::new(*question);
        let asked = QuestionEvent::Asked(Arc::clone(&question));
        assert_eq!(events.next().await, Some(asked));
        clock.advance(5 * MINUTE - Duration::from_secs(1));
        assert_eq!(other.questions().await.unwrap(), [(*question).clone()]);
        clock.advance(Duration::from_secs(1));
        // Nobody calls the host.
        let expired = QuestionEvent::Expired(Arc::clone(&question));
        assert_eq!(events.next().await, Some(expired));
        let log = env.audit();
        assert_eq!(log[0]["event"], "refused");
        assert_eq!(
            log[0]["reason"],
            "`scripts/main.py` of skill `skill` was not approved: nobody answered in time"
        );
        let yes = |host: &Host| {
            let (host, id) = (host.clone(), question.id.clone());
            async move { host.answer(&id, Answer::YesOnce, alice()).await }
        };
        assert!(matches!(yes(&host).await, Err(AnswerError::Expired { .. })));
        assert!(matches!(
            yes(&other).await,
            Err(AnswerError::Unknown { .. })
        ));
        // So does the next one, although nothing was open in between.
        let decision = host.decide(&policy, request(&env, "main.py"));
        assert!(matches!(decision.await.unwrap(), Decision::Pending(_)));
        assert!(matches!(events.next().await, Some(QuestionEvent::Asked(_))));
        clock.advance(5 * MINUTE);
        assert!(matches!(
            events.next().await,
            Some(QuestionEvent::Expired(_))
        ));
    });
}

fn a_question_that_expires_ends_the_wait_for_it() {
    let env = TestEnv::with_script(ADDS);
    let (host, _, clock) = two_hosts(&env);
    let policy = Policy::default();
    block_on(async {
        let decision = host.decide(&policy, request(&env, "main.py"));
        let Decision::Pending(question) = decision.await.unwrap() else {
            panic!()
        };
        let (decided, ()) = tokio::join!(biased; host.answered(&question.id), async {
            clock.advance(5 * MINUTE);
        });
        assert!(matches!(decided, Err(AnswerError::Expired { .. })));
    });
    assert_eq!(events(&env), ["refused"]);
}

fn an_answer_that_nobody_used_is_refused() {
    let env = TestEnv::with_script(ADDS);
    let (asks, answers, clock) = two_hosts(&env);
    let question = open(&asks, &Policy::default(), request(&env, "main.py"));
    answers
        .blocking()
        .answer(&question.id, Answer::YesOnce, alice())
        .unwrap();
    clock.advance(5 * MINUTE);
    assert_eq!(asks.blocking().questions().unwrap(), []);
    assert_eq!(
        env.audit()[0]["reason"],
        "`scripts/main.py` of skill `skill` was not approved: its answer was not used in time"
    );
    assert!(matches!(
        asks.blocking().answered_now(&question.id),
        Err(AnswerError::Expired { .. })
    ));
    // The twin: one that was given in time counts, even if it is fetched late.
    let question = open(&asks, &Policy::default(), request(&env, "main.py"));
    clock.advance(4 * MINUTE);
    answers
        .blocking()
        .answer(&question.id, Answer::YesOnce, alice())
        .unwrap();
    clock.advance(2 * MINUTE);
    let decided = asks.blocking().answered_now(&question.id).unwrap();
    assert_eq!(runs(&asks, only(decided.unwrap())), "ran\n");
}

fn every_question_has_its_events() {
    let env = TestEnv::with_script(ADDS);
    let (host, ..) = two_hosts(&env);
    let mut events = host.events();
    let always = policy(ALWAYS);
    let ask = || Arc::new(*open(&host, &always, request(&env, "main.py")));
    let answered = ask();
    crate::approval::answered(&host, &answered, Answer::No).unwrap_err();
    let declined = ask();
    host.blocking().decline(&declined.id, "no").unwrap();
    let mut next = || block_on(events.next()).unwrap();
    assert_eq!(next(), QuestionEvent::Asked(Arc::clone(&answered)));
    let event = QuestionEvent::Answered {
        question: answered,
        answer: Answer::No,
        approver: alice(),
    };
    assert_eq!(next(), event);
    assert_eq!(next(), QuestionEvent::Asked(Arc::clone(&declined)));
    assert_eq!(next(), QuestionEvent::Declined(declined));
    drop(host);
    assert_eq!(block_on(events.next()), None);
}

fn a_slow_receiver_learns_that_it_missed_events() {
    let env = TestEnv::with_script(ADDS);
    let host = host_with(&env, Approvals::memory());
    let mut events = host.events();
    let always = policy(ALWAYS);
    for _ in 0..200 {
        let question = open(&host, &always, request(&env, "main.py"));
        crate::approval::answered(&host, &question, Answer::No).unwrap_err();
    }
    let mut next = || block_on(events.next()).unwrap();
    assert_eq!(next(), QuestionEvent::Missed);
    assert!(matches!(next(), QuestionEvent::Asked(_)));
}

fn in_session(env: &TestEnv, session: &str) -> Request {
    Request {
        session: session.into(),
        ..request(env, "main.py")
    }
}

fn is_covered(host: &Host, env: &TestEnv, session: &str) -> bool {
    let decided = host
        .blocking()
        .decide(&policy(ALWAYS), in_session(env, session));
    match decided.unwrap() {
        Decision::Permitted(_) => true,
        Decision::Pending(question) => {
            host.blocking().decline(&question.id, "only asked").unwrap();
            false
        }
        other => panic!("{other:?}"),
    }
}

fn approve_session(host: &Host, env: &TestEnv, session: &str) -> Box<Question> {
    let question = open(host, &policy(ALWAYS), in_session(env, session));
    crate::approval::answered(host, &question, Answer::YesInSession).unwrap();
    question
}

fn a_session_ends_when_it_was_not_used_for_its_lifetime() {
    for session in ["s", ""] {
        let env = TestEnv::with_script(ADDS);
        let (host, _, clock) = two_hosts(&env);
        approve_session(&host, &env, session);
        for _ in 0..3 {
            clock.advance(23 * HOUR);
            assert!(is_covered(&host, &env, session), "{session}");
        }
        clock.advance(24 * HOUR);
        assert!(!is_covered(&host, &env, session), "{session}");
    }
    let env = TestEnv::with_script(ADDS);
    let clock = clock();
    let host = host_with(&env, approvals(&env, &clock).session_lifetime(HOUR));
    approve_session(&host, &env, "s");
    clock.advance(HOUR - Duration::from_secs(1));
    assert!(is_covered(&host, &env, "s"));
    clock.advance(HOUR);
    assert!(!is_covered(&host, &env, "s"));
    // Nothing of it is left after the next yes.
    approve_session(&host, &env, "t");
    let left = approvals(&env, &clock).sessions(Scope::All).unwrap();
    let left: Vec<&str> = left.iter().map(|one| one.session.as_str()).collect();
    assert_eq!(left, ["t"]);
}

fn a_session_with_a_name_is_shared_and_one_without_is_not() {
    let env = TestEnv::with_script(ADDS);
    let (one, two, _) = two_hosts(&env);
    for session in ["s", ""] {
        approve_session(&one, &env, session);
        assert!(is_covered(&one, &env, session));
        assert_eq!(is_covered(&two, &env, session), session == "s");
    }
    block_on(two.end_session("", "s")).unwrap();
    assert!(!is_covered(&one, &env, "s"));
    // Another tenant's session of the same name is another session.
    approve_session(&one, &env, "s");
    block_on(two.end_session("other", "s")).unwrap();
    assert!(is_covered(&one, &env, "s"));
}

fn sessions_are_listed_and_revoked_at_the_command_line() {
    let env = TestEnv::with_script(ADDS);
    let host = crate::library::host(&env);
    approve_session(&host, &env, "s");
    let listed = env.end(&["approvals", "list"]).stdout;
    let (start, rest) = listed.split_once("  session s until ").unwrap();
    assert!(start.starts_with("   -  "), "{listed}");
    assert!(start.ends_with("  no grants"), "{listed}");
    assert!(rest.ends_with("  by alice (test)\n"), "{listed}");
    let json: serde_json::Value =
        serde_json::from_str(&env.end(&["approvals", "list", "--json"]).stdout).unwrap();
    assert_eq!(json[0]["session"], "s");
    assert_eq!(json[0]["skill"], "{skill}");
    let end = env.end(&["approvals", "revoke", "--session", "other"]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 127));
    assert!(is_covered(&host, &env, "s"));
    let end = env.end(&["approvals", "revoke", "--session", "s"]);
    assert_eq!((end.stdout.as_str(), end.code), ("revoked 1\n", 0));
    assert!(!is_covered(&host, &env, "s"));
    approve_session(&host, &env, "s");
    let end = env.end(&["approvals", "revoke", "--skill", "skill"]);
    assert_eq!((end.stdout.as_str(), end.code), ("revoked 1\n", 0));
    assert!(!is_covered(&host, &env, "s"));
}

/// Approvals that can be read and not be written. Each call waits while a test holds the lock.
#[derive(Debug, Default)]
struct ReadOnly(Arc<RwLock<()>>);

fn read_only<T>() -> Result<T, Error> {
    Err(Error::Approvals {
        path: "read-only".into(),
        why: "it is read-only".into(),
        hint: None,
    })
}

impl ApprovalStore for ReadOnly {
    fn contains(&self, _: &ApprovalKey<'_>) -> Result<bool, Error> {
        drop(self.0.read());
        Ok(false)
    }
    fn last(&self, _: &str, _: &str, _: &str) -> Result<Option<LastApproval>, Error> {
        drop(self.0.read());
        Ok(None)
    }
    fn add(&self, _: &[NewApproval<'_>], _: Option<&SessionApproval>) -> Result<(), Error> {
        drop(self.0.read());
        read_only()
    }
    fn list(&self, _: Scope<'_>) -> Result<Vec<StoredApproval>, Error> {
        drop(self.0.read());
        Ok(vec![])
    }
    fn revoke(&self, _: Scope<'_>, _: &[i64]) -> Result<usize, Error> {
        drop(self.0.read());
        read_only()
    }
    fn session(&self, _: &str, _: &str, _: &str) -> Result<Vec<SessionApproval>, Error> {
        drop(self.0.read());
        Ok(vec![])
    }
    fn sessions(&self, _: Scope<'_>) -> Result<Vec<SessionApproval>, Error> {
        drop(self.0.read());
        Ok(vec![])
    }
    fn extend_session(
        &self,
        _: &str,
        _: &str,
        _: &str,
        _: SystemTime,
        _: SystemTime,
    ) -> Result<(), Error> {
        drop(self.0.read());
        read_only()
    }
    fn end_session(&self, _: &str, _: &str, _: Option<&str>) -> Result<usize, Error> {
        drop(self.0.read());
        read_only()
    }
    fn remove_expired_sessions(&self, _: SystemTime) -> Result<(), Error> {
        drop(self.0.read());
        read_only()
    }
}

/// Questions that another system answers at once. Each call waits while a test holds the lock.
#[derive(Debug, Default)]
struct AnsweredElsewhere(Arc<RwLock<()>>);

impl skillrun::approval::QuestionStore for AnsweredElsewhere {
    fn open(&self, _: &skillrun::approval::OpenQuestion) -> Result<(), Error> {
        drop(self.0.read());
        Ok(())
    }
    fn questions(
        &self,
        _: Scope<'_>,
        _: SystemTime,
    ) -> Result<Vec<skillrun::approval::OpenQuestion>, Error> {
        drop(self.0.read());
        Ok(vec![])
    }
    fn answer(
        &self,
        _: Scope<'_>,
        _: &str,
        _: &GivenAnswer,
        _: SystemTime,
    ) -> Result<skillrun::approval::AnswerState, Error> {
        drop(self.0.read());
        Ok(skillrun::approval::AnswerState::Answered)
    }
    fn answer_to(&self, _: &str) -> Result<Option<GivenAnswer>, Error> {
        drop(self.0.read());
        Ok(Some(GivenAnswer {
            answer: Answer::YesOnce,
            approver: alice(),
        }))
    }
    fn reopen(&self, _: &str) -> Result<(), Error> {
        drop(self.0.read());
        Ok(())
    }
    fn close(&self, _: &str) -> Result<(), Error> {
        drop(self.0.read());
        Ok(())
    }
}

fn a_yes_that_a_store_cannot_keep_is_recorded_as_a_refusal() {
    let env = TestEnv::with_script(ADDS);
    let stores = || {
        Approvals::stores(
            Arc::new(ReadOnly::default()),
            Arc::new(AnsweredElsewhere::default()),
        )
    };
    let host = host_with(&env, stores());
    let question = open(&host, &Policy::default(), request(&env, "main.py"));
    let error = host.blocking().answered_now(&question.id).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot use the approvals file `read-only`: it is read-only"
    );
    assert_eq!(events(&env), ["approved", "refused"]);
    // The twin: under `always` nothing is kept.
    let host = host_with(&env, stores());
    let wanted = Request::new(&skill(&env), "main.py");
    let question = open(&host, &policy(ALWAYS), wanted);
    let decided = host.blocking().answered_now(&question.id).unwrap();
    assert_eq!(runs(&host, only(decided.unwrap())), "ran\n");
}

/// The stores block until a task of the same thread releases them: if a call blocked the thread instead of waiting, that
/// task would never get its turn.
fn no_call_that_uses_a_store_blocks_the_thread_of_its_caller() {
    let env = TestEnv::with_script(ADDS);
    let lock = Arc::new(RwLock::new(()));
    let approvals = Arc::new(ReadOnly(Arc::clone(&lock)));
    let questions = Arc::new(AnsweredElsewhere(Arc::clone(&lock)));
    let host = host_with(&env, Approvals::stores(approvals, questions));
    let always = policy(ALWAYS);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        macro_rules! while_locked {
            ($call:expr) => {{
                let locked = lock.write().unwrap();
                let release = async {
                    for _ in 0..100 {
                        tokio::task::yield_now().await;
                    }
                    drop(locked);
                };
                let (result, ()) = tokio::join!(biased; $call, release);
                result
            }};
        }
        let ask = async || {
            let decided = while_locked!(host.decide(&always, in_session(&env, "s")));
            match decided.unwrap() {
                Decision::Pending(question) => question.id,
                other => panic!("{other:?}"),
            }
        };
        let question = ask().await;
        let answer = host.answer(&question, Answer::No, alice());
        let answered = while_locked!(answer);
        assert!(matches!(answered, Err(AnswerError::Answered { .. })));
        let decided = while_locked!(host.answered(&question));
        assert!(matches!(decided.unwrap()[..], [Ok(_)]));
        let question = ask().await;
        while_locked!(host.decline(&question, "no")).unwrap();
        let batch = vec![in_session(&env, "s")];
        while_locked!(host.decide_all(&always, batch)).unwrap();
        assert_eq!(while_locked!(host.questions()).unwrap(), []);
        assert_eq!(while_locked!(host.approvals()).unwrap(), []);
        assert!(while_locked!(host.revoke(&[1])).is_err());
        assert!(while_locked!(host.end_session("", "s")).is_err());
    });
}
