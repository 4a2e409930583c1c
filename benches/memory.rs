//! Memory: how much each further live guest adds, in one process and in workers, compared with processes of the native
//! interpreters and with sandboxes of pyeryx.
//!
//! Each side is measured in a process of its own, which this program starts: what one side freed would hide what the next
//! one needs. What a guest adds is the difference of the proportional set sizes: a page that is mapped once is private, and
//! shared as soon as the next guest maps it too, so private memory alone can even shrink.

mod measure;

use measure::cost::processes;
use measure::env::{self, BenchEnv};
use measure::eryx::Eryx;
use measure::peer::{Peer, fastest_node, fastest_python};
use measure::{Result, Table, begin, is_quick, times};
use skillrun::runtime::Workers;
use skillrun::{Host, Limits, Live, Policy, Request, Skill};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Numbers of live guests at which memory is sampled.
const STEPS: [usize; 4] = [0, 10, 100, 1000];
/// As many processes of an interpreter, or sandboxes of pyeryx with imports, as fit into the memory of a small machine.
const FEWER: usize = 100;
const SCRIPTS: [&str; 4] = [
    "ready_then_sleep.py",
    "imports_then_sleep.py",
    "ready_then_sleep.js",
    "imports_then_sleep.mjs",
];
/// The argument with which this program measures one side: it is followed by the side, the script and an interpreter.
const MEASURE: &str = "--measure";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    InProcess,
    Workers,
    Native,
    Eryx,
}

impl Side {
    const ALL: [Self; 4] = [Self::InProcess, Self::Workers, Self::Native, Self::Eryx];

    fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in process",
            Self::Workers => "in workers",
            Self::Native => "native",
            Self::Eryx => "pyeryx",
        }
    }

    fn most(self, script: &str) -> usize {
        let all = if is_quick() { 10 } else { usize::MAX };
        match self {
            Self::Native => all.min(FEWER),
            Self::Eryx if script.starts_with("imports") => all.min(FEWER),
            _ => all,
        }
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == MEASURE) {
        return measure(&arguments[at + 1..]);
    }
    if !begin(
        "memory",
        "memory of a host with many live guests, and of all its workers",
    ) {
        return Ok(());
    }
    if Memory::of_all().is_err() {
        println!("no /proc/self/smaps_rollup: memory cannot be measured here");
        return Ok(());
    }
    let env = BenchEnv::new()?;
    let interpreters = [fastest_python(&env)?, fastest_node(&env)?];
    let has_eryx = Eryx::find().is_some();
    for script in SCRIPTS {
        let [python, node] = &interpreters;
        let is_python = script.ends_with(".py");
        let peer = if is_python { python } else { node }.as_ref();
        let sides = Side::ALL.into_iter().filter(|side| match side {
            Side::Native => peer.is_some(),
            Side::Eryx => has_eryx && is_python,
            Side::InProcess | Side::Workers => true,
        });
        let mut seen = Vec::new();
        for side in sides {
            seen.push((side, samples(side, script, peer)?));
        }
        print(script, &seen);
    }
    println!(
        "`each`: each further one since the line above, with what they share counted once; ÷ native: the last line of `native`"
    );
    Ok(())
}

/// A number of live guests, and the memory with them.
type Sample = (usize, Memory);

fn print(script: &str, seen: &[(Side, Vec<Sample>)]) {
    let native = seen.iter().find(|(side, _)| *side == Side::Native);
    let native = native.and_then(|(_, samples)| each(samples).last().copied());
    let mut table = Table::new([script, "live", "each", "÷ native", "private", "pss"]);
    for (side, samples) in seen {
        for ((live, memory), each) in samples.iter().zip(each(samples)) {
            table.row([
                side.name().to_owned(),
                live.to_string(),
                if *live > 0 { mib(each) } else { "-".into() },
                match native {
                    Some(native) if *live > 0 => times(each / native),
                    _ => "-".into(),
                },
                mib(memory.private),
                mib(memory.pss),
            ]);
        }
    }
    table.print();
    println!();
}

/// How much memory each guest added since the sample before.
fn each(samples: &[Sample]) -> Vec<f64> {
    let before = samples.first().into_iter().chain(samples);
    let pairs = before.zip(samples);
    pairs
        .map(|((before, less), (live, more))| (more.pss - less.pss) / (live - before) as f64)
        .collect()
}

/// What a process of this program finds for one side.
fn samples(side: Side, script: &str, peer: Option<&Peer>) -> Result<Vec<Sample>> {
    let interpreter = peer.map(|peer| peer.path.clone()).unwrap_or_default();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args().skip(1));
    command
        .arg(MEASURE)
        .args([side.name(), script])
        .arg(interpreter);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        println!("{script}, {}: ended early: {}", side.name(), output.status);
    }
    let lines = String::from_utf8(output.stdout)?;
    let sample = |line: &str| -> Result<Sample> {
        let numbers: Vec<f64> = line
            .split_whitespace()
            .map(str::parse)
            .collect::<std::result::Result<_, _>>()?;
        match numbers[..] {
            [live, private, pss] => Ok((live as usize, Memory { private, pss })),
            _ => Err(format!("`{line}` is no sample").into()),
        }
    };
    lines.lines().map(sample).collect()
}

