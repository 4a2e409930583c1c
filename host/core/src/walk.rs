//! Opens a path that a person named, one component at a time.
//!
//! A script can replace whatever is in a directory that it may write: `rm -r out; ln -s ~/.ssh out`. If the next
//! run gets `out` as its workspace, following the link hands over `~/.ssh`. So a walk follows only those symbolic
//! links that no script can have made, and any other is an error that names the target. The rejected alternative is
//! to resolve the path, check the result and then open it: a link created in between defeats the check. Here every
//! component is opened below the one before, and the last handle is the one that is used.
//!
//! A walk opens nothing for reading or writing (`O_PATH`), so it neither blocks on a FIFO nor touches a device.

use crate::files::{real_path, show};
use crate::ownership::Ownership;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2, readlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// The kernel follows no more links than this.
const MAX_LINKS: usize = 40;

/// Nested directories; no path that the kernel accepts has more.
const MAX_DEPTH: usize = 4096;

/// Where links are followed.
///
/// The files that a confined script of root creates belong to root as well, so their owner does not distinguish them
/// from the system's own, neither for root nor for other users. These are directories where systems keep links (`/bin`,
/// `/var/run`, `/etc/os-release`) and that hardly anybody grants to a script. Common workspaces of root (`/mnt`, `/srv`, `/opt`,
/// `/root`) are left out on purpose.
const SYSTEM: [&str; 5] = ["/", "/etc", "/usr", "/usr/local", "/var"];
/// Where links are followed if we are not root: that of a home that was moved.
const HOMES: &str = "/home";
/// If we are not root, links are followed in all of it, except where programs are installed by hand.
const PROGRAMS: &str = "/usr";
const OWN_PROGRAMS: &str = "/usr/local";

/// The symbolic links that a walk follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Those that only the system can have made: in a few system directories, where they and all their parent directories
    /// belong to root, and no other user may write.
    System,
    /// All of them, because a person has allowed it.
    All,
}

/// The file or directory that a path leads to, opened without the right to read or write it.
#[derive(Debug)]
pub struct Walked {
    handle: OwnedFd,
    metadata: Metadata,
    /// The directory it was found in, and its name there; `None` for `/`, `.` and `..`.
    pub(crate) found: Option<(OwnedFd, OsString)>,
}

/// Why a path was not opened.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// A symbolic link that a script could have made.
    #[error("{}", link_error(*.last, .link, .target))]
    Link {
        /// Where the link is.
        link: PathBuf,
        /// Whether it is the last component of the path.
        last: bool,
        /// What the whole path leads to.
        target: PathBuf,
    },
    /// The last component does not exist.
    #[error("no such file or directory")]
    Missing {
        /// The directory that it would be in.
        folder: OwnedFd,
        /// Its name there.
        name: OsString,
    },
    /// The operating system reported an error.
    #[error("{}", crate::files::plain(.0))]
    Io(#[from] io::Error),
}

fn link_error(last: bool, link: &Path, target: &Path) -> String {
    let target = show(&target.display().to_string());
    match last {
        true => format!("is a symbolic link to `{target}` that a script could have made"),
        false => format!(
            "leads to `{target}` through the symbolic link `{}`, which a script could have made",
            show(&link.display().to_string())
        ),
    }
}

