//! The file tree that a program in namespaces sees: a small file system in memory into which the
//! system's directories, the granted places and a few devices are mounted, and nothing else.

use crate::ids::{self, Ids};
use crate::lockdown::{Access, Rule};
use crate::sys::{self, attr};
use crate::tree::BYTES_PER_FILE;
use crate::unable::{Step as _, Unable};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use skillrun_keeper::{Place, Plan};
use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

/// Devices that programs expect. None of them reaches anything: a program has no terminal, so `tty`
/// only says so.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Names that shells expect for what a process has open.
const HANDLES: [(&str, &str); 4] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
];
/// Mount points, links, a few small files and the contents of places; nothing can be added by the
/// program.
const ROOT: &CStr = c"nr_inodes=4k,mode=755";
/// Where the machine's root is until nothing is needed of it.
const MACHINE: &str = ".machine";
/// Shared memory, for programs that use it to talk to their own children.
const SHARED: &str = "size=16m,nr_inodes=1k,mode=1777";

/// Copies the mount of each place, with the rights that the program is to have on it: mounts that are
/// nowhere yet. `machine` is the root of the machine, where it is no longer this process's.
pub(crate) fn trees(
    plan: &Plan,
    handles: &[Option<OwnedFd>],
    ids: &Ids,
    machine: Option<BorrowedFd<'_>>,
) -> Result<Vec<Option<OwnedFd>>, Unable> {
    let trees = plan.places.iter().zip(handles);
    let trees = trees.map(|(place, handle)| match (handle, &place.contents) {
        (Some(handle), _) => tree(place, handle.as_fd(), ids, machine).map(Some),
        (None, Some(_)) => Ok(None),
        (None, None) => Err(Unable::new("find a place", "it has no handle")),
    });
    trees.collect()
}

fn tree(
    place: &Place,
    handle: BorrowedFd<'_>,
    ids: &Ids,
    machine: Option<BorrowedFd<'_>>,
) -> Result<OwnedFd, Unable> {
    let tree = copy(handle, machine).step_on("mount", &place.at)?;
    if ids.private {
        let owner = rustix::fs::fstat(handle).step_on("look at", &place.at)?;
        let mapped = ids::mapping((owner.st_uid, owner.st_gid), ids)
            .and_then(|mapping| sys::map_ids(tree.as_fd(), mapping.as_fd()));
        // Reading may do with the rights of others; writing as a stranger cannot be meant.
        if place.writable {
            mapped.step_on("mount with the ids of its owner", &place.at)?;
        }
    }
    let mut attributes = attr::NOSUID | attr::NODEV;
    if !place.writable {
        attributes |= attr::RDONLY;
    }
    sys::set_mount(tree.as_fd(), attributes, true).step_on("restrict", &place.at)?;
    Ok(tree)
}

/// Copies the mount that a handle is on, from there down.
///
/// The kernel copies only mounts of the process's own namespace. Inside a new one, what the handle
/// was opened on is found again by its path, and must be the same.
fn copy(handle: BorrowedFd<'_>, machine: Option<BorrowedFd<'_>>) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let Some(machine) = machine else {
        return Ok(open_tree(handle, c"", flags)?);
    };
    let path = rustix::fs::readlink(format!("/proc/self/fd/{}", handle.as_raw_fd()), [])?;
    let flags_of_path = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let whole = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS;
    let again = rustix::fs::openat2(machine, &path, flags_of_path, Mode::empty(), whole)?;
    let (was, is) = (rustix::fs::fstat(handle)?, rustix::fs::fstat(&again)?);
    if (was.st_dev, was.st_ino) != (is.st_dev, is.st_ino) {
        return Err(io::Error::other("it was moved or replaced"));
    }
    Ok(open_tree(&again, c"", flags)?)
}

