//! Whose rights a program has.
//!
//! An ordinary user's program keeps his id. Root's never does: the kernel exempts user 0 from its
//! limit on processes, and a hole in any other layer would be a hole in the machine. So it gets a
//! number that owns nothing, and its places are mounted so that their owner's files are its own.

use crate::handles::{Handles, Output};
use crate::sys::{self, Fork, Wait};
use crate::unable::{Step as _, Unable};
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

/// The first of the private ids. systemd hands out ids below 0x7000_0000 to containers and some from
/// 0x7ffe_0000 on to files of others; directories of users (SSSD, FreeIPA) those below 2,000,200,000.
const PRIVATE: u32 = 0x7800_0000;
/// Fewer ids in a row than these are not enough to have some that are nobody's.
const FEW: u32 = 4096;
/// What root's program finds as its own id.
const ORDINARY: u32 = 1000;

/// A user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ids {
    /// As the machine sees them.
    pub(crate) outside: (u32, u32),
    /// As the program sees them.
    pub(crate) inside: (u32, u32),
    /// Whether they are of this run alone.
    pub(crate) private: bool,
}

impl Ids {
    pub(crate) fn choose() -> Result<Self, Unable> {
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        let real = (
            rustix::process::getuid().as_raw(),
            rustix::process::getgid().as_raw(),
        );
        if real != (user, group) {
            // Whatever it executes would be the other one again.
            return Err(Unable::new(
                "tell whose rights the program has",
                format!("the host is user {} and acts as user {user}", real.0),
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
            map.step("read which ids there are")
        };
        let (users, groups) = (map("uid")?, map("gid")?);
        let own = |map: &str| private_id(map, std::process::id());
        match own(&users).zip(own(&groups)) {
            Some(own) => Ok(Self {
                outside: own,
                inside: (ORDINARY, ORDINARY),
                private: true,
            }),
            None if users.split_ascii_whitespace().nth(1) == Some("0") => Err(Unable::new(
                "give the program a user of its own",
                "this namespace has no id but root's, whose processes the kernel does not limit",
            )),
            // Root of a namespace without further ids is an ordinary user of the machine.
            None => Ok(Self {
                outside: (user, group),
                inside: (ORDINARY, ORDINARY),
                private: false,
            }),
        }
    }

    /// Gives the program its input and output, which the host made: it may open them again by name, as
    /// `/dev/stdout`.
    pub(crate) fn own(&self, handles: &Handles, output: Option<&Output>) -> Result<(), Unable> {
        use rustix::fs::{FileType, fchown, fstat};
        use rustix::process::{Gid, Uid};
        if !self.private {
            return Ok(());
        }
        let (user, group) = (Uid::from_raw(self.outside.0), Gid::from_raw(self.outside.1));
        let output = output.map(|output| [&output.stdout, &output.stderr]);
        for handle in output.into_iter().flatten().chain([&handles.stdin]) {
            let kind = fstat(handle).step("look at input and output")?.st_mode;
            // Nothing else is the run's own.
            if FileType::from_raw_mode(kind).is_fifo() {
                fchown(handle, Some(user), Some(group)).step("give input and output away")?;
            }
        }
        Ok(())
    }

    /// Lets this process see what the program's processes use. Root of a container may lack the right to
    /// look into those of others; as their own user it needs none, but all that they have.
    pub(crate) fn look(&self) -> Result<(), Unable> {
        if !self.private {
            return Ok(());
        }
        sys::look_as(self.outside.0, self.outside.1);
        let mut sets = rustix::thread::capabilities(None).step("look at the rights")?;
        sets.effective = sets.permitted;
        rustix::thread::set_capabilities(None, sets).step("keep the rights")
    }

    /// Makes these the ids of a process in a new user namespace.
    pub(crate) fn map(&self, process: Pid) -> Result<(), Unable> {
        let process = process.as_raw_pid();
        let write = |file: &str, text: String| {
            fs::write(format!("/proc/{process}/{file}"), text).step("give the namespace its ids")
        };
        if !self.private {
            // An ordinary user may map a group only if nobody inside can leave it.
            write("setgroups", "deny".into())?;
        }
        write("gid_map", format!("{} {} 1", self.inside.1, self.outside.1))?;
        write("uid_map", format!("{} {} 1", self.inside.0, self.outside.0))
    }
}

/// An id that nobody else has, of those that exist here: `map` says which. A process's number is its own
/// as long as it lives, and the keeper outlives the run.
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
    let wanted = PRIVATE + process % 0x0100_0000;
    let exists = |&(first, count): &(u32, u32)| wanted >= first && wanted - first < count;
    if extents.iter().any(exists) {
        return Some(wanted);
    }
    // A container has fewer: the upper half of the most that it has in a row is seldom anybody's.
    let (first, count) = extents.into_iter().max_by_key(|(_, count)| *count)?;
    (count >= FEW).then(|| first + count - 1 - process % (count / 2))
}

/// A user namespace that maps the owner of files to the program's own ids, to mount them with.
pub(crate) fn mapping(owner: (u32, u32), ids: &Ids) -> io::Result<OwnedFd> {
    let (mut wait, mut done) = io::pipe()?;
    let holder = match sys::fork(libc::CLONE_NEWUSER)? {
        Fork::Child => {
            drop(done);
            // The namespace lives as long as somebody is in it or holds it.
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
        assert_eq!(private_id(all, 7), Some(PRIVATE + 7));
        let container = "         0     100000      65536\n";
        assert_eq!(private_id(container, 0), Some(65535));
        assert_eq!(private_id(container, 40_000), Some(65535 - 40_000 % 32768));
        assert_eq!(private_id("         0       1000          1\n", 7), None);
        assert_eq!(private_id("", 7), None);
    }

    #[test]
    fn private_ids_are_none_that_anybody_hands_out() {
        let all = "0 0 4294967295\n";
        for process in [1, 4_194_304, u32::MAX] {
            let id = private_id(all, process).unwrap();
            assert!(id > 2_000_200_000 && id < 0x7ffe_0000, "{id}");
        }
    }
}
