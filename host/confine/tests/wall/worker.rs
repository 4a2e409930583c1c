//! Both sides of a worker: the process, and the host's hold on it.

use crate::attempts::Given;
use crate::{INHERITED, calls};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use skillrun_confine::wall::{self, Access, Detacher};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use tempfile::TempDir;

/// The worker's main function.
pub(crate) fn run() {
    let host = io::stdin();
    let host = host.as_fd();
    let say = |text: String| send(host, &text, &[]);
    if let Err(error) = wall::enter_namespaces(host) {
        return say(format!("cannot enter: {error}"));
    }
    // What a careless worker does before.
    let what = std::env::args().nth(1);
    let _directory = (what.as_deref() == Some("directory")).then(|| std::fs::File::open("/"));
    if what.as_deref() == Some("thread") {
        std::thread::spawn(std::thread::park);
    }
    match wall::lock_down() {
        Ok(layers) => say(layers.join(" ")),
        Err(error) => return say(error.to_string()),
    }
    let Some((text, handles)) = receive(host) else {
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
    pub(crate) detacher: Detacher,
}

impl Files {
    pub(crate) fn make() -> Self {
        let detacher = detacher();
        // Root needs a file system with id-mapped mounts, which that of a container may lack.
        let outside = [std::env::temp_dir(), "/dev/shm".into()]
            .into_iter()
            .find_map(|parent| {
                let outside = tempfile::tempdir_in(parent).ok()?;
                let path = outside.path().canonicalize().ok()?;
                detacher.detach(located(&path).as_fd(), &path, true).ok()?;
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

    pub(crate) fn detach(&self, name: &str, access: Access) -> OwnedFd {
        let path = self.path(name);
        let handle = located(&path);
        self.detacher
            .detach_for(handle.as_fd(), &path, access)
            .unwrap()
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
    /// Starts a worker that has locked itself down and has no handles yet.
    pub(crate) fn bare() -> Self {
        let (socket, theirs) = pair();
        let watcher = start("wall-worker", theirs).unwrap();
        let (layers, _) = receive(&socket).unwrap();
        Self {
            watcher,
            socket,
            layers,
        }
    }

    pub(crate) fn start(files: &Files) -> Self {
        let worker = Self::bare();
        let plain = located(&files.path("skill"));
        let plain_file = std::fs::File::open(files.path("single")).unwrap();
        let handles = [
            files.detach("skill", Access::Read),
            files.detach("workspace", Access::Change),
            files.detach("single", Access::Read),
            files.detach("code", Access::ReadCode),
            plain,
            plain_file.into(),
        ];
        let handles: Vec<BorrowedFd<'_>> = handles.iter().map(OwnedFd::as_fd).collect();
        let outside = files.path("").display().to_string();
        send(
            &worker.socket,
            &format!("{} {outside}", std::process::id()),
            &handles,
        );
        worker
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
