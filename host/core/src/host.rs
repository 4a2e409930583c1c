//! The host: one per process, shared by every task that runs scripts.

use crate::approval::{self, Answer, AnswerError, Approvals, AskResult, Question};
use crate::audit::{Answered, AuditLog, Event, RunInfo};
use crate::decision::{self, Check, Checked, Decision, Permit, Refusal, RunsIn};
use crate::error::Error;
use crate::files::show;
use crate::outcome::{Outcome, Status, signal_name};
use crate::policy::{ApprovalMode, Policy};
use crate::request::{Request, RequestedBy};
use crate::runtime::cache::Cache;
use crate::runtime::native::{Native, NativeState};
use crate::runtime::output::Kept;
use crate::runtime::wasm::{Interpreter, Transpiler, Wasm};
use crate::runtime::{Ended, Live, Runtime};
use crate::skill::Language;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    /// for a server. `None` sets no such limit and reserves nothing: right for a single run.
    pub slots: Option<u32>,
}

/// Runs the scripts of skills. One is enough for a process; it is shared by reference.
///
/// An outcome is returned as soon as a script has ended. If the script left many files in its scratch
/// directory, they are removed after that. Dropping the host waits until they are removed.
pub struct Host {
    audit: AuditLog,
    approvals: Approvals,
    python: Wasm,
    javascript: Wasm,
    typescript: Arc<Transpiler>,
    native: Native,
    /// Runs that are recorded as started and not as ended, by run id.
    running: Mutex<HashMap<String, Arc<Permit>>>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("audit", &self.audit)
            .finish_non_exhaustive()
    }
}

/// The state of a runtime on this machine.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RuntimeState {
    /// Its name.
    pub name: &'static str,
    /// The version of its interpreter.
    pub version: &'static str,
    /// The tier it runs in.
    pub tier: &'static str,
    /// Whether it is compiled for this machine.
    pub prepared: bool,
    /// Where the compiled file is, or will be.
    pub file: PathBuf,
}

impl Host {
    /// A host with these settings. Nothing is compiled or written yet.
    pub fn new(settings: Settings) -> Self {
        let Settings {
            cache,
            audit,
            approvals,
            mut protected,
            slots,
        } = settings;
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
        Self {
            audit,
            approvals,
            python: Wasm::new(python, cache.clone(), protected.clone(), slots),
            javascript: Wasm::new(javascript, cache.clone(), protected.clone(), slots),
            typescript,
            native: Native::new(protected, cache, log, slots),
            running: Mutex::default(),
        }
    }

    /// Decides whether a request may run under a policy. A refusal is recorded.
    pub fn decide(&self, policy: &Policy, request: Request) -> Result<Decision, Error> {
        let mut decisions = self.decide_all(policy, vec![request])?;
        let none = || Error::Sandbox("nothing was decided".into());
        decisions.pop().ok_or_else(none)
    }

    /// Decides requests that belong together, and returns the decisions in the same order. Requests of one
    /// skill and session that need a person share one question.
    pub fn decide_all(
        &self,
        policy: &Policy,
        requests: Vec<Request>,
    ) -> Result<Vec<Decision>, Error> {
        self.expire()?;
        let mut decisions: Vec<Option<Decision>> = Vec::new();
        let mut open: Vec<Waiting> = Vec::new();
        for (at, request) in requests.into_iter().enumerate() {
            let requested_by = request.requested_by;
            let decided = self.decide_one(policy, request)?;
            let approval = match &decided {
                Ok(permit) => permit.approval,
                Err(_) => ApprovalMode::Never,
            };
            match decided {
                Ok(permit)
                    if requested_by == RequestedBy::Agent && approval != ApprovalMode::Never =>
                {
                    decisions.push(None);
                    let same = |waiting: &&mut Waiting| waiting.belongs_with(&permit);
                    match open.iter_mut().find(same) {
                        Some(waiting) => {
                            waiting.indices.push(at);
                            waiting.permits.push(permit);
                        }
                        None => open.push(Waiting {
                            indices: vec![at],
                            permits: vec![permit],
                            approval,
                        }),
                    }
                }
                Ok(permit) => decisions.push(Some(Decision::Permitted(permit))),
                Err(refusal) => decisions.push(Some(Decision::Refused(refusal))),
            }
        }
        for waiting in open {
            let indices = waiting.indices;
            let answers = match self.approvals.ask(waiting.permits, waiting.approval)? {
                AskResult::Approved(permits) => {
                    permits.into_iter().map(Decision::Permitted).collect()
                }
                AskResult::Pending(question) => vec![question; indices.len()]
                    .into_iter()
                    .map(Decision::Pending)
                    .collect(),
                AskResult::TooMany(permits) => {
                    let why = "too many questions are open";
                    self.refuse_all(&permits, why, "answer them first")?
                }
                AskResult::NoContent { permits, why, hint } => {
                    self.refuse_all(&permits, &why, hint)?
                }
            };
            for (index, answer) in indices.into_iter().zip(answers) {
                decisions[index] = Some(answer);
            }
        }
        Ok(decisions.into_iter().flatten().collect())
    }

