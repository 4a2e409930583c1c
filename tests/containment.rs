//! What a script cannot reach, where the attack needs a second process: one that moves folders while
//! the script runs, or that listens for connections.

use crate::env::{End, SKILL_MD, TestEnv};
use crate::library;
use crate::setup;
use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

tests! {
    a_script_connects_to_nothing,
    a_script_listens_on_nothing,
    a_skill_removed_during_the_run_is_missing_files_for_the_script,
    a_skill_replaced_during_the_run_stays_the_one_that_was_loaded,
    a_workspace_replaced_during_the_run_stays_the_one_that_was_granted,
    a_folder_replaced_by_a_link_during_the_run_leads_nowhere,
    a_read_only_workspace_is_a_permission_error_for_the_script,
    a_script_cannot_change_the_cache_through_a_workspace_around_it,
    a_folder_swapped_with_a_link_repeatedly_never_leads_into_the_skill,
    a_policy_in_the_skill_is_not_read_by_a_caller_started_in_it,
    a_link_in_a_granted_directory_grants_nothing_outside_it,
    a_workspace_inside_the_skill_is_writable_and_the_skill_is_not,
    randomness_differs_from_run_to_run,
    nothing_is_kept_between_runs,
}

/// Starts a script with these arguments, does `meanwhile` once it prints `ready`, and lets it continue.
pub(crate) fn meanwhile(env: &TestEnv, words: &[&str], meanwhile: impl FnOnce()) -> End {
    meanwhile_of(env, "main.py", words, meanwhile)
}

/// The same, for a script of this name.
pub(crate) fn meanwhile_of(
    env: &TestEnv,
    script: &str,
    words: &[&str],
    meanwhile: impl FnOnce(),
) -> End {
    let (mut child, mut stdout) = start_until_ready(env, script, words);
    meanwhile();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let end = env.end_of_child(child);
    env.check_left_behind().unwrap();
    End {
        stdout: env.named(rest.as_bytes()),
        ..end
    }
}

/// Starts a script and waits until it prints `ready`.
pub(crate) fn start_until_ready(
    env: &TestEnv,
    script: &str,
    words: &[&str],
) -> (Child, BufReader<ChildStdout>) {
    let mut command = env.command(&[&["run", "./skill", script], words].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, stdout)
}

const READY: &str = "\
import errno, os, sys

def attempt(what, do):
    try:
        print(f'{what}: {do()!r}')
    except OSError as error:
        print(f'{what}: {type(error).__name__} {errno.errorcode[error.errno]}')

print('ready', flush=True)
sys.stdin.readline()
";

fn a_script_connects_to_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let env = TestEnv::with_script(
        "import socket, sys, urllib.request\nport = int(sys.argv[1])\n\
         def attempt(what, do):\n    try:\n        print(what, do())\n    \
         except Exception as error:\n        print(what, type(error).__name__)\n\
         attempt('connect', lambda: socket.create_connection(('127.0.0.1', port), timeout=5))\n\
         attempt('send', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', port)))\n\
         attempt('resolve', lambda: socket.getaddrinfo('localhost', port))\n\
         attempt('fetch', lambda: urllib.request.urlopen(f'http://127.0.0.1:{port}/', timeout=5))\n",
    );
    let end = env.run(&["--", &port.to_string()]);
    assert_eq!(
        end.stdout,
        "connect OSError\nsend OSError\nresolve OSError\nfetch URLError\n"
    );
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    listener.set_nonblocking(true).unwrap();
    let no_connection = listener.accept().map(drop).unwrap_err();
    assert_eq!(no_connection.kind(), std::io::ErrorKind::WouldBlock);
    // The twin: another process can connect to the port.
    std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    listener.set_nonblocking(false).unwrap();
    listener.accept().unwrap();
}

fn a_script_listens_on_nothing() {
    let env = TestEnv::with_script(
        "import socket\ntry:\n    print(socket.create_server(('127.0.0.1', 0)))\n\
         except OSError as error:\n    print(type(error).__name__)\n",
    );
    let end = env.run(&[]);
    assert_eq!((end.stdout.as_str(), end.code), ("OSError\n", 0));
}

