//! A plan and the handles that go with it, on their way from the host to the keeper and from there to
//! the first process inside.

use crate::sys;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use skillrun_keeper::{MAX_PLACES, Place, Plan};
use std::fs::File;
use std::io::{self, IoSlice, Read as _, Seek as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The output of a program, which the keeper is started with. It ends when nobody has it any more, so
/// whoever forks leaves it to the child.
pub(crate) struct Output {
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// What comes with a plan.
pub(crate) struct Handles {
    /// The plan itself, in memory.
    pub(crate) plan: File,
    pub(crate) stdin: OwnedFd,
    /// One for each place; none for one that is not there.
    pub(crate) places: Vec<Option<OwnedFd>>,
    pub(crate) scratch: OwnedFd,
    /// The checked bytes of the script.
    pub(crate) script: Option<OwnedFd>,
    /// The executable as it was checked.
    pub(crate) program: Option<OwnedFd>,
}

impl Handles {
    /// Receives a plan with the handles of those places for which `comes` says yes.
    pub(crate) fn receive(
        from: BorrowedFd<'_>,
        comes: impl Fn(&Place) -> bool,
    ) -> io::Result<(Plan, Self)> {
        let mut handles = sys::receive_handles(from, MAX_PLACES + 5)?.into_iter();
        let mut next = || handles.next().ok_or(io::ErrorKind::InvalidData);
        let mut file = File::from(next()?);
        let stdin = next()?;
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let plan: Plan = postcard::from_bytes(&bytes).map_err(io::Error::other)?;
        let places = plan.places.iter();
        let places = places.map(|place| comes(place).then(&mut next).transpose());
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let handles = Self {
            plan: file,
            stdin,
            places,
            scratch: next()?,
            script: plan.script.is_some().then(&mut next).transpose()?,
            program: plan.program_is_checked.then(&mut next).transpose()?,
        };
        Ok((plan, handles))
    }

    /// Sends the plan on, with what there is of handles.
    pub(crate) fn send(&self, to: impl AsFd) -> io::Result<()> {
        let mut all = vec![self.plan.as_fd(), self.stdin.as_fd()];
        all.extend(self.places.iter().flatten().map(OwnedFd::as_fd));
        all.push(self.scratch.as_fd());
        all.extend(self.script.iter().chain(&self.program).map(OwnedFd::as_fd));
        send(to, &all)
    }
}

/// Sends handles with one byte.
pub(crate) fn send(to: impl AsFd, handles: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut buffer = SendAncillaryBuffer::new(&mut space);
    if !buffer.push(SendAncillaryMessage::ScmRights(handles)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let byte = [IoSlice::new(&[0])];
    sendmsg(to, &byte, &mut buffer, SendFlags::NOSIGNAL)?;
    Ok(())
}
