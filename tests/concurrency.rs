//! Many concurrent runs of one host, and runs that are cancelled.

use crate::env::TestEnv;
use crate::library::{block_on, host, host_of, permitted, skill};
use skillrun::runtime::Chunk;
use skillrun::{Limits, Live, Outcome, Policy, Request, Status};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

tests! {
    in workers too:
    two_hundred_runs_at_once_do_not_disturb_each_other,
    further_runs_wait_for_a_slot_and_find_it_clean,
    a_run_that_waits_for_a_slot_can_be_stopped,
    dropping_the_future_stops_the_script_and_leaves_nothing_behind,
    a_run_ended_by_stop_has_a_cancelled_outcome,
}

const RUNS: usize = 200;
const BAD: usize = 13;

/// Every script reports that it has started and waits; none continues before all have started.
fn two_hundred_runs_at_once_do_not_disturb_each_other() {
    let env = TestEnv::with_script(
        "import sys\nnumber = int(sys.argv[1])\nopen('/tmp/own', 'w').write(str(number))\n\
         print('ready', flush=True)\n\
         while number == 13: pass\n\
         sys.stdin.readline()\nprint(number * number, open('/tmp/own').read())\nsys.exit(number % 100)\n",
    );
    let (host, skill) = (Arc::new(host(&env)), skill(&env));
    let ready = Arc::new(AtomicUsize::new(0));
    let outcomes = block_on(async {
        let (all_ready, _) = tokio::sync::broadcast::channel::<()>(1);
        let mut tasks = Vec::new();
        for number in 0..RUNS {
            let request = Request {
                args: vec![number.to_string()],
                limits: (number == BAD).then(|| Limits {
                    fuel: Some(1_000_000_000),
                    ..Limits::default()
                }),
                ..Request::typed(&skill, "main.py")
            };
            let permit = permitted(&host, &Policy::default(), request);
            let (host, ready) = (Arc::clone(&host), Arc::clone(&ready));
            let (go, mut gone) = (all_ready.clone(), all_ready.subscribe());
            tasks.push(tokio::spawn(async move {
                let (mut input, stdin) = tokio::io::duplex(64);
                let (sink, mut output) = mpsc::channel::<Chunk>(16);
                let live = Live {
                    stdin: Some(Box::new(stdin)),
                    output: Some(sink),
                    ..Live::default()
                };
                let conductor = tokio::spawn(async move {
                    output.recv().await;
                    if ready.fetch_add(1, Ordering::SeqCst) + 1 == RUNS {
                        go.send(()).unwrap();
                    }
                    gone.recv().await.unwrap();
                    let _ = input.write_all(b"go\n").await;
                    while output.recv().await.is_some() {}
                });
                let outcome = host.run_live(permit, live).await;
                conductor.await.unwrap();
                outcome
            }));
        }
        let mut outcomes = Vec::new();
        for task in tasks {
            outcomes.push(task.await.unwrap().unwrap());
        }
        outcomes
    });
    for (number, outcome) in outcomes.iter().enumerate() {
        let (status, code, stdout) = match number {
            BAD => (Status::OutOfFuel, 124, "ready\n".to_owned()),
            n => (
                Status::Exited,
                i32::try_from(n % 100).unwrap(),
                format!("ready\n{} {n}\n", n * n),
            ),
        };
        let Outcome {
            status: got,
            exit_code,
            stdout: printed,
            stderr,
            ..
        } = outcome;
        assert_eq!(
            (*got, *exit_code, printed),
            (status, code, &stdout),
            "{stderr}"
        );
    }
    assert_eq!(env.audit().len(), 2 * RUNS);
    env.check_left_behind().unwrap();
}

/// Slots are reused: a run must not see what an earlier one left in memory.
fn further_runs_wait_for_a_slot_and_find_it_clean() {
    let env = TestEnv::with_script(
        "import builtins, random, sys\nprint(hasattr(builtins, 'mark'), len(sys.argv), 'json' in globals())\n\
         builtins.mark = b'x' * (40 << 20)\nimport json\nrandom.seed(1)\nsys.exit(3)\n",
    );
    let (host, skill) = (Arc::new(host_of(&env, Some(2))), skill(&env));
    let outcomes = block_on(async {
        let run = || {
            let permit = permitted(&host, &Policy::default(), Request::typed(&skill, "main.py"));
            let host = Arc::clone(&host);
            tokio::spawn(async move { host.run(permit).await.unwrap() })
        };
        let tasks: Vec<_> = (0..12).map(|_| run()).collect();
        let mut outcomes = Vec::new();
        for task in tasks {
            outcomes.push(task.await.unwrap());
        }
        outcomes
    });
    for outcome in outcomes {
        let seen = (outcome.stdout.as_str(), outcome.exit_code);
        assert_eq!(seen, ("False 1 False\n", 3), "{}", outcome.stderr);
    }
    env.check_left_behind().unwrap();
}

