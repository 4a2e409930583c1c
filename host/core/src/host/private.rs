//! Skills and workspaces that are given as bytes: unpacked into private directories, and read again.
//!
//! The directory is a scratch directory like that of a run: for its owner only, locked, and removed by the next process
//! if this one is killed. The files are two levels below it, under a random name in a directory that not even its owner
//! can list. So a script that may read the temporary directory does not find them, unless it runs as root.
//! The path stays private until the last file is removed: while that happens, the directories can be listed. If a script
//! that runs already may reach the temporary directory, nothing is unpacked.

use super::{Host, Inner};
use crate::descriptors;
use crate::error::Error;
use crate::files::{plain, real_path};
use crate::skill::{
    Bounds, CustomLanguage, FileMap, FileMapError, PrivateDirectory, Skill, SkillError, memory_path,
};
use crate::workspace::{PrivateWorkspace, ReturnedFiles};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _, Permissions, PermissionsExt as _};
use rustix::fs::{Mode, OFlags, chmod, mkdirat, openat};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;

/// Directories that a script sees. It may run as another user.
const DIRECTORY_MODE: u32 = 0o755;
/// A private directory keeps itself open twice, the directory around it, and the one of the files.
const DESCRIPTORS: usize = 4;
/// Its owner can enter it and not list it.
const UNLISTABLE: Mode = Mode::XUSR;

impl Host {
    /// Loads a skill that is given as bytes, as [`Skill::load`] does with a folder of this name. Its path is
    /// `memory:/NAME`, and scripts see it at `/skill`. Its files are removed when it is dropped.
    ///
    /// The files may be in one directory at the top, as in an archive of the skill's folder.
    pub async fn skill_from_files(
        &self,
        name: impl Into<String>,
        files: FileMap,
    ) -> Result<Skill, SkillError> {
        self.skill_from_files_with(name, files, &[]).await
    }

    /// The same, where files in these languages are scripts too.
    pub async fn skill_from_files_with(
        &self,
        name: impl Into<String>,
        files: FileMap,
        languages: &'static [CustomLanguage],
    ) -> Result<Skill, SkillError> {
        let name = name.into();
        self.blocking_task(move |inner| inner.skill_from_files(&name, files, languages, None))
            .await
    }

    /// A workspace that is given as bytes, for any number of runs. Scripts see it at `/workspace`. Its files are removed
    /// when its last clone is dropped.
    pub async fn workspace_from_files(&self, files: FileMap) -> Result<PrivateWorkspace, Error> {
        self.blocking_task(move |inner| inner.workspace_from_files(&files, None))
            .await
    }

    /// What is in a private workspace now: after a run, what the run left there. Fails if that is more than `bounds`.
    pub async fn files_of(
        &self,
        workspace: &PrivateWorkspace,
        bounds: Bounds,
    ) -> Result<ReturnedFiles, FileMapError> {
        let workspace = workspace.clone();
        self.blocking_task(move |_| workspace.files(bounds)).await
    }
}

impl Inner {
    pub(super) fn skill_from_files(
        &self,
        name: &str,
        files: FileMap,
        languages: &'static [CustomLanguage],
        tenant: Option<Arc<str>>,
    ) -> Result<Skill, SkillError> {
        // Nothing is written for a name that no skill may have.
        memory_path(name)?;
        let private = self.private_directory(&files.into_skill(), tenant);
        let private = private.map_err(|error| SkillError::NotWritten {
            name: name.to_owned(),
            directory: std::env::temp_dir(),
            why: plain(&error),
        })?;
        let skill = Skill::in_private_directory(name, private, languages)?;
        // On this thread, which may block.
        skill.scripts();
        Ok(skill)
    }

    pub(super) fn workspace_from_files(
        &self,
        files: &FileMap,
        tenant: Option<Arc<str>>,
    ) -> Result<PrivateWorkspace, Error> {
        let private = self.private_directory(files, tenant);
        let private = private.map_err(|error| Error::Workspace(plain(&error)))?;
        Ok(PrivateWorkspace(private))
    }

