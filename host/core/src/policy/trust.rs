//! The policies whose bytes a person has trusted.
//!
//! A policy in a working directory comes with the directory: with a repository that was cloned, or from a script that
//! was allowed to write there. So it counts only after a person has read it and said so, and only as long as it holds
//! the same bytes. Each trusted path has one file in a directory that only its owner may write; without that, another
//! user could trust in their name.

use super::PolicyFile;
use crate::decision::hex;
use crate::files::{plain, show};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A path of 4096 bytes, each escaped in JSON, and a hash.
const MAX_RECORD: u64 = 32 * 1024;

/// Where trusted policies are recorded.
#[derive(Debug, Clone)]
pub struct TrustedPolicies {
    folder: PathBuf,
}

/// Whether a person has trusted a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// With these bytes.
    Trusted,
    /// With other bytes.
    Changed,
    /// Not at all.
    Untrusted,
}

/// A policy that a person has trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedPolicy {
    /// Its absolute path.
    pub path: PathBuf,
    /// The SHA-256 of its bytes.
    pub sha256: String,
}

/// Why it is not known, or was not recorded, what is trusted.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct TrustError {
    message: String,
    hint: Option<String>,
}

impl TrustError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    fn new(path: &Path, why: &str) -> Self {
        Self {
            message: format!("trusted policies in `{}`: {why}", shown(path)),
            hint: None,
        }
    }

    fn io(path: &Path, error: &io::Error) -> Self {
        Self::new(path, &plain(error))
    }
}

impl TrustedPolicies {
    /// Those that are recorded in `folder`, which is made when the first is trusted.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Whether a person has trusted these bytes at this path.
    pub fn status(&self, file: &PolicyFile) -> Result<Trust, TrustError> {
        if !self.is_there()? {
            return Ok(Trust::Untrusted);
        }
        let known = match self.read(&self.record(file.path())) {
            Ok(known) => known,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Trust::Untrusted),
            Err(error) => return Err(TrustError::io(&self.record(file.path()), &error)),
        };
        Ok(match known {
            known if known.path != file.path() => Trust::Untrusted,
            known if known.sha256 == sha256(file.bytes()) => Trust::Trusted,
            _ => Trust::Changed,
        })
    }

    /// Records that a person trusts these bytes at this path. One that is a link is refused: what it leads to has a
    /// path of its own.
    pub fn trust(&self, file: &PolicyFile) -> Result<TrustedPolicy, TrustError> {
        let path = file.path();
        let refuse = |why: &str, hint: &str| TrustError {
            message: format!("policy `{}` {why}", shown(path)),
            hint: Some(hint.into()),
        };
        if file.is_link() {
            return Err(refuse("is a link", "trust the file that it leads to"));
        }
        if path.to_str().is_none() {
            let hint = "name it with --policy FILE instead";
            return Err(refuse("has a path that is not UTF-8", hint));
        }
        let record = TrustedPolicy {
            path: path.to_owned(),
            sha256: sha256(file.bytes()),
        };
        let mut make = DirBuilder::new();
        let made = make.recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|error| TrustError::io(&self.folder, &error))?;
        self.is_there()?;
        let write = || -> io::Result<()> {
            // Written under another name and renamed: a reader sees all or nothing, and a link is replaced.
            let mut file = tempfile::Builder::new().tempfile_in(&self.folder)?;
            file.write_all(&serde_json::to_vec(&record)?)?;
            file.as_file().sync_data()?;
            file.persist(self.record(path))?;
            Ok(())
        };
        write().map_err(|error| TrustError::io(&self.folder, &error))?;
        Ok(record)
    }

    /// Takes trust back; returns whether there was any. The policy itself may be gone.
    pub fn untrust(&self, path: &Path) -> Result<bool, TrustError> {
        if !self.is_there()? {
            return Ok(false);
        }
        match fs::remove_file(self.record(path)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(TrustError::io(&self.folder, &error)),
        }
    }

    /// All that is trusted, by path.
    pub fn list(&self) -> Result<Vec<TrustedPolicy>, TrustError> {
        let mut all = Vec::new();
        if !self.is_there()? {
            return Ok(all);
        }
        let fail = |error: io::Error| TrustError::io(&self.folder, &error);
        for entry in fs::read_dir(&self.folder).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            // What is no record, or has the name of another, was not written here and counts for nothing.
            if let Ok(known) = self.read(&path)
                && self.record(&known.path) == path
            {
                all.push(known);
            }
        }
        all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    /// Whether the directory is there. It must be ours, and nobody else may write it or the one it is in.
    fn is_there(&self) -> Result<bool, TrustError> {
        for folder in self.folder.parent().into_iter().chain([&*self.folder]) {
            let meta = match fs::symlink_metadata(folder) {
                Ok(meta) => meta,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(TrustError::io(folder, &error)),
            };
            if !meta.is_dir() {
                return Err(TrustError::new(folder, "is not a directory"));
            }
            if meta.uid() != rustix::process::geteuid().as_raw() {
                return Err(TrustError::new(folder, "it belongs to another user"));
            }
            if meta.mode() & 0o022 != 0 {
                let hint = format!("chmod go-w {}", shown(folder));
                return Err(TrustError {
                    hint: Some(hint),
                    ..TrustError::new(folder, "other users may write it")
                });
            }
        }
        Ok(true)
    }

    /// The file that says whether a policy is trusted.
    fn record(&self, policy: &Path) -> PathBuf {
        self.folder.join(sha256(policy.as_os_str().as_bytes()))
    }

    fn read(&self, record: &Path) -> io::Result<TrustedPolicy> {
        use rustix::fs::OFlags;
        // No link is followed, and nothing is waited for.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(record)?;
        let meta = file.metadata()?;
        let own = meta.uid() == rustix::process::geteuid().as_raw();
        if !meta.is_file() || !own || meta.mode() & 0o022 != 0 {
            return Err(io::Error::other(
                "it is not a file that only its owner may write",
            ));
        }
        let mut bytes = Vec::new();
        file.take(MAX_RECORD).read_to_end(&mut bytes)?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn shown(path: &Path) -> String {
    show(&path.display().to_string())
}
