//! A person's yes: what is asked, what counts as an answer, what is remembered, and the file that holds it.

use crate::library::{block_on, host, skill};
use crate::place::{Place, SKILL_MD, shared_cache};
use crate::setup;
use skillrun::{
    Answer, AnswerError, Approvals, AuditLog, Check, Decision, Error, Host, Policy, Question,
    Refusal, Request, Settings,
};
use std::path::Path;
use std::time::Duration;

trials! {
    ad_7_what_an_agent_asks_for_is_a_question_and_what_a_person_types_is_none,
    setting_012_a_first_run_is_asked_for_once_and_the_yes_outlives_the_host,
    ad_7_yes_in_session_holds_for_its_world_chat_and_skill_alone,
    under_always_a_single_yes_holds_for_one_run,
    a_policy_that_asks_never_asks_nobody,
    ad_7_no_is_a_refusal_and_both_are_recorded,
    any_change_in_the_skill_asks_again_and_names_what_changed,
    more_grants_ask_again_and_are_named,
    a_yes_in_one_world_is_none_in_another,
    ad_6_an_answer_to_an_unknown_expired_or_answered_question_is_told_apart,
    ad_6_a_question_that_nobody_answers_in_time_is_refused_and_recorded,
    an_option_that_does_not_exist_is_no_answer,
    two_questions_at_once_are_answered_each_by_itself,
    more_questions_than_can_wait_are_refused,
    scripts_that_belong_together_share_one_question,
    a_session_of_an_odd_name_is_one_line_in_the_log,
    a_damaged_file_of_approvals_refuses_and_stays_as_it_is,
    a_file_of_approvals_that_others_may_write_is_refused,
    what_is_no_file_of_approvals_is_refused_without_waiting_for_it,
    a_file_of_approvals_that_is_held_refuses_and_loses_nothing,
    many_hosts_approve_at_once_and_lose_nothing,
    a_skill_too_large_to_watch_is_refused_and_says_why,
    a_question_whose_time_has_passed_can_still_be_declined,
    a_yes_that_cannot_be_kept_is_recorded_as_a_refusal,
    a_yes_is_recorded_with_what_it_was_given_to,
}

pub(crate) const ADDS: &str = "import sys\nprint('ran', *sys.argv[1:])\n";

pub(crate) fn policy(text: &str) -> Policy {
    Policy::parse(text, Path::new("/")).unwrap()
}

pub(crate) fn request(place: &Place, script: &str) -> Request {
    Request::new(&skill(place), script)
}

