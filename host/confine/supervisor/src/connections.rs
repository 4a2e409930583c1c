//! Counts the memory of a run's TCP connections that no handle shows.
//!
//! A connection that a listener has not accepted belongs to no process yet, nor to a control group. One that its program has
//! closed stays until everything is sent, and one that is mapped to memory stays without a handle. The kernel lists all of them
//! with what they buffer (`NETLINK_SOCK_DIAG`), and names the user they belong to; before Linux 6.17 it does not for those
//! without a handle. Then they are recognised by the listener's port, by the other end, or because they had a handle before.
//!
//! Connections of the same user's other programs that have no handle count, too, as there is nothing to tell them apart.

use crate::tree::{self, Tree};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A connection takes at least as much, even without data.
const MIN_BYTES: u64 = 4096;
/// Of its time, a supervisor lists connections in at most one part in this many. The kernel walks a table that is large on a
/// machine with much memory: that takes some milliseconds.
const SHARE: u32 = 4;
/// How long the kernel may take for one part of its answer.
const LIST_TIMEOUT: Duration = Duration::from_secs(1);

/// Message types and flags of netlink.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST_DUMP: u16 = 0x301;
const HEADER: usize = 16;
/// The memory of a socket, as an attribute of a listed connection.
const SKMEMINFO: u16 = 7;
const CONNECTION: usize = 72;

const LISTEN: u8 = 10;
/// The states of a connection that its program has closed: FIN_WAIT1, FIN_WAIT2, LAST_ACK and CLOSING.
const CLOSED: [u8; 4] = [4, 5, 9, 11];

/// One end of a connection, or a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Connection {
    state: u8,
    /// Port and address of this end and of the other one.
    ends: [End; 2],
    cookie: u64,
    user: u32,
    /// That of its handle; 0 if it has none.
    inode: u64,
    bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct End([u8; 2], [u8; 16]);

/// The hidden connections of one run.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    next: Option<Instant>,
    /// Those that had a handle, or were recognised.
    known: HashSet<u64>,
    bytes: u64,
}

/// Whose connections are counted, and which.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    /// The inodes of all sockets that handles show.
    pub(crate) shown: &'a HashSet<u64>,
    /// The user of the program.
    pub(crate) user: u32,
    /// Whether that user has no other programs.
    pub(crate) is_private: bool,
    /// Whether a control group counts what its processes have or had.
    pub(crate) has_cgroup: bool,
}

impl Connections {
    /// Bytes that hidden connections buffer, as last counted.
    pub(crate) fn bytes(&mut self, tree: &Tree, counted: &Counted<'_>) -> u64 {
        let began = Instant::now();
        if self.next.is_some_and(|next| began < next) {
            return self.bytes;
        }
        // A kernel without this module lists nothing. What handles show counts either way.
        let all = list().unwrap_or_default();
        self.bytes = self.hidden(&all, counted, || mapped(tree));
        self.next = Some(began + began.elapsed() * SHARE);
        self.bytes
    }

    fn hidden(
        &mut self,
        all: &[Connection],
        counted: &Counted<'_>,
        mapped: impl FnOnce() -> HashSet<u64>,
    ) -> u64 {
        let Counted { shown, user, .. } = *counted;
        // Those with a handle that nobody shows are of other programs, or mapped. The maps are long, so they are only read if
        // that matters.
        let is_candidate =
            |one: &&Connection| one.inode != 0 && one.user == user && !shown.contains(&one.inode);
        let candidates = all.iter().filter(is_candidate);
        let mapped: HashSet<u64> = match candidates.clone().count() {
            0 => HashSet::new(),
            _ if counted.is_private => candidates.map(|one| one.inode).collect(),
            _ => mapped(),
        };
        let has_handle = |one: &&Connection| {
            one.inode != 0 && (shown.contains(&one.inode) || mapped.contains(&one.inode))
        };
        let listeners = all.iter().filter(has_handle);
        let listeners = listeners.filter(|one| one.state == LISTEN);
        let ports: HashSet<[u8; 2]> = listeners.map(|one| one.ends[0].0).collect();
        let mut own: HashSet<u64> = all
            .iter()
            .filter(has_handle)
            .map(|one| one.cookie)
            .collect();
        let without = all.iter().filter(|one| one.inode == 0);
        let recognised = without.filter(|one| {
            // What nobody owns belongs to root in older kernels.
            (one.user == user && user != 0)
                || ports.contains(&one.ends[0].0)
                || self.known.contains(&one.cookie)
        });
        own.extend(recognised.map(|one| one.cookie));
        // The other ends, on this machine, of those found so far.
        let found = all.iter().filter(|one| own.contains(&one.cookie));
        let ends: HashSet<[End; 2]> = found.map(|one| one.ends).collect();
        let others = all.iter().filter(|one| {
            let [here, there] = one.ends;
            one.inode == 0 && ends.contains(&[there, here])
        });
        own.extend(others.map(|one| one.cookie));
        let hidden = all.iter().filter(|one| {
            let is_counted_by_cgroup = one.inode != 0 || CLOSED.contains(&one.state);
            own.contains(&one.cookie)
                && !shown.contains(&one.inode)
                && !(counted.has_cgroup && is_counted_by_cgroup)
        });
        let bytes = hidden.map(|one| one.bytes.max(MIN_BYTES)).sum();
        self.known = own;
        bytes
    }
}

