//! Places that no script may write, whatever directory it was granted.
//!
//! A workspace may contain the skill itself (`--workspace .`), the audit log, the policy or the
//! cache of compiled code (`--workspace ~`). A preopened directory would hand those over with the
//! rest, and a script that rewrites the cache runs native code next time. So a writable mount that
//! overlaps a sealed place resolves every name it is about to change and compares where it really
//! is. Mounts that overlap none, which is nearly all, pay nothing.
//!
//! A place need not exist. Then the script may create the directories around it, for other files, and not
//! the place itself, nor a link or another directory in the place of one of those around it.

use crate::decision::{Mount, Permit};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Places that no script may write.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sealed {
    places: Vec<PathBuf>,
    /// Links on the way to a place: another in their stead would lead elsewhere.
    links: Vec<PathBuf>,
    /// A workspace inside the skill is writable although the skill is not, and a skill that was granted for
    /// writing although the directory of skills around it is protected.
    except: Vec<PathBuf>,
}

impl Sealed {
    /// Seals `places`; `except` stays writable although a place around it is sealed.
    pub(crate) fn new(
        places: impl IntoIterator<Item = PathBuf>,
        except: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        let mut links = Vec::new();
        let places = places.into_iter();
        let places = places.map(|place| resolved(&place, &mut links)).collect();
        let except = except.into_iter().collect();
        Self {
            places,
            links,
            except,
        }
    }

    /// What is sealed in one run: `places`, and the skill itself unless it may be written.
    pub(crate) fn of(permit: &Permit, places: &[PathBuf]) -> Self {
        let is_workspace = |mount: &&Mount| Some(&mount.guest) == permit.workspace.as_ref();
        let workspace = permit.mounts.iter().find(is_workspace);
        let skill = permit.skill_mount();
        let host = |mount: &Mount| mount.host.clone();
        let own = skill.filter(|skill| !skill.writable).map(host);
        let writable = skill.filter(|skill| skill.writable);
        let except = workspace.into_iter().chain(writable).map(host);
        Self::new(places.iter().cloned().chain(own), except)
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
        let mut inner = self.except.iter();
        inner.any(|inner| inner != place && inner.starts_with(place) && path.starts_with(inner))
    }

    /// The sealed places that lie in `folder`.
    pub(crate) fn places_in(&self, folder: &Path) -> impl Iterator<Item = &Path> {
        let places = self.places.iter().map(PathBuf::as_path);
        places.filter(move |place| *place != folder && place.starts_with(folder))
    }

    /// The links that lead to sealed places and lie in `folder`.
    pub(crate) fn links_in(&self, folder: &Path) -> impl Iterator<Item = &Path> {
        let links = self.links.iter().map(PathBuf::as_path);
        links.filter(move |link| link.starts_with(folder))
    }

    /// Whether moving, removing or replacing `path` would do the same to a sealed place.
    pub(crate) fn carried_by(&self, path: &Path) -> bool {
        let mut all = self.places.iter().chain(&self.links);
        all.any(|place| place.starts_with(path))
    }
}

/// The real path of a place that may not exist.
pub(crate) fn real(place: &Path) -> PathBuf {
    resolved(place, &mut Vec::new())
}

/// The kernel follows no more than these.
const MAX_LINKS: usize = 40;

/// The real path of a place that may not be there yet, also behind links that lead to nothing so
/// far; each link on the way is noted where it really is.
fn resolved(place: &Path, links: &mut Vec<PathBuf>) -> PathBuf {
    let place = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    let mut rest: Vec<OsString> = names(&place).collect();
    let (mut real, mut followed) = (PathBuf::from("/"), 0);
    while let Some(name) = rest.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        real.push(&name);
        if followed < MAX_LINKS
            && let Ok(target) = real.read_link()
        {
            followed += 1;
            links.push(real.clone());
            match target.is_absolute() {
                true => real = PathBuf::from("/"),
                false => drop(real.pop()),
            }
            rest.extend(names(&target));
        }
    }
    real
}

/// The names of a path, the last one first.
fn names(path: &Path) -> impl Iterator<Item = OsString> {
    let parts = path.components().rev();
    parts.filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
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
        let sealed = sealed(&["/no/skill"], Some("/no/skill/out"));
        assert!(!sealed.overlaps("/no/skill/out".as_ref()));
        assert!(!sealed.covers("/no/skill/out/a".as_ref()));
        assert!(sealed.covers("/no/skill/scripts/a".as_ref()));
    }

    #[test]
    fn a_link_on_the_way_to_a_sealed_place_stays_and_so_does_its_missing_target() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("elsewhere", top.join(".cache")).unwrap();
        let sealed = Sealed::new([top.join(".cache/skillrun")], None);
        assert!(sealed.overlaps(&top));
        assert!(sealed.carried_by(&top.join(".cache")));
        assert!(sealed.carried_by(&top.join("elsewhere")));
        assert!(sealed.covers(&top.join("elsewhere/skillrun/x")));
        assert!(!sealed.carried_by(&top.join("other")));
    }
}
