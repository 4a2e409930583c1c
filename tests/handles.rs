//! A run as a handle: events, input, stopping it, and letting it go.

use crate::approval::alice;
use crate::env::TestEnv;
use crate::library::{block_on, host, host_of, is_in_workers, permitted, skill};
use crate::stuck::Lease;
use crate::watchdog::Watchdog;
use rustix::process::{Pid, Signal, kill_process};
use skillrun::running::{Run, RunEvent};
use skillrun::runtime::Chunk;
use skillrun::skill::{Bounds, FileMap};
use skillrun::tenant::TenantSettings;
use skillrun::{Host, Limits, Live, Permit, Policy, Request, Status};
use std::fs;
use std::pin::Pin;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

tests! {
    in workers too:
    a_run_reports_its_events_in_order,
    a_run_reports_each_denial_once_and_counts_it,
    a_run_reads_what_is_written_to_its_input,
    a_cancelled_run_keeps_what_it_wrote,
    why_the_host_ended_a_script_is_an_event_even_if_the_reader_is_slow,
    a_run_whose_handle_is_dropped_is_aborted,
    a_detached_run_goes_on,
    a_run_that_nobody_reads_from_ends_by_itself,
    a_run_whose_events_nobody_reads_ends_at_its_time_limit_and_frees_its_slot,
    nothing_that_async_code_calls_blocks_its_thread,
    files_that_are_given_as_bytes_are_not_touched_on_the_async_thread,
    stopping_a_native_run_whose_supervisor_hangs_does_not_block_the_thread,
    stopping_a_run_whose_host_call_hangs_does_not_block_the_thread,
    dropping_the_last_host_does_not_block_the_thread,
}

fn start(host: &Host, env: &TestEnv) -> Run {
    let request = Request {
        workspace: Some(env.path("workspace").into()),
        ..Request::typed(&skill(env), "main.py")
    };
    host.start(permitted(host, &Policy::default(), request))
}

/// An environment with this script and a workspace.
fn env(script: &str) -> TestEnv {
    let env = TestEnv::with_script(script);
    env.write("workspace/a", "");
    env
}

/// The output of the given stream, and the other events.
async fn events(run: &mut Run) -> (String, String, Vec<RunEvent>) {
    let (mut stdout, mut stderr, mut others) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(event) = run.next_event().await {
        match event {
            RunEvent::Stdout(bytes) => stdout.extend_from_slice(&bytes),
            RunEvent::Stderr(bytes) => stderr.extend_from_slice(&bytes),
            other => others.push(other),
        }
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(stdout), text(stderr), others)
}

fn a_run_reports_its_events_in_order() {
    let env = env("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)\n");
    let host = host(&env);
    block_on(async {
        let mut run = start(&host, &env);
        let id = run.id().to_owned();
        assert_eq!(run.next_event().await, Some(RunEvent::Started));
        let (stdout, stderr, others) = events(&mut run).await;
        assert_eq!((stdout.as_str(), stderr.as_str()), ("out\n", "err\n"));
        let finished = RunEvent::Finished {
            status: Status::Exited,
            exit_code: 3,
        };
        assert_eq!(others, [finished]);
        let outcome = run.wait().await.unwrap();
        assert_eq!((outcome.run_id, outcome.exit_code), (id, 3));
        assert_eq!(outcome.stdout, "out\n");
    });
}

fn a_run_reports_each_denial_once_and_counts_it() {
    let env = env(
        "for _ in range(3):\n    try: open('/etc/hosts')\n    except OSError: pass\nprint('caught')\n",
    );
    let host = host(&env);
    block_on(async {
        let mut run = start(&host, &env);
        let (stdout, _, others) = events(&mut run).await;
        assert_eq!(stdout, "caught\n");
        let [
            RunEvent::Started,
            RunEvent::Denied(denial),
            RunEvent::Finished { .. },
        ] = &others[..]
        else {
            panic!("{others:?}");
        };
        assert_eq!(
            (denial.grant.as_str(), denial.count),
            ("read:/etc/hosts", 1)
        );
        let outcome = run.wait().await.unwrap();
        let denied = outcome.denied.iter();
        let denied: Vec<_> = denied
            .map(|denial| (&*denial.grant, denial.count))
            .collect();
        assert_eq!(denied, [("read:/etc/hosts", 3)]);
    });
}

fn a_run_reads_what_is_written_to_its_input() {
    let env = env("import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)\n");
    let host = host(&env);
    let request = Request::typed(&skill(&env), "main.py");
    let permit = permitted(&host, &Policy::default(), request);
    block_on(async {
        let (mut run, mut stdin) = host.start_with_stdin(permit);
        assert_eq!(run.next_event().await, Some(RunEvent::Started));
        stdin.write_all(b"one\n").await.unwrap();
        // It answers before its input ends.
        assert_eq!(
            run.next_event().await,
            Some(RunEvent::Stdout("ONE\n".into()))
        );
        stdin.write_all(b"two\n").await.unwrap();
        drop(stdin);
        let outcome = run.wait().await.unwrap();
        assert_eq!(
            (outcome.stdout.as_str(), outcome.exit_code),
            ("ONE\nTWO\n", 0)
        );
    });
}

