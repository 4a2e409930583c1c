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
    use crate::measure::peer::spend;
    use crate::measure::{Result, Samples, Table, begin, in_turn, ms, times};
    use skillrun_confine::{Backend, Confinement, Job, Limits, Scratch, Stopped};
    use std::fs::{self, File};
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, Instant};

    const ROUNDS: usize = 60;
    /// CPU time has a resolution of a hundredth of a second, so it is measured over many runs.
    const BLOCK: usize = 20;
    const BLOCKS: usize = 6;
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
                Self::Plain => spend(command("/bin/bash", &["-c", ":"])),
                Self::Bubblewrap => {
                    let all: Vec<&str> = BUBBLEWRAP.split_whitespace().collect();
                    spend(command(
                        "bwrap",
                        &[&all[..], &["/bin/bash", "-c", ":"]].concat(),
                    ))
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

    /// The options by which bubblewrap shows as much and as little as we do.
    const BUBBLEWRAP: &str = "--unshare-all --die-with-parent --new-session --clearenv \
        --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
        --proc /proc --dev /dev --tmpfs /tmp --";

    pub(crate) fn main() -> Result<()> {
        let what = "`bash -c :` confined ÷ started plainly, and ÷ by bubblewrap";
        if !begin("confine", what) {
            return Ok(());
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let scratch = tempfile::tempdir()?;
        let sides = sides(scratch.path(), &runtime);
        let run = |side: usize| sides[side].run(&runtime, scratch.path());
        let walls = in_turn(sides.len(), ROUNDS, run)?;
        let blocks = in_turn(sides.len(), BLOCKS, |side| {
            let before = processor_time()?;
            for _ in 0..BLOCK {
                run(side)?;
            }
            Ok((processor_time()? - before) / BLOCK as f64)
        })?;
        let walls: Vec<Samples> = walls.into_iter().map(Samples::new).collect();
        let cpus: Vec<Samples> = blocks.into_iter().map(Samples::new).collect();
        let peer = sides
            .iter()
            .position(|side| matches!(side, Side::Bubblewrap));
        let mut table = Table::new([
            "", "wall p50", "p95", "÷ plain", "÷ bwrap", "CPU", "÷ plain", "÷ bwrap",
        ]);
        for (index, side) in sides.iter().enumerate() {
            let against = |all: &[Samples], other: Option<usize>| {
                other.map_or(String::new(), |other| {
                    times(all[index].p50() / all[other].p50())
                })
            };
            table.row([
                side.name(),
                ms(walls[index].p50()),
                ms(walls[index].p95()),
                against(&walls, Some(0)),
                against(&walls, peer),
                ms(cpus[index].p50()),
                against(&cpus, Some(0)),
                against(&cpus, peer),
            ]);
        }
        table.print();
        println!(
            "{ROUNDS} rounds in turn; `ahead`: the next supervisor comes up while one is at work\n"
        );
        leave_no_trace(&runtime, scratch.path())
    }

    fn sides(scratch: &Path, runtime: &tokio::runtime::Runtime) -> Vec<Side> {
        let mut sides = vec![Side::Plain];
        match Side::Bubblewrap.run(runtime, scratch) {
            Ok(_) => sides.push(Side::Bubblewrap),
            Err(error) => println!("no bubblewrap to compare with: {error}"),
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
            program: "/bin/bash".into(),
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

    fn command(program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        command
    }

    /// CPU time of reaped children, in milliseconds.
    fn processor_time() -> Result<f64> {
        let text = fs::read_to_string("/proc/self/stat")?;
        let (_, fields) = text.rsplit_once(')').ok_or("no fields")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
        Ok((ticks(13).ok_or("no time")? + ticks(14).ok_or("no time")?) * 10.0)
    }

    fn leave_no_trace(runtime: &tokio::runtime::Runtime, scratch: &Path) -> Result<()> {
        let Ok(found) = Confinement::find() else {
            return Ok(());
        };
        let before = trace(scratch)?;
        for _ in 0..MANY {
            runtime.block_on(confined(&found, scratch))?;
        }
        let after = trace(scratch)?;
        for (what, before, after) in before
            .into_iter()
            .zip(after)
            .map(|((what, before), (_, after))| (what, before, after))
        {
            println!("{what:<12} {before} before {MANY} runs, {after} after");
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