fn a_skill_removed_during_the_run_is_missing_files_for_the_script() {
    let env = TestEnv::with_script(&format!(
        "{READY}attempt('data', lambda: open(os.path.dirname(__file__) + '/data.txt').read())\n\
         attempt('list', lambda: os.listdir(os.path.dirname(__file__)))\nprint('goes on')\n"
    ));
    env.write("skill/scripts/data.txt", "data");
    let end = meanwhile(&env, &[], || {
        std::fs::remove_dir_all(env.path("skill")).unwrap();
    });
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "data: FileNotFoundError ENOENT\nlist: FileNotFoundError ENOENT\ngoes on\n",
            "",
            0
        )
    );
}

fn a_skill_replaced_during_the_run_stays_the_one_that_was_loaded() {
    let env = TestEnv::with_script(&format!(
        "{READY}attempt('data', lambda: open('data.txt').read())\n\
         attempt('by path', lambda: open(os.environ['SKILL_BASE_DIR'] + '/data.txt').read())\n"
    ));
    env.write("skill/data.txt", "of the skill");
    let end = meanwhile(&env, &[], || {
        setup::prepare(
            env.root(),
            "move skill old\ntext other/data.txt secret\nsymlink other skill",
        )
        .unwrap();
    });
    assert_eq!(
        end.stdout,
        "data: 'of the skill'\nby path: 'of the skill'\n"
    );
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
}

fn a_workspace_replaced_during_the_run_stays_the_one_that_was_granted() {
    let env = TestEnv::with_script(&format!(
        "{READY}attempt('read', lambda: open('a.txt').read())\n\
         attempt('write', lambda: open('b.txt', 'w').write('b'))\n"
    ));
    env.write("workspace/a.txt", "granted");
    let end = meanwhile(&env, &["-w", "workspace"], || {
        setup::prepare(
            env.root(),
            "move workspace old\ntext other/a.txt secret\nsymlink other workspace",
        )
        .unwrap();
    });
    assert_eq!(end.stdout, "read: 'granted'\nwrite: 1\n");
    assert_eq!(env.read("old/b.txt"), "b");
    assert!(!env.path("other/b.txt").exists());
}

fn a_folder_replaced_by_a_link_during_the_run_leads_nowhere() {
    let env = TestEnv::with_script(&format!(
        "{READY}attempt('read', lambda: open('folder/a.txt').read())\n\
         attempt('write', lambda: open('folder/b.txt', 'w').write('b'))\n"
    ));
    env.write("workspace/folder/a.txt", "inside");
    let end = meanwhile(&env, &["-w", "workspace"], || {
        setup::prepare(
            env.root(),
            "move workspace/folder old\ntext other/a.txt secret\nsymlink ../other workspace/folder",
        )
        .unwrap();
    });
    assert_eq!(
        end.stdout,
        "read: PermissionError EPERM\nwrite: PermissionError EPERM\n"
    );
    assert!(!env.path("other/b.txt").exists());
}

fn a_read_only_workspace_is_a_permission_error_for_the_script() {
    let env = TestEnv::with_script(
        "import errno, os\nprint(open('a.txt').read())\n\
         for what, do in (('create', lambda: open('b.txt', 'w')), ('change', lambda: open('a.txt', 'a')), \
         ('remove', lambda: os.remove('a.txt')), ('mkdir', lambda: os.mkdir('c'))):\n    \
         try:\n        print(what, do())\n    \
         except OSError as error:\n        print(what, type(error).__name__, errno.errorcode[error.errno])\n",
    );
    env.write("workspace/a.txt", "text");
    setup::prepare(env.root(), "mode 0444 workspace/a.txt\nmode 0555 workspace").unwrap();
    let words = ["run", "./skill", "main.py", "-w", "workspace"];
    let end = env.end_of(&mut env.unprivileged_command(&words));
    assert_eq!(
        end.stdout,
        "text\ncreate PermissionError EACCES\nchange PermissionError EACCES\n\
         remove PermissionError EACCES\nmkdir PermissionError EACCES\n"
    );
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    setup::prepare(env.root(), "mode 0755 workspace").unwrap();
}

