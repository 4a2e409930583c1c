//! Guests in worker processes: what is particular to them. The tests of `concurrency` and `handles` run in workers too.
//! All of them run a second time where no user namespace can be created, in workers that Landlock confines.

use crate::env::{TestEnv, copy_program};
use crate::library::{block_on, host, host_in, permitted, skill};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use skillrun::running::{Run, RunEvent};
use skillrun::runtime::Workers;
use skillrun::{Decision, Host, Limits, Outcome, Policy, Request, RunError, Status};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

tests! {
    the_outcome_names_the_walls_around_the_worker,
    a_run_in_a_worker_has_the_same_outcome_as_one_in_this_process,
    typescript_runs_in_a_worker,
    a_worker_gets_nothing_of_a_directory_but_the_file_that_was_granted,
    a_worker_that_is_killed_ends_its_own_run_only,
    workers_that_are_killed_at_random_lose_and_double_no_run,
    tenants_never_share_a_worker,
    what_a_run_left_in_its_scratch_directory_is_not_there_in_the_next,
    no_byte_of_one_run_is_in_the_memory_of_the_next,
    a_program_that_is_no_worker_runs_nothing,
    workers_end_with_their_host,
    a_hostile_worker_harms_its_own_run_only,
    output_of_a_worker_that_is_not_confined_yet_is_not_accepted,
    files_in_a_workspace_belong_to_its_owner_after_a_run,
    a_worker_that_does_not_stop_writing_is_ended_before_its_files_are_given_back,
    a_job_that_a_worker_does_not_read_ends_at_its_time_limit,
    a_protected_path_that_is_not_utf8_does_not_keep_a_worker_from_running,
}

/// The tests that run guests in workers, each in a process that cannot create user namespaces.
pub(crate) fn tests_without_namespaces() -> Vec<Trial> {
    let tests = tests()
        .into_iter()
        .chain(crate::concurrency::tests_in_workers())
        .chain(crate::handles::tests_in_workers());
    let can_forbid = TestEnv::new()
        .end_of(&mut without_namespaces(Path::new("true")))
        .code
        == 0;
    let again = tests.map(|test| {
        let name = test.name().to_owned();
        let title = format!("{name}_without_namespaces");
        Trial::test(title, move || {
            run_without_namespaces(&name);
            Ok(())
        })
    });
    match can_forbid {
        true => again.collect(),
        // Then it runs there anyway.
        false => again
            .map(|test| {
                test.with_kind("cannot create a user namespace to forbid further ones in")
                    .with_ignored_flag(true)
            })
            .collect(),
    }
}

