//! A control group for one run, where this process may create one: then the kernel itself limits the
//! memory of all processes together.
//!
//! In cgroup v1 each controller has its own hierarchy, and the group is created in the one for
//! memory. In cgroup v2 a group gets the controllers that its parent delegates, and only a parent
//! without processes of its own can delegate; so the ancestors are searched for one that does.

use skillrun_supervisor::{Backend, Layer, Plan};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

const PREFIX: &str = "skillrun-";
/// The buffers of TCP in cgroup v1.
const TCP_LIMIT: &str = "memory.kmem.tcp.limit_in_bytes";
const TCP_USAGE: &str = "memory.kmem.tcp.usage_in_bytes";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The file that moves the process which writes `0` to it.
    ///
    /// The kernel stops all forks and exits on the machine while it moves a process with its threads: that takes a few
    /// milliseconds, and more than ten if nothing else was moved lately. It does not if a thread moves itself, which is all
    /// there is of the supervisor. In cgroup v2, a group for memory accepts no single threads.
    fn procs(self) -> &'static str {
        match self {
            Self::One => "tasks",
            Self::Two => "cgroup.procs",
        }
    }
}

/// A control group that contains this process and everything that it starts.
///
/// Moving a process into a group may take the kernel a while, so the supervisor joins once, before it
/// has anything to do. It counts with its own size, a megabyte. When memory runs out, the program's
/// processes are killed first, because their `oom_score_adj` says so.
pub(crate) struct Cgroup {
    path: PathBuf,
    /// The group that this process was in before.
    home: PathBuf,
    version: Version,
}

impl Cgroup {
    /// Creates a group and joins it, if that is possible here.
    pub(crate) fn join() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let Parent {
            parent,
            home,
            version,
        } = find_parent(&own, &mounts)?;
        let own = std::process::id();
        remove_left_behind(&parent, own);
        let path = parent.join(format!("{PREFIX}{own}"));
        fs::create_dir(&path).ok()?;
        let group = Self {
            path,
            home,
            version,
        };
        let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
        let joined =
            group.counts_all(&swaps) && fs::write(group.path.join(version.procs()), "0").is_ok();
        if !joined {
            let _ = fs::remove_dir(&group.path);
        }
        joined.then_some(group)
    }

    /// Applies the limits of a plan.
    pub(crate) fn limit(&self, plan: &Plan) -> io::Result<()> {
        let write = |file: &str, value: String| fs::write(self.path.join(file), value);
        // A scratch directory in memory and `/dev/shm` count as memory too: the limit covers all of
        // it.
        let memory = plan.limits.memory;
        // The supervisor, and the init process if there is one, do not count as the program's.
        let others = match plan.backend {
            Backend::Namespaces => 2,
            Backend::Landlock => 1,
        };
        match self.version {
            Version::One => {
                // Absent without swap accounting. It may never be lower than the other limit.
                let _ = write("memory.memsw.limit_in_bytes", "-1".into());
                write("memory.limit_in_bytes", memory.to_string())?;
                let _ = write("memory.memsw.limit_in_bytes", memory.to_string());
                let _ = write("memory.max_usage_in_bytes", "0".into());
                if plan.network {
                    // Once it has a limit, the kernel counts the buffers of TCP, apart from other memory.
                    let _ = write(TCP_LIMIT, memory.to_string());
                }
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

    /// Whether all memory is counted: there is no swap, or the kernel counts what is swapped out.
    fn counts_all(&self, swaps: &str) -> bool {
        let file = match self.version {
            Version::One => "memory.memsw.limit_in_bytes",
            Version::Two => "memory.swap.max",
        };
        swaps.lines().nth(1).is_none() || self.path.join(file).exists()
    }

    /// Leaves and removes the group. This takes as long as joining it.
    pub(crate) fn leave(self) {
        // Not into the parent group: in cgroup v2 a group that delegates controllers has no
        // processes.
        let _ = fs::write(self.home.join(self.version.procs()), "0");
        skillrun_supervisor::remove_cgroup(&self.path);
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

    /// The peak memory of all processes together.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        let file = match self.version {
            Version::One => "memory.max_usage_in_bytes",
            Version::Two => "memory.peak",
        };
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        text.trim().parse().ok()
    }

    /// Bytes in buffers of TCP, as far as the limit on memory does not include them. In cgroup v2 it does.
    pub(crate) fn uncounted_tcp(&self) -> u64 {
        match self.version {
            Version::One => {
                let text = fs::read_to_string(self.path.join(TCP_USAGE)).unwrap_or_default();
                text.trim().parse().unwrap_or(0)
            }
            Version::Two => 0,
        }
    }

    /// Whether the kernel killed a process because memory ran out.
    pub(crate) fn has_oom_kill(&self) -> bool {
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(self.path.join(file)).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.is_some_and(|count| count.trim() != "0")
    }
}

/// Removes the groups of supervisors that were killed. One of them may have had this process's id,
/// `own`. A group with processes in it cannot be removed and stays.
fn remove_left_behind(parent: &Path, own: u32) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let supervisor = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let Some(supervisor) = supervisor.and_then(|supervisor| supervisor.parse::<u32>().ok())
        else {
            continue;
        };
        if supervisor == own || !Path::new(&format!("/proc/{supervisor}")).exists() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The group in which a group with a memory limit can be created.
#[derive(Debug, PartialEq, Eq)]
struct Parent {
    parent: PathBuf,
    /// This process's own group.
    home: PathBuf,
    version: Version,
}

fn find_parent(own: &str, mounts: &str) -> Option<Parent> {
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        if controllers.split(',').any(|name| name == "memory") {
            let found = mounted_path(mounts, path, |kind, options| {
                kind == "cgroup" && options.split(',').any(|option| option == "memory")
            });
            return found.map(|home| Parent {
                parent: home.clone(),
                home,
                version: Version::One,
            });
        }
        if controllers.is_empty() {
            let Some(home) = mounted_path(mounts, path, |kind, _| kind == "cgroup2") else {
                continue;
            };
            let delegates = |path: &&Path| {
                let text = fs::read_to_string(path.join("cgroup.subtree_control"));
                text.is_ok_and(|text| {
                    let mut words = text.split_ascii_whitespace();
                    words.clone().any(|word| word == "memory") && words.any(|word| word == "pids")
                })
            };
            if let Some(parent) = home.ancestors().find(delegates).map(Path::to_owned) {
                return Some(Parent {
                    parent,
                    home,
                    version: Version::Two,
                });
            }
        }
    }
    None
}

