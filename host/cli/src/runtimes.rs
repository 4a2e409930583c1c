//! `skillrun runtimes`: the interpreters, and compiling them ahead of time.

use crate::args::{Runtimes, RuntimesAction, Skills};
use crate::failure::{Failure, say};
use crate::places;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use skillrun::{Error, Host, Permit, Policy};
use std::io::Write as _;
use std::time::Duration;

pub(crate) fn runtimes(args: &Runtimes) -> Result<u8, Failure> {
    if let RuntimesAction::List { licenses: true, .. } = args.action {
        let text = skillrun::third_party_licenses()?;
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(0);
    }
    let host = places::host(&Policy::default(), &Skills::default())?;
    let json = match args.action {
        RuntimesAction::List { json, .. } => json,
        RuntimesAction::Prepare { json } => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(prepare_all(&host))?;
            json
        }
    };
    let states = host.runtimes_state()?;
    let native = host.native_state();
    let mut out = std::io::stdout().lock();
    if json {
        let failed = |error: serde_json::Error| Failure::host(error.to_string());
        let mut all = states
            .iter()
            .map(serde_json::to_value)
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        all.extend(native.interpreters.iter().map(|(name, path)| {
            json!({
                "name": name, "version": null, "tier": "native",
                "prepared": native.backend.is_some(), "file": path,
            })
        }));
        writeln!(out, "{}", serde_json::Value::from(all))?;
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
    let held = match native.backend {
        Some(backend) => format!("held by {backend}"),
        None => "cannot be confined here".into(),
    };
    for (name, path) in &native.interpreters {
        let path = path.display();
        writeln!(out, "{name:<12} {:<8} {:<6} {held}  {path}", "", "native")?;
    }
    for name in &native.missing {
        writeln!(out, "{name:<12} {:<8} {:<6} not installed", "", "native")?;
    }
    Ok(0)
}

/// Compiles all runtimes that are not compiled yet.
pub(crate) async fn prepare_all(host: &Host) -> Result<(), Failure> {
    let states = host.runtimes_state()?;
    let missing: Vec<_> = states
        .iter()
        .filter(|state| !state.prepared)
        .map(|state| state.name)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what = match missing.as_slice() {
        [one] => format!("the {one} runtime"),
        several => format!("the runtimes {}", several.join(", ")),
    };
    show_progress(&what, false, host.prepare()).await
}

/// Compiles what this run needs, if it is not compiled yet.
pub(crate) async fn prepare_for(host: &Host, permit: &Permit, quiet: bool) -> Result<(), Failure> {
    let Some(name) = host.unprepared_for(permit)? else {
        return Ok(());
    };
    let what = format!("the {name} runtime");
    show_progress(&what, quiet, host.prepare_for(permit)).await
}

/// Waits for a compilation with a progress line, on a terminal.
async fn show_progress(
    what: &str,
    quiet: bool,
    compiling: impl Future<Output = Result<Option<String>, Error>>,
) -> Result<(), Failure> {
    let progress = if quiet {
        ProgressBar::hidden()
    } else {
        ProgressBar::new_spinner()
    };
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
    progress.set_style(style.map_err(|error| Failure::host(error.to_string()))?);
    progress.set_message(format!("compiling {what} for this machine, once …"));
    progress.enable_steady_tick(Duration::from_millis(120));
    let compiled = compiling.await;
    progress.finish_and_clear();
    if let Some(warning) = compiled?
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