/// A program where no more user namespaces can be created.
fn without_namespaces(program: &Path) -> Command {
    let launcher = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/native");
    let mut command = Command::new(launcher.join("without_namespaces"));
    command
        .arg(program)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run_without_namespaces(name: &str) {
    let env = TestEnv::new();
    let mut command = without_namespaces(&std::env::current_exe().unwrap());
    command
        .args(["--exact", name])
        .env("TMPDIR", env.path("tmp"));
    let end = env.end_of(&mut command);
    assert!(
        end.code == 0 && end.stdout.contains("1 passed"),
        "{}\n{}",
        end.stdout,
        end.stderr
    );
}

/// Whether the workers of this process are in namespaces.
fn has_namespaces() -> bool {
    Workers::probe().unwrap().without_namespaces.is_none()
}

/// A host whose workers have an executable of their own, so that they can be told from those of other tests.
pub(crate) struct Walled {
    pub(crate) env: TestEnv,
    pub(crate) host: Host,
    program: PathBuf,
}

impl Walled {
    pub(crate) fn new(script: &str) -> Self {
        Self::with_slots(script, None)
    }

    fn with_slots(script: &str, slots: Option<u32>) -> Self {
        let env = TestEnv::with_script(script);
        env.write("workspace/a.txt", "a\n");
        let program = env.path("worker-of-this-test");
        let built = env!("CARGO_BIN_EXE_skillrun");
        if fs::hard_link(built, &program).is_err() {
            copy_program(built, &program);
        }
        let host = host_in(&env, slots, Workers::Processes(program.clone()));
        Self { env, host, program }
    }

    pub(crate) fn request(&self) -> Request {
        Request {
            workspace: Some(self.env.path("workspace").into()),
            ..Request::typed(&skill(&self.env), "main.py")
        }
    }

    async fn run(&self, request: Request) -> Outcome {
        let policy = Policy::default().and_allow(request.grants.clone());
        match self.host.decide(&policy, request).await.unwrap() {
            Decision::Permitted(permit) => self.host.run(permit).await.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn start(&self) -> Run {
        self.host
            .start(permitted(&self.host, &Policy::default(), self.request()))
    }

    /// The processes of its workers: for each, one that watches and one in the namespaces.
    pub(crate) fn processes(&self) -> BTreeSet<i32> {
        let mut found = BTreeSet::new();
        for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
            if let Ok(pid) = entry.file_name().to_string_lossy().parse()
                && fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == self.program)
            {
                found.insert(pid);
            }
        }
        found
    }
}

fn kill(pids: impl IntoIterator<Item = i32>) {
    for pid in pids {
        // It may have ended.
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
}

/// Waits for the first output of a run.
pub(crate) async fn output(run: &mut Run) -> String {
    loop {
        match run.next_event().await.unwrap() {
            RunEvent::Stdout(bytes) => return String::from_utf8(bytes.into()).unwrap(),
            RunEvent::Started => {}
            other => panic!("{other:?}"),
        }
    }
}

fn the_outcome_names_the_walls_around_the_worker() {
    let walled = Walled::new("print('hello')\n");
    let outcome = block_on(walled.run(walled.request()));
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("hello\n", 0));
    let mut expected = vec!["wasm", "preopens", "fuel", "worker"];
    if has_namespaces() {
        expected.push("namespaces");
    }
    if rustix::process::geteuid().is_root() {
        expected.push("private-user");
    }
    expected.extend(["landlock", "seccomp"]);
    assert_eq!(outcome.isolation.layers, expected);
}

/// What a script meets, changes and leaves, in both modes.
fn a_run_in_a_worker_has_the_same_outcome_as_one_in_this_process() {
    const SCRIPT: &str = "\
import os, sys, tempfile
print(sys.argv[1:], sys.stdin.read(), os.getcwd() == sys.argv[1])
os.makedirs('sub')
open('sub/b', 'w').write('b')
os.rename('sub/b', 'c')
os.symlink('c', 'link')
os.remove('a.txt')
with tempfile.NamedTemporaryFile('w') as file:
    file.write('x')
    file.flush()
    print(os.stat(file.name).st_size, len(os.listdir(tempfile.gettempdir())))
for path in ['/etc/passwd', '../outside', os.path.dirname(__file__) + '/new', '/proc/self/fd', 'sub/../../x']:
    for mode in 'rw':
        try: print(open(path, mode))
        except OSError as error: print(path, mode, error)
for path in ['c', 'sub', 'none']:
    try:
        os.utime(path, (1, 2))
        print(path, os.stat(path).st_atime, os.stat(path).st_mtime)
    except OSError as error: print(path, error)
os.makedirs('d/e'); os.rename('c', 'd/e/c'); os.link('d/e/c', 'd/linked'); os.rename('d/e', 'f'); os.rename('f/c', 'c')
os.truncate('d/linked', 0); os.remove('d/linked'); os.rmdir('d'); os.rmdir('f')
open('c', 'w').write('c')
print(sorted(os.listdir('.')), os.readlink('link'), file=sys.stderr)
sys.exit(7)
";
    let outcomes = [true, false].map(|in_worker| {
        let walled = Walled::new(SCRIPT);
        let host = match in_worker {
            true => walled.host.clone(),
            false => host(&walled.env),
        };
        let workspace = walled.env.path("workspace");
        let request = Request {
            args: vec![workspace.canonicalize().unwrap().display().to_string()],
            input: Some("in".into()),
            ..walled.request()
        };
        let permit = permitted(&host, &Policy::default(), request);
        let outcome = block_on(host.run(permit)).unwrap();
        let named = |text: &str| walled.env.named(text.as_bytes());
        let artifacts = outcome.artifacts.iter();
        let artifacts: Vec<_> = artifacts
            .map(|file| (file.path.clone(), file.change, file.sha256.clone()))
            .collect();
        let denied = outcome.denied.iter();
        let denied: Vec<_> = denied
            .map(|denial| (named(&denial.grant), denial.count, denial.hint))
            .collect();
        (
            (outcome.status, outcome.exit_code),
            named(&outcome.stdout),
            named(&outcome.stderr),
            artifacts,
            denied,
            outcome.warnings,
            outcome.usage.peak_memory_bytes,
        )
    });
    assert_eq!(outcomes[0], outcomes[1]);
    assert_eq!(outcomes[0].0, (Status::Exited, 7));
    assert_eq!(outcomes[0].3.len(), 2, "{:?}", outcomes[0].3);
}

fn typescript_runs_in_a_worker() {
    let walled = Walled::new("");
    walled
        .env
        .write("skill/scripts/other.ts", "export enum Colour { Red = 3 }\n");
    walled.env.write(
        "skill/scripts/main.ts",
        "import { Colour } from './other.ts';\nconst red: Colour = Colour.Red;\nconsole.log(red);\n",
    );
    let outcome = block_on(walled.run(Request::typed(&skill(&walled.env), "main.ts")));
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str()),
        ("3\n", "")
    );
}

