//! The runnable files of a skill: how they are found, and how a name is matched to one.

use super::describe::describe;
use super::language::{CustomLanguage, Language};
use crate::files::{self, ReadError};
use cap_std::fs::Dir;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use walkdir::WalkDir;

/// Levels of directories below `scripts/` and below the skill's root.
const MAX_DEPTH: usize = 5;
/// Directory entries that are read. A skill with more is a mistake (a checked-in build tree).
const MAX_ENTRIES: usize = 20_000;
/// Bytes read for a description: enough for a licence header and a docstring.
const HEAD_BYTES: u64 = 16 * 1024;
/// Folders that contain third-party code, or no scripts.
pub const SKIPPED_FOLDERS: [&str; 4] = ["node_modules", ".git", "__pycache__", ".venv"];

/// Variables that a request may not set: those that every script has, and `PYTHONPATH`, which decides what a script
/// imports.
pub const OWN_VARIABLES: [&str; 10] = [
    "SKILL_NAME",
    "SKILL_BASE_DIR",
    "SKILL_VERSION",
    "SKILLKIT_VERSION",
    "SKILLRUN_VERSION",
    "HOME",
    "TMPDIR",
    "PATH",
    "LANG",
    "PYTHONPATH",
];

/// One runnable file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    path: String,
    language: Language,
}

impl Script {
    /// The file's name without its extension.
    pub fn name(&self) -> &str {
        Path::new(&self.path)
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or(&self.path)
    }

    /// The path, relative to the skill, with `/` between its parts.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The language it is written in.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The interpreter's name in policies and command lines.
    pub fn interpreter(&self) -> &'static str {
        self.language.interpreter()
    }

    fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The first comment block or docstring; empty if there is none or the file cannot be read.
    pub(crate) fn description(&self, root: &Dir) -> String {
        head(root, Path::new(&self.path))
            .map(|head| describe(self.language, &head))
            .unwrap_or_default()
    }
}

/// The scripts below `root`: those in `scripts/` first, then the others, each part in path order.
pub fn discover(root: &Dir, root_path: &Path, languages: &'static [CustomLanguage]) -> Vec<Script> {
    let mut found = walk(root, root_path, "scripts", languages);
    found.extend(walk(root, root_path, "", languages));
    found
}

fn walk(
    root: &Dir,
    root_path: &Path,
    below: &str,
    languages: &'static [CustomLanguage],
) -> Vec<Script> {
    // walkdir would follow a link at the top out of the skill; the directory handle does not.
    if root
        .open_dir(if below.is_empty() { "." } else { below })
        .is_err()
    {
        return Vec::new();
    }
    let top = root_path.join(below);
    let enter = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let own_pass = below.is_empty() && entry.depth() == 1 && name == "scripts";
        entry.depth() == 0
            || !entry.file_type().is_dir()
            || !(own_pass || SKIPPED_FOLDERS.contains(&name.as_ref()))
    };
    let mut found: Vec<Script> = WalkDir::new(&top)
        .max_depth(MAX_DEPTH)
        .into_iter()
        .filter_entry(enter)
        .take(MAX_ENTRIES)
        .filter_map(Result::ok)
        .filter_map(|entry| {
            // A link is followed through the directory handle, which does not leave the skill.
            let relative = entry
                .path()
                .strip_prefix(root_path)
                .ok()?
                .to_str()?
                .to_owned();
            let is_file = entry.file_type().is_file()
                || (entry.path_is_symlink()
                    && root.metadata(&relative).is_ok_and(|meta| meta.is_file()));
            if !is_file {
                return None;
            }
            let path = Path::new(&relative);
            let language = Language::of_custom_extension(path, languages);
            let language = language.or_else(|| language_of(root, path))?;
            Some(Script {
                path: relative,
                language,
            })
        })
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn language_of(root: &Dir, path: &Path) -> Option<Language> {
    if Language::is_jsx(path) {
        return None;
    }
    if path
        .extension()
        .is_some_and(|extension| !extension.is_empty())
    {
        // A file with an unknown extension may still have a `#!` line; documents and data do not.
        if let Some(language) = Language::of_extension(path) {
            return Some(language);
        }
        let data = [
            "md", "txt", "json", "yaml", "yml", "toml", "csv", "html", "css", "png", "jpg", "svg",
            "pdf", "xml", "xsd",
        ];
        let extension = path.extension()?.to_str()?;
        if data.contains(&extension) {
            return None;
        }
    }
    Language::of_shebang(&head(root, path).ok()?)
}

