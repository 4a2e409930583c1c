//! What runs inside a worker: what an honest one needs, and what an attacker tries.

use crate::raw::{self, Met, call};
use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, RenameFlags, ResolveFlags, Timestamps, XattrFlags, openat,
    openat2,
};
use rustix::io::Errno;
use std::io::Write as _;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

/// What a worker was given.
pub(crate) struct Given {
    /// A directory to read, `..` of which holds `secret`.
    pub(crate) skill: OwnedFd,
    /// A directory to change, beside it.
    pub(crate) workspace: OwnedFd,
    /// A file to read.
    pub(crate) file: OwnedFd,
    /// A file to read and map as code.
    pub(crate) code: OwnedFd,
    /// What a host must not send: the directory and the file without a mount of their own.
    pub(crate) plain: OwnedFd,
    pub(crate) plain_file: OwnedFd,
    /// The path of the directory that holds all of them.
    pub(crate) outside: String,
    /// The host's process id.
    pub(crate) host: i32,
}

/// A name, what is done, and what it meets: `ok` with what it gets, an error, or a signal. After a bar, what
/// it meets where the host is root, if that is something else.
pub(crate) type Attempt = (&'static str, fn(&Given) -> Met, &'static str);

fn none() -> Mode {
    Mode::empty()
}

fn text(file: impl AsFd) -> Met {
    let mut bytes = [0; 64];
    let count = rustix::io::read(file, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..count]).trim().to_owned())
}

fn read_at(dir: impl AsFd, path: &str) -> Met {
    text(openat(dir, path, OFlags::RDONLY, none())?)
}

fn read(path: &str) -> Met {
    read_at(CWD, path)
}

fn names(dir: impl AsFd) -> Met {
    let mut names: Vec<String> = Dir::read_from(dir)?
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != "." && name != "..")
        .collect();
    names.sort();
    Ok(names.join(" "))
}

fn list(path: &str) -> Met {
    names(openat(
        CWD,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY,
        none(),
    )?)
}

fn again(file: &OwnedFd, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(
        CWD,
        format!("/proc/self/fd/{}", file.as_raw_fd()),
        flags,
        none(),
    )
}

fn create(dir: impl AsFd, path: &str) -> rustix::io::Result<OwnedFd> {
    openat(
        dir,
        path,
        OFlags::CREATE | OFlags::RDWR,
        Mode::RUSR | Mode::WUSR,
    )
}

fn done(result: rustix::io::Result<()>) -> Met {
    result.map(|()| String::new())
}

fn epoch() -> Timestamps {
    let zero = rustix::time::Timespec::default();
    Timestamps {
        last_access: zero,
        last_modification: zero,
    }
}

fn beneath(
    dir: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
    mode: u32,
) -> rustix::io::Result<OwnedFd> {
    openat2(
        dir,
        path,
        flags,
        Mode::from_raw_mode(mode),
        ResolveFlags::BENEATH,
    )
}

