//! One run from permit to outcome.

use super::observer::{Abandoned, Observer};
use super::tasks::blocking;
use super::{Inner, run_info};
use crate::audit::{Event, Prepared, Written};
use crate::decision::Permit;
use crate::descriptors::{self, Reservation};
use crate::error::{Error, RunError};
use crate::files::show;
use crate::limits::{Limit, show_bytes, show_duration};
use crate::outcome::{Outcome, Raw, Status, signal_name};
use crate::plan::Plan;
use crate::private::Reachable;
use crate::refusal::{Check, Refusal};
use crate::runtime::output::{Kept, Output};
use crate::runtime::queue::{Cost, Quota, Rejected, Ticket, Waited};
use crate::runtime::scratch::Ending;
use crate::runtime::teardown::Teardown;
use crate::runtime::wasm::alone;
use crate::runtime::{Ended, Finish, Live, Record, RunContext, Runtime as _, Stream};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::SetOnce;

/// When to try again if too many descriptors are kept: a guess, since that depends on other tenants too.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How long a run may wait after its skill was compared without another comparison: a run that does not wait needs a
/// fraction of that.
const MAX_UNCOMPARED: Duration = Duration::from_millis(20);

impl Inner {
    /// Admits a run if nothing has to be compared for that, without blocking.
    pub(super) fn admit_at_once(&self, plan: &Plan) -> Option<Reachable> {
        match plan.content {
            Some(_) => None,
            None => plan.reach_without_private(),
        }
    }

    /// Refuses a run whose skill changed after it was checked, or whose script would reach files that were given as bytes
    /// since the decision. Until the result is dropped, none are unpacked there. May block.
    pub(super) fn admit(&self, plan: &Plan) -> Result<Reachable, RunError> {
        let admitted = refuse_if_changed(plan).and_then(|()| plan.reach());
        admitted.map_err(|refusal| {
            let refusal = not_run(plan, refusal);
            let event = Event::refused(run_info(plan), &refusal.message);
            match self.audit.write_blocking(event) {
                Ok(()) => RunError::Refused(refusal),
                Err(error) => error.into(),
            }
        })
    }

    pub(super) async fn run(
        &self,
        permit: Arc<Permit>,
        reachable: Reachable,
        live: Live,
        observer: Observer,
    ) -> Result<Outcome, RunError> {
        let plan = permit.plan();
        // Kept until the last line of the run is queued: `Host::clean_up` waits for that.
        let _abandoned = Arc::clone(&observer.abandoned);
        let descriptors = match descriptors::WAITING.reserve(&plan.tenant, plan.descriptors()) {
            Ok(reservation) => reservation,
            Err(why) => {
                let refusal = Refusal {
                    retry_after: Some(RETRY_AFTER),
                    ..Refusal::new(Check::Quota, why)
                        .hint("try again later, or raise the limit on open files (RLIMIT_NOFILE)")
                };
                return Err(self.refuse_run(plan, refusal).await);
            }
        };
        let ticket = self.enter_queue(plan).await?;
        if self.runs_in_this_process(plan)
            && let Err(refusal) = alone::enter(plan)
        {
            return Err(self.refuse_run(plan, refusal).await);
        }
        let started = Event::started(run_info(plan), plan.approver.as_ref());
        let (started, run_id) = (self.audit.prepare(started), plan.run_id.clone());
        let started = {
            // `abort_runs` sees the run once its first line is queued, so `aborted` comes after it.
            let mut running = self.running();
            running.insert(run_id, Arc::clone(&permit));
            started.queue()
        };
        // From here on: if the future is dropped while `started` is written, that line is followed by `aborted`.
        let _running = Running {
            host: self,
            permit: &permit,
        };
        let kept = (reachable, descriptors);
        let finished = self
            .execute(&permit, live, ticket, kept, observer, started)
            .await;
        match finished {
            Ok(Finished {
                mut outcome,
                written,
            }) => {
                if let Some(written) = written
                    && let Err(error) = written.await
                {
                    outcome.warnings.push(error.to_string());
                }
                Ok(outcome)
            }
            Err(error) => {
                // Without the line `started`, nothing has begun.
                let is_unrecorded = matches!(error, RunError::Host(Error::Audit { .. }));
                let aborted = Event::aborted(run_info(plan));
                let aborted = (!is_unrecorded).then(|| self.audit.prepare(aborted));
                let aborted = self.end(plan, || aborted.map(Prepared::queue));
                if let Some(written) = aborted.flatten() {
                    // The first error is the one that matters.
                    let _ = written.await;
                }
                Err(error)
            }
        }
    }

