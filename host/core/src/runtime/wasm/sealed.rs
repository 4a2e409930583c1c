//! Places that no script may write, whatever directory it was granted.
//!
//! A workspace may contain the skill itself (`--workspace .`), the audit log, the policy or the
//! cache of compiled code (`--workspace ~`). A preopened directory would hand those over with the
//! rest, and a script that rewrites the cache runs native code next time. So a writable mount that
//! overlaps a sealed place resolves every name it is about to change and compares where it really
//! is. Mounts that overlap none, which is nearly all, pay nothing.

use std::path::{Path, PathBuf};

/// Places that no script may write.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sealed {
    places: Vec<PathBuf>,
    /// A workspace inside the skill is writable although the skill is not.
    except: Option<PathBuf>,
}

impl Sealed {
    /// Seals `places`; `except` stays writable although a place around it is sealed.
    pub(crate) fn new(places: impl IntoIterator<Item = PathBuf>, except: Option<PathBuf>) -> Self {
        let places = places.into_iter().map(|place| resolved(&place)).collect();
        Self { places, except }
    }

    /// Whether a mount of `folder` could reach a sealed place.
    pub(crate) fn overlaps(&self, folder: &Path) -> bool {
        self.covers(folder) || self.carried_by(folder)
    }

    /// Whether `path`, fully resolved, must not be written.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.places
            .iter()
            .any(|place| path.starts_with(place) && !self.excepted(place, path))
    }

    fn excepted(&self, place: &Path, path: &Path) -> bool {
        let inner = self
            .except
            .as_ref()
            .filter(|inner| *inner != place && inner.starts_with(place));
        inner.is_some_and(|inner| path.starts_with(inner))
    }

    /// Whether moving or removing `path` would move or remove a sealed place.
    pub(crate) fn carried_by(&self, path: &Path) -> bool {
        self.places.iter().any(|place| place.starts_with(path))
    }
}

/// The real path of a place that may not be there yet: what is there of it is resolved, so that a
/// link above a policy that nobody has written so far does not hide it.
fn resolved(place: &Path) -> PathBuf {
    place
        .ancestors()
        .find_map(|there| {
            let rest = place.strip_prefix(there).ok()?;
            Some(there.canonicalize().ok()?.join(rest))
        })
        .unwrap_or_else(|| place.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(places: &[&str], except: Option<&str>) -> Sealed {
        Sealed::new(places.iter().map(PathBuf::from), except.map(PathBuf::from))
    }

    #[test]
    fn what_lies_in_a_sealed_place_is_covered_and_its_neighbours_are_not() {
        let sealed = sealed(&["/no/w/skills/x"], None);
        for (path, covered) in [
            ("/no/w/skills/x", true),
            ("/no/w/skills/x/SKILL.md", true),
            ("/no/w/skills/xy", false),
            ("/no/w/skills", false),
        ] {
            assert_eq!(sealed.covers(path.as_ref()), covered, "{path}");
        }
        assert!(sealed.carried_by("/no/w/skills".as_ref()));
        assert!(!sealed.carried_by("/no/w/other".as_ref()));
        assert!(sealed.overlaps("/no/w".as_ref()));
        assert!(!sealed.overlaps("/no/v".as_ref()));
    }

    #[test]
    fn a_workspace_inside_the_skill_stays_writable() {
        let sealed = sealed(&["/no/skill"], Some("/no/skill/work"));
        assert!(!sealed.overlaps("/no/skill/work".as_ref()));
        assert!(!sealed.covers("/no/skill/work/a".as_ref()));
        assert!(sealed.covers("/no/skill/scripts/a".as_ref()));
    }
}
