//! Tests on full disks and in locked directories.

use super::renew::{exchange_in_steps, exchange_with_fresh};
use super::reserve::RESERVED_BYTES;
use super::*;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

/// A directory with the directory `a`, which contains a file.
fn folder() -> (tempfile::TempDir, OwnedFd) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("a")).unwrap();
    fs::write(folder.path().join("a/file"), "").unwrap();
    let opened = File::open(folder.path()).unwrap().into();
    (folder, opened)
}

/// The paths in it, two levels deep.
fn paths(folder: &tempfile::TempDir) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        for inner in fs::read_dir(entry.path()).unwrap() {
            let inner = inner.unwrap().file_name().into_string().unwrap();
            all.push(format!("{name}/{inner}"));
        }
        all.push(name);
    }
    all.sort();
    all
}

#[test]
fn directories_are_exchanged_in_steps_or_not_at_all() {
    let (folder, opened) = folder();
    let missing = exchange_in_steps(&opened, c"a", c"b");
    assert_eq!(missing, Err(Errno::NOENT));
    assert_eq!(paths(&folder), ["a", "a/file"]);
    fs::create_dir(folder.path().join("b")).unwrap();
    exchange_in_steps(&opened, c"a", c"b").unwrap();
    assert_eq!(paths(&folder), ["a", "b", "b/file"]);
}

#[test]
fn a_directory_that_was_moved_aside_and_then_removed_is_gone() {
    let (folder, _) = folder();
    let open = || File::open(folder.path().join("a")).unwrap().into();
    for is_removed in [false, true] {
        let mut guarded = GuardedPath {
            path: b"a/path".to_vec(),
            original: None,
            originals: Vec::new(),
            starts: Vec::new(),
            seen: false,
            not_replaced: Some(Ok(open())),
        };
        let mut fate = Fate::Moved(folder.path().join("a").into_os_string().into_vec());
        if is_removed {
            fs::remove_dir_all(folder.path().join("a")).unwrap();
            fate = Fate::Gone;
        }
        assert_eq!(guarded.move_aside().unwrap().fate, fate);
    }
}

/// Runs a test with an empty directory to mount something at, which nobody else sees. Without the right to, the test is not
/// run.
#[expect(unsafe_code, reason = "rustix marks unshare as unsafe")]
fn in_own_mounts(test: impl FnOnce(&Path) + Send) {
    use rustix::mount::{MountPropagationFlags, mount_change};
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    let disk = tempfile::tempdir().unwrap();
    // SAFETY: This affects the mounts and the working directory of this thread only, which has just been started.
    let unshared = || match unsafe { unshare_unsafe(UnshareFlags::NEWNS) } {
        Err(Errno::PERM) => {}
        unshared => {
            unshared.unwrap();
            let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
            mount_change("/", private).unwrap();
            test(disk.path());
        }
    };
    std::thread::scope(|scope| scope.spawn(unshared).join().unwrap());
}

/// Runs a test in a file system with few inodes, which it shares with nobody.
fn with_few_inodes(test: impl FnOnce(&Path) + Send) {
    in_own_mounts(|disk| {
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("none", disk, "tmpfs", flags, c"nr_inodes=16").unwrap();
        test(disk);
    });
}

/// Lets `work` become a directory on the way to a protected path, and uses up the disk. Returns what became of it, and
/// whether a handle to the old directory still leads to an existing one.
fn moved_on_a_full_disk(disk: &Path, with_reserve: bool) -> (Option<Fate>, bool) {
    let work = disk.join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("file"), "").unwrap();
    let held = File::open(&work).unwrap();
    let mut guarded = GuardedPaths::default();
    let top = File::open(disk).unwrap();
    let added = guarded.add(top.as_fd(), b"way/path", b"path", None);
    added.unwrap();
    if with_reserve {
        guarded.reserve_space().unwrap();
    }
    fs::rename(&work, disk.join("way")).unwrap();
    let mut created = (0..).map(|n| fs::write(disk.join(format!("fill{n}")), ""));
    let full = created.find_map(Result::err).unwrap();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    let fate = guarded.move_aside().pop().map(|one| one.fate);
    (fate, fstat(held).unwrap().st_nlink > 0)
}

#[test]
fn a_directory_is_replaced_even_if_the_disk_is_full() {
    with_few_inodes(|disk| {
        assert_eq!(moved_on_a_full_disk(disk, true), (None, false));
        assert!(disk.join("way/file").exists());
    });
}

