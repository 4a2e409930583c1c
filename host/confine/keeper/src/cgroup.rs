//! A control group for one run, where this process may make one: then the kernel itself limits the
//! memory of all processes together.
//!
//! In the first hierarchy (v1) each controller has a tree of its own, and a group is made in the one
//! for memory. In the second (v2) a group gets the controllers that the one above hands down, and only
//! one without processes of its own can; so the way up is searched for one that does.

use skillrun_keeper::{Backend, Layer, Plan};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = "skillrun-";
/// How often the removal of a group is tried: its last process may still be on its way out.
const TRIES: u32 = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A control group, with this process in it and all that it starts.
///
/// The kernel takes its time to move a process into a group, so the keeper does it before it has
/// anything to do, and once. It counts as what it is, a megabyte; what runs out of memory is killed
/// first, as the program's processes ask to be.
pub(crate) struct Cgroup {
    path: PathBuf,
    /// Where this process came from.
    home: PathBuf,
    version: Version,
}

impl Cgroup {
    /// Makes a group and joins it, if that is possible here.
    pub(crate) fn join() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let Parent {
            above,
            home,
            version,
        } = parent(&own, &mounts)?;
        let own = std::process::id();
        remove_left_behind(&above, own);
        let path = above.join(format!("{NAME}{own}"));
        fs::create_dir(&path).ok()?;
        let group = Self {
            path,
            home,
            version,
        };
        let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
        let joined =
            group.counts_all(&swaps) && fs::write(group.path.join("cgroup.procs"), "0").is_ok();
        if !joined {
            let _ = fs::remove_dir(&group.path);
        }
        joined.then_some(group)
    }

    /// Puts the limits of a plan in force.
    pub(crate) fn limit(&self, plan: &Plan) -> io::Result<()> {
        let write = |file: &str, value: String| fs::write(self.path.join(file), value);
        // What is in a scratch directory in memory, and in `/dev/shm`, counts as memory too: the number that was
        // promised holds for all of it.
        let memory = plan.limits.memory;
        // The keeper, and the first process where there is one, are none of the program's.
        let others = match plan.backend {
            Backend::Namespaces => 2,
            Backend::Landlock => 1,
        };
        match self.version {
            Version::One => {
                // Absent where there is no swap that counts; never below the other.
                let _ = write("memory.memsw.limit_in_bytes", "-1".into());
                write("memory.limit_in_bytes", memory.to_string())?;
                let _ = write("memory.memsw.limit_in_bytes", memory.to_string());
                let _ = write("memory.max_usage_in_bytes", "0".into());
            }
            Version::Two => {
                write("memory.max", memory.to_string())?;
                let _ = write("memory.swap.max", "0".into());
                let processes = u64::from(plan.limits.processes) + others;
                write("pids.max", processes.to_string())?;
            }
        }
        Ok(())
    }

    /// Whether memory cannot get out of its count: there is no swap, as the kernel lists it, or what is
    /// swapped out counts.
    fn counts_all(&self, swaps: &str) -> bool {
        let file = match self.version {
            Version::One => "memory.memsw.limit_in_bytes",
            Version::Two => "memory.swap.max",
        };
        swaps.lines().nth(1).is_none() || self.path.join(file).exists()
    }

    /// Leaves and removes the group; takes as long as joining it.
    pub(crate) fn leave(self) {
        // Not to the group above: in the second hierarchy one that hands controllers down has no processes.
        let _ = fs::write(self.home.join("cgroup.procs"), "0");
        for _ in 0..TRIES {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => return,
            }
        }
    }

    pub(crate) fn path(&self) -> Vec<u8> {
        self.path.as_os_str().as_bytes().to_vec()
    }

    pub(crate) fn layers(&self) -> &'static [Layer] {
        match self.version {
            Version::One => &[Layer::MemoryCgroup],
            Version::Two => &[Layer::MemoryCgroup, Layer::PidsCgroup],
        }
    }

    /// The most memory that all processes had at once.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        let file = match self.version {
            Version::One => "memory.max_usage_in_bytes",
            Version::Two => "memory.peak",
        };
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        text.trim().parse().ok()
    }

    /// Whether the kernel killed a process for its memory.
    pub(crate) fn killed_some(&self) -> bool {
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(self.path.join(file)).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.is_some_and(|count| count.trim() != "0")
    }
}

/// Removes groups of keepers that were killed, one of which may have had the number that is now this
/// process's `own`; one with processes in it stays by itself.
fn remove_left_behind(above: &Path, own: u32) {
    let Ok(entries) = fs::read_dir(above) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let keeper = name.to_str().and_then(|name| name.strip_prefix(NAME));
        let Some(keeper) = keeper.and_then(|keeper| keeper.parse::<u32>().ok()) else {
            continue;
        };
        if keeper == own || !Path::new(&format!("/proc/{keeper}")).exists() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The group in which one can be made that limits memory.
#[derive(Debug, PartialEq, Eq)]
struct Parent {
    above: PathBuf,
    /// This process's own.
    home: PathBuf,
    version: Version,
}

fn parent(own: &str, mounts: &str) -> Option<Parent> {
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        if controllers.split(',').any(|name| name == "memory") {
            let found = mounted(mounts, path, |kind, options| {
                kind == "cgroup" && options.split(',').any(|option| option == "memory")
            });
            return found.map(|home| Parent {
                above: home.clone(),
                home,
                version: Version::One,
            });
        }
        if controllers.is_empty() {
            let Some(home) = mounted(mounts, path, |kind, _| kind == "cgroup2") else {
                continue;
            };
            let hands_down = |path: &&Path| {
                let text = fs::read_to_string(path.join("cgroup.subtree_control"));
                text.is_ok_and(|text| {
                    let mut words = text.split_ascii_whitespace();
                    words.clone().any(|word| word == "memory") && words.any(|word| word == "pids")
                })
            };
            if let Some(above) = home.ancestors().find(hands_down).map(Path::to_owned) {
                return Some(Parent {
                    above,
                    home,
                    version: Version::Two,
                });
            }
        }
    }
    None
}

