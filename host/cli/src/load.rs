//! `skillrun load`: prints a skill as an agent reads it, with the output of its scripts.

use crate::args::Load;
use crate::ask::{self, report_refused};
use crate::denied::Flags;
use crate::failure::{
    Failure, INTERRUPTED, NOT_FOUND, REFUSED, ignore_closed_pipe, print_message, report,
};
use crate::paths::RunIn;
use crate::{agent, denied, interrupt, output, paths, runtimes};
use serde_json::json;
use skillrun::{Host, Live, Permit, Ran, Request};
use skillrun_skill::text::show;
use std::io::Write as _;
use std::path::Path;

pub(crate) fn load(args: &Load) -> Result<u8, Failure> {
    let skill = &match args.agent.find(&args.skill) {
        Ok(skill) => skill,
        Err(failure) => return not_loaded(args, &failure),
    };
    let policy = args.agent.policy(std::slice::from_ref(skill))?;
    let load = skillrun::Load::new(skill, args.scripts.as_deref());
    let runs = load.scripts().map(|script| Request::new(skill, script));
    // Requests that are already refused come last: they are decided for the record, and not rendered again.
    let requests = runs.chain(load.refused());
    let requests = requests.map(|request| args.agent.request(&policy, request));
    let writable = args.agent.writable(&policy, std::slice::from_ref(skill));
    let answers = args.agent.answers(&writable);
    let answers = answers.map_err(|failure| agent::recorded(failure, skill.name()))?;
    let protected = answers.iter().filter_map(|file| file.path.clone());
    let roots = args
        .agent
        .writable_roots(&policy, std::slice::from_ref(skill));
    let (typed, protected) = (&args.agent.skills, protected.collect());
    let run_in = RunIn::Workers(std::slice::from_ref(skill));
    let host = paths::host_protecting(&policy, typed, &roots, protected, run_in);
    let host = host.map_err(|failure| agent::recorded(failure, skill.name()))?;
    let host: &'static Host = Box::leak(Box::new(host));
    interrupt::set_host(host);
    let asks = args.agent.answer_source(answers)?;
    let batch = host.blocking().decide_all(&policy, requests.collect())?;
    let decided = asks.answer_all(host, batch)?;
    if !args.agent.quiet {
        report_refused(&decided);
    }
    if ask::stopped() {
        return Ok(INTERRUPTED);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ran = runtime.block_on(async {
        let mut ran = Vec::new();
        for decided in decided {
            if interrupt::is_interrupted() {
                break;
            }
            ran.push(match decided {
                Ok(permit) => {
                    let ran = run_permitted(host, permit, args.agent.quiet).await?;
                    if !args.agent.quiet {
                        report_denied(&ran);
                    }
                    ran
                }
                Err(refusal) => Ran::Refused(refusal),
            });
        }
        host.clean_up().await;
        Ok::<_, Failure>(ran)
    });
    // A host call that does not return must not keep the process from exiting.
    runtime.shutdown_background();
    let ran = ran?;
    if interrupt::is_interrupted() {
        return Ok(INTERRUPTED);
    }
    let refused = ran.iter().any(|ran| matches!(ran, Ran::Refused(_)));
    // The scripts have run, whether or not the output is read.
    ignore_closed_pipe(print(args, &load.render(ran)))?;
    Ok(if refused { REFUSED } else { 0 })
}

/// Prints what a script that failed was denied. The model does not learn what exists on this machine.
fn report_denied(ran: &Ran) {
    if let Ran::Ended(outcome) = ran
        && !outcome.success
        && let Some(line) = denied::line(outcome, Flags::OfAgent)
    {
        print_message("denied", &format!("`{}`: {line}", show(&outcome.script)));
    }
}

/// Runs one permitted script or command.
pub(crate) async fn run_permitted(
    host: &Host,
    permit: Permit,
    quiet: bool,
) -> Result<Ran, Failure> {
    let live = Live {
        stop: Some(runtimes::prepare_for(host, &permit, quiet).await?),
        ..Live::default()
    };
    Ok(host.run_live(permit, live).await.into())
}

/// Prints a text for the agent even if there is no skill, and returns the exit code of the failure.
fn not_loaded(args: &Load, failure: &Failure) -> Result<u8, Failure> {
    let status = if failure.code == NOT_FOUND && !Path::new(&args.skill).is_dir() {
        "not_found"
    } else {
        "invalid"
    };
    let text = skillrun::Load::missing(&args.skill, status, &failure.message);
    ignore_closed_pipe(print(args, &text))?;
    report(failure, false);
    Ok(failure.code)
}

fn print(args: &Load, text: &str) -> Result<(), Failure> {
    let mut out = output::json_or_text(args.json);
    match args.json {
        true => writeln!(out, "{}", json!({"skill": args.skill, "context": text}))?,
        false => out.write_all(text.as_bytes())?,
    }
    Ok(())
}
