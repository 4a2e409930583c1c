//! The host: one per process, shared by every task that runs scripts.
//!
//! Decisions and answers read files, ask the approvals database and probe the machine. They do so on a blocking thread, so
//! that the caller's thread never waits.

mod decide;
mod expiry;
mod observer;
mod private;
mod run;
pub mod running;
mod tasks;
pub mod tenant;
#[cfg(test)]
mod tests;

use crate::approval::{
    Answer, AnswerError, Approvals, Approver, GivenAnswer, Question, QuestionEvents, Scope,
    SessionApproval, StoredApproval,
};
use crate::audit::{AuditFilter, AuditLine, AuditLog, RunInfo};
use crate::decision::{Decision, Permit};
use crate::error::{Error, RunError};
use crate::outcome::Outcome;
use crate::plan::{Plan, RunsIn, Runtimes};
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::runtime::cache::Cache;
use crate::runtime::native::{Native, NativeState};
use crate::runtime::queue::{Queue, Slots};
use crate::runtime::scratch::Scratches;
use crate::runtime::wasm::{Interpreter, Pool, Transpiler, Wasm};
use crate::runtime::{Live, Runtime, RuntimeState, Workers};
use crate::skill::{Bounds, CustomLanguage, FileMap, FileMapError, Language, Skill, SkillError};
use crate::tier::Tier;
use crate::workspace::{PrivateWorkspace, ReturnedFiles};
use observer::Observer;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;
use tasks::Tasks;
pub(crate) use tasks::blocking;
use tenant::TenantSettings;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// How long [`Host::clean_up`] waits for scripts that were stopped. They take milliseconds, unless a file call hangs.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

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
    /// Where Python, JavaScript and TypeScript run.
    pub workers: Workers,
}

/// Runs the scripts of skills. One is enough for a process; clones share it.
///
/// An outcome is returned as soon as a script has ended. If the script left many files in its scratch
/// directory, they are removed after that. Dropping the last clone waits until they are removed, at most 10 seconds. In async
/// code another thread waits instead, which ends with the process: wait with [`Host::clean_up`] before.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
    /// Dropped after `inner`.
    _last: Arc<LastClone>,
}

/// Drops what the clones of a host share, without blocking a thread of a tokio runtime: that waits for scratch directories
/// and a supervisor, closes a database and unmaps memory.
struct LastClone(Option<Arc<Inner>>);

impl Drop for LastClone {
    fn drop(&mut self) {
        let inner = self.0.take();
        if Handle::try_current().is_ok() {
            let thread = std::thread::Builder::new().name("skillrun-host".into());
            // If no thread can be started, this one waits.
            let _ = thread.spawn(move || drop(inner));
        }
    }
}

struct Inner {
    audit: AuditLog,
    approvals: Arc<Approvals>,
    /// For the task that closes expired questions.
    this: Weak<Inner>,
    /// The first that executes a language is used.
    runtimes: Vec<Registered>,
    /// The processes in which guests run, if they do not run in this one.
    workers: Option<Arc<Pool>>,
    python: Arc<Wasm>,
    javascript: Arc<Wasm>,
    typescript: Arc<Transpiler>,
    native: Arc<Native>,
    scratches: Arc<Scratches>,
    queue: Queue,
    /// The settings of tenants that have their own.
    tenants: RwLock<HashMap<String, Arc<TenantSettings>>>,
    /// The blocking tasks of tenants.
    tasks: Tasks,
    /// Runs that are recorded as started and not as ended, by run id.
    running: Mutex<HashMap<String, Arc<Permit>>>,
    /// How many runs whose handle was dropped have not ended yet.
    abandoned: Arc<watch::Sender<usize>>,
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
    /// Whether it writes the lines of its runs in the audit log.
    writes_record: bool,
    /// Whether the embedding program added it.
    is_added: bool,
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
    pub decided: Vec<(usize, Result<Permit, Refusal>)>,
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
    /// A host with these settings. Nothing is compiled or written yet. Lists the directory of the audit log, so it blocks: call
    /// it from a blocking thread if that directory may be on a slow file system.
    pub fn new(settings: Settings) -> Self {
        Self::build(settings, Vec::new())
    }