pub(crate) fn open(host: &Host, policy: &Policy, request: Request) -> Box<Question> {
    match host.decide(policy, request).unwrap() {
        Decision::Open(question) => question,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn runs(host: &Host, decision: Decision) -> String {
    match decision {
        Decision::Permitted(permit) => block_on(host.run(permit)).unwrap().stdout,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn answered(host: &Host, question: &Question, answer: Answer) -> Decision {
    let mut decisions = host.answer(&question.id, answer).unwrap();
    assert_eq!(decisions.len(), 1);
    decisions.remove(0)
}

pub(crate) fn refusal(decision: Decision) -> Refusal {
    match decision {
        Decision::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn is_permitted(host: &Host, policy: &Policy, request: Request) -> bool {
    match host.decide(policy, request).unwrap() {
        Decision::Permitted(_) => true,
        Decision::Open(question) => {
            host.answer(&question.id, Answer::No).unwrap();
            false
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) fn events(place: &Place) -> Vec<String> {
    let lines = place.audit();
    let events = lines
        .iter()
        .map(|line| line["event"].as_str().unwrap().to_owned());
    events.collect()
}

fn ad_7_what_an_agent_asks_for_is_a_question_and_what_a_person_types_is_none() {
    let place = Place::with_script(ADDS);
    let host = host(&place);
    let wanted = Request {
        args: vec!["a".into()],
        world: "w".into(),
        chat: "c".into(),
        ..request(&place, "main.py")
    };
    let question = open(&host, &Policy::default(), wanted);
    assert_eq!(
        (question.world.as_str(), question.chat.as_str()),
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
    assert_eq!(host.questions().unwrap(), [*question.clone()]);
    // Nothing ran, and nothing is said to have started.
    assert_eq!(events(&place), Vec::<String>::new());
    assert_eq!(
        runs(&host, answered(&host, &question, Answer::YesOnce)),
        "ran a\n"
    );
    assert_eq!(events(&place), ["approved", "started", "finished"]);
    // The twin: a person's own words are his yes.
    place.write("skill/scripts/other.py", ADDS);
    let typed = Request::typed(&skill(&place), "other.py");
    let decided = host.decide(&Policy::default(), typed).unwrap();
    assert_eq!(runs(&host, decided), "ran\n");
}

fn setting_012_a_first_run_is_asked_for_once_and_the_yes_outlives_the_host() {
    let place = Place::with_script(ADDS);
    let policy = Policy::default();
    let first = host(&place);
    let question = open(&first, &policy, request(&place, "main.py"));
    assert!(question.remembered && question.change.is_none());
    runs(&first, answered(&first, &question, Answer::YesOnce));
    assert!(is_permitted(&first, &policy, request(&place, "main.py")));
    drop(first);
    let second = host(&place);
    assert!(is_permitted(&second, &policy, request(&place, "main.py")));
    let all = second.approvals().list().unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].skill.as_str(), all[0].script.as_str()),
        ("skill", "scripts/main.py")
    );
    // Taken back, it is asked for again.
    assert_eq!(second.approvals().revoke(&[all[0].id]).unwrap(), 1);
    assert!(!is_permitted(&second, &policy, request(&place, "main.py")));
}

fn ad_7_yes_in_session_holds_for_its_world_chat_and_skill_alone() {
    let place = Place::with_script(ADDS);
    place.write("skill/scripts/other.py", ADDS);
    place.write("second/SKILL.md", SKILL_MD);
    place.write("second/scripts/main.py", ADDS);
    let host = host(&place);
    let policy = policy("approval = \"always\"");
    let (one, two) = (
        skill(&place),
        skillrun::Skill::load(place.path("second")).unwrap().into(),
    );
    let of = |skill, script: &str, world: &str, chat: &str| Request {
        world: world.into(),
        chat: chat.into(),
        ..Request::new(skill, script)
    };
    let question = open(&host, &policy, of(&one, "main.py", "w", "c"));
    answered(&host, &question, Answer::YesInSession);
    for (skill, script, world, chat, holds) in [
        (&one, "main.py", "w", "c", true),
        (&one, "other.py", "w", "c", true),
        (&one, "main.py", "w", "d", false),
        (&one, "main.py", "v", "c", false),
        (&one, "main.py", "", "", false),
        (&two, "main.py", "w", "c", false),
    ] {
        let wanted = of(skill, script, world, chat);
        assert_eq!(
            is_permitted(&host, &policy, wanted),
            holds,
            "{script} {world} {chat}"
        );
    }
    // A skill that changes within the session is another one.
    place.write("skill/scripts/lib.py", "x = 1\n");
    assert!(!is_permitted(&host, &policy, of(&one, "main.py", "w", "c")));
    std::fs::remove_file(place.path("skill/scripts/lib.py")).unwrap();
    assert!(is_permitted(&host, &policy, of(&one, "main.py", "w", "c")));
    host.end_session("w", "c");
    assert!(!is_permitted(&host, &policy, of(&one, "main.py", "w", "c")));
    // Nothing of it is kept.
    assert_eq!(host.approvals().list().unwrap(), []);
}

fn under_always_a_single_yes_holds_for_one_run() {
    let place = Place::with_script(ADDS);
    let host = host(&place);
    let policy = policy("approval = \"always\"");
    let question = open(&host, &policy, request(&place, "main.py"));
    assert!(!question.remembered);
    runs(&host, answered(&host, &question, Answer::YesOnce));
    assert!(!is_permitted(&host, &policy, request(&place, "main.py")));
    assert_eq!(host.approvals().list().unwrap(), []);
}

fn a_policy_that_asks_never_asks_nobody() {
    let place = Place::with_script(ADDS);
    let host = host(&place);
    let for_all = policy("approval = \"never\"");
    assert!(is_permitted(&host, &for_all, request(&place, "main.py")));
    let for_one = Policy::parse("[skill.\"./skill\"]\napproval = \"never\"", place.root()).unwrap();
    assert!(is_permitted(&host, &for_one, request(&place, "main.py")));
    let for_another = policy("[skill.another]\napproval = \"never\"");
    assert!(!is_permitted(
        &host,
        &for_another,
        request(&place, "main.py")
    ));
}

fn ad_7_no_is_a_refusal_and_both_are_recorded() {
    let place = Place::with_script(ADDS);
    let host = host(&place);
    let question = open(&host, &Policy::default(), request(&place, "main.py"));
    let refusal = refusal(answered(&host, &question, Answer::No));
    assert_eq!((refusal.check, refusal.exit_code()), (Check::Approval, 126));
    assert_eq!(
        refusal.to_string(),
        "refused: `scripts/main.py` of skill `skill` was not approved: a person answered `no`\n\
         hint: approve it, or set approval = \"never\" for this skill in skillrun.toml if no person has to"
    );
    assert_eq!(events(&place), ["refused"]);
    let question = open(&host, &Policy::default(), request(&place, "main.py"));
    answered(&host, &question, Answer::YesInSession);
    let log = place.audit();
    assert_eq!(log[1]["event"], "approved");
    assert_eq!(log[1]["question"], question.id);
    assert_eq!(log[1]["answer"], "yes_in_session");
}

fn any_change_in_the_skill_asks_again_and_names_what_changed() {
    let place = Place::with_script("import lib\nprint('one')\n");
    place.write("skill/scripts/lib.py", "x = 1\n");
    place.write("skill/data.txt", "a\n");
    let host = host(&place);
    let policy = Policy::default();
    let question = open(&host, &policy, request(&place, "main.py"));
    answered(&host, &question, Answer::YesOnce);
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
        let before = std::fs::read(place.path(file)).ok();
        place.write(file, content);
        let question = open(&host, &policy, request(&place, "main.py"));
        let change = question.change.clone().unwrap();
        let files: Vec<_> = change
            .files
            .iter()
            .map(|f| (f.path.as_str(), f.how))
            .collect();
        assert_eq!(files, [(file.strip_prefix("skill/").unwrap(), how)]);
        let sources = change.sources.is_some();
        assert_eq!(sources, file.ends_with("main.py"), "{file}");
        host.answer(&question.id, Answer::No).unwrap();
        // The twin: put back, the old yes holds again.
        match before {
            Some(before) => drop(place.write(file, before)),
            None => std::fs::remove_file(place.path(file)).unwrap(),
        }
        assert!(
            is_permitted(&host, &policy, request(&place, "main.py")),
            "{file}"
        );
    }
    setup::prepare(place.root(), "symlink lib.py skill/scripts/alias.py").unwrap();
    assert!(!is_permitted(&host, &policy, request(&place, "main.py")));
}

fn more_grants_ask_again_and_are_named() {
    let place = Place::with_script(ADDS);
    place.write("data/a", "");
    let host = host(&place);
    let grant = format!("read:{}", place.text("data"));
    let policy = policy(&format!("allow = [\"{grant}\", \"env:X\"]"));
    let question = open(&host, &policy, request(&place, "main.py"));
    answered(&host, &question, Answer::YesInSession);
    let with = |grants: &[&str], env: &[&str]| Request {
        grants: grants.iter().map(|text| text.parse().unwrap()).collect(),
        env: env
            .iter()
            .map(|name| ((*name).into(), "v".into()))
            .collect(),
        ..request(&place, "main.py")
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
    answered(&host, &question, Answer::YesInSession);
    // In the session, what was approved with more covers less.
    assert!(is_permitted(&host, &policy, with(&[], &["X"])));
}

fn a_yes_in_one_world_is_none_in_another() {
    let place = Place::with_script(ADDS);
    let host = host(&place);
    let policy = Policy::default();
    let of = |world: &str| Request {
        world: world.into(),
        ..request(&place, "main.py")
    };
    let question = open(&host, &policy, of("a"));
    answered(&host, &question, Answer::YesOnce);
    assert!(is_permitted(&host, &policy, of("a")));
    assert!(!is_permitted(&host, &policy, of("b")));
}

fn told(error: AnswerError) -> String {
    error.to_string()
}

fn ad_6_an_answer_to_an_unknown_expired_or_answered_question_is_told_apart() {
    let place = Place::with_script(ADDS);
    let host = host(&place);
    let unknown = host.answer("nobody\nasked", Answer::YesOnce).unwrap_err();
    assert_eq!(told(unknown), "there is no question `nobody\\nasked`");
    let question = open(&host, &Policy::default(), request(&place, "main.py"));
    answered(&host, &question, Answer::YesOnce);
    for again in Answer::ALL {
        let error = told(host.answer(&question.id, again).unwrap_err());
        assert_eq!(
            error,
            format!("question `{}` is already answered", question.id)
        );
    }
    assert_eq!(events(&place), ["approved"]);
    let late = quick(&place);
    place.write("skill/new", "");
    let question = open(&late, &Policy::default(), request(&place, "main.py"));
    let error = told(late.answer(&question.id, Answer::YesOnce).unwrap_err());
    assert_eq!(error, format!("question `{}` has expired", question.id));
    assert_eq!(late.approvals().list().unwrap().len(), 1);
}

/// A host that gives no time to answer.
fn quick(place: &Place) -> Host {
    let approvals = Approvals::file(place.path("state/skillrun/approvals.db"));
    Host::new(Settings {
        cache: shared_cache().join("skillrun"),
        audit: AuditLog::file(place.path("state/skillrun/audit.jsonl")),
        approvals: approvals.timeout(Duration::ZERO),
        sealed: vec![],
        slots: None,
    })
}

fn ad_6_a_question_that_nobody_answers_in_time_is_refused_and_recorded() {
    let place = Place::with_script(ADDS);
    let host = quick(&place);
    open(&host, &Policy::default(), request(&place, "main.py"));
    assert_eq!(host.questions().unwrap(), []);
    let log = place.audit();
    assert_eq!(log[0]["event"], "refused");
    assert_eq!(
        log[0]["reason"],
        "`scripts/main.py` of skill `skill` was not approved: nobody answered in time"
    );
}

fn an_option_that_does_not_exist_is_no_answer() {
    for text in ["yes", "YES_ONCE", "", "yes_once ", "no\n", "y"] {
        let error = text.parse::<Answer>().unwrap_err();
        assert!(matches!(error, AnswerError::NoSuchOption { .. }), "{text}");
    }
    assert_eq!(
        told("yes\u{1b}".parse::<Answer>().unwrap_err()),
        "`yes\\u{1b}` is no answer: yes_once, yes_in_session or no"
    );
    for answer in Answer::ALL {
        assert_eq!(answer.word().parse::<Answer>().unwrap(), answer);
    }
}

fn two_questions_at_once_are_answered_each_by_itself() {
    let place = Place::with_script(ADDS);
    let host = host(&place);
    let policy = policy("approval = \"always\"");
    let first = open(&host, &policy, request(&place, "main.py"));
    let second = open(&host, &policy, request(&place, "main.py"));
    assert_ne!(first.id, second.id);
    assert_eq!(host.questions().unwrap(), [*first.clone(), *second.clone()]);
    refusal(answered(&host, &second, Answer::No));
    assert_eq!(
        runs(&host, answered(&host, &first, Answer::YesOnce)),
        "ran\n"
    );
}

fn more_questions_than_can_wait_are_refused() {
    let place = Place::with_script(ADDS);
    let host = host(&place);
    let policy = policy("approval = \"always\"");
    let first = open(&host, &policy, request(&place, "main.py"));
    for _ in 1..256 {
        open(&host, &policy, request(&place, "main.py"));
    }
    let refusal = refusal(host.decide(&policy, request(&place, "main.py")).unwrap());
    assert_eq!(
        refusal.message,
        "`scripts/main.py` of skill `skill` was not approved: too many questions wait for an answer"
    );
    answered(&host, &first, Answer::No);
    open(&host, &policy, request(&place, "main.py"));
}

fn scripts_that_belong_together_share_one_question() {
    let place = Place::with_script(ADDS);
    place.write("skill/scripts/b.py", "print('b')\n");
    let host = host(&place);
    let wanted = ["main.py", "nowhere.py", "b.py"].map(|name| request(&place, name));
    let decisions = host.decide_all(&Policy::default(), wanted.into()).unwrap();
    let [
        Decision::Open(first),
        Decision::Refused(missing),
        Decision::Open(last),
    ] = &decisions[..]
    else {
        panic!("{decisions:?}")
    };
    assert_eq!((first, missing.check), (last, Check::Script));
    let scripts: Vec<&str> = first.scripts.iter().map(|s| s.script.as_str()).collect();
    assert_eq!(scripts, ["scripts/main.py", "scripts/b.py"]);
    let decided = host.answer(&first.id, Answer::YesOnce).unwrap().into_iter();
    let printed: Vec<String> = decided.map(|decision| runs(&host, decision)).collect();
    assert_eq!(printed, ["ran\n", "b\n"]);
    assert_eq!(host.approvals().list().unwrap().len(), 2);
}

fn a_session_of_an_odd_name_is_one_line_in_the_log() {
    let place = Place::with_script(ADDS);
    let host = host(&place);
    let odd = Request {
        world: "a\nb".into(),
        chat: "\u{1b}[2J\"}\n{".into(),
        ..request(&place, "main.py")
    };
    let question = open(&host, &Policy::default(), odd);
    answered(&host, &question, Answer::YesInSession);
    let log = place.audit();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["chat"], "\u{1b}[2J\"}\n{");
    let endless = Request {
        chat: "c".repeat(1025),
        ..request(&place, "main.py")
    };
    let refused = refusal(host.decide(&Policy::default(), endless).unwrap());
    assert_eq!(
        refused.message,
        "the chat has a name of more than 1024 bytes"
    );
    let other = Request {
        world: "a".into(),
        chat: "b\u{1b}[2J\"}\n{".into(),
        ..request(&place, "main.py")
    };
    assert!(!is_permitted(
        &host,
        &policy("approval = \"always\""),
        other
    ));
}

/// What a host says about its approvals, with what would help.
fn broken(place: &Place) -> (String, String) {
    let error = host(place).decide(&Policy::default(), request(place, "main.py"));
    match error.unwrap_err() {
        Error::Approvals { why, hint, .. } => (why, hint.unwrap_or_default()),
        other => panic!("{other:?}"),
    }
}

const FILE: &str = "state/skillrun/approvals.db";

fn approved_once(place: &Place) {
    let host = host(place);
    let question = open(&host, &Policy::default(), request(place, "main.py"));
    answered(&host, &question, Answer::YesOnce);
}

fn a_damaged_file_of_approvals_refuses_and_stays_as_it_is() {
    let place = Place::with_script(ADDS);
    approved_once(&place);
    let good = std::fs::read(place.path(FILE)).unwrap();
    let mut damaged = good.clone();
    damaged[4096..].fill(0xa5);
    for bytes in [b"this was never a database at all".to_vec(), damaged] {
        std::fs::write(place.path(FILE), &bytes).unwrap();
        let (why, hint) = broken(&place);
        assert_eq!(why, "is damaged");
        assert!(hint.contains(".recover` may save"), "{hint}");
        assert_eq!(std::fs::read(place.path(FILE)).unwrap(), bytes);
        let end = place.end(&["approvals", "list"]);
        assert_eq!(end.code, 126, "{}", end.stderr);
        assert!(end.stderr.contains("is damaged\nhint: "), "{}", end.stderr);
    }
    // A person's own yes needs no file.
    assert_eq!(place.run(&[]).code, 0);
    std::fs::write(place.path(FILE), good).unwrap();
    assert!(is_permitted(
        &host(&place),
        &Policy::default(),
        request(&place, "main.py")
    ));
}

fn a_file_of_approvals_that_others_may_write_is_refused() {
    let place = Place::with_script(ADDS);
    approved_once(&place);
    let mode = |mode| {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path(FILE), mode).unwrap();
    };
    mode(0o666);
    assert_eq!(
        broken(&place).0,
        "is open to other users, who may have written it"
    );
    mode(0o600);
    assert!(is_permitted(
        &host(&place),
        &Policy::default(),
        request(&place, "main.py")
    ));
}

fn what_is_no_file_of_approvals_is_refused_without_waiting_for_it() {
    for step in [
        "fifo",
        "dir",
        "socket",
        "symlink nowhere",
        "symlink /dev/zero",
    ] {
        let place = Place::with_script(ADDS);
        std::fs::create_dir(place.path("state/skillrun")).unwrap();
        setup::prepare(place.root(), &format!("{step} {FILE}")).unwrap();
        assert_eq!(broken(&place).0, "is not a file", "{step}");
    }
}

fn a_file_of_approvals_that_is_held_refuses_and_loses_nothing() {
    let place = Place::with_script(ADDS);
    approved_once(&place);
    // SQLite's own lock: the byte at 2^30, for writing, of a process that does not let go.
    let holder = "import fcntl, sys\nf = open(sys.argv[1], 'r+b')\n\
                  fcntl.lockf(f, fcntl.LOCK_EX, 512, 2**30)\nprint('held', flush=True)\nsys.stdin.read()\n";
    let mut child = std::process::Command::new("python3")
        .args(["-c", holder, &place.text(FILE)])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut held = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut held).unwrap();
    assert_eq!(held, "held\n");
    assert_eq!(broken(&place).0, "is held by another process");
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(is_permitted(
        &host(&place),
        &Policy::default(),
        request(&place, "main.py")
    ));
}

fn many_hosts_approve_at_once_and_lose_nothing() {
    const HOSTS: usize = 8;
    let place = Place::new();
    place.write("skill/SKILL.md", SKILL_MD);
    for number in 0..HOSTS {
        place.write(&format!("skill/scripts/s{number}.py"), ADDS);
    }
    std::thread::scope(|scope| {
        for number in 0..HOSTS {
            let place = &place;
            scope.spawn(move || {
                let host = host(place);
                let wanted = request(place, &format!("s{number}.py"));
                let question = open(&host, &Policy::default(), wanted);
                answered(&host, &question, Answer::YesOnce);
            });
        }
    });
    assert_eq!(host(&place).approvals().list().unwrap().len(), HOSTS);
}

fn a_skill_too_large_to_watch_is_refused_and_says_why() {
    type Make = fn(&Place);
    let cases: [(Make, &str); 4] = [
        (
            |place| drop(place.write(&format!("skill/{}x", "d/".repeat(70)), "")),
            "it has more than 64 levels of folders",
        ),
        (
            |place| {
                let first = place.write("skill/data/first", "");
                for n in 0..20_000 {
                    std::fs::hard_link(&first, place.path(&format!("skill/data/{n}"))).unwrap();
                }
            },
            "it holds more than 20000 files",
        ),
        (
            |place| {
                let file = std::fs::File::create(place.path("skill/model")).unwrap();
                file.set_len((256 << 20) + 1).unwrap();
            },
            "`model` is beyond the 256MiB that are looked at",
        ),
        (
            |place| setup::prepare(place.root(), "fifo skill/pipe").unwrap(),
            "`pipe` is a FIFO or a device",
        ),
    ];
    for (make, why) in cases {
        let place = Place::with_script(ADDS);
        make(&place);
        let host = host(&place);
        let decision = host.decide(&Policy::default(), request(&place, "main.py"));
        let refusal = refusal(decision.unwrap());
        assert_eq!(
            (refusal.check, refusal.message, refusal.hint),
            (
                Check::Approval,
                format!(
                    "`scripts/main.py` of skill `skill` was not approved: a change of the skill would not be noticed: {why}"
                ),
                Some(
                    "make the skill smaller, or type `skillrun run`, or set approval = \"never\" for it in skillrun.toml"
                        .into()
                )
            )
        );
        assert_eq!(events(&place), ["refused"]);
        // Nobody approves by a hash what a person types, or what the policy lets run unasked.
        let typed = Request::typed(&skill(&place), "main.py");
        let decision = host.decide(&Policy::default(), typed).unwrap();
        assert_eq!(runs(&host, decision), "ran\n");
        let never = policy("approval = \"never\"");
        let decision = host.decide(&never, request(&place, "main.py")).unwrap();
        assert_eq!(runs(&host, decision), "ran\n");
    }
}

fn a_question_whose_time_has_passed_can_still_be_declined() {
    let place = Place::with_script(ADDS);
    let host = quick(&place);
    let question = open(&host, &Policy::default(), request(&place, "main.py"));
    let refused = host
        .decline(&question.id, "nobody answered in time")
        .unwrap();
    assert!(matches!(refused[..], [Decision::Refused(_)]), "{refused:?}");
    assert_eq!(events(&place), ["refused"]);
}

fn a_yes_that_cannot_be_kept_is_recorded_as_a_refusal() {
    let place = Place::with_script(ADDS);
    let host = host(&place);
    let question = open(&host, &Policy::default(), request(&place, "main.py"));
    // Since the question was asked, something else lies where the file should be.
    std::fs::create_dir_all(place.path("state/skillrun/approvals.db")).unwrap();
    let error = host.answer(&question.id, Answer::YesOnce).unwrap_err();
    assert!(matches!(error, AnswerError::Host(Error::Approvals { .. })));
    assert_eq!(events(&place), ["approved", "refused"]);
}

fn a_yes_is_recorded_with_what_it_was_given_to() {
    let place = Place::with_script(ADDS);
    std::fs::create_dir(place.path("one")).unwrap();
    let host = host(&place);
    let wanted = Request {
        workspace: Some(place.path("one")),
        ..request(&place, "main.py")
    };
    let question = open(&host, &Policy::default(), wanted);
    answered(&host, &question, Answer::YesInSession);
    let line = &place.audit()[0];
    for (key, value) in [
        ("event", "approved"),
        ("answer", "yes_in_session"),
        ("question", &question.id),
        ("script_hash", &question.scripts[0].sha256),
        ("content_hash", question.content_hash.as_ref().unwrap()),
        ("workspace", &place.text("one")),
    ] {
        assert_eq!(line[key], value, "{key}");
    }
}