    /// Unpacks files into a new private directory.
    fn private_directory(
        &self,
        files: &FileMap,
        tenant: Option<Arc<str>>,
    ) -> io::Result<PrivateDirectory> {
        let reserved =
            descriptors::PRIVATE.reserve(tenant.as_deref().unwrap_or_default(), DESCRIPTORS);
        let reserved = reserved.map_err(|why| io::Error::new(io::ErrorKind::QuotaExceeded, why))?;
        let scratch = self.scratches.scratch();
        let root = new_root(&scratch.open_private()?)?;
        unpack(files, &root)?;
        root.set_permissions(".", Permissions::from_mode(DIRECTORY_MODE))?;
        Ok(PrivateDirectory {
            path: real_path(&root)?,
            root: Arc::new(root.into_std_file()),
            tenant,
            // Removes the directory when it is dropped.
            owner: Arc::new((scratch, reserved)),
        })
    }
}

/// Makes the directory for the files. The one around it is unlistable from its first moment: a script that already runs
/// may read the temporary directory.
fn new_root(outer: &OwnedFd) -> io::Result<Dir> {
    mkdirat(outer, "private", UNLISTABLE | Mode::WUSR)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let unlistable = openat(outer, "private", flags, Mode::empty())?;
    let name = uuid::Uuid::new_v4().simple().to_string();
    mkdirat(&unlistable, &name, Mode::RWXU)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = openat(&unlistable, &name, flags, Mode::empty())?;
    // By its handle: its name may lead elsewhere by now.
    chmod(
        format!("/proc/self/fd/{}", unlistable.as_raw_fd()),
        UNLISTABLE,
    )?;
    Ok(Dir::from_std_file(File::from(root)))
}

