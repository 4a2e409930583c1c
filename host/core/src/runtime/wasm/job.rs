//! What a guest's run needs, without the plan it comes from: plain data, and the handles of its directories.
//!
//! The engine knows jobs and no plans, so it can run them in another process. Nothing in a job is looked up by name again:
//! a directory is a handle, and the paths beside it only say what the guest and the caller call it.

use crate::error::Error;
use crate::limits::Limits;
use crate::plan::{Checked, Mount, Plan};
use crate::runtime::artifacts::{Directories, Directory};
use crate::runtime::environment::{environment, scratch_path};
use crate::runtime::protected::ProtectedPaths;
use crate::runtime::raw_paths;
use crate::skill::Language;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// One run of a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    /// The guest's path of the script.
    pub(super) script: String,
    pub(super) source: Vec<u8>,
    pub(super) args: Vec<String>,
    /// The guest's path of the directory in which it starts.
    pub(super) directory: String,
    pub(super) environment: Vec<(String, String)>,
    /// Its standard input, unless it is empty and there is a stream.
    pub(super) input: Vec<u8>,
    pub(super) limits: JobLimits,
    pub(super) mounts: Vec<JobMount>,
    /// The guest's path of the scratch directory.
    pub(super) scratch: String,
    /// The guest's path of the skill.
    pub(super) skill: String,
    /// Whether the guest is the Python interpreter.
    pub(super) is_python: bool,
    /// Paths that the guest may not write, if it may write anything.
    pub(super) protected: Option<ProtectedPaths>,
    /// How the paths of changed files are shown, if they are listed.
    pub(super) listed: Option<Listed>,
}

/// A directory that the guest sees. Its handle has the same index among the handles of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JobMount {
    /// Its real path.
    #[serde(with = "raw_paths::one")]
    pub(super) host: PathBuf,
    pub(super) guest: String,
    pub(super) writable: bool,
    /// The only visible entry, if a single file was granted.
    pub(super) only: Option<String>,
}

/// The handle of a mount.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    pub(super) file: Arc<File>,
    /// Whether nothing above it can be reached through it. The real path that the kernel reports for it and for what is in
    /// it then begins at the mount.
    pub(super) is_detached: bool,
    /// Whether that of a mount with a single file is the handle of the file, not of its directory.
    pub(super) is_passed: bool,
}

impl Handle {
    /// A handle on a directory of this process.
    pub(super) fn new(file: Arc<File>) -> Self {
        Self {
            file,
            is_detached: false,
            is_passed: false,
        }
    }

    /// A handle that the host has detached and passed to this worker.
    pub(super) fn detached(file: File) -> Self {
        Self {
            is_detached: true,
            ..Self::passed(file)
        }
    }

    /// A handle that the host has passed to this worker as it is.
    pub(super) fn passed(file: File) -> Self {
        Self {
            is_passed: true,
            ..Self::new(Arc::new(file))
        }
    }
}

/// How much a guest may use: the limits that the engine enforces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JobLimits {
    pub(super) time: Duration,
    pub(super) fuel: Option<u64>,
    pub(super) memory: u64,
    pub(super) scratch: u64,
    pub(super) disk: u64,
    pub(super) open_files: u32,
}

/// The real paths of the workspace and of the skill, and what the skill's is shown as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    #[serde(with = "raw_paths::maybe")]
    workspace: Option<PathBuf>,
    #[serde(with = "raw_paths::pair")]
    skill: Option<(PathBuf, PathBuf)>,
}