fn a_cancelled_run_keeps_what_it_wrote() {
    let env = env("print('ready', flush=True)\nwhile True: pass\n");
    let host = host(&env);
    block_on(async {
        let mut run = start(&host, &env);
        while run.next_event().await != Some(RunEvent::Stdout("ready\n".into())) {}
        run.cancel();
        run.cancel();
        let outcome = run.wait().await.unwrap();
        assert_eq!(
            (outcome.status, outcome.exit_code),
            (Status::Cancelled, 130)
        );
        assert_eq!(outcome.stdout, "ready\n");
    });
}

/// The script writes faster than its events are read, so no queue has space when it ends.
fn why_the_host_ended_a_script_is_an_event_even_if_the_reader_is_slow() {
    let env = env("import sys\nwhile True: print('text', file=sys.stderr)\n");
    let host = host(&env);
    let request = Request {
        limits: Some(Limits {
            fuel: Some(100_000_000),
            ..Limits::default()
        }),
        ..Request::typed(&skill(&env), "main.py")
    };
    block_on(async {
        let mut run = host.start(permitted(&host, &Policy::default(), request));
        let (_, stderr, _) = events(&mut run).await;
        let outcome = run.wait().await.unwrap();
        assert_eq!(outcome.status, Status::OutOfFuel);
        assert!(stderr.ends_with("Out of fuel: the limit is 100000000 (limits.fuel)\n"));
    });
}

fn a_run_whose_handle_is_dropped_is_aborted() {
    let env = env("print('ready', flush=True)\nwhile True: pass\n");
    let host = host(&env);
    block_on(async {
        let mut run = start(&host, &env);
        while run.next_event().await != Some(RunEvent::Stdout("ready\n".into())) {}
        drop(run);
        assert_eq!(host.clean_up().await, None);
    });
    assert_eq!(recorded(&env), ["started", "aborted"]);
}

/// The events in the audit log.
fn recorded(env: &TestEnv) -> Vec<String> {
    let log = env.audit();
    let events = log.iter().map(|line| line["event"].as_str().unwrap());
    events.map(str::to_owned).collect()
}

fn a_detached_run_goes_on() {
    let env =
        env("import sys\nfor number in range(100000): print(number)\nopen('done', 'w').close()\n");
    let host = host(&env);
    block_on(async {
        start(&host, &env).detach();
        // Dropping the last handle of the host would not wait for it.
        while env.audit().iter().all(|line| line["event"] != "finished") {
            tokio::task::yield_now().await;
        }
    });
    assert!(env.path("workspace/done").exists());
}

fn a_run_that_nobody_reads_from_ends_by_itself() {
    // More than the events that wait for their reader.
    let env = env("for number in range(5000): print(number, flush=True)\n");
    let host = host(&env);
    let outcome = block_on(async { start(&host, &env).wait().await.unwrap() });
    assert_eq!((outcome.status, outcome.exit_code), (Status::Exited, 0));
}

fn a_run_whose_events_nobody_reads_ends_at_its_time_limit_and_frees_its_slot() {
    let env = env("import sys\nwhile len(sys.argv) == 1: print('x' * 1000)\n");
    let host = host_of(&env, Some(1));
    let permit = |args: &[&str]| {
        let limits = Limits {
            time: std::time::Duration::from_secs(1),
            ..Limits::default()
        };
        let request = Request {
            args: args.iter().map(ToString::to_string).collect(),
            limits: Some(limits),
            ..Request::typed(&skill(&env), "main.py")
        };
        permitted(&host, &Policy::default(), request)
    };
    block_on(async {
        let mut unread = host.start(permit(&[]));
        assert_eq!(unread.next_event().await, Some(RunEvent::Started));
        // It waits for the only slot.
        let next = host.run(permit(&["end"])).await.unwrap();
        assert_eq!((next.status, next.exit_code), (Status::Exited, 0));
        let unread = unread.wait().await.unwrap();
        assert_eq!(unread.status, Status::TimedOut);
    });
}

