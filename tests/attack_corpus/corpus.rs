//! The scripts of a corpus: in skills, or as loose files.

use skillrun::Language;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Folders that contain third-party code.
const SKIPPED: [&str; 4] = ["node_modules", ".git", "__pycache__", ".venv"];
/// Replaces the SKILL.md of each script, so that nothing is refused because of the document.
const SKILL_MD: &str = "---\nname: skill\ndescription: A skill that is attacked with.\n---\n";

/// One script.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// Its name in the report.
    pub(crate) label: String,
    /// Its path in the skill that is run.
    pub(crate) path: String,
    pub(crate) language: Language,
    from: From,
}

#[derive(Debug, Clone)]
enum From {
    /// A folder with a `SKILL.md`.
    Skill(PathBuf),
    File(PathBuf),
    Source(String),
}

impl Script {
    /// A script by its source; its name has an extension.
    pub(crate) fn loose(name: &str, source: &str) -> Self {
        Self {
            label: name.to_owned(),
            path: format!("scripts/{name}"),
            language: Language::of_extension(Path::new(name)).unwrap_or(Language::Bash),
            from: From::Source(source.to_owned()),
        }
    }

    /// Writes the skill that is run, of at most `most` bytes.
    pub(super) fn copy_to(&self, to: &Path, most: u64) -> io::Result<()> {
        fs::create_dir_all(to.join("scripts"))?;
        match &self.from {
            From::Skill(folder) => copy(folder, to, &mut { most })?,
            From::File(file) => drop(fs::copy(file, to.join(&self.path))?),
            From::Source(source) => fs::write(to.join(&self.path), source)?,
        }
        let _ = fs::remove_file(to.join("skill.md"));
        let _ = fs::remove_file(to.join("SKILL.md"));
        fs::write(to.join("SKILL.md"), SKILL_MD)
    }
}

/// Every script below a folder, in the order of their paths.
pub(crate) fn scripts(corpus: &Path) -> io::Result<Vec<Script>> {
    let mut found = Vec::new();
    walk(corpus, corpus, None, &mut found)?;
    found.sort_by(|a, b| a.label.cmp(&b.label));
    Ok(found)
}

fn walk(
    corpus: &Path,
    folder: &Path,
    skill: Option<&Path>,
    found: &mut Vec<Script>,
) -> io::Result<()> {
    let is_skill = ["SKILL.md", "skill.md"]
        .iter()
        .any(|name| folder.join(name).is_file());
    let skill = if is_skill { Some(folder) } else { skill };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                walk(corpus, &path, skill, found)?;
            }
        } else if kind.is_file()
            && let Some(language) = language(&path)
        {
            let label = path.strip_prefix(corpus).unwrap_or(&path);
            let label = label.to_string_lossy().into_owned();
            let (inner, from) = match skill {
                Some(skill) => {
                    let inner = path.strip_prefix(skill).unwrap_or(&path);
                    (
                        inner.to_string_lossy().into_owned(),
                        From::Skill(skill.to_owned()),
                    )
                }
                None => {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    (format!("scripts/{name}"), From::File(path.clone()))
                }
            };
            found.push(Script {
                label,
                path: inner,
                language,
                from,
            });
        }
    }
    Ok(())
}

/// The language, if something here can run it.
fn language(path: &Path) -> Option<Language> {
    let mut head = [0; 256];
    let language = Language::of_extension(path).or_else(|| {
        let read = fs::File::open(path).and_then(|mut file| file.read(&mut head));
        Language::of_shebang(&head[..read.unwrap_or(0)])
    });
    language.filter(|language| !matches!(language, Language::PowerShell | Language::Batch))
}

/// Copies a tree with its links unchanged; anything that is not a file, folder or link is skipped.
fn copy(from: &Path, to: &Path, left: &mut u64) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(source)?, target)?;
        } else if kind.is_dir() {
            if !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                copy(&source, &target, left)?;
            }
        } else if kind.is_file() {
            let size = entry.metadata()?.len();
            if size <= *left {
                *left -= size;
                fs::copy(source, target)?;
            }
        }
    }
    Ok(())
}
