//! The host of one test, in its own process.

use super::outside::Outside;
use super::protected::PATHS;
use super::readings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use skillrun_confine::{
    Appeared, Backend, Confinement, Fate, Job, Limits, Mount, MountKind, Running, Scratch, Script,
};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::Receiver;

/// The variable that tells a host its role.
pub(crate) const ROLE: &str = "SKILLRUN_BATTERY_HOST";
/// Output beyond this is counted and not printed.
const SHOWN: usize = 64 << 10;
const MIB: u64 = 1 << 20;
/// Concurrent runs of one host.
const MANY: usize = 100;

pub(crate) fn main(role: &str) -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let backend = match words.next().as_ref().and_then(|word| word.to_str()) {
        Some("namespaces") => Backend::Namespaces,
        _ => Backend::Landlock,
    };
    match role {
        "late, with mounts of its own" => return with_own_mounts(),
        "attempt, with processes hidden" => return with_processes_hidden(),
        "late, with low limits" => lower_limits(),
        _ => {}
    }
    let confinement = match Confinement::with(backend) {
        Ok(confinement) => confinement,
        Err(unable) => {
            eprintln!("{unable}");
            return ExitCode::FAILURE;
        }
    };
    let command: Vec<OsString> = words.collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let host = Host {
        root: std::env::current_dir().unwrap(),
        confinement,
        absent: match role.starts_with("protected") {
            true => PATHS.map(|path| Path::new("workspace").join(path)).to_vec(),
            false => Vec::new(),
        },
    };
    runtime.unwrap().block_on(async {
        match role {
            "probe" => {}
            "attempt" => host.attempt(command).await,
            "hold" => host.hold(command).await,
            "drop" => host.give_up(command).await,
            "forget" => host.forget(command).await,
            "many" => host.many(command).await,
            "beside" => host.beside(command).await,
            "protected" => host.protected(command).await,
            "protected, held" => host.hold(command).await,
            "protected, lost" => host.lose_planted(command).await,
            "protected, dropped" => host.drop_planted(command).await,
            "protected, moved" => host.moved(command).await,
            "replaced" => host.replaced(command).await,
            "attributes" => host.attributes(command).await,
            "counted" => host.counted(command, true).await,
            "counted, read-only" => host.counted(command, false).await,
            "vanished" => host.vanished(command).await,
            "late" => host.late(command, "").await,
            "script" => host.script(command).await,
            "program" => host.program(command).await,
            "late, with low limits" => host.late(command, "# limits: files=256").await,
            other => panic!("no role `{other}`"),
        }
    });
    ExitCode::SUCCESS
}

