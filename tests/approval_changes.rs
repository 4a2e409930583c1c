//! What a yes was given to, and what has changed since: while it is decided, asked, answered, and before it runs.

use crate::approval::{ADDS, answered, events, is_permitted, open, policy, refusal, request, runs};
use crate::library::{block_on, host};
use crate::place::{Place, shared_cache};
use skillrun::{Answer, Approvals, AuditLog, Decision, Host, Policy, Request, Settings};

trials! {
    a_script_exchanged_while_it_is_decided_never_runs_by_the_yes_to_another,
    a_skill_changed_while_a_person_thinks_does_not_run,
    a_skill_changed_between_the_yes_and_the_run_does_not_run,
    a_yes_is_for_one_workspace,
    a_workspace_whose_name_reads_like_a_grant_is_another_question,
    runs_in_different_workspaces_are_different_questions,
    names_that_are_not_text_and_rights_to_execute_count_as_changes,
}

fn a_script_exchanged_while_it_is_decided_never_runs_by_the_yes_to_another() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let place = Place::with_script("print('good')\n");
    // Takes a while to look at, so that there is time between reading and hashing.
    for number in 0..20 {
        place.write(&format!("skill/a{number}"), vec![0; 256 * 1024]);
    }
    let host = host(&place);
    let policy = Policy::default();
    let question = open(&host, &policy, request(&place, "main.py"));
    let good = question.scripts[0].sha256.clone();
    answered(&host, &question, Answer::YesOnce);
    let stop = AtomicBool::new(false);
    let (mut permitted, mut asked, mut refused) = (0, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let main = place.path("skill/scripts/main.py");
            for turn in 0.. {
                let text = ["print('evil')\n", "print('good')\n"][turn % 2];
                // Beside the skill: what is in it counts.
                let next = place.write("next", text);
                std::fs::rename(next, &main).unwrap();
                if stop.load(Ordering::Relaxed) && turn % 2 == 1 {
                    break;
                }
            }
        });
        for _ in 0..150 {
            match host.decide(&policy, request(&place, "main.py")).unwrap() {
                Decision::Permitted(permit) => {
                    assert_eq!(permit.script_hash(), good);
                    permitted += 1;
                }
                Decision::Open(question) => {
                    host.decline(&question.id, "the trial only looks").unwrap();
                    asked += 1;
                }
                // What was read and what was hashed were not the same.
                Decision::Refused(refusal) => {
                    assert_eq!(
                        refusal.message,
                        "`scripts/main.py` of skill `skill` was not approved: the skill changed while it was read"
                    );
                    refused += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(asked + refused > 0, "{permitted} {asked} {refused}");
    assert!(is_permitted(&host, &policy, request(&place, "main.py")));
}

fn a_skill_changed_while_a_person_thinks_does_not_run() {
    let place = Place::with_script("import lib\n");
    place.write("skill/scripts/lib.py", "print('good')\n");
    let host = host(&place);
    let policy = Policy::default();
    for answer in [Answer::YesOnce, Answer::YesInSession] {
        let question = open(&host, &policy, request(&place, "main.py"));
        place.write("skill/scripts/lib.py", "print('evil')\n");
        let refusal = refusal(answered(&host, &question, answer));
        assert_eq!(
            refusal.message,
            "`scripts/main.py` of skill `skill` was not approved: something in the skill changed after the \
             question was asked"
        );
        assert!(!is_permitted(&host, &policy, request(&place, "main.py")));
        place.write("skill/scripts/lib.py", "print('good')\n");
    }
    let question = open(&host, &policy, request(&place, "main.py"));
    let decision = answered(&host, &question, Answer::YesOnce);
    assert_eq!(runs(&host, decision), "good\n");
}

fn a_skill_changed_between_the_yes_and_the_run_does_not_run() {
    let place = Place::with_script("import lib\n");
    place.write("skill/scripts/lib.py", "print('good')\n");
    let host = host(&place);
    let question = open(&host, &Policy::default(), request(&place, "main.py"));
    let Decision::Permitted(permit) = answered(&host, &question, Answer::YesOnce) else {
        panic!()
    };
    place.write("skill/scripts/lib.py", "print('evil')\n");
    let error = block_on(host.run(permit)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`scripts/main.py` of skill `skill` did not run: its skill changed after it was approved"
    );
    assert_eq!(events(&place), ["approved", "refused"]);
    // Where nobody has to be asked, a skill may change as it likes.
    let Decision::Permitted(permit) = host
        .decide(&policy("approval = \"never\""), request(&place, "main.py"))
        .unwrap()
    else {
        panic!()
    };
    place.write("skill/scripts/lib.py", "print('other')\n");
    assert_eq!(block_on(host.run(permit)).unwrap().stdout, "other\n");
}

fn a_yes_is_for_one_workspace() {
    let place = Place::with_script(ADDS);
    for folder in ["one", "two"] {
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    let within = |folder: Option<&str>| Request {
        workspace: folder.map(|folder| place.path(folder)),
        ..request(&place, "main.py")
    };
    let policy = Policy::default();
    for answer in [Answer::YesOnce, Answer::YesInSession] {
        let host = Host::new(Settings {
            cache: shared_cache().join("skillrun"),
            audit: AuditLog::file(place.path("state/skillrun/audit.jsonl")),
            approvals: match answer {
                Answer::YesOnce => Approvals::file(place.path("state/approvals.db")),
                _ => Approvals::memory(),
            },
            sealed: vec![],
            slots: None,
        });
        let question = open(&host, &policy, within(Some("one")));
        answered(&host, &question, answer);
        assert!(is_permitted(&host, &policy, within(Some("one"))));
        assert!(!is_permitted(&host, &policy, within(Some("two"))));
        let question = open(&host, &policy, within(Some("two")));
        if let Some(change) = question.change {
            let two = format!("write:{}", place.text("two"));
            assert_eq!(change.more_grants, [two]);
        }
    }
}

fn a_workspace_whose_name_reads_like_a_grant_is_another_question() {
    let place = Place::with_script(ADDS);
    // `/…/a⏎write:/…/b` is one directory.
    let odd = format!("{}\nwrite:{}", place.text("a"), place.text("b"));
    std::fs::create_dir_all(&odd).unwrap();
    for folder in ["a", "b"] {
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    let write = format!("write:{}", place.text("b"));
    let policy = policy(&format!("allow = [\"{write}\"]"));
    let within = |folder: &str, grants: &[&str]| Request {
        workspace: Some(folder.into()),
        grants: grants.iter().map(|text| text.parse().unwrap()).collect(),
        ..request(&place, "main.py")
    };
    let host = host(&place);
    let question = open(&host, &policy, within(&odd, &[]));
    answered(&host, &question, Answer::YesOnce);
    assert!(is_permitted(&host, &policy, within(&odd, &[])));
    assert!(!is_permitted(
        &host,
        &policy,
        within(&place.text("a"), &[&write])
    ));
    // A person sees one grant.
    let end = place.end(&["approvals", "list"]);
    let shown = format!("\"write:{}\\nwrite:{}\"\n", "{root}/a", "{root}/b");
    assert!(end.stdout.ends_with(&shown), "{}", end.stdout);
    assert_eq!(end.stdout.lines().count(), 1);
}

fn runs_in_different_workspaces_are_different_questions() {
    let place = Place::with_script(ADDS);
    for folder in ["one", "two"] {
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    let within = |folder: &str| Request {
        workspace: Some(place.path(folder)),
        ..request(&place, "main.py")
    };
    let host = host(&place);
    let decided = host.decide_all(&Policy::default(), vec![within("one"), within("two")]);
    let asked = decided.unwrap().into_iter().map(|decision| match decision {
        Decision::Open(question) => question.workspace.unwrap(),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [place.text("one"), place.text("two")]
    );
}

fn names_that_are_not_text_and_rights_to_execute_count_as_changes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with_script(ADDS);
    let odd = |byte: u8| place.path("skill").join(OsStr::from_bytes(&[byte]));
    std::fs::write(odd(0xff), "").unwrap();
    std::fs::create_dir(place.path("skill/lib")).unwrap();
    let (host, policy) = (host(&place), Policy::default());
    let approve = || {
        let question = open(&host, &policy, request(&place, "main.py"));
        answered(&host, &question, Answer::YesOnce);
        assert!(is_permitted(&host, &policy, request(&place, "main.py")));
    };
    approve();
    std::fs::rename(odd(0xff), odd(0xfe)).unwrap();
    approve();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path("skill/scripts/main.py"), executable).unwrap();
    approve();
    std::fs::remove_dir(place.path("skill/lib")).unwrap();
    approve();
}
