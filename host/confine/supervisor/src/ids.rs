//! The user and group ids that a program runs with.
//!
//! A program that an ordinary user starts keeps that user's id. One that root starts never does: the
//! kernel exempts user 0 from the process limit, and a hole in any other layer would be a hole in the
//! machine. So it gets an id that owns nothing, and its mounts map their owner to that id.

use crate::error::{ConfineError, Step as _};
use crate::kernel::{self, Fork, Wait};
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

/// The first private id. systemd assigns ids below 0x7000_0000 to containers and some from
/// 0x7ffe_0000 on to foreign files; user directories (SSSD, FreeIPA) use those below 2,000,200,000.
const FIRST_PRIVATE_ID: u32 = 0x7800_0000;
/// A shorter range of ids is too small to contain some that are unused.
const MIN_ID_RANGE: u32 = 4096;
/// The id that root's program sees as its own.
const INSIDE_ID: u32 = 1000;

/// A user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ids {
    /// As the machine sees them.
    pub outside: (u32, u32),
    /// As the program sees them.
    pub inside: (u32, u32),
    /// Whether they belong to this run alone.
    pub private: bool,
}

impl Ids {
    /// The ids for the program of this supervisor.
    pub fn choose() -> Result<Self, ConfineError> {
        Self::choose_for(std::process::id())
    }

    /// The ids for the worker processes of every host on this machine. Mounts are made once for many
    /// workers, so they share one private id. No process has the id 0, so no supervisor's program has it.
    pub fn of_workers() -> Result<Self, ConfineError> {
        Self::choose_for(0)
    }

    fn choose_for(process: u32) -> Result<Self, ConfineError> {
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        let real = (
            rustix::process::getuid().as_raw(),
            rustix::process::getgid().as_raw(),
        );
        if real != (user, group) {
            // Every program that it executes would run as the real user again.
            return Err(ConfineError::new(
                "choose the program's user",
                format!(
                    "its real ids are {}:{} and its effective ids are {user}:{group}",
                    real.0, real.1
                ),
            ));
        }
        if user != 0 {
            return Ok(Self {
                outside: (user, group),
                inside: (user, group),
                private: false,
            });
        }
        let map = |kind: &str| {
            let map = fs::read_to_string(format!("/proc/self/{kind}_map"));
            map.step("read the available ids")
        };
        let (users, groups) = (map("uid")?, map("gid")?);
        let own = |map: &str| private_id(map, process);
        match own(&users).zip(own(&groups)) {
            Some(own) => Ok(Self {
                outside: own,
                inside: (INSIDE_ID, INSIDE_ID),
                private: true,
            }),
            None if users.split_ascii_whitespace().nth(1) == Some("0") => Err(ConfineError::new(
                "assign a private user to the program",
                "this namespace has only root's id, whose processes the kernel does not limit",
            )),
            // Root of a namespace without further ids is an ordinary user of the machine.
            None => Ok(Self {
                outside: (user, group),
                inside: (INSIDE_ID, INSIDE_ID),
                private: false,
            }),
        }
    }

    /// Lets this process read the usage of the program's processes. Root of a container may lack the
    /// capability to inspect processes of other users. With the program's user as its file system
    /// user it needs no such capability, only all those that the processes have.
    pub fn allow_inspection(&self) -> Result<(), ConfineError> {
        if !self.private {
            return Ok(());
        }
        kernel::set_fs_ids(self.outside.0, self.outside.1);
        let mut sets = rustix::thread::capabilities(None).step("read the capabilities")?;
        sets.effective = sets.permitted;
        rustix::thread::set_capabilities(None, sets).step("keep the capabilities")
    }

    /// Makes them the ids of this process, which is inside a user namespace that they are mapped into.
    /// It keeps its capabilities there. Makes system calls only.
    pub fn take(&self) -> rustix::io::Result<()> {
        use rustix::process::{Gid, Uid};
        use rustix::thread::{CapabilitySet, CapabilitySets};
        let (user, group) = self.inside;
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        rustix::thread::set_thread_groups(&[])?;
        rustix::thread::set_thread_res_gid(group, group, group)?;
        rustix::thread::set_keep_capabilities(true)?;
        rustix::thread::set_thread_res_uid(user, user, user)?;
        let all = rustix::thread::capabilities(None)?;
        let again = CapabilitySets {
            effective: all.permitted,
            permitted: all.permitted,
            inheritable: CapabilitySet::empty(),
        };
        rustix::thread::set_capabilities(None, again)
    }

    /// Maps these ids into the user namespace of a process.
    pub fn map(&self, process: Pid) -> Result<(), ConfineError> {
        let process = process.as_raw_pid();
        let write = |file: &str, text: String| {
            fs::write(format!("/proc/{process}/{file}"), text).step("map ids into the namespace")
        };
        if !self.private {
            // An ordinary user may map a group only if no process inside can leave it.
            write("setgroups", "deny".into())?;
        }
        write("gid_map", format!("{} {} 1", self.inside.1, self.outside.1))?;
        write("uid_map", format!("{} {} 1", self.inside.0, self.outside.0))
    }
}