/// The directory of the group `path`, below the mount for which `matches` returns true.
fn mounted_path(mounts: &str, path: &str, matches: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1)?);
        let mut left = left.split(' ');
        let (root, at) = (left.nth(3)?, left.next()?);
        if !matches(kind, options) {
            return None;
        }
        let below = Path::new(path).strip_prefix(root).ok()?;
        Some(Path::new(at).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MOUNTS: &str = "\
30 20 0:25 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
31 20 0:26 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
32 20 0:27 /sub /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

    #[test]
    fn the_own_group_is_found_below_the_memory_mount() {
        let found = find_parent("8:pids:/\n4:memory:/a/b\n0::/\n", MOUNTS);
        let home = PathBuf::from("/sys/fs/cgroup/memory/a/b");
        let expected = Parent {
            parent: home.clone(),
            home,
            version: Version::One,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn a_group_outside_the_mount_is_not_found() {
        assert_eq!(
            mounted_path(MOUNTS, "/other", |kind, _| kind == "cgroup2"),
            None
        );
        assert_eq!(
            mounted_path(MOUNTS, "/subx", |kind, _| kind == "cgroup2"),
            None
        );
        assert_eq!(
            mounted_path(MOUNTS, "/sub/x", |kind, _| kind == "cgroup2"),
            Some(PathBuf::from("/sys/fs/cgroup/unified/x"))
        );
    }

    /// A plain directory in place of a group.
    fn fake_group(name: &str, version: Version) -> Cgroup {
        let path = std::env::temp_dir().join(format!("skillrun-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Cgroup {
            home: path.clone(),
            path,
            version,
        }
    }

    #[test]
    fn the_process_limit_leaves_out_supervisor_and_init() {
        let group = fake_group("limits", Version::Two);
        let read = |file: &str| fs::read_to_string(group.path.join(file)).unwrap();
        let mut plan = Plan {
            backend: Backend::Namespaces,
            program: Vec::new(),
            program_is_checked: false,
            script: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: Vec::new(),
            mounts: Vec::new(),
            guarded: Vec::new(),
            scratch: skillrun_supervisor::Scratch {
                at: Vec::new(),
                size: 1 << 20,
            },
            network: false,
            limits: skillrun_supervisor::Limits {
                time: Duration::from_secs(1),
                memory: 64 << 20,
                processes: 16,
                file_size: 0,
                disk: 0,
                open_files: 0,
            },
            filter: Vec::new(),
            filter_without_cgroup: Vec::new(),
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

        let group = fake_group("tcp", Version::One);
        let read = |file: &str| fs::read_to_string(group.path.join(file));
        group.limit(&plan).unwrap();
        assert!(read(TCP_LIMIT).is_err());
        plan.network = true;
        group.limit(&plan).unwrap();
        assert_eq!(read(TCP_LIMIT).unwrap(), mib(64));
        assert_eq!(group.uncounted_tcp(), 0);
        fs::write(group.path.join(TCP_USAGE), "8192\n").unwrap();
        assert_eq!(group.uncounted_tcp(), 8192);
        fs::remove_dir_all(&group.path).unwrap();
    }

    #[test]
    fn a_group_that_does_not_count_swap_is_not_used() {
        let none = "Filename\tType\tSize\tUsed\tPriority\n";
        let some = format!("{none}/dev/vdb partition\t1048572\t0\t-2\n");
        for (version, file) in [
            (Version::One, "memory.memsw.limit_in_bytes"),
            (Version::Two, "memory.swap.max"),
        ] {
            let group = fake_group(file, version);
            assert!(group.counts_all(none) && !group.counts_all(&some));
            fs::write(group.path.join(file), "").unwrap();
            assert!(group.counts_all(&some));
            fs::remove_dir_all(&group.path).unwrap();
        }
    }

    #[test]
    fn groups_of_killed_supervisors_are_removed() {
        let parent = fake_group("left", Version::Two).path;
        let own = std::process::id();
        // Process 1 always exists, and no process id is as large as the last.
        let names = [own, 1, u32::MAX].map(|number| parent.join(format!("{PREFIX}{number}")));
        for path in names.iter().chain([&parent.join("skillrun-other")]) {
            fs::create_dir(path).unwrap();
        }
        remove_left_behind(&parent, own);
        assert_eq!(names.map(|path| path.exists()), [false, true, false]);
        assert!(parent.join("skillrun-other").exists());
        fs::remove_dir_all(parent).unwrap();
    }

    #[test]
    fn a_supervisor_returns_to_its_own_group_and_not_to_the_parent() {
        let top = std::env::temp_dir().join(format!("skillrun-group-{}", std::process::id()));
        let (parent, home) = (top.join("slice"), top.join("slice/service"));
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join("cgroup.subtree_control"), "\n").unwrap();
        fs::write(parent.join("cgroup.subtree_control"), "memory pids\n").unwrap();
        fs::write(top.join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        let mounts = format!("32 20 0:27 / {} rw - cgroup2 none rw", top.display());
        let found = find_parent("0::/slice/service\n", &mounts).unwrap();
        let expected = Parent {
            parent: parent.clone(),
            home: home.clone(),
            version: Version::Two,
        };
        assert_eq!(found, expected);

        let path = parent.join("skillrun-7");
        fs::create_dir(&path).unwrap();
        let group = Cgroup {
            path: path.clone(),
            home: home.clone(),
            version: Version::Two,
        };
        group.leave();
        assert_eq!(fs::read(home.join("cgroup.procs")).unwrap(), b"0");
        assert!(!parent.join("cgroup.procs").exists() && !path.exists());
        fs::remove_dir_all(top).unwrap();
    }
}