/// A root with what every program sees, which is this process's own. It can be added to.
pub(crate) struct Root {
    /// That of the machine, as long as places have to be found in it.
    machine: Option<OwnedFd>,
    /// What the machine says of names on the network, if the program is to reach it.
    names: Vec<(&'static str, Vec<u8>)>,
}

impl Root {
    pub(crate) fn make(system: &[&str], network: bool, ids: &Ids) -> Result<Self, Unable> {
        let names = match network {
            true => names(),
            false => Vec::new(),
        };
        // What the machine takes out of its own tree is not held fast by this copy of it.
        let follow = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
        mount_change("/", follow).step("part from the machine's mounts")?;
        let mut mounts = system_mounts(system)?;
        mounts.extend(devices()?);
        mounts.push(Mount {
            at: "dev/shm".into(),
            what: What::Memory(SHARED.into()),
        });
        let nowhere = MountFlags::NOSUID | MountFlags::NODEV;
        mount("root", "/tmp", "tmpfs", nowhere, Some(ROOT)).step("mount a root")?;
        rustix::process::chdir("/tmp").step("enter the root")?;
        for folder in ["dev", "etc", "proc", MACHINE] {
            fs::create_dir(folder).step_on("make", folder.as_bytes())?;
        }
        for (name, target) in HANDLES {
            symlink(target, name).step_on("link", name.as_bytes())?;
        }
        put(mounts)?;
        let processes = nowhere | MountFlags::NOEXEC;
        mount("proc", "proc", "proc", processes, None).step("mount a /proc of its own")?;
        rustix::process::pivot_root(".", MACHINE).step("leave the machine's root")?;
        rustix::process::chdir("/").step("enter the root")?;
        rustix::system::sethostname(b"localhost").step("name the machine")?;
        let machine = None;
        let mut root = Self { machine, names };
        match ids.private {
            // Its places come as mounts.
            true => root.let_go()?,
            false => {
                let flags = OFlags::PATH | OFlags::CLOEXEC;
                let machine = rustix::fs::open(MACHINE, flags, Mode::empty());
                root.machine = Some(machine.step("open the machine's root")?);
            }
        }
        Ok(root)
    }

    pub(crate) fn machine(&self) -> Option<BorrowedFd<'_>> {
        self.machine.as_ref().map(OwnedFd::as_fd)
    }

    fn let_go(&mut self) -> Result<(), Unable> {
        self.machine = None;
        unmount(MACHINE, UnmountFlags::DETACH).step("let go of the machine's root")?;
        fs::remove_dir(MACHINE).step("let go of the machine's root")
    }

    /// Adds what is the plan's own, and seals it all.
    pub(crate) fn furnish(
        mut self,
        plan: &Plan,
        trees: Vec<Option<OwnedFd>>,
        ids: &Ids,
    ) -> Result<(), Unable> {
        if self.machine.is_some() {
            self.let_go()?;
        }
        for (name, text) in etc(plan, ids).into_iter().chain(self.names) {
            fs::write(format!("etc/{name}"), text).step_on("write /etc", name.as_bytes())?;
        }
        let mut mounts = Vec::new();
        for (place, tree) in plan.places.iter().zip(trees) {
            let what = match (tree, &place.contents) {
                (Some(tree), _) => What::Tree(tree),
                (None, contents) => What::File(contents.clone().unwrap_or_default()),
            };
            mounts.push(Mount {
                at: inside(&place.at)?,
                what,
            });
        }
        mounts.push(Mount {
            at: inside(&plan.scratch.at)?,
            what: What::Memory(format!(
                "size={},nr_inodes={},mode=1777",
                plan.scratch.size,
                plan.scratch.size / BYTES_PER_FILE + 16
            )),
        });
        put(mounts)?;
        pin(plan)?;
        let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let root = root.step("open the root")?;
        sys::set_mount(root.as_fd(), attr::RDONLY, false).step("seal the root")
    }
}

/// Puts mounts into the tree, which is the current directory.
fn put(mut mounts: Vec<Mount>) -> Result<(), Unable> {
    // What lies in something else is mounted after it.
    mounts.sort_by_key(|mount| mount.at.components().count());
    for mount in mounts {
        let at = mount.at.clone();
        mount.put().step_on("mount", at.as_os_str().as_bytes())?;
    }
    Ok(())
}

