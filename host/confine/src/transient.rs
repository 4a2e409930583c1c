//! Tells errors that say what a machine offers from those that may pass.
//!
//! A weaker backend is used only where the machine does not offer the stronger one. A script of the same user can use up much
//! of what a probe needs, such as handles in transit or memory, and must not weaken the next script by that.

use crate::ConfineError;
use rustix::io::Errno;

/// Errors of the kernel that say that this machine does not offer or allow something.
const PERMANENT: [Errno; 14] = [
    Errno::PERM,
    Errno::ACCESS,
    Errno::NOSYS,
    Errno::INVAL,
    Errno::OPNOTSUPP,
    Errno::TOOBIG,
    Errno::NODEV,
    Errno::NOENT,
    Errno::NOTDIR,
    Errno::ROFS,
    Errno::XDEV,
    Errno::LOOP,
    Errno::NOPROTOOPT,
    // User namespaces are nested too deeply.
    Errno::USERS,
];

/// The limits on namespaces; 0 forbids them.
const NAMESPACE_LIMITS: [&str; 7] = ["user", "mnt", "pid", "ipc", "uts", "cgroup", "net"];

/// Reasons without an error of the kernel that may pass.
const INTERRUPTED: [&str; 6] = [
    "the supervisor died",
    "its init process died",
    "it did not start within",
    "unexpected end of file",
    "broken pipe",
    "received ",
];

/// Whether a backend that failed for this reason may work later.
pub(crate) fn is_transient(error: &ConfineError) -> bool {
    is_transient_if(error, namespaces_are_off)
}

fn is_transient_if(error: &ConfineError, namespaces_are_off: impl Fn() -> bool) -> bool {
    match errno(&error.why) {
        // The limit on namespaces has this error, too.
        Some(Errno::NOSPC) => !namespaces_are_off(),
        Some(errno) => !PERMANENT.contains(&errno),
        // A machine kills what makes a call that it forbids.
        None if error.why.contains("SIGSYS") => false,
        None => INTERRUPTED
            .iter()
            .any(|reason| error.why.starts_with(reason)),
    }
}

/// The error of the kernel in a reason. It crosses two processes as text.
fn errno(why: &str) -> Option<Errno> {
    let (_, rest) = why.rsplit_once("(os error ")?;
    let (number, _) = rest.split_once(')')?;
    Some(Errno::from_raw_os_error(number.parse().ok()?))
}

fn namespaces_are_off() -> bool {
    NAMESPACE_LIMITS.iter().any(|kind| {
        let path = format!("/proc/sys/user/max_{kind}_namespaces");
        std::fs::read_to_string(path).is_ok_and(|limit| limit.trim() == "0")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(why: impl std::fmt::Display) -> ConfineError {
        ConfineError {
            step: "create namespaces".into(),
            why: why.to_string(),
        }
    }

    #[test]
    fn what_a_script_can_use_up_is_transient() {
        for errno in [
            Errno::TOOMANYREFS,
            Errno::NOMEM,
            Errno::AGAIN,
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::INTR,
            Errno::NOBUFS,
        ] {
            let is_off = || false;
            assert!(is_transient_if(&error(errno), is_off), "{errno}");
            let io = std::io::Error::from(errno);
            assert!(is_transient_if(&error(io), is_off), "{errno}");
        }
        for why in [
            "its init process died",
            "the supervisor died: signal: 9 (SIGKILL)",
        ] {
            assert!(is_transient(&error(why)), "{why}");
        }
    }

    #[test]
    fn what_a_machine_does_not_offer_is_not() {
        for errno in PERMANENT {
            assert!(!is_transient(&error(errno)), "{errno}");
        }
        assert!(!is_transient_if(&error(Errno::NOSPC), || true));
        for why in [
            "this kernel does not have it, or it is switched off",
            "writing into /usr is possible",
            "`/proc` does not show its processes (is it mounted with `hidepid`?)",
            "the supervisor died: signal: 31 (SIGSYS)",
        ] {
            assert!(!is_transient(&error(why)), "{why}");
        }
    }
}