    /// Starts to wait for a slot, unless the tenant's quota forbids it.
    async fn enter_queue(&self, plan: &Plan) -> Result<Ticket, RunError> {
        let slots = &self.registered(plan)?.slots;
        let cost = self.cost(plan);
        // Entering sets the tenant's quota in the queue. New settings wait, so that no older quota replaces theirs.
        let entered = self.with_settings_of(&plan.tenant, |settings| {
            let entered = self.queue.enter(slots, &plan.tenant, &settings.quota, cost);
            entered.map_err(|rejected| (rejected, settings.quota.clone()))
        });
        match entered {
            Ok(ticket) => Ok(ticket),
            Err((rejected, quota)) => {
                let refusal = quota_refusal(&plan.tenant, &rejected, &quota, cost);
                Err(self.refuse_run(plan, refusal).await)
            }
        }
    }

    /// Whether a guest of this process runs the script.
    fn runs_in_this_process(&self, plan: &Plan) -> bool {
        let guests = [self.python.name(), self.javascript.name()];
        self.workers.is_none() && guests.contains(&plan.runtime)
    }

    fn cost(&self, plan: &Plan) -> Cost {
        // A guest has one thread, a native script as many as it may start.
        let busy = match plan.runtime == self.native.name() {
            true => plan.limits.processes.min(processors()),
            false => 1,
        };
        Cost {
            memory: plan.limits.memory,
            cpu_time: plan.limits.time.saturating_mul(busy),
        }
    }

    /// Records why a permitted run does not start.
    async fn refuse_run(&self, plan: &Plan, refusal: Refusal) -> RunError {
        let refusal = not_run(plan, refusal);
        let event = Event::refused(run_info(plan), &refusal.message);
        match self.audit.write(event).await {
            Ok(()) => RunError::Refused(refusal),
            Err(error) => error.into(),
        }
    }

    /// Waits for a slot and for the line `started`, and runs the script.
    async fn execute(
        &self,
        permit: &Arc<Permit>,
        live: Live,
        ticket: Ticket,
        (reachable, descriptors): (Reachable, Reservation),
        observer: Observer,
        started: Written,
    ) -> Result<Finished, RunError> {
        let plan = permit.plan();
        let registered = self.registered(plan)?;
        let Live {
            stdin,
            output,
            mut stop,
        } = live;
        let limit = plan.limits.output;
        let stdout = Output::new(Stream::Stdout, limit, output.clone());
        let stderr = Output::new(Stream::Stderr, limit, output);
        let runtime = &registered.runtime;
        let began = Instant::now();
        let (slot, started) = {
            let mut slot = pin!(ticket.wait(&registered.slots, &mut stop));
            let at_once = poll_fn(|cx| Poll::Ready(slot.as_mut().poll(cx))).await;
            let started = match &at_once {
                Poll::Ready(Ok(Waited::Slot(_))) if registered.writes_record => Some(started),
                _ => {
                    started.await?;
                    None
                }
            };
            match at_once {
                Poll::Ready(slot) => (slot?, started),
                Poll::Pending => (slot.await?, started),
            }
        };
        let finished = Arc::new(Mutex::new(None));
        let abandoned = &observer.abandoned;
        let ended = match slot {
            Waited::Stopped => Ended::cancelled_before_start(runtime.isolation()),
            Waited::Rejected(rejected) => {
                let quota = self.settings_of(&plan.tenant).quota.clone();
                let refusal = quota_refusal(&plan.tenant, &rejected, &quota, self.cost(plan));
                return Err(self.refuse_run(plan, refusal).await);
            }
            Waited::Slot(slot) => {
                // The skill may have changed while the run waited for the slot, or for its line in the log.
                if plan.content.is_some() && began.elapsed() > MAX_UNCOMPARED {
                    let compared = Arc::clone(permit);
                    let compare = move || refuse_if_changed(compared.plan());
                    if let Err(refusal) = blocking(compare).await {
                        drop(slot);
                        return Err(self.refuse_run(plan, refusal).await);
                    }
                }
                drop(descriptors);
                // Whoever waited for it may be gone.
                let _ = observer.began.map(|began| began.send(()));
                let teardown = Teardown::new(self.scratches.scratch(), slot, reachable);
                let mut dropped = EndOnDrop(teardown.ending());
                let context = RunContext {
                    stdin,
                    stdout: stdout.clone(),
                    stderr: stderr.clone(),
                    stop,
                    denied: observer.denied,
                    teardown,
                    record: Record {
                        started,
                        finish: registered
                            .writes_record
                            .then(|| self.finish(permit, &stdout, &stderr, abandoned, &finished)),
                    },
                };
                let run = runtime.run(Arc::clone(permit), context);
                let ended = match registered.is_added {
                    false => run.await,
                    // It may not stop when it is asked to.
                    true => tokio::select! {
                        ended = run => ended,
                        _ = abandoned.wait() => return Err(Error::Stopped.into()),
                    },
                };
                dropped.0 = None;
                let ended = ended?;
                if let Some(finished) = lock(&finished).take() {
                    return Ok(finished);
                }
                stderr.pass_on_notes().await;
                ended
            }
        };
        Ok(self.finished(permit, ended, &stdout, &stderr, abandoned))
    }