/// The inodes of all sockets that these processes have mapped.
fn mapped(tree: &Tree) -> HashSet<u64> {
    let maps = tree.ids().filter_map(tree::maps);
    let inodes = maps.flat_map(|maps| {
        let lines = maps.lines();
        let inodes = lines.filter_map(|line| {
            let (_, name) = line.split_once("socket:[")?;
            name.strip_suffix(']')?.parse::<u64>().ok()
        });
        inodes.collect::<Vec<_>>()
    });
    inodes.collect()
}

/// All TCP connections and listeners in this network namespace.
fn list() -> io::Result<Vec<Connection>> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    rustix::net::sockopt::set_socket_timeout(
        &socket,
        rustix::net::sockopt::Timeout::Recv,
        Some(LIST_TIMEOUT),
    )?;
    let mut all = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        list_family(&socket, family, &mut all)?;
    }
    Ok(all)
}

fn list_family(socket: &OwnedFd, family: i32, all: &mut Vec<Connection>) -> io::Result<()> {
    let mut request = Vec::with_capacity(HEADER + 56);
    let length = u32::try_from(request.capacity()).map_err(io::Error::other)?;
    request.extend(length.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    request.extend([0; 8]);
    let family = u8::try_from(family).map_err(io::Error::other)?;
    let tcp = u8::try_from(libc::IPPROTO_TCP).map_err(io::Error::other)?;
    request.extend([family, tcp, 1 << (SKMEMINFO - 1), 0]);
    // All states, of any two ends.
    request.extend(u32::MAX.to_ne_bytes());
    request.extend([0; 48]);
    send(socket, &request, SendFlags::empty())?;
    let mut answer = vec![0; 64 << 10];
    loop {
        let (length, _) = match recv(socket, &mut answer, RecvFlags::empty()) {
            Err(Errno::INTR) => continue,
            received => received?,
        };
        let part = answer.get(..length).unwrap_or_default();
        if parse(part, all)? {
            return Ok(());
        }
    }
}

/// Reads one part of an answer; returns whether it was the last.
fn parse(mut part: &[u8], all: &mut Vec<Connection>) -> io::Result<bool> {
    while let Some(length) = word(part, 0) {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let message = part.get(HEADER..length).ok_or(io::ErrorKind::InvalidData)?;
        match half(part, 4) {
            Some(DONE) => return Ok(true),
            Some(ERROR) => return Err(io::ErrorKind::Unsupported.into()),
            _ => all.extend(connection(message)),
        }
        part = part.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

fn connection(message: &[u8]) -> Option<Connection> {
    let bytes = |at: usize| message.get(at..)?.first_chunk().copied();
    let port = |at: usize| message.get(at..)?.first_chunk().copied();
    let mut attributes = message.get(CONNECTION..)?;
    let mut memory = 0;
    while let (Some(length), Some(kind)) = (half(attributes, 0), half(attributes, 2)) {
        let length = usize::from(length).max(4);
        if kind == SKMEMINFO {
            // What was received, and what is to be sent or confirmed. The kernel adds 4 bytes in front of each attribute.
            let received = word(attributes, 4).unwrap_or(0);
            let queued = word(attributes, 4 + 5 * 4).unwrap_or(0);
            let backlog = word(attributes, 4 + 7 * 4).unwrap_or(0);
            memory = u64::from(received) + u64::from(queued) + u64::from(backlog);
        }
        attributes = attributes
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Some(Connection {
        state: *message.get(1)?,
        ends: [End(port(4)?, bytes(8)?), End(port(6)?, bytes(24)?)],
        cookie: u64::from(word(message, 44)?) | u64::from(word(message, 48)?) << 32,
        user: word(message, 64)?,
        inode: word(message, 68)?.into(),
        bytes: memory,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    const USER: u32 = 1000;
    const OTHER: u32 = 1001;

    fn inode(of: impl std::os::fd::AsFd) -> u64 {
        rustix::fs::fstat(of).unwrap().st_ino
    }

    fn end(port: u16) -> End {
        End(port.to_be_bytes(), [0; 16])
    }

    fn one(cookie: u64, (state, ports): (u8, [u16; 2]), user: u32, inode: u64) -> Connection {
        Connection {
            state,
            ends: ports.map(end),
            cookie,
            user,
            inode,
            bytes: 10_000 * cookie,
        }
    }

    fn hidden(all: &[Connection], is_private: bool, has_cgroup: bool) -> u64 {
        let counted = Counted {
            shown: &HashSet::from([7]),
            user: USER,
            is_private,
            has_cgroup,
        };
        Connections::default().hidden(all, &counted, || HashSet::from([8]))
    }

    #[test]
    fn connections_without_a_handle_are_those_of_the_program() {
        let listener = one(1, (LISTEN, [80, 0]), USER, 7);
        // Not accepted, closed, and mapped.
        let waiting = |user| one(2, (1, [80, 5000]), user, 0);
        let closed = |user| one(4, (4, [5000, 80]), user, 0);
        let mapped = one(8, (1, [90, 6000]), USER, 8);
        // Of others: with a handle, and without.
        let unknown = one(16, (1, [100, 7000]), USER, 9);
        let others = one(32, (1, [100, 7000]), OTHER, 0);
        // Older kernels name no user of what has no handle. The other end of a closed one tells whose it is.
        for user in [USER, 0] {
            let all = [
                listener,
                waiting(user),
                closed(user),
                mapped,
                unknown,
                others,
            ];
            assert_eq!(hidden(&all, false, false), (2 + 4 + 8) * 10_000);
            // A private user has no other programs.
            assert_eq!(hidden(&all, true, false), (2 + 4 + 8 + 16) * 10_000);
            assert_eq!(hidden(&all, false, true), 2 * 10_000);
        }
        assert_eq!(hidden(&[listener, others, unknown], false, false), 0);
    }

    #[test]
    fn a_connection_that_had_a_handle_is_known_when_it_is_closed() {
        let mut connections = Connections::default();
        let counted = Counted {
            shown: &HashSet::from([7]),
            user: USER,
            is_private: false,
            has_cgroup: false,
        };
        let open = one(3, (1, [5000, 80]), USER, 7);
        let closed = one(3, (4, [5000, 80]), 0, 0);
        let mut count = |one| connections.hidden(&[one], &counted, HashSet::new);
        assert_eq!([open, closed, closed].map(&mut count), [0, 30_000, 30_000]);
    }

    #[test]
    fn the_kernel_lists_a_connection_that_nobody_has_accepted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&[1; 20_000]).unwrap();
        let Ok(all) = list() else {
            // This kernel has no such list.
            return;
        };
        let own = inode(stream.as_fd());
        let port = address.port().to_be_bytes();
        let found = |matches: &dyn Fn(&&Connection) -> bool| *all.iter().find(matches).unwrap();
        assert_eq!(found(&|one| one.inode == own).ends[1].0, port);
        let at = inode(listener.as_fd());
        assert_eq!(found(&|one| one.inode == at).state, LISTEN);
        let waits = |one: &&Connection| one.inode == 0 && one.ends[0].0 == port;
        assert!(found(&waits).bytes >= 20_000);
        let counted = Counted {
            shown: &HashSet::from([own, at]),
            user: u32::MAX,
            is_private: false,
            has_cgroup: true,
        };
        let count = Connections::default().hidden(&all, &counted, HashSet::new);
        assert_eq!(count, found(&waits).bytes);
    }

    #[test]
    fn an_answer_of_the_kernel_that_is_cut_off_is_an_error() {
        let mut all = Vec::new();
        assert!(parse(&[255, 0, 0, 0, 20, 0, 0, 0], &mut all).is_err());
        assert!(!parse(&[], &mut all).unwrap());
        assert!(connection(&[0; 40]).is_none());
        assert!(all.is_empty());
    }
}