    fn decide_one(
        &self,
        policy: &Policy,
        request: Request,
    ) -> Result<Result<Permit, Refusal>, Error> {
        let run_id = uuid::Uuid::now_v7().to_string();
        let asked = request.clone();
        let runs = |language, tier| {
            let runtimes = self.runtimes();
            let mut all = runtimes.iter().map(|runtime| runtime.runs(language, tier));
            all.find(|runs| *runs != RunsIn::Nowhere)
                .unwrap_or(RunsIn::Nowhere)
        };
        let decided = decision::decide(policy, request, run_id.clone(), runs);
        let decided = match decided {
            Ok(permit) => match self.runtime_for(&permit)?.can_enforce(&permit) {
                Ok(()) => Ok(permit),
                Err(refusal) => Err(refusal),
            },
            Err(refusal) => Err(refusal),
        };
        match &decided {
            Ok(_) => self.audit.check_writable_blocking()?,
            Err(refusal) => {
                let asked = RunInfo {
                    run_id: &run_id,
                    tenant: &asked.tenant,
                    session: &asked.session,
                    skill: asked.target.skill_name(),
                    script: asked.target.name(),
                    script_path: None,
                    script_hash: None,
                    args: &asked.args,
                    grants: &asked.grants,
                };
                self.audit
                    .write_blocking(Event::refused(asked, &refusal.message))?;
            }
        }
        Ok(decided)
    }

    /// Answers a question by its id; returns a decision for each of its scripts, in their order.
    ///
    /// A question can be answered once. An unknown, expired or already answered question is an error, and so is
    /// an answer that cannot be recorded; nothing runs then.
    pub fn answer(&self, question: &str, answer: Answer) -> Result<Vec<Decision>, AnswerError> {
        self.expire()?;
        let open = self.approvals.take(question)?;
        if answer == Answer::No {
            let why = format!("a person answered `{answer}`");
            return Ok(self.refuse_all(open.permits(), &why, APPROVAL_HINT)?);
        }
        if open.is_outdated() {
            let why = "the skill changed while the question was open";
            return Ok(self.refuse_all(open.permits(), why, "ask again")?);
        }
        for permit in open.permits() {
            let answered = Answered {
                question: &open.question().id,
                answer: answer.word(),
                content_hash: permit.approved_content.as_deref(),
                workspace: permit.workspace_path(),
            };
            let event = Event::approved(permit.run_info(), answered);
            self.audit.write_blocking(event)?;
        }
        if let Err(error) = self.approvals.remember(&open, answer) {
            self.refuse_all(open.permits(), &error.to_string(), APPROVAL_HINT)?;
            return Err(error.into());
        }
        let permits = open.into_permits().into_iter();
        Ok(permits.map(Decision::Permitted).collect())
    }

    /// Closes a question with no because no person can be asked, or none answers; `why` is recorded.
    pub fn decline(&self, question: &str, why: &str) -> Result<Vec<Decision>, AnswerError> {
        let open = self.approvals.take_any(question)?;
        let refused = self.refuse_all(open.permits(), why, APPROVAL_HINT)?;
        self.expire()?;
        Ok(refused)
    }

    /// The open questions, the oldest first.
    pub fn questions(&self) -> Result<Vec<Question>, Error> {
        self.expire()?;
        Ok(self.approvals.pending())
    }

    /// Forgets what was approved for a session.
    pub fn end_session(&self, tenant: &str, session: &str) {
        self.approvals.end_session(tenant, session);
    }

