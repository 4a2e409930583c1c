//! `skillrun run`: one script, its output as it comes or the whole outcome as JSON.

use crate::args::{Run, Runtime};
use crate::failure::{self, Failure, say};
use crate::interrupt::{self, interrupted};
use crate::own_file::is_descriptor;
use crate::{agent, places, runtimes};
use skillrun::walk::{Links, WalkError, walk};
use skillrun::{
    Chunk, Decision, Grant, Host, Limits, Live, Outcome, Paths, Policy, Request, Skill, Status,
    Stream, Tier, Utf8Decoder,
};
use std::fs::File;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use tokio::sync::mpsc;

/// Pieces of output under way to a slow reader, each at most 64 KiB.
const QUEUE: usize = 16;
/// How long a reader who has stopped reading is waited for after the script was stopped.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Runs the script and returns the process's exit code.
pub(crate) fn run(args: Run) -> Result<u8, Failure> {
    let found = places::library(&args.skills.folders).find(&args.skill)?;
    if !args.quiet {
        agent::warn_shadowed(&found);
    }
    let untrusted = places::Untrusted {
        skills: &[found.skill.path()],
        workspace: args.workspace.as_deref(),
        writable: &agent::writable_by(&agent::typed(&args.allow)?),
    };
    let policy = places::policy(args.policy.as_deref(), &args.skills, untrusted);
    let policy = policy.map_err(|failure| agent::recorded(failure, &args.script))?;
    let wanted = request(&args, policy, &found.skill);
    let (policy, request) = wanted.map_err(|failure| agent::recorded(failure, &args.script))?;
    // Taken apart piece by piece a host costs as much as a tenth of a short run; the end of the
    // process does it at once.
    let mut writable = agent::writable_by(&request.grants);
    writable.extend(request.workspace.clone());
    let host = places::host_protecting(&policy, &args.skills, &writable, Vec::new());
    let host = host.map_err(|failure| agent::recorded(failure, &args.script))?;
    let host: &'static Host = Box::leak(Box::new(host));
    interrupt::remember(host);
    let permit = match host.decide(&policy, request)? {
        Decision::Permitted(permit) => permit,
        Decision::Refused(refusal) => return Err(refusal.into()),
        other => return Err(Failure::host(format!("unknown decision {other:?}"))),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        runtimes::prepare_for(host, &permit, args.quiet).await?;
        let piped = args.input.is_none() && !std::io::stdin().is_terminal();
        let mut live = Live {
            stop: Some(interrupted()?),
            ..Live::default()
        };
        if piped {
            live.stdin = Some(Box::new(tokio::io::stdin()));
        }
        if args.json {
            return Ok(host.run_live(permit, live).await?);
        }
        let (sink, queue) = mpsc::channel(QUEUE);
        live.output = Some(sink);
        let printer = Printer::start(queue, args.raw);
        let outcome = host.run_live(permit, live).await?;
        printer.finish(outcome.status);
        Ok::<Outcome, Failure>(outcome)
    });
    let told = outcome.and_then(|outcome| tell(&args, &outcome));
    // Whoever waits for the output has it; what the script left behind may take longer to remove.
    let stays = runtime.block_on(async {
        tokio::select! {
            stays = host.clean_up() => stays,
            // Somebody is in a hurry. The next run removes the rest.
            () = interrupted().unwrap_or_else(|_| Box::pin(std::future::pending())) => None,
        }
    });
    if let Some(stays) = stays.filter(|_| !args.quiet) {
        say("warning", &stays);
    }
    // A thread may still be blocked reading our stdin; it must not hold the process.
    runtime.shutdown_background();
    told
}

/// Prints what is not printed yet, and returns the exit code.
fn tell(args: &Run, outcome: &Outcome) -> Result<u8, Failure> {
    if args.json {
        let text =
            serde_json::to_string(outcome).map_err(|error| Failure::host(error.to_string()))?;
        writeln!(std::io::stdout(), "{text}")?;
    }
    if !args.quiet {
        for warning in &outcome.warnings {
            say("warning", warning);
        }
    }
    Ok(exit_code(outcome))
}

/// A script's own exit code; 128+N for signal N.
fn exit_code(outcome: &Outcome) -> u8 {
    let code = outcome
        .signal_number
        .map_or(outcome.exit_code, |signal| 128 + signal);
    u8::try_from(code).unwrap_or(crate::failure::HOST)
}

/// What was typed, as a request; typing it is the person's own yes, so it widens the policy too.
fn request(args: &Run, policy: Policy, skill: &Arc<Skill>) -> Result<(Policy, Request), Failure> {
    let mut request = Request::typed(skill, &args.script);
    for (index, arg) in args.args.iter().enumerate() {
        let text = arg
            .to_str()
            .ok_or_else(|| Failure::host(format!("argument {} is not UTF-8", index + 1)))?;
        request.args.push(text.to_owned());
    }
    let mut typed = agent::typed(&args.allow)?;
    for text in &args.env {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (text.as_str(), variable(text)?),
        };
        let grant: Grant = format!("env:{name}")
            .parse()
            .map_err(|error: skillrun::GrantError| Failure::host(error.to_string()))?;
        request.env.push((name.to_owned(), value));
        typed.push(grant);
    }
    request.tier = match args.runtime {
        Runtime::Auto => Tier::Auto,
        Runtime::Wasm => Tier::Wasm,
        Runtime::Native => Tier::Native,
    };
    let policy = policy.and_allow(typed.clone());
    let mut request = request.with_all_grants(&policy, |name| std::env::var(name).ok());
    let native = request.is_native();
    if !args.quiet {
        for grant in &typed {
            if let Some(why) = has_no_effect(grant, native) {
                say("warning", &format!("`{grant}` has no effect: {why}"));
            }
        }
    }

    // If there are no rules for it, deciding says why and records it.
    let rules = request.subject.rules(&policy);
    let mut limits = rules.map_or_else(|_| Limits::default(), |rules| rules.limits());
    let limit = |error: skillrun::LimitError| Failure::host(error.to_string());
    if let Some(text) = &args.timeout {
        limits.time = skillrun::parse_duration(text).map_err(limit)?;
    }
    if let Some(text) = &args.memory {
        limits.memory = skillrun::parse_bytes(text).map_err(limit)?;
    }
    if let Some(text) = &args.max_output {
        limits.output = skillrun::parse_bytes(text).map_err(limit)?;
    }
    limits.fuel = args.fuel.or(limits.fuel);
    limits.check().map_err(limit)?;

    let input = args.input.as_deref().map(|typed| input(typed, args.follow));
    request.input = input.transpose()?;
    request.workspace = args.workspace.clone();
    request.follow = args.follow;
    request.paths = if args.virtual_paths {
        Paths::Virtual
    } else {
        Paths::Real
    };
    let policy = policy.and_limits(&limits);
    request.limits = Some(limits);
    Ok((policy, request))
}