fn a_worker_gets_nothing_of_a_directory_but_the_file_that_was_granted() {
    let walled = Walled::new(
        "import os, sys\nprint(open(sys.argv[1]).read(), os.stat(sys.argv[1]).st_size)\n\
         open(sys.argv[2], 'a').write('more')\n\
         try: os.readlink(sys.argv[1])\nexcept OSError as error: print(error.strerror)\n\
         for path in sys.argv[3:]:\n    try: print(os.listdir(path) if path.endswith('/') else open(path).read())\n    except OSError as error: print(error.strerror)\n",
    );
    for name in ["read", "written", "sibling"] {
        walled.env.write(&format!("files/{name}"), name);
    }
    let path = |name: &str| {
        walled
            .env
            .path(&format!("files/{name}"))
            .display()
            .to_string()
    };
    let request = Request {
        args: vec![path("read"), path("written"), path("sibling"), path("")],
        grants: vec![
            format!("read:{}", path("read")).parse().unwrap(),
            format!("write:{}", path("written")).parse().unwrap(),
        ],
        workspace: None,
        ..walled.request()
    };
    let outcome = block_on(walled.run(request));
    let expected =
        "read 4\nInvalid argument\nNo such file or directory\nNo such file or directory\n";
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str()),
        (expected, "")
    );
    assert_eq!(walled.env.read("files/written"), "writtenmore");
    let changed: Vec<_> = outcome
        .artifacts
        .iter()
        .map(|file| file.path.clone())
        .collect();
    assert_eq!(
        changed,
        [walled
            .env
            .path("files/written")
            .canonicalize()
            .unwrap()
            .display()
            .to_string()]
    );
}

fn a_worker_that_is_killed_ends_its_own_run_only() {
    let walled = Walled::new(
        "import sys\nprint('ready', flush=True)\nif sys.argv[1:]: sys.exit(5)\nwhile True: pass\n",
    );
    block_on(async {
        let mut killed = walled.start();
        assert_eq!(output(&mut killed).await, "ready\n");
        // There may be a spare worker, which does not compute.
        let is_busy = |pid: &i32| cpu_time(*pid) > 20;
        let first = loop {
            if let Some(pid) = walled.processes().into_iter().find(is_busy) {
                break [pid];
            }
        };
        let mut other = walled.start();
        assert_eq!(output(&mut other).await, "ready\n");
        kill(first);
        let outcome = killed.wait().await.unwrap();
        assert_eq!((outcome.status, outcome.exit_code), (Status::Trapped, 134));
        assert_eq!(outcome.stdout, "ready\n");
        assert!(
            outcome
                .stderr
                .contains("the worker process was killed by SIGKILL"),
            "{}",
            outcome.stderr
        );
        other.cancel();
        let outcome = other.wait().await.unwrap();
        assert_eq!(
            (outcome.status, outcome.stdout.as_str()),
            (Status::Cancelled, "ready\n")
        );
        let next = walled
            .run(Request {
                args: vec!["exit".into()],
                ..walled.request()
            })
            .await;
        assert_eq!((next.status, next.exit_code), (Status::Exited, 5));
    });
    let events: Vec<_> = walled
        .env
        .audit()
        .iter()
        .map(|line| line["event"].as_str().unwrap().to_owned())
        .collect();
    let count = |name: &str| events.iter().filter(|event| *event == name).count();
    assert_eq!(
        (count("started"), count("finished"), count("aborted")),
        (3, 3, 0)
    );
}

