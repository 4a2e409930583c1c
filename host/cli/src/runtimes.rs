//! `skillrun runtimes`: the interpreters, and compiling them ahead of time.

use crate::args::{Runtimes, RuntimesAction};
use crate::failure::{Failure, say};
use crate::places;
use indicatif::{ProgressBar, ProgressStyle};
use skillrun::{Host, Policy};
use std::io::Write as _;
use std::time::Duration;

pub(crate) fn runtimes(args: &Runtimes) -> Result<u8, Failure> {
    let host = places::host(&Policy::default())?;
    let json = match args.action {
        RuntimesAction::List { json } => json,
        RuntimesAction::Prepare { json } => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(prepare(&host, false))?;
            json
        }
    };
    let states = host.runtimes_state()?;
    let mut out = std::io::stdout().lock();
    if json {
        let text =
            serde_json::to_string(&states).map_err(|error| Failure::host(error.to_string()))?;
        writeln!(out, "{text}")?;
        return Ok(0);
    }
    for state in states {
        let prepared = if state.prepared {
            "prepared"
        } else {
            "compiled on first use"
        };
        writeln!(
            out,
            "{:<12} {:<8} {:<6} {prepared}  {}",
            state.name,
            state.version,
            state.tier,
            state.file.display()
        )?;
    }
    Ok(0)
}

/// Compiles the interpreters if needed, with a progress line on a terminal.
pub(crate) async fn prepare(host: &Host, quiet: bool) -> Result<(), Failure> {
    if host.runtimes_state()?.iter().all(|state| state.prepared) {
        return Ok(());
    }
    let progress = if quiet {
        ProgressBar::hidden()
    } else {
        ProgressBar::new_spinner()
    };
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
    progress.set_style(style.map_err(|error| Failure::host(error.to_string()))?);
    progress.set_message("compiling the python runtime for this machine, once …");
    progress.enable_steady_tick(Duration::from_millis(120));
    let prepared = host.prepare().await;
    progress.finish_and_clear();
    if let Some(warning) = prepared?
        && !quiet
    {
        say("warning", &warning);
        say(
            "hint",
            "every run compiles it again until that is mended; XDG_CACHE_HOME names another place",
        );
    }
    Ok(())
}
