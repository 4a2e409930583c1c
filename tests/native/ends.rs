//! Tests that need more than a script in `attempts/`: runs that are killed or dropped, many runs at
//! once, late starts, and files that are replaced.

use super::{NativeEnv, Variant, Who, readings};
use crate::env::copy_program;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use skillrun_confine::Backend;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// A test that needs more than a script.
type Ending = fn(Variant) -> Result<(), String>;

pub(super) const ALL: [(&str, Ending); 9] = [
    ("everything_dies_with_a_host_that_is_killed", killed),
    ("everything_is_gone_once_the_run_is_dropped", dropped),
    (
        "nothing_is_left_of_a_run_that_had_ended_when_it_was_dropped",
        forgotten,
    ),
    (
        "a_hundred_runs_at_once_are_all_right_and_leave_nothing",
        many,
    ),
    (
        "a_program_starts_although_what_waited_for_it_was_killed",
        killed_early,
    ),
    (
        "a_program_sees_what_was_mounted_while_its_supervisor_waited",
        mounted,
    ),
    (
        "a_program_has_no_more_than_its_host_and_no_turn_before_others",
        limited,
    ),
    ("a_script_is_opened_as_it_was_checked", checked_script),
    (
        "a_program_replaced_after_it_was_checked_is_not_started",
        checked_program,
    ),
];

/// The same for those that only root can set up.
pub(super) const BY_ROOT: [(&str, Ending); 1] = [(
    "limits_hold_where_processes_are_hidden_or_nothing_runs",
    hidden,
)];

/// The same for those whose script is in Python.
pub(super) const BY_PYTHON: [(&str, Ending); 5] = [
    (
        "landlock_rules_are_made_only_where_a_control_group_counts_them",
        landlock_rules,
    ),
    (
        "a_program_that_watches_too_many_files_is_ended",
        epoll_watches,
    ),
    (
        "a_program_that_hides_what_it_has_open_is_ended",
        hidden_handles,
    ),
    (
        "attributes_of_files_are_set_only_where_a_control_group_counts_them",
        attributes,
    ),
    (
        "a_program_that_has_sent_all_handles_it_may_keeps_no_other_from_starting",
        handles_in_transit,
    ),
];

/// The same for those with code for x86_64 in it.
pub(super) const BY_CODE: [(&str, Ending); 1] = [(
    "a_program_that_hides_what_it_has_open_behind_a_first_thread_that_has_exited_is_ended",
    hidden_threads,
)];
pub(super) const PYTHON: &str = "/usr/bin/python3";

/// Sets attributes of files in the workspace, by each of the calls that do.
const ATTRIBUTES: &str = r#"
import errno, os
def attempt(what, do):
    try:
        do()
        print(f"{what}: set {os.listxattr(what)}")
    except OSError as error:
        print(f"{what}: {errno.errorcode[error.errno]}")
for path in ["by_path", "by_link", "open"]:
    open(path, "w").close()
attempt("by_path", lambda: os.setxattr("by_path", "user.x", b"x"))
attempt("by_link", lambda: os.setxattr("by_link", "user.x", b"x", follow_symlinks=False))
attempt("open", lambda: os.setxattr(os.open("open", os.O_RDWR), "user.x", b"x"))
"#;

