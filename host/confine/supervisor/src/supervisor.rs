//! What all plans of a supervisor share.

use crate::cgroup::Cgroup;
use std::os::fd::OwnedFd;

/// What all plans share.
pub(crate) struct Supervisor {
    /// The socket to the host.
    pub(crate) control: OwnedFd,
    pub(crate) cgroup: Option<Cgroup>,
}
