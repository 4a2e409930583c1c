//! `skillrun run`: runs one script and prints its output as it comes, or the whole outcome as JSON.

use crate::approver::{COMMAND, approver};
use crate::args::{Run, Runtime};
use crate::ask::{self, AnswerSource};
use crate::denied::Flags;
use crate::failure::{self, Failure, print_message};
use crate::interrupt::{self, interrupted};
use crate::own_file::is_descriptor;
use crate::paths::RunIn;
use crate::text::{printable, shown};
use crate::{agent, denied, find, paths, runtimes};
use rustix::fs::FileType;
use skillrun::limits::Limit;
use skillrun::policy::EffectiveRules;
use skillrun::runtime::{Chunk, Stream};
use skillrun::walk::{Links, WalkError, walk};
use skillrun::{Grant, Host, Limits, Live, Outcome, Paths, Policy, Request, Skill, Status, Tier};
use skillrun_skill::text::{Utf8Decoder, shell_path, shell_word};
use std::env::VarError;
use std::fs::File;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use tokio::sync::mpsc;

/// Chunks of output that are queued for a slow reader, each at most 64 KiB.
const QUEUE: usize = 16;
/// How long we wait for a reader that has stopped reading, after the script was stopped.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of `/dev/null`: major 1, minor 3.
const NULL_DEVICE: u64 = 1 << 8 | 3;
/// The most scripts that a message lists.
const MAX_LISTED: usize = 20;

/// Runs the script and returns the process's exit code.
pub(crate) fn run(args: Run) -> Result<u8, Failure> {
    if is_probably_native(&args) {
        // A sandbox takes longer than everything else at the start, and can be prepared beside it.
        skillrun::runtime::expect_native_script();
    }
    let (found, is_folder) = find::find_or_folder(&args.skills.folders, &args.skill)?;
    agent::warn_about_choice(&found, args.quiet, grants_something(&args));
    if is_folder && grants_something(&args) {
        return Err(find::reject_folder(&args.skill));
    }
    let script = match &args.script {
        Some(script) => script.clone(),
        None => only_script(&args.skill, &found.skill)?,
    };
    let untrusted = paths::Untrusted {
        skills: &[found.skill.path()],
        workspace: args.workspace.as_deref(),
        writable: &agent::writable_by(&agent::typed(&args.allow)?),
    };
    let policy = paths::policy(args.policy.as_deref(), &args.skills, untrusted);
    let policy = policy.map_err(|failure| agent::recorded(failure, &script))?;
    let wanted = request(&args, policy, &found.skill, &script);
    let (policy, request, raises) = wanted.map_err(|failure| agent::recorded(failure, &script))?;
    if is_folder {
        // The policy may grant something to every skill.
        if !request.grants.is_empty() || !request.env.is_empty() {
            return Err(find::reject_folder(&args.skill));
        }
        find::note_folder(&args.skill);
    }
    let granted = granted_paths(&request.grants);
    let mut writable = agent::writable_by(&request.grants);
    writable.extend(args.workspace.clone());
    // Starting a worker would take a third of the time of a short run.
    let run_in = RunIn::ThisProcess;
    let host = paths::host_protecting(&policy, &args.skills, &writable, Vec::new(), run_in);
    let host = host.map_err(|failure| agent::recorded(failure, &script))?;
    // Dropping a host takes up to a tenth of the time of a short run. The end of the process frees everything at once.
    let host: &'static Host = Box::leak(Box::new(host));
    interrupt::set_host(host);
    let decision = host.blocking().decide(&policy, request)?;
    // What a person types needs no other approval, unless an enforcing policy demands one.
    let decided = AnswerSource::Person.answer_one(host, decision)?;
    if ask::stopped() {
        return Ok(failure::INTERRUPTED);
    }
    let permit = decided?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        let stop = runtimes::prepare_for(host, &permit, args.quiet).await?;
        let piped = args.input.is_none() && has_input(std::io::stdin().as_fd());
        let mut live = Live {
            stop: Some(stop),
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
        printer.finish(outcome.status)?;
        Ok::<Outcome, Failure>(outcome)
    });
    let printed = outcome.and_then(|outcome| Ok((print(&args, &outcome, &raises)?, outcome)));
    // The output is printed. Removing the scratch directory may take longer.
    let leftover = runtime.block_on(async {
        tokio::select! {
            leftover = host.clean_up() => leftover,
            // The user does not want to wait. The next run removes the rest.
            () = interrupted().unwrap_or_else(|_| Box::pin(std::future::pending())) => None,
        }
    });
    if let Some(leftover) = leftover.filter(|_| !args.quiet) {
        print_message("warning", &leftover);
    }
    // A thread may still be blocked reading stdin. The process must not wait for it.
    runtime.shutdown_background();
    let (code, outcome) = printed?;
    if outcome.success || args.quiet || args.json {
        return Ok(code);
    }
    // Last: a script that catches its errors says nothing about it.
    if let Some(line) = denied::line(&outcome, Flags::OfRun) {
        print_message("denied", &line);
    } else if outcome.denied.is_empty()
        && let Some(hint) = full_path_hint(&args, found.skill.path(), &granted)
    {
        print_message("hint", &hint);
    }
    Ok(code)
}