    /// A host that executes scripts in these runtimes too. One of them is preferred to ours if both execute a language.
    /// Fails if two runtimes, ours included, have the same name: a plan names its runtime. Blocks as [`Host::new`] does.
    pub fn with_runtimes(
        settings: Settings,
        runtimes: Vec<Arc<dyn Runtime>>,
    ) -> Result<Self, Error> {
        let host = Self::build(settings, runtimes);
        let mut names = HashSet::new();
        for registered in &host.inner.runtimes {
            let name = registered.runtime.name();
            if !names.insert(name) {
                return Err(Error::DuplicateRuntime { name });
            }
        }
        Ok(host)
    }

    fn build(settings: Settings, runtimes: Vec<Arc<dyn Runtime>>) -> Self {
        let Settings {
            cache,
            audit,
            approvals,
            mut protected,
            slots,
            workers,
        } = settings;
        let slots = slots.map(|slots| slots.max(1));
        protected.push(cache.clone());
        protected.extend(Path::new(Policy::OF_MACHINE).parent().map(Path::to_owned));
        let log = audit.paths();
        protected.extend(log.iter().cloned());
        protected.extend(approvals.protected_paths());
        let approvals = Arc::new(approvals);
        let cache = Cache::new(cache);
        let typescript = Arc::new(Transpiler::new(cache.clone()));
        let scratches = Arc::new(Scratches::new());
        let workers = match workers {
            Workers::InProcess => None,
            Workers::Processes(program) => Some(Arc::new(Pool::new(program))),
        };
        let protected: Arc<[PathBuf]> = protected.into();
        let queue = Queue::new();
        let wasm = |interpreter| {
            let own = queue.add_runtime(slots);
            let (cache, protected) = (cache.clone(), Arc::clone(&protected));
            let (stuck, workers) = (own.stuck(), workers.clone());
            let wasm = Wasm::new(interpreter, cache, protected, slots, stuck, workers);
            (Arc::new(wasm), own)
        };
        let (python, python_slots) = wasm(Interpreter::python());
        let (javascript, javascript_slots) = wasm(Interpreter::javascript(&typescript));
        let native_slots = queue.add_runtime(slots);
        let stuck = native_slots.stuck();
        let native = Native::new(protected, log, Arc::clone(&approvals), slots, stuck);
        let native = Arc::new(native);
        let register = |runtime: Arc<dyn Runtime>, slots, writes_record| Registered {
            runtime,
            slots,
            writes_record,
            is_added: false,
        };
        let added = runtimes.into_iter();
        let added = added.map(|runtime| Registered {
            is_added: true,
            ..register(runtime, queue.add_runtime(slots), false)
        });
        let own: [Registered; 3] = [
            register(Arc::clone(&python) as _, python_slots, true),
            register(Arc::clone(&javascript) as _, javascript_slots, true),
            register(Arc::clone(&native) as _, native_slots, false),
        ];
        let runtimes = added.chain(own).collect();
        let inner = Arc::new_cyclic(|this| Inner {
            audit,
            approvals,
            this: Weak::clone(this),
            runtimes,
            queue,
            tenants: RwLock::default(),
            tasks: Tasks::default(),
            workers: workers.clone(),
            python,
            javascript,
            typescript,
            native,
            scratches,
            running: Mutex::default(),
            abandoned: Arc::new(watch::Sender::new(0)),
        });
        let last = Arc::new(LastClone(Some(Arc::clone(&inner))));
        Self { inner, _last: last }
    }

    /// Loads the skill in a folder and finds its scripts. See [`Skill::load`]; nothing that is asked about the scripts later
    /// reads files.
    pub async fn load_skill(&self, path: impl Into<PathBuf>) -> Result<Arc<Skill>, SkillError> {
        self.load_skill_with(path, &[]).await
    }

    /// The same, where files in these languages are scripts too.
    pub async fn load_skill_with(
        &self,
        path: impl Into<PathBuf>,
        languages: &'static [CustomLanguage],
    ) -> Result<Arc<Skill>, SkillError> {
        let path = path.into();
        self.blocking_task(move |_| {
            let skill = Skill::load_with(path, languages)?;
            skill.scripts();
            Ok(Arc::new(skill))
        })
        .await
    }

    /// Decides whether a request may run under a policy, and under that of root: see [`Policy::of_machine`]. A refusal is
    /// recorded.
    pub async fn decide(&self, policy: &Policy, request: Request) -> Result<Decision, Error> {
        let policy = policy.clone();
        self.blocking_task(move |inner| inner.decide(&policy, &request))
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
        self.blocking_task(move |inner| inner.decide_all(&policy, &requests))
            .await
    }

