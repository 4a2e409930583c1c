//! Paths that no script may write, whatever directory it was granted.
//!
//! A workspace may contain the skill itself (`--workspace .`), the audit log, the policy or the
//! cache of compiled code (`--workspace ~`). A preopened directory would expose those with the
//! rest, and a script that rewrites the cache runs native code next time. So in a writable mount, every
//! name that is about to be changed is resolved and the real path compared. That is necessary for mounts that contain no
//! protected path, too: another run may move such a directory to where it does.
//!
//! A protected path need not exist. The script may then create its parent directories, for other files,
//! but not the path itself. Nor may it replace one of the parents by a link or another directory.
//!
//! A link on the way to a protected path may be gone a moment later: another run created it, and its supervisor moves it
//! aside. So both paths are protected, the one behind the link and the one that begins at its own name. Resolving the
//! paths again at each change was rejected: that costs system calls for every one of them, and a link could still
//! appear and vanish in between.
//!
//! What is mounted at several places is protected at each of them.
//!
//! There may be as many protected paths as a stranger's repository has links, and a change of a file costs a script no fuel. So
//! they are sorted, and a lookup costs a few comparisons.

use crate::plan::{Mount, Plan};
use crate::runtime::other_paths::MountTable;
use crate::runtime::raw_paths;
use crate::walk::Route;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// Paths that no script may write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProtectedPaths {
    #[serde(with = "raw_paths::many")]
    paths: BTreeSet<PathBuf>,
    /// Links on the way to a protected path: replacing one would make it lead elsewhere.
    #[serde(with = "raw_paths::many")]
    links: BTreeSet<PathBuf>,
    /// What is followed by `..` on the way to a protected path: a link in its place would make the path lead elsewhere.
    #[serde(with = "raw_paths::many")]
    before_parents: BTreeSet<PathBuf>,
    /// Paths that would be protected ones if a link on the way were a directory.
    #[serde(with = "raw_paths::many")]
    behind_links: BTreeSet<PathBuf>,
    /// Writable directories inside protected ones: a workspace inside the skill, and a skill that was granted
    /// for writing inside a protected directory of skills.
    #[serde(with = "raw_paths::many")]
    except: BTreeSet<PathBuf>,
    /// The skill that they are for. They are writable although it is protected, or a directory around it; a protected path
    /// inside the skill stays one, because it belongs to other skills.
    #[serde(with = "raw_paths::maybe")]
    skill: Option<PathBuf>,
}

