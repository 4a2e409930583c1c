//! The host: one per process, shared by every task that runs scripts.
//!
//! Decisions and answers read files, ask the approvals database and probe the machine. They do so on a blocking thread, so
//! that the caller's thread never waits.

mod decide;
mod run;

use crate::approval::{Answer, AnswerError, Approvals, Question};
use crate::audit::{AuditLog, RunInfo};
use crate::decision::{Decision, Permit};
use crate::error::{Error, RunError};
use crate::outcome::Outcome;
use crate::plan::{Plan, RunsIn, Runtimes};
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::request::{Request, Tier};
use crate::runtime::cache::Cache;
use crate::runtime::native::{Native, NativeState};
use crate::runtime::scratch::Scratches;
use crate::runtime::slots::Slots;
use crate::runtime::wasm::{Interpreter, Transpiler, Wasm};
use crate::runtime::{Live, Runtime, RuntimeState};
use crate::skill::Language;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where the host keeps what outlives it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The owner-only directory for guests compiled for this machine.
    pub cache: PathBuf,
    /// Where every run and every refusal is recorded.
    pub audit: AuditLog,
    /// What people have approved.
    pub approvals: Approvals,
    /// Further paths that no script may write, whatever directory it was granted.
    pub protected: Vec<PathBuf>,
    /// How many scripts may run at the same time in each interpreter; further ones wait. Memory for that many
    /// is reserved ahead, which makes every start cheaper and lets threads run side by side: right
    /// for a server; 0 counts as 1. `None` sets no such limit and reserves nothing: right for a single run.
    pub slots: Option<u32>,
}

/// Runs the scripts of skills. One is enough for a process; clones share it.
///
/// An outcome is returned as soon as a script has ended. If the script left many files in its scratch
/// directory, they are removed after that. Dropping the last clone waits until they are removed.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    audit: AuditLog,
    approvals: Approvals,
    /// The first that executes a language is used.
    runtimes: Vec<Registered>,
    python: Arc<Wasm>,
    javascript: Arc<Wasm>,
    typescript: Arc<Transpiler>,
    native: Arc<Native>,
    scratches: Arc<Scratches>,
    /// Runs that are recorded as started and not as ended, by run id.
    running: Mutex<HashMap<String, Arc<Permit>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.scratches.wait_for_ended();
    }
}

/// A runtime and its slots.
struct Registered {
    runtime: Arc<dyn Runtime>,
    slots: Slots,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("audit", &self.inner.audit)
            .finish_non_exhaustive()
    }
}

/// The decisions about requests that belong together. Every request is in one of the two lists, by its index.
#[derive(Debug, Default)]
pub struct Batch {
    /// Requests that are permitted or refused.
    pub decided: Vec<(usize, Decision)>,
    /// Requests that wait for a person.
    pub questions: Vec<BatchQuestion>,
}

/// A question that requests of a batch share.
#[derive(Debug)]
pub struct BatchQuestion {
    /// The question.
    pub question: Box<Question>,
    /// The indices of its requests, in the order of its scripts and of the decisions that [`Host::answer`] returns.
    pub requests: Vec<usize>,
}

impl Host {
    /// A host with these settings. Nothing is compiled or written yet.
    pub fn new(settings: Settings) -> Self {
        Self::with_runtimes(settings, Vec::new())
    }

    /// A host that executes scripts in these runtimes too. One of them is preferred to ours if both execute a language.
    pub fn with_runtimes(settings: Settings, runtimes: Vec<Arc<dyn Runtime>>) -> Self {
        let Settings {
            cache,
            audit,
            approvals,
            mut protected,
            slots,
        } = settings;
        let slots = slots.map(|slots| slots.max(1));
        protected.push(cache.clone());
        let log = audit.paths();
        protected.extend(log.iter().cloned());
        protected.extend(approvals.path().map(ToOwned::to_owned));
        let cache = Cache::new(cache);
        let typescript = Arc::new(Transpiler::new(cache.clone()));
        let python = Interpreter {
            guest: skillrun_runtimes::python(),
            language: Language::Python,
            stack: 128 << 20,
            resident: 64 << 20,
            transpiler: None,
        };
        let javascript = Interpreter {
            guest: skillrun_runtimes::javascript(),
            language: Language::JavaScript,
            stack: 128 << 20,
            resident: 16 << 20,
            transpiler: Some(Arc::clone(&typescript)),
        };
        let protected: Arc<[PathBuf]> = protected.into();
        let wasm = |interpreter| {
            let own = Slots::new(slots);
            let (cache, protected) = (cache.clone(), Arc::clone(&protected));
            let wasm = Wasm::new(interpreter, cache, protected, slots, own.stuck());
            (Arc::new(wasm), own)
        };
        let (python, python_slots) = wasm(python);
        let (javascript, javascript_slots) = wasm(javascript);
        let native = Arc::new(Native::new(Arc::clone(&protected), cache, log, slots));
        let register = |runtime: Arc<dyn Runtime>, slots| Registered { runtime, slots };
        let added = runtimes.into_iter();
        let added = added.map(|runtime| register(runtime, Slots::new(slots)));
        let own: [Registered; 3] = [
            register(Arc::clone(&python) as _, python_slots),
            register(Arc::clone(&javascript) as _, javascript_slots),
            register(Arc::clone(&native) as _, Slots::new(slots)),
        ];
        Self {
            inner: Arc::new(Inner {
                audit,
                approvals,
                runtimes: added.chain(own).collect(),
                python,
                javascript,
                typescript,
                native,
                scratches: Arc::new(Scratches::new()),
                running: Mutex::default(),
            }),
        }
    }