    /// What people have approved.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Closes expired questions and records their refusals.
    fn expire(&self) -> Result<(), Error> {
        for open in self.approvals.take_expired() {
            self.refuse_all(open.permits(), "nobody answered in time", APPROVAL_HINT)?;
        }
        Ok(())
    }

    fn refuse_all(
        &self,
        permits: &[Permit],
        why: &str,
        hint: &str,
    ) -> Result<Vec<Decision>, Error> {
        let mut refused = Vec::new();
        for permit in permits {
            let message = format!("{} was not approved: {why}", permit.title());
            self.audit
                .write_blocking(Event::refused(permit.run_info(), &message))?;
            let refusal = Refusal::new(Check::Approval, message).hint(hint);
            refused.push(Decision::Refused(refusal));
        }
        Ok(refused)
    }

    /// Runs what was permitted and waits until it has ended. Dropping the future stops the script immediately and
    /// blocks until it has stopped, at most a second if a file call hangs in the kernel.
    pub async fn run(&self, permit: Permit) -> Result<Outcome, Error> {
        self.run_live(permit, Live::default()).await
    }

    /// Like [`Host::run`], with live input and output and a way to stop the script.
    pub async fn run_live(&self, permit: Permit, live: Live) -> Result<Outcome, Error> {
        let runtime = self.runtime_for(&permit)?;
        if approval::is_outdated(&permit) {
            let error = Error::Changed(permit.title());
            let why = error.to_string();
            self.audit
                .write(Event::refused(permit.run_info(), &why))
                .await?;
            return Err(error);
        }
        let permit = Arc::new(permit);
        self.running()
            .insert(permit.run_id.clone(), Arc::clone(&permit));
        // From here on: if the future is dropped while `started` is written, that line is followed by `aborted`.
        let running = Running {
            host: self,
            permit: &permit,
        };
        if let Err(error) = self.audit.write(Event::started(permit.run_info())).await {
            running.ended();
            return Err(error);
        }
        let ended = match runtime.run(&permit, live).await {
            Ok(ended) => ended,
            Err(error) => {
                if running.ended() {
                    // The first error is the one that matters.
                    let _ = self.audit.write(Event::aborted(permit.run_info())).await;
                }
                return Err(error);
            }
        };
        let mut outcome = outcome(&permit, runtime.name(), ended);
        if running.ended() {
            let finished = Event::finished(permit.run_info(), &outcome);
            if let Err(error) = self.audit.write(finished).await {
                outcome.warnings.push(error.to_string());
            }
        }
        Ok(outcome)
    }

    /// Records everything that still runs as aborted, for a process that is about to exit without waiting
    /// for it.
    pub fn abort_runs(&self) {
        let running = std::mem::take(&mut *self.running());
        for permit in running.values() {
            // The process is about to end, so an error cannot be reported.
            self.audit.post(Event::aborted(permit.run_info()));
        }
        self.audit.flush_blocking();
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Permit>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the runs whose futures were dropped are recorded as aborted, and until the scratch directories of
    /// finished runs are removed, and the smaller ones that killed processes left behind. It waits at most 10 seconds
    /// for the directories; the next process removes the rest. Returns why a directory could not be removed.
    ///
    /// For a process that is about to end without dropping its host.
    pub async fn clean_up(&self) -> Option<String> {
        let [python, javascript, native] = self.runtimes().map(Runtime::clean_up);
        // At the same time, so that the wait is not several times as long.
        let ((), python, javascript, native) =
            tokio::join!(self.audit.flush(), python, javascript, native);
        let failed = native.or(javascript).or(python);
        failed.map(|why| format!("a scratch directory was not removed: {why}"))
    }

    /// The state of each wasm runtime on this machine.
    pub fn runtimes_state(&self) -> Result<Vec<RuntimeState>, Error> {
        Ok(vec![
            self.python.state()?,
            self.javascript.state()?,
            self.typescript.state()?,
        ])
    }

    /// Compiles the runtimes for this machine ahead of their first use; returns a warning if they can be used
    /// but not stored.
    pub async fn prepare(&self) -> Result<Option<String>, Error> {
        let mut warning = self.typescript.prepare().await?;
        for runtime in self.runtimes() {
            warning = runtime.prepare().await?.or(warning);
        }
        Ok(warning)
    }

    /// The name of the runtime that a permit needs, if it is not yet compiled for this machine.
    pub fn unprepared_for(&self, permit: &Permit) -> Result<Option<&'static str>, Error> {
        let runtime = self.runtime_for(permit)?;
        Ok((!runtime.is_prepared()?).then(|| runtime.name()))
    }

