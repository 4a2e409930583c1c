//! The library as an embedder uses it, in every backend that this machine offers.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use skillrun_confine::{Backend, Captured, Confinement, End, Job, Limits, Scratch, Stopped};
use std::time::Duration;

/// Runs a shell script in each backend, and looks at what came of it.
fn in_each_backend(script: &str, input: &[u8], limit: u64, look: impl Fn(End, Captured, Captured)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for backend in [Backend::Namespaces, Backend::Landlock] {
        let confinement = match Confinement::with(backend) {
            Ok(confinement) => confinement,
            Err(unable) => {
                eprintln!("skipped, no {} here: {unable}", backend.word());
                continue;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let job = Job {
            program: "/bin/sh".into(),
            checked: None,
            script: None,
            arguments: ["-c", script].map(Into::into).into(),
            environment: vec![("NAME".into(), "value".into())],
            directory: "/".into(),
            places: Vec::new(),
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
        };
        let run = async {
            confinement
                .start(job)
                .unwrap()
                .capture(input, limit)
                .await
                .unwrap()
        };
        let (end, stdout, stderr) = runtime.block_on(run);
        look(end, stdout, stderr);
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
fn output_beyond_the_limit_is_counted_and_the_program_goes_on() {
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
fn input_that_nobody_reads_holds_nothing_up() {
    let input = vec![b'x'; 1 << 20];
    in_each_backend("exit 0", &input, 16, |end, _, _| {
        assert_eq!(end.stopped, Stopped::Exited(0));
    });
}

#[test]
fn a_signal_is_told_by_its_number() {
    in_each_backend("kill -SEGV $$", b"", 16, |end, _, _| {
        assert_eq!(end.stopped, Stopped::Signaled(11));
    });
}