/// Set to a number of seconds, `workers_that_are_killed_at_random_lose_and_double_no_run` goes on for that long, and says how
/// the runs ended. `just kill-workers` sets it.
const KILL_SECONDS: &str = "KILL_WORKERS_SECONDS";
/// In the long form, a run that takes longer hangs: its script takes a millisecond, and is stopped after 30 seconds.
const HANGS: Duration = Duration::from_secs(120);

/// How the runs ended whose workers were killed at random.
#[derive(Default)]
struct Ends {
    /// By their number.
    exited: BTreeSet<usize>,
    trapped: BTreeSet<usize>,
    /// Never given to a worker.
    refused: BTreeSet<usize>,
}

impl Ends {
    fn count(&self) -> usize {
        self.exited.len() + self.trapped.len() + self.refused.len()
    }

    fn note(&mut self, number: usize, result: Result<Outcome, RunError>) {
        let of_this_kind = match result {
            Ok(outcome) if outcome.status == Status::Exited => {
                assert_eq!(outcome.stdout, format!("{}\n", 199_990_000 + number));
                assert_eq!((outcome.stderr.as_str(), outcome.exit_code), ("", 0));
                &mut self.exited
            }
            Ok(outcome) => {
                assert_eq!(outcome.status, Status::Trapped, "{}", outcome.stderr);
                &mut self.trapped
            }
            // Its worker was killed before it had the job.
            Err(error) => {
                let error = error.to_string();
                // One that serves one run is given its job while it is still new.
                let is_new = !has_namespaces() && error.contains("cannot send a job to a worker");
                assert!(is_new || error.contains("cannot start a worker"), "{error}");
                &mut self.refused
            }
        };
        assert!(of_this_kind.insert(number));
    }
}