impl ProtectedPaths {
    /// Protects `paths`.
    pub(crate) fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut all = Self::default();
        for path in paths {
            let route = Route::of(&path);
            // A parent directory of a link is protected with the link.
            let leads_to_link = |path: &PathBuf| {
                route
                    .links
                    .iter()
                    .any(|link| link.starts_with(path) && link != path)
            };
            let before_parents = route
                .before_parents
                .iter()
                .filter(|path| !leads_to_link(path));
            all.before_parents.extend(before_parents.cloned());
            all.paths.insert(route.real);
            all.links.extend(route.links);
            all.behind_links.extend(route.without_links);
        }
        all
    }

    /// What is protected in one run: `paths`, the skill directories of its tenant, and the skill itself unless it may be
    /// written.
    pub(crate) fn of(plan: &Plan, paths: &[PathBuf]) -> Self {
        let (workspace, skill) = (plan.workspace.as_ref(), plan.skill_mount.as_ref());
        let host = |mount: &Mount| mount.host.clone();
        let own = skill.filter(|skill| !skill.writable).map(host);
        let writable = skill.filter(|skill| skill.writable);
        // A workspace inside the running skill is writable, although the skill is not. Inside another protected path it
        // is as read-only as the rest of that path.
        let inner = workspace
            .filter(|workspace| skill.is_some_and(|skill| workspace.host.starts_with(&skill.host)));
        let except = inner.into_iter().chain(writable).map(host);
        let paths = paths.iter().chain(&plan.protected).cloned();
        Self {
            except: except.collect(),
            skill: skill.map(host),
            ..Self::new(paths.chain(own)).at_all_places(&MountTable::read())
        }
    }

    /// The same, at each place where the file systems of these paths are mounted.
    fn at_all_places(mut self, mounts: &MountTable) -> Self {
        for paths in [
            &mut self.paths,
            &mut self.links,
            &mut self.before_parents,
            &mut self.behind_links,
        ] {
            let others: Vec<PathBuf> = paths.iter().flat_map(|path| mounts.others(path)).collect();
            paths.extend(others);
        }
        self
    }

    /// Whether `path`, fully resolved, must not be written.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        let all = [&self.paths, &self.behind_links];
        path.ancestors().any(|around| {
            all.iter().any(|paths| paths.contains(around)) && !self.is_excepted(around, path)
        })
    }

    fn is_excepted(&self, protected: &Path, path: &Path) -> bool {
        let skill = self.skill.as_ref();
        let is_around_skill = skill.is_some_and(|skill| skill.starts_with(protected));
        let mut except = self.except.iter();
        is_around_skill
            && except.any(|inner| {
                inner != protected && inner.starts_with(protected) && path.starts_with(inner)
            })
    }

    /// The protected paths inside `directory`.
    pub(crate) fn paths_in<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = &'a Path> {
        inside(&self.paths, directory).filter(move |path| *path != directory)
    }

    /// The links inside `directory` that lead to protected paths.
    pub(crate) fn links_in<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = &'a Path> {
        inside(&self.links, directory)
    }

    /// A directory or a missing one inside `directory` that must not become a link, because `..` follows it on the way to a
    /// protected path.
    pub(crate) fn before_parent_in(&self, directory: &Path) -> Option<&Path> {
        let paths = self.before_parents.range::<Path, _>(from(directory));
        let mut inside = paths.take_while(|path| path.starts_with(directory));
        inside.find(|path| *path != directory).map(PathBuf::as_path)
    }

    /// Whether `path` is or contains a protected path, or something that decides where one leads: moving, removing or
    /// replacing `path` would affect that too.
    pub(crate) fn any_inside(&self, path: &Path) -> bool {
        let links = [&self.links, &self.before_parents];
        let mut all = [&self.paths, &self.behind_links].into_iter().chain(links);
        all.any(|paths| inside(paths, path).next().is_some())
    }
}

/// The paths that begin with `directory`. Sorted, they follow each other.
fn inside<'a>(paths: &'a BTreeSet<PathBuf>, directory: &'a Path) -> impl Iterator<Item = &'a Path> {
    let paths = paths.range::<Path, _>(from(directory));
    let paths = paths.map(PathBuf::as_path);
    paths.take_while(move |path| path.starts_with(directory))
}