    /// Answers a question by its id. The answer is recorded with its approver.
    ///
    /// Returns a permit or a refusal for each script of the question, in their order. `None` if somebody waits in
    /// [`Host::answered`], or if another process asked the question: they get the permits.
    ///
    /// A question can be answered once. An unknown, expired or already answered question is an error, and so is
    /// an answer that cannot be recorded: nothing runs then, and the question stays open.
    pub async fn answer(
        &self,
        question: &str,
        answer: Answer,
        approver: Approver,
    ) -> Result<Option<Vec<Result<Permit, Refusal>>>, AnswerError> {
        let question = question.to_owned();
        self.blocking_task(move |inner| inner.answer(Scope::All, &question, answer, &approver))
            .await
    }

    /// Answers a question by its id, for a caller that does not run what it approves: the decisions go to whoever calls
    /// [`Host::answered`], now or later. Errors are those of [`Host::answer`].
    pub async fn record_answer(
        &self,
        question: &str,
        answer: Answer,
        approver: Approver,
    ) -> Result<(), AnswerError> {
        let question = question.to_owned();
        let given = GivenAnswer { answer, approver };
        self.blocking_task(move |inner| inner.record_answer(Scope::All, &question, &given))
            .await
    }

    /// Waits until a question of this host is answered, here or by a process that shares the store, and returns the
    /// decisions. A question that expires in the meantime is an error, and its refusal is recorded.
    ///
    /// An answer of this process is noticed at once, one of another process within a second. The skill is compared, and
    /// the answer recorded in the audit log, before this returns. If that fails, the question stays open: wait again. If the
    /// future is dropped while an answer is being recorded, its decisions are lost: ask again.
    pub async fn answered(
        &self,
        question: &str,
    ) -> Result<Vec<Result<Permit, Refusal>>, AnswerError> {
        self.answered_in(Scope::All, question).await
    }

    pub(crate) async fn answered_in(
        &self,
        scope: Scope<'_>,
        question: &str,
    ) -> Result<Vec<Result<Permit, Refusal>>, AnswerError> {
        let waiting = self.inner.approvals.wait(scope, question)?;
        loop {
            let id = question.to_owned();
            // The scope was compared above.
            let taken = self.blocking_task(move |inner| inner.take_answered(Scope::All, &id));
            if let Some(decisions) = taken.await? {
                return Ok(decisions);
            }
            waiting.changed().await;
        }
    }

    /// What happens to the questions of this host from now on: asked, answered, expired.
    pub fn events(&self) -> QuestionEvents {
        self.inner.approvals.events(Scope::All)
    }

    /// Closes a question with no because no person can be asked, or none answers; `why` is recorded. If another process
    /// has answered it, that answer counts.
    pub async fn decline(
        &self,
        question: &str,
        why: &str,
    ) -> Result<Vec<Result<Permit, Refusal>>, AnswerError> {
        let (question, why) = (question.to_owned(), why.to_owned());
        self.blocking_task(move |inner| inner.decline(Scope::All, &question, &why))
            .await
    }

    /// The open questions of this host and of the processes that share its store, the oldest first.
    pub async fn questions(&self) -> Result<Vec<Question>, Error> {
        self.blocking_task(|inner| inner.questions(Scope::All))
            .await
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

    /// Forgets what was approved for a session of a tenant.
    pub async fn end_session(&self, tenant: &str, session: &str) -> Result<(), Error> {
        let (tenant, session) = (tenant.to_owned(), session.to_owned());
        self.blocking_task(move |inner| inner.end_session(&tenant, &session))
            .await
    }

    /// The stored approvals of all tenants, the oldest first.
    pub async fn approvals(&self) -> Result<Vec<StoredApproval>, Error> {
        self.blocking_task(|inner| inner.approvals(Scope::All))
            .await
    }

    /// The approvals for sessions of all tenants that are still valid, the oldest first.
    pub async fn sessions(&self) -> Result<Vec<SessionApproval>, Error> {
        self.blocking_task(|inner| inner.sessions(Scope::All)).await
    }

    /// The lines of the audit log that match a filter, the oldest first. All of them are in memory at once: for a long log,
    /// set [`AuditFilter::since`], or read it with [`AuditFiles::read`](crate::audit::AuditFiles::read) on a blocking thread.
    /// Fails if the log is a sink.
    pub async fn audit(&self, filter: AuditFilter) -> Result<Vec<AuditLine<'static>>, Error> {
        self.blocking_task(move |inner| inner.audit.lines(&filter))
            .await
    }