    /// Finishes a run on the thread of its runtime, which may block.
    fn finish(
        &self,
        permit: &Arc<Permit>,
        stdout: &Output,
        stderr: &Output,
        abandoned: &Arc<SetOnce<Abandoned>>,
        finished: &Arc<Mutex<Option<Finished>>>,
    ) -> Finish {
        let (host, permit) = (Weak::clone(&self.this), Arc::clone(permit));
        let (stdout, stderr) = (stdout.clone(), stderr.clone());
        let (finished, abandoned) = (Arc::clone(finished), Arc::clone(abandoned));
        Box::new(move |ended| {
            // A reader may be slow, so that thread does not wait for it.
            if stderr.has_notes() {
                return;
            }
            if let Some(host) = host.upgrade() {
                let ended = ended.clone();
                let mut recorded = host.finished(&permit, ended, &stdout, &stderr, &abandoned);
                if let Some(written) = &mut recorded.written {
                    written.write_now();
                }
                *lock(&finished) = Some(recorded);
            }
        })
    }

    /// Makes the outcome of a run and queues its line, unless its end is already recorded.
    fn finished(
        &self,
        permit: &Permit,
        ended: Ended,
        stdout: &Output,
        stderr: &Output,
        abandoned: &SetOnce<Abandoned>,
    ) -> Finished {
        let plan = permit.plan();
        // Nothing of the run may write any more, even if its thread was abandoned.
        let outcome = outcome(plan, ended, stdout.close(), stderr.close());
        // A script that has ended by itself is not aborted.
        let is_aborted = outcome.status == Status::Cancelled && abandoned.get().is_some();
        let last = self.audit.prepare(match is_aborted {
            true => Event::aborted(run_info(plan)),
            false => Event::finished(run_info(plan), &outcome),
        });
        let written = self.end(plan, || last.queue());
        Finished { outcome, written }
    }

    /// Marks a run as ended and queues its last line with `record`; `None` if its end is already recorded.
    fn end<T>(&self, plan: &Plan, record: impl FnOnce() -> T) -> Option<T> {
        // `abort_runs` finds the run either here or in the queue: it must not flush the log before the line is queued.
        // All runs of the host use this lock, so nothing else happens under it.
        let mut running = self.running();
        let ended = running.remove(plan.run_id());
        let recorded = ended.is_some().then(record);
        drop(running);
        recorded
    }

    pub(super) fn abort_runs(&self) {
        for permit in std::mem::take(&mut *self.running()).values() {
            // The process is about to end, so an error cannot be reported.
            self.audit.post(Event::aborted(run_info(permit.plan())));
        }
        self.audit.flush_blocking();
    }
}

/// How many processors there are. Only native scripts need the number, and finding it out takes some 15 system calls.
fn processors() -> u32 {
    static PROCESSORS: LazyLock<u32> = LazyLock::new(|| {
        let count = std::thread::available_parallelism();
        count.map_or(1, |count| count.get().try_into().unwrap_or(u32::MAX))
    });
    *PROCESSORS
}

/// The outcome of a run, and its line in the audit log.
struct Finished {
    outcome: Outcome,
    written: Option<Written>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets [`Host::clean_up`](super::Host::clean_up) wait for a run whose future was dropped.
struct EndOnDrop(Option<Ending>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if let Some(ending) = &self.0 {
            ending.begin();
        }
    }
}

/// Records a run as aborted if its future was dropped.
struct Running<'a> {
    host: &'a Inner,
    permit: &'a Permit,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let plan = self.permit.plan();
        // The caller is gone, so an error cannot be reported. This may be an async thread, so it does not wait.
        self.host.end(plan, || {
            self.host.audit.post(Event::aborted(run_info(plan)));
        });
    }
}

/// Refuses a run whose skill is no longer what was checked. May block.
fn refuse_if_changed(plan: &Plan) -> Result<(), Refusal> {
    let why = match plan.is_current() {
        Ok(true) => return Ok(()),
        Ok(false) => "its skill changed after it was checked".to_owned(),
        Err(why) => format!("its skill can no longer be read: {why}"),
    };
    Err(Refusal::new(Check::Approval, why).hint("run it again"))
}

