//! The files of a guest: any calls of `wasi:filesystem`, with any handles, names and flags, in any order.
//!
//! Nothing outside the guest's mounts is read or changed. The skill, protected paths, policies and the siblings of a
//! single granted file are not changed. Nothing blocks, and the bytes written stay within the limit.

#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use skillrun::fuzzing::{Call, CallResult, Guest, Mount};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const SECRET: &[u8] = b"from-outside";
const DISK: u64 = 256 << 10;
const NAMES: [&str; 25] = [
    "f",
    "d",
    "e",
    "new",
    "n",
    ".",
    "..",
    "",
    "up",
    "direct",
    "absolute",
    "inward",
    "protected",
    "p",
    "skillrun.toml",
    "SkillRun.TOML",
    "pipe",
    "holds",
    "granted",
    "neighbour",
    "SKILL.md",
    "a.py",
    "secret",
    "work",
    "skill",
];

/// `around` contains files that the guest must not reach, and the guest's three mounts.
static AROUND: LazyLock<PathBuf> = LazyLock::new(|| {
    let around = tempfile::tempdir().expect("a folder").keep();
    let around = around.canonicalize().expect("a folder");
    for (path, bytes) in [
        ("secret", SECRET),
        ("beyond/file", SECRET),
        ("skill/SKILL.md", b"skill"),
        ("skill/scripts/a.py", b"skill"),
        ("single/granted", b"granted"),
        ("single/neighbour", SECRET),
        ("single/beside", SECRET),
    ] {
        let path = around.join(path);
        fs::create_dir_all(path.parent().unwrap()).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
    symlink("../secret", around.join("skill/out")).expect("a link");
    around
});

fuzz_target!(|data: &[u8]| {
    let around = &*AROUND;
    let work = around.join("work");
    make(&work, around);
    let before = snapshot(around);
    let mount = |folder: &str, writable, only: Option<&str>| Mount {
        host: around.join(folder),
        guest: format!("/{folder}"),
        writable,
        only: only.map(str::to_owned),
    };
    let mounts = [
        mount("work", true, None),
        mount("skill", false, None),
        mount("single", true, Some("granted")),
    ];
    let protected = ["protected", "skillrun.toml", "holds/skillrun.toml"].map(|path| work.join(path));
    let mut guest = Guest::new(&mounts, &protected, DISK).expect("a guest");

    let mut input = Unstructured::new(data);
    for _ in 0..64 {
        if input.is_empty() {
            break;
        }
        let Ok(call) = call(&mut input) else { break };
        match guest.call(&call) {
            CallResult::Bytes(bytes) => {
                let found = bytes.windows(SECRET.len()).any(|window| window == SECRET);
                assert!(!found, "{call:?} reads a file outside");
            }
            CallResult::Names(names) => {
                // The guest never creates files with these names.
                let outside = |name: &String| ["beyond", "beside"].contains(&name.as_str());
                assert!(
                    !names.iter().any(outside),
                    "{call:?} lists a directory outside"
                );
            }
            CallResult::Done | CallResult::Refused | CallResult::Trapped(_) => {}
        }
    }
    drop(guest);
    let after = snapshot(around);
    assert_eq!(before, after);
    let written = size(&work);
    assert!(written <= DISK + 4096, "{written} bytes are written");
});

/// Creates the directory that the guest may change again.
fn make(work: &Path, around: &Path) {
    let _ = fs::remove_dir_all(work);
    for folder in ["d/e", "protected", "holds"] {
        fs::create_dir_all(work.join(folder)).expect("a folder");
    }
    for (path, bytes) in [
        ("f", "inside"),
        ("d/f", "inside"),
        ("protected/p", "protected"),
        ("skillrun.toml", "policy"),
        ("holds/skillrun.toml", "policy"),
    ] {
        fs::write(work.join(path), bytes).expect("a file");
    }
    symlink("..", work.join("up")).expect("a link");
    symlink("../secret", work.join("direct")).expect("a link");
    symlink(around, work.join("absolute")).expect("a link");
    symlink("protected", work.join("inward")).expect("a link");
    let pipe = rustix::fs::mknodat(
        rustix::fs::CWD,
        work.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    );
    pipe.expect("a FIFO");
}

/// Everything that must not change: contents, types, times and links of what the guest may not write.
fn snapshot(around: &Path) -> Vec<(PathBuf, Option<String>)> {
    let mut all = Vec::new();
    for path in [
        "secret",
        "beyond",
        "beyond/file",
        "skill",
        "skill/SKILL.md",
        "skill/scripts",
        "skill/scripts/a.py",
        "skill/out",
        "single",
        "single/neighbour",
        "work/protected",
        "work/protected/p",
        "work/skillrun.toml",
        "work/holds/skillrun.toml",
    ] {
        let path = around.join(path);
        let state = fs::symlink_metadata(&path).ok().map(|meta| {
            let names = fs::read_dir(&path).map(|entries| {
                let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
                names.sort();
                names
            });
            // The times of a policy have no meaning; the guest may not set those of the rest.
            let policy = path.ends_with("skillrun.toml");
            let times = (!policy).then(|| (meta.mtime(), meta.mtime_nsec(), meta.nlink()));
            let kind = meta.mode();
            format!(
                "{kind:o} {times:?} {:?} {:?} {:?}",
                fs::read(&path).ok(),
                names.ok(),
                fs::read_link(&path).ok()
            )
        });
        all.push((path, state));
    }
    let mut top: Vec<_> = fs::read_dir(around)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    top.sort();
    all.push((around.to_owned(), Some(format!("{top:?}"))));
    all
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => size(&entry.path()),
            Ok(meta) if meta.is_file() => meta.len(),
            _ => 0,
        })
        .sum()
}

