//! What an attacker tries with mounts and sockets, and the list of all attempts.

use crate::attempts::{Attempt, Given};
use crate::raw::{Met, call};
use libc::*;
use std::os::fd::{AsFd as _, OwnedFd};

const ROOM: [u64; 32] = [0; 32];
pub(crate) const KILLED: &str = "killed by SIGSYS";

pub(crate) fn room() -> &'static [u64] {
    ROOM.as_slice()
}

/// The mount attributes that would let the holder write, with those it has to clear.
const LOOSE: [u64; 4] = [0, 0b1111, 0, 0];

pub(crate) const MOUNTS: &[Attempt] = &[
    (
        "clear the flags of the skill's mount",
        |g| {
            call(
                SYS_mount_setattr,
                &[
                    &g.skill.as_fd(),
                    &c"",
                    &AT_EMPTY_PATH,
                    &LOOSE.as_slice(),
                    &32,
                ],
            )
        },
        KILLED,
    ),
    (
        "copy the skill's mount",
        |g| {
            call(
                SYS_open_tree,
                &[&g.skill.as_fd(), &c"", &(AT_EMPTY_PATH | 1)],
            )
        },
        KILLED,
    ),
    (
        "copy the mount above the skill",
        |g| call(SYS_open_tree, &[&g.skill.as_fd(), &c"..", &1]),
        KILLED,
    ),
    (
        "move the skill's mount",
        |g| {
            call(
                SYS_move_mount,
                &[&g.skill.as_fd(), &c"", &AT_FDCWD, &c"/", &4],
            )
        },
        KILLED,
    ),
    (
        "open a file system",
        |_| call(SYS_fsopen, &[&c"tmpfs", &0]),
        KILLED,
    ),
    (
        "pick a file system",
        |g| call(SYS_fspick, &[&g.skill.as_fd(), &c"", &8]),
        KILLED,
    ),
    (
        "mount",
        |_| call(SYS_mount, &[&c"none", &c"/proc", &c"tmpfs", &0, &0]),
        KILLED,
    ),
    (
        "unmount",
        |_| call(SYS_umount2, &[&c"/proc/self/fd", &2]),
        KILLED,
    ),
    (
        "change the root",
        |_| call(SYS_pivot_root, &[&c".", &c"."]),
        KILLED,
    ),
    (
        "change the root to the skill",
        |_| call(SYS_chroot, &[&c"/proc"]),
        KILLED,
    ),
    (
        "make a user and mount namespace",
        |_| call(SYS_unshare, &[&(CLONE_NEWUSER | CLONE_NEWNS)]),
        KILLED,
    ),
    (
        "make a user namespace in a child",
        |_| call(SYS_clone, &[&(CLONE_NEWUSER | SIGCHLD), &0, &0, &0, &0]),
        "EPERM",
    ),
    (
        "enter a namespace",
        |g| call(SYS_setns, &[&g.skill.as_fd(), &0]),
        KILLED,
    ),
    (
        "open a file by its number",
        |g| {
            call(
                SYS_open_by_handle_at,
                &[&g.skill.as_fd(), &room(), &O_RDONLY],
            )
        },
        KILLED,
    ),
    (
        "read the number of a file",
        |g| {
            call(
                SYS_name_to_handle_at,
                &[&g.skill.as_fd(), &c"", &room(), &room(), &AT_EMPTY_PATH],
            )
        },
        KILLED,
    ),
];

/// Clears the flags of the handle's mount, and copies it.
pub(crate) fn loosen(handle: &OwnedFd) -> [Met; 2] {
    [
        call(
            SYS_mount_setattr,
            &[
                &handle.as_fd(),
                &c"",
                &AT_EMPTY_PATH,
                &LOOSE.as_slice(),
                &32,
            ],
        ),
        call(
            SYS_open_tree,
            &[&handle.as_fd(), &c"", &(AT_EMPTY_PATH | 1)],
        ),
    ]
}

pub(crate) const NETWORK: &[Attempt] = &[
    (
        "an IPv4 socket",
        |_| call(SYS_socket, &[&AF_INET, &SOCK_STREAM, &0]),
        "EPERM",
    ),
    (
        "an IPv6 socket",
        |_| call(SYS_socket, &[&AF_INET6, &SOCK_DGRAM, &0]),
        "EPERM",
    ),
    (
        "a raw socket",
        |_| call(SYS_socket, &[&AF_INET, &SOCK_RAW, &1]),
        "EPERM",
    ),
    (
        "a packet socket",
        |_| call(SYS_socket, &[&AF_PACKET, &SOCK_RAW, &0]),
        "EPERM",
    ),
    (
        "a netlink socket",
        |_| call(SYS_socket, &[&AF_NETLINK, &SOCK_RAW, &0]),
        "EPERM",
    ),
    (
        "a unix socket",
        |_| call(SYS_socket, &[&AF_UNIX, &SOCK_STREAM, &0]),
        "EPERM",
    ),
    (
        "a vsock socket",
        |_| call(SYS_socket, &[&AF_VSOCK, &SOCK_STREAM, &0]),
        "EPERM",
    ),
    (
        "a cipher socket of the kernel",
        |_| call(SYS_socket, &[&AF_ALG, &SOCK_SEQPACKET, &0]),
        "EPERM",
    ),
    (
        "a pair of sockets",
        |_| call(SYS_socketpair, &[&AF_UNIX, &SOCK_STREAM, &0, &room()]),
        "EPERM",
    ),
    (
        "connect its socket to an abstract address",
        |_| call(SYS_connect, &[&0, &b"\x01\0\0x".as_slice(), &4]),
        "EPERM",
    ),
    (
        "send to an abstract address",
        |_| {
            let address = [1u8, 0, 0, b'x'];
            call(SYS_sendto, &[&0, &c"x", &1, &0, &address.as_slice(), &4])
        },
        "EPERM",
    ),
    (
        "bind its socket",
        |_| call(SYS_bind, &[&0, &room(), &2]),
        "EPERM",
    ),
    (
        "listen on its socket",
        |_| call(SYS_listen, &[&0, &1]),
        "EPERM",
    ),
    (
        "accept on its socket",
        |_| call(SYS_accept4, &[&0, &0, &0, &0]),
        "EPERM",
    ),
    (
        "set options of its socket",
        |_| call(SYS_setsockopt, &[&0, &SOL_SOCKET, &SO_SNDBUF, &room(), &4]),
        "EPERM",
    ),
];

/// All that is attempted, in this order.
pub(crate) fn all() -> impl Iterator<Item = &'static Attempt> {
    use crate::files::FILES;
    use crate::kernel::{KERNEL, PROCESSES};
    use crate::needed::NEEDED;
    [NEEDED, FILES, MOUNTS, NETWORK, PROCESSES, KERNEL]
        .into_iter()
        .flatten()
}

/// Makes one attempt.
pub(crate) fn attempt(name: &str, given: &Given) -> String {
    let mut known = all().chain(crate::needed::OWNERS);
    let Some((_, attempt, _)) = known.find(|(known, ..)| *known == name) else {
        return "unknown".into();
    };
    match attempt(given) {
        Ok(got) => format!("ok {got}"),
        Err(error) => crate::name_of(error.raw_os_error()),
    }
}
