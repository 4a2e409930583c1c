//! From the socket to the report.

use crate::cgroup::Cgroup;
use crate::handles::{Handles, Output};
use crate::room::{Room, Shape};
use crate::unable::{Step as _, Unable};
use crate::{flat, namespaces, sys};
use rustix::fs::{Mode, OFlags};
use rustix::net::{SendFlags, send};
use skillrun_keeper::{
    Absent, AbsentPaths, Appeared, Backend, End, MAX_MESSAGE, Message, Place, Plan, Report, Stopped,
};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

/// Bytes that the fate of a protected path may take in a message: a path, or an error.
const PATH_AND_WORDS: usize = 4096 + 64;

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
            let open = |place: &Place| place.contents.is_none();
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
        let mut absent = absent_paths(plan, &handles)?;
        let ended = match plan.backend {
            Backend::Namespaces => namespaces::run(self, plan, handles, output, room, &mut absent),
            Backend::Landlock => flat::run(self, plan, handles, output, &mut absent),
        };
        // However it ended, nothing of the program runs any more.
        with_appeared(ended, absent.move_aside())
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

/// The protected paths that must stay absent; none of them exists now.
fn absent_paths(plan: &Plan, handles: &Handles) -> Result<AbsentPaths, Unable> {
    let mut absent = AbsentPaths::default();
    for Absent { place, below, path } in &plan.absent {
        let handle = handles.places.get(*place).and_then(Option::as_ref);
        let handle = handle.ok_or_else(|| Unable::new("find a place", "it has no handle"))?;
        let added = absent.add(handle.as_fd(), below, path);
        added.step_on("protect", path)?;
    }
    Ok(absent)
}

/// Adds to an end what appeared. A program that ended by itself, or was killed, did not end well then.
fn with_appeared(ended: Result<End, Unable>, mut appeared: Vec<Appeared>) -> Result<End, Unable> {
    // One message has to hold them. All of them were moved, told or not.
    let mut room = MAX_MESSAGE / 2;
    appeared.retain(|one| {
        let size = one.path.len() + PATH_AND_WORDS;
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    });
    match (ended, appeared.first()) {
        (Ok(mut end), Some(_)) => {
            if matches!(end.stopped, Stopped::Exited(_) | Stopped::Signaled(_)) {
                end.stopped = Stopped::Protected;
            }
            end.appeared = appeared;
            Ok(end)
        }
        (Err(unable), Some(first)) => {
            let path = String::from_utf8_lossy(&first.path);
            let why = format!(
                "{}; the protected path `{path}` appeared meanwhile",
                unable.why
            );
            Err(Unable::new(unable.step, why))
        }
        (ended, None) => ended,
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
