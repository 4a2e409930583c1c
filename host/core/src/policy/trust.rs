//! The policies whose bytes a person has trusted.
//!
//! A policy in a working directory comes with the directory: with a repository that was cloned, or from a script that
//! was allowed to write there. It is used only after a person has read and trusted it, and only as long as its bytes stay
//! the same. Each trusted path has one file in a directory that only its owner may write; otherwise another user could
//! trust a policy in the owner's name.

use super::{PolicyFile, shown};
use crate::files::plain;
use crate::ownership::{OtherWriter, Ownership, other_writer};
use crate::text::{hex, shell_path};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A path of 4096 bytes, each escaped in JSON, and a hash.
const MAX_RECORD_BYTES: u64 = 32 * 1024;

/// Where trusted policies are recorded.
#[derive(Debug, Clone)]
pub struct TrustedPolicies {
    directory: PathBuf,
}

/// Whether a person trusts a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Trusted with these bytes.
    Trusted,
    /// Trusted with other bytes.
    Changed,
    /// Not trusted.
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

/// Why the records of trust could not be read or written.
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
            message: format!(
                "cannot use the trusted policies in `{}`: {why}",
                shown(path)
            ),
            hint: None,
        }
    }

    fn io(path: &Path, error: &io::Error) -> Self {
        Self::new(path, &plain(error))
    }
}

impl TrustedPolicies {
    /// The policies recorded in `directory`, which is created when the first one is trusted.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Whether a person has trusted these bytes at this path. Blocks: call it from a blocking thread.
    pub fn status(&self, file: &PolicyFile) -> Result<Trust, TrustError> {
        if !self.exists()? {
            return Ok(Trust::Untrusted);
        }
        let record = match self.read(&self.record(file.path())) {
            Ok(record) => record,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Trust::Untrusted),
            Err(error) => {
                let hint = match shell_path(file.path()) {
                    Some(name) => {
                        format!("run `skillrun policy untrust {name}`, then trust it again")
                    }
                    None => "revoke the trust in it, then trust it again".to_owned(),
                };
                return Err(TrustError {
                    hint: Some(hint),
                    ..TrustError::io(&self.record(file.path()), &error)
                });
            }
        };
        Ok(match record {
            record if record.path != file.path() => Trust::Untrusted,
            record if record.sha256 == sha256(file.bytes()) => Trust::Trusted,
            _ => Trust::Changed,
        })
    }

    /// Whether a person has trusted the policy at this path, whatever is there now. The path is absolute, with links in its
    /// directory's path resolved.
    pub fn has_record(&self, path: &Path) -> Result<bool, TrustError> {
        let record = self.record(path);
        match record.symlink_metadata() {
            Ok(_) => self.exists(),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound) => Ok(false),
            Err(error) => Err(TrustError::io(&record, &error)),
        }
    }

    /// Records that a person trusts these bytes at this path. A link is refused: its target has a path of its own.
    /// Blocks: call it from a blocking thread.
    pub fn trust(&self, file: &PolicyFile) -> Result<TrustedPolicy, TrustError> {
        let path = file.path();
        let refuse = |why: &str, hint: &str| TrustError {
            message: format!("policy `{}` {why}", shown(path)),
            hint: Some(hint.into()),
        };
        if file.is_link() {
            return Err(refuse("is a link", "trust the file that it points to"));
        }
        if path.to_str().is_none() {
            let hint = "rename it, or the directory in its path that is not";
            return Err(refuse("has a path that is not UTF-8", hint));
        }
        let record = TrustedPolicy {
            path: path.to_owned(),
            sha256: sha256(file.bytes()),
        };
        let mut builder = DirBuilder::new();
        let created = builder.recursive(true).mode(0o700).create(&self.directory);
        created.map_err(|error| TrustError::io(&self.directory, &error))?;
        self.exists()?;
        let write = || -> io::Result<()> {
            // Written to a temporary file and renamed: a reader sees all or nothing, and a link is replaced.
            let mut file = tempfile::Builder::new().tempfile_in(&self.directory)?;
            file.write_all(&serde_json::to_vec(&record)?)?;
            file.as_file().sync_data()?;
            file.persist(self.record(path))?;
            Ok(())
        };
        write().map_err(|error| TrustError::io(&self.directory, &error))?;
        Ok(record)
    }

    /// Revokes trust. Returns whether the policy was trusted. The policy file may no longer exist. Blocks:
    /// call it from a blocking thread.
    pub fn untrust(&self, path: &Path) -> Result<bool, TrustError> {
        if !self.exists()? {
            return Ok(false);
        }
        match fs::remove_file(self.record(path)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(TrustError::io(&self.directory, &error)),
        }
    }

    /// All trusted policies, sorted by path. Blocks: call it from a blocking thread.
    pub fn list(&self) -> Result<Vec<TrustedPolicy>, TrustError> {
        let mut all = Vec::new();
        if !self.exists()? {
            return Ok(all);
        }
        let fail = |error: io::Error| TrustError::io(&self.directory, &error);
        for entry in fs::read_dir(&self.directory).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            // A file that is not a record, or has the name of another, was not written here and is ignored.
            if let Ok(record) = self.read(&path)
                && self.record(&record.path) == path
            {
                all.push(record);
            }
        }
        all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    /// Whether the directory exists. Fails if another user owns or can write it or its parent.
    fn exists(&self) -> Result<bool, TrustError> {
        for directory in self
            .directory
            .parent()
            .into_iter()
            .chain([&*self.directory])
        {
            let found = match Ownership::at(directory) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(TrustError::io(directory, &error)),
            };
            if !found.metadata().is_dir() {
                return Err(TrustError::new(directory, "it is not a directory"));
            }
            if let Some(other) = other_writer(&found) {
                let hint = match other {
                    OtherWriter::Owner => None,
                    OtherWriter::Mode => Some(match shell_path(directory) {
                        Some(name) => format!("run `chmod go-w {name}`"),
                        None => "remove the write permission of others".to_owned(),
                    }),
                };
                return Err(TrustError {
                    hint,
                    ..TrustError::new(directory, &format!("it {other}"))
                });
            }
        }
        Ok(true)
    }

    /// The path of the record for a policy.
    fn record(&self, policy: &Path) -> PathBuf {
        self.directory.join(sha256(policy.as_os_str().as_bytes()))
    }

    fn read(&self, record: &Path) -> io::Result<TrustedPolicy> {
        use rustix::fs::OFlags;
        // Follow no link, and do not block on a FIFO.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(record)?;
        let found = Ownership::of(&file)?;
        if !found.metadata().is_file() || other_writer(&found).is_some() {
            return Err(io::Error::other(
                "it is not a file that only its owner may write",
            ));
        }
        let mut bytes = Vec::new();
        file.take(MAX_RECORD_BYTES).read_to_end(&mut bytes)?;
        serde_json::from_slice(&bytes).map_err(|_| io::Error::other("the record is damaged"))
    }
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