/// An id that is unused, among those that exist here according to `map`. It is derived from a
/// supervisor's process id. In the full range no two live runs share one; in a container's short
/// range two may.
fn private_id(map: &str, process: u32) -> Option<u32> {
    let extents = extents(map);
    let wanted = FIRST_PRIVATE_ID + process % 0x0100_0000;
    let exists = |&(first, count): &(u32, u32)| wanted >= first && wanted - first < count;
    if extents.iter().any(exists) {
        return Some(wanted);
    }
    // A container has fewer ids: the upper half of its longest range is rarely used.
    let (first, count) = extents.into_iter().max_by_key(|(_, count)| *count)?;
    (count >= MIN_ID_RANGE).then(|| first + count - 1 - process % (count / 2))
}

/// The ranges of ids that exist here according to `map`: the first, and how many.
fn extents(map: &str) -> Vec<(u32, u32)> {
    let extents = map.lines().filter_map(|line| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
        let (first, _, count) = (
            numbers.next()?.ok()?,
            numbers.next()?,
            numbers.next()?.ok()?,
        );
        Some((first, count))
    });
    extents.collect()
}

/// What the owners of files become that are not mapped to the program's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherOwners {
    /// Nobody. Their files can be read with the permissions of others, and not changed in any way.
    Nobody,
    /// Themselves. Their files can be used with the permissions of others.
    Kept,
}

/// Creates a user namespace that maps the owner of files to the program's ids, to mount them with.
///
/// The process may have other threads.
pub fn mapping(owner: (u32, u32), ids: &Ids, others: OtherOwners) -> io::Result<OwnedFd> {
    let map = |kind: &str, owner, id| -> io::Result<String> {
        match others {
            OtherOwners::Nobody => Ok(format!("{owner} {id} 1")),
            OtherOwners::Kept => {
                let own = fs::read_to_string(format!("/proc/self/{kind}_map"))?;
                Ok(map_with_others(&own, owner, id))
            }
        }
    };
    let users = map("uid", owner.0, ids.outside.0)?;
    let groups = map("gid", owner.1, ids.outside.1)?;
    let (wait, mut done) = io::pipe()?;
    let holder = match kernel::fork(libc::CLONE_NEWUSER)? {
        // The namespace exists as long as a process is in it or has it open. System calls only.
        Fork::Child => {
            drop(done);
            let _ = rustix::io::read(&wait, &mut [0]);
            kernel::exit(0);
        }
        Fork::Parent(holder) => holder,
    };
    drop(wait);
    let number = holder.as_raw_pid();
    let mapped = (|| {
        fs::write(format!("/proc/{number}/uid_map"), users)?;
        fs::write(format!("/proc/{number}/gid_map"), groups)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let namespace = rustix::fs::open(format!("/proc/{number}/ns/user"), flags, Mode::empty())?;
        Ok(namespace)
    })();
    let _ = done.write_all(&[1]);
    drop(done);
    let _ = kernel::wait(number, Wait::Block);
    mapped
}

/// A map of every id that exists here according to `own`: `owner` to `id`, all others to themselves.
fn map_with_others(own: &str, owner: u32, id: u32) -> String {
    let mut lines = format!("{owner} {id} 1\n");
    for (first, count) in extents(own) {
        let end = u64::from(first) + u64::from(count);
        let mut apart = [u64::from(owner), u64::from(id)];
        apart.sort_unstable();
        let mut next = u64::from(first);
        for until in apart.into_iter().chain([end]) {
            if until < next || until > end {
                continue;
            }
            if until > next {
                lines += &format!("{next} {next} {}\n", until - next);
            }
            next = until + 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_id_is_one_that_exists_here() {
        let all = "         0          0 4294967295\n";
        assert_eq!(private_id(all, 7), Some(FIRST_PRIVATE_ID + 7));
        let container = "         0     100000      65536\n";
        assert_eq!(private_id(container, 0), Some(65535));
        assert_eq!(private_id(container, 40_000), Some(65535 - 40_000 % 32768));
        assert_eq!(private_id("         0       1000          1\n", 7), None);
        assert_eq!(private_id("", 7), None);
    }

    #[test]
    fn private_ids_are_outside_the_ranges_that_others_assign() {
        let all = "0 0 4294967295\n";
        for process in [1, 4_194_304, u32::MAX] {
            let id = private_id(all, process).unwrap();
            assert!(id > 2_000_200_000 && id < 0x7ffe_0000, "{id}");
        }
    }

    #[test]
    fn other_owners_are_kept_without_the_owner_and_the_private_id() {
        let all = "0 0 4294967295\n";
        assert_eq!(
            map_with_others(all, 1000, 5000),
            "1000 5000 1\n0 0 1000\n1001 1001 3999\n5001 5001 4294962294\n"
        );
        assert_eq!(map_with_others(all, 0, 1), "0 1 1\n2 2 4294967293\n");
        // A container's ranges, one of which has neither id.
        assert_eq!(
            map_with_others("0 100000 10\n20 7 5\n", 9, 3),
            "9 3 1\n0 0 3\n4 4 5\n20 20 5\n"
        );
    }
}
