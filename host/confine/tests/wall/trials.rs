//! What is tested.

use crate::calls;
use crate::ends::{closed_socket, ends, killed_host, killed_watcher};
use crate::without_namespaces::DIFFERENCES;
use crate::worker::{
    Files, Worker, leave_handle_open, located, pair, receive, send, start, wall_kind,
    without_namespaces,
};
use libtest_mimic::{Arguments, Failed, Trial};
use skillrun_confine::wall::{self, Access, WallKind};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// An ordinary user, who needs no name and no home.
const USER: u32 = 12345;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn main() {
    let mut trials: Vec<(&str, fn())> = vec![
        ("every_attempt_meets_what_the_table_says", attempts),
        ("a_directory_that_is_moved_out_leads_nowhere", moved_out),
        (
            "handles_that_a_worker_sends_are_as_read_only_as_its_own",
            handles_sent_out,
        ),
        ("the_layers_are_in_force_in_both_processes", layers),
        (
            "worker_and_watcher_end_when_the_host_closes_the_socket",
            closed_socket,
        ),
        (
            "worker_and_watcher_end_when_the_host_is_killed",
            killed_host,
        ),
        ("the_worker_ends_when_the_watcher_is_killed", killed_watcher),
        ("the_watcher_ends_as_the_worker_ended", ends),
        ("a_dissolved_mount_is_loosened_by_nobody", loosened),
        ("a_worker_that_dies_takes_no_other_with_it", siblings),
        ("another_file_at_the_path_is_not_detached", replaced),
        ("only_directories_and_regular_files_are_detached", kinds),
        (
            "a_worker_that_could_keep_rights_is_not_confined",
            open_directory,
        ),
    ];
    if is_root() {
        trials.push((
            "what_is_mounted_below_a_directory_is_as_read_only",
            submount,
        ));
        trials.push((
            "a_root_hosts_worker_acts_as_the_owner_of_each_directory",
            owners,
        ));
        trials.push(("everything_holds_for_an_ordinary_user", ordinary_user));
    }
    let mut landlock_only: Vec<(&str, fn())> = vec![
        (
            "every_attempt_meets_what_the_table_says_without_namespaces",
            || without_namespaces(attempts),
        ),
        ("the_layers_without_namespaces_are_in_force", || {
            without_namespaces(layers_without_namespaces)
        }),
        (
            "worker_and_watcher_without_namespaces_end_when_the_host_closes_the_socket",
            || without_namespaces(closed_socket),
        ),
        (
            "worker_and_watcher_without_namespaces_end_when_the_host_is_killed",
            || without_namespaces(killed_host),
        ),
        (
            "the_worker_without_namespaces_ends_when_the_watcher_is_killed",
            || without_namespaces(killed_watcher),
        ),
        (
            "the_watcher_without_namespaces_ends_as_the_worker_ended",
            || without_namespaces(ends),
        ),
        (
            "a_worker_without_namespaces_that_dies_takes_no_other_with_it",
            || without_namespaces(siblings),
        ),
        (
            "a_worker_that_could_keep_rights_is_not_confined_without_namespaces",
            careless_without_namespaces,
        ),
        ("a_granted_handle_is_a_directory_or_a_regular_file", || {
            without_namespaces(granted_kinds)
        }),
    ];
    if is_root() {
        landlock_only.push((
            "what_a_root_hosts_worker_creates_without_namespaces_is_given_to_the_owner",
            || without_namespaces(given_back),
        ));
    }
    let probed = wall::probe();
    let missing = match &probed {
        Ok(found) => found.without_namespaces.as_ref(),
        Err(why) => Some(why),
    };
    if let Some(why) = missing {
        println!("skipped, there is no wall of namespaces on this machine: {why}");
    }
    if let Err(why) = &probed {
        println!("skipped, there is no wall on this machine: {why}");
    }
    leave_handle_open();
    let (no_namespaces, nothing) = (missing.is_some(), probed.is_err());
    let trials = trials
        .into_iter()
        .map(|trial| (trial, no_namespaces))
        .chain(landlock_only.into_iter().map(|trial| (trial, nothing)));
    let trials = trials.map(|((name, trial), is_ignored)| {
        let run = move || std::panic::catch_unwind(trial).map_err(|_| Failed::from("see above"));
        Trial::test(name, run).with_ignored_flag(is_ignored)
    });
    let mut arguments = Arguments::from_args();
    // Workers are found by the handles that they inherit, and each trial forks.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn attempts() {
    for (name, _) in DIFFERENCES {
        assert!(calls::all().any(|(known, ..)| known == name), "{name}");
    }
    let files = Files::make();
    let mut worker = Worker::start(&files);
    let mut wrong = Vec::new();
    for (name, _, expected) in calls::all() {
        let met = worker.attempt(name);
        let has_namespaces = wall_kind() == WallKind::Namespaces;
        let mut differences = DIFFERENCES.iter().filter(|_| !has_namespaces);
        let differs = differences.find(|(other, _)| other == name);
        let expected = differs.map_or(*expected, |(_, expected)| expected);
        let (user, root) = expected.split_once('|').unwrap_or((expected, expected));
        let expected = if is_root() { root } else { user };
        if std::env::var_os("WALL_TABLE").is_some() {
            println!("| {name} | {met} |");
        }
        if met != expected {
            wrong.push(format!("{name}: {met} instead of {expected}"));
        }
        if met.starts_with("killed") || met.starts_with("exited") {
            worker = Worker::start(&files);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Nothing appeared outside, and nothing there changed.
    let mut names: Vec<_> = std::fs::read_dir(files.path("")).unwrap().collect();
    assert_eq!(names.len(), 5, "{names:?}");
    names.clear();
    for (name, contents) in [
        ("secret", "secret"),
        ("single", "single"),
        ("skill/sub/file", "content"),
    ] {
        assert_eq!(std::fs::read_to_string(files.path(name)).unwrap(), contents);
    }
}

fn moved_out() {
    let files = Files::make();
    let moved = files.path("skill/moved");
    std::fs::create_dir(moved.join("inner")).unwrap();
    let skill = files.detach("skill", Access::Read);
    let mut worker = Worker::start(&files);
    assert_eq!(worker.attempt("read .. of the skill"), "ENOENT");
    use rustix::fs::{Mode, OFlags, openat};
    let held = openat(&skill, "moved/inner", OFlags::PATH, Mode::empty()).unwrap();
    let up = |path| openat(&held, path, OFlags::PATH, Mode::empty()).map(drop);
    assert_eq!(up("../../sub"), Ok(()));
    std::fs::rename(&moved, files.path("moved")).unwrap();
    assert_eq!(up("../../secret"), Err(rustix::io::Errno::NOENT));
    assert_eq!(up("../../../../etc/passwd"), Err(rustix::io::Errno::NOENT));
}

fn handles_sent_out() {
    use rustix::fs::{Mode, OFlags, openat};
    let files = Files::make();
    let worker = Worker::start(&files);
    send(&worker.socket, "send handles", &[]);
    let (_, handles) = receive(&worker.socket).unwrap();
    let create = OFlags::CREATE | OFlags::WRONLY;
    let made = openat(&handles[0], "made", create, Mode::RUSR).map(drop);
    assert_eq!(made, Err(rustix::io::Errno::ROFS));
    // Not even root can change a mount that is dissolved.
    let flags = rustix::mount::OpenTreeFlags::AT_EMPTY_PATH;
    let tree = rustix::mount::open_tree(&handles[0], c"", flags).unwrap();
    let loose = skillrun_supervisor::kernel::set_mount(tree.as_fd(), 0, true);
    assert!(loose.is_err());
}

fn status(process: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(":"));
    line.unwrap().trim().to_owned()
}

fn layers() {
    let worker = Worker::bare();
    let expected = if is_root() {
        "namespaces private-user landlock seccomp"
    } else {
        "namespaces landlock seccomp"
    };
    assert_eq!(worker.layers, expected);
    let (watcher, inner) = worker.ids();
    for process in [watcher, inner] {
        assert_eq!(status(process, "Seccomp"), "2");
        assert_eq!(status(process, "NoNewPrivs"), "1");
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(status(process, set), "0000000000000000", "{set}");
        }
        let user = status(process, "Uid");
        let user: u32 = user.split_whitespace().next().unwrap().parse().unwrap();
        match is_root() {
            true => assert!(user > 0x7000_0000, "{user}"),
            false => assert_eq!(user, rustix::process::geteuid().as_raw()),
        }
    }
    assert_eq!(status(inner, "CapBnd"), "0000000000000000");
    assert_eq!(status(inner, "NSpid").split_whitespace().last(), Some("1"));
    if is_root() {
        assert_eq!(status(watcher, "CapBnd"), "0000000000000000");
        let root = std::fs::read_dir(format!("/proc/{inner}/root")).unwrap();
        let mut names: Vec<_> = root.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["empty", "proc"]);
        for name in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] {
            let of =
                |process: &str| std::fs::read_link(format!("/proc/{process}/ns/{name}")).unwrap();
            assert_ne!(of(&inner.to_string()), of("self"), "{name}");
        }
        // The three standard handles, the worker's exit, and what shows the worker that it is alive.
        let handles = std::fs::read_dir(format!("/proc/{watcher}/fd"))
            .unwrap()
            .count();
        assert_eq!(handles, 5);
    }
}