impl From<Errno> for WalkError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// Opens what a path leads to. A relative path starts at the current directory.
pub fn walk(path: &Path, links: Links) -> Result<Walked, WalkError> {
    let mut rest: Vec<OsString> = names(path).collect();
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT.into());
    }
    let mut folder = match path.is_absolute() {
        true => open_folder(CWD, "/")?,
        false => open_folder(CWD, ".")?,
    };
    if let Some(ahead) = without_links(&folder, &rest) {
        folder = ahead;
        rest.truncate(1);
    }
    let mut followed = 0;
    loop {
        let Some(name) = rest.pop() else {
            return Ok(Walked {
                metadata: metadata(&folder)?,
                handle: folder,
                found: None,
            });
        };
        if name == ".." {
            folder = open_folder(&folder, "..")?;
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Asking for a directory first triggers an automount.
        let open = |flags| openat(&folder, &name, flags, Mode::empty());
        let handle = match open(flags | OFlags::DIRECTORY) {
            Err(Errno::NOTDIR) => open(flags),
            handle => handle,
        };
        let handle = match handle {
            Err(Errno::NOENT) if rest.is_empty() => {
                return Err(WalkError::Missing { folder, name });
            }
            handle => handle?,
        };
        let found = metadata(&handle)?;
        if found.is_symlink() {
            followed += 1;
            if followed > MAX_LINKS {
                return Err(Errno::LOOP.into());
            }
            if links == Links::System && !is_system_link(&folder, &found) {
                let link = real_path(&folder)?.join(&name);
                return Err(WalkError::Link {
                    // Only for the message.
                    target: path
                        .canonicalize()
                        .unwrap_or_else(|_| dangling_target(&link)),
                    last: rest.is_empty(),
                    link,
                });
            }
            // Read from the link that was checked: its name may belong to another file by now.
            let target = readlinkat(&handle, "", Vec::new())?.into_bytes();
            let target = PathBuf::from(OsString::from_vec(target));
            if target.is_absolute() {
                folder = open_folder(CWD, "/")?;
            }
            rest.extend(names(&target));
        } else if rest.is_empty() {
            return Ok(Walked {
                handle,
                metadata: found,
                found: Some((folder, name)),
            });
        } else if found.is_dir() {
            folder = handle;
        } else {
            return Err(Errno::NOTDIR.into());
        }
    }
}

impl Walked {
    /// Its metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Its real path.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        real_path(&self.handle)
    }

    /// Who may write it.
    pub fn ownership(&self) -> io::Result<Ownership> {
        Ownership::of(&self.handle)
    }

    /// Its parent directories, the innermost first, up to `/`.
    pub fn parents(&self) -> io::Result<Vec<Ownership>> {
        match &self.found {
            Some((folder, _)) => self_and_parents(folder),
            None => self_and_parents(open_folder(&self.handle, "..")?),
        }
    }

    /// Opens the same file for reading or writing, even if its name leads elsewhere by now.
    pub fn open(&self, options: &OpenOptions) -> io::Result<File> {
        options.open(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }

    pub(crate) fn into_handle(self) -> OwnedFd {
        self.handle
    }
}

/// A directory and its parents, the innermost first, up to `/`.
pub fn self_and_parents(folder: impl AsFd) -> io::Result<Vec<Ownership>> {
    let id = |folder: &Ownership| (folder.metadata().dev(), folder.metadata().ino());
    let root = id(&Ownership::of(open_folder(CWD, "/")?)?);
    let mut folder = folder.as_fd().try_clone_to_owned()?;
    let mut all = vec![Ownership::of(&folder)?];
    loop {
        let above = open_folder(&folder, "..")?;
        let next = Ownership::of(&above)?;
        // The parent of `/` is `/`. A directory mounted inside itself also equals its parent, so compare with `/`.
        if id(&next) == root && all.last().map(id) == Some(root) {
            return Ok(all);
        }
        // No path is deeper. A directory that was detached from the tree has no `/` above it.
        if all.len() > MAX_DEPTH {
            return Err(Errno::LOOP.into());
        }
        all.push(next);
        folder = above;
    }
}

/// The real path of a file that may not exist yet, even behind dangling links.
pub fn real(path: &Path) -> PathBuf {
    Route::of(path).real
}

/// Where a path leads, and what decides that.
#[derive(Debug, Default)]
pub(crate) struct Route {
    /// The real path.
    pub(crate) real: PathBuf,
    /// The real path of each link on the way.
    pub(crate) links: Vec<PathBuf>,
    /// Where the path would lead if one of the links were a directory instead.
    pub(crate) without_links: Vec<PathBuf>,
    /// What `..` follows in a link on the way: if that became a link itself, `..` would lead elsewhere.
    pub(crate) before_parents: Vec<PathBuf>,
}