/// The refusal of a permitted run.
fn not_run(plan: &Plan, refusal: Refusal) -> Refusal {
    let message = format!("{} did not run: {}", plan.title(), refusal.message);
    Refusal { message, ..refusal }
}

fn quota_refusal(tenant: &str, rejected: &Rejected, quota: &Quota, cost: Cost) -> Refusal {
    let tenant = show(tenant);
    let exceeds = |limit: &str, wanted: &str, key: &str, most: &str| {
        let why = format!(
            "its {limit} of {wanted} exceeds the quota `{key}` of {most} of tenant `{tenant}`"
        );
        let hint = format!("lower its limits, or raise the quota `{key}`");
        Refusal::new(Check::Quota, why).hint(hint)
    };
    match (rejected, quota.memory, quota.cpu_time) {
        (Rejected::Waiting { retry_after }, ..) => {
            let why = format!(
                "the quota of tenant `{tenant}` is used up: at most {} of its runs may wait",
                quota.waiting
            );
            let hint = format!("try again in {}", show_duration(*retry_after));
            Refusal {
                retry_after: Some(*retry_after),
                ..Refusal::new(Check::Quota, why).hint(hint)
            }
        }
        (Rejected::TooLarge { what: "memory" }, Some(most), _) => {
            let (wanted, most) = (show_bytes(cost.memory), show_bytes(most));
            exceeds("memory limit", &wanted, "memory", &most)
        }
        (Rejected::TooLarge { what: "cpu_time" }, _, Some(most)) => {
            let (wanted, most) = (show_duration(cost.cpu_time), show_duration(most));
            exceeds("CPU time", &wanted, "cpu_time", &most)
        }
        (Rejected::TooLarge { what }, ..) => {
            let why = format!("tenant `{tenant}` may run nothing");
            Refusal::new(Check::Quota, why).hint(format!("raise the quota `{what}`"))
        }
    }
}

fn outcome(plan: &Plan, ended: Ended, stdout: Kept, stderr: Kept) -> Outcome {
    let Ended {
        status,
        exit_code,
        signal,
        time,
        usage,
        denied,
        denied_truncated,
        artifacts,
        artifacts_truncated,
        isolation,
        mut warnings,
        mut limits_hit,
    } = ended;
    for (name, kept) in [("stdout", &stdout), ("stderr", &stderr)] {
        if kept.truncated {
            warnings.push(format!(
                "{name} of `{}` was cut at {} ({}): it wrote {} bytes",
                show(plan.script()),
                show_bytes(plan.limits.output),
                Limit::Output.key(),
                kept.total
            ));
            limits_hit.push(Limit::Output);
        }
    }
    if status == Status::TimedOut {
        warnings.push(format!(
            "`{}` was stopped at its time limit of {} ({})",
            show(plan.script()),
            show_duration(plan.limits.time),
            Limit::Time.key()
        ));
    }
    limits_hit.extend(match status {
        Status::TimedOut => Some(Limit::Time),
        Status::OutOfFuel => Some(Limit::Fuel),
        Status::OutOfMemory => Some(Limit::Memory),
        _ => None,
    });
    limits_hit.dedup();
    let (stdout_truncated, stderr_truncated) = (stdout.truncated, stderr.truncated);
    let (stdout_bytes, stderr_bytes) = (stdout.total, stderr.total);
    let (stdout, raw_stdout) = text(stdout);
    let (stderr, raw_stderr) = text(stderr);
    Outcome {
        run_id: plan.run_id.clone(),
        skill: plan.skill().to_owned(),
        script: plan.script().to_owned(),
        script_path: plan.script_path().display().to_string(),
        runtime: plan.runtime.to_owned(),
        status,
        exit_code,
        signal: signal.map(signal_name),
        signal_number: signal,
        stdout_truncated,
        stderr_truncated,
        stdout_bytes,
        stderr_bytes,
        stdout,
        stderr,
        execution_time_ms: round(time),
        success: status == Status::Exited && exit_code == 0,
        timeout: status == Status::TimedOut,
        signaled: status == Status::Signaled,
        usage,
        denied,
        denied_truncated,
        artifacts,
        artifacts_truncated,
        isolation,
        warnings,
        limits_hit,
        raw: Raw {
            stdout: raw_stdout,
            stderr: raw_stderr,
        },
    }
}

/// Output as text, and its bytes if it is not UTF-8.
fn text(kept: Kept) -> (String, Option<Vec<u8>>) {
    match String::from_utf8(kept.bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (text, Some(error.into_bytes()))
        }
    }
}

/// Milliseconds, rounded to the microsecond: more digits are noise.
fn round(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