fn a_run_that_waits_for_a_slot_can_be_stopped() {
    let env = TestEnv::with_script("import sys\nprint('in', flush=True)\nsys.stdin.read()\n");
    let (host, skill) = (Arc::new(host_of(&env, Some(1))), skill(&env));
    let permit = || permitted(&host, &Policy::default(), Request::typed(&skill, "main.py"));
    let (first, second) = block_on(async {
        let (input, stdin) = tokio::io::duplex(64);
        let (sink, mut output) = mpsc::channel::<Chunk>(16);
        let live = Live {
            stdin: Some(Box::new(stdin)),
            output: Some(sink),
            ..Live::default()
        };
        let (holder, permit_of_holder) = (Arc::clone(&host), permit());
        let first = tokio::spawn(async move { holder.run_live(permit_of_holder, live).await });
        output.recv().await.unwrap();
        let stopped = Live {
            stop: Some(Box::pin(std::future::ready(()))),
            ..Live::default()
        };
        let second = host.run_live(permit(), stopped).await.unwrap();
        drop(input);
        (first.await.unwrap().unwrap(), second)
    });
    assert_eq!((first.status, first.exit_code), (Status::Exited, 0));
    assert_eq!((second.status, second.exit_code), (Status::Cancelled, 130));
    assert_eq!(second.stdout, "");
}

/// Whether a scratch directory of this process contains a file of this name.
fn in_scratch(name: &str) -> bool {
    std::fs::read_dir(std::env::temp_dir())
        .unwrap()
        .filter_map(Result::ok)
        .any(|entry| entry.path().join(name).exists())
}

fn dropping_the_future_stops_the_script_and_leaves_nothing_behind() {
    let env = TestEnv::with_script(
        "import sys\nopen('/tmp/' + sys.argv[1], 'w').close()\nprint('ready', flush=True)\n\
         while True: pass\n",
    );
    let mark = format!("mark-{}", env.root().file_name().unwrap().display());
    let host = host(&env);
    let request = Request {
        args: vec![mark.clone()],
        ..Request::typed(&skill(&env), "main.py")
    };
    let permit = permitted(&host, &Policy::default(), request);
    block_on(async {
        let (sink, mut output) = mpsc::channel(16);
        let live = Live {
            output: Some(sink),
            ..Live::default()
        };
        let mut run = Box::pin(host.run_live(permit, live));
        tokio::select! {
            _ = &mut run => panic!("it ended by itself"),
            _ = output.recv() => {}
        }
        assert!(in_scratch(&mark), "the scratch directory was not found");
        drop(run);
        // A dropped future does not wait for its directory and its last line.
        assert_eq!(host.clean_up().await, None);
        assert!(!in_scratch(&mark), "the scratch directory is still there");
    });
    let events: Vec<_> = env
        .audit()
        .iter()
        .map(|line| (line["event"].clone(), line["level"].clone()))
        .collect();
    assert_eq!(
        events,
        [
            ("started".into(), "info".into()),
            ("aborted".into(), "warning".into())
        ]
    );
}

fn a_run_ended_by_stop_has_a_cancelled_outcome() {
    let env = TestEnv::with_script("print('ready', flush=True)\nwhile True: pass\n");
    let host = host(&env);
    let permit = permitted(
        &host,
        &Policy::default(),
        Request::typed(&skill(&env), "main.py"),
    );
    let outcome = block_on(async {
        let (sink, mut output) = mpsc::channel(16);
        let live = Live {
            output: Some(sink),
            stop: Some(Box::pin(async move {
                output.recv().await;
            })),
            ..Live::default()
        };
        host.run_live(permit, live).await.unwrap()
    });
    assert_eq!(
        (outcome.status, outcome.exit_code),
        (Status::Cancelled, 130)
    );
    assert_eq!(outcome.stdout, "ready\n");
    assert!(!outcome.success);
}