#[test]
fn a_directory_is_moved_aside_if_there_is_no_space_to_replace_it() {
    with_few_inodes(|disk| {
        let aside = disk.join("way.refused");
        let fate = Fate::Moved(aside.clone().into_os_string().into_vec());
        assert_eq!(moved_on_a_full_disk(disk, false), (Some(fate), true));
        assert!(aside.join("file").exists() && !disk.join("way").exists());
    });
}

#[test]
fn no_space_is_reserved_on_a_full_disk() {
    with_few_inodes(|disk| {
        let mut guarded = GuardedPaths::default();
        let top = File::open(disk).unwrap();
        guarded.add(top.as_fd(), b"way", b"path", None).unwrap();
        let mut created = (0..).map(|n| fs::write(disk.join(format!("fill{n}")), ""));
        created.find_map(Result::err).unwrap();
        let (path, error) = guarded.reserve_space().unwrap_err();
        assert_eq!(path, b"path");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        fs::remove_file(disk.join("fill0")).unwrap();
        guarded.reserve_space().unwrap();
    });
}

#[test]
fn space_is_reserved_in_a_directory_that_its_owner_has_locked() {
    let folder = tempfile::tempdir().unwrap();
    let opened: OwnedFd = File::open(folder.path()).unwrap().into();
    fs::set_permissions(folder.path(), mode(0o555)).unwrap();
    let reserved = fstat(reserve(&opened).unwrap()).unwrap();
    assert!(reserved.st_blocks.cast_unsigned() * 512 >= RESERVED_BYTES);
    assert_eq!(fstat(&opened).unwrap().st_mode & 0o777, 0o555);
    fs::set_permissions(folder.path(), mode(0o755)).unwrap();
}

#[test]
fn a_directory_that_cannot_be_exchanged_leaves_no_fresh_one_behind() {
    let (folder, opened) = folder();
    let before = identity(&fstat(File::open(folder.path().join("a")).unwrap()).unwrap());
    // As if it was renamed in the meantime.
    let exchanged = exchange_with_fresh(&opened, c"renamed");
    assert_eq!(exchanged.err(), Some(Errno::NOENT));
    assert_eq!(paths(&folder), ["a", "a/file"]);
    let (fresh, other) = exchange_with_fresh(&opened, c"a").unwrap();
    let other = other.into_string().unwrap();
    assert_eq!(paths(&folder), ["a", &other, &format!("{other}/file")]);
    assert_ne!(identity(&fstat(fresh).unwrap()), before);
}

/// Paths that share a new directory, in which another one is new, too.
#[test]
fn directories_on_the_way_to_several_paths_are_replaced_at_all_levels() {
    let folder = tempfile::tempdir().unwrap();
    let top = File::open(folder.path()).unwrap();
    let mut guarded = GuardedPaths::default();
    for path in ["a/b/c/path", "a/b/other", "a/path"] {
        let added = guarded.add(top.as_fd(), path.as_bytes(), path.as_bytes(), None);
        added.unwrap();
    }
    fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
    let new = ["a", "a/b", "a/b/c"];
    let opened = || new.map(|path| File::open(folder.path().join(path)).unwrap());
    let held = opened();
    for path in new {
        fs::write(folder.path().join(path).join("file"), "").unwrap();
    }
    fs::set_permissions(folder.path().join("a/b"), mode(0o500)).unwrap();
    assert_eq!(guarded.move_aside(), []);
    let links = held.map(|held| fstat(held).unwrap().st_nlink);
    assert_eq!(links, [0, 0, 0], "somebody still has an existing directory");
    let mut left = paths(&folder);
    left.retain(|path| path.matches('/').count() < 2);
    assert_eq!(left, ["a", "a/b", "a/file"]);
    assert!(folder.path().join("a/b/c/file").exists());
    let modes = opened().map(|opened| fstat(opened).unwrap().st_mode & 0o777);
    assert_eq!(modes[1], 0o500);
}

/// All directories below one that is open, and itself.
fn reachable(top: &OwnedFd) -> Vec<(Identity, OwnedFd)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(top, c".", flags, Mode::empty()).unwrap();
    let mut all = Vec::new();
    for entry in rustix::fs::Dir::read_from(&opened).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type() == FileType::Directory
            && !entry.file_name().to_bytes().starts_with(b".")
        {
            let inner = openat(&opened, entry.file_name(), flags, Mode::empty()).unwrap();
            all.extend(reachable(&inner));
        }
    }
    all.push((identity(&fstat(&opened).unwrap()), opened));
    all
}