    /// Revokes approvals of any tenant by their numbers. Returns how many existed.
    pub async fn revoke(&self, ids: &[i64]) -> Result<usize, Error> {
        let ids = ids.to_owned();
        self.blocking_task(move |inner| inner.revoke(Scope::All, &ids))
            .await
    }

    /// Runs what was permitted and waits until it has ended: then nothing of the script is left.
    ///
    /// Dropping the future stops the script and does not wait for that. The run is recorded as aborted. A file call that
    /// the script is in may still take effect, nothing after it will: a guest has lost its handles, and all processes of a
    /// native script are being killed; one that was about to start does not, or is killed immediately. The scratch
    /// directory, the slot and files that were given as bytes stay until the script has stopped. [`Host::clean_up`] waits
    /// for that.
    pub async fn run(&self, permit: Permit) -> Result<Outcome, RunError> {
        self.run_live(permit, Live::default()).await
    }

    /// Like [`Host::run`], with live input and output and a way to stop the script.
    pub async fn run_live(&self, permit: Permit, live: Live) -> Result<Outcome, RunError> {
        self.run_observed(Arc::new(permit), live, Observer::default())
            .await
    }

    async fn run_observed(
        &self,
        permit: Arc<Permit>,
        live: Live,
        observer: Observer,
    ) -> Result<Outcome, RunError> {
        let reachable = match self.inner.admit_at_once(permit.plan()) {
            Some(reachable) => reachable,
            None => {
                let admitted = Arc::clone(&permit);
                let admit = move |inner: &Inner| inner.admit(admitted.plan());
                self.tenant_task(&permit.plan().tenant, admit).await?
            }
        };
        self.inner.run(permit, reachable, live, observer).await
    }

    /// Records everything that still runs as aborted, for a process that is about to exit without waiting
    /// for it. Blocks until the lines are written: call it from a blocking thread.
    pub fn abort_runs(&self) {
        self.inner.abort_runs();
    }