    /// Decides whether a request may run under a policy. A refusal is recorded.
    pub async fn decide(&self, policy: &Policy, request: Request) -> Result<Decision, Error> {
        let policy = policy.clone();
        self.blocking_task(move |inner| inner.decide(&policy, request))
            .await
    }

    /// Decides requests that belong together. Requests of one skill, session and workspace that need a person share one
    /// question.
    pub async fn decide_all(
        &self,
        policy: &Policy,
        requests: Vec<Request>,
    ) -> Result<Batch, Error> {
        let policy = policy.clone();
        self.blocking_task(move |inner| inner.decide_all(&policy, requests))
            .await
    }

    /// Answers a question by its id; returns a decision for each of its scripts, in their order: permitted or refused.
    ///
    /// A question can be answered once. An unknown, expired or already answered question is an error, and so is
    /// an answer that cannot be recorded: nothing runs then, and the question stays open.
    pub async fn answer(
        &self,
        question: &str,
        answer: Answer,
    ) -> Result<Vec<Decision>, AnswerError> {
        let question = question.to_owned();
        self.blocking_task(move |inner| inner.answer(&question, answer))
            .await
    }

    /// Closes a question with no because no person can be asked, or none answers; `why` is recorded.
    pub async fn decline(&self, question: &str, why: &str) -> Result<Vec<Decision>, AnswerError> {
        let (question, why) = (question.to_owned(), why.to_owned());
        self.blocking_task(move |inner| inner.decline(&question, &why))
            .await
    }

    /// The open questions, the oldest first.
    pub async fn questions(&self) -> Result<Vec<Question>, Error> {
        self.blocking_task(Inner::questions).await
    }

    /// Records the refusal of something that never became a request; `name` is what was asked for.
    pub async fn record_refusal(&self, name: &str, refusal: &Refusal) -> Result<(), Error> {
        let (name, refusal) = (name.to_owned(), refusal.clone());
        self.blocking_task(move |inner| inner.record_refusal(&name, &refusal))
            .await
    }

