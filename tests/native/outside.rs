//! What is outside of a confined program, for it to reach in vain: files, listeners, processes.

use super::readings;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Files that a program must not access, and their modes.
const FILES: [(&str, u32); 5] = [
    ("home/secret", 0o600),
    ("state/skillrun/audit.jsonl", 0o600),
    ("skillrun.toml", 0o644),
    ("skills/other/SKILL.md", 0o644),
    ("shared/anybody", 0o666),
];

pub(crate) struct Outside {
    root: PathBuf,
    /// Waits for input that never comes, and so ends with the host.
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    streams: [(&'static str, UnixListener); 2],
    datagrams: [(&'static str, UnixDatagram); 2],
    files: BTreeMap<PathBuf, String>,
    mounts: String,
    /// The nice value of every process before the run.
    nice: i32,
}

impl Outside {
    /// Creates everything in `root`, in which the program may get `skill`, `workspace` and `scratch`.
    pub(crate) fn new(root: &Path) -> Self {
        for (name, mode) in FILES {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "secret").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::write(root.join("skill/data"), "data").unwrap();
        fs::write(root.join("workspace/own"), "own").unwrap();
        let name = root.to_str().unwrap();
        let hidden = |kind: &str| SocketAddr::from_abstract_name(format!("{name}{kind}")).unwrap();
        let streams = [
            (
                "a path",
                UnixListener::bind(root.join("shared/stream")).unwrap(),
            ),
            (
                "a name",
                UnixListener::bind_addr(&hidden("stream")).unwrap(),
            ),
        ];
        let datagrams = [
            (
                "a path",
                UnixDatagram::bind(root.join("shared/datagram")).unwrap(),
            ),
            (
                "a name",
                UnixDatagram::bind_addr(&hidden("datagram")).unwrap(),
            ),
        ];
        for name in ["stream", "datagram"] {
            let path = root.join("shared").join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        for (_, listener) in &streams {
            listener.set_nonblocking(true).unwrap();
        }
        for (_, socket) in &datagrams {
            socket.set_nonblocking(true).unwrap();
        }
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let mut victim = Command::new("cat");
        let victim = victim.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut victim = victim.unwrap();
        // It runs and sleeps once it has answered.
        use std::io::{Read as _, Write as _};
        victim.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        victim
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut [0])
            .unwrap();
        let (_, nice) = readings::state(std::process::id()).unwrap();
        Self {
            nice,
            files: files(root),
            root: root.to_owned(),
            victim,
            tcp,
            udp,
            streams,
            datagrams,
            mounts: readings::mounts(),
        }
    }

    pub(crate) fn victim(&self) -> u32 {
        self.victim.id()
    }

    /// The variables that name it to a program.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("ROOT", self.root.to_str().unwrap().into()),
            ("HOST", std::process::id().to_string()),
            ("VICTIM", self.victim.id().to_string()),
            ("TCP", self.tcp.local_addr().unwrap().port().to_string()),
            ("UDP", self.udp.local_addr().unwrap().port().to_string()),
            ("NAMES", names()),
        ]
    }

    /// What became of it.
    pub(crate) fn report(&self) -> String {
        let mut report = String::new();
        let files = files(&self.root);
        let mut changed: Vec<String> = Vec::new();
        for path in self.files.keys().chain(files.keys()) {
            if self.files.get(path) != files.get(path) {
                changed.push(path.display().to_string());
            }
        }
        changed.sort();
        changed.dedup();
        let _ = writeln!(report, "outside: {}", list(&changed, "unchanged"));
        let mut came = Vec::new();
        for (name, listener) in &self.streams {
            if listener.accept().is_ok() {
                came.push(format!("a stream to {name}"));
            }
        }
        for (name, socket) in &self.datagrams {
            if socket.recv(&mut [0; 8]).is_ok() {
                came.push(format!("a datagram to {name}"));
            }
        }
        if self.tcp.accept().is_ok() {
            came.push("a connection".into());
        }
        if self.udp.recv(&mut [0; 8]).is_ok() {
            came.push("a packet".into());
        }
        let _ = writeln!(report, "listeners: {}", list(&came, "nobody came"));
        for (name, process) in [("victim", self.victim()), ("host", std::process::id())] {
            let state = readings::state(process);
            let words = match state.as_ref().map(|(state, nice)| (state.as_str(), nice)) {
                Some(("S" | "R", nice)) => format!("lives, nice {}", nice - self.nice),
                Some((state, nice)) => format!("{state}, nice {}", nice - self.nice),
                None => "is gone".into(),
            };
            let _ = writeln!(report, "{name}: {words}");
        }
        if readings::mounts() != self.mounts {
            let _ = writeln!(report, "mounts: changed");
        }
        report
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

fn list(found: &[String], nothing: &str) -> String {
    match found {
        [] => nothing.into(),
        found => found.join(", "),
    }
}

/// The size of the machine's files for name resolution.
fn names() -> String {
    let files = ["/etc/hosts", "/etc/resolv.conf"];
    let bytes = files.map(|path| fs::metadata(path).map_or(0, |file| file.len()));
    bytes.iter().sum::<u64>().to_string()
}

/// Everything in `root` that the program may not change, with all its metadata.
fn files(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![PathBuf::from(".")];
    while let Some(path) = open.pop() {
        let here = root.join(&path);
        let meta = here.symlink_metadata().unwrap();
        // The change time also covers modes, owners, attributes and links.
        let changed = (meta.ctime(), meta.ctime_nsec());
        let content = match meta.is_file() {
            true => fs::read(&here).unwrap(),
            false => Vec::new(),
        };
        let content = String::from_utf8_lossy(&content).into_owned();
        let words = format!("{:o} {} {changed:?} {content}", meta.mode(), meta.uid());
        let granted = ["./workspace", "./scratch"].map(Path::new);
        if granted.contains(&path.as_path()) {
            continue;
        }
        if meta.is_dir() {
            let entries = fs::read_dir(&here).unwrap();
            open.extend(entries.map(|entry| path.join(entry.unwrap().file_name())));
        }
        found.insert(path, words);
    }
    found
}
