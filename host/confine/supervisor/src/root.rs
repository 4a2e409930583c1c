//! The file tree of a program in namespaces: a small file system in memory into which the system's
//! directories, the granted mounts and a few devices are mounted, and nothing else.

use crate::error::{ConfineError, Step as _};
use crate::ids::{self, Ids, OtherOwners};
use crate::lockdown::{Access, Rule};
use crate::script;
use crate::sys::{self, attr};
use crate::tree::BYTES_PER_FILE;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use skillrun_supervisor::{Mount, Plan};
use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

/// Devices that programs expect. None of them gives access to anything: a program has no terminal, so
/// opening `tty` fails.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// The names that shells expect for a process's open files.
const FD_LINKS: [(&str, &str); 4] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
];
/// Mount options of the root: it contains mount points, links, a few small files and the contents of
/// file mounts; the program can add nothing.
const ROOT: &CStr = c"nr_inodes=4k,mode=755";
/// Where the machine's root is mounted until nothing is needed of it.
const MACHINE: &str = ".machine";
/// Mount options of `/dev/shm`, for programs that share memory with their own children.
const SHARED: &str = "size=16m,nr_inodes=1k,mode=1777";

/// Copies each mount, with the permissions that the program gets on it. The copies are not attached
/// anywhere yet. `machine` is the root of the machine, if it is no longer this process's root.
pub(crate) fn mount_copies(
    plan: &Plan,
    handles: &[Option<OwnedFd>],
    ids: &Ids,
    machine: Option<BorrowedFd<'_>>,
) -> Result<Vec<Option<OwnedFd>>, ConfineError> {
    let mounts = plan.mounts.iter().zip(handles);
    let copies = mounts.map(|(mount, handle)| match (handle, &mount.contents) {
        (Some(handle), _) => mount_copy(mount, handle.as_fd(), ids, machine).map(Some),
        (None, Some(_)) => Ok(None),
        (None, None) => Err(ConfineError::new("find a mount", "it has no handle")),
    });
    copies.collect()
}

fn mount_copy(
    mount: &Mount,
    handle: BorrowedFd<'_>,
    ids: &Ids,
    machine: Option<BorrowedFd<'_>>,
) -> Result<OwnedFd, ConfineError> {
    let copy = copy(handle, machine).step_on("mount", &mount.at)?;
    if ids.private {
        let owner = rustix::fs::fstat(handle).step_on("inspect", &mount.at)?;
        let mapped = ids::mapping((owner.st_uid, owner.st_gid), ids, OtherOwners::Nobody)
            .and_then(|mapping| sys::map_ids(copy.as_fd(), mapping.as_fd()));
        // Reading works with the permissions of others; writes by another user would fail, so a
        // writable mount needs the mapping.
        if mount.writable {
            mapped.step_on("map file owners in", &mount.at)?;
        }
    }
    let mut attributes = attr::NOSUID | attr::NODEV;
    if !mount.writable {
        attributes |= attr::RDONLY;
    }
    sys::set_mount(copy.as_fd(), attributes, true).step_on("restrict", &mount.at)?;
    Ok(copy)
}

/// Copies the mount that a handle is on, from there down.
///
/// The kernel copies only mounts of the process's own namespace. Inside a new one, the handle's file
/// is looked up again by its path, and must be the same file.
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