/// Everything that an honest worker does in a run, and what it needs for that.
pub(crate) const NEEDED: &[Attempt] = &[
    (
        "read a file of the skill",
        |g| text(beneath(g.skill.as_fd(), "sub/file", OFlags::RDONLY, 0)?),
        "ok content",
    ),
    (
        "list the skill",
        |g| names(beneath(g.skill.as_fd(), ".", OFlags::RDONLY, 0)?),
        "ok absolute moved relative sub",
    ),
    (
        "read the single file",
        |g| text(again(&g.file, OFlags::RDONLY)?),
        "ok single",
    ),
    (
        "read a link in the skill",
        |g| {
            let target = rustix::fs::readlinkat(&g.skill, "relative", [])?;
            Ok(target.to_string_lossy().into_owned())
        },
        "ok ../secret",
    ),
    (
        "write and read a file in the workspace",
        |g| {
            let file = beneath(
                g.workspace.as_fd(),
                "a/made",
                OFlags::CREATE | OFlags::WRONLY,
                0o644,
            )?;
            rustix::io::write(&file, b"made")?;
            read_at(&g.workspace, "a/made")
        },
        "ok made",
    ),
    (
        "open a located file for writing",
        |g| {
            let located = beneath(g.workspace.as_fd(), "a/made", OFlags::PATH, 0)?;
            let file = again(&located, OFlags::RDWR)?;
            rustix::fs::ftruncate(&file, 2)?;
            text(file)
        },
        "ok ma",
    ),
    (
        "set the times of a located file",
        |g| {
            let located = beneath(g.workspace.as_fd(), "a/made", OFlags::PATH, 0)?;
            let path = format!("/proc/self/fd/{}", located.as_raw_fd());
            rustix::fs::utimensat(CWD, path, &epoch(), AtFlags::empty())?;
            Ok(rustix::fs::fstat(&located)?.st_mtime.to_string())
        },
        "ok 0",
    ),
    (
        "move a file between directories of the workspace",
        |g| {
            let w = &g.workspace;
            done(rustix::fs::renameat_with(
                w,
                "a/made",
                w,
                "b/moved",
                RenameFlags::NOREPLACE,
            ))
        },
        "ok ",
    ),
    (
        "link a file between directories of the workspace",
        |g| {
            let w = &g.workspace;
            done(rustix::fs::linkat(
                w,
                "b/moved",
                w,
                "a/linked",
                AtFlags::empty(),
            ))
        },
        "ok ",
    ),
    (
        "make and remove directories and links",
        |g| {
            let w = &g.workspace;
            rustix::fs::mkdirat(w, "c", Mode::RWXU)?;
            rustix::fs::symlinkat("a", w, "c/link")?;
            rustix::fs::unlinkat(w, "c/link", AtFlags::empty())?;
            rustix::fs::unlinkat(w, "a/linked", AtFlags::empty())?;
            rustix::fs::unlinkat(w, "b/moved", AtFlags::empty())?;
            done(rustix::fs::unlinkat(w, "c", AtFlags::REMOVEDIR))
        },
        "ok ",
    ),
    (
        "start threads",
        |_| {
            let threads: Vec<_> = (0..8).map(|n| std::thread::spawn(move || n)).collect();
            let ends = threads.into_iter().map(|thread| thread.join().unwrap_or(0));
            Ok(ends.sum::<i32>().to_string())
        },
        "ok 28",
    ),
    (
        "make an event loop with a timer and a blocking thread",
        |_| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build();
            let runtime = runtime.map_err(|_| Errno::IO)?;
            let done = runtime.block_on(async {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                tokio::task::spawn_blocking(|| 7).await
            });
            Ok(done.unwrap_or(0).to_string())
        },
        "ok 7",
    ),
    (
        "epoll and an event handle",
        |_| {
            use rustix::event::{EventfdFlags, epoll, eventfd};
            let loops = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            let event = eventfd(1, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            epoll::add(
                &loops,
                &event,
                epoll::EventData::new_u64(5),
                epoll::EventFlags::IN,
            )?;
            let mut events = Vec::with_capacity(1);
            let count = epoll::wait(&loops, rustix::buffer::spare_capacity(&mut events), None)?;
            Ok(count.to_string())
        },
        "ok 1",
    ),
    (
        "find the pages that were written",
        |_| raw::written_pages(),
        "ok 1",
    ),
    (
        "map a passed file as code",
        |g| raw::run_code(again(&g.code, OFlags::RDONLY)?.as_fd()),
        "ok 42",
    ),
    ("compile code", |_| raw::compile_code(), "ok 42"),
    (
        "a sealed memory file",
        |_| {
            use rustix::fs::{MemfdFlags, SealFlags};
            let memory =
                rustix::fs::memfd_create("image", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC)?;
            rustix::io::write(&memory, b"image")?;
            rustix::fs::fcntl_add_seals(&memory, SealFlags::WRITE | SealFlags::SEAL)?;
            Ok(rustix::io::write(&memory, b"x")
                .err()
                .unwrap_or(Errno::IO)
                .to_string())
        },
        "ok Operation not permitted (os error 1)",
    ),
    (
        "lower its priority",
        |_| rustix::process::nice(5).map(|_| String::new()),
        "ok ",
    ),
    (
        "time, random numbers, usage",
        |_| {
            use rustix::time::{ClockId, clock_gettime};
            let _ = clock_gettime(ClockId::ThreadCPUTime);
            std::thread::sleep(std::time::Duration::from_micros(10));
            call(libc::SYS_getrandom, &[&vec![0u8; 8].as_slice(), &8, &0])?;
            std::thread::yield_now();
            Ok(std::thread::available_parallelism().is_ok().to_string())
        },
        "ok true",
    ),
    (
        "write to the standard error",
        |_| {
            done(
                std::io::stderr()
                    .write_all(b"nobody sees this")
                    .map_err(|_| Errno::IO),
            )
        },
        "ok ",
    ),
];