fn a_script_cannot_change_the_cache_through_a_workspace_around_it() {
    let env = TestEnv::with_script(&format!(
        "{READY}\
         path = sys.argv[1]\n\
         attempt('append', lambda: open(path, 'ab').write(b'x'))\n\
         attempt('create', lambda: open('cache/skillrun/new.cwasm', 'wb').write(b'x'))\n\
         attempt('remove', lambda: os.remove(path))\n\
         attempt('rename', lambda: os.rename(path, 'away'))\n\
         attempt('rename the folder', lambda: os.rename('cache', 'away'))\n\
         attempt('hard link', lambda: os.link(path, 'hard'))\n\
         attempt('times', lambda: os.utime(path, (1, 1)))\n\
         attempt('beside it', lambda: open('cache/beside', 'w').write('x'))\n"
    ));
    let file = env.copy_cache("cache");
    let file = file.strip_prefix(env.root()).unwrap().to_str().unwrap();
    let words = ["run", "./skill", "main.py", "--workspace", ".", "--", file];
    let mut command = env.command(&words);
    let end = env.end_of(command.env("XDG_CACHE_HOME", env.path("cache")));
    let denied = [
        "append",
        "create",
        "remove",
        "rename",
        "rename the folder",
        "hard link",
        "times",
    ];
    let denied: String = denied
        .iter()
        .map(|what| format!("{what}: PermissionError EPERM\n"))
        .collect();
    assert_eq!(end.stdout, format!("ready\n{denied}beside it: 1\n"));
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
}

/// Between the check of a path and its use, another process may swap a directory on the path with a link to
/// a protected path. A thread swaps the two as fast as it can while the script keeps trying, until the script
/// has seen each of them often.
fn a_folder_swapped_with_a_link_repeatedly_never_leads_into_the_skill() {
    let env = TestEnv::with_script(
        "import os\nopen('mine', 'w').close()\ndone = denied = 0\n\
         def attempt(do, *names):\n    global done, denied\n    try:\n        do(*names)\n        \
         done += 1\n    except PermissionError:\n        denied += 1\n    \
         except OSError:\n        pass\n\
         def create(name): open(name, 'x').close()\n\
         n = 0\n\
         while n < 3000 or done < 500 or denied < 500:\n    n += 1\n    \
         attempt(os.mkdir, f'folder/d{n}')\n    \
         attempt(create, f'folder/c{n}')\n    \
         attempt(os.symlink, 'mine', f'folder/s{n}')\n    \
         attempt(os.link, 'mine', f'folder/l{n}')\n    \
         attempt(os.remove, 'folder/data')\n    \
         attempt(os.rmdir, 'folder/empty')\n    \
         attempt(os.rename, 'folder/other', 'other')\n    \
         attempt(os.utime, 'folder/kept', (1, 1))\n\
         print('tried')\n",
    );
    for name in ["data", "other", "kept"] {
        env.write(&format!("skill/{name}"), "");
    }
    setup::prepare(
        env.root(),
        "dir skill/empty\ndir folder\nsymlink skill link",
    )
    .unwrap();
    let state = || {
        let entries = std::fs::read_dir(env.path("skill")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        let kept = env.path("skill/kept").metadata().unwrap();
        (names, kept.modified().unwrap())
    };
    let before = state();
    let words = ["run", "./skill", "main.py", "-w", ".", "--timeout", "100s"];
    let child = env.command(&words).spawn().unwrap();
    // Also if the test fails: otherwise the join would wait for this thread.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let stop = AtomicBool::new(false);
    let end = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (folder, link) = (env.path("folder"), env.path("link"));
            while !stop.load(Ordering::SeqCst) {
                let (cwd, how) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
                rustix::fs::renameat_with(cwd, &folder, cwd, &link, how).unwrap();
            }
        });
        let _stop = Stop(&stop);
        env.end_of_child(child)
    });
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("tried\n", ""));
    assert_eq!(state(), before);
}