/// Why a grant that was typed changes nothing, if it does not.
fn has_no_effect(grant: &Grant, native: bool) -> Option<&'static str> {
    match grant {
        Grant::Net(..) | Grant::Run(_) | Grant::Native if !native => {
            Some("this runtime has no network and no processes")
        }
        Grant::Net(..) if !grant.is_whole_network() => {
            Some("a native script gets the whole network, `net:*`, or none")
        }
        Grant::Run(_) => Some("a native script may run what is installed"),
        _ => None,
    }
}

fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|_| {
        Failure::host(format!("the variable `{name}` is not set here"))
            .hint(format!("give it a value: --env {name}=VALUE"))
    })
}

/// Reads the JSON of `--input`, at most one byte more than any run accepts.
fn input(typed: &str, follow: bool) -> Result<serde_json::Value, Failure> {
    let most = skillrun::Limits::default().arguments;
    let text = match (typed, typed.strip_prefix('@')) {
        ("-", _) => read_limited(&mut std::io::stdin().lock(), most, "stdin")?,
        (_, Some(path)) => {
            let mut file = open_input(path, follow)?;
            read_limited(&mut file, most, path)?
        }
        (text, None) => text.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::host(format!("--input is not JSON: {error}"))
            .hint("quote it for your shell: --input '{\"key\": \"value\"}'")
    })
}

/// Opens the file of `--input @FILE`.
fn open_input(path: &str, follow: bool) -> Result<File, Failure> {
    let fail = |why: &dyn std::fmt::Display| Failure::host(format!("input `{path}`: {why}"));
    let system = |error: std::io::Error| fail(&failure::plain(&error));
    if is_descriptor(Path::new(path)) {
        return File::open(path).map_err(system);
    }
    let links = match follow {
        true => Links::All,
        false => Links::System,
    };
    let found = match walk(Path::new(path), links) {
        Ok(found) => found,
        Err(error) => {
            let WalkError::Link { target, .. } = &error else {
                return Err(fail(&error));
            };
            let target = target.display();
            return Err(Failure {
                code: failure::REFUSED,
                word: "refused",
                message: format!("input `{path}` {error}"),
                hint: Some(format!(
                    "pass `@{target}` itself, or --follow if the link is yours"
                )),
            });
        }
    };
    match found.metadata() {
        meta if meta.is_dir() => Err(Failure::host(format!("input `{path}` is a directory"))),
        meta if meta.is_file() => found.open(File::options().read(true)).map_err(system),
        _ => Err(fail(&"is not a regular file").hint("pipe it: --input -")),
    }
}

fn read_limited(from: &mut dyn std::io::Read, most: u64, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let most = skillrun::show_bytes(most);
        return Err(Failure::host(format!(
            "arguments too large: `{name}` holds more than {most}"
        ))
        .hint("pass large data as a file in the workspace"));
    }
    String::from_utf8(bytes).map_err(|_| Failure::host(format!("`{name}` is not UTF-8 text")))
}

/// Writes output as it comes, both streams in the order they were written, on a thread of its own so
/// that a blocked terminal does not hold up the time limit.
struct Printer {
    done: std::sync::mpsc::Receiver<()>,
}

impl Printer {
    fn start(mut queue: mpsc::Receiver<Chunk>, raw: bool) -> Self {
        let (finished, done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut decoders = [Utf8Decoder::default(), Utf8Decoder::default()];
            while let Some(Chunk { stream, bytes }) = queue.blocking_recv() {
                let decoder = &mut decoders[stream as usize];
                let bytes = if raw {
                    bytes.to_vec()
                } else {
                    decoder.decode(&bytes).into_bytes()
                };
                // Nobody reads any more: dropping the queue tells the script.
                if put(stream, &bytes).is_err() {
                    return;
                }
            }
            for (stream, mut decoder) in [Stream::Stdout, Stream::Stderr].into_iter().zip(decoders)
            {
                let _ = put(stream, decoder.finish().as_bytes());
            }
            let _ = finished.send(());
        });
        Self { done }
    }

    /// Waits until everything is written; not for ever if the script was stopped.
    fn finish(self, status: Status) {
        if status == Status::Exited {
            let _ = self.done.recv();
        } else if let Err(RecvTimeoutError::Timeout) = self.done.recv_timeout(LAST_WORDS) {
            say("warning", "the last output was not read");
        }
    }
}

fn put(stream: Stream, bytes: &[u8]) -> std::io::Result<()> {
    match stream {
        Stream::Stdout => {
            let mut out = std::io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()
        }
        Stream::Stderr => std::io::stderr().lock().write_all(bytes),
    }
}
