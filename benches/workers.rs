//! A fresh sandbox for each run: in this process, in worker processes, and in the nearest peer, pyeryx. The time to the
//! result, and what callers reach if each run begins when everything of the one before it is freed. At the end, what it
//! costs if the policy wants a fresh worker for each run.

mod measure;

use measure::env::BenchEnv;
use measure::eryx::Eryx;
use measure::runs::{Reached, once, once_under, runtime, window, window_under};
use measure::{Result, Samples, Table, begin, in_turn, ms, rounds, times};
use skillrun::runtime::Workers;
use skillrun::{Host, Policy, Skill};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const SCRIPTS: [&str; 3] = ["hello.py", "imports.py", "hello.js"];
const ROUNDS: usize = 200;
/// pyeryx imports at each run, which takes a hundred times as long as all else.
const ROUNDS_OF_IMPORTS: usize = 50;
/// How many windows each load is run for, in turn.
const WINDOWS: usize = 20;
const CALLERS: [usize; 2] = [1, 2];
/// Who may use a worker after a run: the policies that are compared.
const MODES: [&str; 2] = ["per-tenant", "per-run"];
/// The script for that.
const SHORT: &str = "hello.py";
/// Long enough for a worker to be ready again.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    InProcess,
    Worker,
    Eryx,
    /// pyeryx, from a snapshot for exactly the imports of the script.
    EryxPreloaded,
}

impl Side {
    /// The sides of a script.
    fn of(script: &str, has_eryx: bool) -> Vec<Self> {
        let mut sides = vec![Self::InProcess, Self::Worker];
        if has_eryx && script.ends_with(".py") {
            sides.push(Self::Eryx);
        }
        if has_eryx && script == "imports.py" {
            sides.push(Self::EryxPreloaded);
        }
        sides
    }

    fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in process",
            Self::Worker => "in a worker",
            Self::Eryx => "pyeryx",
            Self::EryxPreloaded => "pyeryx, imports preloaded",
        }
    }

    /// For pyeryx, whether its snapshot has the imports.
    fn preloads(self) -> Option<bool> {
        match self {
            Self::InProcess | Self::Worker => None,
            Self::Eryx => Some(false),
            Self::EryxPreloaded => Some(true),
        }
    }
}

fn main() -> Result<()> {
    if !begin(
        "workers",
        "fresh sandboxes: guests in one process, in worker processes, and pyeryx",
    ) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    let mut eryx = Eryx::find();
    let bench = Bench {
        skill: env.skill()?,
        hosts: CALLERS.map(|callers| Hosts::new(&env, callers)),
        env,
    };
    for script in SCRIPTS {
        let sides = Side::of(script, eryx.is_some());
        bench.results(script, &sides, &mut eryx)?;
        bench.throughput(script, &sides, &mut eryx)?;
    }
    bench.modes()?;
    println!(
        "again and again: a run begins when everything of the one before it is freed, because a host has as many slots, and so as"
    );
    println!(
        "many workers at work, as there are callers; CPU time and page faults are those of all processes, the host's too"
    );
    Ok(())
}

struct Bench {
    env: BenchEnv,
    skill: Arc<Skill>,
    /// For each number of callers.
    hosts: [Hosts; 2],
}

struct Hosts {
    in_process: Host,
    workers: Host,
}

impl Hosts {
    /// With a slot for each caller, so that a run waits until the one before it is freed.
    fn new(env: &BenchEnv, callers: usize) -> Self {
        let slots = u32::try_from(callers).ok();
        let program = env!("CARGO_BIN_EXE_skillrun").into();
        Self {
            in_process: env.host(slots),
            workers: env.host_with(slots, Workers::Processes(program)),
        }
    }

    fn of(&self, side: Side) -> &Host {
        match side {
            Side::Worker => &self.workers,
            _ => &self.in_process,
        }
    }
}

impl Bench {
    /// The time to the result, run by run in turn.
    fn results(&self, script: &str, sides: &[Side], eryx: &mut Option<Eryx>) -> Result<()> {
        let runtime = runtime()?;
        let all = match script {
            "imports.py" => ROUNDS_OF_IMPORTS,
            _ => ROUNDS,
        };
        let took = in_turn(sides.len(), rounds(all), |side| {
            let side = sides[side];
            match (side.preloads(), &mut *eryx) {
                (Some(preloaded), Some(eryx)) => eryx.result(&self.env.script(script), preloaded),
                _ => runtime.block_on(once(self.hosts[0].of(side), &self.skill, script)),
            }
        })?;
        let took: Vec<Samples> = took.into_iter().map(Samples::new).collect();
        let peer = sides.iter().position(|side| *side == Side::Eryx);
        let head = format!("{script}, to the result");
        let mut table = Table::new([&head, "÷ pyeryx", "÷ in process", "p50", "p95"]);
        for (side, own) in sides.iter().zip(&took) {
            table.row([
                side.name().to_owned(),
                peer.map_or_else(|| "-".into(), |peer| times(own.p50() / took[peer].p50())),
                times(own.p50() / took[0].p50()),
                ms(own.p50()),
                ms(own.p95()),
            ]);
        }
        table.print();
        println!();
        Ok(())
    }