/// Every run ends once, with its own output or as trapped, however its worker is killed. A file for each run shows that no
/// script ran twice: it can be created once.
fn workers_that_are_killed_at_random_lose_and_double_no_run() {
    const CALLERS: usize = 120;
    let walled = Walled::with_slots(
        "import sys\nnumber = int(sys.argv[1])\nopen(f'{number}', 'x').close()\n\
         print(sum(range(20000)) + number)\n",
        Some(4),
    );
    let seconds = std::env::var(KILL_SECONDS).map(|text| text.parse().unwrap());
    let began = Instant::now();
    let goes_on = || {
        seconds
            .as_ref()
            .is_ok_and(|seconds| began.elapsed().as_secs() < *seconds)
    };
    let is_done = AtomicBool::new(false);
    /// Ends the killer even if the test fails.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let mut ends = Ends::default();
    let killed = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut killed = 0;
            while !is_done.load(Ordering::Relaxed) {
                // Every third process, whichever those are at this moment.
                let chosen: Vec<i32> = walled
                    .processes()
                    .into_iter()
                    .filter(|pid| pid % 3 == killed % 3)
                    .collect();
                killed += i32::try_from(chosen.len()).unwrap();
                kill(chosen);
            }
            killed
        });
        let done = Done(&is_done);
        let start = |tasks: &mut JoinSet<_>, number: usize| {
            let request = Request {
                args: vec![number.to_string()],
                ..walled.request()
            };
            let permit = permitted(&walled.host, &Policy::default(), request);
            let (host, is_long) = (walled.host.clone(), seconds.is_ok());
            tasks.spawn(async move {
                let run = host.run(permit);
                let result = match is_long {
                    true => tokio::time::timeout(HANGS, run).await,
                    false => Ok(run.await),
                };
                (
                    number,
                    result.unwrap_or_else(|_| panic!("run {number} hangs")),
                )
            });
        };
        block_on(async {
            let mut tasks = JoinSet::new();
            for number in 0..CALLERS {
                start(&mut tasks, number);
            }
            let mut next = CALLERS;
            while let Some(ended) = tasks.join_next().await {
                let (number, result) = ended.unwrap();
                ends.note(number, result);
                if goes_on() {
                    start(&mut tasks, next);
                    next += 1;
                }
            }
            assert_eq!(ends.count(), next);
        });
        drop(done);
        killer.join().unwrap()
    });
    if seconds.is_ok() {
        println!(
            "{} runs in {:.0} s, SIGKILL sent {killed} times: {} runs exited, {} were trapped, {} got no worker",
            ends.count(),
            began.elapsed().as_secs_f64(),
            ends.exited.len(),
            ends.trapped.len(),
            ends.refused.len(),
        );
    }
    assert!(killed > 0);
    // A script whose worker was killed may have run, or not.
    let ran: BTreeSet<usize> = fs::read_dir(walled.env.path("workspace"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().ok())
        .collect();
    assert!(ran.is_superset(&ends.exited));
    assert!(ran.is_disjoint(&ends.refused));
    // Without the killer, it is soon as before: a worker that was killed last may still look alive.
    let mut number = ends.count();
    loop {
        let request = Request {
            args: vec![number.to_string()],
            ..walled.request()
        };
        let policy = Policy::default();
        let permit = permitted(&walled.host, &policy, request);
        ends.note(number, block_on(walled.host.run(permit)));
        number += 1;
        if ends.exited.contains(&(number - 1)) {
            break;
        }
    }
    // Each run that started has one end.
    let lines = walled.env.audit();
    let ids = |events: &[&str]| {
        let mut ids: Vec<_> = lines
            .iter()
            .filter(|line| events.contains(&line["event"].as_str().unwrap()))
            .map(|line| line["run_id"].to_string())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&["started"]), ids(&["finished", "aborted"]));
    assert_eq!(ids(&["started"]).len(), ends.count());
}

/// A worker waits for the next run of its tenant. So after one run of each tenant, there is one for each, and a spare one.
/// Without namespaces it serves one run, so there is only the spare one.
fn tenants_never_share_a_worker() {
    let walled = Walled::new("print('ran')\n");
    block_on(async {
        for (tenant, workers) in [("acme", 2), ("acme", 2), ("globex", 3), ("acme", 3)] {
            let handle = walled.host.tenant(tenant);
            let Decision::Permitted(permit) = handle.decide(walled.request()).await.unwrap() else {
                panic!("not permitted");
            };
            assert_eq!(handle.run(permit).await.unwrap().stdout, "ran\n");
            let workers = match has_namespaces() {
                true => workers,
                false => 1,
            };
            while walled.processes().len() != 2 * workers {
                std::thread::yield_now();
            }
        }
    });
}

/// The CPU time of a process in clock ticks.
fn cpu_time(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = stat.rsplit(") ").next().unwrap_or_default();
    let time = after.split(' ').nth(11);
    time.and_then(|time| time.parse().ok()).unwrap_or(0)
}

fn what_a_run_left_in_its_scratch_directory_is_not_there_in_the_next() {
    let walled = Walled::new(
        "import os, sys\nprint(sorted(os.listdir('/tmp')))\nif sys.argv[1:]: open('/tmp/left', 'w').write('x')\n",
    );
    block_on(async {
        for (args, expected) in [
            (vec![], "[]\n"),
            (vec!["write".to_owned()], "[]\n"),
            (vec![], "[]\n"),
        ] {
            let outcome = walled
                .run(Request {
                    args,
                    ..walled.request()
                })
                .await;
            assert_eq!(
                (outcome.stdout.as_str(), outcome.stderr.as_str()),
                (expected, "")
            );
        }
        assert_eq!(walled.host.clean_up().await, None);
    });
    let left = fs::read_dir(walled.env.path("tmp")).map_or(0, |entries| entries.count());
    assert_eq!(left, 0);
}