/// Writes files into an empty directory. What the map contains can neither lead out of it nor meet a link there.
fn unpack(files: &FileMap, root: &Dir) -> io::Result<()> {
    for directory in files.directories() {
        root.create_dir(directory)?;
        // Whatever the umask of this process is.
        root.set_permissions(directory, Permissions::from_mode(DIRECTORY_MODE))?;
    }
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .follow(FollowSymlinks::No);
    for (path, bytes) in files.files() {
        let mut file = root.open_with(path, &options)?;
        file.write_all(bytes)?;
        let mode = files.mode(path).unwrap_or_default();
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::approval::Approvals;
    use crate::audit::AuditLog;
    use crate::decision::{Decision, Permit};
    use crate::descriptors;
    use crate::error::RunError;
    use crate::host::running::RunEvent;
    use crate::host::{Host, Settings};
    use crate::policy::Policy;
    use crate::private::{PrivatePath, comparing};
    use crate::refusal::Check;
    use crate::request::Request;
    use crate::skill::{FileMap, Skill};
    use std::path::PathBuf;
    use std::sync::{Arc, Mutex};

    /// A directory with a skill and a workspace.
    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new(script: &str, source: &str) -> Self {
            let folder = Self(tempfile::tempdir().unwrap());
            for directory in ["skill/scripts", "work"] {
                std::fs::create_dir_all(folder.at(directory)).unwrap();
            }
            std::fs::write(folder.at("skill/SKILL.md"), "---\ndescription: d\n---\n").unwrap();
            std::fs::write(folder.at("skill/scripts").join(script), source).unwrap();
            folder
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn host(&self, audit: AuditLog) -> Host {
            Host::new(Settings {
                cache: self.at("cache"),
                audit,
                approvals: Approvals::memory(),
                protected: vec![],
                slots: None,
                workers: Default::default(),
            })
        }

        fn private(&self, name: &str) -> std::io::Result<PrivatePath> {
            let directory = std::fs::File::open(self.at(name)).unwrap();
            PrivatePath::new(self.at(name), directory)
        }

        /// A permit for the script in the workspace.
        async fn permit(&self, host: &Host, script: &str) -> Permit {
            let skill = Arc::new(Skill::load(self.at("skill")).unwrap());
            let request = Request {
                workspace: Some(self.at("work").into()),
                ..Request::typed(&skill, script)
            };
            match host.decide(&Policy::default(), request).await.unwrap() {
                Decision::Permitted(permit) => permit,
                other => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_tenant_keeps_no_more_private_directories_than_its_share_of_descriptors() {
        const TENANT: &str = "with many files";
        let folder = Folder::new("a.py", "");
        let tenant = folder.host(AuditLog::sink(|_| Ok(()))).tenant(TENANT);
        let write = || tenant.workspace_from_files(FileMap::new());
        write().await.unwrap();
        // As if it had many already. Other tests may free some descriptors at any moment.
        let reserve = || descriptors::PRIVATE.reserve(TENANT, 1).ok();
        let reserved: Vec<_> = std::iter::from_fn(reserve).collect();
        let mut kept = Vec::new();
        let error = loop {
            match write().await {
                Ok(workspace) => kept.push(workspace),
                Err(error) => break error.to_string(),
            }
        };
        let start = "cannot write the files of the workspace: the skills and workspaces in private directories of tenant \
                     `with many files` keep ";
        assert!(error.starts_with(start), "{error}");
        drop(reserved);
        write().await.unwrap();
    }

    #[tokio::test]
    async fn no_private_directory_is_made_in_the_workspace_of_a_script_that_runs() {
        let folder = Folder::new("wait.sh", "read line\n");
        let host = folder.host(AuditLog::sink(|_| Ok(())));
        std::fs::create_dir(folder.at("work/private")).unwrap();
        let private = || folder.private("work/private");
        let permit = folder.permit(&host, "wait.sh").await;
        drop(private().unwrap());
        let (mut run, stdin) = host.start_with_stdin(permit);
        assert_eq!(run.next_event().await, Some(RunEvent::Started));
        private().unwrap_err();
        drop(stdin);
        run.wait().await.unwrap();
        drop(private().unwrap());
    }

    /// The task beside it lets the comparison go on. If the run waited for it on this thread, that task would never get its
    /// turn.
    #[tokio::test]
    async fn a_run_waits_for_a_comparison_without_blocking_the_thread() {
        let folder = Folder::new("a.sh", "echo ran\n");
        let host = folder.host(AuditLog::sink(|_| Ok(())));
        std::fs::create_dir(folder.at("private")).unwrap();
        let permit = folder.permit(&host, "a.sh").await;
        let _private = folder.private("private").unwrap();
        let comparing = comparing();
        let go_on = async {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            drop(comparing);
        };
        let (outcome, ()) = tokio::join!(biased; host.run(permit), go_on);
        assert_eq!(outcome.unwrap().stdout, "ran\n");
    }

    #[tokio::test]
    async fn a_run_whose_workspace_contains_a_private_directory_since_its_decision_is_refused() {
        let folder = Folder::new("a.py", "");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&lines);
        let host = folder.host(AuditLog::sink(move |line| {
            log.lock().unwrap().extend_from_slice(line);
            Ok(())
        }));
        let permit = folder.permit(&host, "a.py").await;
        drop(permit.plan().reach().unwrap());
        std::fs::create_dir(folder.at("work/private")).unwrap();
        let _private = folder.private("work/private").unwrap();
        let Err(RunError::Refused(refusal)) = host.run(permit).await else {
            panic!("it ran");
        };
        let message = format!(
            "`scripts/a.py` of skill `skill` did not run: `{}` contains private directories of skills or \
             workspaces that were given as bytes",
            folder.at("work").display()
        );
        assert_eq!((refusal.check, refusal.message), (Check::Grants, message));
        let lines = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
        assert!(lines.contains("\"refused\""), "{lines}");
        assert!(!lines.contains("\"started\""), "{lines}");
    }
}