impl Route {
    /// The route of a path that may not exist, even behind dangling links.
    pub(crate) fn of(path: &Path) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut rest: Vec<OsString> = names(&path).collect();
        let mut route = Self {
            real: PathBuf::from("/"),
            ..Self::default()
        };
        while let Some(name) = rest.pop() {
            if name == ".." {
                // Without a link, the caller wrote it: as a rule, it begins at the current directory.
                if !route.links.is_empty() {
                    route.before_parents.push(route.real.clone());
                }
                route.real.pop();
                continue;
            }
            route.real.push(&name);
            if route.links.len() < MAX_LINKS
                && let Ok(target) = route.real.read_link()
            {
                route.links.push(route.real.clone());
                route.without_links.push(lexically(&route.real, &rest));
                match target.is_absolute() {
                    true => route.real = PathBuf::from("/"),
                    false => drop(route.real.pop()),
                }
                rest.extend(names(&target));
            }
        }
        route
    }
}

/// The path to which `rest`, in reverse order, leads from the directory `start` if nothing on the way is a link.
fn lexically(start: &Path, rest: &[OsString]) -> PathBuf {
    let mut path = start.to_owned();
    for name in rest.iter().rev() {
        match name == ".." {
            true => drop(path.pop()),
            false => path.push(name),
        }
    }
    path
}

/// Opens the directory that all names but the last lead to, if none of them is a link. `names` are in reverse order.
/// This handles the usual case in one system call; if it fails, the walk finds out why.
fn without_links(start: &OwnedFd, names: &[OsString]) -> Option<OwnedFd> {
    let path: PathBuf = names.iter().skip(1).rev().collect();
    if path.as_os_str().is_empty() {
        return None;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(
        start,
        &path,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    )
    .ok()
}

/// Whether only the system can have created a link in `folder`.
fn is_system_link(folder: &OwnedFd, link: &Metadata) -> bool {
    let Ok((folders, path)) =
        self_and_parents(folder).and_then(|all| Ok((all, real_path(folder)?)))
    else {
        return false;
    };
    let folders = folders.iter().map(Ownership::metadata);
    let folders = folders.map(|folder| (folder.uid(), folder.mode()));
    let own = rustix::process::geteuid().as_raw();
    is_trusted(own, link.uid(), folders, &path)
}

/// The rule for a link of `owner` in the directory `folder`: `folders` has the owners and modes of that directory and its
/// parents.
fn is_trusted(
    own: u32,
    owner: u32,
    mut folders: impl Iterator<Item = (u32, u32)>,
    folder: &Path,
) -> bool {
    const ROOT: u32 = 0;
    let is_for_users = || {
        folder == Path::new(HOMES)
            || folder.starts_with(PROGRAMS) && !folder.starts_with(OWN_PROGRAMS)
    };
    owner == ROOT
        && folders.all(|(owner, mode)| owner == ROOT && mode & 0o022 == 0)
        && (SYSTEM.iter().any(|system| Path::new(system) == folder)
            || own != ROOT && is_for_users())
}

/// The target of a dangling link, for a message.
fn dangling_target(link: &Path) -> PathBuf {
    let target = link.read_link().unwrap_or_default();
    let folder = link.parent().unwrap_or(Path::new("/"));
    folder.join(target)
}

fn open_folder(at: impl AsFd, name: impl AsRef<OsStr>) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(at, name.as_ref(), flags, Mode::empty())?)
}

fn metadata(handle: impl AsFd) -> io::Result<Metadata> {
    let handle: BorrowedFd<'_> = handle.as_fd();
    File::from(handle.try_clone_to_owned()?).metadata()
}

