//! Counts the handles that the threads of a run wait for in `poll` or `select`.
//!
//! Such a call keeps every file it waits for until it returns, even if another thread closes the handle meanwhile. Then nothing
//! in `/proc` shows the file, so the memory it buffers would count for nobody. The kernel shows the arguments of a call that
//! blocks, though, and with them the number of handles. It does not show which files they are. Each therefore counts as one
//! that is hidden, also if it is open and counts already: programs wait for a few handles at a time.
//!
//! After a stop the kernel continues such a call by `restart_syscall`, whose arguments mean nothing: a program that makes it by
//! itself chooses them. So the filter refuses it, and the call ends.

use crate::tree::Tree;
use std::fs;

/// The calls that wait for as many handles as an argument says, with its position.
const WAITS: &[(libc::c_long, usize)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_poll, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_select, 0),
    (libc::SYS_ppoll, 1),
    (libc::SYS_pselect6, 0),
];

/// The number of handles that all threads of these processes wait for. A call waits for at most `open_files`: the kernel refuses
/// or reduces a larger number.
///
/// Yama can forbid to read the arguments (`ptrace_scope` 2 and 3). Then the number is 0.
pub(crate) fn handles(tree: &Tree, open_files: u32) -> u64 {
    let threads = tree.ids().flat_map(|process| {
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        threads.into_iter().flatten().flatten()
    });
    let calls = threads.filter_map(|thread| fs::read_to_string(thread.path().join("syscall")).ok());
    let waits = calls.filter_map(|call| waits_for(&call, open_files));
    waits.map(u64::from).sum()
}

/// The number of handles in the text of `/proc/PID/task/TID/syscall`, if the call waits for handles. A thread that runs shows no
/// call.
fn waits_for(call: &str, open_files: u32) -> Option<u32> {
    let mut words = call.split_ascii_whitespace();
    let number: libc::c_long = words.next()?.parse().ok()?;
    let (_, position) = WAITS.iter().find(|(wait, _)| *wait == number)?;
    let count = words.nth(*position)?.strip_prefix("0x")?;
    let bits = u64::from_str_radix(count, 16).ok()? & u64::from(u32::MAX);
    let count = u32::try_from(bits).ok()?;
    Some(count.min(open_files))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Process;
    use std::os::fd::AsFd as _;

    #[test]
    fn the_arguments_of_a_blocked_call_name_the_number_of_handles() {
        let waits = |number: libc::c_long, arguments: &str| {
            waits_for(
                &format!("{number} {arguments} 0x0 0x0 0x0 0x7ffd0010 0x7f00\n"),
                256,
            )
        };
        let poll = libc::SYS_ppoll;
        assert_eq!(waits(poll, "0x7ffd0000 0xfa 0x0"), Some(250));
        // The kernel reads the number as an `unsigned int`.
        assert_eq!(waits(poll, "0x7ffd0000 0xffffffff000000fa 0x0"), Some(250));
        assert_eq!(waits(libc::SYS_pselect6, "0x11 0x7ffd0000 0x0"), Some(17));
        // It reduces a larger number for `select`.
        assert_eq!(waits(libc::SYS_pselect6, "0x7fffffff 0x0 0x0"), Some(256));
        assert_eq!(waits(libc::SYS_futex, "0x7ffd0000 0x80 0x0"), None);
        assert_eq!(waits_for("running\n", 256), None);
        assert_eq!(waits_for("-1 0x7ffd0000 0x7f0000000000\n", 256), None);
        assert_eq!(waits_for("", 256), None);
    }

    #[test]
    fn handles_that_a_thread_waits_for_are_counted_after_they_were_closed() {
        use rustix::event::{PollFd, PollFlags, poll};
        let own = std::process::id().cast_signed();
        let tree = Tree {
            processes: vec![Process { id: own, parent: 1 }],
            is_complete: true,
        };
        let (read, write) = rustix::pipe::pipe().unwrap();
        // More than other tests of this process wait for at a time.
        let waits = std::thread::spawn(move || {
            let mut handles: Vec<_> = (0..200)
                .map(|_| PollFd::from_borrowed_fd(read.as_fd(), PollFlags::IN))
                .collect();
            poll(&mut handles, None)
        });
        while handles(&tree, 256) < 200 {
            std::thread::yield_now();
        }
        drop(write);
        waits.join().unwrap().unwrap();
    }
}