fn submount() {
    let (socket, theirs) = pair();
    let mut child = start("wall-submount", theirs).unwrap();
    assert_eq!(receive(&socket).unwrap().0, "mounted:EROFS hidden:ENOENT");
    child.wait().unwrap();
}

/// Reports what is reachable below a directory in which something is mounted.
pub(crate) fn use_submount() {
    use rustix::fs::{Mode, OFlags, openat};
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
    skillrun_supervisor::kernel::unshare(libc::CLONE_NEWNS).unwrap();
    let alone = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", alone).unwrap();
    let files = Files::make();
    let sub = files.path("skill/sub");
    mount("sub", &sub, "tmpfs", MountFlags::empty(), None).unwrap();
    std::fs::write(sub.join("mounted"), "").unwrap();
    let skill = files.detach("skill", Access::Read);
    let open = |path: &str, flags| match openat(&skill, path, flags, Mode::RUSR) {
        Ok(_) => "ok".into(),
        Err(error) => crate::name_of(error.raw_os_error()),
    };
    assert_eq!(open("sub/mounted", OFlags::RDONLY), "ok");
    let mounted = open("sub/mounted", OFlags::RDWR);
    let hidden = open("sub/file", OFlags::RDONLY);
    rustix::mount::unmount(&sub, rustix::mount::UnmountFlags::DETACH).unwrap();
    send(
        std::io::stdin(),
        &format!("mounted:{mounted} hidden:{hidden}"),
        &[],
    );
}

