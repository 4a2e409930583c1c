//! What an honest worker needs.

use crate::attempts::*;
use crate::raw::{self, call};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, openat};
use rustix::io::Errno;
use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd as _};

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
        "set the times of an open file",
        |g| {
            let file = beneath(g.workspace.as_fd(), "a/made", OFlags::WRONLY, 0)?;
            rustix::fs::futimens(&file, &epoch())?;
            Ok(rustix::fs::fstat(&file)?.st_mtime.to_string())
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