/// Whether the script is probably one that only runs natively, as far as its name says.
fn is_probably_native(args: &Run) -> bool {
    let extension = args.script.as_deref().map(Path::new);
    let extension = extension.and_then(Path::extension);
    let languages = ["sh", "bash", "rb", "pl"];
    !matches!(args.runtime, Runtime::Wasm)
        && extension.is_some_and(|found| languages.iter().any(|known| found == *known))
}

/// Whether a script may find something in this standard input: a terminal is not passed on, and the null device is empty.
/// Reading it would take a thread.
fn has_input(stdin: BorrowedFd<'_>) -> bool {
    let is_null = |found: rustix::fs::Stat| {
        FileType::from_raw_mode(found.st_mode).is_char_device() && found.st_rdev == NULL_DEVICE
    };
    !stdin.is_terminal() && !rustix::fs::fstat(stdin).is_ok_and(is_null)
}

/// The directories and files that grants name.
fn granted_paths(grants: &[Grant]) -> Vec<PathBuf> {
    let path = |grant: &Grant| match grant {
        Grant::Read(path) | Grant::Write(path) => path.canonicalize().ok(),
        _ => None,
    };
    grants.iter().filter_map(path).collect()
}

/// What to do about an argument that names something granted by a path relative to our directory. The script starts in
/// another one.
fn full_path_hint(args: &Run, skill: &Path, granted: &[PathBuf]) -> Option<String> {
    if args.virtual_paths {
        // The script sees other paths than ours.
        return None;
    }
    let (start, name) = match &args.workspace {
        Some(workspace) => (workspace.as_path(), "the workspace"),
        None => (skill, "the skill's folder"),
    };
    let mut relative = args.args.iter().map(Path::new);
    let (typed, real) = relative.find_map(|path| {
        let is_ours = path.is_relative() && !path.as_os_str().is_empty();
        // Without a directory in front, it is relative to ours.
        let real = path.canonicalize().ok().filter(|_| is_ours)?;
        let is_granted = granted.iter().any(|granted| real.starts_with(granted));
        (is_granted && !start.join(path).exists()).then_some((path, real))
    })?;
    let full = match shell_path(&real) {
        Some(full) => format!(": {full}"),
        None => String::new(),
    };
    let typed = shown(typed);
    Some(format!(
        "the script starts in {name}, where `{typed}` is not; pass the full path{full}"
    ))
}

/// Whether the command line gives the script anything beyond its skill.
fn grants_something(args: &Run) -> bool {
    !args.allow.is_empty() || !args.env.is_empty() || args.workspace.is_some()
}

