//! Finding skills by name.
//!
//! The folders are searched in a fixed order and the first match wins. The caller chooses the folders:
//! a front end adds the user's usual ones, a server passes its own.

use super::{Skill, SkillError};
use crate::text::shell_word;
use crate::{files, suggest};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders that contain skills, in search order. Everything that searches them blocks: call it from a blocking thread.
#[derive(Debug, Clone, Default)]
pub struct Library {
    folders: Vec<PathBuf>,
}

/// A skill that was found, and those of the same name that it shadows.
#[derive(Debug)]
pub struct Found {
    /// The skill.
    pub skill: Arc<Skill>,
    /// Folders of the same name later in the search order.
    pub shadowed: Vec<PathBuf>,
    /// Whether no folder has the requested name, and the skill was found by the name in its `SKILL.md`.
    pub by_front_matter: bool,
}

impl Found {
    fn new(mut skill: Skill, shadowed: Vec<PathBuf>) -> Self {
        skill.shadowed.clone_from(&shadowed);
        Self {
            skill: Arc::new(skill),
            shadowed,
            by_front_matter: false,
        }
    }
}

/// A folder that looks like a skill but could not be loaded.
#[derive(Debug)]
pub struct Skipped {
    /// The folder.
    pub path: PathBuf,
    /// Why.
    pub why: SkillError,
}

