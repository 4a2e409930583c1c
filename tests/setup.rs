//! What a folder under version control cannot contain: links, FIFOs, special modes, unusual names, large
//! files. Each line of a `setup` file is one step; they run in order in the test's directory.

use crate::words;
use rustix::fs::{FileType, Mode};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// Runs the steps of a `setup` file in `root`.
pub(crate) fn prepare(root: &Path, lines: &str) -> Result<(), String> {
    let lines = lines.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words = words::split(line)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        step(root, &words).map_err(|why| format!("setup `{line}`: {why}"))?;
    }
    Ok(())
}

fn step(root: &Path, words: &[&str]) -> Result<(), String> {
    let describe = |error: std::io::Error| error.to_string();
    match *words {
        ["symlink", target, path] => {
            let target = target.replace("{root}", &root.display().to_string());
            symlink(target, fresh(root, path)?).map_err(describe)
        }
        ["hardlink", old, new] => fs::hard_link(root.join(old), fresh(root, new)?).map_err(describe),
        ["mode", mode, path] => {
            let mode = u32::from_str_radix(mode, 8).map_err(|error| error.to_string())?;
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).map_err(describe)
        }
        ["fifo", path] => rustix::fs::mknodat(
            rustix::fs::CWD,
            fresh(root, path)?,
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .map_err(|error| error.to_string()),
        ["socket", path] => std::os::unix::net::UnixListener::bind(fresh(root, path)?)
            .map(drop)
            .map_err(describe),
        ["dir", path] => fs::create_dir_all(root.join(path)).map_err(describe),
        ["file", path, bytes] => {
            let bytes: usize = bytes.parse().map_err(|_| "not a number of bytes")?;
            fs::write(fresh(root, path)?, vec![b'x'; bytes]).map_err(describe)
        }
        ["hole", path, bytes] => {
            let bytes = bytes.parse().map_err(|_| "not a number of bytes")?;
            let file = fs::File::create_new(fresh(root, path)?).map_err(describe)?;
            file.set_len(bytes).map_err(describe)
        }
        ["touch", path] => fs::write(fresh(root, path)?, "").map_err(describe),
        ["text", path, text] => fs::write(fresh(root, path)?, text).map_err(describe),
        ["repeat", path, before, text, times, after] => {
            let times = times.parse().map_err(|_| "not a number of times")?;
            let text = [before, &text.repeat(times), after].concat();
            fs::write(fresh(root, path)?, text).map_err(describe)
        }
        ["copy", old, new] => fs::copy(root.join(old), fresh(root, new)?)
            .map(drop)
            .map_err(describe),
        ["move", old, new] => fs::rename(root.join(old), fresh(root, new)?).map_err(describe),
        ["trust", path] => trust(root, path),
        ["remove", path] => fs::remove_file(root.join(path)).map_err(describe),
        _ => Err(
            "not a step: symlink TARGET PATH, hardlink OLD NEW, mode OCTAL PATH, fifo PATH, \
             socket PATH, dir PATH, file PATH BYTES, hole PATH BYTES, touch PATH, text PATH TEXT, \
             repeat PATH BEFORE TEXT TIMES AFTER, copy OLD NEW, move OLD NEW, trust POLICY, remove PATH"
                .into(),
        ),
    }
}

/// Trusts a policy, as `skillrun policy trust` does in a test's directory.
fn trust(root: &Path, path: &str) -> Result<(), String> {
    let policy =
        skillrun::policy::PolicyFile::read(&root.join(path)).map_err(|error| error.to_string())?;
    fs::create_dir_all(root.join("state")).map_err(|error| error.to_string())?;
    let trusted = skillrun::policy::TrustedPolicies::new(root.join("state/skillrun/trusted"));
    trusted
        .trust(&policy)
        .map(drop)
        .map_err(|error| error.to_string())
}

/// A path whose parent directory exists.
fn fresh(root: &Path, path: &str) -> Result<PathBuf, String> {
    let path = root.join(path);
    let folder = path.parent().ok_or("no folder")?;
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    Ok(path)
}