/// Measures one side in this process, and prints a line for each number of live guests.
fn measure(arguments: &[String]) -> Result<()> {
    let [side, script, interpreter] = arguments else {
        return Err("a side, a script and an interpreter are needed".into());
    };
    let side = Side::ALL.into_iter().find(|known| known.name() == side);
    let side = side.ok_or("no such side")?;
    let most = side.most(script);
    let env = BenchEnv::new()?;
    match side {
        Side::InProcess => guests(&env, script, most, Workers::InProcess),
        Side::Workers => {
            let program = env!("CARGO_BIN_EXE_skillrun").into();
            guests(&env, script, most, Workers::Processes(program))
        }
        Side::Native => {
            let mut live = Processes(Vec::new());
            report(most, |count| {
                while live.0.len() < count {
                    live.start(Command::new(interpreter).arg(env.script(script)))?;
                }
                Ok(())
            })
        }
        Side::Eryx => {
            let mut eryx = Eryx::installed()?;
            report(most, |count| eryx.live(&env.script(script), count))
        }
    }
}

/// Samples memory whenever `reach` has reached the next number of live guests, up to `most`.
fn report(most: usize, mut reach: impl FnMut(usize) -> Result<()>) -> Result<()> {
    for count in STEPS.into_iter().filter(|count| *count <= most) {
        reach(count)?;
        let Memory { private, pss } = Memory::of_all()?;
        println!("{count} {private} {pss}");
    }
    Ok(())
}

fn guests(env: &BenchEnv, script: &str, most: usize, workers: Workers) -> Result<()> {
    let skill = env.skill()?;
    let host = env.host_with(None, workers);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    // The runtime is loaded first: all guests of a process share it.
    let warm = Request::typed(&skill, env::hello(script));
    runtime.block_on(env::run(&host, warm, Live::default()))?;
    let mut live = Vec::new();
    let measured = report(most, |count| {
        while live.len() < count {
            live.push(runtime.block_on(sleeping(&host, &skill, script))?);
        }
        Ok(())
    });
    runtime.block_on(async {
        for run in live {
            run.abort();
            let _ = run.await;
        }
        host.clean_up().await;
    });
    measured
}

/// Starts a script and waits until it reports that it sleeps.
async fn sleeping(host: &Host, skill: &Arc<Skill>, script: &str) -> Result<JoinHandle<()>> {
    let (output, mut said) = mpsc::channel(4);
    let live = Live {
        output: Some(output),
        ..Live::default()
    };
    // Longer than starting all of them takes.
    let time = Duration::from_secs(300);
    let policy = Policy::parse("limits.time = \"300s\"", &std::env::current_dir()?)?;
    let request = Request {
        limits: Some(Limits {
            time,
            ..Limits::default()
        }),
        ..Request::typed(skill, script)
    };
    let host = host.clone();
    let run = tokio::spawn(async move {
        if let Err(error) = env::run_under(&policy, &host, request, live).await {
            eprintln!("{error}");
        }
    });
    match said.recv().await {
        Some(_) => Ok(run),
        None => Err(format!("`{script}` ended before it slept").into()),
    }
}

/// Processes of an interpreter, which end with this.
struct Processes(Vec<Child>);

impl Processes {
    /// Starts one and waits until it reports that it sleeps.
    fn start(&mut self, command: &mut Command) -> Result<()> {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("no pipe")?;
        self.0.push(process);
        let mut line = String::new();
        match BufReader::new(output).read_line(&mut line)? {
            0 => Err(format!("{command:?} ended before it slept").into()),
            _ => Ok(()),
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Memory in KiB.
#[derive(Debug, Clone, Copy, Default)]
struct Memory {
    private: f64,
    pss: f64,
}

impl Memory {
    /// Of this process and all below it.
    fn of_all() -> Result<Self> {
        let mut sum = Self::of("self")?;
        for process in processes()? {
            match Self::of(&process.to_string()) {
                Ok(Self { private, pss }) => {
                    sum.private += private;
                    sum.pss += pss;
                }
                // It has ended in the meantime.
                Err(_) if !Path::new(&format!("/proc/{process}")).exists() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sum)
    }

    fn of(process: &str) -> Result<Self> {
        let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
        let sum = |names: &[&str]| -> f64 {
            text.lines()
                .filter_map(|line| line.split_once(':'))
                .filter(|(name, _)| names.contains(name))
                .filter_map(|(_, value)| value.trim().trim_end_matches("kB").trim().parse().ok())
                .fold(0.0, |sum, value: f64| sum + value)
        };
        Ok(Self {
            private: sum(&["Private_Clean", "Private_Dirty"]),
            pss: sum(&["Pss"]),
        })
    }
}

fn mib(kib: f64) -> String {
    format!("{:.2} MiB", kib / 1024.0)
}