/// One run fills its memory with a pattern, the next looks for it in memory that it has not written.
fn no_byte_of_one_run_is_in_the_memory_of_the_next() {
    let walled = Walled::new("");
    walled.env.write(
        "skill/scripts/look.js",
        "const size = 1 << 20; let found = 0;\nfor (let n = 0; n < 64; n++) { const fresh = Buffer.allocUnsafeSlow(size); for (let i = 0; i < size; i += 4096) if (fresh[i] === 0x5a && fresh[i + 1] === 0x5a) found++; }\nconsole.log(found);\n",
    );
    walled.env.write(
        "skill/scripts/fill.js",
        "const kept = []; for (let n = 0; n < 64; n++) kept.push(Buffer.alloc(1 << 20, 0x5a)); console.log(kept.length);\n",
    );
    block_on(async {
        for (script, expected) in [
            ("look.js", "0\n"),
            ("fill.js", "64\n"),
            ("look.js", "0\n"),
            ("fill.js", "64\n"),
            ("look.js", "0\n"),
        ] {
            let outcome = walled
                .run(Request::typed(&skill(&walled.env), script))
                .await;
            assert_eq!(
                (outcome.stdout.as_str(), outcome.stderr.as_str()),
                (expected, ""),
                "{script}"
            );
        }
    });
}

fn a_program_that_is_no_worker_runs_nothing() {
    let env = TestEnv::with_script("print('ran')\n");
    for (program, why) in [
        ("/bin/false", "it ended before it was ready"),
        ("/nonexistent", "no such file or directory"),
    ] {
        let host = host_in(&env, None, Workers::Processes(program.into()));
        let request = Request::typed(&skill(&env), "main.py");
        let permit = permitted(&host, &Policy::default(), request);
        let error = block_on(host.run(permit)).unwrap_err().to_string();
        let expected = format!("cannot start a worker: {why}");
        assert!(error.contains(&expected), "{error}");
    }
}

fn workers_end_with_their_host() {
    let Walled { env, host, program } = Walled::new("print('ran')\n");
    let walled = Walled {
        env,
        host: host.clone(),
        program,
    };
    drop(host);
    block_on(async {
        assert_eq!(walled.run(walled.request()).await.stdout, "ran\n");
    });
    // A worker that waits, or the spare one.
    while walled.processes().is_empty() {
        std::thread::yield_now();
    }
    let Walled { env, host, program } = walled;
    drop(host);
    let walled = Walled {
        host: host_in(&env, None, Workers::InProcess),
        env,
        program,
    };
    // The thread of the pool may be starting a spare one at this moment; it ends that, too.
    while !walled.processes().is_empty() {
        std::thread::yield_now();
    }
}

/// A worker of root is another user, in namespaces and without.
fn files_in_a_workspace_belong_to_its_owner_after_a_run() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let walled = Walled::new(
        "import os\nos.makedirs('a/b')\nopen('a/b/made', 'w').write('x')\nopen('a.txt', 'a').write('more')\n\
         os.rename('a.txt', 'renamed.txt')\nprint('ran')\n",
    );
    let workspace = walled.env.path("workspace");
    // A user with this id need not exist.
    let owner = match rustix::process::geteuid().is_root() {
        true => 12345,
        false => rustix::process::geteuid().as_raw(),
    };
    for path in [workspace.clone(), workspace.join("a.txt")] {
        chown(&path, Some(owner), None).unwrap();
    }
    let outcome = block_on(walled.run(walled.request()));
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str()),
        ("ran\n", "")
    );
    for name in ["a", "a/b", "a/b/made", "renamed.txt"] {
        let found = fs::metadata(workspace.join(name)).unwrap();
        assert_eq!(found.uid(), owner, "{name}");
    }
}