/// Another process holds the lock of the audit log. A task of the same thread releases it: if a call blocked the thread
/// instead of waiting, that task would never get its turn.
fn nothing_that_async_code_calls_blocks_its_thread() {
    let env = env("print('ran')\n");
    let host = host(&env);
    let policy = Policy::default();
    let current_thread = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
    };
    current_thread().unwrap().block_on(async {
        let request = || Request::new(&skill(&env), "main.py");
        let refused = Request::new(&skill(&env), "missing.py");
        // Creates the lock.
        host.decide(&policy, refused.clone()).await.unwrap();
        let lock = || {
            let file = std::fs::File::options()
                .write(true)
                .open(env.path("state/skillrun/audit.lock"))
                .unwrap();
            file.lock().unwrap();
            file
        };
        // Polls the call first, then releases the lock.
        macro_rules! while_locked {
            ($call:expr) => {{
                let locked = lock();
                let release = async {
                    for _ in 0..100 {
                        tokio::task::yield_now().await;
                    }
                    drop(locked);
                };
                let (result, ()) = tokio::join!(biased; $call, release);
                result
            }};
        }
        while_locked!(host.decide(&policy, refused)).unwrap();
        let decided = while_locked!(host.decide(&policy, request())).unwrap();
        let skillrun::Decision::Pending(question) = decided else {
            panic!("nobody was asked");
        };
        assert_eq!(while_locked!(host.questions()).unwrap().len(), 1);
        let answer = host.answer(&question.id, skillrun::Answer::YesOnce, alice());
        let permit = while_locked!(answer).unwrap().unwrap().remove(0).unwrap();
        let outcome = while_locked!(host.run(permit)).unwrap();
        assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("ran\n", 0));
        let decided = while_locked!(host.decide_all(&policy, vec![request()])).unwrap();
        for (_, permit) in decided.decided {
            let outcome = while_locked!(host.start(permit.unwrap()).wait()).unwrap();
            assert_eq!(outcome.exit_code, 0);
        }
        let acme = host.tenant("acme");
        acme.configure(TenantSettings::default()).unwrap();
        let decided = while_locked!(acme.decide(request())).unwrap();
        let skillrun::Decision::Pending(question) = decided else {
            panic!("nobody was asked");
        };
        let answer = acme.record_answer(&question.id, skillrun::Answer::YesOnce, alice());
        while_locked!(answer).unwrap();
        while_locked!(acme.answered(&question.id)).unwrap();
    });
}

/// The files are larger than what the thread may read and write.
fn files_that_are_given_as_bytes_are_not_touched_on_the_async_thread() {
    let large = || vec![b'#'; 1 << 20];
    let env = env("");
    let host = host(&env);
    let policy = Policy::parse("approval = \"never\"", env.root()).unwrap();
    Watchdog::check(async |watchdog| {
        let md = crate::env::SKILL_MD.as_bytes().to_vec();
        let files = [("SKILL.md", md), ("scripts/main.py", large())];
        let files = FileMap::from_files(files).unwrap();
        let workspace = FileMap::from_files([("large", large())]).unwrap();
        let work = async {
            let skill = host.skill_from_files("skill", files).await.unwrap();
            let workspace = host.workspace_from_files(workspace).await.unwrap();
            let request = Request {
                workspace: Some((&workspace).into()),
                ..Request::new(&skill.into(), "main.py")
            };
            let decided = host.decide(&policy, request).await.unwrap();
            let skillrun::Decision::Permitted(permit) = decided else {
                panic!("{decided:?}");
            };
            let outcome = host.run(permit).await.unwrap();
            assert_eq!((outcome.stderr.as_str(), outcome.exit_code), ("", 0));
            host.files_of(&workspace, Bounds::default()).await.unwrap()
        };
        let returned = watchdog.watch(work).await;
        assert_eq!(returned.files.files().count(), 1);
    });
}

/// A process that is stopped, and continues when this is dropped.
struct Stopped(Pid);

impl Stopped {
    /// Stops the supervisor of the native script with this argument.
    fn supervisor(argument: &str) -> Self {
        let words = |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let has_argument = |pid: &u32| {
            let words = words(*pid);
            let mut words = words.split(|byte| *byte == 0);
            words.any(|word| word == argument.as_bytes())
        };
        let all = fs::read_dir("/proc").unwrap();
        let all = all.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        let mut pid: u32 = { all }.find(has_argument).unwrap();
        while !words(pid).starts_with(b"skillrun-supervisor\0") || parent(pid) != std::process::id()
        {
            pid = parent(pid);
        }
        let pid = Pid::from_raw(pid.cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = kill_process(self.0, Signal::CONT);
    }
}

fn parent(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mut lines = status.lines();
    let parent = lines.find_map(|line| line.strip_prefix("PPid:"));
    parent.unwrap().trim().parse().unwrap()
}

/// How a caller stops a run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stop {
    Cancel,
    DropHandle,
    DropFuture,
}

