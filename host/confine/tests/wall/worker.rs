//! Both sides of a worker: the process, and the host's hold on it.

use crate::attempts::Given;
use crate::{INHERITED, calls};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use skillrun_confine::wall::{self, Access, Detacher, WallKind};
use std::cell::Cell;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use tempfile::TempDir;

thread_local! {
    static WALL: Cell<WallKind> = const { Cell::new(WallKind::Namespaces) };
}

/// The wall of the workers that this trial starts.
pub(crate) fn wall_kind() -> WallKind {
    WALL.get()
}

/// Runs a trial with workers that are confined without namespaces.
pub(crate) fn without_namespaces(trial: fn()) {
    WALL.set(WallKind::Landlock);
    trial();
    WALL.set(WallKind::Namespaces);
}

/// The worker's main function.
pub(crate) fn run() {
    let host = io::stdin();
    let host = host.as_fd();
    let say = |text: String| send(host, &text, &[]);
    let what = std::env::args().nth(1).unwrap_or_default();
    let has_namespaces = !what.starts_with("landlock");
    let entered = match has_namespaces {
        true => wall::enter_namespaces(host),
        false => wall::enter_watched(host),
    };
    if let Err(error) = entered {
        return say(format!("cannot enter: {error}"));
    }
    // Without namespaces, the handles are there before it is locked down.
    let early = match has_namespaces {
        true => None,
        false => match receive(host) {
            Some(received) => Some(received),
            None => return,
        },
    };
    // What a careless worker does before.
    let _directory = what
        .ends_with("directory")
        .then(|| std::fs::File::open("/"));
    if what.ends_with("thread") {
        std::thread::spawn(std::thread::park);
    }
    let locked = match &early {
        None => wall::lock_down(),
        Some((_, handles)) => wall::lock_down_to(&granted(handles)),
    };
    match locked {
        Ok(layers) => say(layers.join(" ")),
        Err(error) => return say(error.to_string()),
    }
    let early = early.filter(|(_, handles)| !handles.is_empty());
    let Some((text, handles)) = early.or_else(|| receive(host)) else {
        return;
    };
    let Ok([skill, workspace, file, code, plain, plain_file]) = <[OwnedFd; 6]>::try_from(handles)
    else {
        return;
    };
    let (host_id, outside) = text.split_once(' ').unwrap();
    let given = Given {
        skill,
        workspace,
        file,
        code,
        plain,
        plain_file,
        outside: outside.into(),
        host: host_id.parse().unwrap(),
    };
    while let Some((request, _)) = receive(host) {
        match request.split_once(' ') {
            Some(("exit", code)) => std::process::exit(code.parse().unwrap()),
            Some(("send", "handles")) => send(host, "sent", &[given.skill.as_fd()]),
            _ => say(calls::attempt(&request, &given)),
        }
    }
}

/// What each handle may be used for. The last two are no grants of their own.
fn granted(handles: &[OwnedFd]) -> Vec<(BorrowedFd<'_>, Access)> {
    let access = [
        Access::Read,
        Access::Change,
        Access::Read,
        Access::ReadCode,
        Access::Read,
        Access::Read,
    ];
    handles.iter().map(OwnedFd::as_fd).zip(access).collect()
}

pub(crate) fn send(to: impl AsFd, text: &str, handles: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut buffer = SendAncillaryBuffer::new(&mut space);
    if !handles.is_empty() {
        buffer.push(SendAncillaryMessage::ScmRights(handles));
    }
    let _ = sendmsg(
        to,
        &[IoSlice::new(text.as_bytes())],
        &mut buffer,
        SendFlags::NOSIGNAL,
    );
}

/// `None` if the other side is gone.
pub(crate) fn receive(from: impl AsFd) -> Option<(String, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut buffer = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = vec![0; 8192];
    let parts = &mut [IoSliceMut::new(&mut bytes)];
    let got = recvmsg(from, parts, &mut buffer, RecvFlags::CMSG_CLOEXEC).ok()?;
    let mut handles = Vec::new();
    for message in buffer.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = message {
            handles.extend(sent);
        }
    }
    let text = String::from_utf8_lossy(bytes.get(..got.bytes)?).into_owned();
    (got.bytes > 0).then_some((text, handles))
}

/// This executable under another name, with a socket as its standard input.
pub(crate) fn start(name: &str, socket: OwnedFd) -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg0(name)
        .stdin(Stdio::from(socket))
        .spawn()
}

pub(crate) fn pair() -> (OwnedFd, OwnedFd) {
    socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap()
}

pub(crate) fn detacher() -> Detacher {
    Detacher::find(&|socket| start("wall-helper", socket)).unwrap()
}

/// What workers are given, and what they must not reach.
pub(crate) struct Files {
    pub(crate) outside: TempDir,
    /// Without namespaces nobody can make detached handles.
    detacher: Option<Detacher>,
}