fn head(root: &Dir, path: &Path) -> Result<Vec<u8>, ReadError> {
    let mut head = Vec::new();
    files::open(root, path)?
        .0
        .take(HEAD_BYTES)
        .read_to_end(&mut head)?;
    Ok(head)
}

/// Why a name does not match a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoScript {
    /// No such file.
    Missing {
        /// The nearest name, if one is similar.
        nearest: Option<String>,
    },
    /// Several scripts match it.
    Ambiguous {
        /// Their paths.
        candidates: Vec<String>,
    },
    /// It leads out of the skill.
    Outside,
    /// The file exists, but it cannot run.
    Unfit {
        /// The file, by its path in the skill.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Finds the script that `wanted` names, or the reason why there is none. The reason is slow to find; it is for messages.
pub(crate) fn find<'a>(
    scripts: &'a [Script],
    root: &Dir,
    wanted: &str,
) -> Result<&'a Script, NoScript> {
    match lookup(scripts, wanted)? {
        Some(script) => Ok(script),
        None => Err(why_not(scripts, root, &plain_name(wanted)?)),
    }
}

/// The script that `wanted` names: by relative path, file name or stem.
pub(crate) fn lookup<'a>(
    scripts: &'a [Script],
    wanted: &str,
) -> Result<Option<&'a Script>, NoScript> {
    let plain = plain_name(wanted)?;
    if let Some(script) = scripts.iter().find(|script| script.path == plain) {
        return Ok(Some(script));
    }
    for matches in [
        scripts
            .iter()
            .filter(|s| s.file_name() == plain)
            .collect::<Vec<_>>(),
        scripts
            .iter()
            .filter(|s| s.name() == plain || s.path.strip_suffix(&extension(s)) == Some(&plain))
            .collect(),
    ] {
        match matches.as_slice() {
            [] => {}
            [script] => return Ok(Some(script)),
            several => {
                let candidates = several.iter().map(|script| script.path.clone()).collect();
                return Err(NoScript::Ambiguous { candidates });
            }
        }
    }
    Ok(None)
}

fn extension(script: &Script) -> String {
    Path::new(&script.path)
        .extension()
        .map(|e| format!(".{}", e.to_string_lossy()))
        .unwrap_or_default()
}

/// Normalises `./scripts/a.py` to `scripts/a.py`. Refuses absolute paths and `..`.
fn plain_name(wanted: &str) -> Result<String, NoScript> {
    let mut plain = PathBuf::new();
    for part in Path::new(wanted).components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            _ => return Err(NoScript::Outside),
        }
    }
    Ok(plain.to_string_lossy().into_owned())
}

fn why_not(scripts: &[Script], root: &Dir, plain: &str) -> NoScript {
    for path in [plain.to_owned(), format!("scripts/{plain}")] {
        if plain.is_empty() || plain.contains('\0') {
            break;
        }
        match root.metadata(&path).map_err(files::escape_or_io) {
            Err(ReadError::Outside) => return NoScript::Outside,
            Err(_) => continue,
            Ok(_) => {}
        }
        let why = match files::open(root, Path::new(&path)) {
            Err(error) => error.to_string(),
            Ok(_) if Language::is_jsx(Path::new(&path)) => {
                "is JSX, which no runtime supports: compile it to JavaScript, or rewrite it as .ts"
                    .into()
            }
            Ok(_) => {
                "is not a script: neither its extension nor a `#!` line names a known language"
                    .into()
            }
        };
        return NoScript::Unfit { path, why };
    }
    let names = scripts
        .iter()
        .flat_map(|script| [script.file_name(), script.path()]);
    let nearest = crate::suggest::nearest(plain, names).map(str::to_owned);
    NoScript::Missing { nearest }
}
