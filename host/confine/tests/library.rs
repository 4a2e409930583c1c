//! The library as an embedder uses it, in every backend that this machine offers.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use skillrun_confine::{Backend, Captured, Confinement, End, Job, Limits, Scratch, Stopped};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;

/// The backend, if this machine offers it.
fn confinement(backend: Backend) -> Option<Confinement> {
    Confinement::with(backend)
        .inspect_err(|error| eprintln!("skipped, no {} here: {error}", backend.word()))
        .ok()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// A job that runs a shell script.
fn job(script: &str, scratch: &TempDir) -> Job {
    let path = scratch.path().canonicalize().unwrap();
    Job {
        program: "/bin/sh".into(),
        checked: None,
        script: None,
        arguments: ["-c", script].map(Into::into).into(),
        environment: vec![("NAME".into(), "value".into())],
        directory: "/".into(),
        mounts: Vec::new(),
        scratch: Scratch {
            handle: std::fs::File::open(&path).unwrap().into(),
            path,
            at: "/tmp".into(),
            size: 1 << 20,
        },
        network: false,
        limits: Limits {
            time: Duration::from_secs(30),
            memory: 256 << 20,
            processes: 16,
            file_size: 1 << 20,
            disk: 1 << 20,
            open_files: 64,
        },
    }
}

/// Runs a shell script in each backend, and passes the result to `check`.
fn in_each_backend(
    script: &str,
    input: &[u8],
    limit: u64,
    check: impl Fn(End, Captured, Captured),
) {
    let backends = [Backend::Namespaces, Backend::Landlock].into_iter();
    for confinement in backends.filter_map(confinement) {
        let scratch = tempfile::tempdir().unwrap();
        let job = job(script, &scratch);
        let run = async {
            confinement
                .start(job)
                .unwrap()
                .capture(input, limit)
                .await
                .unwrap()
        };
        let (end, stdout, stderr) = runtime().block_on(run);
        check(end, stdout, stderr);
    }
}

#[test]
fn input_output_and_status_come_through() {
    in_each_backend(
        "cat; echo \"$NAME\" >&2; exit 7",
        b"given",
        100,
        |end, stdout, stderr| {
            assert_eq!(end.stopped, Stopped::Exited(7));
            assert_eq!((stdout.bytes.as_slice(), stdout.total), (&b"given"[..], 5));
            assert_eq!(stderr.bytes, b"value\n");
            assert!(!end.layers.is_empty());
        },
    );
}

#[test]
fn output_beyond_the_limit_is_counted_and_the_program_continues() {
    let script = "i=0; while [ $i -lt 3000 ]; do echo 123456789; i=$((i+1)); done; echo done >&2";
    in_each_backend(script, b"", 16, |end, stdout, stderr| {
        assert_eq!(end.stopped, Stopped::Exited(0));
        assert_eq!(
            (stdout.bytes.as_slice(), stdout.total),
            (&b"123456789\n123456"[..], 30_000)
        );
        assert_eq!(stderr.bytes, b"done\n");
    });
}

#[test]
fn unread_input_does_not_block_the_program() {
    let input = vec![b'x'; 1 << 20];
    in_each_backend("exit 0", &input, 16, |end, _, _| {
        assert_eq!(end.stopped, Stopped::Exited(0));
    });
}

#[test]
fn a_killed_supervisor_is_an_error_although_a_process_keeps_the_output_open() {
    use rustix::process::{Pid, Signal, kill_process};
    // In namespaces no process outlives the supervisor.
    let Some(confinement) = confinement(Backend::Landlock) else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let job = job("sleep infinity & echo $PPID $!; wait", &scratch);
    let (orphan, result) = runtime().block_on(async {
        let mut running = confinement.start(job).unwrap();
        let mut stdout = running.stdout.take().unwrap();
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.push(stdout.read_u8().await.unwrap());
        }
        let line = String::from_utf8(line).unwrap();
        let pids = line.split_ascii_whitespace();
        let pids = pids.map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap());
        let [supervisor, orphan] = pids.collect::<Vec<_>>().try_into().unwrap();
        kill_process(supervisor, Signal::KILL).unwrap();
        (orphan, running.capture(b"", 16).await)
    });
    kill_process(orphan, Signal::KILL).unwrap();
    assert_eq!(result.unwrap_err().step, "receive the program's result");
}

#[test]
fn a_signal_is_reported_by_its_number() {
    in_each_backend("kill -SEGV $$", b"", 16, |end, _, _| {
        assert_eq!(end.stopped, Stopped::Signaled(11));
    });
}