/// The script of a skill that has only one.
fn only_script(typed: &str, skill: &Skill) -> Result<String, Failure> {
    let name = printable(skill.name());
    let scripts = skill.scripts();
    let (message, hint) = match scripts {
        [only] => return Ok(only.path().to_owned()),
        [] => (format!("skill `{name}` has no scripts"), None),
        _ => {
            let shown = scripts.iter().take(MAX_LISTED);
            let mut names: Vec<String> = shown.map(|script| printable(script.path())).collect();
            if scripts.len() > MAX_LISTED {
                names.push("…".into());
            }
            let message = format!(
                "no script was named, and skill `{name}` has {}: {}",
                scripts.len(),
                names.join(", ")
            );
            let script = scripts.iter().find_map(|script| shell_path(script.path()));
            let hint = match shell_word(typed).zip(script) {
                Some((skill, script)) => {
                    format!("name one, as in `skillrun run {skill} {script}`")
                }
                None => "name one of them".to_owned(),
            };
            (message, Some(hint))
        }
    };
    Err(Failure {
        code: failure::NOT_FOUND,
        label: "error",
        message,
        hint,
    })
}

/// Prints what has not been printed during the run, and returns the exit code.
fn print(args: &Run, outcome: &Outcome, raises: &Raises) -> Result<u8, Failure> {
    if args.json {
        let text =
            serde_json::to_string(outcome).map_err(|error| Failure::host(error.to_string()))?;
        // The script has run, even if nothing reads the outcome.
        failure::ignore_closed_pipe(writeln!(crate::output::json(), "{text}"))?;
    }
    if !args.quiet {
        for warning in &outcome.warnings {
            print_message("warning", warning);
        }
        for limit in &outcome.limits_hit {
            if let Some((_, hint)) = raises.iter().find(|(raised, _)| raised == limit) {
                print_message("hint", hint);
            }
        }
    } else if outcome.timeout && !args.json {
        // The line is in the outcome, but the script did not print it.
        let line = outcome.stderr.lines().next_back().unwrap_or_default();
        writeln!(std::io::stderr(), "{line}")?;
    }
    Ok(exit_code(outcome))
}

/// The limits that can be raised, and how.
type Raises = Vec<(Limit, String)>;

/// The flags that raise limits.
const FLAGS: [(Limit, &str); 4] = [
    (Limit::Time, "--timeout"),
    (Limit::Fuel, "--fuel"),
    (Limit::Memory, "--memory"),
    (Limit::Output, "--max-output"),
];

/// How to raise each limit of a run: with a flag, or in the policy if that allows no more.
fn raises(rules: &EffectiveRules<'_>, limits: &Limits) -> Raises {
    let each = FLAGS.iter().map(|(limit, flag)| {
        let in_policy = rules.limit_hint(*limit, limits);
        let with_flag = || format!("raise {} with {flag}", limit.key());
        (*limit, in_policy.unwrap_or_else(with_flag))
    });
    each.collect()
}

/// A script's own exit code; 128+N for signal N.
fn exit_code(outcome: &Outcome) -> u8 {
    let code = outcome
        .signal_number
        .map_or(outcome.exit_code, |signal| 128 + signal);
    u8::try_from(code).unwrap_or(crate::failure::HOST)
}