/// What the holder of a handle can do who may make namespaces, as nobody behind the wall may.
fn loosened() {
    let files = Files::make();
    let (socket, theirs) = pair();
    let mut child = start("wall-loosener", theirs).unwrap();
    send(
        &socket,
        "loosen",
        &[files.detach("skill", Access::Read).as_fd()],
    );
    let (met, _) = receive(&socket).unwrap();
    child.wait().unwrap();
    assert_eq!(met, "clear:EINVAL copy:EINVAL write:EROFS");
}

pub(crate) fn loosen() {
    use rustix::fs::{Mode, OFlags, openat};
    let (_, handles) = receive(std::io::stdin()).unwrap();
    let (user, namespaces) = (
        rustix::process::geteuid().as_raw(),
        libc::CLONE_NEWUSER | libc::CLONE_NEWNS,
    );
    skillrun_supervisor::kernel::unshare(namespaces).unwrap();
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1")).unwrap();
    let [clear, copy] = calls::loosen(&handles[0]).map(|met| match met {
        Ok(_) => "ok".into(),
        Err(error) => crate::name_of(error.raw_os_error()),
    });
    let write = openat(
        &handles[0],
        "made",
        OFlags::CREATE | OFlags::WRONLY,
        Mode::RUSR,
    );
    let write = write.map_or_else(
        |error| crate::name_of(error.raw_os_error()),
        |_| "ok".into(),
    );
    send(
        std::io::stdin(),
        &format!("clear:{clear} copy:{copy} write:{write}"),
        &[],
    );
}