    /// Like [`Host::prepare`], for the runtime that a permit needs.
    pub async fn prepare_for(&self, permit: &Permit) -> Result<Option<String>, Error> {
        self.runtime_for(permit)?.prepare().await
    }

    /// What this machine offers to native scripts; probed once.
    pub fn native_state(&self) -> NativeState {
        self.native.state()
    }

    fn runtimes(&self) -> [&dyn Runtime; 3] {
        [&self.python, &self.javascript, &self.native]
    }

    fn runtime_for(&self, permit: &Permit) -> Result<&dyn Runtime, Error> {
        let script = match &permit.target {
            Checked::Script(script) => &script.script,
            Checked::Command(_) => return Ok(&self.native),
        };
        let (language, tier) = (script.language(), permit.tier);
        let runs = |runtime: &&dyn Runtime| runtime.runs(language, tier) != RunsIn::Nowhere;
        let runtime = self.runtimes().into_iter().find(runs);
        runtime.ok_or_else(|| Error::Sandbox("no runtime executes this script".into()))
    }
}

/// What to do about a missing approval.
const APPROVAL_HINT: &str =
    "ask again and approve it; a policy with approval = \"never\" for this skill asks nobody";

/// Permits that share one question.
struct Waiting {
    /// The indices of their requests.
    indices: Vec<usize>,
    permits: Vec<Permit>,
    approval: ApprovalMode,
}

impl Waiting {
    fn belongs_with(&self, permit: &Permit) -> bool {
        let of = |permit: &Permit| (approval::session_key(permit), permit.workspace_path());
        self.permits.first().map(of) == Some(of(permit))
    }
}

/// Records a run as aborted if its future was dropped.
struct Running<'a> {
    host: &'a Host,
    permit: &'a Permit,
}

impl Running<'_> {
    /// Marks the run as ended; returns whether its end has yet to be recorded.
    fn ended(&self) -> bool {
        let ended = self.host.running().remove(&self.permit.run_id);
        ended.is_some()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.ended() {
            // The caller is gone, so an error cannot be reported. This may be an async thread, so it does not wait.
            self.host.audit.post(Event::aborted(self.permit.run_info()));
        }
    }
}

fn outcome(permit: &Permit, runtime: &str, ended: Ended) -> Outcome {
    let Ended {
        status,
        exit_code,
        signal,
        stdout,
        stderr,
        time,
        usage,
        isolation,
        mut warnings,
    } = ended;
    for (name, kept) in [("stdout", &stdout), ("stderr", &stderr)] {
        if kept.truncated {
            warnings.push(format!(
                "{name} of `{}` was cut at {}: it wrote {} bytes (raise the limit with --max-output)",
                show(permit.script()),
                crate::limits::show_bytes(permit.limits.output),
                kept.total
            ));
        }
    }
    if status == Status::TimedOut {
        warnings.push(format!(
            "`{}` was stopped at its time limit of {} (raise it with --timeout)",
            show(permit.script()),
            crate::limits::show_duration(permit.limits.time)
        ));
    }
    Outcome {
        run_id: permit.run_id.clone(),
        skill: permit.skill().to_owned(),
        script: permit.script().to_owned(),
        script_path: permit.script_path().display().to_string(),
        runtime: runtime.to_owned(),
        status,
        exit_code,
        signal: signal.map(signal_name),
        signal_number: signal,
        stdout_truncated: stdout.truncated,
        stderr_truncated: stderr.truncated,
        stdout_bytes: stdout.total,
        stderr_bytes: stderr.total,
        stdout: text(stdout),
        stderr: text(stderr),
        execution_time_ms: round(time),
        success: status == Status::Exited && exit_code == 0,
        timeout: status == Status::TimedOut,
        signaled: status == Status::Signaled,
        usage,
        isolation,
        warnings,
    }
}

fn text(kept: Kept) -> String {
    String::from_utf8(kept.bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Milliseconds, rounded to the microsecond: more digits are noise.
fn round(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