/// The root of this process, with what every program sees. More can be mounted into it.
pub(crate) struct Root {
    /// The machine's root, as long as mounts have to be looked up in it.
    machine: Option<OwnedFd>,
    /// The machine's files for name resolution, if the program may use the network.
    resolver_files: Vec<(&'static str, Vec<u8>)>,
}

impl Root {
    pub(crate) fn create(system: &[&str], network: bool, ids: &Ids) -> Result<Self, ConfineError> {
        let resolver_files = match network {
            true => resolver_files(),
            false => Vec::new(),
        };
        // Unmounts on the machine propagate here, so that this copy keeps nothing busy.
        let follow = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
        mount_change("/", follow).step("separate from the machine's mounts")?;
        let mut entries = system_entries(system)?;
        entries.extend(devices()?);
        entries.push(TreeEntry {
            at: "dev/shm".into(),
            kind: EntryKind::Tmpfs(SHARED.into()),
        });
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("root", "/tmp", "tmpfs", flags, Some(ROOT)).step("mount a root")?;
        rustix::process::chdir("/tmp").step("enter the root")?;
        for directory in ["dev", "etc", "proc", MACHINE] {
            fs::create_dir(directory).step_on("create", directory.as_bytes())?;
        }
        for (name, target) in FD_LINKS {
            symlink(target, name).step_on("link", name.as_bytes())?;
        }
        put_all(entries)?;
        let processes = flags | MountFlags::NOEXEC;
        mount("proc", "proc", "proc", processes, None).step("mount a /proc of its own")?;
        hide_locks()?;
        rustix::process::pivot_root(".", MACHINE).step("leave the machine's root")?;
        rustix::process::chdir("/").step("enter the root")?;
        rustix::system::sethostname(b"localhost").step("set the host name")?;
        let machine = None;
        let mut root = Self {
            machine,
            resolver_files,
        };
        match ids.private {
            // Its mounts are sent as handles.
            true => root.detach_machine()?,
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

    fn detach_machine(&mut self) -> Result<(), ConfineError> {
        self.machine = None;
        unmount(MACHINE, UnmountFlags::DETACH).step("detach the machine's root")?;
        fs::remove_dir(MACHINE).step("detach the machine's root")
    }

    /// Adds the plan's own mounts and makes the root read-only. Returns the copy that covers the
    /// script.
    ///
    /// The copy is returned because its path does not lead to it reliably: if another process
    /// replaces the file under the mount, the path leads to the new file.
    pub(crate) fn add_plan(
        mut self,
        plan: &Plan,
        copies: Vec<Option<OwnedFd>>,
        ids: &Ids,
    ) -> Result<Option<OwnedFd>, ConfineError> {
        if self.machine.is_some() {
            self.detach_machine()?;
        }
        for (name, text) in etc(plan, ids).into_iter().chain(self.resolver_files) {
            let written = fs::write(format!("etc/{name}"), text);
            written.step_on("write", format!("/etc/{name}").as_bytes())?;
        }
        let mut entries = Vec::new();
        for (mount, copy) in plan.mounts.iter().zip(copies) {
            let kind = match (copy, &mount.contents) {
                (Some(copy), _) => EntryKind::Bind(copy),
                (None, contents) => EntryKind::File(contents.clone().unwrap_or_default()),
            };
            entries.push(TreeEntry {
                at: inside(&mount.at)?,
                kind,
            });
        }
        entries.push(TreeEntry {
            at: inside(&plan.scratch.at)?,
            kind: EntryKind::Tmpfs(format!(
                "size={},nr_inodes={},mode=1777",
                plan.scratch.size,
                plan.scratch.size / BYTES_PER_FILE + 16
            )),
        });
        let files = put_all(entries)?;
        let cover = script::cover(plan).map(inside).transpose()?;
        let cover = files.into_iter().find(|(at, _)| cover.as_ref() == Some(at));
        pin(plan)?;
        let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let root = root.step("open the root")?;
        sys::set_mount(root.as_fd(), attr::RDONLY, false).step("make the root read-only")?;
        Ok(cover.map(|(_, file)| file))
    }
}

/// Puts entries into the tree, which is the current directory. Returns those that are files of the
/// plan.
fn put_all(mut entries: Vec<TreeEntry>) -> Result<Vec<(PathBuf, OwnedFd)>, ConfineError> {
    // An entry inside another one is mounted after it.
    entries.sort_by_key(|entry| entry.at.components().count());
    // What is mounted so far, and whether it is a directory of the machine.
    let mut mounted: Vec<(PathBuf, bool)> = Vec::new();
    let mut files = Vec::new();
    for entry in entries {
        let at = entry.at.clone();
        let around = mounted
            .iter()
            .rev()
            .find(|(other, _)| at.starts_with(other));
        let mount_point = match around {
            Some((_, true)) => MountPoint::MustExist,
            _ => MountPoint::Created,
        };
        let is_bind = matches!(entry.kind, EntryKind::Bind(_));
        let put = entry.put(mount_point);
        let name = Path::new("/").join(&at);
        let file = put.step_on("mount", name.as_os_str().as_bytes())?;
        files.extend(file.map(|file| (at.clone(), file)));
        mounted.push((at, is_bind));
    }
    Ok(files)
}

/// Where a mount point comes from.
///
/// In a directory of the machine it existed when the plan was made. If another process has removed it
/// since, it is not created again: an empty protected directory or file would stay behind in the
/// user's workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountPoint {
    /// It is in a file system of the program's own.
    Created,
    /// It is in a directory of the machine.
    MustExist,
}

struct TreeEntry {
    at: PathBuf,
    kind: EntryKind,
}

enum EntryKind {
    /// A copied mount of the machine.
    Bind(OwnedFd),
    /// A file system in memory, with its mount options.
    Tmpfs(String),
    /// A read-only file with these contents.
    File(Vec<u8>),
    /// A symbolic link to this target.
    Symlink(PathBuf),
}

impl TreeEntry {
    /// Puts it into the tree, which is the current directory. Returns it if it is a file of the plan.
    fn put(self, mount_point: MountPoint) -> io::Result<Option<OwnedFd>> {
        match mount_point {
            MountPoint::Created => self.make_mount_point()?,
            MountPoint::MustExist if fs::symlink_metadata(&self.at).is_err() => {
                return Err(io::Error::other("it was moved or removed"));
            }
            MountPoint::MustExist => {}
        }
        match self.kind {
            EntryKind::Symlink(target) => symlink(target, &self.at)?,
            EntryKind::Tmpfs(options) => {
                let flags = MountFlags::NOSUID | MountFlags::NODEV;
                let options = sys::c_string(options.as_bytes())?;
                mount("tmpfs", &self.at, "tmpfs", flags, Some(options.as_c_str()))?;
            }
            EntryKind::File(contents) => {
                // It can only be mounted from somewhere: take the first free name.
                let numbers = (0..).map(|number| PathBuf::from(format!("dev/.file-{number}")));
                let mut free = numbers.filter(|path| !path.exists());
                let path = free.next().ok_or(io::ErrorKind::AlreadyExists)?;
                fs::write(&path, contents)?;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o555))?;
                let tree = copy_path(&path)?;
                let attributes = attr::NOSUID | attr::NODEV | attr::RDONLY;
                sys::set_mount(tree.as_fd(), attributes, false)?;
                put_tree(tree.as_fd(), &self.at)?;
                return Ok(Some(tree));
            }
            EntryKind::Bind(tree) => put_tree(tree.as_fd(), &self.at)?,
        }
        Ok(None)
    }

