//! From the socket to the report.

use crate::cgroup::Cgroup;
use crate::unable::{Step as _, Unable};
use crate::{flat, namespaces, sys};
use rustix::fs::{Mode, OFlags};
use rustix::net::{SendFlags, send};
use skillrun_keeper::{Backend, End, MAX_PLACES, Message, Plan, Report};
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd as _, OwnedFd};

/// The handles that come with a plan, and the output that the keeper was started with.
pub(crate) struct Handles {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// One for each place; none for one that is not there.
    pub(crate) places: Vec<Option<OwnedFd>>,
    pub(crate) scratch: OwnedFd,
}

/// What holds for every plan.
pub(crate) struct Keeper {
    pub(crate) control: OwnedFd,
    pub(crate) group: Option<Cgroup>,
}

pub(crate) fn main() {
    sys::hold_off_signals();
    // It was executed by the number of a handle, which is what it would be called otherwise.
    let _ = rustix::thread::set_name(c"skillrun-keeper");
    // Without its socket the keeper has nobody to tell.
    let Ok((control, output)) = take_over() else {
        return;
    };
    let keeper = Keeper {
        control,
        group: Cgroup::join(),
    };
    let host_is_there = keeper.serve(output);
    if let (Some(group), false) = (keeper.group, host_is_there) {
        group.leave();
    }
}

impl Keeper {
    /// Serves trials and one program; tells whether the host was there to the end.
    fn serve(&self, output: (OwnedFd, OwnedFd)) -> bool {
        let mut output = Some(output);
        while let Some((stdout, stderr)) = &output {
            let received = receive(&self.control, stdout, stderr);
            let (plan, handles) = match received {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return false,
                Err(error) => {
                    let unable = Unable::new("receive the plan", error.to_string());
                    return self.tell(Err(unable));
                }
            };
            if !plan.is_trial() {
                // The program's output ends when its processes have.
                output = None;
            }
            if !self.tell(self.keep(&plan, handles)) {
                return false;
            }
        }
        true
    }

    fn keep(&self, plan: &Plan, handles: Handles) -> Result<End, Unable> {
        if let Some(group) = &self.group {
            let own = match plan.backend {
                Backend::Namespaces => plan.scratch.size,
                Backend::Landlock => 0,
            };
            group.limit(&plan.limits, own).step("limit the cgroup")?;
        }
        match plan.backend {
            Backend::Namespaces => namespaces::run(self, plan, handles),
            Backend::Landlock => flat::run(self, plan, handles),
        }
    }

    fn tell(&self, result: Result<End, Unable>) -> bool {
        let report = match result {
            Ok(end) => Report::Ended(end),
            Err(Unable { step, why }) => Report::Unable { step, why },
        };
        let cgroup = self.group.as_ref().map(Cgroup::path);
        let message = Message { report, cgroup };
        let Ok(mut bytes) = postcard::to_allocvec(&message) else {
            return false;
        };
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_ne_bytes();
        bytes.splice(0..0, length);
        send(&self.control, &bytes, SendFlags::NOSIGNAL).is_ok()
    }
}

/// Takes over the socket and the program's output, and leaves the standard handles at nothing.
fn take_over() -> io::Result<(OwnedFd, (OwnedFd, OwnedFd))> {
    let taken = sys::take_standard()?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    for number in 0..3 {
        sys::put_standard(&null, number)?;
    }
    let [control, stdout, stderr] = taken;
    // A terminal's signals are for the host alone; orphans of the program come to this process.
    rustix::process::setsid()?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok((control, (stdout, stderr)))
}

fn receive(control: &OwnedFd, stdout: &OwnedFd, stderr: &OwnedFd) -> io::Result<(Plan, Handles)> {
    let mut handles = sys::receive_handles(control.as_fd(), MAX_PLACES + 3)?.into_iter();
    let mut next = || handles.next().ok_or(io::ErrorKind::InvalidData);
    let mut file = File::from(next()?);
    let stdin = next()?;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let plan: Plan = postcard::from_bytes(&bytes).map_err(io::Error::other)?;
    let places = plan
        .places
        .iter()
        .map(|place| match (&place.missing, &place.contents) {
            (None, None) => next().map(Some),
            _ => Ok(None),
        });
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let handles = Handles {
        stdin,
        stdout: stdout.try_clone()?,
        stderr: stderr.try_clone()?,
        places,
        scratch: next()?,
    };
    Ok((plan, handles))
}
