//! The library as a server embeds it: decisions apart from runs, and what it refuses.

use crate::place::{Place, SKILL_MD, shared_cache};
use crate::setup;
use skillrun::{
    Approvals, AuditLog, Check, Decision, Error, Host, Limits, Permit, Policy, Refusal, Request,
    Settings, Skill,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

trials! {
    a_script_exchanged_for_a_link_outside_after_the_decision_does_not_run,
    a_script_exchanged_for_a_link_inside_after_the_decision_does_not_run,
    a_script_rewritten_after_the_decision_does_not_run,
    a_script_removed_after_the_decision_is_no_crash,
    a_nul_byte_in_an_argument_is_refused,
    a_nul_byte_in_a_script_name_is_not_found,
    a_nul_byte_in_a_variable_is_refused,
    arguments_and_input_beyond_their_limit_are_refused,
    a_limit_beyond_the_policy_is_refused,
    a_grant_that_the_policy_lacks_is_refused,
    a_limit_out_of_range_is_refused,
    an_audit_sink_that_fails_stops_everything,
    what_one_tenant_asks_for_is_recorded_with_its_name,
    a_skill_that_changes_after_its_digest_was_compared_does_not_run,
    an_embedder_says_where_bare_names_count,
}

/// A host that keeps its log in the place.
pub(crate) fn host(place: &Place) -> Host {
    host_of(place, None)
}

/// The same with room for `slots` runs at once.
pub(crate) fn host_of(place: &Place, slots: Option<u32>) -> Host {
    Host::new(Settings {
        cache: shared_cache().join("skillrun"),
        audit: AuditLog::file(place.path("state/skillrun/audit.jsonl")),
        approvals: Approvals::file(place.path("state/skillrun/approvals.db")),
        sealed: vec![],
        slots,
    })
}

pub(crate) fn skill(place: &Place) -> Arc<Skill> {
    Arc::new(Skill::load(place.path("skill")).unwrap())
}

pub(crate) fn permitted(host: &Host, policy: &Policy, request: Request) -> Permit {
    match host.decide(policy, request).unwrap() {
        Decision::Permitted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn refused(place: &Place, policy: &Policy, request: Request) -> Refusal {
    match host(place).decide(policy, request).unwrap() {
        Decision::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Decides on a script that prints `decided`, does the steps, runs it, and returns what it printed.
fn exchanged(steps: &str) -> (String, Place) {
    let place = Place::with_script("print('decided')\n");
    place.write("skill/scripts/other.py", "print('other')\n");
    place.write("outside.py", "print('outside')\n");
    let host = host(&place);
    let permit = permitted(
        &host,
        &Policy::default(),
        Request::typed(&skill(&place), "main.py"),
    );
    let decided = permit.script_hash().to_owned();
    setup::prepare(place.root(), steps).unwrap();
    let printed = match block_on(host.run(permit)) {
        Ok(outcome) => outcome.stdout,
        Err(error) => format!("refused: {error}"),
    };
    for line in place.audit() {
        assert_eq!(line["script_hash"], decided);
    }
    (printed, place)
}

/// What was decided on ran, or nothing did.
fn decided_or_nothing(printed: &str) {
    let nothing = printed.is_empty() || printed.starts_with("refused: ");
    assert!(nothing || printed == "decided\n", "ran instead: {printed}");
}

fn a_script_exchanged_for_a_link_outside_after_the_decision_does_not_run() {
    let (printed, place) =
        exchanged("remove skill/scripts/main.py\nsymlink ../../outside.py skill/scripts/main.py");
    decided_or_nothing(&printed);
    // The twin: the link is what a new decision refuses.
    let refusal = refused(
        &place,
        &Policy::default(),
        Request::typed(&skill(&place), "main.py"),
    );
    assert_eq!(refusal.check, Check::Path);
}

fn a_script_exchanged_for_a_link_inside_after_the_decision_does_not_run() {
    let (printed, place) =
        exchanged("remove skill/scripts/main.py\nsymlink other.py skill/scripts/main.py");
    decided_or_nothing(&printed);
    assert_eq!(place.run(&[]).stdout, "other\n");
}

fn a_script_rewritten_after_the_decision_does_not_run() {
    let (printed, place) = exchanged("copy skill/scripts/other.py skill/scripts/main.py");
    decided_or_nothing(&printed);
    assert_eq!(place.run(&[]).stdout, "other\n");
}

fn a_script_removed_after_the_decision_is_no_crash() {
    let (printed, _) = exchanged("remove skill/scripts/main.py");
    decided_or_nothing(&printed);
}

fn a_nul_byte_in_an_argument_is_refused() {
    let place = Place::with_script("");
    let args = vec!["fine".to_owned(), "a\0b".to_owned()];
    let request = Request {
        args,
        ..Request::typed(&skill(&place), "main.py")
    };
    let refusal = refused(&place, &Policy::default(), request);
    assert_eq!(refusal.to_string(), "error: argument 2 holds a NUL byte");
    assert_eq!(refusal.exit_code(), 125);
}

fn a_nul_byte_in_a_script_name_is_not_found() {
    let place = Place::with_script("");
    let request = Request::typed(&skill(&place), "main.py\0.txt");
    let refusal = refused(&place, &Policy::default(), request);
    assert_eq!(
        refusal.message,
        "script `main.py\\u{0}.txt` not found in skill `skill`"
    );
    assert_eq!(refusal.exit_code(), 127);
}

fn a_nul_byte_in_a_variable_is_refused() {
    let place = Place::with_script("");
    let policy = Policy::default().and_allow(["env:NAME".parse().unwrap()]);
    let request = |value: &str| Request {
        env: vec![("NAME".into(), value.into())],
        ..Request::typed(&skill(&place), "main.py")
    };
    let refusal = refused(&place, &policy, request("a\0b"));
    assert_eq!(refusal.message, "the variable `NAME` holds a NUL byte");
    permitted(&host(&place), &policy, request("ab"));
}

fn arguments_and_input_beyond_their_limit_are_refused() {
    let place = Place::with_script("");
    let most = 10 << 20;
    let asks = |args: Vec<String>, letters: Option<usize>| Request {
        args,
        input: letters.map(|n| serde_json::Value::String("x".repeat(n))),
        ..Request::typed(&skill(&place), "main.py")
    };
    let hint = "\nhint: pass large data as a file in the workspace";
    for (request, message) in [
        (
            asks(vec!["x".repeat(most)], None),
            "arguments too large: a command line of 10485761 bytes, at most 10MiB",
        ),
        (
            asks(vec![], Some(most - 1)),
            "arguments too large: an input of 10485761 bytes, at most 10MiB",
        ),
    ] {
        let refusal = refused(&place, &Policy::default(), request);
        assert_eq!(refusal.to_string(), format!("error: {message}{hint}"));
        assert_eq!(refusal.exit_code(), 125);
    }
    let host = host(&place);
    permitted(
        &host,
        &Policy::default(),
        asks(vec!["x".repeat(most - 1)], None),
    );
    permitted(&host, &Policy::default(), asks(vec![], Some(most - 2)));
}

fn a_limit_beyond_the_policy_is_refused() {
    let place = Place::with_script("");
    let policy = Policy::parse("[limits]\ntime = \"10s\"\n", Path::new("/")).unwrap();
    let asks = |seconds| Request {
        limits: Some(Limits {
            time: Duration::from_secs(seconds),
            ..Limits::default()
        }),
        ..Request::typed(&skill(&place), "main.py")
    };
    let refusal = refused(&place, &policy, asks(11));
    assert_eq!(
        refusal.to_string(),
        "refused: the policy allows at most `10s` of time\n\
         hint: write time = \"11s\" under [limits] in skillrun.toml"
    );
    assert_eq!(refusal.exit_code(), 126);
    permitted(&host(&place), &policy, asks(10));
}

fn a_grant_that_the_policy_lacks_is_refused() {
    let place = Place::with_script("");
    place.write("data/a.txt", "");
    let grant: skillrun::Grant = format!("read:{}", place.text("data")).parse().unwrap();
    let request = || Request {
        grants: vec![grant.clone()],
        ..Request::typed(&skill(&place), "main.py")
    };
    let refusal = refused(&place, &Policy::default(), request());
    assert_eq!(
        refusal.to_string(),
        format!(
            "refused: `{grant}` is not granted to skill `skill`\n\
             hint: add \"{grant}\" to `allow` in skillrun.toml, or pass --allow {grant}"
        )
    );
    let policy = Policy::default().and_allow([grant.clone()]);
    permitted(&host(&place), &policy, request());
}

fn a_limit_out_of_range_is_refused() {
    let place = Place::with_script("");
    let request = Request {
        limits: Some(Limits {
            time: Duration::ZERO,
            ..Limits::default()
        }),
        ..Request::typed(&skill(&place), "main.py")
    };
    let refusal = refused(&place, &Policy::default(), request);
    assert_eq!(refusal.message, "time `0s` is out of range: 1s to 600s");
    assert_eq!(refusal.exit_code(), 125);
}

fn an_audit_sink_that_fails_stops_everything() {
    let place = Place::with_script("open('ran', 'w')\n");
    place.write("workspace/a", "");
    let full = AuditLog::sink(|_| Err(std::io::ErrorKind::StorageFull.into()));
    let host = Host::new(Settings {
        cache: shared_cache().join("skillrun"),
        audit: full,
        approvals: Approvals::file(place.path("state/skillrun/approvals.db")),
        sealed: vec![],
        slots: None,
    });
    let request = Request {
        workspace: Some(place.path("workspace")),
        ..Request::typed(&skill(&place), "main.py")
    };
    let permit = permitted(&host, &Policy::default(), request);
    let error = block_on(host.run(permit)).unwrap_err();
    assert!(matches!(error, Error::Audit { .. }), "{error}");
    assert!(!place.path("workspace/ran").exists());
}

fn what_one_tenant_asks_for_is_recorded_with_its_name() {
    let place = Place::with_script("");
    place.write("other/SKILL.md", SKILL_MD);
    let host = host(&place);
    let request = Request {
        world: "tenant-7".into(),
        chat: "chat-9".into(),
        ..Request::typed(&skill(&place), "main.py")
    };
    let permit = permitted(&host, &Policy::default(), request);
    let run_id = permit.run_id().to_owned();
    let outcome = block_on(host.run(permit)).unwrap();
    assert_eq!(outcome.run_id, run_id);
    for line in place.audit() {
        assert_eq!(line["run_id"], run_id);
        assert_eq!(
            (&line["world"], &line["chat"]),
            (&"tenant-7".into(), &"chat-9".into())
        );
    }
}

fn a_skill_that_changes_after_its_digest_was_compared_does_not_run() {
    let place = Place::with_script("print('it ran')\n");
    let (host, skill) = (host(&place), skill(&place));
    let text = format!(
        "[skill.\"./skill\"]\napproval = \"never\"\ndigest = \"{}\"\n",
        skill.digest().unwrap()
    );
    let policy = Policy::parse(&text, place.root()).unwrap();
    let permit = || permitted(&host, &policy, Request::new(&skill, "main.py"));
    let (late, twin) = (permit(), permit());
    assert_eq!(block_on(host.run(twin)).unwrap().stdout, "it ran\n");
    // Not the script itself, but something that it could import.
    place.write("skill/scripts/sitecustomize.py", "print('evil')\n");
    match block_on(host.run(late)) {
        Err(Error::Changed(what)) => assert_eq!(what, "`scripts/main.py` of skill `skill`"),
        other => panic!("{other:?}"),
    }
    let log = place.audit();
    assert_eq!(log.last().unwrap()["event"], "refused");
}

fn an_embedder_says_where_bare_names_count() {
    let place = Place::with_script("");
    let text = "[skill.skill]\napproval = \"never\"\n";
    let policy = Policy::parse(text, place.root()).unwrap();
    let refusal = refused(&place, &policy, Request::new(&skill(&place), "main.py"));
    assert_eq!(refusal.check, Check::Policy);
    let own = policy.with_skill_dirs([place.root().to_owned()]);
    permitted(&host(&place), &own, Request::new(&skill(&place), "main.py"));
}
