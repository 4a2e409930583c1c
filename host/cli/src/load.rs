//! `skillrun load`: a skill as an agent reads it, with what its scripts printed.

use crate::args::Load;
use crate::ask::{self, tell_refused};
use crate::failure::{Failure, INTERRUPTED, NOT_FOUND, REFUSED, report};
use crate::{agent, interrupt, output, places, runtimes};
use serde_json::json;
use skillrun::{Check, Decision, Error, Host, Live, Permit, Ran, Refusal, Request};
use std::io::Write as _;
use std::path::Path;

pub(crate) fn load(args: &Load) -> Result<u8, Failure> {
    let skill = &match args.agent.find(&args.skill) {
        Ok(skill) => skill,
        Err(error) => return not_loaded(args, &error.into()),
    };
    let policy = args.agent.policy(std::slice::from_ref(skill))?;
    let load = skillrun::Load::new(skill, args.scripts.as_deref());
    let runs = load.scripts().map(|script| Request::new(skill, script));
    // What will not run comes last, where nothing is rendered from; it is told of already.
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
    let host = places::host_protecting(&policy, typed, &roots, protected)?;
    let host: &'static Host = Box::leak(Box::new(host));
    interrupt::remember(host);
    let asks = args.agent.asks(answers)?;
    let decisions = host.decide_all(&policy, requests.collect())?;
    let decisions = asks.settle(host, decisions)?;
    if !args.agent.quiet {
        tell_refused(&decisions);
    }
    if ask::stopped() {
        return Ok(INTERRUPTED);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ran = runtime.block_on(async {
        let mut ran = Vec::new();
        for decision in decisions {
            if interrupt::is_pressed() {
                break;
            }
            ran.push(match decision {
                Decision::Permitted(permit) => one(host, permit, args.agent.quiet).await?,
                Decision::Refused(refusal) => Ran::Refused(refusal),
                other => Ran::Failed(format!("unknown decision {other:?}")),
            });
        }
        host.clean_up().await;
        Ok::<_, Failure>(ran)
    });
    // A call of a script that does not return must not hold the process.
    runtime.shutdown_background();
    let ran = ran?;
    if interrupt::is_pressed() {
        return Ok(INTERRUPTED);
    }
    let refused = ran.iter().any(|ran| matches!(ran, Ran::Refused(_)));
    print(args, &load.render(ran))?;
    Ok(if refused { REFUSED } else { 0 })
}

/// Runs one thing that was permitted.
pub(crate) async fn one(host: &Host, permit: Permit, quiet: bool) -> Result<Ran, Failure> {
    let live = Live {
        stop: Some(interrupt::interrupted()?),
        ..Live::default()
    };
    runtimes::prepare_for(host, &permit, quiet).await?;
    Ok(match host.run_live(permit, live).await {
        Ok(outcome) => Ran::Ended(Box::new(outcome)),
        Err(error @ Error::Changed(_)) => Ran::Refused(Refusal {
            check: Check::Approval,
            message: error.to_string(),
            hint: None,
        }),
        Err(error) => Ran::Failed(error.to_string()),
    })
}

/// An agent gets a text in any case; whoever looks at the exit code learns it too.
fn not_loaded(args: &Load, failure: &Failure) -> Result<u8, Failure> {
    let status = if failure.code == NOT_FOUND && !Path::new(&args.skill).is_dir() {
        "not_found"
    } else {
        "invalid"
    };
    print(
        args,
        &skillrun::Load::missing(&args.skill, status, &failure.message),
    )?;
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