/// A program that speaks as a worker does and does what its last argument says after it was given a job.
const HOSTILE: &str = r#"#!/usr/bin/env python3
import os, socket, struct, sys, time
host = socket.socket(fileno=0)
def frame(kind, payload=b''):
    return kind.encode() + struct.pack('<I', len(payload)) + payload
def end(status=0, code=b'\0', cpu=0.0, artifacts=b'\0', limits=b'\0', warnings=b'\0'):
    return frame('x', bytes([status]) + code + b'\0\0\0' + struct.pack('<d', cpu) + b'\0\0' + artifacts + b'\0' + limits + warnings + b'\0')
def artifact(path, digest):
    text = lambda s: bytes([len(s)]) + s
    return b'\1' + text(path) + b'\0\0' + (b'\1' + text(digest) if digest else b'\0')
LAYERS = b'\1\x07seccomp'
serves_one = 'landlock' in sys.argv
host.sendall(frame('w') if serves_one else frame('y', LAYERS))
MODE = 'MODE-OF-THE-TEST'
if MODE == 'deaf': time.sleep(600)
data = b''
def wait_for_job():
    global data
    while True:
        while len(data) < 5 or len(data) < 5 + struct.unpack('<I', data[1:5])[0]:
            read = host.recvmsg(65536, socket.CMSG_SPACE(1024))[0]
            if not read: sys.exit()
            data += read
        kind, size = data[:1], struct.unpack('<I', data[1:5])[0]
        data = data[5 + size:]
        if kind == b'r': return
while True:
    wait_for_job()
    out = frame('o', b'written\n')
    if serves_one and MODE != 'unconfined': host.sendall(frame('k', LAYERS))
    if MODE in ['names itself', 'waits']:
        host.sendall(frame('o', b'%d\n' % os.getpid()))
        while MODE == 'waits' and not os.path.exists(os.path.join(os.path.dirname(sys.argv[0]), 'go')): time.sleep(0.001)
        host.sendall(end())
        continue
    if MODE == 'writes on':
        # As its private user, until it is killed.
        host.sendall(out + end())
        for number in range(10**9):
            made = os.path.join(os.path.dirname(sys.argv[0]), 'workspace', str(number))
            os.close(os.open(made, os.O_CREAT)); os.chown(made, 0x78000000, -1)
    if MODE == 'half-closed':
        host.sendall(out); host.shutdown(socket.SHUT_WR); time.sleep(600)
    host.sendall(out + {
        'ends well': end(),
        'speaks on': end() + frame('o', b'more\n') + end(),
        'fails': frame('f', b'on \x1b[2Jpurpose'),
        'long frame': b'o\xff\xff\xff\xff',
        'unknown frame': frame('?'),
        'no end': frame('x', b'\xff' * 64),
        'unknown status': end(status=99),
        'impossible code': end(code=b'\x80\x08'),
        'no number': end(cpu=float('nan')),
        'many limits': end(limits=b'\x40' + b'\0' * 64),
        'many warnings': end(warnings=b'\x40' + b'\1a' * 64),
        'path outside': end(artifacts=artifact(b'/etc/passwd', b'')),
        'path that climbs': end(artifacts=artifact(b'../../etc/passwd', b'')),
        'no digest': end(artifacts=artifact(b'a.txt', b'\x1b[2J')),
        'two scratch directories': frame('t') + frame('t'),
        'confined again': frame('k', LAYERS) + end(),
        'unconfined': end(),
    }[MODE])
"#;

/// A host with such a worker.
pub(crate) fn hostile(mode: &str) -> Walled {
    let walled = Walled::new("print('ran')\n");
    let hostile = HOSTILE.replace("MODE-OF-THE-TEST", mode);
    let program = walled.env.write_program("hostile", &hostile, 0o755);
    let host = host_in(&walled.env, None, Workers::Processes(program));
    Walled { host, ..walled }
}