fn siblings() {
    let files = Files::make();
    let (mut one, mut other) = (Worker::start(&files), Worker::start(&files));
    assert_eq!(one.attempt("a bug in the engine"), "killed by SIGSEGV");
    assert_eq!(other.attempt("read a file of the skill"), "ok content");
}

fn replaced() {
    let files = Files::make();
    if !files.detacher().has_helper() {
        return; // Paths are not looked up again.
    }
    let (skill, path) = (located(&files.path("skill")), files.path("workspace"));
    let error = files
        .detacher()
        .detach(skill.as_fd(), &path, true)
        .unwrap_err();
    assert!(
        error.to_string().contains("does not lead to it any more"),
        "{error}"
    );
    let link = files.path("link");
    std::os::unix::fs::symlink(files.path("skill"), &link).unwrap();
    let (sub, path) = (located(&files.path("skill/sub")), link.join("sub"));
    let error = files
        .detacher()
        .detach(sub.as_fd(), &path, true)
        .unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
}

fn kinds() {
    let files = Files::make();
    let path = files.path("fifo");
    let directory = located(&files.path(""));
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(&directory, "fifo", rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let error = files
        .detacher()
        .detach(located(&path).as_fd(), &path, false)
        .unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
}

/// The error of a worker that does something before it is locked down.
fn careless(what: &str) -> String {
    let (socket, theirs) = pair();
    let mut watcher = Command::new("/proc/self/exe")
        .arg0("wall-worker")
        .arg(what)
        .stdin(theirs)
        .spawn()
        .unwrap();
    // One without namespaces waits for its handles.
    if what.starts_with("landlock") {
        send(&socket, "handles", &[]);
    }
    let (error, _) = receive(&socket).unwrap();
    watcher.wait().unwrap();
    error
}

fn open_directory() {
    let error = careless("directory");
    let step = "cannot confine the worker to its handles: the directory at descriptor ";
    assert!(error.starts_with(step), "{error}");
    assert_eq!(
        careless("thread"),
        "cannot confine the worker: it has 2 threads instead of one"
    );

    // Not in namespaces, so it fails before anything is changed.
    let error = wall::lock_down().unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot confine the worker in namespaces: it is in none"
    );
}

fn careless_without_namespaces() {
    let error = careless("landlock directory");
    let step = "cannot confine the worker to its handles: the directory at descriptor ";
    assert!(error.starts_with(step), "{error}");
    assert_eq!(
        careless("landlock thread"),
        "cannot confine the worker: it has 2 threads instead of one"
    );
}