/// Another run has the outermost directory open, and opens everything that it finds there at every moment.
#[test]
fn no_other_run_can_open_a_fresh_directory_inside_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let top = File::open(folder.path()).unwrap();
    let work = folder.path().join("work");
    fs::create_dir_all(work.join("a/b")).unwrap();
    fs::create_dir_all(work.join("x")).unwrap();
    for path in ["file", "a/file", "a/b/file", "x/file"] {
        fs::write(work.join(path), "").unwrap();
    }
    let mut guarded = GuardedPaths::default();
    for path in ["way/a/b/path", "way/a/b/other", "way/x/path", "way/path"] {
        let added = guarded.add(top.as_fd(), path.as_bytes(), path.as_bytes(), None);
        added.unwrap();
    }
    let held: OwnedFd = File::open(&work).unwrap().into();
    fs::rename(&work, folder.path().join("way")).unwrap();
    let mut opened = reachable(&held);
    let mut settled = Vec::new();
    let mut rounds = 0;
    loop {
        let replaced = guarded.take_off_the_way(&settled);
        if replaced.is_empty() {
            break;
        }
        assert_eq!(replaced.len(), 4, "some are replaced twice or not at all");
        opened.extend(reachable(&held));
        guarded.move_entries(&replaced, &mut settled);
        rounds += 1;
    }
    assert_eq!(rounds, 1);
    let way: OwnedFd = File::open(folder.path().join("way")).unwrap().into();
    let on_the_way: Vec<Identity> = reachable(&way).into_iter().map(|(own, _)| own).collect();
    assert_eq!(on_the_way.len(), 4);
    for (own, handle) in &opened {
        assert!(
            !on_the_way.contains(own),
            "the other run has one of them open"
        );
        assert_eq!(fstat(handle).unwrap().st_nlink, 0);
    }
    for path in ["file", "a/file", "a/b/file", "x/file"] {
        assert!(folder.path().join("way").join(path).exists());
    }
}

/// The other run puts a directory of its own into the place of one that was replaced.
#[test]
fn a_directory_that_returns_to_its_place_is_not_moved_onto_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let top = File::open(folder.path()).unwrap();
    let work = folder.path().join("work");
    fs::create_dir_all(work.join("a")).unwrap();
    let mut guarded = GuardedPaths::default();
    let added = guarded.add(top.as_fd(), b"way/a/path", b"path", None);
    added.unwrap();
    let held: OwnedFd = File::open(&work).unwrap().into();
    fs::rename(&work, folder.path().join("way")).unwrap();
    let replaced = guarded.take_off_the_way(&[]);
    rustix::fs::renameat(&held, c"a", &held, c"moved").unwrap();
    rustix::fs::mkdirat(&held, c"a", Mode::RWXU).unwrap();
    rustix::fs::mkdirat(&held, c"a/path", Mode::RWXU).unwrap();
    let opened: Vec<Identity> = reachable(&held).into_iter().map(|(own, _)| own).collect();
    let mut settled = Vec::new();
    guarded.move_entries(&replaced, &mut settled);
    assert!(guarded.take_off_the_way(&settled).is_empty());
    let way = folder.path().join("way/a");
    let on_the_way: OwnedFd = File::open(way).unwrap().into();
    assert!(!opened.contains(&identity(&fstat(on_the_way).unwrap())));
    let fate = guarded.move_aside().pop().unwrap().fate;
    assert!(matches!(fate, Fate::Moved(_)), "{fate:?}");
}

