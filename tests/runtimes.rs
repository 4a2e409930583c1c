//! A runtime that an embedding program adds, for a language of its own.

use crate::env::{SKILL_MD, TestEnv, shared_cache};
use crate::library::{block_on, permitted};
use skillrun::outcome::{Enforcement, Isolation, LimitEnforcement, Usage};
use skillrun::runtime::{BoxFuture, Ended, RunContext, RunsIn, Runtime};
use skillrun::skill::CustomLanguage;
use skillrun::{
    Approvals, AuditLog, Check, Decision, Error, Grant, Host, Language, Live, Permit, Plan, Policy,
    Refusal, Request, Settings, Skill, Status, Tier,
};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

tests! {
    a_runtime_that_was_added_runs_scripts_of_a_language_that_was_added,
    two_runtimes_of_one_name_are_an_error,
    a_language_without_a_runtime_is_refused,
    a_run_in_an_added_runtime_waits_for_a_slot_and_can_be_stopped_there,
    what_an_added_runtime_leaves_in_its_scratch_directory_is_removed_before_its_slot_is_free,
    dropping_the_handle_of_a_run_stops_an_added_runtime_that_does_not_listen,
}

static LANGUAGES: [CustomLanguage; 1] = [CustomLanguage {
    word: "shout",
    extension: "shout",
    interpreter: "shout",
}];

/// Prints a script and its arguments in capitals. The script `wait` waits first, and `litter` fills its scratch directory.
#[derive(Default)]
struct Shout {
    /// Notified when `wait` has begun.
    begun: Notify,
    /// Ends `wait`.
    go_on: Notify,
    scratch: Mutex<Option<OwnedFd>>,
}

impl Runtime for Shout {
    fn name(&self) -> &'static str {
        "shout"
    }

    fn runs(&self, language: Language, tier: Tier) -> RunsIn {
        match language == Language::Custom(&LANGUAGES[0]) && tier != Tier::Native {
            true => RunsIn::Wasm,
            false => RunsIn::Nowhere,
        }
    }

    fn can_enforce(&self, _: &Plan) -> Result<(), Refusal> {
        Ok(())
    }

    fn isolation(&self) -> Isolation {
        Isolation {
            tier: "shout",
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
            let plan = permit.plan();
            let source = String::from_utf8_lossy(plan.source().unwrap_or_default());
            if source.trim() == "wait" {
                self.begun.notify_one();
                self.go_on.notified().await;
            }
            *self.scratch.lock().unwrap() = context.scratch().ok();
            if source.trim() == "litter" {
                let scratch = context.scratch().unwrap();
                for number in 0..200 {
                    let mode = rustix::fs::Mode::RWXU;
                    rustix::fs::mkdirat(&scratch, number.to_string(), mode).unwrap();
                }
            }
            let text = format!("{} {:?}\n", source.trim().to_uppercase(), plan.args());
            context.stdout.write(text).await;
            Ok(Ended {
                status: Status::Exited,
                exit_code: 0,
                signal: None,
                time: Duration::ZERO,
                usage: Usage::default(),
                denied: Vec::new(),
                denied_truncated: false,
                artifacts: Vec::new(),
                artifacts_truncated: false,
                isolation: self.isolation(),
                warnings: Vec::new(),
                limits_hit: Vec::new(),
            })
        })
    }
}

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    env.write("skill/scripts/say.shout", "hello\n");
    env.write("skill/scripts/wait.shout", "wait\n");
    env.write("skill/scripts/litter.shout", "litter\n");
    env
}

fn host(env: &TestEnv, runtimes: Vec<Arc<dyn Runtime>>) -> Host {
    Host::with_runtimes(settings(env), runtimes).unwrap()
}

fn settings(env: &TestEnv) -> Settings {
    Settings {
        cache: shared_cache().join("skillrun"),
        audit: AuditLog::file(env.path("state/skillrun/audit.jsonl")),
        approvals: Approvals::memory(),
        protected: vec![],
        slots: Some(1),
        workers: Default::default(),
    }
}

/// A policy that allows the interpreter.
fn policy() -> Policy {
    Policy::default().and_allow(vec![Grant::Interpreter("shout".into())])
}

fn request(env: &TestEnv, script: &str) -> Request {
    let skill = Skill::load_with(env.path("skill"), &LANGUAGES).unwrap();
    Request::typed(&Arc::new(skill), script)
}