/// Turns what was typed into a request. Flags count as the person's approval, so they widen the policy too, unless it is
/// enforced.
fn request(
    args: &Run,
    policy: Policy,
    skill: &Arc<Skill>,
    script: &str,
) -> Result<(Policy, Request, Raises), Failure> {
    let mut request = Request {
        approver: Some(approver(COMMAND)),
        ..Request::typed(skill, script)
    };
    for (index, arg) in args.args.iter().enumerate() {
        let text = arg
            .to_str()
            .ok_or_else(|| Failure::host(format!("argument {} is not UTF-8", index + 1)))?;
        request.args.push(text.to_owned());
    }
    let mut typed = agent::typed(&args.allow)?;
    for text in &args.env {
        if text.is_empty() || text.starts_with('=') {
            let message = format!("--env `{}` names no variable", printable(text));
            return Err(Failure::host(message).hint("write --env NAME=VALUE, or --env NAME"));
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (text.as_str(), variable(text)?),
        };
        let grant: Grant = format!("env:{name}")
            .parse()
            .map_err(|error: skillrun::skill::GrantError| Failure::host(error.to_string()))?;
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
                print_message("warning", &format!("`{grant}` has no effect: {why}"));
            }
        }
    }

    // If no rules apply, `decide` reports why and records it.
    let rules = request.target.rules(&policy);
    if let (Ok(rules), false) = (&rules, args.quiet) {
        for (grant, ceiling) in rules.narrowed_grants() {
            let text = format!("`{grant}` of the policy is not granted by {ceiling}");
            print_message("warning", &text);
        }
    }
    let mut limits = rules
        .as_ref()
        .map_or_else(|_| Limits::default(), |rules| rules.limits());
    let limit = |error: skillrun::limits::LimitError| Failure::host(error.to_string());
    if let Some(text) = &args.timeout {
        limits.time = skillrun::limits::parse_duration(text).map_err(limit)?;
    }
    if let Some(text) = &args.memory {
        limits.memory = skillrun::limits::parse_bytes(text).map_err(limit)?;
    }
    if let Some(text) = &args.max_output {
        limits.output = skillrun::limits::parse_bytes(text).map_err(limit)?;
    }
    if args.fuel.is_some() && native {
        let message = "--fuel limits only scripts in the wasm tier, and this one runs natively";
        return Err(Failure::host(message).hint("limit its time instead: --timeout"));
    }
    if limits.fuel.is_some() && native && !args.quiet {
        let text =
            "`fuel` of the policy limits only scripts in the wasm tier, and this one runs natively";
        print_message("warning", text);
    }
    limits.fuel = args.fuel.or(limits.fuel);
    limits.check().map_err(limit)?;
    let raises = rules.map_or_else(|_| Vec::new(), |rules| raises(&rules, &limits));

    let input = args.input.as_deref().map(|typed| input(typed, args.follow));
    request.input = input.transpose()?;
    request.workspace = args.workspace.clone().map(Into::into);
    request.follow = args.follow;
    // Only JSON shows them.
    request.list_artifacts = args.json;
    request.paths = if args.virtual_paths {
        Paths::Virtual
    } else {
        Paths::Real
    };
    let policy = policy.and_limits(&limits);
    request.limits = Some(limits);
    Ok((policy, request, raises))
}

/// Why a grant that was typed has no effect. `None` if it has one.
fn has_no_effect(grant: &Grant, native: bool) -> Option<&'static str> {
    match grant {
        Grant::Native if !native => {
            Some("the script runs in the wasm tier; pass --runtime native to run it natively")
        }
        Grant::Net(..) | Grant::Run(_) if !native => {
            Some("this runtime has no network and no processes")
        }
        Grant::Net(..) if !grant.is_whole_network() => {
            Some("a native script gets the whole network, `net:*`, or none")
        }
        Grant::Run(_) => Some("a native script can already run every installed program"),
        _ => None,
    }
}

fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|error| match error {
        VarError::NotPresent => {
            let flag = match shell_word(name) {
                Some(name) => format!("--env {name}=VALUE"),
                None => "--env NAME=VALUE".to_owned(),
            };
            Failure::host(format!("the variable `{name}` is not set"))
                .hint(format!("pass a value: {flag}"))
        }
        VarError::NotUnicode(_) => {
            Failure::host(format!("the value of the variable `{name}` is not UTF-8"))
        }
    })
}