/// Attributes of a file in memory are memory that no process shows.
fn attributes(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    let mut host = env.host("attributes");
    let output = host.args([PYTHON, "-c", ATTRIBUTES]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is = |line: &str| text.lines().any(|got| got == line);
    let supported = is("supported: true");
    let counted = is("counted: true");
    let met = match (counted, variant.backend) {
        // Without a control group the call fails, as on a file system without attributes.
        (false, _) => "ENOTSUP",
        // Without namespaces no attribute of any file is changed.
        (true, Backend::Landlock) => "EPERM",
        (true, Backend::Namespaces) if supported => "set ['user.x']",
        (true, Backend::Namespaces) => "ENOTSUP",
    };
    let wanted = format!(
        "supported: {supported}\ncounted: {counted}\nby_path: {met}\nby_link: {met}\nopen: {met}\n\
         ended: Exited(0)\n"
    );
    match text == wanted && stderr.is_empty() {
        true => Ok(()),
        false => Err(crate::folder::difference(
            &wanted,
            &format!("{text}{stderr}"),
        )),
    }
}

/// Makes a ruleset that knows network ports, and a rule.
const LANDLOCK_RULES: &str = r#"
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    got = libc.syscall(*arguments)
    return got if got >= 0 else errno.errorcode[ctypes.get_errno()]
attributes = (ctypes.c_uint64 * 2)(0, 3)
ruleset = call(444, attributes, ctypes.c_size_t(16), 0)
print("ruleset:", "made" if isinstance(ruleset, int) else ruleset)
if isinstance(ruleset, str):
    ruleset = 0
rule = (ctypes.c_uint64 * 2)(1, 80)
print("rule:", call(445, ruleset, 2, rule, 0))
print("enforced:", call(446, ruleset, 0))
"#;

/// Rules are memory that no process shows.
fn landlock_rules(variant: Variant) -> Result<(), String> {
    counted(variant, LANDLOCK_RULES, |is_counted| match is_counted {
        true => "ruleset: made\nrule: 0\nenforced: 0\nended: Exited(0)\n",
        false => "ruleset: ENOTSUP\nrule: ENOTSUP\nenforced: ENOTSUP\nended: Exited(0)\n",
    })
}

/// Watches 2 files by 30 epolls, each under 200 numbers, and waits.
const EPOLL_WATCHES: &str = r#"
import os, select, time
epolls = [select.epoll() for _ in range(30)]
for file in [os.eventfd(0), os.eventfd(0)]:
    for number in range(50, 250):
        os.dup2(file, number)
        for epoll in epolls:
            epoll.register(number, 0)
print("12000 watches", flush=True)
time.sleep(1)
"#;

/// The kernel counts the watches of all processes of a user together. Those of root's scripts are counted by themselves.
fn epoll_watches(variant: Variant) -> Result<(), String> {
    counted(variant, EPOLL_WATCHES, |is_counted| {
        match is_counted && variant.who == Who::Root {
            true => "12000 watches\nended: Exited(0)\n",
            false => {
                "12000 watches\nunable: cannot watch the program: it watches more than 10000 files by epoll, which other \
                 programs of the user need, too\n"
            }
        }
    })
}

/// Starts a program whose executable nobody may read.
const HIDDEN_HANDLES: &str = r#"
import os
path = os.path.join(os.environ["TMPDIR"], "unreadable")
file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o111)
os.write(file, open("/usr/bin/sleep", "rb").read())
os.close(file)
print("starts", flush=True)
print("ended:", os.spawnv(os.P_WAIT, path, [path, "1"]), flush=True)
"#;

/// The kernel hides what such a program has open from everyone but root. Where it may write, it may have written anything.
fn hidden_handles(variant: Variant) -> Result<(), String> {
    counted_in(variant, "counted, read-only", HIDDEN_HANDLES, |_| {
        match (variant.who, variant.backend) {
            (Who::Root, _) => "starts\nended: 0\nended: Exited(0)\n",
            (_, Backend::Landlock) => "starts\nended: Disk\n",
            _ => {
                "starts\nunable: cannot watch the program: one of its processes hides what it has open, as an executable does \
                 that nobody may read\n"
            }
        }
    })
}

/// Starts a program whose executable nobody may read, and whose first thread starts another and exits at once. The other one
/// sleeps for a second and exits.
const HIDDEN_THREADS: &str = r#"
import os, struct
code = bytes.fromhex(
    "bf000f0100488db42400f0ffff31d24531d24531c06a38580f0585c0740731ff6a3c580f05"
    "6a006a014889e731f66a23580f0531ffb8e70000000f05"
)
at, size = 0x400000, 64 + 56 + len(code)
elf = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, at + 120, 64, 0, 0, 64, 56, 1, 64, 0, 0)
elf += struct.pack("<IIQQQQQQ", 1, 5, 0, at, at, size, size, 4096) + code
path = os.path.join(os.environ["TMPDIR"], "unreadable")
file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o111)
os.write(file, elf)
os.close(file)
print("starts", flush=True)
print("ended:", os.spawnv(os.P_WAIT, path, [path]), flush=True)
"#;

/// The first thread, which has exited, shows a table without handles, and no memory.
fn hidden_threads(variant: Variant) -> Result<(), String> {
    counted_in(
        variant,
        "counted, read-only",
        HIDDEN_THREADS,
        |_| match variant.who {
            Who::Root => "starts\nended: 0\nended: Exited(0)\n",
            Who::User => {
                "starts\nunable: cannot watch the program: one of its processes hides what it has open, as an executable does \
                 that nobody may read\n"
            }
        },
    )
}

/// Compares what a script prints, which depends on whether a control group counts its memory.
fn counted(
    variant: Variant,
    script: &str,
    wanted: impl Fn(bool) -> &'static str,
) -> Result<(), String> {
    counted_in(variant, "counted", script, wanted)
}

/// The same in a host with this role.
fn counted_in(
    variant: Variant,
    role: &str,
    script: &str,
    wanted: impl Fn(bool) -> &'static str,
) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    let mut host = env.host(role);
    let output = host.args([PYTHON, "-c", script]).output().unwrap();
    let is_counted = output.stdout.starts_with(b"counted: true");
    let wanted = format!("counted: {is_counted}\n{}", wanted(is_counted));
    same(&output, &wanted)
}