    /// The same calls for a thread that may block.
    pub fn blocking(&self) -> Blocking<'_> {
        Blocking(&self.inner)
    }

    /// Forgets what was approved for a session.
    pub fn end_session(&self, tenant: &str, session: &str) {
        self.inner.approvals.end_session(tenant, session);
    }

    /// What people have approved.
    pub fn approvals(&self) -> &Approvals {
        &self.inner.approvals
    }

    /// Runs what was permitted and waits until it has ended. Dropping the future stops the script immediately and
    /// blocks until it has stopped, at most a second if a file call hangs in the kernel.
    pub async fn run(&self, permit: Permit) -> Result<Outcome, RunError> {
        self.run_live(permit, Live::default()).await
    }

    /// Like [`Host::run`], with live input and output and a way to stop the script.
    pub async fn run_live(&self, permit: Permit, live: Live) -> Result<Outcome, RunError> {
        let permit = Arc::new(permit);
        if permit.plan().content.is_some() {
            let permit = Arc::clone(&permit);
            self.blocking_task(move |inner| inner.check_current(permit.plan()))
                .await?;
        }
        Ok(self.inner.run(permit, live).await?)
    }

    /// Records everything that still runs as aborted, for a process that is about to exit without waiting
    /// for it.
    pub fn abort_runs(&self) {
        self.inner.abort_runs();
    }

    /// Waits until the runs whose futures were dropped are recorded as aborted, and until the scratch directories of
    /// finished runs are removed, and the smaller ones that killed processes left behind. It waits at most 10 seconds
    /// for the directories; the next process removes the rest. Returns why a directory could not be removed.
    ///
    /// For a process that is about to end without dropping its host.
    pub async fn clean_up(&self) -> Option<String> {
        let scratches = self.inner.scratches.clean_up();
        // At the same time, so that the wait is not several times as long.
        let ((), failed) = tokio::join!(self.inner.audit.flush(), scratches);
        failed.map(|why| format!("a scratch directory was not removed: {why}"))
    }

    /// The state of each wasm runtime on this machine.
    pub fn runtimes_state(&self) -> Result<Vec<RuntimeState>, Error> {
        Ok(vec![
            self.inner.python.state()?,
            self.inner.javascript.state()?,
            self.inner.typescript.state()?,
        ])
    }

    /// Compiles the runtimes for this machine ahead of their first use; returns a warning if they can be used
    /// but not stored.
    pub async fn prepare(&self) -> Result<Option<String>, Error> {
        let mut warning = self.inner.typescript.prepare().await?;
        for registered in &self.inner.runtimes {
            warning = registered.runtime.prepare().await?.or(warning);
        }
        Ok(warning)
    }

    /// The name of the runtime that a permit needs, if it is not yet compiled for this machine.
    pub fn unprepared_for(&self, permit: &Permit) -> Result<Option<&'static str>, Error> {
        let runtime = &self.inner.registered(permit.plan())?.runtime;
        Ok((!runtime.is_prepared()?).then(|| runtime.name()))
    }

    /// Like [`Host::prepare`], for the runtime that a permit needs.
    pub async fn prepare_for(&self, permit: &Permit) -> Result<Option<String>, Error> {
        let registered = self.inner.registered(permit.plan())?;
        registered.runtime.prepare().await
    }

    /// What this machine offers to native scripts; probed once.
    pub fn native_state(&self) -> NativeState {
        self.inner.native.state()
    }

    /// Runs work that reads files or waits for other processes on a thread where it may block.
    async fn blocking_task<T, E>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        match tokio::task::spawn_blocking(move || work(&inner)).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down, and this future is about to be dropped.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

/// The calls of a [`Host`] that may block, for a program without a runtime and for threads that may block. Each does the
/// same as the method of that name in [`Host`].
#[derive(Clone, Copy)]
pub struct Blocking<'a>(&'a Inner);

impl std::fmt::Debug for Blocking<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocking").finish_non_exhaustive()
    }
}

impl Blocking<'_> {
    /// See [`Host::decide`].
    pub fn decide(self, policy: &Policy, request: Request) -> Result<Decision, Error> {
        self.0.decide(policy, request)
    }

    /// See [`Host::decide_all`].
    pub fn decide_all(self, policy: &Policy, requests: Vec<Request>) -> Result<Batch, Error> {
        self.0.decide_all(policy, requests)
    }

    /// See [`Host::answer`].
    pub fn answer(self, question: &str, answer: Answer) -> Result<Vec<Decision>, AnswerError> {
        self.0.answer(question, answer)
    }

    /// See [`Host::decline`].
    pub fn decline(self, question: &str, why: &str) -> Result<Vec<Decision>, AnswerError> {
        self.0.decline(question, why)
    }

    /// See [`Host::questions`].
    pub fn questions(self) -> Result<Vec<Question>, Error> {
        self.0.questions()
    }

    /// See [`Host::record_refusal`].
    pub fn record_refusal(self, name: &str, refusal: &Refusal) -> Result<(), Error> {
        self.0.record_refusal(name, refusal)
    }
}

impl Inner {
    /// The runtime that a plan names, with its slots.
    fn registered(&self, plan: &Plan) -> Result<&Registered, Error> {
        let mut all = self.runtimes.iter();
        let found = all.find(|registered| registered.runtime.name() == plan.runtime);
        found.ok_or_else(|| Error::Sandbox(format!("there is no runtime `{}`", plan.runtime)))
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Permit>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runtimes for Inner {
    fn find(&self, language: Language, tier: Tier) -> (&'static str, RunsIn) {
        let runtimes = self.runtimes.iter().map(|registered| &registered.runtime);
        let mut found = runtimes.map(|runtime| (runtime.name(), runtime.runs(language, tier)));
        let found = found.find(|(_, runs)| *runs != RunsIn::Nowhere);
        found.unwrap_or((self.native.name(), RunsIn::Nowhere))
    }

    fn for_commands(&self) -> &'static str {
        self.native.name()
    }
}

/// The fields of a plan's audit lines.
fn run_info(plan: &Plan) -> RunInfo<'_> {
    RunInfo {
        run_id: &plan.run_id,
        tenant: &plan.tenant,
        session: &plan.session,
        skill: plan.skill(),
        script: plan.script(),
        script_path: Some(plan.script_path().display().to_string()),
        script_hash: Some(&plan.hash),
        args: &plan.args,
        grants: &plan.grants,
    }
}