    /// Creates its mount point, unless that exists.
    fn make_mount_point(&self) -> io::Result<()> {
        if let Some(parent) = self.at.parent() {
            fs::create_dir_all(parent)?;
        }
        let is_directory = match &self.kind {
            EntryKind::Symlink(_) => return Ok(()),
            EntryKind::Tmpfs(_) => true,
            EntryKind::File(_) => false,
            EntryKind::Bind(tree) => {
                let kind = rustix::fs::fstat(tree)?.st_mode;
                rustix::fs::FileType::from_raw_mode(kind).is_dir()
            }
        };
        match fs::symlink_metadata(&self.at) {
            Ok(_) => Ok(()),
            Err(_) if is_directory => fs::create_dir_all(&self.at),
            Err(_) => fs::write(&self.at, b""),
        }
    }
}

fn put_tree(tree: BorrowedFd<'_>, at: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(move_mount(tree, c"", CWD, at, flags)?)
}

/// The directories and files of the machine, read-only.
fn system_entries(system: &[&str]) -> Result<Vec<TreeEntry>, ConfineError> {
    let mut entries = Vec::new();
    for path in system {
        let path = Path::new(path);
        let Ok(meta) = fs::symlink_metadata(path) else {
            continue;
        };
        let name = path.as_os_str().as_bytes();
        let at = inside(name)?;
        if meta.is_symlink() {
            let target = fs::read_link(path).step_on("read", name)?;
            entries.push(TreeEntry {
                at,
                kind: EntryKind::Symlink(target),
            });
            continue;
        }
        let tree = copy_path(path).step_on("mount", name)?;
        let attributes = attr::NOSUID | attr::NODEV | attr::RDONLY;
        sys::set_mount(tree.as_fd(), attributes, true).step_on("restrict", name)?;
        entries.push(TreeEntry {
            at,
            kind: EntryKind::Bind(tree),
        });
    }
    Ok(entries)
}

/// Covers the list of all file locks by an empty file: while the kernel writes it, nobody on this machine can lock or unlock a
/// file, and programs that read it all the time would make that a thousand times slower.
fn hide_locks() -> Result<(), ConfineError> {
    let at = PathBuf::from("proc/locks");
    if !at.exists() {
        return Ok(());
    }
    let empty = EntryKind::File(Vec::new());
    let put = TreeEntry { at, kind: empty }.put(MountPoint::MustExist);
    put.step("hide the list of file locks").map(drop)
}