/// Sends handles to itself and never receives them, until the kernel refuses one more.
const HANDLES_IN_TRANSIT: &str = r#"
import errno, os, socket, time
pairs = [socket.socketpair() for _ in range(4)]
try:
    for number in range(10000):
        socket.send_fds(pairs[number % 4][0], [b"x"], [0])
except OSError as error:
    print(f"in transit: some, then {errno.errorcode[error.errno]}", flush=True)
time.sleep(1000)
"#;

/// The kernel counts the handles in transit of all processes of a user together.
fn handles_in_transit(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    let mut host = env.host("beside");
    let output = host.args([PYTHON, "-c", HANDLES_IN_TRANSIT]).output();
    same(
        &output.unwrap(),
        "in transit: some, then ETOOMANYREFS\nbeside it\nOk(Exited(0))\n",
    )
}

/// Starts the processes that are hardest to kill: daemons that lost their parents, ignore every
/// signal that can be ignored, have their own sessions, or are stopped. Prints so when all of them
/// run.
const DAEMONS: &str = r#"
cd "$TMPDIR"
mkfifo there
exec 3<>there
trap '' TERM HUP INT QUIT PIPE
( setsid bash -c 'trap "" TERM HUP INT; echo > there; exec sleep 1000' & )
( ( nohup bash -c 'echo > there; exec sleep 1000' >nohup.out 2>&1 & ) & )
( bash -c 'echo > there; kill -STOP $$; sleep 1000' & )
( exec -a skillrun-supervisor bash -c 'echo > there; while :; do :; done' & )
for each in 1 2 3 4; do read <&3; done
echo ready
exec sleep 1000
"#;

fn killed(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    let mut host = Host(bash(&env, "hold", DAEMONS).spawn().unwrap());
    let host = &mut host.0;
    let mut line = String::new();
    let mut stdout = BufReader::new(host.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let supervisors = readings::children(host.id());
    let all = readings::descendants(host.id());
    // The supervisor, the program and the four daemons.
    assert!(all.len() >= 6, "{all:?}");
    let handles: Vec<_> = all
        .iter()
        .filter_map(|process| Pid::from_raw(process.cast_signed()))
        .filter_map(|process| pidfd_open(process, PidfdFlags::empty()).ok())
        .collect();
    assert_eq!(handles.len(), all.len());
    host.kill().unwrap();
    host.wait().unwrap();
    for (handle, process) in handles.iter().zip(&all) {
        let patience = rustix::time::Timespec {
            tv_sec: 20,
            tv_nsec: 0,
        };
        let ended = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&patience)).unwrap();
        let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        assert_eq!(ended, 1, "{process} {name} lives on");
    }
    assert_eq!(
        readings::marked(env.root.path().to_str().unwrap()),
        [0u32; 0]
    );
    assert_eq!(readings::groups(&supervisors), [""; 0]);
    Ok(())
}

/// A host that is killed if its test fails.
struct Host(Child);

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn dropped(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    let output = bash(&env, "drop", DAEMONS).output().unwrap();
    same(
        &output,
        "ready\noutside: unchanged\nlisteners: nobody came\nvictim: lives, nice 0\n\
         host: lives, nice 0\nleft: nothing\n",
    )
}

fn forgotten(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    let output = bash(&env, "forget", ":").output().unwrap();
    same(
        &output,
        "outside: unchanged\nlisteners: nobody came\nvictim: lives, nice 0\n\
         host: lives, nice 0\nleft: nothing\n",
    )
}

fn checked_script(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    env.write("skill/main.sh", "echo other\n");
    let path = env.path("skill/main.sh");
    let path = path.to_str().unwrap();
    let output = env
        .host("script")
        .args(["/bin/bash", path])
        .output()
        .unwrap();
    let text = "echo decided; echo \"$0\"; cat \"$0\"";
    same(
        &output,
        &format!("decided\n{path}\n{text}\nended: Exited(0)\n"),
    )
}

fn checked_program(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    let program = env.path("skill/program");
    copy_program("/bin/echo", &program);
    env.give(&program);
    let path = program.to_str().unwrap();
    let start = || {
        env.host("program")
            .args([path, "decided"])
            .output()
            .unwrap()
    };
    same(&start(), "decided\nended: Exited(0)\n")?;
    std::fs::copy("/bin/true", env.path("other")).unwrap();
    env.give(&env.path("other"));
    let why = "it was replaced after it was checked";
    same(
        &start(),
        &format!("unable: cannot execute `{path}`: {why}\n"),
    )
}