impl Job {
    /// The job of a plan, and the handles of its directories. `protected` are the host's own paths that no script may write.
    pub(super) fn new(plan: &Plan, protected: &[PathBuf]) -> Result<(Self, Vec<Arc<File>>), Error> {
        let (Checked::Script(script), Some(skill)) = (&plan.target, plan.skill_base()) else {
            let why = "a command cannot run in an interpreter";
            return Err(Error::Sandbox(why.into()));
        };
        // A guest resolves a path in its innermost mount. A mount of a single file inside a directory that is
        // mounted as a whole would hide its siblings.
        let is_shown = |mount: &&Mount| !plan.mounts().any(|other| shows(other, mount));
        let mounts: Vec<&Mount> = plan.mounts().filter(is_shown).collect();
        // Resolving them costs several system calls for each path, and most runs may write nothing.
        let is_writable = mounts.iter().any(|mount| mount.writable);
        let listed = plan.list_artifacts.then(|| {
            let Directories {
                workspace, skill, ..
            } = Directories::shown_for(plan);
            Listed { workspace, skill }
        });
        let scratch = scratch_path(plan);
        let job = Self {
            script: format!("{skill}/{}", script.script.path()),
            source: script.source.clone(),
            args: plan.args.clone(),
            directory: plan.directory().unwrap_or(skill).to_owned(),
            environment: environment(plan, scratch),
            input: plan.input.clone(),
            limits: JobLimits::of(&plan.limits),
            mounts: mounts.iter().map(|mount| JobMount::of(mount)).collect(),
            scratch: scratch.to_owned(),
            skill: skill.to_owned(),
            is_python: script.script.language() == Language::Python,
            protected: is_writable.then(|| ProtectedPaths::of(plan, protected)),
            listed,
        };
        let handles = mounts.iter().map(|mount| Arc::clone(&mount.dir));
        Ok((job, handles.collect()))
    }

    /// What the skill is shown as in the paths of artefacts, if they are listed.
    pub(super) fn shown_skill(&self) -> Option<&Path> {
        let (_, shown) = self.listed.as_ref()?.skill.as_ref()?;
        Some(shown)
    }

    /// Whether artefacts are listed that are in a workspace.
    pub(super) fn has_listed_workspace(&self) -> bool {
        let listed = self.listed.as_ref();
        listed.is_some_and(|listed| listed.workspace.is_some())
    }

    /// The directories in which changes are listed.
    pub(super) fn directories(&self, handles: &[Handle]) -> Directories {
        let Some(Listed { workspace, skill }) = self.listed.clone() else {
            return Directories::default();
        };
        let mounts = self.mounts.iter().zip(handles);
        let writable = mounts.filter(|(mount, _)| mount.writable);
        let writable = writable.map(|(mount, handle)| Directory {
            dir: Arc::clone(&handle.file),
            is_file: handle.is_passed && mount.only.is_some(),
            host: mount.host.clone(),
            only: mount.only.clone(),
        });
        Directories {
            writable: writable.collect(),
            workspace,
            skill,
        }
    }
}

impl JobMount {
    /// The real path of the directory or of the single file.
    pub(super) fn real(&self) -> PathBuf {
        let only = self.only.as_ref();
        only.map_or_else(|| self.host.clone(), |only| self.host.join(only))
    }

    fn of(mount: &Mount) -> Self {
        Self {
            host: mount.host.clone(),
            guest: mount.guest.clone(),
            writable: mount.writable,
            only: mount.only.clone(),
        }
    }
}

impl JobLimits {
    fn of(limits: &Limits) -> Self {
        Self {
            time: limits.time,
            fuel: limits.fuel,
            memory: limits.memory,
            scratch: limits.scratch,
            disk: limits.disk,
            open_files: limits.open_files,
        }
    }
}

/// Whether `whole` already contains the single file of `single` at the same path, with the same access.
fn shows(whole: &Mount, single: &Mount) -> bool {
    let (Some(_), None) = (&single.only, &whole.only) else {
        return false;
    };
    let below = |outer: &Path, inner: &Path| inner.strip_prefix(outer).map(Path::to_owned).ok();
    let on_host = below(&whole.host, &single.host);
    on_host.is_some()
        && on_host == below(whole.guest.as_ref(), single.guest.as_ref())
        && (whole.writable || !single.writable)
}