/// Starts a script that prints `ready`, lets something hang, and stops the script: without blocking the thread, although
/// what hangs goes on only after that. With one slot, the next run shows that the slot is freed.
///
/// `prepare` is called before the start, and `hang` when the script is ready.
fn check_stop<P, H: Send + 'static>(
    env: &TestEnv,
    scripts: [&str; 2],
    stop: Stop,
    prepare: impl Fn() -> P,
    hang: impl Fn(P) -> H,
) {
    Watchdog::check(async |watchdog| {
        let host = host_of(env, Some(1));
        let [first, next] = scripts.map(|script| permit(&host, env, script));
        let prepared = prepare();
        let go_on = async |hanging: H| {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            // This blocks.
            let release = tokio::task::spawn_blocking(move || drop(hanging));
            release.await.unwrap();
        };
        if stop == Stop::DropFuture {
            let (run, _output) = until_ready(&host, first).await;
            let hanging = hang(prepared);
            watchdog.watch_call(|| drop(run));
            watchdog.watch(go_on(hanging)).await;
        } else {
            let mut run = host.start(first);
            while run.next_event().await != Some(RunEvent::Stdout("ready\n".into())) {}
            let hanging = hang(prepared);
            if stop == Stop::DropHandle {
                watchdog.watch_call(|| drop(run));
                watchdog.watch(go_on(hanging)).await;
            } else {
                run.cancel();
                let both = async { tokio::join!(run.wait(), go_on(hanging)) };
                let (outcome, ()) = watchdog.watch(both).await;
                assert_eq!(outcome.unwrap().status, Status::Cancelled);
            }
        }
        assert_eq!(host.clean_up().await, None);
        let expected = match stop {
            Stop::Cancel => "finished",
            Stop::DropHandle | Stop::DropFuture => "aborted",
        };
        assert_eq!(recorded(env).pop().unwrap(), expected);
        assert_eq!(host.run(next).await.unwrap().stdout, "next\n");
    });
}

fn permit(host: &Host, env: &TestEnv, script: &str) -> Permit {
    let request = Request {
        args: vec![env.text("")],
        workspace: Some(env.path("workspace").into()),
        ..Request::typed(&skill(env), script)
    };
    permitted(host, &Policy::default(), request)
}

/// Runs a script until it writes something. Returns the future of its run, and its output: without a reader, the script would
/// end by itself.
async fn until_ready(
    host: &Host,
    permit: Permit,
) -> (
    Pin<Box<dyn Future<Output = ()> + '_>>,
    mpsc::Receiver<Chunk>,
) {
    let (output, mut chunks) = mpsc::channel(1);
    let live = Live {
        output: Some(output),
        ..Live::default()
    };
    let mut run = Box::pin(async move { panic!("{:?}", host.run_live(permit, live).await) });
    tokio::select! {
        () = &mut run => {}
        _ = chunks.recv() => {}
    }
    (run, chunks)
}

const STOPS: [Stop; 3] = [Stop::Cancel, Stop::DropHandle, Stop::DropFuture];

fn stopping_a_native_run_whose_supervisor_hangs_does_not_block_the_thread() {
    let env = env("");
    env.write("skill/scripts/main.sh", "echo ready\nsleep infinity\n");
    env.write("skill/scripts/next.sh", "echo next\n");
    let argument = env.text("");
    for stop in STOPS {
        let hang = |()| Stopped::supervisor(&argument);
        check_stop(&env, ["main.sh", "next.sh"], stop, || (), hang);
    }
}

const READS_LEASED: &str = "\
print('ready', flush=True)
open('leased').read()
open('after', 'w')
while True: pass
";

/// Waits until the script wants the file.
fn wanted(mut lease: Lease) -> Lease {
    lease.wait_until_wanted();
    lease
}

fn stopping_a_run_whose_host_call_hangs_does_not_block_the_thread() {
    let env = env(READS_LEASED);
    env.write("skill/scripts/next.py", "print('next')\n");
    let leased = env.write("workspace/leased", "");
    let lease = || Lease::take(&leased);
    for stop in STOPS {
        check_stop(&env, ["main.py", "next.py"], stop, lease, wanted);
        // A script that is asked to stop goes on until its next yield. One whose future is gone has no handles any more;
        // its worker is killed, which may take a moment.
        if stop == Stop::DropFuture && !is_in_workers() {
            assert!(!env.path("workspace/after").exists());
        }
        let _ = fs::remove_file(env.path("workspace/after"));
    }
}

/// It would wait for the scratch directory of a run whose host call hangs.
fn dropping_the_last_host_does_not_block_the_thread() {
    let env = env(READS_LEASED);
    let leased = env.write("workspace/leased", "");
    Watchdog::check(async |watchdog| {
        let host = host_of(&env, None);
        let lease = Lease::take(&leased);
        let (run, _output) = until_ready(&host, permit(&host, &env, "main.py")).await;
        let lease = wanted(lease);
        watchdog.watch_call(|| drop(run));
        watchdog.watch_call(|| drop(host));
        drop(lease);
    });
}