    /// Waits until the scripts of dropped futures and handles have stopped and are recorded as aborted, and until the
    /// scratch directories of finished runs are removed, and the smaller ones that killed processes left behind. It waits
    /// at most 10 seconds for scripts, and as long for directories; the next process removes the rest. Returns why a
    /// directory could not be removed.
    ///
    /// For a program that is about to end, or to drop its last clone of the host in async code.
    pub async fn clean_up(&self) -> Option<String> {
        let mut abandoned = self.inner.abandoned.subscribe();
        let none = abandoned.wait_for(|count| *count == 0);
        drop(tokio::time::timeout(STOP_TIMEOUT, none).await);
        if let Some(workers) = self.inner.workers.clone() {
            // Each may have a scratch directory. If the task fails, they end with the host.
            let _ = tokio::task::spawn_blocking(move || workers.end_idle()).await;
        }
        let scratches = self.inner.scratches.clean_up();
        // At the same time, so that the wait is not several times as long.
        let ((), failed) = tokio::join!(self.inner.audit.flush(), scratches);
        failed.map(|why| format!("a scratch directory was not removed: {why}"))
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

    /// Like [`Host::prepare`], for what a permit needs: its runtime and, for TypeScript, the transpiler.
    pub async fn prepare_for(&self, permit: &Permit) -> Result<Option<String>, Error> {
        let registered = self.inner.registered(permit.plan())?;
        let warning = registered.runtime.prepare().await?;
        Ok(match self.inner.transpiler_for(permit.plan()) {
            Some(transpiler) => transpiler.prepare().await?.or(warning),
            None => warning,
        })
    }

    /// Like [`Host::blocking_task`], with as many tasks of a tenant at the same time as leave threads for the others.
    async fn tenant_task<T, E>(
        &self,
        tenant: &str,
        work: impl FnOnce(&Inner) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let place = self.inner.tasks.enter(tenant).await;
        self.blocking_task(move |inner| {
            let done = work(inner);
            drop(place);
            done
        })
        .await
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
        blocking(move || work(&inner)).await
    }
}

/// The calls of a [`Host`] that may block, for a program without a runtime and for threads that may block. A call that
/// [`Host`] has too does the same.
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
        self.0.decide(policy, &request)
    }

    /// See [`Host::decide_all`].
    pub fn decide_all(self, policy: &Policy, requests: Vec<Request>) -> Result<Batch, Error> {
        self.0.decide_all(policy, &requests)
    }

    /// See [`Host::answer`].
    pub fn answer(
        self,
        question: &str,
        answer: Answer,
        approver: Approver,
    ) -> Result<Option<Vec<Result<Permit, Refusal>>>, AnswerError> {
        self.0.answer(Scope::All, question, answer, &approver)
    }

    /// See [`Host::record_answer`].
    pub fn record_answer(
        self,
        question: &str,
        answer: Answer,
        approver: Approver,
    ) -> Result<(), AnswerError> {
        let given = GivenAnswer { answer, approver };
        self.0.record_answer(Scope::All, question, &given)
    }

    /// Like [`Host::answered`], without waiting: `None` if the question has no answer yet.
    pub fn answered_now(
        self,
        question: &str,
    ) -> Result<Option<Vec<Result<Permit, Refusal>>>, AnswerError> {
        self.0.take_answered(Scope::All, question)
    }

    /// See [`Host::decline`].
    pub fn decline(
        self,
        question: &str,
        why: &str,
    ) -> Result<Vec<Result<Permit, Refusal>>, AnswerError> {
        self.0.decline(Scope::All, question, why)
    }

    /// See [`Host::questions`].
    pub fn questions(self) -> Result<Vec<Question>, Error> {
        self.0.questions(Scope::All)
    }

    /// See [`Host::end_session`].
    pub fn end_session(self, tenant: &str, session: &str) -> Result<(), Error> {
        self.0.end_session(tenant, session)
    }

    /// See [`Host::approvals`].
    pub fn approvals(self) -> Result<Vec<StoredApproval>, Error> {
        self.0.approvals(Scope::All)
    }

    /// See [`Host::sessions`].
    pub fn sessions(self) -> Result<Vec<SessionApproval>, Error> {
        self.0.sessions(Scope::All)
    }

    /// See [`Host::revoke`].
    pub fn revoke(self, ids: &[i64]) -> Result<usize, Error> {
        self.0.revoke(Scope::All, ids)
    }

    /// See [`Host::skill_from_files`].
    pub fn skill_from_files(self, name: &str, files: FileMap) -> Result<Skill, SkillError> {
        self.0.skill_from_files(name, files, &[], None)
    }

    /// See [`Host::skill_from_files_with`].
    pub fn skill_from_files_with(
        self,
        name: &str,
        files: FileMap,
        languages: &'static [CustomLanguage],
    ) -> Result<Skill, SkillError> {
        self.0.skill_from_files(name, files, languages, None)
    }

    /// See [`Host::workspace_from_files`].
    pub fn workspace_from_files(self, files: &FileMap) -> Result<PrivateWorkspace, Error> {
        self.0.workspace_from_files(files, None)
    }

    /// See [`Host::files_of`].
    pub fn files_of(
        self,
        workspace: &PrivateWorkspace,
        bounds: Bounds,
    ) -> Result<ReturnedFiles, FileMapError> {
        workspace.files(bounds)
    }

    /// Fails if a line cannot be written to the audit log now; then nothing would run.
    pub fn check_audit(self) -> Result<(), Error> {
        self.0.audit.check_writable()
    }

    /// The state of each wasm runtime on this machine.
    pub fn runtimes_state(self) -> Result<Vec<RuntimeState>, Error> {
        Ok(vec![
            self.0.python.state()?,
            self.0.javascript.state()?,
            self.0.typescript.state()?,
        ])
    }

    /// The name of the runtime that a permit needs, if it is not yet compiled for this machine, or of the transpiler if only
    /// that is missing.
    pub fn unprepared_for(self, permit: &Permit) -> Result<Option<&'static str>, Error> {
        let runtime = &self.0.registered(permit.plan())?.runtime;
        if !runtime.is_prepared()? {
            return Ok(Some(runtime.name()));
        }
        let transpiler = self.0.transpiler_for(permit.plan());
        let state = transpiler.map(Transpiler::state).transpose()?;
        Ok(state
            .filter(|state| !state.prepared)
            .map(|state| state.name))
    }

    /// What this machine offers to native scripts; probed once.
    pub fn native_state(self) -> NativeState {
        self.0.native.state()
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

    /// The transpiler, if the script of a plan is in TypeScript.
    fn transpiler_for(&self, plan: &Plan) -> Option<&Transpiler> {
        let extension = Path::new(plan.script()).extension()?.to_str()?;
        let is_typescript = ["ts", "mts", "cts"].contains(&&*extension.to_ascii_lowercase());
        (is_typescript && plan.runtime == self.javascript.name()).then_some(&*self.typescript)
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

    fn shows_anywhere(&self, runtime: &str) -> bool {
        runtime != self.native.name() || self.native.shows_anywhere()
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
        fields: Some(&plan.audit_fields),
    }
}