impl Library {
    /// A library of these folders.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            folders: folders.into_iter().collect(),
        }
    }

    /// The folders that are searched.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The paths that decide what a name refers to: the folders and the links in them. A folder need not exist: whoever
    /// creates it decides. A skill in it may be a link to a folder elsewhere. The path through the link is among them, so
    /// that nobody replaces its target, or another link on the way, or creates the missing target of a dangling link.
    pub fn paths_to_protect(&self) -> Vec<PathBuf> {
        let with_links = |folder: &PathBuf| {
            let entries = folder.read_dir().into_iter().flatten().flatten();
            let links =
                entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
            let links: Vec<PathBuf> = links.map(|link| link.path()).collect();
            std::iter::once(folder.clone()).chain(links)
        };
        self.folders.iter().flat_map(with_links).collect()
    }

    /// Finds a skill by path (anything with a separator, `.` or `..`) or by name.
    pub fn find(&self, wanted: &str) -> Result<Found, SkillError> {
        match is_path(wanted) {
            true => Ok(Found::new(Skill::load(wanted)?, Vec::new())),
            false => self.find_by_name(wanted),
        }
    }

    /// Finds a skill in the folders by name only. A path is not found, wherever it leads.
    pub fn find_by_name(&self, wanted: &str) -> Result<Found, SkillError> {
        if is_path(wanted) {
            let hint = "give its name, not a path".to_owned();
            let name = wanted.to_owned();
            return Err(SkillError::NotFound { name, hint });
        }
        if !is_name(wanted) {
            return Err(self.not_found(wanted));
        }
        let mut folders = self
            .folders
            .iter()
            .map(|folder| folder.join(wanted))
            .filter(|path| path.is_dir());
        let path = match folders.next() {
            Some(path) => path,
            // A skill whose name differs from its folder can be found by both.
            None => return self.find_by_front_matter(wanted),
        };
        // The same folder may be searched under two names, such as `--skills ./skills`.
        let mut seen = vec![path.canonicalize().ok()];
        let is_new = |other: &PathBuf| {
            let real = other.canonicalize().ok();
            let is_new = !seen.contains(&real);
            seen.push(real);
            is_new
        };
        let shadowed = folders.filter(|other| contains_skill(other)).filter(is_new);
        let shadowed = shadowed.collect();
        Ok(Found::new(Skill::load(path)?, shadowed))
    }

    /// The folder that a path or a name refers to, whatever it contains. A name that no skill has may be a
    /// folder in the working directory.
    pub fn locate(&self, wanted: &str) -> Result<PathBuf, SkillError> {
        let path = Path::new(wanted);
        if is_path(wanted) {
            return match path.try_exists() {
                Ok(false) => Err(SkillError::NotFound {
                    name: wanted.to_owned(),
                    hint: "check the path".into(),
                }),
                _ => Ok(path.to_owned()),
            };
        }
        let mut folders = self.folders.iter().map(|folder| folder.join(wanted));
        match folders.find(|path| is_name(wanted) && path.is_dir()) {
            Some(path) => Ok(path),
            None => match self.find(wanted) {
                Ok(found) => Ok(found.skill.path().to_owned()),
                Err(_) if is_name(wanted) && path.exists() => Ok(path.to_owned()),
                Err(error) => Err(error),
            },
        }
    }

    /// Every folder that looks like a skill, sorted by name within each searched folder.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for folder in &self.folders {
            let Ok(entries) = folder.read_dir() else {
                continue;
            };
            let mut paths: Vec<_> = entries
                .filter_map(Result::ok)
                .map(|entry| entry.path())
                .filter(|path| contains_skill(path))
                .collect();
            paths.sort();
            all.extend(paths);
        }
        all
    }
    /// Every skill, sorted by name within each searched folder, and what had to be skipped.
    pub fn list(&self) -> (Vec<Arc<Skill>>, Vec<Skipped>) {
        let (mut skills, mut skipped) = (Vec::new(), Vec::new());
        for path in self.paths() {
            match Skill::load(&path) {
                Ok(skill) => skills.push(Arc::new(skill)),
                Err(why) => skipped.push(Skipped { path, why }),
            }
        }
        (skills, skipped)
    }

    fn find_by_front_matter(&self, wanted: &str) -> Result<Found, SkillError> {
        let all = self.paths().into_iter();
        let all = all.filter_map(|path| Skill::load(path).ok());
        let mut named = all.filter(|skill| skill.name() == wanted);
        let Some(mut skill) = named.next() else {
            return Err(self.not_found(wanted));
        };
        let others: Vec<Skill> = named.filter(|other| other.path() != skill.path()).collect();
        // A later folder of the same name is shadowed. Folders with different names are ambiguous.
        if others.iter().any(|other| other.folder() != skill.folder()) {
            let all = std::iter::once(&skill).chain(&others);
            return Err(SkillError::Ambiguous {
                name: wanted.to_owned(),
                candidates: all.map(|skill| skill.path().to_owned()).collect(),
            });
        }
        let shadowed = others.iter().map(|other| other.path().to_owned());
        let shadowed = shadowed.collect();
        skill.found_as = Some(wanted.to_owned());
        Ok(Found {
            by_front_matter: true,
            ..Found::new(skill, shadowed)
        })
    }

    fn not_found(&self, wanted: &str) -> SkillError {
        let paths = self.paths();
        let names: Vec<String> = paths
            .iter()
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect();
        let nearest = suggest::nearest(wanted, names.iter().map(String::as_str));
        // A skill whose name looks like an option is found by its path only.
        let nearest = nearest.filter(|name| !name.starts_with('-'));
        let hint = match nearest.and_then(shell_word) {
            Some(name) => format!("did you mean `{name}`?"),
            None if Path::new(wanted).join("SKILL.md").is_file() => {
                match shell_word(&format!("./{wanted}")) {
                    Some(path) => format!("to use the folder, give its path: `{path}`"),
                    None => "to use the folder, give its path".to_owned(),
                }
            }
            None if names.is_empty() => {
                let folders: Vec<_> = self
                    .folders
                    .iter()
                    .map(|f| f.display().to_string())
                    .collect();
                format!(
                    "no skills in {}; name a folder by path, or pass --skills DIR",
                    folders.join(", ")
                )
            }
            None => format!(
                "available skills: {}",
                names
                    .iter()
                    .map(|n| files::show(n))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        SkillError::NotFound {
            name: wanted.to_owned(),
            hint,
        }
    }
}

fn is_path(wanted: &str) -> bool {
    wanted.contains(['/', '\\']) || matches!(wanted, "." | "..")
}

fn is_name(wanted: &str) -> bool {
    !wanted.is_empty() && !wanted.contains('\0')
}

fn contains_skill(path: &Path) -> bool {
    path.join("SKILL.md").is_file() || path.join("skill.md").is_file()
}