/// Landlock has no rules for anything else.
fn granted_kinds() {
    let files = Files::make();
    let mode = rustix::fs::Mode::RWXU;
    let directory = located(&files.path(""));
    rustix::fs::mknodat(&directory, "fifo", rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let fifo = located(&files.path("fifo"));
    let (socket, theirs) = pair();
    let mut watcher = Command::new("/proc/self/exe")
        .arg0("wall-worker")
        .arg("landlock")
        .stdin(theirs)
        .spawn()
        .unwrap();
    send(&socket, "fifo", &[fifo.as_fd()]);
    assert_eq!(
        receive(&socket).unwrap().0,
        "cannot enforce Landlock: a handle is neither a directory nor a regular file"
    );
    watcher.wait().unwrap();
}

fn layers_without_namespaces() {
    let worker = Worker::bare();
    let expected = match is_root() {
        true => "private-user landlock seccomp",
        false => "landlock seccomp",
    };
    assert_eq!(worker.layers, expected);
    let (watcher, inner) = worker.ids();
    // Access to the files of all owners, for a user who owns none: Landlock decides.
    let kept = match is_root() {
        true => "0000000000000002",
        false => "0000000000000000",
    };
    for (process, kept) in [(watcher, "0000000000000000"), (inner, kept)] {
        assert_eq!(status(process, "Seccomp"), "2");
        assert_eq!(status(process, "NoNewPrivs"), "1");
        assert_eq!(status(process, "CapEff"), kept);
        assert_eq!(status(process, "CapPrm"), kept);
        for set in ["CapInh", "CapAmb"] {
            assert_eq!(status(process, set), "0000000000000000", "{set}");
        }
        let user = status(process, "Uid");
        let user: u32 = user.split_whitespace().next().unwrap().parse().unwrap();
        match is_root() {
            true => assert!(user > 0x7000_0000, "{user}"),
            false => assert_eq!(user, rustix::process::geteuid().as_raw()),
        }
    }
    if is_root() {
        assert_eq!(status(inner, "CapBnd"), kept);
        // The three standard handles.
        let handles = std::fs::read_dir(format!("/proc/{inner}/fd")).unwrap();
        assert_eq!(handles.count(), 3);
    }
}

/// The private user owns nothing and may use what is granted, whoever owns it. What it creates goes to the directory's owner.
fn given_back() {
    use std::os::unix::fs::chown;
    let files = Files::make();
    let workspace = files.path("workspace");
    for (name, owner, mode) in [("of-another", USER + 1, 0o600), ("of-root", 0, 0o600)] {
        let path = workspace.join(name);
        std::fs::write(&path, name).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
    }
    std::fs::set_permissions(&workspace, PermissionsExt::from_mode(0o700)).unwrap();
    chown(&workspace, Some(USER), Some(USER)).unwrap();
    let mut worker = Worker::start(&files);
    for (name, expected) in [
        ("read another's private file", "ok of-another"),
        ("change root's public file", "ok "),
        ("create a file", "ok "),
        ("create a file in root's directory", "ok "),
    ] {
        assert_eq!(worker.attempt(name), expected, "{name}");
    }
    let owner = |name: &str| {
        let meta = std::fs::metadata(workspace.join(name)).unwrap();
        (meta.uid(), meta.gid())
    };
    let private = owner("made").0;
    assert!(private > 0x7000_0000, "{private}");
    wall::give_back(located(&workspace).as_fd()).unwrap();
    for (name, expected) in [
        ("made", USER),
        ("a/made", USER),
        ("of-another", USER + 1),
        ("of-root", 0),
    ] {
        assert_eq!(owner(name), (expected, expected), "{name}");
    }
}

fn owners() {
    use std::os::unix::fs::chown;
    let files = Files::make();
    let workspace = files.path("workspace");
    for (name, owner, mode) in [
        ("a", 0, 0o755),
        ("b", USER + 1, 0o777),
        ("private", USER, 0o600),
        ("of-another", USER + 1, 0o600),
        ("of-root", 0, 0o644),
    ] {
        let path = workspace.join(name);
        if !path.exists() {
            std::fs::write(&path, name).unwrap();
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
    }
    std::fs::set_permissions(&workspace, PermissionsExt::from_mode(0o700)).unwrap();
    chown(&workspace, Some(USER), Some(USER)).unwrap();
    let mut worker = Worker::start(&files);
    for (name, expected) in crate::needed::OWNERS
        .iter()
        .map(|(name, _, met)| (name, met))
    {
        assert_eq!(worker.attempt(name), *expected, "{name}");
    }
    // What it made belongs to the owner of the directory.
    let made = std::fs::metadata(workspace.join("made")).unwrap();
    assert_eq!((made.uid(), made.gid()), (USER, USER));
}

fn ordinary_user() {
    let output = Command::new("/proc/self/exe")
        .uid(USER)
        .gid(USER)
        .current_dir("/")
        .env("TMPDIR", "/tmp")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if std::env::var_os("WALL_TABLE").is_some() {
        println!("{text}");
    }
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for line in text.lines().filter(|line| line.starts_with("skipped")) {
        println!("{line}, for an ordinary user");
    }
}
