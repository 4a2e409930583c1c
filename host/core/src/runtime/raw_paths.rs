//! Paths as bytes, for serde: as text, a path that is not UTF-8 would be an error.

use serde::{Deserialize, Deserializer, Serialize as _, Serializer};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn path(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

/// A path.
pub(crate) mod one {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Path, to: S) -> Result<S::Ok, S::Error> {
        bytes(value).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Vec::deserialize(from).map(path)
    }
}

/// A path, or none.
pub(crate) mod maybe {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_deref().map(bytes).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Option::<Vec<u8>>::deserialize(from).map(|bytes| bytes.map(path))
    }
}

/// Two paths, or none.
pub(crate) mod pair {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<(PathBuf, PathBuf)>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let value = value.as_ref();
        value.map(|(a, b)| (bytes(a), bytes(b))).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<(PathBuf, PathBuf)>, D::Error> {
        let pair = Option::<(Vec<u8>, Vec<u8>)>::deserialize(from)?;
        Ok(pair.map(|(a, b)| (path(a), path(b))))
    }
}

/// Any number of paths.
pub(crate) mod many {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        value: &BTreeSet<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(value.iter().map(|path| bytes(path)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeSet<PathBuf>, D::Error> {
        let all = Vec::<Vec<u8>>::deserialize(from)?;
        Ok(all.into_iter().map(path).collect())
    }
}