/// Where the group `path` is to be found below the mount for which `fits` says yes.
fn mounted(mounts: &str, path: &str, fits: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1)?);
        let mut left = left.split(' ');
        let (root, at) = (left.nth(3)?, left.next()?);
        if !fits(kind, options) {
            return None;
        }
        let below = Path::new(path).strip_prefix(root).ok()?;
        Some(Path::new(at).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
30 20 0:25 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
31 20 0:26 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
32 20 0:27 /sub /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

    #[test]
    fn the_own_group_is_found_below_the_mount_for_memory() {
        let found = parent("8:pids:/\n4:memory:/a/b\n0::/\n", MOUNTS);
        let home = PathBuf::from("/sys/fs/cgroup/memory/a/b");
        let expected = Parent {
            above: home.clone(),
            home,
            version: Version::One,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn a_group_outside_what_is_mounted_is_not_found() {
        assert_eq!(mounted(MOUNTS, "/other", |kind, _| kind == "cgroup2"), None);
        assert_eq!(mounted(MOUNTS, "/subx", |kind, _| kind == "cgroup2"), None);
        assert_eq!(
            mounted(MOUNTS, "/sub/x", |kind, _| kind == "cgroup2"),
            Some(PathBuf::from("/sys/fs/cgroup/unified/x"))
        );
    }

    /// A directory that stands in for a group.
    fn stand_in(name: &str, version: Version) -> Cgroup {
        let path = std::env::temp_dir().join(format!("skillrun-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Cgroup {
            home: path.clone(),
            path,
            version,
        }
    }

    #[test]
    fn as_many_processes_as_a_plan_says_are_the_programs_own() {
        let group = stand_in("limits", Version::Two);
        let read = |file: &str| fs::read_to_string(group.path.join(file)).unwrap();
        let mut plan = Plan {
            backend: Backend::Namespaces,
            program: Vec::new(),
            program_is_checked: false,
            script: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: Vec::new(),
            places: Vec::new(),
            absent: Vec::new(),
            scratch: skillrun_keeper::Scratch {
                at: Vec::new(),
                size: 1 << 20,
            },
            network: false,
            limits: skillrun_keeper::Limits {
                time: Duration::from_secs(1),
                memory: 64 << 20,
                processes: 16,
                file_size: 0,
                disk: 0,
                open_files: 0,
            },
            filter: Vec::new(),
            filter_without_group: Vec::new(),
        };
        let mib = |count: u64| (count << 20).to_string();
        group.limit(&plan).unwrap();
        assert_eq!(
            (read("memory.max"), read("pids.max")),
            (mib(64), "18".into())
        );
        plan.backend = Backend::Landlock;
        group.limit(&plan).unwrap();
        assert_eq!(
            (read("memory.max"), read("pids.max")),
            (mib(64), "17".into())
        );
        assert_eq!(read("memory.swap.max"), "0");
        fs::remove_dir_all(&group.path).unwrap();
    }

    #[test]
    fn swap_that_does_not_count_is_a_way_round_a_limit() {
        let none = "Filename\tType\tSize\tUsed\tPriority\n";
        let some = format!("{none}/dev/vdb partition\t1048572\t0\t-2\n");
        for (version, file) in [
            (Version::One, "memory.memsw.limit_in_bytes"),
            (Version::Two, "memory.swap.max"),
        ] {
            let group = stand_in(file, version);
            assert!(group.counts_all(none) && !group.counts_all(&some));
            fs::write(group.path.join(file), "").unwrap();
            assert!(group.counts_all(&some));
            fs::remove_dir_all(&group.path).unwrap();
        }
    }

    #[test]
    fn what_a_killed_keeper_of_the_same_number_left_is_removed() {
        let above = stand_in("left", Version::Two).path;
        let own = std::process::id();
        // The first process lives as long as the machine, and no number is as large as the last.
        let names = [own, 1, u32::MAX].map(|number| above.join(format!("{NAME}{number}")));
        for path in names.iter().chain([&above.join("skillrun-other")]) {
            fs::create_dir(path).unwrap();
        }
        remove_left_behind(&above, own);
        assert_eq!(names.map(|path| path.exists()), [false, true, false]);
        assert!(above.join("skillrun-other").exists());
        fs::remove_dir_all(above).unwrap();
    }

    #[test]
    fn a_keeper_goes_home_when_the_group_above_can_hold_no_processes() {
        let top = std::env::temp_dir().join(format!("skillrun-group-{}", std::process::id()));
        let (above, home) = (top.join("slice"), top.join("slice/service"));
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join("cgroup.subtree_control"), "\n").unwrap();
        fs::write(above.join("cgroup.subtree_control"), "memory pids\n").unwrap();
        fs::write(top.join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        let mounts = format!("32 20 0:27 / {} rw - cgroup2 none rw", top.display());
        let found = parent("0::/slice/service\n", &mounts).unwrap();
        let expected = Parent {
            above: above.clone(),
            home: home.clone(),
            version: Version::Two,
        };
        assert_eq!(found, expected);

        let path = above.join("skillrun-7");
        fs::create_dir(&path).unwrap();
        let group = Cgroup {
            path: path.clone(),
            home: home.clone(),
            version: Version::Two,
        };
        group.leave();
        assert_eq!(fs::read(home.join("cgroup.procs")).unwrap(), b"0");
        assert!(!above.join("cgroup.procs").exists() && !path.exists());
        fs::remove_dir_all(top).unwrap();
    }
}
