//! Seccomp filters: a table of system calls, and the compiler that turns it into BPF programs.

/// Calls with their names.
macro_rules! calls {
    ($($call:ident),* $(,)?) => {
        &[$((stringify!($call), libc::$call)),*]
    };
}
pub(crate) use calls;

mod program;
mod table;

use crate::Backend;
use program::{Answer, Instruction, compile, report};
use std::collections::BTreeMap;

/// System calls with the reason for allowing them, the programs they apply to, and conditions on
/// their arguments.
pub(crate) struct Entry {
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the table"))]
    why: &'static str,
    at: Where,
    calls: &'static [Call],
    /// Calls whose numbers libc lacks on some targets.
    extra: &'static [Call],
    /// Arguments that get an error of their own: if all tests of a list pass, its error.
    errors: &'static [(&'static [Test], i32)],
    /// Alternatives, each a list of tests that must all pass.
    when: &'static [&'static [Test]],
    /// The error if no alternative passes.
    otherwise: i32,
}

pub(crate) type Call = (&'static str, i64);

/// The programs that an entry applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    All,
    Namespaces,
    NamespacesInCgroup,
    Landlock,
    Network,
    NoNetwork,
    SocketsRefused,
    SocketsReported,
    Cgroup,
    NoCgroup,
    CgroupWithoutNetwork,
    NoCgroupWithoutNetwork,
}

/// Whether a program may reach the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    Granted,
    Refused,
    /// Refused, and the supervisor refuses and counts new internet sockets. The filter would refuse them
    /// without a report. Everything else that a connection needs is still refused by the filter, and
    /// the program has a network namespace without any network.
    Reported,
}

/// What counts the memory of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// The kernel, in a control group.
    InCgroup,
    /// The supervisor, per process.
    InProcesses,
}

/// A test on the argument with this index.
#[derive(Debug)]
pub(crate) struct Test(pub(crate) u8, pub(crate) Is);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Is {
    /// Its lower half, which is all that the kernel uses of it, is this.
    Equal(u32),
    /// Its lower half is anything but this.
    Not(u32),
    /// Its lower half has none of these bits.
    Without(u32),
    /// Of the first bits, its lower half has exactly the second.
    Exactly(u32, u32),
    /// It is a null pointer.
    Null,
}

impl Entry {
    pub(crate) const fn new(why: &'static str) -> Self {
        Self {
            why,
            at: Where::All,
            calls: &[],
            extra: &[],
            errors: &[],
            when: &[],
            otherwise: libc::ENOSYS,
        }
    }

    pub(crate) const fn calls(self, calls: &'static [Call]) -> Self {
        Self { calls, ..self }
    }

    /// More calls, whose numbers libc lacks on some targets.
    pub(crate) const fn numbered(self, extra: &'static [Call]) -> Self {
        Self { extra, ..self }
    }

    const fn only(self, at: Where) -> Self {
        Self { at, ..self }
    }

    pub(crate) const fn when(self, when: &'static [&'static [Test]]) -> Self {
        Self { when, ..self }
    }

    const fn errors(self, errors: &'static [(&'static [Test], i32)]) -> Self {
        Self { errors, ..self }
    }

    pub(crate) const fn otherwise(self, otherwise: i32) -> Self {
        Self { otherwise, ..self }
    }

    fn applies(&self, backend: Backend, network: Network, memory: Memory) -> bool {
        match self.at {
            Where::All => true,
            Where::Namespaces => backend == Backend::Namespaces,
            Where::NamespacesInCgroup => {
                backend == Backend::Namespaces && memory == Memory::InCgroup
            }
            Where::Landlock => backend == Backend::Landlock,
            Where::Network => network == Network::Granted,
            Where::NoNetwork => network != Network::Granted,
            Where::SocketsRefused => network == Network::Refused,
            Where::SocketsReported => network == Network::Reported,
            Where::Cgroup => memory == Memory::InCgroup,
            Where::NoCgroup => memory == Memory::InProcesses,
            Where::CgroupWithoutNetwork => {
                memory == Memory::InCgroup && network != Network::Granted
            }
            Where::NoCgroupWithoutNetwork => {
                memory == Memory::InProcesses && network != Network::Granted
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn why(&self) -> &'static str {
        self.why
    }

    pub(crate) fn all_calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().chain(self.extra)
    }

    /// The error for calls that are always refused.
    fn refusal(&self) -> Answer {
        Answer::Errno(self.otherwise)
    }

    fn answer(&self) -> Answer {
        match self.when {
            [] => Answer::Allow,
            lists => Answer::If(self.errors, lists, self.otherwise),
        }
    }
}

