//! One run from permit to outcome.

use super::{Inner, run_info};
use crate::audit::Event;
use crate::decision::Permit;
use crate::error::{Error, RunError};
use crate::files::show;
use crate::outcome::{Outcome, Status, signal_name};
use crate::plan::Plan;
use crate::refusal::{Check, Refusal};
use crate::runtime::output::{Kept, Output};
use crate::runtime::{Ended, Live, RunContext, Stream};
use std::sync::Arc;
use std::time::Duration;

impl Inner {
    /// Refuses a run whose skill changed after it was checked.
    pub(super) fn check_current(&self, plan: &Plan) -> Result<(), RunError> {
        let why = match plan.is_current() {
            Ok(true) => return Ok(()),
            Ok(false) => "its skill changed after it was checked".to_owned(),
            Err(why) => format!("its skill can no longer be read: {why}"),
        };
        let message = format!("{} did not run: {why}", plan.title());
        self.audit
            .write_blocking(Event::refused(run_info(plan), &message))?;
        let refusal = Refusal::new(Check::Approval, message).hint("run it again");
        Err(RunError::Refused(refusal))
    }

    pub(super) async fn run(&self, permit: Arc<Permit>, live: Live) -> Result<Outcome, Error> {
        let plan = permit.plan();
        let id = plan.run_id.clone();
        self.running().insert(id, Arc::clone(&permit));
        // From here on: if the future is dropped while `started` is written, that line is followed by `aborted`.
        let running = Running {
            host: self,
            permit: &permit,
        };
        if let Err(error) = self.audit.write(Event::started(run_info(plan))).await {
            running.ended();
            return Err(error);
        }
        let ended = self.execute(&permit, live).await;
        let mut outcome = match ended {
            Ok(outcome) => outcome,
            Err(error) => {
                if running.ended() {
                    // The first error is the one that matters.
                    let _ = self.audit.write(Event::aborted(run_info(plan))).await;
                }
                return Err(error);
            }
        };
        if running.ended() {
            let finished = Event::finished(run_info(plan), &outcome);
            if let Err(error) = self.audit.write(finished).await {
                outcome.warnings.push(error.to_string());
            }
        }
        Ok(outcome)
    }

    /// Waits for a slot and runs the script.
    async fn execute(&self, permit: &Arc<Permit>, live: Live) -> Result<Outcome, Error> {
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
        let ended = match registered.slots.take(&mut stop).await? {
            None => Ended::cancelled_before_start(runtime.isolation()),
            Some(slot) => {
                let context = RunContext {
                    stdin,
                    stdout: stdout.clone(),
                    stderr: stderr.clone(),
                    stop,
                    scratch: self.scratches.scratch(),
                    slot,
                };
                runtime.run(Arc::clone(permit), context).await?
            }
        };
        // Nothing of the run may write any more, even if its thread was abandoned.
        Ok(outcome(plan, ended, stdout.close(), stderr.close()))
    }

    pub(super) fn abort_runs(&self) {
        let running = std::mem::take(&mut *self.running());
        for permit in running.values() {
            // The process is about to end, so an error cannot be reported.
            self.audit.post(Event::aborted(run_info(permit.plan())));
        }
        self.audit.flush_blocking();
    }
}

/// Records a run as aborted if its future was dropped.
struct Running<'a> {
    host: &'a Inner,
    permit: &'a Permit,
}

impl Running<'_> {
    /// Marks the run as ended; returns whether its end has yet to be recorded.
    fn ended(&self) -> bool {
        let ended = self.host.running().remove(self.permit.plan().run_id());
        ended.is_some()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.ended() {
            // The caller is gone, so an error cannot be reported. This may be an async thread, so it does not wait.
            let event = Event::aborted(run_info(self.permit.plan()));
            self.host.audit.post(event);
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
        isolation,
        mut warnings,
    } = ended;
    for (name, kept) in [("stdout", &stdout), ("stderr", &stderr)] {
        if kept.truncated {
            warnings.push(format!(
                "{name} of `{}` was cut at {}: it wrote {} bytes (raise the limit with --max-output)",
                show(plan.script()),
                crate::limits::show_bytes(plan.limits.output),
                kept.total
            ));
        }
    }
    if status == Status::TimedOut {
        warnings.push(format!(
            "`{}` was stopped at its time limit of {} (raise it with --timeout)",
            show(plan.script()),
            crate::limits::show_duration(plan.limits.time)
        ));
    }
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
