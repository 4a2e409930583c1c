//! Measures confinement: `bash -c :` started plainly, by bubblewrap, and by each backend; and what a
//! thousand runs leave behind.

mod measure;

#[cfg(target_os = "linux")]
fn main() -> measure::Result<()> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use crate::measure::cost::in_blocks;
    use crate::measure::peer::{BASH, bubblewrap, has_bubblewrap, spend};
    use crate::measure::{Result, Samples, Table, begin, in_turn, ms, rounds, times};
    use skillrun_confine::{Backend, Confinement, Job, Limits, Scratch, Stopped};
    use std::fs::{self, File};
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, Instant};

    const ROUNDS: usize = 60;
    /// Blocks of runs, for what a run costs.
    const BLOCKS: usize = 6;
    const BLOCK: usize = 20;
    const MANY: usize = 1000;

    enum Side {
        Plain,
        Bubblewrap,
        Confined(&'static str, Confinement),
    }

    impl Side {
        fn name(&self) -> String {
            match self {
                Self::Plain => "plain".into(),
                Self::Bubblewrap => "bubblewrap".into(),
                Self::Confined(name, confinement) => {
                    format!("{}{name}", confinement.backend().word())
                }
            }
        }

        fn run(&self, runtime: &tokio::runtime::Runtime, scratch: &Path) -> Result<f64> {
            match self {
                Self::Plain => spend(bash(Command::new(BASH))),
                Self::Bubblewrap => {
                    let mut command = bubblewrap(None);
                    command.arg(BASH);
                    spend(bash(command))
                }
                Self::Confined(_, confinement) => {
                    let began = Instant::now();
                    let stopped = runtime.block_on(confined(confinement, scratch))?;
                    let wall = began.elapsed().as_secs_f64() * 1e3;
                    match stopped {
                        Stopped::Exited(0) => Ok(wall),
                        other => Err(format!("{other:?}").into()),
                    }
                }
            }
        }
    }

    pub(crate) fn main() -> Result<()> {
        let what = "`bash -c :` confined ÷ started plainly, and ÷ by bubblewrap";
        if !begin("confine", what) {
            return Ok(());
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let scratch = tempfile::tempdir()?;
        let sides = sides();
        let run = |side: usize| sides[side].run(&runtime, scratch.path());
        let walls = in_turn(sides.len(), rounds(ROUNDS), run)?;
        let costs = in_blocks(&vec![BLOCK; sides.len()], rounds(BLOCKS), run)?;
        let walls: Vec<Samples> = walls.into_iter().map(Samples::new).collect();
        let peer = sides
            .iter()
            .position(|side| matches!(side, Side::Bubblewrap));
        let mut table = Table::new([
            "",
            "÷ plain",
            "÷ bwrap",
            "CPU ÷ plain",
            "÷ bwrap",
            "p50",
            "p95",
            "CPU",
            "faults",
        ]);
        for (index, side) in sides.iter().enumerate() {
            let (own, cost) = (&walls[index], &costs[index]);
            let [cpu, faults] = cost.cells();
            table.row([
                side.name(),
                times(own.p50() / walls[0].p50()),
                peer.map_or_else(|| "-".into(), |peer| times(own.p50() / walls[peer].p50())),
                cost.cpu_of(&costs[0]),
                peer.map_or_else(|| "-".into(), |peer| cost.cpu_of(&costs[peer])),
                ms(own.p50()),
                ms(own.p95()),
                cpu,
                faults,
            ]);
        }
        table.print();
        println!(
            "{} rounds in turn; `ahead`: the next supervisor comes up while one is at work\n",
            rounds(ROUNDS)
        );
        leave_no_trace(&runtime, scratch.path())
    }

    fn sides() -> Vec<Side> {
        let mut sides = vec![Side::Plain];
        if has_bubblewrap() {
            sides.push(Side::Bubblewrap);
        }
        for backend in [Backend::Namespaces, Backend::Landlock] {
            // Separate instances: spare supervisors must not serve the other side.
            match (Confinement::with(backend), Confinement::with(backend)) {
                (Ok(found), Ok(other)) => {
                    sides.push(Side::Confined("", found));
                    sides.push(Side::Confined(", ahead", other.with_spare_supervisor()));
                }
                (Err(error), _) | (_, Err(error)) => {
                    println!("no {} here: {error}", backend.word());
                }
            }
        }
        sides
    }

    async fn confined(confinement: &Confinement, scratch: &Path) -> Result<Stopped> {
        let job = Job {
            program: BASH.into(),
            checked: None,
            script: None,
            arguments: ["-c", ":"].map(Into::into).into(),
            environment: Vec::new(),
            directory: "/".into(),
            mounts: Vec::new(),
            scratch: Scratch {
                handle: File::open(scratch)?.into(),
                path: scratch.canonicalize()?,
                at: "/tmp".into(),
                size: 64 << 20,
            },
            network: false,
            limits: Limits {
                time: Duration::from_secs(30),
                memory: 256 << 20,
                processes: 32,
                file_size: 64 << 20,
                disk: 64 << 20,
                open_files: 256,
            },
        };
        let mut running = confinement.start(job)?;
        drop(running.stdin.take());
        Ok(running.ended().await?.stopped)
    }

    /// Adds the arguments and the environment that each side has.
    fn bash(mut command: Command) -> Command {
        command
            .args(["-c", ":"])
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        command
    }

    fn leave_no_trace(runtime: &tokio::runtime::Runtime, scratch: &Path) -> Result<()> {
        let Ok(found) = Confinement::find() else {
            return Ok(());
        };
        let before = trace(scratch)?;
        let many = rounds(MANY);
        for _ in 0..many {
            runtime.block_on(confined(&found, scratch))?;
        }
        let after = trace(scratch)?;
        for (what, before, after) in before
            .into_iter()
            .zip(after)
            .map(|((what, before), (_, after))| (what, before, after))
        {
            println!("{what:<12} {before} before {many} runs, {after} after");
        }
        Ok(())
    }

    /// Control groups of supervisors in a directory.
    fn groups(folder: &Path) -> usize {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let count = |entry: fs::DirEntry| {
            let own = entry.file_name().to_string_lossy().starts_with("skillrun-");
            usize::from(own) + groups(&entry.path())
        };
        folders.map(count).sum()
    }

    /// What a run could leave on the machine.
    fn trace(scratch: &Path) -> Result<[(&'static str, usize); 5]> {
        let supervisors = fs::read_dir("/proc")?
            .flatten()
            .filter(|process| {
                let line = fs::read(process.path().join("cmdline"));
                line.is_ok_and(|line| line.starts_with(b"skillrun-supervisor"))
            })
            .count();
        let mounts = fs::read_to_string("/proc/self/mountinfo")?.lines().count();
        let groups = groups(Path::new("/sys/fs/cgroup"));
        Ok([
            ("supervisors", supervisors),
            ("mounts", mounts),
            ("cgroups", groups),
            ("handles", fs::read_dir("/proc/self/fd")?.count()),
            ("files", fs::read_dir(scratch)?.count()),
        ])
    }
}