/// The filter that reports calls which open a file only to read it and, if the network says so, new
/// internet sockets.
pub(crate) fn reported(network: Network) -> Vec<u8> {
    let mut calls = table::OPENS.to_vec();
    if network == Network::Reported {
        calls.extend(table::SOCKETS);
    }
    let program = report(&calls);
    program.iter().flat_map(Instruction::bytes).collect()
}

/// The filter for one kind of program.
pub(crate) fn filter(backend: Backend, network: Network, memory: Memory) -> Vec<u8> {
    let program = compile(&answers(backend, network, memory), libc::ENOSYS);
    program.iter().flat_map(Instruction::bytes).collect()
}

/// The filter for a process with a table of its own. Calls of `fatal` kill the process, those of
/// `refused` and `allowed` get the errors that their entries name, and all others ENOSYS.
pub(crate) fn filter_for(allowed: &[&[Entry]], refused: &[Entry], fatal: &[Entry]) -> Vec<u8> {
    let program = compile(&answers_for(allowed, refused, fatal), libc::ENOSYS);
    program.iter().flat_map(Instruction::bytes).collect()
}

fn answers_for(allowed: &[&[Entry]], refused: &[Entry], fatal: &[Entry]) -> BTreeMap<u32, Answer> {
    let mut answers = BTreeMap::new();
    let mut add = |entries: &[Entry], answer: &dyn Fn(&Entry) -> Answer| {
        for entry in entries {
            for (_, number) in entry.all_calls() {
                answers.insert(u32::try_from(*number).unwrap_or(u32::MAX), answer(entry));
            }
        }
    };
    for entries in allowed {
        add(entries, &Entry::answer);
    }
    add(refused, &Entry::refusal);
    add(fatal, &|_| Answer::Kill);
    answers
}