impl Files {
    pub(crate) fn make() -> Self {
        let detacher = match wall_kind() {
            WallKind::Landlock => None,
            _ => Some(detacher()),
        };
        // Root needs a file system with id-mapped mounts, which that of a container may lack.
        let outside = [std::env::temp_dir(), "/dev/shm".into()]
            .into_iter()
            .find_map(|parent| {
                let outside = tempfile::tempdir_in(parent).ok()?;
                let path = outside.path().canonicalize().ok()?;
                if let Some(detacher) = &detacher {
                    detacher.detach(located(&path).as_fd(), &path, true).ok()?;
                }
                Some(outside)
            });
        let outside = outside.unwrap();
        let at = |name: &str| outside.path().join(name);
        for name in ["skill/sub", "skill/moved", "workspace/a", "workspace/b"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        for (name, contents) in [
            ("secret", b"secret".as_slice()),
            ("skill/sub/file", b"content"),
            ("single", b"single"),
            ("code", crate::raw::CODE),
        ] {
            std::fs::write(at(name), contents).unwrap();
        }
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(at("secret"), private).unwrap();
        std::os::unix::fs::symlink(at("secret"), at("skill/absolute")).unwrap();
        std::os::unix::fs::symlink("../secret", at("skill/relative")).unwrap();
        Self { outside, detacher }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.outside.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn detacher(&self) -> &Detacher {
        self.detacher.as_ref().unwrap()
    }

    pub(crate) fn detach(&self, name: &str, access: Access) -> OwnedFd {
        let path = self.path(name);
        let handle = located(&path);
        let detacher = self.detacher();
        detacher.detach_for(handle.as_fd(), &path, access).unwrap()
    }

    /// What a host sends: a detached handle if there are namespaces.
    fn handle(&self, name: &str, access: Access) -> OwnedFd {
        match &self.detacher {
            Some(_) => self.detach(name, access),
            None => located(&self.path(name)),
        }
    }
}

pub(crate) fn located(path: &Path) -> OwnedFd {
    use rustix::fs::{Mode, OFlags, open};
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

/// The host's side of a worker. Dropping it ends the worker.
pub(crate) struct Worker {
    pub(crate) watcher: Child,
    pub(crate) socket: OwnedFd,
    pub(crate) layers: String,
}

impl Worker {
    /// Starts a worker that has locked itself down and has no handles.
    pub(crate) fn bare() -> Self {
        Self::with("", &[])
    }

    fn with(text: &str, handles: &[BorrowedFd<'_>]) -> Self {
        let (socket, theirs) = pair();
        let mut command = Command::new("/proc/self/exe");
        command.arg0("wall-worker").stdin(Stdio::from(theirs));
        let is_early = wall_kind() == WallKind::Landlock;
        if is_early {
            command.arg("landlock");
        }
        let watcher = command.spawn().unwrap();
        if is_early {
            send(&socket, &format!("{text} "), handles);
        }
        let (layers, _) = receive(&socket).unwrap();
        if !is_early && !handles.is_empty() {
            send(&socket, text, handles);
        }
        Self {
            watcher,
            socket,
            layers,
        }
    }

    pub(crate) fn start(files: &Files) -> Self {
        let plain = located(&files.path("skill"));
        let plain_file = std::fs::File::open(files.path("single")).unwrap();
        let handles = [
            files.handle("skill", Access::Read),
            files.handle("workspace", Access::Change),
            files.handle("single", Access::Read),
            files.handle("code", Access::ReadCode),
            plain,
            plain_file.into(),
        ];
        let handles: Vec<BorrowedFd<'_>> = handles.iter().map(OwnedFd::as_fd).collect();
        let outside = files.path("").display().to_string();
        Self::with(&format!("{} {outside}", std::process::id()), &handles)
    }

    /// What an attempt meets; it may end the worker.
    pub(crate) fn attempt(&mut self, name: &str) -> String {
        send(&self.socket, name, &[]);
        match receive(&self.socket) {
            Some((met, _)) => met,
            None => ended(self.watcher.wait().unwrap()),
        }
    }

    /// The process ids of the watcher and the worker.
    pub(crate) fn ids(&self) -> (u32, u32) {
        let watcher = self.watcher.id();
        let children = format!("/proc/{watcher}/task/{watcher}/children");
        let worker = std::fs::read_to_string(children).unwrap();
        (watcher, worker.trim().parse().unwrap())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.watcher.kill();
        let _ = self.watcher.wait();
    }
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(libc::SIGSYS)) => "killed by SIGSYS".into(),
        (_, Some(libc::SIGSEGV)) => "killed by SIGSEGV".into(),
        (_, Some(signal)) => format!("killed by signal {signal}"),
        (code, None) => format!("exited with {}", code.unwrap_or(-1)),
    }
}

/// Leaves a handle open for every process that is started from now on.
pub(crate) fn leave_handle_open() {
    let null = std::fs::File::open("/dev/null").unwrap();
    // Duplicated to a number that no other handle has, without close-on-exec.
    let mut copy = crate::raw::owned(INHERITED);
    rustix::io::dup2(&null, &mut copy).unwrap();
    std::mem::forget(copy);
}
