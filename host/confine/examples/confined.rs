//! Runs a command confined: `confined [--backend namespaces|landlock] [--read DIR]... [--write
//! DIR]... [--network] [--time SECONDS] [--memory MIB] [--processes N] [--disk MIB] COMMAND
//! ARGUMENTS...`
//!
//! The command's output goes to our output. The last line on stderr shows how it ended and which
//! layers confined it.

#[cfg(target_os = "linux")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use skillrun_confine::{Backend, Confinement, Job, Limits, Mount, MountKind, Scratch};
    use std::os::fd::OwnedFd;
    use std::path::PathBuf;
    use std::time::Duration;

    let mut args = std::env::args_os().skip(1).peekable();
    let mut backend = None;
    let mut mounts = Vec::new();
    let mut network = false;
    let mut limits = Limits {
        time: Duration::from_secs(10),
        memory: 256 << 20,
        processes: 32,
        file_size: 64 << 20,
        disk: 64 << 20,
        open_files: 256,
    };
    while let Some(flag) = args.next_if(|arg| arg.to_string_lossy().starts_with("--")) {
        let flag = flag.to_string_lossy().into_owned();
        if flag == "--network" {
            network = true;
            continue;
        }
        let value = args.next().ok_or("a flag without a value")?;
        let number = || value.to_string_lossy().parse::<u32>();
        match flag.as_str() {
            "--backend" if value == "namespaces" => backend = Some(Backend::Namespaces),
            "--backend" if value == "landlock" => backend = Some(Backend::Landlock),
            "--read" | "--write" => {
                let at = PathBuf::from(&value).canonicalize()?;
                mounts.push(Mount {
                    kind: MountKind::Open(OwnedFd::from(std::fs::File::open(&at)?)),
                    at,
                    writable: flag == "--write",
                });
            }
            "--time" => limits.time = Duration::from_secs(number()?.into()),
            "--memory" => limits.memory = u64::from(number()?) << 20,
            "--processes" => limits.processes = number()?,
            "--disk" => limits.disk = u64::from(number()?) << 20,
            other => return Err(format!("no flag `{other}`").into()),
        }
    }
    let program = PathBuf::from(args.next().ok_or("no command")?);
    let confinement = match backend {
        Some(backend) => Confinement::with(backend)?,
        None => Confinement::find()?,
    };
    let directory = std::env::temp_dir().join(format!("confined-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let scratch = Scratch {
        handle: OwnedFd::from(std::fs::File::open(&directory)?),
        path: directory.clone(),
        at: "/tmp".into(),
        size: 16 << 20,
    };
    let home = scratch.seen_at(confinement.backend()).to_owned();
    let environment = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME", home.clone().into_os_string()),
        ("TMPDIR", home.clone().into_os_string()),
    ];
    let environment = environment.map(|(name, value)| (name.into(), value));
    let mut running = confinement.start(Job {
        program,
        checked: None,
        script: None,
        arguments: args.collect(),
        environment: environment.into(),
        directory: home,
        mounts,
        scratch,
        network,
        limits,
    })?;
    drop(running.stdin.take());
    let (mut stdout, mut stderr) = (tokio::io::stdout(), tokio::io::stderr());
    if let (Some(mut out), Some(mut err)) = (running.stdout.take(), running.stderr.take()) {
        let copied = tokio::join!(
            tokio::io::copy(&mut out, &mut stdout),
            tokio::io::copy(&mut err, &mut stderr),
        );
        copied.0.and(copied.1)?;
    }
    let ended = running.ended().await;
    std::fs::remove_dir_all(directory)?;
    eprintln!("{:?}", ended?);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    if let Err(no_backend) = skillrun_confine::Confinement::find() {
        eprintln!("{no_backend}");
    }
}