    /// What one and two callers reach.
    fn throughput(&self, script: &str, sides: &[Side], eryx: &mut Option<Eryx>) -> Result<()> {
        let loads: Vec<(Side, usize)> = sides
            .iter()
            .flat_map(|side| [0, 1].map(|callers| (*side, callers)))
            .collect();
        let windows = in_turn(loads.len(), rounds(WINDOWS), |load| {
            let (side, index) = loads[load];
            let callers = CALLERS[index];
            match (side.preloads(), &mut *eryx) {
                (Some(preloaded), Some(eryx)) => {
                    eryx.window(&self.env.script(script), preloaded, callers)
                }
                _ => window(self.hosts[index].of(side), &self.skill, script, callers),
            }
        })?;
        let reached: Vec<Reached> = windows.into_iter().map(Reached::new).collect();
        let peer = sides.iter().position(|side| *side == Side::Eryx);
        let head = format!("{script}, again and again");
        let mut table = Table::new([
            &head,
            "runs/s",
            "÷ 1 caller",
            "÷ pyeryx",
            "CPU ÷ pyeryx",
            "p50",
            "p95",
            "CPU",
            "faults",
        ]);
        for (index, ((side, callers), own)) in loads.iter().zip(&reached).enumerate() {
            let alone = &reached[index - callers];
            let peer = peer.map(|peer| &reached[2 * peer + callers]);
            let callers = CALLERS[*callers];
            let against = |ratio: &dyn Fn(&Reached) -> String| match peer {
                Some(peer) => ratio(peer),
                None => "-".into(),
            };
            let [cpu, faults] = own.cost.cells();
            table.row([
                match callers {
                    1 => format!("{}, one caller", side.name()),
                    _ => format!("{}, two callers", side.name()),
                },
                format!("{:.0}", own.rate),
                times(own.rate / alone.rate),
                against(&|peer| times(own.took.p50() / peer.took.p50())),
                against(&|peer| own.cost.cpu_of(&peer.cost)),
                ms(own.took.p50()),
                ms(own.took.p95()),
                cpu,
                faults,
            ]);
        }
        table.print();
        println!();
        Ok(())
    }
    /// The policy's `workers`: a worker that is used again, and one for each run.
    fn modes(&self) -> Result<()> {
        let runtime = runtime()?;
        let policy = |mode| Policy::parse(&format!("workers = \"{mode}\"\n"), Path::new("/"));
        let policies = [policy(MODES[0])?, policy(MODES[1])?];
        let took = in_turn(MODES.len(), rounds(ROUNDS), |mode| {
            std::thread::sleep(PAUSE);
            let (policy, host) = (&policies[mode], &self.hosts[0].workers);
            runtime.block_on(once_under(policy, host, &self.skill, SHORT))
        })?;
        let took: Vec<Samples> = took.into_iter().map(Samples::new).collect();
        let windows = in_turn(MODES.len() * CALLERS.len(), rounds(WINDOWS), |load| {
            let (mode, index) = (load / CALLERS.len(), load % CALLERS.len());
            let (policy, host) = (&policies[mode], &self.hosts[index].workers);
            window_under(policy, host, &self.skill, SHORT, CALLERS[index])
        })?;
        let reached: Vec<Reached> = windows.into_iter().map(Reached::new).collect();
        let head = format!("{SHORT} in workers");
        let mut table = Table::new([
            &head,
            "p50 after a pause",
            "p95",
            "runs/s, one caller",
            "two callers",
            "CPU",
            "faults",
        ]);
        for ((mode, took), reached) in MODES.iter().zip(&took).zip(reached.chunks(CALLERS.len())) {
            let [cpu, faults] = reached[0].cost.cells();
            table.row([
                (*mode).to_owned(),
                ms(took.p50()),
                ms(took.p95()),
                format!("{:.0}", reached[0].rate),
                format!("{:.0}", reached[1].rate),
                cpu,
                faults,
            ]);
        }
        table.print();
        println!();
        Ok(())
    }
}