fn call(input: &mut Unstructured<'_>) -> Result<Call> {
    let at = input.int_in_range(0..=7)?;
    Ok(match input.int_in_range(0..=20u8)? {
        0..=3 => Call::Open {
            at,
            follow: input.arbitrary()?,
            path: path(input)?,
            how: input.arbitrary()?,
            flags: input.arbitrary()?,
        },
        4 => Call::CreateDirectory {
            at,
            path: path(input)?,
        },
        5 => Call::RemoveDirectory {
            at,
            path: path(input)?,
        },
        6 => Call::Unlink {
            at,
            path: path(input)?,
        },
        7 => Call::Rename {
            at,
            old: path(input)?,
            to: input.int_in_range(0..=7)?,
            new: path(input)?,
        },
        8 => Call::Link {
            at,
            follow: input.arbitrary()?,
            old: path(input)?,
            to: input.int_in_range(0..=7)?,
            new: path(input)?,
        },
        9 => Call::Symlink {
            at,
            target: path(input)?,
            path: path(input)?,
        },
        10 => Call::ReadLink {
            at,
            path: path(input)?,
        },
        11 => Call::Stat {
            at,
            follow: input.arbitrary()?,
            path: path(input)?,
        },
        12 => Call::SetTimesAt {
            at,
            follow: input.arbitrary()?,
            path: path(input)?,
        },
        13 => Call::SetTimes { fd: at },
        14 => Call::SetSize {
            fd: at,
            size: input.arbitrary::<u64>()? >> input.int_in_range(0..=63)?,
        },
        15 => Call::Read {
            fd: at,
            offset: input.int_in_range(0..=8)?,
        },
        16 => Call::Write {
            fd: at,
            offset: input.arbitrary::<u64>()? >> input.int_in_range(0..=63)?,
            bytes: bytes(input)?,
        },
        17 => Call::WriteStream {
            fd: at,
            offset: input.arbitrary::<u64>()? >> input.int_in_range(0..=63)?,
            bytes: bytes(input)?,
        },
        18 => Call::Append {
            fd: at,
            bytes: bytes(input)?,
        },
        19 => Call::List { fd: at },
        _ => Call::Close { fd: at },
    })
}

fn bytes(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let length = input.int_in_range(0..=3000usize)?;
    Ok(vec![b'x'; length])
}

/// Names that exist here, joined, or any text.
fn path(input: &mut Unstructured<'_>) -> Result<String> {
    if input.ratio(1, 12)? {
        return Ok(input.arbitrary::<&str>()?.to_owned());
    }
    let mut path = String::new();
    if input.ratio(1, 16)? {
        path = format!("{}/", AROUND.display());
    }
    for part in 0..input.int_in_range(1..=4)? {
        if part > 0 {
            path.push('/');
        }
        path.push_str(input.choose(&NAMES)?);
    }
    if input.ratio(1, 16)? {
        path.push('/');
    }
    Ok(path)
}
