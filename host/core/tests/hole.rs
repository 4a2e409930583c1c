//! The second wall holds around a real worker with arbitrary code in it.
//!
//! `cargo test --release --features skillrun/hole --test hole` builds the library with a deliberate hole: a script reads and
//! writes the memory of its process, and makes system calls (`src/runtime/wasm/hole.rs`). This test runs such a script through
//! a host, as every run: in a worker, of one tenant, while another tenant's script runs in another worker. The script tries
//! to reach what is outside (`hole/attack.py`). What each attempt meets is compared with a table, for workers in namespaces
//! and for workers without.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    skillrun::runtime::serve_if_worker();
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use libtest_mimic::{Arguments, Trial};
    use serde_json::{Map, Value, json};
    use skillrun::outcome::Status;
    use skillrun::running::{Run, RunEvent};
    use skillrun::runtime::Workers;
    use skillrun::{
        Approvals, AuditLog, Decision, Host, Outcome, Permit, Request, Settings, Skill,
    };
    use std::collections::BTreeSet;
    use std::fs;
    use std::io::ErrorKind;
    use std::net::TcpListener;
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener};
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use tempfile::TempDir;
    use tokio::io::AsyncWriteExt as _;

    /// What the attempts meet that do not end the worker.
    const IN_NAMESPACES: &str = "namespaces.txt";
    const WITHOUT_NAMESPACES: &str = "without_namespaces.txt";

    /// A file beside this one.
    fn file(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/hole")
            .join(name)
    }

    pub(super) fn main() {
        let mut arguments = Arguments::from_args();
        // Handles and processes of one would be found by the other.
        arguments.test_threads = Some(1);
        let can_forbid = without_namespaces(Path::new("true"))
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        let trials = vec![
            Trial::test(
                "the_same_code_without_a_worker_reads_what_is_outside",
                || {
                    reach();
                    Ok(())
                },
            ),
            Trial::test("arbitrary_code_in_a_worker_reaches_nothing_outside", || {
                attack();
                Ok(())
            })
            .with_ignored_flag(Workers::probe().is_err()),
            Trial::test(
                "arbitrary_code_in_a_worker_without_namespaces_reaches_nothing_outside",
                || {
                    let mut again = without_namespaces(&std::env::current_exe().unwrap());
                    again.args([
                        "--exact",
                        "arbitrary_code_in_a_worker_reaches_nothing_outside",
                    ]);
                    assert!(again.status().unwrap().success());
                    Ok(())
                },
            )
            // Where there are no namespaces, the first one is this one.
            .with_ignored_flag(!can_forbid),
        ];
        libtest_mimic::run(&arguments, trials).exit();
    }

    /// A program where no more user namespaces can be created.
    fn without_namespaces(program: &Path) -> Command {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/native");
        let mut command = Command::new(tests.join("without_namespaces"));
        command.arg(program);
        command
    }

    /// Two tenants, and what the script of one must not reach.
    struct Scene {
        root: TempDir,
        host: Host,
        tcp: TcpListener,
        unix: [UnixListener; 2],
        abstract_name: String,
        victim: Child,
    }

    impl Drop for Scene {
        fn drop(&mut self) {
            let _ = self.victim.kill();
            let _ = self.victim.wait();
        }
    }

    impl Scene {
        fn new(workers: Workers) -> Self {
            let root = tempfile::tempdir().unwrap();
            let at = |name: &str| root.path().join(name);
            for (tenant, script) in [("acme", "attack.py"), ("globex", "quiet.py")] {
                let skill = at(tenant).join("skill");
                fs::create_dir_all(skill.join("scripts")).unwrap();
                fs::create_dir(at(tenant).join("workspace")).unwrap();
                let about = "---\nname: skill\ndescription: A skill of a test.\n---\n";
                fs::write(skill.join("SKILL.md"), about).unwrap();
                fs::copy(file(script), skill.join("scripts/main.py")).unwrap();
            }
            fs::write(at("acme/workspace/marker"), "").unwrap();
            fs::write(at("canary"), "canary").unwrap();
            let abstract_name = format!("skillrun-hole-{}", std::process::id());
            let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
            let unix = [
                UnixListener::bind_addr(&address).unwrap(),
                UnixListener::bind(at("socket")).unwrap(),
            ];
            tcp.set_nonblocking(true).unwrap();
            for listener in &unix {
                listener.set_nonblocking(true).unwrap();
            }
            let host = Host::new(Settings {
                cache: Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache/skillrun"),
                audit: AuditLog::file(at("audit.jsonl")),
                approvals: Approvals::memory(),
                protected: vec![],
                slots: None,
                workers,
            });
            let victim = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            Self {
                root,
                host,
                tcp,
                unix,
                abstract_name,
                victim,
            }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().canonicalize().unwrap().join(name)
        }

        async fn permit(&self, tenant: &str, argument: Option<String>) -> Permit {
            let skill = Arc::new(Skill::load(self.path(tenant).join("skill")).unwrap());
            let request = Request {
                workspace: Some(self.path(tenant).join("workspace").into()),
                args: argument.into_iter().collect(),
                ..Request::typed(&skill, "main.py")
            };
            match self.host.tenant(tenant).decide(request).await.unwrap() {
                Decision::Permitted(permit) => permit,
                other => panic!("{other:?}"),
            }
        }

        /// Everything that the script needs to know about what is outside.
        fn given(&self, other: u32, part: &str, what: &str) -> String {
            let calls = CALLS.iter().chain(OLDER);
            let calls: Map<String, Value> = calls
                .map(|(name, number)| (name.trim_start_matches("SYS_").to_owned(), json!(number)))
                .collect();
            json!({
                "part": part,
                "what": what,
                "calls": calls,
                "paths": {
                    "canary": self.path("canary"),
                    "other": self.path("globex/workspace/own"),
                    "socket": self.path("socket"),
                },
                "ids": { "host": std::process::id(), "other": other, "victim": self.victim.id() },
                "port": self.tcp.local_addr().unwrap().port(),
                "abstract": self.abstract_name,
            })
            .to_string()
        }

        async fn attack(&self, given: String) -> Outcome {
            let permit = self.permit("acme", Some(given)).await;
            self.host.tenant("acme").run(permit).await.unwrap()
        }

        /// What must be as before.
        fn check(&mut self) {
            let canary = fs::metadata(self.path("canary")).unwrap();
            assert_eq!(fs::read(self.path("canary")).unwrap(), b"canary");
            assert_ne!(canary.mtime(), 0);
            assert_eq!((canary.nlink(), canary.mode() & 0o022), (1, 0));
            let names = fs::read_dir(self.root.path()).unwrap();
            let names: BTreeSet<String> = names
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| !name.starts_with("audit."))
                .collect();
            let expected = ["acme", "canary", "globex", "socket"].map(str::to_owned);
            assert_eq!(names, BTreeSet::from(expected));
            assert_eq!(
                fs::read(self.path("acme/skill/SKILL.md")).unwrap().len(),
                52
            );
            assert!(self.victim.try_wait().unwrap().is_none());
            assert_eq!(self.tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
            for listener in &self.unix {
                let came = listener.accept().map(drop);
                assert_eq!(came.unwrap_err().kind(), ErrorKind::WouldBlock);
            }
        }
    }

    fn attack() {
        let has_namespaces = Workers::probe().unwrap().without_namespaces.is_none();
        let mut scene = Scene::new(Workers::Processes("/proc/self/exe".into()));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            scene.host.prepare().await.unwrap();
            let permit = scene.permit("globex", None).await;
            let globex = scene.host.tenant("globex");
            let (mut quiet, mut input) = globex.start_with_stdin(permit).unwrap();
            assert_eq!(output(&mut quiet).await, "ready\n");
            let other = busy_worker();

            let given = scene.given(other, "quiet", "");
            let permit = scene.permit("acme", Some(given)).await;
            let mut run = scene.host.tenant("acme").start(permit).unwrap();
            let mut printed = String::new();
            while let Some(event) = run.next_event().await {
                if let RunEvent::Stdout(bytes) = event {
                    printed.push_str(&String::from_utf8_lossy(&bytes));
                    assert!(!has_handle_on("sent-to-the-host"));
                }
            }
            let outcome = run.wait().await.unwrap();
            assert_eq!(
                outcome.status,
                Status::Exited,
                "{printed}{}",
                outcome.stderr
            );
            let layers = &outcome.isolation.layers;
            assert!(layers.contains(&"worker"), "{layers:?}");
            assert_eq!(layers.contains(&"namespaces"), has_namespaces, "{layers:?}");
            let expected = file(match has_namespaces {
                true => IN_NAMESPACES,
                false => WITHOUT_NAMESPACES,
            });
            if std::env::var_os("UPDATE").is_some() {
                fs::write(&expected, &printed).unwrap();
            }
            let expected = fs::read_to_string(expected).unwrap();
            assert_eq!(printed, expected, "{}", outcome.stderr);
            scene.check();

            let list = scene.attack(scene.given(other, "fatal", "list")).await;
            let attempts: Vec<&str> = list.stdout.lines().collect();
            assert!(attempts.len() > 20, "{}{}", list.stdout, list.stderr);
            for name in attempts {
                let outcome = scene.attack(scene.given(other, "fatal", name)).await;
                let (out, err) = (outcome.stdout.as_str(), outcome.stderr.as_str());
                // It was made, and it was the last thing that the worker did.
                assert_eq!(out, format!("attempts: {name}\n"), "{err}");
                assert_eq!(outcome.status, Status::Trapped, "{name}: {err}");
                let why = "the worker process was killed by SIGSYS";
                assert!(err.contains(why), "{name}: {err}");
                scene.check();
            }

            // The other tenant's run notices nothing.
            input.write_all(b"finish\n").await.unwrap();
            drop(input);
            let quiet = quiet.wait().await.unwrap();
            assert_eq!(
                (quiet.status, quiet.stdout.as_str(), quiet.stderr.as_str()),
                (Status::Exited, "ready\ntold to finish 499500 own\n", "")
            );
        });
        scene.check();
    }

    /// The twin: without a worker, the same code reads what it reaches in no worker. It attempts nothing else here.
    fn reach() {
        let scene = Scene::new(Workers::InProcess);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        fs::write(scene.path("globex/workspace/own"), "own").unwrap();
        let outcome = runtime.block_on(async {
            scene.host.prepare().await.unwrap();
            scene.attack(scene.given(0, "reach", "")).await
        });
        assert_eq!(
            outcome.stdout,
            "read the canary by its path: ok canary\nread the other tenant's file: ok own\n\
             climb to the canary from every handle: ok canary\nmake a unix socket: ok\n",
            "{}",
            outcome.stderr
        );
    }

    /// Waits for the first output of a run.
    async fn output(run: &mut Run) -> String {
        loop {
            match run.next_event().await.unwrap() {
                RunEvent::Stdout(bytes) => return String::from_utf8(bytes.into()).unwrap(),
                RunEvent::Started => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The worker that has run a guest: that with the most memory. The other ones are spare, or watch.
    fn busy_worker() -> u32 {
        let own = fs::read_link("/proc/self/exe").unwrap();
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let workers = processes.filter_map(|entry| {
            let id: u32 = entry.file_name().to_str()?.parse().ok()?;
            let is_other = id != std::process::id();
            let is_worker = fs::read_link(entry.path().join("exe")).ok()? == own;
            let resident = fs::read_to_string(entry.path().join("statm")).ok()?;
            let resident: u64 = resident.split(' ').nth(1)?.parse().ok()?;
            (is_other && is_worker).then_some((resident, id))
        });
        workers.max().unwrap().1
    }

    /// Whether this process has a file with this name open.
    fn has_handle_on(name: &str) -> bool {
        let handles = fs::read_dir("/proc/self/fd").unwrap();
        let mut targets = handles.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        targets.any(|target| target.file_name().is_some_and(|found| found == name))
    }

    macro_rules! calls {
        ($($call:ident),* $(,)?) => {
            &[$((stringify!($call), libc::$call)),*]
        };
    }

    /// The calls that the script makes, with their numbers on this machine.
    const CALLS: &[(&str, i64)] = calls![
        SYS_openat,
        SYS_read,
        SYS_close,
        SYS_fcntl,
        SYS_mmap,
        SYS_brk,
        SYS_getpid,
        SYS_getppid,
        SYS_symlinkat,
        SYS_linkat,
        SYS_renameat2,
        SYS_unlinkat,
        SYS_mkdirat,
        SYS_fchmodat,
        SYS_fchownat,
        SYS_utimensat,
        SYS_setxattr,
        SYS_mknodat,
        SYS_socket,
        SYS_socketpair,
        SYS_connect,
        SYS_sendto,
        SYS_sendmsg,
        SYS_bind,
        SYS_listen,
        SYS_pidfd_open,
        SYS_tgkill,
        SYS_prlimit64,
        SYS_sched_setaffinity,
        SYS_setpriority,
        SYS_clone,
        SYS_clone3,
        SYS_io_uring_setup,
        SYS_seccomp,
        SYS_landlock_create_ruleset,
        SYS_shmget,
        SYS_mq_open,
        SYS_ioctl,
        SYS_memfd_create,
        SYS_write,
        SYS_kill,
        SYS_tkill,
        SYS_rt_sigqueueinfo,
        SYS_pidfd_send_signal,
        SYS_pidfd_getfd,
        SYS_ptrace,
        SYS_process_vm_readv,
        SYS_process_vm_writev,
        SYS_execve,
        SYS_execveat,
        SYS_unshare,
        SYS_setns,
        SYS_mount,
        SYS_open_tree,
        SYS_chroot,
        SYS_open_by_handle_at,
        SYS_bpf,
        SYS_perf_event_open,
        SYS_keyctl,
        SYS_userfaultfd,
        SYS_setuid,
        SYS_capset,
        SYS_finit_module,
    ];

    /// Calls that newer architectures do not have.
    #[cfg(target_arch = "x86_64")]
    const OLDER: &[(&str, i64)] = calls![SYS_fork, SYS_vfork];
    #[cfg(not(target_arch = "x86_64"))]
    const OLDER: &[(&str, i64)] = &[];
}
