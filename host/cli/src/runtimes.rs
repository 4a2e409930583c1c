//! `skillrun runtimes`: lists the interpreters, or compiles them in advance. Also prints the progress of compiling.

use crate::args::{Runtimes, RuntimesAction, Skills};
use crate::failure::{Failure, print_message};
use crate::interrupt::{self, Interrupted};
use crate::paths;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use skillrun::{Error, Host, Permit, Policy};
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

pub(crate) fn runtimes(args: &Runtimes) -> Result<u8, Failure> {
    if let RuntimesAction::List { licenses: true, .. } = args.action {
        let text = skillrun::runtime::third_party_licenses()?;
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(0);
    }
    let host = paths::host(&Policy::default(), &Skills::default())?;
    let json = match args.action {
        RuntimesAction::List { json, .. } => json,
        RuntimesAction::Prepare { json } => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            if let Some(why) = runtime.block_on(prepare_all(&host))? {
                // Every run would compile it again, so nothing is prepared.
                return Err(Failure::host(why).hint("set XDG_CACHE_HOME to another directory"));
            }
            json
        }
    };
    let states = host.blocking().runtimes_state()?;
    let native = host.blocking().native_state();
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
    let confined = match native.backend {
        Some(backend) => format!("confined by {backend}"),
        None => "cannot be confined here".into(),
    };
    for (name, path) in &native.interpreters {
        let path = path.display();
        writeln!(
            out,
            "{name:<12} {:<8} {:<6} {confined}  {path}",
            "", "native"
        )?;
    }
    for name in &native.missing {
        writeln!(out, "{name:<12} {:<8} {:<6} not installed", "", "native")?;
    }
    Ok(0)
}

/// Compiles all runtimes that are not compiled yet. Returns why they could not be stored, or `None` if they were.
pub(crate) async fn prepare_all(host: &Host) -> Result<Option<String>, Failure> {
    let states = host.blocking().runtimes_state()?;
    let missing: Vec<_> = states
        .iter()
        .filter(|state| !state.prepared)
        .map(|state| state.name)
        .collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let what = match missing.as_slice() {
        [one] => display_kind(one),
        several => {
            let names: Vec<_> = several.iter().map(|name| display_name(name)).collect();
            format!("the interpreters {}", names.join(", "))
        }
    };
    show_progress(&what, false, host.prepare()).await
}

/// Compiles what this run needs, if it is not compiled yet. Returns what stops the run: the next Ctrl-C, or something that
/// has already happened if there was one. Then the run starts in order to be recorded as cancelled, and nothing of it runs.
pub(crate) async fn prepare_for(
    host: &Host,
    permit: &Permit,
    quiet: bool,
) -> Result<Interrupted, Failure> {
    let mut interrupted = interrupt::interrupted()?;
    let Some(name) = host.blocking().unprepared_for(permit)? else {
        return Ok(interrupted);
    };
    let what = display_kind(name);
    let prepared = tokio::select! {
        biased;
        // The compiling threads end with the process.
        () = &mut interrupted => return Ok(Box::pin(std::future::ready(()))),
        prepared = show_progress(&what, quiet, host.prepare_for(permit)) => prepared?,
    };
    if let Some(warning) = prepared
        && !quiet
    {
        print_message("warning", &warning);
        print_message(
            "hint",
            "every run compiles it again until this is fixed; set XDG_CACHE_HOME to another directory",
        );
    }
    Ok(interrupted)
}

/// The name of a runtime, with what it is.
fn display_kind(runtime: &str) -> String {
    let kind = match runtime {
        "typescript" => "transpiler",
        _ => "interpreter",
    };
    format!("the {} {kind}", display_name(runtime))
}

/// The name of a runtime in a sentence.
fn display_name(runtime: &str) -> &str {
    match runtime {
        "python" => "Python",
        "javascript" => "JavaScript",
        "typescript" => "TypeScript",
        other => other,
    }
}

/// Waits for a compilation and shows its progress: on a terminal with a spinner, elsewhere with one line at the beginning,
/// because compiling takes seconds. Returns why the result could not be stored, or `None` if it was.
async fn show_progress(
    what: &str,
    quiet: bool,
    compiling: impl Future<Output = Result<Option<String>, Error>>,
) -> Result<Option<String>, Failure> {
    let message = format!("compiling {what} for this machine, once …");
    let is_terminal = std::io::stderr().is_terminal();
    if !quiet && !is_terminal {
        // Compiling continues if nothing reads stderr.
        let _ = writeln!(std::io::stderr(), "{message}");
    }
    let progress = match quiet || !is_terminal {
        true => ProgressBar::hidden(),
        false => ProgressBar::new_spinner(),
    };
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
    progress.set_style(style.map_err(|error| Failure::host(error.to_string()))?);
    progress.set_message(message);
    progress.enable_steady_tick(Duration::from_millis(120));
    let compiled = compiling.await;
    progress.finish_and_clear();
    Ok(compiled?)
}
