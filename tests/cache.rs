//! The cache of compiled interpreters. They are native code, so a file that another user could have written is
//! never loaded.

use crate::env::{TestEnv, cached_file, may_mount};
use crate::setup;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::Stdio;

tests! {
    two_processes_that_fill_an_empty_cache_at_once_both_run,
    a_damaged_file_is_rebuilt_and_never_loaded,
    a_file_that_another_user_could_have_written_is_not_trusted,
    a_cache_that_others_could_replace_is_not_used,
    a_copied_cache_is_trusted_by_its_content,
    a_script_runs_with_a_warning_if_the_cache_cannot_be_written,
    preparing_a_cache_that_cannot_be_written_is_an_error,
    a_script_runs_with_a_warning_if_the_disk_of_the_cache_is_full,
    the_transpiler_is_compiled_before_the_time_of_a_script_starts,
    ctrl_c_does_not_wait_until_an_interpreter_is_compiled,
}

struct CopiedCache {
    env: TestEnv,
    file: PathBuf,
}

impl CopiedCache {
    /// A test environment with its own cache, copied from the shared one.
    fn new() -> Self {
        let env = TestEnv::with_script("print('this script ran')\n");
        let file = env.copy_cache("cache");
        Self { env, file }
    }

    fn command(&self, words: &[&str]) -> std::process::Command {
        let mut command = self.env.command(words);
        command.env("XDG_CACHE_HOME", self.env.path("cache"));
        command
    }

    /// Whether the file would be loaded.
    fn trusted(&self) -> bool {
        let end = self
            .env
            .end_of(&mut self.command(&["runtimes", "list", "--json"]));
        let listed: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
        listed[0]["prepared"].as_bool().unwrap()
    }

    /// Runs the script, and compares the progress that is printed.
    fn runs(&self, progress: &str) {
        let end = self
            .env
            .end_of(&mut self.command(&["run", "./skill", "main.py"]));
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("this script ran\n", progress, 0)
        );
    }
}

/// What a run prints to a pipe when it compiles the interpreter.
const COMPILING: &str = "compiling the Python interpreter for this machine, once …\n";

fn two_processes_that_fill_an_empty_cache_at_once_both_run() {
    let env = TestEnv::with_script("print('this script ran')\n");
    let children: Vec<_> = (0..2)
        .map(|_| {
            let mut command = env.command(&["run", "./skill", "main.py"]);
            command.env("XDG_CACHE_HOME", env.path("cache"));
            command.spawn().unwrap()
        })
        .collect();
    for child in children {
        let end = env.end_of_child(child);
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("this script ran\n", COMPILING, 0)
        );
    }
    let left = fs::read_dir(env.path("cache/skillrun")).unwrap();
    let mut left: Vec<_> = left
        .map(|entry| entry.unwrap().path())
        .map(|path| path.extension().unwrap().to_str().unwrap().to_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["checksum", "cwasm", "lock"]);
    env.check_left_behind().unwrap();
}

fn a_damaged_file_is_rebuilt_and_never_loaded() {
    let copied = CopiedCache::new();
    let whole = fs::read(&copied.file).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&copied.file, &damaged).unwrap();
    assert!(!copied.trusted());
    copied.runs(COMPILING);
    assert!(copied.trusted());
    copied.runs("");
    assert!(
        fs::read(&copied.file).unwrap() == whole,
        "it was not rebuilt"
    );
}

fn a_file_that_another_user_could_have_written_is_not_trusted() {
    let name = cached_file();
    let name = name.file_name().unwrap().to_str().unwrap();
    let checksum = name.replace(".cwasm", ".checksum");
    for steps in [
        format!("mode 0660 cache/skillrun/{name}"),
        format!("mode 0602 cache/skillrun/{name}"),
        "mode 0770 cache/skillrun".to_owned(),
        format!(
            "move cache/skillrun/{name} elsewhere\nsymlink {{root}}/elsewhere cache/skillrun/{name}"
        ),
        format!("hardlink cache/skillrun/{name} elsewhere"),
        format!("file cache/skillrun/{name} 1000"),
        format!("file cache/skillrun/{name} 0"),
        format!("remove cache/skillrun/{checksum}"),
        format!("text cache/skillrun/{checksum} {{}}"),
        format!("mode 0660 cache/skillrun/{checksum}"),
        format!("hardlink cache/skillrun/{checksum} elsewhere"),
        format!(
            "move cache/skillrun/{checksum} elsewhere\nsymlink {{root}}/elsewhere cache/skillrun/{checksum}"
        ),
        format!("remove cache/skillrun/{name}\nfifo cache/skillrun/{name}"),
    ] {
        let copied = CopiedCache::new();
        assert!(copied.trusted(), "before `{steps}`");
        setup::prepare(copied.env.root(), &steps).unwrap();
        assert!(!copied.trusted(), "after `{steps}`");
    }
}

fn a_cache_that_others_could_replace_is_not_used() {
    let copied = CopiedCache::new();
    setup::prepare(copied.env.root(), "mode 0777 cache").unwrap();
    assert!(!copied.trusted());
    let why = "it is in `{root}/cache`, which may be written by other users";
    copied.runs(&format!(
        "{COMPILING}warning: cannot store the compiled runtime in `{{root}}/cache/skillrun`: {why}\n\
         hint: every run compiles it again until this is fixed; set XDG_CACHE_HOME to another directory\n"
    ));
    setup::prepare(copied.env.root(), "mode 0755 cache").unwrap();
    assert!(copied.trusted());
    copied.runs("");
}