fn from(path: &Path) -> (Bound<&Path>, Bound<&Path>) {
    (Bound::Included(path), Bound::Unbounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn protected(paths: &[&str]) -> ProtectedPaths {
        ProtectedPaths::new(paths.iter().map(PathBuf::from))
    }

    #[test]
    fn what_is_inside_a_protected_path_is_covered_and_its_siblings_are_not() {
        let protected = protected(&["/no/w/skills/x"]);
        for (path, covered) in [
            ("/no/w/skills/x", true),
            ("/no/w/skills/x/SKILL.md", true),
            ("/no/w/skills/xy", false),
            ("/no/w/skills", false),
        ] {
            assert_eq!(protected.covers(path.as_ref()), covered, "{path}");
        }
        assert!(protected.any_inside("/no/w/skills".as_ref()));
        assert!(!protected.any_inside("/no/w/other".as_ref()));
        assert!(protected.any_inside("/no/w".as_ref()));
        assert!(!protected.any_inside("/no/v".as_ref()));
    }

    fn any_path() -> impl Strategy<Value = PathBuf> {
        let name = prop::sample::select(vec!["a", "b", "a.b", "ab", "A", "c"]);
        let names = prop::collection::vec(name, 0..4);
        names.prop_map(|names| Path::new("/no").join(names.join("/")))
    }

    proptest! {
        #[test]
        fn a_lookup_finds_what_comparing_each_path_finds(
            paths in prop::collection::vec(any_path(), 0..12),
            wanted in any_path(),
        ) {
            let protected = ProtectedPaths::new(paths.iter().cloned());
            let inside = |path: &&PathBuf| path.starts_with(&wanted);
            let covers = paths.iter().any(|path| wanted.starts_with(path));
            prop_assert_eq!(protected.covers(&wanted), covers);
            prop_assert_eq!(protected.any_inside(&wanted), paths.iter().any(|path| inside(&path)));
            let below = paths.iter().filter(inside).filter(|path| **path != wanted);
            let below: BTreeSet<&Path> = below.map(PathBuf::as_path).collect();
            prop_assert!(protected.paths_in(&wanted).eq(below));
        }
    }

    #[test]
    fn a_workspace_inside_the_skill_stays_writable() {
        let protected = ProtectedPaths {
            except: ["/no/skill/out".into()].into(),
            skill: Some("/no/skill".into()),
            ..protected(&["/no/skill", "/no/skill/out/skills"])
        };
        assert!(!protected.covers("/no/skill/out/a".as_ref()));
        assert!(protected.covers("/no/skill/scripts/a".as_ref()));
        assert!(protected.covers("/no/skill/out/skills/a".as_ref()));
    }

    #[test]
    fn a_workspace_inside_the_skill_and_another_one_is_not_writable() {
        let all = protected(&["/no/skill/skills", "/no/skill"]);
        for (workspace, covered) in [("skills/other/out", true), ("out", false)] {
            let workspace = Path::new("/no/skill").join(workspace);
            let protected = ProtectedPaths {
                except: [workspace.clone()].into(),
                skill: Some("/no/skill".into()),
                ..all.clone()
            };
            assert_eq!(protected.covers(&workspace.join("a")), covered);
        }
    }

    #[test]
    fn a_link_to_a_protected_path_and_its_missing_target_are_protected() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("elsewhere", top.join(".cache")).unwrap();
        let protected = ProtectedPaths::new([top.join(".cache/skillrun")]);
        assert!(protected.any_inside(&top));
        assert!(protected.any_inside(&top.join(".cache")));
        assert!(protected.any_inside(&top.join("elsewhere")));
        assert!(protected.covers(&top.join("elsewhere/skillrun/x")));
        assert!(!protected.any_inside(&top.join("other")));
    }

    #[test]
    fn a_path_stays_protected_when_a_link_on_the_way_vanishes() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("x", top.join(".claude")).unwrap();
        std::os::unix::fs::symlink("../y", top.join("x")).unwrap();
        let protected = ProtectedPaths::new([top.join(".claude/skills")]);
        for (path, covered) in [
            (".claude/skills/evil", true),
            ("x/skills/evil", true),
            ("../y/skills/evil", true),
            (".claude/other", false),
            ("x/other", false),
        ] {
            let path = match path.strip_prefix("../") {
                Some(outer) => top.parent().unwrap().join(outer),
                None => top.join(path),
            };
            assert_eq!(protected.covers(&path), covered, "{}", path.display());
        }
    }

    #[test]
    fn what_a_parent_directory_is_taken_of_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("x/../y", top.join(".claude")).unwrap();
        std::fs::create_dir(top.join("a")).unwrap();
        std::os::unix::fs::symlink("../b", top.join("a/skills")).unwrap();
        let protected = ProtectedPaths::new([top.join(".claude/skills"), top.join("a/skills")]);
        assert!(protected.any_inside(&top.join("x")));
        assert!(!protected.covers(&top.join("x/file")));
        assert!(protected.any_inside(&top.join("y")));
        assert_eq!(
            protected.before_parent_in(&top),
            Some(top.join("x").as_path())
        );
        assert_eq!(protected.before_parent_in(&top.join("a")), None);
    }
}