struct Mount {
    at: PathBuf,
    what: What,
}

enum What {
    Tree(OwnedFd),
    Memory(String),
    File(Vec<u8>),
    Link(PathBuf),
}

impl Mount {
    /// Puts it into the tree, which is the current directory.
    fn put(self) -> io::Result<()> {
        if let Some(parent) = self.at.parent() {
            fs::create_dir_all(parent)?;
        }
        match self.what {
            What::Link(target) => symlink(target, &self.at),
            What::Memory(options) => {
                fs::create_dir_all(&self.at)?;
                let flags = MountFlags::NOSUID | MountFlags::NODEV;
                let options = sys::text(options.as_bytes())?;
                Ok(mount(
                    "tmpfs",
                    &self.at,
                    "tmpfs",
                    flags,
                    Some(options.as_c_str()),
                )?)
            }
            What::File(contents) => {
                // It needs a place from which it can be mounted; the first of the free ones.
                let numbers = (0..).map(|number| PathBuf::from(format!("dev/.file-{number}")));
                let mut free = numbers.filter(|path| !path.exists());
                let path = free.next().ok_or(io::ErrorKind::AlreadyExists)?;
                fs::write(&path, contents)?;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o555))?;
                let tree = copy_path(&path)?;
                let attributes = attr::NOSUID | attr::NODEV | attr::RDONLY;
                sys::set_mount(tree.as_fd(), attributes, false)?;
                if fs::symlink_metadata(&self.at).is_err() {
                    fs::write(&self.at, b"")?;
                }
                put_tree(tree.as_fd(), &self.at)
            }
            What::Tree(tree) => {
                let kind = rustix::fs::fstat(&tree)?.st_mode;
                let is_folder = rustix::fs::FileType::from_raw_mode(kind).is_dir();
                match fs::symlink_metadata(&self.at) {
                    Ok(_) => {}
                    Err(_) if is_folder => fs::create_dir_all(&self.at)?,
                    Err(_) => fs::write(&self.at, b"")?,
                }
                put_tree(tree.as_fd(), &self.at)
            }
        }
    }
}

fn put_tree(tree: BorrowedFd<'_>, at: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(move_mount(tree, c"", CWD, at, flags)?)
}

/// The directories and files of the machine, read-only.
fn system_mounts(system: &[&str]) -> Result<Vec<Mount>, Unable> {
    let mut mounts = Vec::new();
    for path in system {
        let path = Path::new(path);
        let Ok(meta) = fs::symlink_metadata(path) else {
            continue;
        };
        let name = path.as_os_str().as_bytes();
        let at = inside(name)?;
        if meta.is_symlink() {
            let target = fs::read_link(path).step_on("read", name)?;
            mounts.push(Mount {
                at,
                what: What::Link(target),
            });
            continue;
        }
        let tree = copy_path(path).step_on("mount", name)?;
        let attributes = attr::NOSUID | attr::NODEV | attr::RDONLY;
        sys::set_mount(tree.as_fd(), attributes, true).step_on("restrict", name)?;
        mounts.push(Mount {
            at,
            what: What::Tree(tree),
        });
    }
    Ok(mounts)
}

fn devices() -> Result<Vec<Mount>, Unable> {
    let mut mounts = Vec::new();
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        let tree = match copy_path(&path) {
            // A container may lack a terminal's device, and nobody misses it.
            Err(error) if name == "tty" && error.kind() == io::ErrorKind::NotFound => continue,
            tree => tree.step_on("mount", path.as_os_str().as_bytes())?,
        };
        sys::set_mount(tree.as_fd(), attr::NOSUID, true).step_on("restrict", name.as_bytes())?;
        mounts.push(Mount {
            at: Path::new("dev").join(name),
            what: What::Tree(tree),
        });
    }
    Ok(mounts)
}