/// The same as `late`, where mounts do not propagate and the user may create them.
fn with_own_mounts() -> ExitCode {
    let mut unshare = std::process::Command::new("/usr/bin/unshare");
    unshare.args(["--mount", "--propagation", "private"]);
    if !rustix::process::geteuid().is_root() {
        unshare.arg("--map-root-user");
    }
    let (flags, mode) = (rustix::fs::OFlags::PATH, rustix::fs::Mode::empty());
    let own = rustix::fs::open("/proc/self/exe", flags, mode).unwrap();
    let ended = unshare
        .arg(format!("/proc/self/fd/{}", own.as_raw_fd()))
        .args(std::env::args_os().skip(1))
        .env(ROLE, "late")
        .status();
    match ended.unwrap().success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// The same as `attempt`, where `/proc` hides the processes of other users. Root arranges this, for
/// the user who owns the directory.
fn with_processes_hidden() -> ExitCode {
    let user = fs::metadata(".").unwrap().uid().to_string();
    let (flags, mode) = (rustix::fs::OFlags::PATH, rustix::fs::Mode::empty());
    let own = rustix::fs::open("/proc/self/exe", flags, mode).unwrap();
    let mut unshare = std::process::Command::new("/usr/bin/unshare");
    unshare.args(["--mount", "--propagation", "private", "/bin/sh", "-c"]);
    unshare.arg(r#"mount -t proc -o hidepid=2 proc /proc && exec env -u PWD -u OLDPWD "$@""#);
    unshare.args(["sh", "setpriv", "--reuid", &user, "--regid", &user]);
    unshare.args([
        "--clear-groups",
        &format!("/proc/self/fd/{}", own.as_raw_fd()),
    ]);
    unshare.args(std::env::args_os().skip(1));
    unshare
        .env(ROLE, "attempt")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    match unshare.status().unwrap().success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Gives this process lower limits than a program gets, and a higher priority, if it may.
fn lower_limits() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |(resource, most)| {
        let (current, maximum) = (Some(most), Some(most));
        setrlimit(resource, Rlimit { current, maximum })
    };
    let _ = [(Resource::Rtprio, 10), (Resource::Nice, 30)].map(limit);
    let lower = [
        (Resource::Nofile, 128),
        (Resource::Fsize, 32 * MIB),
        (Resource::Nproc, 30),
    ];
    for set in lower.map(limit) {
        set.unwrap();
    }
}

struct Host {
    root: PathBuf,
    confinement: Confinement,
    /// Protected paths that do not exist.
    absent: Vec<PathBuf>,
}

impl Host {
    /// Runs a script to its end, and prints its output, how it ended, and what became of the rest.
    async fn attempt(&self, command: Vec<OsString>) {
        let outside = Outside::new(&self.root);
        let script = fs::read_to_string(&command[1]).unwrap();
        let mut running = self.start(command, &script, outside.environment(), "scratch");
        let supervisors = self.supervisors(&outside);
        drop(running.stdin.take());
        let (stdout, stderr) = (running.stdout.take(), running.stderr.take());
        let (stdout, stderr) = tokio::join!(collect(stdout), collect(stderr));
        let end = running.ended().await.unwrap();
        print!("{}", shown("stdout", &stdout, ""));
        print!("{}", shown("stderr", &stderr, "stderr| "));
        println!("ended: {:?}", end.stopped);
        print!("{}{}", outside.report(), self.left(&outside, &supervisors));
    }

    /// Starts a script, prints so when it runs, and never ends.
    async fn hold(&self, command: Vec<OsString>) {
        let mut running = self.start(command, "", self.mark(), "scratch");
        println!("{}", first_line(&mut running).await);
        std::future::pending::<()>().await;
    }

    /// Starts a script and drops it after its first output; prints what is left then.
    async fn give_up(&self, command: Vec<OsString>) {
        let outside = Outside::new(&self.root);
        let mut running = self.start(command, "", outside.environment(), "scratch");
        let supervisors = self.supervisors(&outside);
        println!("{}", first_line(&mut running).await);
        abandon(running).await;
        print!("{}{}", outside.report(), self.left(&outside, &supervisors));
    }

    /// Runs a script to its end, and prints its output, how it ended, and which protected paths
    /// appeared.
    async fn protected(&self, command: Vec<OsString>) {
        let mut running = self.start(command, "", self.mark(), "scratch");
        drop(running.stdin.take());
        let (stdout, stderr) = (running.stdout.take(), running.stderr.take());
        let (stdout, stderr) = tokio::join!(collect(stdout), collect(stderr));
        let end = running.ended().await.unwrap();
        print!("{}", shown("stdout", &stdout, ""));
        print!("{}", shown("stderr", &stderr, "stderr| "));
        println!("ended: {:?}", end.stopped);
        for Appeared { path, fate, .. } in end.appeared {
            let path = String::from_utf8_lossy(&path);
            match fate {
                Fate::Moved(to) => println!("{path}: moved to {}", String::from_utf8_lossy(&to)),
                fate => println!("{path}: {fate:?}"),
            }
        }
    }

    /// Starts a script, creates a protected path for it, and drops it.
    async fn drop_planted(&self, command: Vec<OsString>) {
        let mut running = self.start(command, "", self.mark(), "scratch");
        println!("{}", first_line(&mut running).await);
        let workspace = self.root.join("workspace");
        fs::rename(workspace.join("x"), workspace.join(".agents")).unwrap();
        abandon(running).await;
    }

    /// Starts a script in the directory `work` of the workspace, runs another one in the whole workspace to its end, and
    /// lets the first continue.
    async fn moved(&self, mut command: Vec<OsString>) {
        let other = command.pop().unwrap();
        let mut job = self.job(command.clone(), "", self.mark(), "scratch");
        let work = self.root.join("workspace/work");
        job.mounts
            .retain(|mount| !mount.at.starts_with(self.root.join("workspace")));
        job.mounts.push(Mount {
            kind: MountKind::Open(File::open(&work).unwrap().into()),
            at: work.clone(),
            writable: true,
        });
        job.directory = work;
        let mut first = self.confinement.start(job).unwrap();
        println!("{}", first_line(&mut first).await);
        command.pop();
        command.push(other);
        let scratch = self.root.join("scratch/other");
        fs::create_dir(scratch).unwrap();
        self.report(self.start(command, "", self.mark(), "scratch/other"))
            .await;
        let mut input = first.stdin.take().unwrap();
        input.write_all(b"go\n").await.unwrap();
        drop(input);
        self.report(first).await;
    }

    /// Runs a script in a workspace whose protected directory `sub` is moved to `old` once the script runs.
    async fn replaced(&self, command: Vec<OsString>) {
        let mut job = self.job(command, "", self.mark(), "scratch");
        let (sub, old) = ("workspace/sub", "workspace/old");
        let handle = File::open(self.root.join(sub)).unwrap();
        job.mounts.push(Mount {
            kind: MountKind::Protected(handle.into(), self.root.join(sub)),
            at: self.root.join(sub),
            writable: false,
        });
        let mut running = self.confinement.start(job).unwrap();
        println!("{}", first_line(&mut running).await);
        fs::rename(self.root.join(sub), self.root.join(old)).unwrap();
        self.report(running).await;
    }

    /// Starts a script, kills its supervisor, and creates a protected path for it.
    async fn lose_planted(&self, command: Vec<OsString>) {
        let mut running = self.start(command, "", self.mark(), "scratch");
        println!("{}", first_line(&mut running).await);
        let supervisors = readings::children(std::process::id());
        for supervisor in supervisors {
            let supervisor = rustix::process::Pid::from_raw(supervisor.cast_signed()).unwrap();
            rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
        }
        // Whether the host sees the end of the pipe or of the process last is a matter of timing.
        running.ended().await.unwrap_err();
        println!("the supervisor is gone");
        let workspace = self.root.join("workspace");
        fs::rename(workspace.join("x"), workspace.join(".agents")).unwrap();
        abandon(running).await;
    }

    /// Drops a script that has exited, and whose result was not requested.
    async fn forget(&self, command: Vec<OsString>) {
        let outside = Outside::new(&self.root);
        let running = self.start(command, "", outside.environment(), "scratch");
        let supervisors = self.supervisors(&outside);
        let ended = |process: &u32| readings::state(*process).is_some_and(|(now, _)| now == "Z");
        while !supervisors.iter().all(ended) {
            tokio::task::yield_now().await;
        }
        abandon(running).await;
        print!("{}{}", outside.report(), self.left(&outside, &supervisors));
    }

    /// Starts a script, and another one when the first has printed a line and while it still runs.
    async fn beside(&self, command: Vec<OsString>) {
        let outside = Outside::new(&self.root);
        let asked = "# limits: network=1";
        let mut first = self.start(command, asked, outside.environment(), "scratch");
        println!("{}", first_line(&mut first).await);
        fs::create_dir(self.root.join("scratch/second")).unwrap();
        // The soft limit of whoever starts the second script may be lower than what the first one has in transit.
        let limit = getrlimit(Resource::Nofile);
        let low = Rlimit {
            current: Some(48),
            ..limit
        };
        setrlimit(Resource::Nofile, low).unwrap();
        let second = ["/bin/bash", "-c", "echo beside it"].map(OsString::from);
        let environment = outside.environment();
        let mut second = self.start(second.to_vec(), "", environment, "scratch/second");
        print!(
            "{}",
            shown("stdout", &collect(second.stdout.take()).await, "")
        );
        println!("{:?}", second.ended().await.map(|end| end.stopped));
        assert_eq!(getrlimit(Resource::Nofile), low);
        abandon(first).await;
    }

    /// Runs many scripts at once: none continues before all have started.
    async fn many(&self, command: Vec<OsString>) {
        let outside = Outside::new(&self.root);
        let mut all = Vec::new();
        for number in 0..MANY {
            let scratch = format!("scratch/{number}");
            fs::create_dir(self.root.join(&scratch)).unwrap();
            let mut command = command.clone();
            command.push(number.to_string().into());
            all.push(self.start(
                command,
                "# limits: time=60",
                outside.environment(),
                &scratch,
            ));
        }
        let supervisors = self.supervisors(&outside);
        for number in 0..all.len() {
            if first_line(&mut all[number]).await != "ready" {
                let mut early = all.swap_remove(number);
                let stderr = shown("stderr", &collect(early.stderr.take()).await, "stderr| ");
                panic!(
                    "run {number} was never ready: {stderr}{:?}",
                    early.ended().await
                );
            }
        }
        println!("all are ready");
        for running in &mut all {
            let mut input = running.stdin.take().unwrap();
            input.write_all(b"go\n").await.unwrap();
        }
        for (number, mut running) in all.into_iter().enumerate() {
            let (stdout, stderr) = (running.stdout.take(), running.stderr.take());
            let (stdout, stderr) = tokio::join!(collect(stdout), collect(stderr));
            let end = running.ended().await.unwrap();
            let said = shown("stdout", &stdout, "") + &shown("stderr", &stderr, "stderr| ");
            let wanted = (format!("{number} {}\n", number * number), number % 100);
            let code = skillrun_confine::Stopped::Exited(i32::try_from(wanted.1).unwrap());
            if (&said, end.stopped) != (&wanted.0, code) {
                println!("run {number}: {said}{:?}", end.stopped);
            }
        }
        println!("all have ended");
        print!("{}{}", outside.report(), self.left(&outside, &supervisors));
    }

    /// Runs a command while a supervisor waits for its program, then starts the program.
    async fn late(&self, command: Vec<OsString>, limits: &str) {
        let mut command = command.into_iter();
        let happens = command.next().unwrap();
        // The init process of the idle sandbox, if the backend has one.
        let mut init = None;
        while self.confinement.backend() == Backend::Namespaces && init.is_none() {
            let own = readings::descendants(std::process::id());
            let sleeps =
                |process: &u32| readings::state(*process).is_some_and(|(now, _)| now == "S");
            init = own.get(1).copied().filter(sleeps);
        }
        let mut shell = std::process::Command::new("/bin/bash");
        shell.arg("-c").arg(happens);
        shell.env("INIT", init.unwrap_or(0).to_string());
        assert!(shell.status().unwrap().success());
        let mut running = self.start(command.collect(), limits, self.mark(), "scratch");
        println!("{}", first_line(&mut running).await);
        println!("{:?}", running.ended().await.map(|end| end.stopped));
    }

    /// Runs a script whose checked bytes are not those in its file.
    async fn script(&self, command: Vec<OsString>) {
        let mut job = self.job(command.clone(), "", self.mark(), "scratch");
        job.script = Some(Script {
            paths: vec![PathBuf::from(&command[1])],
            contents: b"echo decided; echo \"$0\"; cat \"$0\"\n".to_vec(),
        });
        self.report(self.confinement.start(job).unwrap()).await;
    }

    /// Runs a script, and prints whether the file system of the workspace has attributes and a control group counted its
    /// memory.
    async fn attributes(&self, command: Vec<OsString>) {
        let probe = self.root.join("workspace/probe");
        fs::write(&probe, "").unwrap();
        let flags = rustix::fs::XattrFlags::empty();
        let set = rustix::fs::setxattr(&probe, "user.x", b"x", flags);
        println!("supported: {}", set.is_ok());
        fs::remove_file(probe).unwrap();
        let mut running = self.start(command, "", self.mark(), "scratch");
        drop(running.stdin.take());
        let (stdout, stderr) = (running.stdout.take(), running.stderr.take());
        let (stdout, stderr) = tokio::join!(collect(stdout), collect(stderr));
        let end = running.ended().await.unwrap();
        let counted = end.layers.contains(&skillrun_confine::Layer::MemoryCgroup);
        println!("counted: {counted}");
        print!("{}", shown("stdout", &stdout, ""));
        print!("{}", shown("stderr", &stderr, "stderr| "));
        println!("ended: {:?}", end.stopped);
    }

    /// Runs a script, and prints whether a control group counts its memory.
    async fn counted(&self, command: Vec<OsString>, writable: bool) {
        let mut job = self.job(command, "# limits: files=256", self.mark(), "scratch");
        job.mounts
            .iter_mut()
            .for_each(|mount| mount.writable &= writable);
        let mut running = self.confinement.start(job).unwrap();
        drop(running.stdin.take());
        let (stdout, stderr) = (running.stdout.take(), running.stderr.take());
        let (stdout, stderr) = tokio::join!(collect(stdout), collect(stderr));
        let layers = &self.confinement.probe().layers;
        let counted = layers.contains(&skillrun_confine::Layer::MemoryCgroup);
        println!("counted: {counted}");
        print!("{}", shown("stdout", &stdout, ""));
        print!("{}", shown("stderr", &stderr, "stderr| "));
        match running.ended().await {
            Ok(end) => println!("ended: {:?}", end.stopped),
            Err(error) => println!("unable: {error}"),
        }
    }

    /// Opens the protected path that the first word names, executes the second word in a shell, then runs a script.
    async fn vanished(&self, command: Vec<OsString>) {
        let mut command = command.into_iter();
        let (path, happens) = (command.next().unwrap(), command.next().unwrap());
        let mut job = self.job(command.collect(), "", self.mark(), "scratch");
        let path = self.root.join("workspace").join(path);
        job.mounts.push(Mount {
            kind: MountKind::Open(File::open(&path).unwrap().into()),
            at: path,
            writable: false,
        });
        let mut shell = std::process::Command::new("/bin/bash");
        shell.arg("-ec").arg(happens).current_dir("workspace");
        assert!(shell.status().unwrap().success());
        let mut running = self.confinement.start(job).unwrap();
        drop(running.stdin.take());
        let (stdout, stderr) = (running.stdout.take(), running.stderr.take());
        // If the supervisor did not start the program, it keeps the output open.
        match running.ended().await {
            Ok(end) => {
                let (stdout, stderr) = tokio::join!(collect(stdout), collect(stderr));
                print!("{}", shown("stdout", &stdout, ""));
                print!("{}", shown("stderr", &stderr, "stderr| "));
                println!("ended: {:?}", end.stopped);
            }
            Err(unable) => println!("unable: {unable}"),
        }
    }

    /// Opens a program as checked, replaces its file if `other` exists, and starts it.
    async fn program(&self, command: Vec<OsString>) {
        let mut job = self.job(command, "", self.mark(), "scratch");
        job.checked = Some(File::open(&job.program).unwrap().into());
        let other = self.root.join("other");
        if other.exists() {
            fs::rename(other, &job.program).unwrap();
        }
        self.report(self.confinement.start(job).unwrap()).await;
    }

    /// Prints a program's output and how it ended.
    async fn report(&self, mut running: Running) {
        drop(running.stdin.take());
        let (stdout, stderr) = (running.stdout.take(), running.stderr.take());
        let (stdout, stderr) = tokio::join!(collect(stdout), collect(stderr));
        print!("{}", shown("stdout", &stdout, ""));
        print!("{}", shown("stderr", &stderr, "stderr| "));
        match running.ended().await {
            Ok(end) => println!("ended: {:?}", end.stopped),
            Err(unable) => println!("unable: {unable}"),
        }
    }

    fn mark(&self) -> Vec<(&'static str, String)> {
        vec![("ROOT", self.root.to_str().unwrap().into())]
    }

    fn supervisors(&self, outside: &Outside) -> Vec<u32> {
        let mut supervisors = readings::children(std::process::id());
        supervisors.retain(|process| *process != outside.victim());
        supervisors
    }

    /// What is left of programs that ended: nothing.
    fn left(&self, outside: &Outside, supervisors: &[u32]) -> String {
        let mut left = Vec::new();
        for process in self.supervisors(outside) {
            left.push(format!("child {process}"));
        }
        for process in readings::marked(self.root.to_str().unwrap()) {
            let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            left.push(format!("process {process} {}", name.trim()));
        }
        left.extend(readings::groups(supervisors));
        assert!(
            !supervisors.is_empty(),
            "what has no supervisor proves nothing"
        );
        match left.as_slice() {
            [] => "left: nothing\n".into(),
            left => format!("left: {}\n", left.join(", ")),
        }
    }

    fn start(
        &self,
        command: Vec<OsString>,
        script: &str,
        environment: Vec<(&'static str, String)>,
        scratch: &str,
    ) -> Running {
        let job = self.job(command, script, environment, scratch);
        self.confinement.start(job).unwrap()
    }

    fn job(
        &self,
        command: Vec<OsString>,
        script: &str,
        environment: Vec<(&'static str, String)>,
        scratch: &str,
    ) -> Job {
        let mut command = command.into_iter();
        let asked = Asked::of(script);
        let mount = |name: &str, writable| Mount {
            kind: MountKind::Open(File::open(self.root.join(name)).unwrap().into()),
            at: self.root.join(name),
            writable,
        };
        let path = self.root.join(scratch);
        let scratch = Scratch {
            handle: File::open(&path).unwrap().into(),
            path,
            at: "/scratch".into(),
            size: asked.scratch,
        };
        let home = scratch.seen_at(self.confinement.backend()).to_owned();
        let mut variables = vec![
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", home.to_str().unwrap().into()),
            ("TMPDIR", home.to_str().unwrap().into()),
        ];
        variables.extend(environment);
        let mut mounts = vec![mount("skill", false)];
        let directory = match asked.workspace {
            true => {
                mounts.push(mount("workspace", true));
                self.root.join("workspace")
            }
            false => home,
        };
        mounts.extend(self.absent.iter().map(|path| Mount {
            kind: MountKind::Absent(self.root.join(path)),
            at: self.root.join(path),
            writable: false,
        }));
        Job {
            program: command.next().unwrap().into(),
            checked: None,
            script: None,
            arguments: command.collect(),
            environment: variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            directory,
            mounts,
            scratch,
            network: asked.network,
            limits: asked.limits,
        }
    }
}

/// The limits that a script asks for in a line `# limits: time=1 memory=64 …`, in seconds and
/// mebibytes.
struct Asked {
    limits: Limits,
    scratch: u64,
    network: bool,
    workspace: bool,
}

impl Asked {
    fn of(script: &str) -> Self {
        let mut asked = Self {
            limits: Limits {
                time: Duration::from_secs(30),
                memory: 256 * MIB,
                processes: 32,
                file_size: 64 * MIB,
                disk: 64 * MIB,
                open_files: 64,
            },
            scratch: 16 * MIB,
            network: false,
            workspace: true,
        };
        let lines = script.lines();
        let mut lines = lines.filter_map(|line| line.strip_prefix("# limits: "));
        for word in lines.next().unwrap_or_default().split_whitespace() {
            let (name, value) = word.split_once('=').unwrap();
            let number: u64 = value.parse().unwrap();
            let limits = &mut asked.limits;
            match name {
                "time" => limits.time = Duration::from_secs(number),
                "memory" => limits.memory = number * MIB,
                "processes" => limits.processes = u32::try_from(number).unwrap(),
                "file" => limits.file_size = number * MIB,
                "files" => limits.open_files = u32::try_from(number).unwrap(),
                "disk" => limits.disk = number * MIB,
                "scratch" => asked.scratch = number * MIB,
                "network" => asked.network = number == 1,
                "workspace" => asked.workspace = number == 1,
                other => panic!("no limit `{other}`"),
            }
        }
        asked
    }
}

/// The bytes of a stream, and their total number.
async fn collect(stream: Option<Receiver>) -> (Vec<u8>, u64) {
    let mut stream = stream.unwrap();
    let (mut kept, mut count) = (Vec::new(), 0);
    let mut piece = vec![0; SHOWN];
    while let Ok(got @ 1..) = stream.read(&mut piece).await {
        count += got as u64;
        let room = (SHOWN - kept.len()).min(got);
        kept.extend_from_slice(&piece[..room]);
    }
    (kept, count)
}

fn shown(name: &str, (kept, count): &(Vec<u8>, u64), lead: &str) -> String {
    if *count > kept.len() as u64 {
        return format!("{name}: {count} bytes\n");
    }
    let mut text = String::new();
    for line in String::from_utf8_lossy(kept).lines() {
        let _ = writeln!(text, "{lead}{line}");
    }
    text
}

/// Drops a script, and waits until what it may use is dropped: nothing of it is left then.
async fn abandon(running: Running) {
    let (held, dropped) = tokio::sync::oneshot::channel::<()>();
    running.abandon(held);
    dropped.await.unwrap_err();
}

async fn first_line(running: &mut Running) -> String {
    let stdout = running.stdout.as_mut().unwrap();
    let mut line = Vec::new();
    while let Ok(byte) = stdout.read_u8().await {
        if byte == b'\n' {
            break;
        }
        line.push(byte);
    }
    String::from_utf8_lossy(&line).into_owned()
}
