//! From the socket to the report.

use crate::unable::{Step as _, Unable};
use crate::{flat, namespaces, sys};
use rustix::fs::{Mode, OFlags};
use rustix::net::{SendFlags, send};
use skillrun_keeper::{Backend, End, MAX_PLACES, Plan, Report};
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::fd::{AsFd as _, OwnedFd};

/// The handles that come with a plan.
pub(crate) struct Handles {
    pub(crate) stdin: OwnedFd,
    /// One for each place.
    pub(crate) places: Vec<OwnedFd>,
    pub(crate) scratch: OwnedFd,
}

pub(crate) fn main() {
    sys::hold_off_signals();
    // Without its socket the keeper has nobody to tell.
    let Ok(control) = sys::take_stdin() else {
        return;
    };
    let report = match keep(&control) {
        Ok(end) => Report::Ended(end),
        Err(Unable { step, why }) => Report::Unable { step, why },
    };
    if let Ok(bytes) = postcard::to_allocvec(&report) {
        // The host may be gone, and then nothing is left to tell.
        let _ = send(&control, &bytes, SendFlags::NOSIGNAL);
    }
}

fn keep(control: &OwnedFd) -> Result<End, Unable> {
    let (plan, handles) = receive(control).step("receive the plan")?;
    // A terminal's signals are for the host alone; orphans of the program come to this process.
    rustix::process::setsid().step("start a session")?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).step("adopt orphans")?;
    match plan.backend {
        Backend::Namespaces => namespaces::run(&plan, handles, control),
        Backend::Landlock => flat::run(&plan, handles, control),
    }
}

fn receive(control: &OwnedFd) -> std::io::Result<(Plan, Handles)> {
    let mut handles = sys::receive_handles(control.as_fd(), MAX_PLACES + 3)?.into_iter();
    let mut next = || handles.next().ok_or(std::io::ErrorKind::UnexpectedEof);
    let mut file = File::from(next()?);
    let stdin = next()?;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let plan: Plan = postcard::from_bytes(&bytes).map_err(std::io::Error::other)?;
    let places = plan.places.iter().map(|_| next());
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let handles = Handles {
        stdin,
        places,
        scratch: next()?,
    };
    Ok((plan, handles))
}

/// Lets go of the program's output, so that it ends when the program's processes have.
pub(crate) fn drop_output() -> Result<(), Unable> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let null = null.step_on("open", b"/dev/null")?;
    for number in 0..3 {
        sys::put_standard(&null, number).step("let go of the output")?;
    }
    Ok(())
}