fn copy_path(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

/// Keeps the way to a read-only place in a writable one from being moved aside: each directory on it
/// is mounted onto itself, and mount points can neither be renamed nor removed.
fn pin(plan: &Plan) -> Result<(), Unable> {
    // Each once: a copy holds what is mounted in it, so that every further one would double that.
    let mut folders = BTreeSet::new();
    for (sealed, around) in nested(plan) {
        let (sealed, around) = (inside(&sealed.at)?, inside(&around.at)?);
        let above = sealed.ancestors().skip(1);
        let way = above.take_while(|above| *above != around);
        folders.extend(way.map(Path::to_owned));
    }
    let mut folders: Vec<PathBuf> = folders.into_iter().collect();
    folders.sort_by_key(|folder| folder.components().count());
    for folder in folders {
        let name = folder.as_os_str().as_bytes();
        let tree = copy_path(&folder).step_on("pin", name)?;
        put_tree(tree.as_fd(), &folder).step_on("pin", name)?;
    }
    Ok(())
}

/// Read-only places that lie in writable ones, each with the one around it.
pub(crate) fn nested(plan: &Plan) -> impl Iterator<Item = (&Place, &Place)> {
    let read_only = plan.places.iter().filter(|place| !place.writable);
    read_only.filter_map(|place| {
        let path = Path::new(OsStr::from_bytes(&place.at));
        let mut around = plan.places.iter().filter(|other| other.writable);
        let around = around.find(|other| {
            let other = Path::new(OsStr::from_bytes(&other.at));
            path != other && path.starts_with(other)
        })?;
        Some((place, around))
    })
}

/// A path from the root on, as it is in a root that is the current directory.
fn inside(path: &[u8]) -> Result<PathBuf, Unable> {
    let path = Path::new(OsStr::from_bytes(path));
    let relative = path.strip_prefix("/").unwrap_or(path);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if relative.as_os_str().is_empty() || !path.has_root() || !relative.components().all(plain) {
        let path = path.display();
        return Err(Unable::new(
            format!("mount `{path}`"),
            "not a plain path below the root",
        ));
    }
    Ok(relative.to_owned())
}

/// The files that say who and where a program is.
fn etc(plan: &Plan, ids: &Ids) -> Vec<(&'static str, Vec<u8>)> {
    let (user, group) = ids.inside;
    let home = String::from_utf8_lossy(&plan.scratch.at).into_owned();
    let passwd = format!(
        "root:x:0:0:root:/root:/bin/sh\nuser:x:{user}:{group}:user:{home}:/bin/sh\n\
         nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
    );
    let groups = format!("root:x:0:\nuser:x:{group}:\nnogroup:x:65534:\n");
    vec![
        ("passwd", passwd.into_bytes()),
        ("group", groups.into_bytes()),
        (
            "nsswitch.conf",
            b"passwd: files\ngroup: files\nhosts: files dns\n".to_vec(),
        ),
        ("hosts", b"127.0.0.1 localhost\n::1 localhost\n".to_vec()),
    ]
}

/// The machine's own files that tell the addresses of names.
fn names() -> Vec<(&'static str, Vec<u8>)> {
    let of_machine = |name| Some((name, fs::read(Path::new("/etc").join(name)).ok()?));
    let files = ["hosts", "resolv.conf"].into_iter();
    files.filter_map(of_machine).collect()
}

/// What Landlock is to allow in this tree.
pub(crate) fn rules(plan: &Plan) -> Result<Vec<Rule>, Unable> {
    let mut rules = Vec::new();
    let mut rule = |path: &[u8], access| -> Result<(), Unable> {
        let rule = Rule::on_path(path, access).step_on("allow", path)?;
        rules.push(rule);
        Ok(())
    };
    // The tree holds only what is to be seen, and mounts say what is read-only.
    rule(b"/", Access::Execute)?;
    rule(b"/dev/shm", Access::Change)?;
    for name in DEVICES {
        let path = format!("/dev/{name}");
        // Who may write this one can share memory of it that shows nowhere.
        if name != "zero" && Path::new(&path).exists() {
            rule(path.as_bytes(), Access::Device)?;
        }
    }
    for place in plan.places.iter().filter(|place| place.writable) {
        rule(&place.at, Access::Change)?;
    }
    rule(&plan.scratch.at, Access::Change)?;
    Ok(rules)
}