fn a_link_in_a_granted_directory_grants_nothing_outside_it() {
    let env = TestEnv::with_script("");
    env.write("data/in/a", "");
    env.write("secret/b", "");
    let links = "symlink ../secret data/out\nsymlink in data/alias\nsymlink data granted\n\
                 symlink ../../secret/b data/in/file";
    setup::prepare(env.root(), links).unwrap();
    let (host, skill) = (library::host(&env), library::skill(&env));
    let policy =
        skillrun::Policy::parse("allow = [\"read:./data\", \"read:./granted\"]", env.root())
            .unwrap();
    for (path, granted) in [
        ("data", true),
        ("data/in", true),
        ("data/alias", true),
        ("granted", false),
        ("granted/in", false),
        ("data/out", false),
        ("granted/out", false),
        ("data/in/file", false),
    ] {
        let request = skillrun::Request {
            grants: vec![format!("read:{}", env.text(path)).parse().unwrap()],
            ..skillrun::Request::typed(&skill, "main.py")
        };
        match host.blocking().decide(&policy, request).unwrap() {
            skillrun::Decision::Permitted(_) => assert!(granted, "{path}"),
            skillrun::Decision::Refused(refusal) => {
                assert!(!granted, "{path}: {refusal}");
                assert_eq!(refusal.check, skillrun::Check::Grants);
                assert!(
                    refusal.message.ends_with("which the policy does not grant"),
                    "{refusal}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

fn a_policy_in_the_skill_is_not_read_by_a_caller_started_in_it() {
    let env = TestEnv::with_script("import os\nprint(os.environ.get('SKILLRUN_TEST_SECRET'))\n");
    let policy = "allow = [\"env:SKILLRUN_TEST_SECRET\"]\n";
    env.write("skill/skillrun.toml", policy);
    let from = |folder: &str, skill: &str| {
        let mut command = env.command(&["run", skill, "main.py"]);
        let end = env.end_of(command.current_dir(env.path(folder)));
        (end.stdout, end.code)
    };
    for (folder, skill) in [
        ("skill", "."),
        ("skill", "../skill"),
        ("skill/scripts", ".."),
    ] {
        let (stdout, _) = from(folder, skill);
        assert!(!stdout.contains("leaked"), "{folder}: {stdout}");
    }
    // The twin: the same file beside the skill is read from the caller's directory.
    env.write("skillrun.toml", policy);
    env.trust("skillrun.toml");
    assert_eq!(from("", "./skill"), ("leaked\n".to_owned(), 0));
}

fn a_workspace_inside_the_skill_is_writable_and_the_skill_is_not() {
    let env = TestEnv::with_script(&format!(
        "{READY}attempt('inside', lambda: open('new.txt', 'w').write('x'))\n\
         attempt('above', lambda: open('../new.txt', 'w').write('x'))\n\
         attempt('by path', lambda: open(os.environ['SKILL_BASE_DIR'] + '/new.txt', 'w').write('x'))\n"
    ));
    env.write("skill/work/a.txt", "");
    let end = env.run(&["-w", "skill/work"]);
    assert_eq!(
        end.stdout,
        "ready\ninside: 1\nabove: PermissionError EPERM\nby path: PermissionError EPERM\n"
    );
    assert!(env.path("skill/work/new.txt").exists());
}

const RANDOM_IN_PYTHON: &str = "\
import email.utils, json, os, random, secrets, sqlite3, tempfile, uuid
database = sqlite3.connect(':memory:')
print(json.dumps({
    'sqlite random()': database.execute('select random()').fetchone()[0],
    'sqlite randomblob()': database.execute('select hex(randomblob(8))').fetchone()[0],
    'random': random.random(),
    'random.Random': random.Random().random(),
    'urandom': os.urandom(8).hex(),
    'secrets': secrets.token_hex(8),
    'uuid4': str(uuid.uuid4()),
    'getnode': uuid.getnode(),
    'tempfile': tempfile.mktemp(),
    'message id': email.utils.make_msgid(),
}))
";

const RANDOM_IN_JAVASCRIPT: &str = "\
const crypto = require('crypto');
console.log(JSON.stringify({
  'Math.random': Math.random(),
  randomBytes: crypto.randomBytes(8).toString('hex'),
  getRandomValues: crypto.getRandomValues(new Uint32Array(2)).join(),
  randomUUID: crypto.randomUUID(),
  randomInt: crypto.randomInt(2 ** 47),
}));
";

fn randomness_differs_from_run_to_run() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    for (script, source, sources) in [
        ("main.py", RANDOM_IN_PYTHON, 10),
        ("main.js", RANDOM_IN_JAVASCRIPT, 5),
    ] {
        env.write(&format!("skill/scripts/{script}"), source);
        let mut seen = HashSet::new();
        for _ in 0..2 {
            let end = env.end(&["run", "./skill", script]);
            assert_eq!((end.stderr.as_str(), end.code), ("", 0));
            let values: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
            let values = values.as_object().unwrap();
            assert_eq!(values.len(), sources);
            for (name, value) in values {
                assert!(seen.insert(value.to_string()), "`{name}` repeats {value}");
            }
        }
    }
}

fn nothing_is_kept_between_runs() {
    let env = TestEnv::with_script(
        "import os, sys, json\nprint(sorted(os.listdir('/tmp')), hasattr(json, 'mark'))\n\
         open('/tmp/left', 'w').write('x')\njson.mark = 1\nos.environ['LEFT'] = '1'\n",
    );
    for _ in 0..2 {
        assert_eq!(env.run(&[]).stdout, "[] False\n");
    }
    env.check_left_behind().unwrap();
}