/// What an attacker tries with files.
pub(crate) const FILES: &[Attempt] = &[
    ("read /etc/passwd", |_| read("/etc/passwd"), "ENOENT"),
    (
        "read the secret by its path",
        |g| read(&format!("{}/secret", g.outside)),
        "ENOENT",
    ),
    ("list the root", |_| list("/"), "ok proc"),
    ("list /proc", |_| list("/proc"), "ok self"),
    ("list /proc/self", |_| list("/proc/self"), "ok fd pagemap"),
    (
        "list .. of /proc/self/fd",
        |_| list("/proc/self/fd/.."),
        "ok fd pagemap",
    ),
    (
        "read .. of the skill",
        |g| read_at(&g.skill, "../secret"),
        "ENOENT",
    ),
    (
        "read .. of the workspace",
        |g| read_at(&g.workspace, "../secret"),
        "ENOENT",
    ),
    (
        "read .. of the single file",
        |g| read_at(&g.file, "../secret"),
        "ENOTDIR",
    ),
    (
        "read .. of the plain handle, which no host may send",
        |g| read_at(&g.plain, "../secret"),
        "ok secret|EACCES",
    ),
    (
        "read /etc/passwd over the skill",
        |g| read_at(&g.skill, "../../../../../../../../etc/passwd"),
        "ENOENT",
    ),
    (
        "the same over the workspace, with openat2",
        |g| {
            let flags = ResolveFlags::empty();
            text(openat2(
                &g.workspace,
                "../../../../../../etc/passwd",
                OFlags::RDONLY,
                none(),
                flags,
            )?)
        },
        "ENOENT",
    ),
    (
        "read an absolute link out of the skill",
        |g| read_at(&g.skill, "absolute"),
        "ENOENT",
    ),
    (
        "read a relative link out of the skill",
        |g| read_at(&g.skill, "relative"),
        "ENOENT",
    ),
    (
        "start paths at the skill",
        |g| done(rustix::process::fchdir(&g.skill)),
        "EPERM",
    ),
    (
        "start paths elsewhere",
        |_| done(rustix::process::chdir("/proc")),
        "EPERM",
    ),
    ("read /proc/1/root", |_| list("/proc/1/root"), "ENOENT"),
    (
        "read /proc/self/root",
        |_| list("/proc/self/root"),
        "ENOENT",
    ),
    ("read /proc/self/cwd", |_| list("/proc/self/cwd"), "ENOENT"),
    ("read /proc/self/exe", |_| read("/proc/self/exe"), "ENOENT"),
    (
        "write /proc/self/exe",
        |_| done(openat(CWD, "/proc/self/exe", OFlags::RDWR, none()).map(drop)),
        "ENOENT",
    ),
    (
        "set the times of /proc/self/exe",
        |_| {
            done(rustix::fs::utimensat(
                CWD,
                "/proc/self/exe",
                &epoch(),
                AtFlags::empty(),
            ))
        },
        "ENOENT",
    ),
    (
        "write its own memory by name",
        |_| done(openat(CWD, "/proc/self/mem", OFlags::RDWR, none()).map(drop)),
        "ENOENT",
    ),
    (
        "read /proc/self/environ",
        |_| read("/proc/self/environ"),
        "ENOENT",
    ),
    (
        "read /proc/sys",
        |_| read("/proc/sys/kernel/ostype"),
        "ENOENT",
    ),
    ("read /proc/kcore", |_| read("/proc/kcore"), "ENOENT"),
    (
        "read the host's status",
        |g| read(&format!("/proc/{}/status", g.host)),
        "ENOENT",
    ),
    (
        "open the socket again",
        |_| read("/proc/self/fd/0"),
        "ENXIO",
    ),
    (
        "use an inherited handle",
        |_| done(rustix::fs::fstat(raw::handle(crate::INHERITED)).map(drop)),
        "EBADF",
    ),
    (
        "create a file in the root",
        |_| done(create(CWD, "/made").map(drop)),
        "EROFS",
    ),
    (
        "create a file in /proc/self",
        |_| done(create(CWD, "/proc/self/made").map(drop)),
        "EROFS",
    ),
    (
        "create a file in the skill",
        |g| done(create(&g.skill, "made").map(drop)),
        "EROFS",
    ),
    (
        "create a nameless file in the skill",
        |g| done(openat(&g.skill, ".", OFlags::TMPFILE | OFlags::RDWR, Mode::RUSR).map(drop)),
        "EROFS",
    ),
    (
        "make a directory in the skill",
        |g| done(rustix::fs::mkdirat(&g.skill, "made", Mode::RWXU)),
        "EROFS",
    ),
    (
        "make a link in the skill",
        |g| done(rustix::fs::symlinkat("x", &g.skill, "made")),
        "EROFS",
    ),
    (
        "remove a file of the skill",
        |g| done(rustix::fs::unlinkat(&g.skill, "sub/file", AtFlags::empty())),
        "EROFS",
    ),
    (
        "move a file of the skill",
        |g| done(rustix::fs::renameat(&g.skill, "sub/file", &g.skill, "file")),
        "EROFS",
    ),
    (
        "move a file of the skill out",
        |g| {
            done(rustix::fs::renameat(
                &g.skill,
                "sub/file",
                &g.workspace,
                "file",
            ))
        },
        "EXDEV",
    ),
    (
        "link a file of the skill",
        |g| {
            done(rustix::fs::linkat(
                &g.skill,
                "sub/file",
                &g.skill,
                "file",
                AtFlags::empty(),
            ))
        },
        "EROFS",
    ),
    (
        "link a file of the skill out",
        |g| {
            done(rustix::fs::linkat(
                &g.skill,
                "sub/file",
                &g.workspace,
                "file",
                AtFlags::empty(),
            ))
        },
        "EXDEV",
    ),
    (
        "link the workspace's file out, over ..",
        |g| {
            drop(create(&g.workspace, "mine")?);
            done(rustix::fs::linkat(
                &g.workspace,
                "mine",
                &g.workspace,
                "../stolen",
                AtFlags::empty(),
            ))
        },
        "ok ",
    ),
    (
        "set the times of a file of the skill",
        |g| {
            done(rustix::fs::utimensat(
                &g.skill,
                "sub/file",
                &epoch(),
                AtFlags::empty(),
            ))
        },
        "EROFS",
    ),
    (
        "write a file of the skill",
        |g| done(openat(&g.skill, "sub/file", OFlags::WRONLY, none()).map(drop)),
        "EROFS",
    ),
    (
        "open a read file of the skill again to write it",
        |g| {
            let read = openat(&g.skill, "sub/file", OFlags::RDONLY, none())?;
            done(again(&read, OFlags::RDWR).map(drop))
        },
        "EROFS",
    ),
    (
        "cut a file of the skill when it is opened",
        |g| done(openat(&g.skill, "sub/file", OFlags::RDWR | OFlags::TRUNC, none()).map(drop)),
        "EROFS",
    ),
    (
        "write the single file",
        |g| done(again(&g.file, OFlags::RDWR).map(drop)),
        "EROFS",
    ),
    (
        "write the code",
        |g| done(again(&g.code, OFlags::RDWR).map(drop)),
        "EROFS",
    ),
    (
        "write a plain file, which no host may send",
        |g| done(again(&g.plain_file, OFlags::RDWR).map(drop)),
        "ok |EACCES",
    ),
    (
        "map a file of the skill as code",
        |g| raw::run_code(openat(&g.skill, "sub/file", OFlags::RDONLY, none())?.as_fd()),
        "EPERM",
    ),
    (
        "write a shared map of a file of the skill",
        |g| {
            let read = openat(&g.skill, "sub/file", OFlags::RDONLY, none())?;
            call(
                libc::SYS_mmap,
                &[
                    &0,
                    &4096,
                    &(libc::PROT_READ | libc::PROT_WRITE),
                    &libc::MAP_SHARED,
                    &read.as_fd(),
                    &0,
                ],
            )
        },
        "EACCES",
    ),
    (
        "change the mode in the skill",
        |g| {
            done(rustix::fs::chmodat(
                &g.skill,
                "sub/file",
                Mode::RWXU,
                AtFlags::empty(),
            ))
        },
        "EPERM",
    ),
    (
        "change the mode in the workspace",
        |g| {
            done(rustix::fs::chmodat(
                &g.workspace,
                "a",
                Mode::from_raw_mode(0o4777),
                AtFlags::empty(),
            ))
        },
        "EPERM",
    ),
    (
        "set an attribute in the workspace",
        |g| {
            let file = openat(&g.workspace, "a", OFlags::RDONLY, none())?;
            done(rustix::fs::fsetxattr(
                file,
                "user.x",
                b"x",
                XattrFlags::empty(),
            ))
        },
        "EPERM",
    ),
    (
        "make a named pipe",
        |g| {
            done(rustix::fs::mknodat(
                &g.workspace,
                "fifo",
                rustix::fs::FileType::Fifo,
                Mode::RWXU,
                0,
            ))
        },
        "EPERM",
    ),
    (
        "make a device",
        |g| {
            let device = rustix::fs::makedev(1, 3);
            done(rustix::fs::mknodat(
                &g.workspace,
                "null",
                rustix::fs::FileType::CharacterDevice,
                Mode::RWXU,
                device,
            ))
        },
        "EPERM",
    ),
    (
        "make a set-user-id program",
        |g| {
            let file = beneath(
                g.workspace.as_fd(),
                "suid",
                OFlags::CREATE | OFlags::WRONLY,
                0o6755,
            )?;
            rustix::io::write(&file, b"#!/bin/sh\n")?;
            let mode = rustix::fs::fstat(&file)?.st_mode & 0o7777;
            rustix::fs::unlinkat(&g.workspace, "suid", AtFlags::empty())?;
            Ok(format!("{mode:o}"))
        },
        "ok 755",
    ),
    (
        "take a lease on a file",
        |g| {
            let file = create(&g.workspace, "mine")?;
            call(
                libc::SYS_fcntl,
                &[&file.as_fd(), &libc::F_SETLEASE, &libc::F_WRLCK],
            )
        },
        "EPERM",
    ),
    (
        "clone a file",
        |g| {
            let file = create(&g.workspace, "mine")?;
            call(
                libc::SYS_ioctl,
                &[&file.as_fd(), &0x4004_9409u32, &g.file.as_fd()],
            )
        },
        "ENOTTY",
    ),
    (
        "allocate disk space without writing",
        |g| {
            let file = create(&g.workspace, "mine")?;
            call(libc::SYS_fallocate, &[&file.as_fd(), &0, &0, &4096])
        },
        "EOPNOTSUPP",
    ),
];

