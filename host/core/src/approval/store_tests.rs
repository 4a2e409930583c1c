//! What every store does, tried with each of ours.

use super::memory::MemoryStore;
use super::sqlite::SqliteStore;
use super::*;
use std::time::SystemTime;

/// A store of both kinds.
trait Store: ApprovalStore + QuestionStore {}
impl<T: ApprovalStore + QuestionStore> Store for T {}

fn with_each(test: impl Fn(&dyn Store)) {
    test(&MemoryStore::default());
    let folder = tempfile::tempdir().unwrap();
    test(&SqliteStore::new(folder.path().join("approvals.db")));
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn by(id: &str) -> Approver {
    Approver::new(id, "test")
}

const A: Scope<'_> = Scope::Tenant("a");
const B: Scope<'_> = Scope::Tenant("b");

#[test]
fn an_approval_is_found_by_its_whole_key_and_revoked_within_its_scope() {
    with_each(|store| {
        let grants = ["read:/a".to_owned()];
        let key = ApprovalKey {
            tenant: "a",
            skill: "s",
            script: "x",
            content: "c",
            grants: &grants,
        };
        let add = |key, time| {
            let approval = NewApproval {
                key,
                files: "{}",
                source: Some(b"source"),
                answer: Answer::YesOnce,
                approver: &by("alice"),
                time,
            };
            store.add(&[approval], None).unwrap();
        };
        assert!(!store.contains(&key).unwrap());
        add(key, "1");
        add(ApprovalKey { tenant: "b", ..key }, "2");
        assert!(store.contains(&key).unwrap());
        for other in [
            ApprovalKey { tenant: "c", ..key },
            ApprovalKey { skill: "t", ..key },
            ApprovalKey { script: "y", ..key },
            ApprovalKey {
                content: "d",
                ..key
            },
            ApprovalKey { grants: &[], ..key },
        ] {
            assert!(!store.contains(&other).unwrap(), "{other:?}");
        }
        // The same yes again replaces the first.
        add(key, "3");
        let last = store.last("a", "s", "x").unwrap().unwrap();
        assert_eq!((&*last.time, &*last.files), ("3", "{}"));
        assert_eq!(last.source.as_deref(), Some(&b"source"[..]));
        assert_eq!(last.grants, grants);
        let of = |scope| -> Vec<(String, i64)> {
            let all = ApprovalStore::list(store, scope).unwrap().into_iter();
            all.map(|one| (one.tenant, one.id)).collect()
        };
        let (all, own) = (of(Scope::All), of(A));
        assert_eq!(
            (all.len(), own.len(), of(Scope::Tenant("")).len()),
            (2, 1, 0)
        );
        let id = own[0].1;
        assert_eq!(store.revoke(B, &[id]).unwrap(), 0);
        assert_eq!(store.revoke(A, &[id, id + 100]).unwrap(), 1);
        assert!(!store.contains(&key).unwrap());
        assert_eq!(of(Scope::All).len(), 1);
    });
}

#[test]
fn approvals_for_a_session_are_kept_by_tenant_session_and_skill() {
    with_each(|store| {
        let approval = |tenant: &str, content: &str, grant: &str| SessionApproval {
            tenant: tenant.into(),
            session: "s".into(),
            skill: "/skill".into(),
            content: content.into(),
            grants: vec![grant.into()],
            time: "t".into(),
            expires: at(10),
            approver: by("alice"),
        };
        let count = |tenant, session, skill| store.session(tenant, session, skill).unwrap().len();
        store.add(&[], Some(&approval("a", "c", "native"))).unwrap();
        store.add(&[], Some(&approval("a", "c", "env:X"))).unwrap();
        store.add(&[], Some(&approval("a", "c", "env:X"))).unwrap();
        store.add(&[], Some(&approval("b", "c", "native"))).unwrap();
        assert_eq!(count("a", "s", "/skill"), 2);
        for (tenant, session, skill) in
            [("c", "s", "/skill"), ("a", "t", "/skill"), ("a", "s", "/")]
        {
            assert_eq!(count(tenant, session, skill), 0);
        }
        // Another content ends the earlier approvals of this tenant only.
        let other = approval("a", "d", "native");
        store.add(&[], Some(&other)).unwrap();
        assert_eq!(store.session("a", "s", "/skill").unwrap(), [other]);
        assert_eq!(store.sessions(Scope::All).unwrap().len(), 2);
        assert_eq!(store.sessions(A).unwrap().len(), 1);
        // What has expired stays so.
        let extend = |now, expires| store.extend_session("a", "s", "/skill", now, expires);
        extend(at(10), at(30)).unwrap();
        assert_eq!(store.sessions(A).unwrap()[0].expires, at(10));
        extend(at(9), at(20)).unwrap();
        store.remove_expired_sessions(at(10)).unwrap();
        assert_eq!(store.sessions(Scope::All).unwrap()[0].expires, at(20));
        assert_eq!(store.sessions(B).unwrap(), []);
        assert_eq!(store.end_session("b", "s", None).unwrap(), 0);
        assert_eq!(store.end_session("a", "s", Some("/other")).unwrap(), 0);
        assert_eq!(store.end_session("a", "s", None).unwrap(), 1);
        assert_eq!(store.sessions(Scope::All).unwrap(), []);
    });
}

#[test]
fn a_question_is_answered_once_in_time_and_within_its_scope() {
    with_each(|store| {
        let question = |id: &str, asked| OpenQuestion {
            id: id.into(),
            tenant: "a".into(),
            text: "text".into(),
            asked: at(asked),
            expires: at(asked + 10),
        };
        let given = |answer, id| GivenAnswer {
            answer,
            approver: by(id),
        };
        let answer = |scope, id, by, now| {
            let given = given(Answer::YesOnce, by);
            store.answer(scope, id, &given, at(now)).unwrap()
        };
        let (first, second) = (question("1", 5), question("2", 6));
        store.open(&first).unwrap();
        store.open(&second).unwrap();
        let open = |scope, now| store.questions(scope, at(now)).unwrap();
        assert_eq!(open(A, 7), [first.clone(), second.clone()]);
        assert_eq!(open(Scope::All, 15), std::slice::from_ref(&second));
        assert_eq!(open(B, 7), []);
        assert_eq!(answer(B, "1", "bob", 7), AnswerState::Unknown);
        assert_eq!(answer(A, "3", "bob", 7), AnswerState::Unknown);
        assert_eq!(answer(A, "1", "bob", 15), AnswerState::Expired);
        assert_eq!(store.answer_to("1").unwrap(), None);
        assert_eq!(answer(A, "1", "alice", 14), AnswerState::Recorded);
        assert_eq!(answer(Scope::All, "1", "bob", 14), AnswerState::Answered);
        assert_eq!(answer(B, "1", "bob", 14), AnswerState::Unknown);
        let alice = given(Answer::YesOnce, "alice");
        assert_eq!(store.answer_to("1").unwrap(), Some(alice));
        assert_eq!(open(A, 7), [second]);
        // An answer that had no effect is removed, and the next one counts.
        store.reopen("1").unwrap();
        assert_eq!(open(A, 7)[0], first);
        assert_eq!(answer(Scope::All, "1", "bob", 7), AnswerState::Recorded);
        store.close("1").unwrap();
        assert_eq!(store.answer_to("1").unwrap(), None);
        assert_eq!(answer(A, "1", "bob", 7), AnswerState::Unknown);
    });
}

#[test]
fn of_many_answers_at_once_one_is_recorded() {
    with_each(|store| {
        let question = OpenQuestion {
            id: "q".into(),
            tenant: "a".into(),
            text: String::new(),
            asked: at(1),
            expires: at(10),
        };
        store.open(&question).unwrap();
        let recorded = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let recorded = &recorded;
                scope.spawn(move || {
                    let given = GivenAnswer {
                        answer: Answer::ALL[number % 3],
                        approver: by(&number.to_string()),
                    };
                    let state = store.answer(Scope::All, "q", &given, at(2)).unwrap();
                    if state == AnswerState::Recorded {
                        recorded.lock().unwrap().push(given);
                    }
                });
            }
        });
        let recorded = recorded.into_inner().unwrap();
        assert_eq!(recorded.len(), 1);
        assert_eq!(store.answer_to("q").unwrap(), recorded.into_iter().next());
    });
}

#[test]
fn a_question_survives_its_text() {
    let question = Question {
        id: "q".into(),
        tenant: "a\n".into(),
        session: "\u{1b}".into(),
        skill: "s".into(),
        skill_path: "/s".into(),
        shadowed: vec!["/t".into()],
        description: "\"d\"".into(),
        scripts: vec![AskedScript {
            script: "scripts/a.py".into(),
            path: "/s/scripts/a.py".into(),
            sha256: "0".into(),
            args: vec!["a\0b".into()],
            description: String::new(),
        }],
        workspace: Some("/w".into()),
        grants: vec!["native".into()],
        content_hash: "1".into(),
        change: Some(Change {
            since: "t".into(),
            files: vec![ChangedFile {
                path: "x".into(),
                how: "removed",
            }],
            more_grants: vec![],
            sources: Some(("a".into(), "b".into())),
        }),
        remembered: true,
        options: Answer::ALL,
        default: Answer::No,
        timeout_seconds: 300,
        enforced_by: Some("the policy of root".into()),
    };
    let text = question.to_text();
    assert_eq!(Question::from_text(&text), Some(question));
    assert_eq!(Question::from_text(&text.replace("removed", "lost")), None);
    assert_eq!(Question::from_text(""), None);
}
