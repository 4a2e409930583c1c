//! `just attack CORPUS_DIR`: what the scripts of a corpus of malicious skills obtain.
//!
//! Exits with 0 if nothing got through, with 1 if something did, and with 2 if the job itself cannot be trusted:
//! nothing ran, or a control got nothing. As root, it runs in its own network namespace, where every address leads
//! to the sinkhole, and the scripts run as a separate user.

#[path = "mod.rs"]
mod attack;

use attack::{Run, Settings, Sinkhole, Tier};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The first of the user ids that systems keep free for services. Each job takes one by its process id, so that two
/// concurrent jobs do not mistake each other's processes for their own.
const USERS: u32 = 61_184;
/// The ports that malware connects to, where we can listen on them.
const PORTS: [u16; 18] = [
    21, 22, 25, 53, 80, 443, 1337, 3000, 4444, 5000, 5555, 6667, 8000, 8080, 8443, 9001, 9999,
    31337,
];
/// The arguments of a script: some act only with an argument.
const ARGUMENTS: [&[&str]; 3] = [&[], &["--help"], &["data.csv", "out.txt"]];
/// Set inside our own network namespace.
const INSIDE: &str = "SKILLRUN_ATTACK_INSIDE";
/// A network in which every address is this machine.
const NETWORK: &str = "ip link set lo up && ip route add local 0.0.0.0/0 dev lo && { ip -6 route add local ::/0 dev lo || true; } && exec \"$@\"";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let (Some(corpus), out, None) = (words.next(), words.next(), words.next()) else {
        eprintln!("usage: attack CORPUS_DIR [REPORT.jsonl]");
        return ExitCode::from(2);
    };
    let out = out.map_or_else(|| PathBuf::from("attack.jsonl"), PathBuf::from);
    match job(Path::new(&corpus), &out) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn job(corpus: &Path, out: &Path) -> io::Result<ExitCode> {
    let root = rustix::process::geteuid().is_root();
    let inside = std::env::var_os(INSIDE).is_some();
    if root && !inside {
        // Replaces this process, unless there is no such program.
        let error = Command::new("unshare")
            .args(["--net", "--", "sh", "-c", NETWORK, "sh"])
            .arg(std::env::current_exe()?)
            .args(std::env::args_os().skip(1))
            .env(INSIDE, "1")
            .exec();
        return Err(io::Error::other(format!("unshare: {error}")));
    }
    if !root {
        eprintln!(
            "note: without root there is no network of its own: only connections to loopback are seen"
        );
    }
    let kept = tempfile::Builder::new()
        .prefix("skillrun-attack-")
        .tempdir()?;
    let settings = prepare(kept.path(), root.then(|| USERS + std::process::id() % 4000))?;
    let sinkhole = Sinkhole::open(&PORTS, inside)?;
    for control in attack::controls(inside) {
        let run = attack::run_control(&settings, &sinkhole, &control)?;
        if !run.got.iter().any(|got| got == control.gets) {
            let why = format!(
                "control `{}` did not get {}: {run:?}",
                run.script, control.gets
            );
            return Err(io::Error::other(why));
        }
    }
    let scripts = attack::scripts(corpus)?;
    println!("{} scripts, every control was noticed", scripts.len());
    let mut file = File::create(out)?;
    let mut runs = Vec::new();
    for script in &scripts {
        let mut failed = Ok(());
        attack::run_script(&settings, &sinkhole, script, &ARGUMENTS, |run| {
            if failed.is_ok() {
                failed = writeln!(file, "{}", run.json());
            }
            tell(&run);
            runs.push(run);
        })?;
        failed?;
    }
    Ok(summary(&runs, out))
}

/// A copy of the binary and a cache that the scripts' user can use.
fn prepare(folder: &Path, user: Option<u32>) -> io::Result<Settings> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?;
    let here = std::env::current_exe()?;
    let built = here
        .parent()
        .and_then(Path::parent)
        .map(|folder| folder.join("skillrun"));
    let built = built.filter(|built| built.is_file());
    let built = built
        .ok_or_else(|| io::Error::other("no `skillrun` beside this program: build it first"))?;
    let settings = Settings {
        skillrun: folder.join("skillrun"),
        cache: folder.join("cache"),
        user,
    };
    std::fs::copy(built, &settings.skillrun)?;
    std::fs::create_dir(&settings.cache)?;
    std::fs::set_permissions(&settings.cache, std::fs::Permissions::from_mode(0o700))?;
    if let Some(user) = user {
        attack::own(&settings.cache, user)?;
    }
    let mut compile = Command::new(&settings.skillrun);
    compile.args(["runtimes", "prepare"]).env_clear();
    compile
        .env("HOME", folder)
        .env("XDG_CACHE_HOME", &settings.cache)
        .current_dir("/");
    if let Some(user) = user {
        compile.uid(user).gid(user);
    }
    match compile.output()?.status.success() {
        true => Ok(settings),
        false => Err(io::Error::other("the interpreters could not be compiled")),
    }
}

fn tell(run: &Run) {
    if run.got.is_empty() {
        return;
    }
    let (script, tier, arguments) = (&run.script, run.tier.word(), &run.arguments);
    println!(
        "GOT THROUGH  {script} ({tier}, {arguments:?}): {}",
        run.got.join("; ")
    );
}

fn summary(runs: &[Run], out: &Path) -> ExitCode {
    println!(
        "\n{:<8}{:>8}{:>8}{:>10}{:>12}{:>10}{:>8}",
        "tier", "runs", "ran", "refused", "timed out", "met", "got"
    );
    for tier in [Tier::Wasm, Tier::Native] {
        let of_tier: Vec<&Run> = runs.iter().filter(|run| run.tier == tier).collect();
        let count = |of: &dyn Fn(&Run) -> bool| of_tier.iter().filter(|run| of(run)).count();
        println!(
            "{:<8}{:>8}{:>8}{:>10}{:>12}{:>10}{:>8}",
            tier.word(),
            of_tier.len(),
            count(&|run| run.ran()),
            count(&|run| !run.ran()),
            count(&|run| run.status == "timed_out"),
            count(&|run| !run.met.is_empty()),
            count(&|run| !run.got.is_empty()),
        );
    }
    println!("\nevery run is a line of `{}`", out.display());
    if !runs.iter().any(Run::ran) {
        eprintln!("error: not one script ran, so nothing is proved");
        return ExitCode::from(2);
    }
    match runs.iter().any(|run| !run.got.is_empty()) {
        true => ExitCode::from(1),
        false => ExitCode::SUCCESS,
    }
}