fn many(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    // Under Landlock alone the kernel counts all processes of an ordinary user, so early runs cannot
    // start a child once many others have started.
    let own = match (variant.backend, variant.who) {
        (Backend::Landlock, Who::User) => r#"read own < "$TMPDIR/own""#,
        _ => r#"own=$(cat "$TMPDIR/own")"#,
    };
    let script = format!(
        r#"echo $1 > "$TMPDIR/own"; echo ready; read; {own}; echo "$own $(($1 * $1))"; exit $(($1 % 100))"#
    );
    let output = bash(&env, "many", &script).arg("bash").output().unwrap();
    same(
        &output,
        "all are ready\nall have ended\noutside: unchanged\nlisteners: nobody came\n\
         victim: lives, nice 0\nhost: lives, nice 0\nleft: nothing\n",
    )
}

fn killed_early(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    let happens = r#"(( INIT == 0 )) || { kill -KILL $INIT; until [[ $(cat /proc/$INIT/stat) == *") Z "* ]]; do :; done; }"#;
    late(&env, "late", happens, "echo started")
}

fn mounted(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    let happens = "mount -t tmpfs none workspace && echo started > workspace/own";
    late(&env, "late, with mounts of its own", happens, "cat own")
}

fn limited(variant: Variant) -> Result<(), String> {
    let env = NativeEnv::new(variant);
    let shown = r#"echo "$(ulimit -Hn) $(ulimit -Hf) $(ulimit -Hu) $(ulimit -Hr) $(ulimit -He)""#;
    let mut command = env.host("late, with low limits");
    command.args([":", "/bin/bash", "-c", shown]);
    same(
        &command.output().unwrap(),
        "128 32768 30 0 0\nOk(Exited(0))\n",
    )
}

/// The reason that the probe of a backend gives if it cannot see what every watch needs.
const REFUSED: &str = "cannot watch the program: `/proc` does not show its processes (is it mounted with \
                       `hidepid`?)\n";

fn hidden(variant: Variant) -> Result<(), String> {
    let disk = "# limits: disk=8 time=20\necho begun; head -c 20M /dev/zero > file; sleep 1000";
    let memory = "# limits: memory=64 time=20\necho begun; exec 2>/dev/null; for each in 1 2 3 4; do \
                  { head -c 42M /dev/zero; sleep 1000; } | tail -c 40M >&2 & done; wait";
    let (output, refused) = among_hidden(variant, disk);
    if refused {
        return Ok(());
    }
    same(&output, &ended("begun\n", "Disk"))?;
    if variant.who == Who::Root {
        return Ok(());
    }
    let (output, _) = among_hidden(variant, memory);
    same(&output, &ended("begun\n", "Memory"))?;
    // A program that can be executed but not read is undumpable, and so hidden once it runs.
    let hides = r#"perl -e 'use Fcntl; sysopen F, "closed", O_CREAT | O_WRONLY, 0111; print F `cat /bin/sleep`'; ./closed 1000"#;
    let (output, _) = among_hidden(variant, hides);
    let stderr = String::from_utf8_lossy(&output.stderr);
    match stderr.contains("`/proc` does not show its processes") {
        true => Ok(()),
        false => Err(format!("{output:?}")),
    }
}

fn ended(said: &str, end: &str) -> String {
    format!(
        "{said}ended: {end}\noutside: unchanged\nlisteners: nobody came\nvictim: lives, nice 0\n\
         host: lives, nice 0\nleft: nothing\n"
    )
}

/// The result of a script among hidden processes, and whether this backend is refused there.
fn among_hidden(variant: Variant, script: &str) -> (std::process::Output, bool) {
    let env = NativeEnv::new(variant);
    env.write("skill/script", script);
    let mut command = env.host("attempt, with processes hidden");
    command.uid(0).gid(0);
    command.arg("/bin/bash").arg(env.path("skill/script"));
    let output = command.output().unwrap();
    let refused = output.stderr == REFUSED.as_bytes();
    // The init process is hidden from the user who started it.
    let expected = variant.backend == Backend::Namespaces && variant.who == Who::User;
    assert_eq!(refused, expected, "{output:?}");
    (output, refused)
}

fn late(env: &NativeEnv, role: &str, happens: &str, script: &str) -> Result<(), String> {
    let mut command = env.host(role);
    command.args([happens, "/bin/bash", "-c", script]);
    same(&command.output().unwrap(), "started\nOk(Exited(0))\n")
}

fn bash(env: &NativeEnv, role: &str, script: &str) -> Command {
    let mut command = env.host(role);
    command.args(["/bin/bash", "-c", script]);
    command
}

fn same(output: &std::process::Output, wanted: &str) -> Result<(), String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let got = String::from_utf8_lossy(&output.stdout);
    match stderr.is_empty() && got == wanted {
        true => Ok(()),
        false => Err(format!(
            "{}{stderr}",
            crate::folder::difference(wanted, &got)
        )),
    }
}