fn a_runtime_that_was_added_runs_scripts_of_a_language_that_was_added() {
    let env = env();
    let runtime = Arc::new(Shout::default());
    let host = host(&env, vec![Arc::clone(&runtime) as _]);
    let request = Request {
        args: vec!["a b".into()],
        ..request(&env, "say")
    };
    let permit = permitted(&host, &policy(), request);
    assert_eq!(permit.plan().runtime(), "shout");
    let outcome = block_on(async {
        let outcome = host.run(permit).await.unwrap();
        host.clean_up().await;
        outcome
    });
    assert_eq!(outcome.stdout, "HELLO [\"a b\"]\n");
    assert_eq!(
        (outcome.runtime.as_str(), outcome.isolation.tier),
        ("shout", "shout")
    );
    let events = env.audit();
    let events = events.iter().map(|line| line["event"].as_str().unwrap());
    assert_eq!(events.collect::<Vec<_>>(), ["started", "finished"]);
    // Its scratch directory was made for it, and is gone.
    let scratch = runtime.scratch.lock().unwrap().take().unwrap();
    assert_eq!(rustix::fs::fstat(&scratch).unwrap().st_nlink, 0);
    // The same checks apply as to every script.
    let refusal = match host
        .blocking()
        .decide(&Policy::default(), self::request(&env, "say"))
    {
        Ok(Decision::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal.check, Check::Interpreter);
}

fn two_runtimes_of_one_name_are_an_error() {
    let runtime = || Arc::new(Shout::default()) as Arc<dyn Runtime>;
    let made = Host::with_runtimes(settings(&env()), vec![runtime(), runtime()]);
    let why = "two runtimes are named `shout`";
    assert_eq!(made.unwrap_err().to_string(), why);
}

fn a_language_without_a_runtime_is_refused() {
    let env = env();
    let host = host(&env, vec![]);
    match host.blocking().decide(&policy(), request(&env, "say")) {
        Ok(Decision::Refused(refusal)) => assert_eq!(
            (refusal.check, refusal.message.as_str()),
            (
                Check::Runtime,
                "no runtime for shout script `scripts/say.shout`"
            )
        ),
        other => panic!("{other:?}"),
    }
    // Without the language, the file is not a script.
    let skill = Arc::new(Skill::load(env.path("skill")).unwrap());
    assert!(skill.scripts().is_empty());
}

fn a_run_in_an_added_runtime_waits_for_a_slot_and_can_be_stopped_there() {
    let env = env();
    let runtime = Arc::new(Shout::default());
    let host = host(&env, vec![Arc::clone(&runtime) as _]);
    let permit = |script| permitted(&host, &policy(), request(&env, script));
    let (first, second, third) = (permit("wait"), permit("say"), permit("say"));
    block_on(async {
        let holder = tokio::spawn({
            let host = host.clone();
            async move { host.run(first).await.unwrap() }
        });
        runtime.begun.notified().await;
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let live = Live {
            stop: Some(Box::pin(async move { drop(stopped.await) })),
            ..Live::default()
        };
        let waits = async {
            // Both are recorded as started; the second cannot run before the first has ended.
            while env.audit().len() < 2 {
                tokio::task::yield_now().await;
            }
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            drop(stop);
        };
        let (cancelled, ()) = tokio::join!(host.run_live(second, live), waits);
        let cancelled = cancelled.unwrap();
        assert_eq!(
            (cancelled.status, cancelled.exit_code),
            (Status::Cancelled, 130)
        );
        assert_eq!(
            (cancelled.stdout.as_str(), cancelled.isolation.tier),
            ("", "shout")
        );
        runtime.go_on.notify_one();
        assert_eq!(holder.await.unwrap().stdout, "WAIT []\n");
        assert_eq!(host.run(third).await.unwrap().stdout, "HELLO []\n");
    });
}

fn what_an_added_runtime_leaves_in_its_scratch_directory_is_removed_before_its_slot_is_free() {
    let env = env();
    let runtime = Arc::new(Shout::default());
    let host = host(&env, vec![Arc::clone(&runtime) as _]);
    let permit = |script| permitted(&host, &policy(), request(&env, script));
    let (litter, say) = (permit("litter"), permit("say"));
    block_on(async {
        assert_eq!(host.run(litter).await.unwrap().stdout, "LITTER []\n");
        assert_eq!(host.clean_up().await, None);
        let scratch = runtime.scratch.lock().unwrap().take().unwrap();
        assert_eq!(rustix::fs::fstat(&scratch).unwrap().st_nlink, 0);
        // There is one slot.
        assert_eq!(host.run(say).await.unwrap().stdout, "HELLO []\n");
    });
}

fn dropping_the_handle_of_a_run_stops_an_added_runtime_that_does_not_listen() {
    let env = env();
    let runtime = Arc::new(Shout::default());
    let host = host(&env, vec![Arc::clone(&runtime) as _]);
    let permit = |script| permitted(&host, &policy(), request(&env, script));
    let (wait, say) = (permit("wait"), permit("say"));
    block_on(async {
        let run = host.start(wait);
        runtime.begun.notified().await;
        drop(run);
        assert_eq!(host.clean_up().await, None);
        let events = env.audit();
        assert_eq!(events.last().unwrap()["event"], "aborted");
        assert_eq!(host.run(say).await.unwrap().stdout, "HELLO []\n");
    });
}
