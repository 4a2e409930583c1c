//! The user and group ids that a program runs with.
//!
//! A program that an ordinary user starts keeps that user's id. One that root starts never does: the
//! kernel exempts user 0 from the process limit, and a hole in any other layer would be a hole in the
//! machine. So it gets an id that owns nothing, and its mounts map their owner to that id.

use crate::error::{ConfineError, Step as _};
use crate::handles::{Handles, Output};
use crate::sys::{self, Fork, Wait};
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use std::fs;
use std::io::{self, Read as _, Write as _};
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
pub(crate) struct Ids {
    /// As the machine sees them.
    pub(crate) outside: (u32, u32),
    /// As the program sees them.
    pub(crate) inside: (u32, u32),
    /// Whether they belong to this run alone.
    pub(crate) private: bool,
}

impl Ids {
    pub(crate) fn choose() -> Result<Self, ConfineError> {
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
        let own = |map: &str| private_id(map, std::process::id());
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

    /// Makes the program's user the owner of its input and output pipes, which the host created: it
    /// may open them again by name, as `/dev/stdout`.
    pub(crate) fn chown_pipes(
        &self,
        handles: &Handles,
        output: Option<&Output>,
    ) -> Result<(), ConfineError> {
        use rustix::fs::{FileType, fchown, fstat};
        use rustix::process::{Gid, Uid};
        if !self.private {
            return Ok(());
        }
        let (user, group) = (Uid::from_raw(self.outside.0), Gid::from_raw(self.outside.1));
        let output = output.map(|output| [&output.stdout, &output.stderr]);
        for handle in output.into_iter().flatten().chain([&handles.stdin]) {
            let kind = fstat(handle).step("inspect input and output")?.st_mode;
            // Only pipes belong to this run.
            if FileType::from_raw_mode(kind).is_fifo() {
                fchown(handle, Some(user), Some(group))
                    .step("change the owner of input and output")?;
            }
        }
        Ok(())
    }

    /// Lets this process read the usage of the program's processes. Root of a container may lack the
    /// capability to inspect processes of other users. With the program's user as its file system
    /// user it needs no such capability, only all those that the processes have.
    pub(crate) fn allow_inspection(&self) -> Result<(), ConfineError> {
        if !self.private {
            return Ok(());
        }
        sys::set_fs_ids(self.outside.0, self.outside.1);
        let mut sets = rustix::thread::capabilities(None).step("read the capabilities")?;
        sets.effective = sets.permitted;
        rustix::thread::set_capabilities(None, sets).step("keep the capabilities")
    }

    /// Maps these ids into the user namespace of a process.
    pub(crate) fn map(&self, process: Pid) -> Result<(), ConfineError> {
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

/// An id that is unused, among those that exist here according to `map`. It is derived from the
/// supervisor's process id. In the full range no two live runs share one; in a container's short
/// range two may.
fn private_id(map: &str, process: u32) -> Option<u32> {
    let extents = map.lines().filter_map(|line| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
        let (first, _, count) = (
            numbers.next()?.ok()?,
            numbers.next()?,
            numbers.next()?.ok()?,
        );
        Some((first, count))
    });
    let extents: Vec<(u32, u32)> = extents.collect();
    let wanted = FIRST_PRIVATE_ID + process % 0x0100_0000;
    let exists = |&(first, count): &(u32, u32)| wanted >= first && wanted - first < count;
    if extents.iter().any(exists) {
        return Some(wanted);
    }
    // A container has fewer ids: the upper half of its longest range is rarely used.
    let (first, count) = extents.into_iter().max_by_key(|(_, count)| *count)?;
    (count >= MIN_ID_RANGE).then(|| first + count - 1 - process % (count / 2))
}

/// Creates a user namespace that maps the owner of files to the program's ids, to mount them with.
pub(crate) fn mapping(owner: (u32, u32), ids: &Ids) -> io::Result<OwnedFd> {
    let (mut wait, mut done) = io::pipe()?;
    let holder = match sys::fork(libc::CLONE_NEWUSER)? {
        Fork::Child => {
            drop(done);
            // The namespace exists as long as a process is in it or has it open.
            let _ = wait.read(&mut [0]);
            std::process::exit(0);
        }
        Fork::Parent(holder) => holder,
    };
    let number = holder.as_raw_pid();
    let mapped = (|| {
        let (user, group) = ids.outside;
        fs::write(
            format!("/proc/{number}/uid_map"),
            format!("{} {user} 1", owner.0),
        )?;
        fs::write(
            format!("/proc/{number}/gid_map"),
            format!("{} {group} 1", owner.1),
        )?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let namespace = rustix::fs::open(format!("/proc/{number}/ns/user"), flags, Mode::empty())?;
        Ok(namespace)
    })();
    let _ = done.write_all(&[1]);
    drop(done);
    let _ = sys::wait(number, Wait::Block);
    mapped
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
}
