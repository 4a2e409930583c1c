//! From the socket to the report.

use crate::cgroup::Cgroup;
use crate::handles::{Handles, Output};
use crate::room::{Room, Shape};
use crate::unable::{Step as _, Unable};
use crate::{flat, namespaces, sys};
use rustix::fs::{Mode, OFlags};
use rustix::net::{SendFlags, send};
use skillrun_keeper::{Backend, End, Message, Place, Plan, Report};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

/// What holds for every plan.
pub(crate) struct Keeper {
    pub(crate) control: OwnedFd,
    pub(crate) group: Option<Cgroup>,
}

pub(crate) fn main() {
    sys::close_inherited();
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
    let namespaces = std::env::args().nth(1).as_deref() == Some(Backend::Namespaces.word());
    if !namespaces {
        // What the program started outlives this process, so the kernel is not to end it when the program's memory
        // runs out, if it can be told so. Inside a namespace the first process comes before.
        let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    }
    let host_is_there = keeper.serve(output, namespaces);
    if let (Some(group), false) = (keeper.group, host_is_there) {
        group.leave();
    }
}

impl Keeper {
    /// Serves trials and one program; tells whether the host was there to the end.
    fn serve(&self, output: Output, namespaces: bool) -> bool {
        let mut output = Some(output);
        while output.is_some() {
            // If there can be none, the plan that needs it meets the reason.
            let room = match namespaces {
                true => Room::make(Shape::usual(), &mut output, self.group.is_some()).ok(),
                false => None,
            };
            let open = |place: &Place| place.missing.is_none() && place.contents.is_none();
            let (plan, handles) = match Handles::receive(self.control.as_fd(), open) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return false,
                Err(error) => {
                    let unable = Unable::new("receive the plan", error.to_string());
                    return self.tell(Err(unable));
                }
            };
            if !self.tell(self.keep(&plan, handles, &mut output, room)) {
                return false;
            }
        }
        true
    }

    fn keep(
        &self,
        plan: &Plan,
        handles: Handles,
        output: &mut Option<Output>,
        room: Option<Room>,
    ) -> Result<End, Unable> {
        if let Some(group) = &self.group {
            group.limit(plan).step("limit the cgroup")?;
        }
        match plan.backend {
            Backend::Namespaces => namespaces::run(self, plan, handles, output, room),
            Backend::Landlock => flat::run(self, plan, handles, output),
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
fn take_over() -> io::Result<(OwnedFd, Output)> {
    let taken = sys::take_standard()?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    for number in 0..3 {
        sys::put_standard(&null, number)?;
    }
    let [control, stdout, stderr] = taken;
    // A terminal's signals are for the host alone; orphans of the program come to this process.
    rustix::process::setsid()?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok((control, Output { stdout, stderr }))
}