fn a_hostile_worker_harms_its_own_run_only() {
    for (mode, status) in [
        ("ends well", Status::Exited),
        // What follows the end belongs to no run, and the worker gets no other.
        ("speaks on", Status::Exited),
        ("half-closed", Status::Trapped),
        ("fails", Status::Trapped),
        ("long frame", Status::Trapped),
        ("unknown frame", Status::Trapped),
        ("no end", Status::Trapped),
        ("unknown status", Status::Trapped),
        ("impossible code", Status::Trapped),
        ("no number", Status::Trapped),
        ("many limits", Status::Trapped),
        ("many warnings", Status::Trapped),
        ("path outside", Status::Trapped),
        ("path that climbs", Status::Trapped),
        ("no digest", Status::Trapped),
        ("two scratch directories", Status::Trapped),
        ("confined again", Status::Trapped),
    ] {
        let walled = hostile(mode);
        block_on(async {
            for _ in 0..2 {
                let outcome = walled.run(walled.request()).await;
                assert_eq!(outcome.status, status, "{mode}: {}", outcome.stderr);
                assert_eq!(outcome.stdout, "written\n", "{mode}");
                assert!(!outcome.stderr.contains('\u{1b}'), "{mode}");
                assert!(outcome.artifacts.is_empty(), "{mode}");
                assert_eq!(
                    outcome.isolation.layers[3..],
                    ["worker", "seccomp"],
                    "{mode}"
                );
            }
        });
    }
}

/// One that serves one run reports what confines it before anything else of the run.
fn output_of_a_worker_that_is_not_confined_yet_is_not_accepted() {
    let walled = hostile("unconfined");
    let outcome = block_on(walled.run(walled.request()));
    let (status, layers): (_, &[&str]) = match has_namespaces() {
        true => (Status::Exited, &["worker", "seccomp"]),
        false => (Status::Trapped, &[]),
    };
    assert_eq!(outcome.status, status, "{}", outcome.stderr);
    assert_eq!(outcome.isolation.layers[3..], *layers);
}

/// Giving files back takes as long as there are new ones.
fn a_worker_that_does_not_stop_writing_is_ended_before_its_files_are_given_back() {
    use std::os::unix::fs::MetadataExt as _;
    // Only without namespaces is a worker of root another user.
    if has_namespaces() || !rustix::process::geteuid().is_root() {
        return;
    }
    let walled = hostile("writes on");
    let outcome = block_on(walled.run(walled.request()));
    assert_eq!(outcome.status, Status::Exited, "{}", outcome.stderr);
    let made = fs::read_dir(walled.env.path("workspace")).unwrap();
    let kept = made.filter(|entry| entry.as_ref().unwrap().metadata().unwrap().uid() != 0);
    assert_eq!(kept.count(), 0);
}

/// Neither sending the job nor stopping it blocks anything.
fn a_job_that_a_worker_does_not_read_ends_at_its_time_limit() {
    for size in [1, 213_000, 4 << 20] {
        let walled = hostile("deaf");
        walled.env.write("skill/scripts/main.py", "#".repeat(size));
        let request = Request {
            limits: Some(Limits {
                time: Duration::from_secs(1),
                ..Limits::default()
            }),
            ..walled.request()
        };
        block_on(async {
            match walled
                .host
                .decide(&Policy::default(), request)
                .await
                .unwrap()
            {
                Decision::Permitted(permit) => {
                    let outcome = walled.host.run(permit).await.unwrap();
                    assert_eq!(outcome.status, Status::TimedOut, "{size}");
                }
                other => panic!("{other:?}"),
            }
        });
    }
}

fn a_protected_path_that_is_not_utf8_does_not_keep_a_worker_from_running() {
    use std::os::unix::ffi::OsStrExt as _;
    let walled = Walled::new("print('ran')\n");
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let host = Host::new(skillrun::Settings {
        protected: vec![walled.env.path("workspace").join(name)],
        ..crate::library::settings(
            &walled.env,
            None,
            Workers::Processes(walled.program.clone()),
        )
    });
    let walled = Walled { host, ..walled };
    assert_eq!(block_on(walled.run(walled.request())).stdout, "ran\n");
}
