//! Where the programs of this machine are: interpreters, and commands that a policy names.

use rustix::fs::{Access, access};
use std::path::{Path, PathBuf};

/// Where commands are looked for, and nowhere else: a person's own folders hold what only that person
/// chose, and shims that need his home.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The first program of these names that is where every confined program can see it.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let folders = PATH.split(':').map(Path::new);
    let mut candidates = folders.flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    candidates.find(|path| {
        path.is_file() && access(path, Access::EXEC_OK).is_ok() && skillrun_confine::is_shown(path)
    })
}