fn a_copied_cache_is_trusted_by_its_content() {
    let copied = CopiedCache::new();
    assert!(copied.trusted());
    copied.runs("");
}

fn a_script_runs_with_a_warning_if_the_cache_cannot_be_written() {
    let env = TestEnv::with_script("print('this script ran')\n");
    setup::prepare(env.root(), "touch cache/skillrun").unwrap();
    let mut command = env.command(&["run", "./skill", "main.py"]);
    let end = env.end_of(command.env("XDG_CACHE_HOME", env.path("cache")));
    assert_eq!(end.stdout, "this script ran\n");
    let warning = "warning: cannot store the compiled runtime in `{root}/cache/skillrun`: file exists\n\
         hint: every run compiles it again until this is fixed; set XDG_CACHE_HOME to another directory\n";
    assert_eq!(end.stderr, format!("{COMPILING}{warning}"));
    assert_eq!(end.code, 0);
    // Quiet means silent.
    let mut command = env.command(&["run", "-q", "./skill", "main.py"]);
    let end = env.end_of(command.env("XDG_CACHE_HOME", env.path("cache")));
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("this script ran\n", "", 0)
    );
}

fn preparing_a_cache_that_cannot_be_written_is_an_error() {
    let env = TestEnv::new();
    setup::prepare(env.root(), "touch cache/skillrun").unwrap();
    let mut command = env.command(&["runtimes", "prepare"]);
    let end = env.end_of(command.env("XDG_CACHE_HOME", env.path("cache")));
    let why = "compiling the interpreters Python, JavaScript, TypeScript for this machine, once …\n\
               error: cannot store the compiled runtime in `{root}/cache/skillrun`: file exists\n\
               hint: set XDG_CACHE_HOME to another directory\n";
    let printed = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(printed, ("", why, 125));
}

/// A small file system of its own, if this user may mount one.
fn a_script_runs_with_a_warning_if_the_disk_of_the_cache_is_full() {
    if !may_mount() {
        println!("not run: this user may not mount file systems");
        return;
    }
    let env = TestEnv::with_script("print('this script ran')\n");
    setup::prepare(env.root(), "dir cache").unwrap();
    let mount = "mount -t tmpfs -o size=1m none cache && \"$0\" \"$@\"; code=$?
                 find cache/skillrun -type f -size +0; exit $code";
    let mut command = env.command_in_mounts(mount, &["run", "./skill", "main.py"]);
    let end = env.end_of(command.env("XDG_CACHE_HOME", env.path("cache")));
    let warning = "warning: cannot store the compiled runtime in `{root}/cache/skillrun`: no space left on device\n\
         hint: every run compiles it again until this is fixed; set XDG_CACHE_HOME to another directory\n";
    assert_eq!(end.stderr, format!("{COMPILING}{warning}"));
    // No partial file is left either: the disk is full enough.
    assert_eq!((end.stdout.as_str(), end.code), ("this script ran\n", 0));
    env.check_left_behind().unwrap();
}

fn the_transpiler_is_compiled_before_the_time_of_a_script_starts() {
    let env = TestEnv::with_script("");
    env.write("skill/scripts/plain.js", "console.log('plain')\n");
    env.write(
        "skill/scripts/typed.ts",
        "const word: string = 'typed';\nconsole.log(word);\n",
    );
    env.copy_cache_of("javascript", "cache");
    let compiling = "compiling the TypeScript transpiler for this machine, once …\n";
    // JavaScript needs none, and the second script in TypeScript finds it compiled.
    for (script, printed, progress) in [
        ("plain.js", "plain\n", ""),
        ("typed.ts", "typed\n", compiling),
        ("typed.ts", "typed\n", ""),
    ] {
        let mut command = env.command(&["run", "./skill", script]);
        let end = env.end_of(command.env("XDG_CACHE_HOME", env.path("cache")));
        let ended = (end.stdout.as_str(), end.stderr.as_str(), end.code);
        assert_eq!(ended, (printed, progress, 0));
    }
}

fn ctrl_c_does_not_wait_until_an_interpreter_is_compiled() {
    for words in [
        &["run", "./skill", "main.py"][..],
        &["load", "-y", "./skill"],
        &["expand", "-y", "--skill", "./skill"],
    ] {
        let env = TestEnv::with_script("print('this script ran')\n");
        env.write(
            "skill/SKILL.md",
            [crate::env::SKILL_MD, "Run `scripts/main.py`.\n"].concat(),
        );
        let mut command = env.command(words);
        let command = command.env("XDG_CACHE_HOME", env.path("cache"));
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        // The input of `expand` has not ended.
        let mut stdin = child.stdin.take().unwrap();
        let _ = stdin.write_all(b"!{scripts/main.py}");
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert_eq!(line, COMPILING);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let end = env.end_of_child(child);
        drop(stdin);
        assert_eq!((end.stdout.as_str(), end.code), ("", 130), "{words:?}");
        // It would be there if the command had waited for it.
        let cached = fs::read_dir(env.path("cache/skillrun")).into_iter();
        let mut cached = cached.flatten().map(|entry| entry.unwrap().path());
        let compiled = cached.find(|path| path.extension().is_some_and(|end| end == "cwasm"));
        assert_eq!(compiled, None, "{words:?}");
        let last = env.audit().pop().unwrap();
        let recorded = (&last["event"], &last["status"]);
        assert_eq!(recorded, (&"finished".into(), &"cancelled".into()));
        env.check_left_behind().unwrap();
    }
}
