//! What an attacker tries with files.

use crate::attempts::*;
use crate::raw::{self, call};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, XattrFlags, openat, openat2};
use std::os::fd::AsFd as _;

pub(crate) const FILES: &[Attempt] = &[
    ("read /etc/passwd", |_| read("/etc/passwd"), "ENOENT"),
    (
        "read the secret by its path",
        |g| read(&format!("{}/secret", g.outside)),
        "ENOENT",
    ),
    ("list the root", |_| list("/"), "ok empty proc"),
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
        "read the type and size of /etc/passwd",
        |_| {
            let stat = rustix::fs::stat("/etc/passwd")?;
            Ok((stat.st_size > 0).to_string())
        },
        "ENOENT",
    ),
    (
        "read where the link /proc/self/exe leads",
        |_| {
            let target = rustix::fs::readlink("/proc/self/exe", [])?;
            Ok(target.to_string_lossy().starts_with('/').to_string())
        },
        "ENOENT",
    ),
    (
        "read where a link of the host leads",
        |g| rustix::fs::readlink(format!("/proc/{}/exe", g.host), []).map(|_| String::new()),
        "ENOENT",
    ),
    (
        "read the host's environment",
        |g| read(&format!("/proc/{}/environ", g.host)),
        "ENOENT",
    ),
    (
        "set the times of the secret",
        |g| {
            let path = format!("{}/secret", g.outside);
            done(rustix::fs::utimensat(CWD, path, &epoch(), AtFlags::empty()))
        },
        "ENOENT",
    ),
    (
        "set the times of the secret, over ..",
        |g| {
            done(rustix::fs::utimensat(
                &g.workspace,
                "../secret",
                &epoch(),
                AtFlags::empty(),
            ))
        },
        "ENOENT",
    ),
    (
        "set the times of an open file of the skill",
        |g| {
            let file = openat(&g.skill, "sub/file", OFlags::RDONLY, none())?;
            done(rustix::fs::futimens(file, &epoch()))
        },
        "EROFS",
    ),
    (
        "remove the secret, over ..",
        |g| {
            done(rustix::fs::unlinkat(
                &g.workspace,
                "../secret",
                AtFlags::empty(),
            ))
        },
        "ENOENT",
    ),
    (
        "move the secret in, over ..",
        |g| {
            done(rustix::fs::renameat(
                &g.workspace,
                "../secret",
                &g.workspace,
                "secret",
            ))
        },
        "ENOENT",
    ),
    (
        "link the secret in, over ..",
        |g| {
            done(rustix::fs::linkat(
                &g.workspace,
                "../secret",
                &g.workspace,
                "secret",
                AtFlags::empty(),
            ))
        },
        "ENOENT",
    ),
    (
        "make a directory above the workspace",
        |g| done(rustix::fs::mkdirat(&g.workspace, "../made", Mode::RWXU)),
        "ok ",
    ),
    (
        "list what is above the workspace",
        |g| {
            names(openat(
                &g.workspace,
                "..",
                OFlags::RDONLY | OFlags::DIRECTORY,
                none(),
            )?)
        },
        "ok a b made",
    ),
    (
        "read the secret over a located parent",
        |g| {
            let up = openat(&g.workspace, "..", OFlags::PATH, none())?;
            read_at(&up, "secret")
        },
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
        |g| {
            // Not run: it is no code.
            let read = openat(&g.skill, "sub/file", OFlags::RDONLY, none())?;
            let access = libc::PROT_READ | libc::PROT_EXEC;
            let private = libc::MAP_PRIVATE;
            let mapped = call(
                libc::SYS_mmap,
                &[&0, &4096, &access, &private, &read.as_fd(), &0],
            );
            mapped.map(|_| String::new())
        },
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