/// Directories of the start, which the program moves away and back, and another run opens meanwhile. Returns whether each still
/// exists for that run after the end.
fn moved_and_back(is_watched: bool, moved: &str) -> [bool; 2] {
    let folder = tempfile::tempdir().unwrap();
    let top = File::open(folder.path()).unwrap();
    fs::create_dir_all(folder.path().join("way/a")).unwrap();
    fs::write(folder.path().join("way/a/file"), "").unwrap();
    // So that their change times differ from later ones.
    std::thread::sleep(std::time::Duration::from_millis(2200));
    let mut guarded = GuardedPaths::default();
    let added = guarded.add(top.as_fd(), b"way/a/path", b"path", None);
    added.unwrap();
    if is_watched {
        guarded.watch_moves();
        // Files that come and go move nothing.
        fs::write(folder.path().join("way/other"), "").unwrap();
        fs::write(folder.path().join("way/a/other"), "").unwrap();
    }
    let held = ["way", "way/a"].map(|path| File::open(folder.path().join(path)).unwrap());
    if !moved.is_empty() {
        let (path, aside) = (folder.path().join(moved), folder.path().join("aside"));
        fs::rename(&path, &aside).unwrap();
        fs::rename(&aside, &path).unwrap();
    }
    assert_eq!(guarded.move_aside(), []);
    assert!(folder.path().join("way/a/file").exists());
    held.map(|held| fstat(held).unwrap().st_nlink > 0)
}

#[test]
fn a_directory_that_was_moved_and_is_back_is_replaced_with_all_on_the_way_in_it() {
    for is_watched in [true, false] {
        assert_eq!(moved_and_back(is_watched, "way"), [false, false]);
        assert_eq!(moved_and_back(is_watched, "way/a"), [is_watched, false]);
        assert_eq!(moved_and_back(is_watched, ""), [true, true]);
    }
}

fn mode(mode: u32) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(mode)
}

/// Runs a test on a small ext4. Without the right to mount it, the test is not run.
fn on_ext4(test: impl FnOnce(&Path) + Send) {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(8 << 20).unwrap();
    in_own_mounts(|disk| {
        let succeeds =
            |command: &mut Command| command.output().is_ok_and(|done| done.status.success());
        let made = succeeds(
            Command::new("mkfs.ext4")
                .args(["-q", "-b", "1024", "-m", "0", "-N", "8192"])
                .arg(image.path()),
        );
        let loops = Command::new("mount")
            .args(["-o", "loop"])
            .arg(image.path())
            .arg(disk)
            .output();
        if made && loops.is_ok_and(|done| done.status.success()) {
            test(disk);
            assert!(succeeds(Command::new("umount").arg("-l").arg(disk)));
        }
    });
}

/// Fills the disk, and the blocks of a directory, with names of the full length.
fn fill(disk: &Path) {
    let mut big = File::create(disk.join("big")).unwrap();
    while io::Write::write_all(&mut big, &[1; 1024]).is_ok() {}
    for length in [200, 100, 50, 20, 10, 5] {
        let name = |n: u32| format!("{n:0>length$}");
        let mut created = (0..).map(|n| fs::hard_link(disk.join("big"), disk.join(name(n))));
        created.find_map(Result::err).unwrap();
    }
}

/// One with so many entries that the reserve does not suffice for them, and another one.
#[test]
fn a_large_directory_does_not_use_up_what_others_need() {
    on_ext4(|disk| {
        fs::remove_dir(disk.join("lost+found")).unwrap();
        let [large, small] = ["large", "small"].map(|name| disk.join(name));
        fs::create_dir(&large).unwrap();
        fs::create_dir(&small).unwrap();
        fs::write(disk.join("linked"), "").unwrap();
        for number in 0..4000 {
            let name = large.join(format!("{number:0>200}"));
            fs::hard_link(disk.join("linked"), name).unwrap();
        }
        let held = [&large, &small].map(|path| File::open(path).unwrap());
        let mut guarded = GuardedPaths::default();
        let top = File::open(disk).unwrap();
        for path in ["1/path", "2/path"] {
            let added = guarded.add(top.as_fd(), path.as_bytes(), path.as_bytes(), None);
            added.unwrap();
        }
        guarded.reserve_space().unwrap();
        fs::rename(&large, disk.join("1")).unwrap();
        fs::rename(&small, disk.join("2")).unwrap();
        fill(disk);
        let appeared = guarded.move_aside();
        let appeared: Vec<_> = appeared.iter().map(|one| (&*one.path, &one.fate)).collect();
        let [(b"1/path", Fate::Moved(aside))] = appeared[..] else {
            panic!("{appeared:?}");
        };
        let aside = std::str::from_utf8(aside).unwrap();
        assert!(Path::new(aside).read_dir().unwrap().count() > 0, "{aside}");
        let links = held.map(|held| fstat(held).unwrap().st_nlink);
        assert_eq!(
            links,
            [2, 0],
            "the large one was kept, the small one replaced"
        );
    });
}
