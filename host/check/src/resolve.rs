//! Resolves imports: from the skill, the standard library, a package, or nowhere.

use super::facts::{Facts, Imported};
use super::modules::{self, Availability};
use cap_std::fs::Dir;
use skillrun_skill::{Language, Script};
use std::path::{Component, Path, PathBuf};

/// Something a script imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The module, as the script names it.
    pub name: String,
    /// The line of the first import.
    pub line: usize,
    /// Where it comes from.
    pub state: Resolved,
    /// Whether the script handles its absence.
    pub optional: bool,
    /// Why it is limited or absent, if it is.
    pub why: Option<String>,
}

/// Where an import comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolved {
    /// The standard library.
    Library,
    /// The standard library, but using some of it is an error.
    Limited,
    /// A file of the skill.
    Skill,
    /// A package that the skill contains.
    Package,
    /// The standard library has it, but the sandbox does not.
    Absent,
    /// A package that needs native code.
    Native,
    /// Nowhere.
    Missing,
}

impl Resolved {
    /// Its name in every output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Limited => "limited",
            Self::Skill => "skill",
            Self::Package => "package",
            Self::Absent => "absent",
            Self::Native => "native",
            Self::Missing => "missing",
        }
    }
}

/// Where a script's imports are resolved.
pub(super) struct Context<'a> {
    pub(super) root: &'a Dir,
    pub(super) scripts: &'a [Script],
    pub(super) folder: &'a Path,
    pub(super) facts: &'a Facts,
}

impl Context<'_> {
    fn is_file(&self, path: &Path) -> bool {
        let plain = inside(path);
        plain.is_some_and(|path| self.root.metadata(path).is_ok_and(|meta| meta.is_file()))
    }

    fn is_dir(&self, path: &Path) -> bool {
        let plain = inside(path);
        plain.is_some_and(|path| self.root.metadata(path).is_ok_and(|meta| meta.is_dir()))
    }

    /// Resolves a Python module.
    pub(super) fn python(&self, import: &Imported) -> Import {
        let bare = import.name.trim_start_matches('.');
        let dots = import.name.len() - bare.len();
        let top = bare.split('.').next().unwrap_or_default();
        let mut folder = self.folder.to_owned();
        for _ in 1..dots {
            folder.push("..");
        }
        let plain = !top.is_empty() && top.chars().all(|c| c.is_alphanumeric() || c == '_');
        let beside = |folder: &Path| {
            let module = folder.join(top);
            plain && (self.is_file(&module.with_extension("py")) || self.is_dir(&module))
        };
        if beside(&folder) {
            return import_from(import, Resolved::Skill, None);
        }
        if dots > 0 {
            // `from . import x` may also name what `__init__.py` defines.
            let defined = self.is_file(&folder.join("__init__.py"));
            let state = if defined {
                Resolved::Skill
            } else {
                Resolved::Missing
            };
            return import_from(import, state, None);
        }
        match modules::python(bare) {
            Some(Availability::Complete) => return import_from(import, Resolved::Library, None),
            Some(Availability::Limited(why)) => {
                return import_from(import, Resolved::Limited, Some(why));
            }
            Some(Availability::Absent(why)) => {
                return import_from(import, Resolved::Absent, Some(why));
            }
            None => {}
        }
        // A script that changes the search path may find the module anywhere in the skill.
        let anywhere = |script: &Script| {
            script.language() == Language::Python
                && (script.name() == top
                    || script
                        .path()
                        .split('/')
                        .rev()
                        .skip(1)
                        .any(|part| part == top))
        };
        if self.facts.changes_search_path && self.scripts.iter().any(anywhere) {
            return import_from(import, Resolved::Skill, None);
        }
        let state = match modules::is_native_python(top) {
            true => Resolved::Native,
            false => Resolved::Missing,
        };
        import_from(import, state, None)
    }

    /// Resolves a JavaScript module.
    pub(super) fn javascript(&self, import: &Imported) -> Import {
        let name = import.name.as_str();
        if name.starts_with("./") || name.starts_with("../") || name == "." || name == ".." {
            let state = match self.module(&self.folder.join(name)) {
                true => Resolved::Skill,
                false => Resolved::Missing,
            };
            return import_from(import, state, None);
        }
        // The package's own `imports` map, and a module that is contained in its URL.
        if name.starts_with('#') || name.starts_with("data:") {
            return import_from(import, Resolved::Skill, None);
        }
        let uses = |word: &str| self.facts.identifiers.contains(word);
        match modules::node(name, uses) {
            Some(Availability::Complete) => return import_from(import, Resolved::Library, None),
            Some(Availability::Limited(why)) => {
                return import_from(import, Resolved::Limited, Some(why));
            }
            Some(Availability::Absent(why)) => {
                return import_from(import, Resolved::Absent, Some(why));
            }
            None => {}
        }
        let parts = if name.starts_with('@') { 2 } else { 1 };
        let package: Vec<&str> = name.split('/').take(parts).collect();
        let package = package.join("/");
        let mut folder = Some(self.folder);
        while let Some(at) = folder {
            let directory = at.join("node_modules").join(&package);
            if self.is_dir(&directory) {
                let native = self.is_file(&directory.join("binding.gyp"))
                    || modules::is_native_npm(&package);
                let state = if native {
                    Resolved::Native
                } else {
                    Resolved::Package
                };
                return import_from(import, state, None);
            }
            folder = at.parent();
        }
        let state = match modules::is_native_npm(&package) {
            true => Resolved::Native,
            false => Resolved::Missing,
        };
        import_from(import, state, None)
    }

    /// Whether a path leads to a module: exactly, with an extension, or as a directory.
    fn module(&self, path: &Path) -> bool {
        let extensions = ["js", "json", "cjs", "ts", "cts", "mts", "mjs"];
        let with = |path: &Path, extension: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(".");
            name.push(extension);
            PathBuf::from(name)
        };
        // In TypeScript, `x.js` names the output of `x.ts`.
        let compiled = match path.extension().and_then(|extension| extension.to_str()) {
            Some("js") => Some("ts"),
            Some("mjs") => Some("mts"),
            Some("cjs") => Some("cts"),
            _ => None,
        };
        self.is_file(path)
            || extensions
                .iter()
                .any(|extension| self.is_file(&with(path, extension)))
            || compiled.is_some_and(|extension| self.is_file(&path.with_extension(extension)))
            || self.is_file(&path.join("package.json"))
            || extensions
                .iter()
                .any(|extension| self.is_file(&with(&path.join("index"), extension)))
    }
}

fn import_from(import: &Imported, state: Resolved, why: Option<String>) -> Import {
    Import {
        name: import.name.clone(),
        line: import.line,
        state,
        optional: import.optional,
        why: why.filter(|why| !why.is_empty()),
    }
}

/// A path without `.` and `..`, unless it leads out of the skill.
pub(super) fn inside(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => plain.push(part),
            Component::CurDir => {}
            Component::ParentDir if plain.pop() => {}
            _ => return None,
        }
    }
    (!plain.as_os_str().is_empty() && !path.as_os_str().as_encoded_bytes().contains(&0))
        .then_some(plain)
}