fn devices() -> Result<Vec<TreeEntry>, ConfineError> {
    let mut entries = Vec::new();
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        let tree = match copy_path(&path) {
            // A container may lack the terminal device, and programs do without it.
            Err(error) if name == "tty" && error.kind() == io::ErrorKind::NotFound => continue,
            tree => tree.step_on("mount", path.as_os_str().as_bytes())?,
        };
        let restricted = sys::set_mount(tree.as_fd(), attr::NOSUID, true);
        restricted.step_on("restrict", path.as_os_str().as_bytes())?;
        entries.push(TreeEntry {
            at: Path::new("dev").join(name),
            kind: EntryKind::Bind(tree),
        });
    }
    Ok(entries)
}

fn copy_path(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

/// Keeps the directories on the way to a read-only mount inside a writable one from being renamed:
/// each is mounted onto itself, because mount points can neither be renamed nor removed.
fn pin(plan: &Plan) -> Result<(), ConfineError> {
    // Each only once: a copy contains what is mounted in it, so every further one would double that.
    let mut directories = BTreeSet::new();
    for (read_only, around) in nested(plan) {
        let (read_only, around) = (inside(&read_only.at)?, inside(&around.at)?);
        let above = read_only.ancestors().skip(1);
        let way = above.take_while(|above| *above != around);
        directories.extend(way.map(Path::to_owned));
    }
    let mut directories: Vec<PathBuf> = directories.into_iter().collect();
    directories.sort_by_key(|directory| directory.components().count());
    for directory in directories {
        let name = directory.as_os_str().as_bytes();
        let tree = copy_path(&directory).step_on("pin", name)?;
        put_tree(tree.as_fd(), &directory).step_on("pin", name)?;
    }
    Ok(())
}

/// Read-only mounts inside writable ones, each with the one around it.
pub(crate) fn nested(plan: &Plan) -> impl Iterator<Item = (&Mount, &Mount)> {
    let read_only = plan.mounts.iter().filter(|mount| !mount.writable);
    read_only.filter_map(|mount| {
        let path = Path::new(OsStr::from_bytes(&mount.at));
        let mut around = plan.mounts.iter().filter(|other| other.writable);
        let around = around.find(|other| {
            let other = Path::new(OsStr::from_bytes(&other.at));
            path != other && path.starts_with(other)
        })?;
        Some((mount, around))
    })
}

/// Turns an absolute path into one relative to the new root, which is the current directory.
fn inside(path: &[u8]) -> Result<PathBuf, ConfineError> {
    let path = Path::new(OsStr::from_bytes(path));
    let relative = path.strip_prefix("/").unwrap_or(path);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if relative.as_os_str().is_empty() || !path.has_root() || !relative.components().all(plain) {
        let path = path.display();
        return Err(ConfineError::new(
            format!("mount `{path}`"),
            "it must be absolute, without `.` and `..`, and not `/`",
        ));
    }
    Ok(relative.to_owned())
}

/// The files in `/etc` that describe users, groups and hosts.
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

/// The machine's own files for name resolution.
fn resolver_files() -> Vec<(&'static str, Vec<u8>)> {
    let of_machine = |name| Some((name, fs::read(Path::new("/etc").join(name)).ok()?));
    let files = ["hosts", "resolv.conf"].into_iter();
    files.filter_map(of_machine).collect()
}

/// The Landlock rules for this tree.
pub(crate) fn rules(plan: &Plan) -> Result<Vec<Rule>, ConfineError> {
    let mut rules = Vec::new();
    let mut rule = |path: &[u8], access| -> Result<(), ConfineError> {
        let rule = Rule::on_path(path, access).step_on("allow", path)?;
        rules.push(rule);
        Ok(())
    };
    // The tree contains only what may be seen, and mounts are read-only where they have to be.
    rule(b"/", Access::Execute)?;
    rule(b"/dev/shm", Access::Change)?;
    for name in DEVICES {
        let path = format!("/dev/{name}");
        // Not writable: a shared writable mapping of `/dev/zero` is memory that no counter shows.
        if name != "zero" && Path::new(&path).exists() {
            rule(path.as_bytes(), Access::Device)?;
        }
    }
    for mount in plan.mounts.iter().filter(|mount| mount.writable) {
        rule(&mount.at, Access::Change)?;
    }
    if !plan.is_bare_probe() {
        rule(&plan.scratch.at, Access::Change)?;
    }
    Ok(rules)
}