fn answers(backend: Backend, network: Network, memory: Memory) -> BTreeMap<u32, Answer> {
    let mut answers = BTreeMap::new();
    let mut add = |entries: &[Entry], answer: &dyn Fn(&Entry) -> Answer| {
        for entry in entries
            .iter()
            .filter(|entry| entry.applies(backend, network, memory))
        {
            for (_, number) in entry.all_calls() {
                answers.insert(u32::try_from(*number).unwrap_or(u32::MAX), answer(entry));
            }
        }
    };
    add(table::REFUSED, &|_| Answer::Errno(libc::EPERM));
    add(table::UNSUPPORTED, &|_| Answer::Errno(libc::EOPNOTSUPP));
    add(table::FAILING, &Entry::refusal);
    add(table::ALLOWED, &Entry::answer);
    // Last, because these replace entries of `ALLOWED` and `REFUSED`. EOPNOTSUPP is what a file system
    // without extended attributes returns, and programs that copy files expect it; so does a kernel on which Landlock is
    // switched off.
    add(table::UNCOUNTED, &|_| Answer::Errno(libc::EOPNOTSUPP));
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All kinds of programs.
    fn kinds() -> impl Iterator<Item = (Backend, Network, Memory)> {
        let backends = [Backend::Namespaces, Backend::Landlock].into_iter();
        let networks = [Network::Granted, Network::Refused, Network::Reported];
        let kinds = backends.flat_map(move |backend| networks.map(|network| (backend, network)));
        kinds.flat_map(|(backend, network)| {
            let memories = [Memory::InCgroup, Memory::InProcesses];
            memories.map(|memory| (backend, network, memory))
        })
    }

    fn names(entries: &'static [Entry]) -> Vec<&'static str> {
        let names = entries.iter().flat_map(Entry::all_calls);
        names
            .map(|(name, _)| name.trim_start_matches("SYS_"))
            .collect()
    }

    #[test]
    fn calls_that_attack_the_kernel_the_machine_or_other_processes_are_not_allowed() {
        let allowed = names(table::ALLOWED);
        for call in [
            "clone3",
            "io_uring_setup",
            "io_uring_enter",
            "io_uring_register",
            "keyctl",
            "add_key",
            "request_key",
            "ptrace",
            "process_vm_readv",
            "process_vm_writev",
            "mount",
            "umount2",
            "pivot_root",
            "move_mount",
            "open_tree",
            "fsopen",
            "fsmount",
            "mount_setattr",
            "chroot",
            "bpf",
            "perf_event_open",
            "userfaultfd",
            "kexec_load",
            "kexec_file_load",
            "init_module",
            "finit_module",
            "delete_module",
            "unshare",
            "setns",
            "memfd_create",
            "memfd_secret",
            "open_by_handle_at",
            "pidfd_getfd",
            "fallocate",
            "copy_file_range",
            "shmget",
            "msgget",
            "semget",
            "mq_open",
            "vmsplice",
            "restart_syscall",
            "splice",
            "tee",
            "sendfile",
            "iopl",
            "ioperm",
            "modify_ldt",
            "reboot",
            "sync",
        ] {
            assert!(!allowed.contains(&call), "{call}");
        }
    }

    #[test]
    fn every_entry_has_a_reason_and_calls() {
        for entry in table::ALLOWED
            .iter()
            .chain(table::REFUSED)
            .chain(table::UNSUPPORTED)
            .chain(table::FAILING)
            .chain(table::UNCOUNTED)
        {
            assert!(entry.why.len() > 5, "{}", entry.why);
            assert!(entry.all_calls().count() > 0, "{}", entry.why);
        }
    }

    #[test]
    fn each_kind_of_program_has_one_entry_per_call() {
        for (backend, network, memory) in kinds() {
            let all = table::ALLOWED
                .iter()
                .chain(table::REFUSED)
                .chain(table::UNSUPPORTED)
                .chain(table::FAILING);
            let all = all.filter(|entry| entry.applies(backend, network, memory));
            let mut numbers: Vec<_> = all.flat_map(Entry::all_calls).collect();
            numbers.sort_by_key(|(_, number)| *number);
            for pair in numbers.windows(2) {
                assert_ne!(
                    pair[0].1, pair[1].1,
                    "{backend:?} {network:?} {memory:?}: {}",
                    pair[0].0
                );
            }
        }
    }

    #[test]
    fn the_program_answers_every_call_as_the_table_says() {
        use program::tests::{call, run};
        for (backend, network, memory) in kinds() {
            let answers = answers(backend, network, memory);
            let program = compile(&answers, libc::ENOSYS);
            // A long program takes long to install.
            assert!(program.len() < 500, "{}", program.len());
            for number in (0..600).chain(0x4000_0000..0x4000_0250) {
                let error = |errno: i32| libc::SECCOMP_RET_ERRNO | errno.cast_unsigned();
                let expected = match answers.get(&number) {
                    Some(Answer::Allow) => libc::SECCOMP_RET_ALLOW,
                    Some(Answer::Errno(errno)) => error(*errno),
                    Some(Answer::Kill) => libc::SECCOMP_RET_KILL_PROCESS,
                    Some(Answer::If(..)) => continue,
                    None => error(libc::ENOSYS),
                };
                let answer = run(&program, &call(number, [0; 6]));
                assert_eq!(
                    answer, expected,
                    "{backend:?} {network:?} {memory:?} {number}"
                );
            }
        }
    }

    #[test]
    fn clone_creates_no_namespace_and_ioctl_injects_no_input() {
        use program::tests::{call, run};
        let program = compile(
            &answers(Backend::Namespaces, Network::Refused, Memory::InCgroup),
            libc::ENOSYS,
        );
        let allowed = |number: i64, arguments: [u64; 6]| {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            run(&program, &call(number, arguments)) == libc::SECCOMP_RET_ALLOW
        };
        let flags = |flags: i32| [u64::from(flags.cast_unsigned()), 0, 0, 0, 0, 0];
        assert!(allowed(libc::SYS_clone, flags(libc::SIGCHLD)));
        assert!(allowed(
            libc::SYS_clone,
            flags(libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_FILES)
        ));
        for one in [
            libc::CLONE_NEWUSER,
            libc::CLONE_NEWNS,
            libc::CLONE_NEWPID,
            libc::CLONE_NEWNET,
        ] {
            assert!(!allowed(libc::SYS_clone, flags(one | libc::SIGCHLD)));
        }
        assert!(allowed(libc::SYS_ioctl, [1, libc::TCGETS, 0, 0, 0, 0]));
        assert!(!allowed(libc::SYS_ioctl, [1, libc::TIOCSTI, 0, 0, 0, 0]));
        assert!(!allowed(
            libc::SYS_ioctl,
            [1, libc::TIOCSTI | 1 << 32, 0, 0, 0, 0]
        ));
        assert!(!allowed(libc::SYS_socket, [2, 1, 0, 0, 0, 0]));
    }

    #[test]
    fn threads_share_one_table_of_handles_and_processes_share_none() {
        use program::tests::{call, run};
        for (backend, network, memory) in kinds() {
            let program = compile(&answers(backend, network, memory), libc::ENOSYS);
            let answer = |number: i64, arguments: [i32; 3]| {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                let [a, b, c] = arguments.map(|argument| u64::from(argument.cast_unsigned()));
                run(&program, &call(number, [a, b, c, 0, 0, 0]))
            };
            let started = |flags: i32| answer(libc::SYS_clone, [flags, 0, 0]);
            let shared =
                libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_SIGHAND | libc::CLONE_SYSVSEM;
            let thread = shared | libc::CLONE_THREAD | libc::CLONE_FILES;
            let settings =
                libc::CLONE_SETTLS | libc::CLONE_PARENT_SETTID | libc::CLONE_CHILD_CLEARTID;
            let allow = libc::SECCOMP_RET_ALLOW;
            // As glibc and musl start a thread, and Go; a process, and one by `posix_spawn`.
            for flags in [
                thread | settings,
                thread | settings | libc::CLONE_DETACHED,
                thread,
                settings | libc::SIGCHLD,
                libc::SIGCHLD,
                libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            ] {
                assert_eq!(started(flags), allow, "{flags:x}");
            }
            for flags in [
                thread & !libc::CLONE_FILES,
                libc::CLONE_FILES | libc::SIGCHLD,
                libc::CLONE_FILES | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                thread | libc::CLONE_NEWUSER,
            ] {
                assert_ne!(started(flags), allow, "{flags:x}");
            }
            let close = |flags: u32| answer(libc::SYS_close_range, [3, -1, flags.cast_signed()]);
            assert_eq!(close(0), allow);
            assert_eq!(close(libc::CLOSE_RANGE_CLOEXEC), allow);
            let refused = libc::SECCOMP_RET_ERRNO | libc::EINVAL.cast_unsigned();
            assert_eq!(close(libc::CLOSE_RANGE_UNSHARE), refused);
            assert_eq!(
                close(libc::CLOSE_RANGE_UNSHARE | libc::CLOSE_RANGE_CLOEXEC),
                refused
            );
        }
    }

    #[test]
    fn internet_sockets_have_the_usual_protocols_only() {
        use program::tests::{call, run};
        let number = u32::try_from(libc::SYS_socket).unwrap_or(u32::MAX);
        for memory in [Memory::InCgroup, Memory::InProcesses] {
            let answers = answers(Backend::Namespaces, Network::Granted, memory);
            let program = compile(&answers, libc::ENOSYS);
            let answer = |family: i32, protocol: i32| {
                let [family, protocol] = [family, protocol].map(i32::cast_unsigned);
                let arguments = [family.into(), 1, protocol.into(), 0, 0, 0];
                run(&program, &call(number, arguments))
            };
            let error = |errno: i32| libc::SECCOMP_RET_ERRNO | errno.cast_unsigned();
            for family in [libc::AF_INET, libc::AF_INET6] {
                for protocol in [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP] {
                    assert_eq!(answer(family, protocol), libc::SECCOMP_RET_ALLOW);
                }
                for protocol in [libc::IPPROTO_SCTP, libc::IPPROTO_MPTCP, 256, -1] {
                    assert_eq!(answer(family, protocol), error(libc::EPROTONOSUPPORT));
                }
            }
            assert_eq!(answer(libc::AF_NETLINK, 0), libc::SECCOMP_RET_ALLOW);
            assert_eq!(answer(libc::AF_UNIX, 0), error(libc::EPERM));
            assert_eq!(answer(libc::AF_PACKET, 768), error(libc::EPERM));
        }
    }

    #[test]
    fn an_open_file_takes_only_the_commands_that_programs_use() {
        use program::tests::{call, run};
        for (backend, network, memory) in kinds() {
            let program = compile(&answers(backend, network, memory), libc::ENOSYS);
            let number = u32::try_from(libc::SYS_fcntl).unwrap_or(u32::MAX);
            let answer = |command: u64| run(&program, &call(number, [3, command, 1, 0, 0, 0]));
            let error = |errno: i32| libc::SECCOMP_RET_ERRNO | errno.cast_unsigned();
            let common = [
                libc::F_DUPFD,
                libc::F_SETFD,
                libc::F_SETFL,
                libc::F_SETLKW,
                libc::F_SETOWN,
                libc::F_DUPFD_CLOEXEC,
                libc::F_GETPIPE_SZ,
            ];
            for command in common {
                let command = u64::from(command.cast_unsigned());
                assert_eq!(answer(command), libc::SECCOMP_RET_ALLOW, "{command}");
            }
            // F_OFD_SETLK, F_NOTIFY, F_GETDELEG, F_SETDELEG, and what does not exist yet.
            for command in [37, 1026, 1029, 1039, 1040, 1041, 1 << 16] {
                assert_eq!(answer(command), error(libc::EINVAL), "{command}");
            }
            // The kernel uses the lower half.
            assert_eq!(answer(1026 | 1 << 32), error(libc::EINVAL));
            let lease = u64::from(libc::F_SETLEASE.cast_unsigned());
            assert_eq!(answer(lease), error(libc::EPERM));
            let pipe = match memory {
                Memory::InCgroup => libc::SECCOMP_RET_ALLOW,
                Memory::InProcesses => error(libc::EPERM),
            };
            assert_eq!(answer(u64::from(libc::F_SETPIPE_SZ.cast_unsigned())), pipe);
        }
    }

    #[test]
    fn a_call_that_was_stopped_ends_with_eintr() {
        use program::tests::{call, run};
        for (backend, network, memory) in kinds() {
            let program = compile(&answers(backend, network, memory), libc::ENOSYS);
            let number = u32::try_from(libc::SYS_restart_syscall).unwrap_or(u32::MAX);
            let interrupted = libc::SECCOMP_RET_ERRNO | libc::EINTR.cast_unsigned();
            assert_eq!(run(&program, &call(number, [0; 6])), interrupted);
        }
    }

    #[test]
    fn only_calls_that_open_a_path_to_read_it_are_reported() {
        use program::tests::{call, run};
        let program = report(table::OPENS);
        let with_sockets = report(&[table::OPENS, table::SOCKETS].concat());
        let reported = |number: i64, arguments: [i32; 3]| {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let [a, b, c] = arguments.map(|argument| u64::from(argument.cast_unsigned()));
            let call = call(number, [a, b, c, 0, 0, 0]);
            assert_eq!(run(&program, &call), run(&with_sockets, &call));
            match run(&program, &call) {
                libc::SECCOMP_RET_USER_NOTIF => true,
                libc::SECCOMP_RET_ALLOW => false,
                other => panic!("{other:x}"),
            }
        };
        let here = libc::AT_FDCWD;
        for flags in [0, libc::O_CLOEXEC, libc::O_NONBLOCK | libc::O_CLOEXEC] {
            assert!(reported(libc::SYS_openat, [here, 1, flags]));
            assert!(!reported(libc::SYS_openat, [3, 1, flags]));
            #[cfg(target_arch = "x86_64")]
            assert!(reported(libc::SYS_open, [1, flags, 0]));
        }
        for flags in [
            libc::O_WRONLY,
            libc::O_RDWR,
            libc::O_CREAT,
            libc::O_PATH,
            libc::O_TMPFILE,
        ] {
            assert!(!reported(libc::SYS_openat, [here, 1, flags]));
            #[cfg(target_arch = "x86_64")]
            assert!(!reported(libc::SYS_open, [1, flags, 0]));
        }
        assert!(!reported(libc::SYS_read, [here, 1, 0]));
    }

    #[test]
    fn an_internet_socket_is_either_granted_refused_or_reported_and_refused() {
        use program::tests::{call, run};
        let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
        let number = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        let socket = |family: i32| {
            let family = u64::from(family.cast_unsigned());
            call(number(libc::SYS_socket), [family, 1, 0, 0, 0, 0])
        };
        let reports = report(&[table::OPENS, table::SOCKETS].concat());
        for (backend, network, memory) in kinds() {
            let program = compile(&answers(backend, network, memory), libc::ENOSYS);
            let granted = match network {
                Network::Refused => refused,
                Network::Granted | Network::Reported => libc::SECCOMP_RET_ALLOW,
            };
            for family in [libc::AF_INET, libc::AF_INET6] {
                assert_eq!(run(&program, &socket(family)), granted);
                // The kernel asks the supervisor where the other filter allows the call.
                let reported = run(&reports, &socket(family));
                assert_eq!(reported, libc::SECCOMP_RET_USER_NOTIF);
            }
            for family in [libc::AF_UNIX, libc::AF_PACKET, libc::AF_ALG, libc::AF_VSOCK] {
                assert_eq!(run(&program, &socket(family)), refused);
                assert_eq!(run(&reports, &socket(family)), libc::SECCOMP_RET_ALLOW);
            }
            for used in [libc::SYS_connect, libc::SYS_bind, libc::SYS_listen] {
                let expected = match network {
                    Network::Granted => libc::SECCOMP_RET_ALLOW,
                    Network::Refused | Network::Reported => refused,
                };
                assert_eq!(run(&program, &call(number(used), [0; 6])), expected);
            }
        }
    }

    #[test]
    fn calls_without_a_libc_number_are_allowed() {
        use program::tests::{call, run};
        for (backend, network, memory) in kinds() {
            let program = compile(&answers(backend, network, memory), libc::ENOSYS);
            for (name, number) in [("epoll_pwait2", 441), ("futex_waitv", 449)] {
                let answer = run(&program, &call(number, [0; 6]));
                assert_eq!(answer, libc::SECCOMP_RET_ALLOW, "{name}");
            }
        }
    }

    #[test]
    fn inotify_is_allowed_only_if_a_control_group_counts_its_queues() {
        use program::tests::{call, run};
        for (backend, network, memory) in kinds() {
            let program = compile(&answers(backend, network, memory), libc::ENOSYS);
            let number = u32::try_from(libc::SYS_inotify_init1).unwrap_or(u32::MAX);
            let expected = match (backend, memory) {
                (Backend::Namespaces, Memory::InCgroup) => libc::SECCOMP_RET_ALLOW,
                _ => libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned(),
            };
            assert_eq!(run(&program, &call(number, [0; 6])), expected);
        }
    }

    #[test]
    fn buffers_of_sockets_and_pipes_grow_only_if_a_control_group_counts_them() {
        use program::tests::{call, run};
        for (backend, network, memory) in kinds() {
            let program = compile(&answers(backend, network, memory), libc::ENOSYS);
            let answer = |number: i64, arguments: [i32; 3]| {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                let [a, b, c] = arguments.map(|argument| u64::from(argument.cast_unsigned()));
                run(&program, &call(number, [a, b, c, 0, 0, 0]))
            };
            let allow = libc::SECCOMP_RET_ALLOW;
            let error = |errno: i32| libc::SECCOMP_RET_ERRNO | errno.cast_unsigned();
            let grown = match memory {
                Memory::InCgroup => allow,
                Memory::InProcesses => error(libc::EPERM),
            };
            // No control group counts all buffers of a network. There the call does nothing and returns success.
            let socket_grown = match network {
                Network::Granted => error(0),
                Network::Refused | Network::Reported => grown,
            };
            let set = |option: i32| answer(libc::SYS_setsockopt, [3, libc::SOL_SOCKET, option]);
            for option in [
                libc::SO_SNDBUF,
                libc::SO_RCVBUF,
                libc::SO_SNDBUFFORCE,
                libc::SO_RCVBUFFORCE,
            ] {
                assert_eq!(set(option), socket_grown, "{option}");
            }
            assert_eq!(set(libc::SO_REUSEADDR), allow);
            let tcp = [3, libc::IPPROTO_TCP, libc::TCP_NODELAY];
            assert_eq!(answer(libc::SYS_setsockopt, tcp), allow);
            let control = |command: i32| answer(libc::SYS_fcntl, [3, command, 0]);
            assert_eq!(control(libc::F_SETPIPE_SZ), grown);
            assert_eq!(control(libc::F_SETLEASE), error(libc::EPERM));
            for command in [libc::F_OFD_GETLK, libc::F_OFD_SETLK, libc::F_OFD_SETLKW] {
                assert_eq!(control(command), error(libc::EINVAL), "{command}");
            }
            for command in [
                libc::F_DUPFD,
                libc::F_SETFL,
                libc::F_GETLK,
                libc::F_SETLK,
                libc::F_SETLKW,
                libc::F_DUPFD_CLOEXEC,
                libc::F_GETPIPE_SZ,
                libc::F_ADD_SEALS,
                libc::F_GET_SEALS,
            ] {
                assert_eq!(control(command), allow, "{command}");
            }
        }
    }

    #[test]
    fn anonymous_shared_memory_is_allowed_only_if_a_control_group_counts_it() {
        use program::tests::{call, run};
        for (backend, network, memory) in kinds() {
            let program = compile(&answers(backend, network, memory), libc::ENOSYS);
            let answer = |flags: i32| {
                let number = u32::try_from(libc::SYS_mmap).unwrap_or(u32::MAX);
                let flags = u64::from(flags.cast_unsigned());
                run(&program, &call(number, [0, 4096, 3, flags, 0, 0]))
            };
            let allow = libc::SECCOMP_RET_ALLOW;
            let shared = match memory {
                Memory::InCgroup => allow,
                Memory::InProcesses => libc::SECCOMP_RET_ERRNO | libc::ENOMEM.cast_unsigned(),
            };
            assert_eq!(answer(libc::MAP_SHARED | libc::MAP_ANONYMOUS), shared);
            assert_eq!(
                answer(libc::MAP_SHARED_VALIDATE | libc::MAP_ANONYMOUS),
                shared
            );
            assert_eq!(answer(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS), allow);
            assert_eq!(answer(libc::MAP_SHARED), allow);
            assert_eq!(answer(libc::MAP_PRIVATE), allow);
        }
    }
}
