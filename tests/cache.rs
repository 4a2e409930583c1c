//! The cache of compiled interpreters: native code, so what somebody else could have written is
//! never loaded.

use crate::place::{Place, cached_file};
use crate::setup;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

trials! {
    two_processes_that_fill_an_empty_cache_at_once_both_run,
    a_damaged_file_is_rebuilt_and_never_loaded,
    a_file_that_could_be_somebody_elses_is_not_trusted,
    a_copied_cache_is_trusted_by_its_content,
    a_cache_that_cannot_be_kept_still_runs_with_a_warning,
    a_full_disk_under_the_cache_still_runs_with_a_warning,
}

struct Copied {
    place: Place,
    file: PathBuf,
}

impl Copied {
    /// A place with a cache of its own, copied from the shared one.
    fn new() -> Self {
        let place = Place::with_script("print('this script ran')\n");
        let file = place.copy_cache("cache");
        Self { place, file }
    }

    fn command(&self, words: &[&str]) -> std::process::Command {
        let mut command = self.place.command(words);
        command.env("XDG_CACHE_HOME", self.place.path("cache"));
        command
    }

    /// Whether the file would be loaded.
    fn trusted(&self) -> bool {
        let end = self
            .place
            .end_of(&mut self.command(&["runtimes", "list", "--json"]));
        let listed: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
        listed[0]["prepared"].as_bool().unwrap()
    }

    fn runs(&self) {
        let end = self
            .place
            .end_of(&mut self.command(&["run", "./skill", "main.py"]));
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("this script ran\n", "", 0)
        );
    }
}

fn two_processes_that_fill_an_empty_cache_at_once_both_run() {
    let place = Place::with_script("print('this script ran')\n");
    let children: Vec<_> = (0..2)
        .map(|_| {
            let mut command = place.command(&["run", "./skill", "main.py"]);
            command.env("XDG_CACHE_HOME", place.path("cache"));
            command.spawn().unwrap()
        })
        .collect();
    for child in children {
        let end = place.end_of_child(child);
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("this script ran\n", "", 0)
        );
    }
    let left = fs::read_dir(place.path("cache/skillrun")).unwrap();
    let mut left: Vec<_> = left
        .map(|entry| entry.unwrap().path())
        .map(|path| path.extension().unwrap().to_str().unwrap().to_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["cwasm", "lock", "seal"]);
    place.check_left_behind().unwrap();
}

fn a_damaged_file_is_rebuilt_and_never_loaded() {
    let copied = Copied::new();
    let whole = fs::read(&copied.file).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&copied.file, &damaged).unwrap();
    assert!(!copied.trusted());
    copied.runs();
    assert!(copied.trusted());
    assert!(
        fs::read(&copied.file).unwrap() == whole,
        "it was not rebuilt"
    );
}

fn a_file_that_could_be_somebody_elses_is_not_trusted() {
    let name = cached_file();
    let name = name.file_name().unwrap().to_str().unwrap();
    let seal = name.replace(".cwasm", ".seal");
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
        format!("remove cache/skillrun/{seal}"),
        format!("text cache/skillrun/{seal} {{}}"),
        format!(
            "move cache/skillrun/{seal} elsewhere\nsymlink {{root}}/elsewhere cache/skillrun/{seal}"
        ),
        format!("remove cache/skillrun/{name}\nfifo cache/skillrun/{name}"),
    ] {
        let copied = Copied::new();
        assert!(copied.trusted(), "before `{steps}`");
        setup::prepare(copied.place.root(), &steps).unwrap();
        assert!(!copied.trusted(), "after `{steps}`");
    }
}

fn a_copied_cache_is_trusted_by_its_content() {
    let copied = Copied::new();
    assert!(copied.trusted());
    copied.runs();
}

fn a_cache_that_cannot_be_kept_still_runs_with_a_warning() {
    let place = Place::with_script("print('this script ran')\n");
    setup::prepare(place.root(), "touch cache/skillrun").unwrap();
    let mut command = place.command(&["run", "./skill", "main.py"]);
    let end = place.end_of(command.env("XDG_CACHE_HOME", place.path("cache")));
    assert_eq!(end.stdout, "this script ran\n");
    assert_eq!(
        end.stderr,
        "warning: cannot keep the compiled runtime in `{root}/cache/skillrun`: file exists\n\
         hint: every run compiles it again until that is mended; XDG_CACHE_HOME names another place\n"
    );
    assert_eq!(end.code, 0);
}

/// A small file system of its own, where this user may make one.
fn a_full_disk_under_the_cache_still_runs_with_a_warning() {
    let own_mounts = ["--user", "--map-root-user", "--mount"];
    let may = Command::new("unshare")
        .args(own_mounts)
        .arg("true")
        .output();
    if !may.as_ref().is_ok_and(|output| output.status.success()) {
        println!("not tried: no mounts of one's own here: {may:?}");
        return;
    }
    let place = Place::with_script("print('this script ran')\n");
    setup::prepare(place.root(), "dir cache").unwrap();
    let template = place.command(&["run", "./skill", "main.py"]);
    let mount = "mount -t tmpfs -o size=1m none cache && \"$0\" \"$@\"; code=$?
                 find cache/skillrun -type f -size +0; exit $code";
    let mut command = Command::new("unshare");
    command
        .args(own_mounts)
        .args(["sh", "-c", mount])
        .arg(template.get_program())
        .args(template.get_args())
        .current_dir(place.root())
        .env_clear()
        .envs(template.get_envs().filter_map(|(k, v)| Some((k, v?))))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("XDG_CACHE_HOME", place.path("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let end = place.end_of(&mut command);
    assert_eq!(
        end.stderr,
        "warning: cannot keep the compiled runtime in `{root}/cache/skillrun`: no space left on device\n\
         hint: every run compiles it again until that is mended; XDG_CACHE_HOME names another place\n"
    );
    // Nothing that was written of it is left either: the disk is full enough.
    assert_eq!((end.stdout.as_str(), end.code), ("this script ran\n", 0));
    place.check_left_behind().unwrap();
}