/// What a root's worker meets in a workspace of another user, in which others have files.
pub(crate) const OWNERS: &[Attempt] = &[
    (
        "read the owner's private file",
        |g| read_at(&g.workspace, "private"),
        "ok private",
    ),
    (
        "change the owner's private file",
        |g| done(openat(&g.workspace, "private", OFlags::WRONLY, none()).map(drop)),
        "ok ",
    ),
    (
        "read another's private file",
        |g| read_at(&g.workspace, "of-another"),
        "EACCES",
    ),
    (
        "read root's public file",
        |g| read_at(&g.workspace, "of-root"),
        "ok of-root",
    ),
    (
        "change root's public file",
        |g| done(openat(&g.workspace, "of-root", OFlags::WRONLY, none()).map(drop)),
        "EACCES",
    ),
    (
        "create a file in another's open directory",
        |g| done(create(&g.workspace, "b/made").map(drop)),
        "ok ",
    ),
    (
        "create a file in root's directory",
        |g| done(create(&g.workspace, "a/made").map(drop)),
        "EACCES",
    ),
    (
        "remove another's file",
        |g| {
            done(rustix::fs::unlinkat(
                &g.workspace,
                "of-another",
                AtFlags::empty(),
            ))
        },
        "ok ",
    ),
    (
        "create a file",
        |g| done(create(&g.workspace, "made").map(drop)),
        "ok ",
    ),
];