/// The names in a path in reverse order.
fn names(path: &Path) -> impl Iterator<Item = OsString> {
    let parts = path.components().rev();
    parts.filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir_all(top.join("secret/in")).unwrap();
        fs::write(top.join("a/file"), "").unwrap();
        symlink(top.join("secret"), top.join("a/out")).unwrap();
        symlink("b", top.join("a/inward")).unwrap();
        symlink("nothing", top.join("a/dangling")).unwrap();
        symlink("round", top.join("a/round")).unwrap();
        (folder, top)
    }

    fn real(path: &Path, links: Links) -> Result<PathBuf, WalkError> {
        walk(path, links).map(|walked| walked.real_path().unwrap())
    }

    /// A tree without a root, such as one that was detached from `/`, must not be followed for ever.
    #[test]
    fn parent_directories_are_followed_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let top = open_folder(CWD, folder.path()).unwrap();
        let above = self_and_parents(&top).unwrap().len();
        let mut inner = top;
        let mut deepen = |count: usize| {
            for _ in 0..count {
                rustix::fs::mkdirat(&inner, "d", Mode::RWXU).unwrap();
                inner = open_folder(&inner, "d").unwrap();
            }
            self_and_parents(&inner)
        };
        let max = MAX_DEPTH + 1;
        assert_eq!(deepen(max - above).unwrap().len(), max);
        let error = deepen(1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
        // `TempDir` cannot remove a tree this deep.
        for _ in 0..=max - above {
            inner = open_folder(&inner, "..").unwrap();
            rustix::fs::unlinkat(&inner, "d", rustix::fs::AtFlags::REMOVEDIR).unwrap();
        }
    }

    #[test]
    fn a_path_without_links_leads_where_it_says() {
        let (_folder, top) = tree();
        for (path, leads) in [
            ("a", "a"),
            ("a/", "a"),
            ("a/./b", "a/b"),
            ("a/b/..", "a"),
            ("a/b/../file", "a/file"),
            ("", ""),
        ] {
            let leads = top.join(leads);
            let leads = leads.components().collect::<PathBuf>();
            assert_eq!(real(&top.join(path), Links::System).unwrap(), leads);
        }
        assert_eq!(real(Path::new("/"), Links::System).unwrap(), Path::new("/"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(real(Path::new("."), Links::System).unwrap(), here);
        let above = here.parent().unwrap();
        assert_eq!(real(Path::new(".."), Links::System).unwrap(), above);
    }

    #[test]
    fn a_link_that_a_script_could_have_made_is_named_with_its_target() {
        let (_folder, top) = tree();
        let shown = top.display();
        for (path, why) in [
            (
                "a/out",
                format!("is a symbolic link to `{shown}/secret` that a script could have made"),
            ),
            (
                "a/inward",
                format!("is a symbolic link to `{shown}/a/b` that a script could have made"),
            ),
            (
                "a/dangling",
                format!("is a symbolic link to `{shown}/a/nothing` that a script could have made"),
            ),
            (
                "a/out/in",
                format!(
                    "leads to `{shown}/secret/in` through the symbolic link `{shown}/a/out`, which \
                     a script could have made"
                ),
            ),
            // `..` is the parent of the link's target, not of the link.
            (
                "a/out/../a/file",
                format!(
                    "leads to `{shown}/a/file` through the symbolic link `{shown}/a/out`, which a \
                     script could have made"
                ),
            ),
        ] {
            let error = real(&top.join(path), Links::System).unwrap_err();
            assert!(matches!(error, WalkError::Link { .. }), "{path}: {error}");
            assert_eq!(error.to_string(), why);
        }
    }

    #[test]
    fn links_are_followed_if_a_person_allowed_it() {
        let (_folder, top) = tree();
        for (path, leads) in [
            ("a/out", "secret"),
            ("a/inward", "a/b"),
            ("a/out/in", "secret/in"),
            ("a/out/../a/file", "a/file"),
        ] {
            assert_eq!(
                real(&top.join(path), Links::All).unwrap(),
                top.join(leads),
                "{path}"
            );
        }
        let round = real(&top.join("a/round"), Links::All).unwrap_err();
        assert_eq!(round.to_string(), "too many levels of symbolic links");
        let dangling = walk(&top.join("a/dangling"), Links::All).unwrap_err();
        let WalkError::Missing { folder, name } = dangling else {
            panic!("{dangling}")
        };
        assert_eq!(
            real_path(&folder).unwrap().join(name),
            top.join("a/nothing")
        );
    }

    #[test]
    fn a_missing_path_is_reported() {
        let (_folder, top) = tree();
        for (path, why) in [
            ("none", "no such file or directory"),
            ("none/none", "no such file or directory"),
            ("a/file/none", "not a directory"),
        ] {
            for links in [Links::System, Links::All] {
                assert_eq!(
                    real(&top.join(path), links).unwrap_err().to_string(),
                    why,
                    "{path}"
                );
            }
        }
        let empty = walk(Path::new(""), Links::All).unwrap_err();
        assert_eq!(empty.to_string(), "no such file or directory");
    }

    #[test]
    fn a_directory_swapped_with_a_link_repeatedly_never_leads_out() {
        use rustix::fs::{RenameFlags, renameat_with};
        use std::sync::atomic::{AtomicBool, Ordering};
        let (_folder, top) = tree();
        let secret = top.join("secret/in").metadata().unwrap().ino();
        fs::create_dir(top.join("a/b/in")).unwrap();
        let (one, other) = (top.join("a/b"), top.join("a/out"));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                }
            });
            for _ in 0..20_000 {
                match walk(&top.join("a/b/in"), Links::System) {
                    Ok(walked) => assert_ne!(walked.metadata().ino(), secret),
                    Err(error) => assert!(matches!(error, WalkError::Link { .. }), "{error}"),
                }
            }
            done.store(true, Ordering::SeqCst);
        });
    }

    #[test]
    fn only_links_of_the_system_are_trusted() {
        const ROOT: u32 = 0;
        const USER: u32 = 1000;
        let closed = (ROOT, 0o40755);
        for (own, owner, folders, folder, trusted) in [
            (USER, ROOT, vec![closed], "/", true),
            (USER, ROOT, vec![closed; 3], "/usr/share", true),
            (USER, ROOT, vec![closed; 2], "/home", true),
            (USER, ROOT, vec![closed; 3], "/usr/local", true),
            // Where a script of root can have made them.
            (USER, ROOT, vec![closed; 2], "/srv", false),
            (USER, ROOT, vec![closed; 3], "/srv/w", false),
            (USER, ROOT, vec![closed; 3], "/home/w", false),
            (USER, ROOT, vec![closed; 4], "/usr/local/src", false),
            // A link of a user, in a directory of a user, below one, or where other users may write.
            (USER, USER, vec![closed], "/", false),
            (USER, ROOT, vec![(USER, 0o40755), closed], "/w", false),
            (
                USER,
                ROOT,
                vec![closed, (USER, 0o40755), closed],
                "/w/x",
                false,
            ),
            (USER, ROOT, vec![(ROOT, 0o40775), closed], "/w", false),
            (USER, ROOT, vec![(ROOT, 0o41777), closed], "/tmp", false),
            (
                USER,
                ROOT,
                vec![closed, (ROOT, 0o41777), closed],
                "/tmp/x",
                false,
            ),
            // The scripts of root create links that belong to root.
            (ROOT, ROOT, vec![closed], "/", true),
            (ROOT, ROOT, vec![closed; 2], "/var", true),
            (ROOT, ROOT, vec![closed; 2], "/srv", false),
            (ROOT, ROOT, vec![closed; 2], "/home", false),
            (ROOT, ROOT, vec![closed; 3], "/usr/share", false),
            (ROOT, USER, vec![closed], "/", false),
        ] {
            assert_eq!(
                is_trusted(own, owner, folders.into_iter(), Path::new(folder)),
                trusted,
                "{own} {owner} {folder}"
            );
        }
    }

    #[test]
    fn the_parent_directories_of_a_file_are_complete() {
        let (_folder, top) = tree();
        let walked = walk(&top.join("a/file"), Links::System).unwrap();
        let found: Vec<u64> = walked
            .parents()
            .unwrap()
            .iter()
            .map(|folder| folder.metadata().ino())
            .collect();
        let wanted: Vec<u64> = top
            .join("a")
            .ancestors()
            .map(|folder| folder.metadata().unwrap().ino())
            .collect();
        assert_eq!(found, wanted);
    }
}