/// Reads the JSON of `--input`. Stops one byte after the most that any run accepts.
fn input(typed: &str, follow: bool) -> Result<serde_json::Value, Failure> {
    let max = skillrun::Limits::default().arguments;
    let text = match (typed, typed.strip_prefix('@')) {
        ("-", _) => read_limited(&mut std::io::stdin().lock(), max, "stdin")?,
        (_, Some(path)) => {
            let mut file = open_input(path, follow)?;
            read_limited(&mut file, max, path)?
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
            let target = target.to_str();
            let target = match target.and_then(|target| shell_word(&format!("@{target}"))) {
                Some(target) => format!("`{target}`"),
                None => "its target".to_owned(),
            };
            return Err(Failure {
                code: failure::REFUSED,
                label: "refused",
                message: format!("input `{path}` {error}"),
                hint: Some(format!(
                    "name {target} itself, or pass --follow if the link is yours"
                )),
            });
        }
    };
    match found.metadata() {
        meta if meta.is_dir() => Err(Failure::host(format!("input `{path}` is a directory"))),
        meta if meta.is_file() => found.open(File::options().read(true)).map_err(system),
        _ => Err(fail(&"not a regular file").hint("pipe it: --input -")),
    }
}

fn read_limited(from: &mut dyn std::io::Read, max: u64, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        let max = skillrun::limits::show_bytes(max);
        return Err(
            Failure::host(format!("arguments too large: `{name}` has more than {max}"))
                .hint("pass large data as a file in the workspace"),
        );
    }
    String::from_utf8(bytes).map_err(|_| Failure::host(format!("`{name}` is not UTF-8 text")))
}

/// Prints output as it comes, both streams in the order in which they were written. It has its own thread, so that a
/// blocked terminal does not delay the time limit.
struct Printer {
    done: std::sync::mpsc::Receiver<std::io::Result<()>>,
}

impl Printer {
    fn start(mut queue: mpsc::Receiver<Chunk>, raw: bool) -> Self {
        let (finished, done) = std::sync::mpsc::channel();
        let mut print = move || {
            let mut decoders = [Utf8Decoder::default(), Utf8Decoder::default()];
            while let Some(Chunk { stream, bytes }) = queue.blocking_recv() {
                let decoder = &mut decoders[stream as usize];
                let bytes = if raw {
                    bytes.to_vec()
                } else {
                    decoder.decode(&bytes).into_bytes()
                };
                put(stream, &bytes)?;
            }
            for (stream, mut decoder) in [Stream::Stdout, Stream::Stderr].into_iter().zip(decoders)
            {
                put(stream, decoder.finish().as_bytes())?;
            }
            Ok(())
        };
        std::thread::spawn(move || {
            let printed = print();
            // If printing failed, dropping the queue makes the next write of the script fail.
            drop(print);
            let _ = finished.send(printed);
        });
        Self { done }
    }

    /// Waits until everything is printed. If the script was stopped, the wait has a limit. Fails if the output could not
    /// be written, except to a closed pipe.
    fn finish(self, status: Status) -> Result<(), Failure> {
        let printed = if status == Status::Exited {
            self.done.recv().map_err(RecvTimeoutError::from)
        } else {
            self.done.recv_timeout(LAST_OUTPUT_TIMEOUT)
        };
        match printed {
            Err(RecvTimeoutError::Timeout) => {
                let lost = "the last output was lost, because it was not read in time";
                print_message("warning", lost);
                Ok(())
            }
            Ok(Err(error)) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                let why = failure::plain(&error);
                Err(Failure::host(format!(
                    "cannot write the output of the script: {why}"
                )))
            }
            _ => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_null_device_is_the_only_file_without_input() {
        let opened = |path: &str| has_input(File::open(path).unwrap().as_fd());
        assert!(!opened("/dev/null"));
        for path in ["/dev/zero", "/proc/self/status", "/"] {
            assert!(opened(path), "{path}");
        }
    }
}
