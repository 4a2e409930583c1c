//! A plan and its file descriptors, as they travel from the host to the supervisor and on to the init
//! process.

use crate::error::{ConfineError, Step as _};
use crate::ids::Ids;
use crate::sys;
use skillrun_supervisor::{MAX_MOUNTS, Mount, Plan, send_handles};
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The output of a program. The supervisor receives it when it is started. It reaches end of file
/// when no process has it open any more, so a process that forks leaves it to the child.
pub(crate) struct Output {
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// The file descriptors that come with a plan.
pub(crate) struct Handles {
    /// The plan itself, a file in memory.
    pub(crate) plan: File,
    pub(crate) stdin: OwnedFd,
    /// One for each mount; `None` for a mount without a handle.
    pub(crate) mounts: Vec<Option<OwnedFd>>,
    pub(crate) scratch: OwnedFd,
    /// The checked bytes of the script.
    pub(crate) script: Option<OwnedFd>,
    /// The mounted copy that covers the script's file. It is not sent with the plan.
    pub(crate) cover: Option<OwnedFd>,
    /// The executable that was checked.
    pub(crate) program: Option<OwnedFd>,
}

impl Handles {
    /// Receives a plan with the handles of those mounts for which `has_handle` returns true.
    pub(crate) fn receive(
        from: BorrowedFd<'_>,
        has_handle: impl Fn(&Mount) -> bool,
    ) -> io::Result<(Plan, Self)> {
        let mut handles = sys::receive_handles(from, MAX_MOUNTS + 5)?.into_iter();
        let mut next = || handles.next().ok_or(io::ErrorKind::InvalidData);
        let mut file = File::from(next()?);
        let stdin = next()?;
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let plan: Plan = postcard::from_bytes(&bytes).map_err(io::Error::other)?;
        let mounts = plan.mounts.iter();
        let mounts = mounts.map(|mount| has_handle(mount).then(&mut next).transpose());
        let mounts = mounts.collect::<Result<Vec<_>, _>>()?;
        let handles = Self {
            plan: file,
            stdin,
            mounts,
            scratch: next()?,
            cover: None,
            script: plan.script.is_some().then(&mut next).transpose()?,
            program: plan.program_is_checked.then(&mut next).transpose()?,
        };
        Ok((plan, handles))
    }

    /// Forwards the plan and its handles.
    pub(crate) fn send(&self, to: impl AsFd) -> io::Result<()> {
        let mut all = vec![self.plan.as_fd(), self.stdin.as_fd()];
        all.extend(self.mounts.iter().flatten().map(OwnedFd::as_fd));
        all.push(self.scratch.as_fd());
        all.extend(self.script.iter().chain(&self.program).map(OwnedFd::as_fd));
        send_handles(to, &all)
    }

    /// Makes the program's user the owner of its input and output pipes, which the host created: it
    /// may open them again by name, as `/dev/stdout`.
    pub(crate) fn chown_pipes(
        &self,
        ids: &Ids,
        output: Option<&Output>,
    ) -> Result<(), ConfineError> {
        use rustix::fs::{FileType, fchown, fstat};
        use rustix::process::{Gid, Uid};
        if !ids.private {
            return Ok(());
        }
        let (user, group) = (Uid::from_raw(ids.outside.0), Gid::from_raw(ids.outside.1));
        let output = output.map(|output| [&output.stdout, &output.stderr]);
        for handle in output.into_iter().flatten().chain([&self.stdin]) {
            let kind = fstat(handle).step("inspect input and output")?.st_mode;
            // Only pipes belong to this run.
            if FileType::from_raw_mode(kind).is_fifo() {
                fchown(handle, Some(user), Some(group))
                    .step("change the owner of input and output")?;
            }
        }
        Ok(())
    }
}
