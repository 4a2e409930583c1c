//! A skill: a folder with a `SKILL.md`, and the scripts in it.
//!
//! A skill that was given as bytes is in a private directory that its creator removes. That directory is never shown:
//! the path of such a skill is `memory:/NAME`, which no path of a file system equals.
//!
//! A skill is untrusted. Everything below its root is read through one directory handle, opened once
//! when the skill is loaded, so that neither a link nor a replaced folder leads elsewhere.
//! Loading is lenient, as in other agents: what can be repaired is a warning. Scripts are found on
//! first use and kept for the skill's lifetime.

use crate::allowed_tools::AllowedTools;
use crate::content::Content;
use crate::files;
use crate::front_matter::FrontMatter;
use crate::language::CustomLanguage;
use crate::script::{self, NoScript, Script};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use io_lifetimes::AsFilelike as _;
use io_lifetimes::views::FilelikeView;
use std::any::Any;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What published skills write for their own folder.
pub const BASE_DIRECTORIES: [&str; 10] = [
    "{baseDir}/",
    "${baseDir}/",
    "${CLAUDE_SKILL_DIR}/",
    "$CLAUDE_SKILL_DIR/",
    "${SKILL_BASE_DIR}/",
    "$SKILL_BASE_DIR/",
    "${SKILL_DIR}/",
    "$SKILL_DIR/",
    "{skill_dir}/",
    "{SKILL_DIR}/",
];

/// The agentskills.io fields, and `version`, which other agents read as well.
const FIELDS: [&str; 7] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "version",
];
/// Bytes of a `SKILL.md`. Instructions are for a model's context, which they would fill at a megabyte.
pub const MAX_SKILL_MD: u64 = 1024 * 1024;

/// Where skills are that were given as bytes. No real path is relative.
const MEMORY: &str = "memory:/";
/// Bytes of a name, as for a folder.
const MAX_NAME: usize = 255;

/// A loaded skill.
#[derive(Debug)]
pub struct Skill {
    path: PathBuf,
    /// Shared with the permits of its scripts, so that these need no descriptors of their own.
    root: Arc<File>,
    /// The device and inode of the root.
    identity: (u64, u64),
    /// Where its files are, if they were given as bytes.
    private: Option<PrivateDirectory>,
    name: String,
    description: String,
    front_matter: FrontMatter,
    document: String,
    /// Where the instructions begin in the document.
    body: usize,
    allowed_tools: Option<AllowedTools>,
    scripts: OnceLock<Vec<Script>>,
    /// Languages that an embedding program adds.
    languages: &'static [CustomLanguage],
    warnings: Vec<String>,
    /// The name by which it was found, if its folder has another: the name of a link, or the one in `SKILL.md`.
    pub(crate) found_as: Option<String>,
    /// The skills that it shadows.
    pub(crate) shadowed: Vec<PathBuf>,
}

/// A directory that only one skill or workspace uses.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct PrivateDirectory {
    /// The directory.
    pub root: Arc<File>,
    /// Its real path.
    pub path: PathBuf,
    /// The tenant that the files belong to; `None` for the operator's.
    pub tenant: Option<Arc<str>>,
    /// Removes the directory when the last clone is dropped.
    pub owner: Arc<dyn Any + Send + Sync>,
}

impl PrivateDirectory {
    /// The directory, to open what is in it.
    pub fn dir(&self) -> FilelikeView<'_, Dir> {
        self.root.as_filelike_view()
    }
}

/// Why a folder is not a skill that can be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// No skill of this name.
    #[error("skill `{}` not found", files::show(name))]
    NotFound {
        /// The requested name.
        name: String,
        /// What to do about it.
        hint: String,
    },
    /// No folder has this name, and several skills have it in their `SKILL.md`.
    #[error(
        "skill `{}` is ambiguous: {} have that name in SKILL.md",
        files::show(name),
        listed(candidates)
    )]
    Ambiguous {
        /// The requested name.
        name: String,
        /// Their folders.
        candidates: Vec<PathBuf>,
    },
    /// The files of a skill that was given as bytes could not be written, because a disk is full for example. Another
    /// temporary directory (`TMPDIR`) may help.
    #[error(
        "cannot write the files of skill `{}` to `{}`: {why}",
        files::show(name),
        files::show(&directory.display().to_string())
    )]
    NotWritten {
        /// The name of the skill.
        name: String,
        /// The temporary directory.
        directory: PathBuf,
        /// Why.
        why: String,
    },
    /// The folder exists, but it is not a valid skill.
    #[error("`{}` is not a skill: {why}", files::show(&path.display().to_string()))]
    Invalid {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl Skill {
    /// Loads the skill in the folder `path`. Blocks: call it from a blocking thread, or `Host::load_skill` of `skillrun`.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SkillError> {
        Self::load_with(path, &[])
    }

    /// The same, where files in these languages are scripts too.
    pub fn load_with(
        path: impl AsRef<Path>,
        languages: &'static [CustomLanguage],
    ) -> Result<Self, SkillError> {
        let requested = path.as_ref();
        let (path, root) = open(requested)?;
        let mut skill = Self::of_root(requested, path, Arc::new(root.into_std_file()), languages)?;
        let entry = requested
            .file_name()
            .filter(|name| skill.path.file_name() != Some(name));
        skill.found_as = entry.and_then(|name| name.to_str()).map(str::to_owned);
        Ok(skill)
    }

    /// Reads the skill in an open folder. `requested` is its name in errors.
    fn of_root(
        requested: &Path,
        path: PathBuf,
        root: Arc<File>,
        languages: &'static [CustomLanguage],
    ) -> Result<Self, SkillError> {
        let invalid = |why: String| SkillError::Invalid {
            path: requested.to_owned(),
            why,
        };
        let stat =
            rustix::fs::fstat(&root).map_err(|error| invalid(files::plain(&error.into())))?;
        let document = read_skill_md(&root.as_filelike_view()).map_err(invalid)?;
        let (front_matter, body) =
            FrontMatter::parse(&document).map_err(|why| invalid(format!("SKILL.md: {why}")))?;
        let description = front_matter
            .text("description")
            .ok_or_else(|| invalid("SKILL.md: the front matter has no `description`".into()))?
            .to_owned();

        for field in ["name", "version"] {
            let value = front_matter.text(field).unwrap_or_default();
            if value.contains('\0') {
                return Err(invalid(format!(
                    "SKILL.md: the `{field}` contains a NUL byte"
                )));
            }
        }
        let folder = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let mut warnings = front_matter.warnings.clone();
        let name = match front_matter.text("name") {
            Some(name) => {
                if name != folder {
                    warnings.push(format!(
                        "the name `{}` differs from the folder `{}`",
                        files::show(name),
                        files::show(&folder)
                    ));
                }
                name.to_owned()
            }
            None => {
                warnings.push(format!(
                    "no `name`; the folder's name `{}` is used",
                    files::show(&folder)
                ));
                folder
            }
        };
        let unknown: Vec<_> = front_matter
            .names()
            .filter(|name| !FIELDS.contains(name))
            .map(files::show)
            .collect();
        if !unknown.is_empty() {
            warnings.push(format!(
                "fields not in the specification: {}",
                unknown.join(", ")
            ));
        }
        let allowed_tools = front_matter
            .get("allowed-tools")
            .and_then(AllowedTools::read);
        let body = document.len() - body.len();
        Ok(Self {
            path,
            root,
            identity: (stat.st_dev, stat.st_ino),
            private: None,
            name,
            description,
            front_matter,
            document,
            body,
            allowed_tools,
            scripts: OnceLock::new(),
            warnings,
            found_as: None,
            shadowed: Vec::new(),
            languages,
        })
    }

    /// The skill's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its folder. The operator chose it, while the name in `SKILL.md` is the skill's own claim.
    pub fn folder(&self) -> &str {
        self.path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
    }

    /// What it is for, in its own words.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its real, absolute path, or `memory:/NAME` if it was given as bytes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version, or the empty text.
    pub fn version(&self) -> &str {
        let matter = &self.front_matter;
        matter
            .text("version")
            .or_else(|| matter.nested_text("metadata", "version"))
            .unwrap_or_default()
    }

    /// Its front matter.
    pub fn front_matter(&self) -> &FrontMatter {
        &self.front_matter
    }

    /// The text that follows the front matter.
    pub fn instructions(&self) -> &str {
        &self.document[self.body..]
    }

    /// The whole `SKILL.md`.
    pub fn document(&self) -> &str {
        &self.document
    }

    /// The tools it allows itself; `None` restricts nothing.
    pub fn allowed_tools(&self) -> Option<&AllowedTools> {
        self.allowed_tools.as_ref()
    }

    /// Problems that were repaired on loading.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Its scripts: those in `scripts/` first, found on first use and kept. The first use blocks, unless a `Host` or a
    /// `Tenant` of `skillrun` has loaded the skill.
    pub fn scripts(&self) -> &[Script] {
        self.scripts
            .get_or_init(|| script::discover(&self.root(), self.directory(), self.languages))
    }

    /// A script's description of itself, at most 500 characters. Blocks: call it from a blocking thread.
    pub fn describe(&self, script: &Script) -> String {
        script.description(&self.root())
    }

    /// The names by which agents call the scripts, in the order of the scripts: `skill.script`, with the
    /// sub-path where two would be equal.
    pub fn tool_names(&self) -> Vec<String> {
        let below = |script: &Script| {
            let path = script.path().strip_prefix("scripts/");
            let path = Path::new(path.unwrap_or(script.path())).with_extension("");
            path.to_string_lossy().replace('/', ".")
        };
        let mut stems: HashMap<String, usize> = HashMap::new();
        let mut paths: HashMap<String, usize> = HashMap::new();
        for script in self.scripts() {
            *stems.entry(script.name().to_owned()).or_default() += 1;
            *paths.entry(below(script)).or_default() += 1;
        }
        let name = |script: &Script| match (stems.get(script.name()), below(script)) {
            (Some(1), _) => script.name().to_owned(),
            (_, path) if paths.get(&path) == Some(&1) => path,
            _ => script.path().replace(['/', '.'], "_"),
        };
        self.scripts()
            .iter()
            .map(|script| format!("{}.{}", self.name, name(script)))
            .collect()
    }

    /// The script with this path, file name or stem, if there is exactly one.
    pub fn script(&self, wanted: &str) -> Option<&Script> {
        script::lookup(self.scripts(), wanted).ok().flatten()
    }

    /// The hash of everything in its folder, for `digest` in a policy. Fails with the reason if the folder is too large
    /// or cannot be read. Blocks: call it from a blocking thread.
    pub fn digest(&self) -> Result<String, String> {
        let content = Content::of_folder(&self.root())?;
        Ok(format!("sha256:{}", content.hash()))
    }
}

/// For the other crates of skillrun. Not part of the interface: it may change with any commit.
#[doc(hidden)]
impl Skill {
    /// Loads the skill in a private directory, under a name that its caller chose. Fails as [`Skill::load`] does.
    pub fn in_private_directory(
        name: &str,
        private: PrivateDirectory,
        languages: &'static [CustomLanguage],
    ) -> Result<Self, SkillError> {
        let path = memory_path(name)?;
        let root = Arc::clone(&private.root);
        let mut skill = Self::of_root(&path, path.clone(), root, languages)?;
        skill.private = Some(private);
        Ok(skill)
    }

    /// Whether it was given as bytes.
    pub fn is_in_memory(&self) -> bool {
        self.private.is_some()
    }

    /// The tenant that gave it as bytes.
    pub fn tenant(&self) -> Option<&str> {
        self.private.as_ref()?.tenant.as_deref()
    }

    /// The directory with its files. It is [`Skill::path`], unless the skill was given as bytes.
    pub fn directory(&self) -> &Path {
        let private = self.private.as_ref();
        private.map_or(&self.path, |private| &private.path)
    }

    /// The names by which a policy may refer to it: its folder's name, and the name by which it was found.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.folder()).chain(self.found_as.as_deref())
    }

    /// The skills that it shadows, in search order.
    pub fn shadowed(&self) -> &[PathBuf] {
        &self.shadowed
    }

    /// The name of its document: `SKILL.md`, or `skill.md` if there is no `SKILL.md`.
    pub fn document_name(&self) -> &'static str {
        match self.root().metadata("SKILL.md") {
            Ok(_) => "SKILL.md",
            Err(_) => "skill.md",
        }
    }

    /// What instructions may write before a path inside the skill.
    pub fn prefixes(&self) -> Vec<String> {
        let mut prefixes = self.folder_prefixes();
        prefixes.extend(prefixes_of(self.name()));
        prefixes.extend(Self::base_prefixes());
        prefixes
    }

    /// Prefixes that name its folder.
    pub fn folder_prefixes(&self) -> Vec<String> {
        let own = self.path().to_str().map(|path| format!("{path}/"));
        let own = own.into_iter().chain(prefixes_of(self.folder()));
        own.filter(|prefix| prefix.len() > 1).collect()
    }

    /// Prefixes with the name in its `SKILL.md`.
    pub fn name_prefixes(&self) -> Vec<String> {
        prefixes_of(self.name()).collect()
    }

    /// Prefixes that stand for the folder of any skill.
    pub fn base_prefixes() -> impl Iterator<Item = String> {
        let bases = BASE_DIRECTORIES.into_iter().chain(["./"]);
        bases.map(str::to_owned)
    }

    /// The device and inode of its folder.
    pub fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// The handle through which everything in it is read.
    pub fn root(&self) -> FilelikeView<'_, Dir> {
        self.root.as_filelike_view()
    }

    /// The same, to share it.
    pub fn shared_root(&self) -> &Arc<File> {
        &self.root
    }

    /// The script that `wanted` names, or the reason why there is none.
    pub fn find_script(&self, wanted: &str) -> Result<&Script, NoScript> {
        script::find(self.scripts(), &self.root(), wanted)
    }
}

/// The path of a skill that was given as bytes. The name must be one that a folder could have: policies, approvals and
/// the audit log use it like the name of a folder.
#[doc(hidden)]
pub fn memory_path(name: &str) -> Result<PathBuf, SkillError> {
    let wrong = match name {
        "" => Some("is empty"),
        "." | ".." => Some("is not a name"),
        name if name.contains(['/', '\0']) => Some("contains `/` or a NUL byte"),
        name if name.len() > MAX_NAME => Some("is longer than 255 bytes"),
        _ => None,
    };
    match wrong {
        None => Ok(Path::new(MEMORY).join(name)),
        Some(why) => Err(SkillError::Invalid {
            path: PathBuf::from(name),
            why: format!("its name {why}"),
        }),
    }
}

fn listed(paths: &[PathBuf]) -> String {
    let all = paths.iter().map(|path| path.display().to_string());
    let all: Vec<String> = all
        .map(|path| format!("`{}`", files::show(&path)))
        .collect();
    all.join(", ")
}

/// The ways in which instructions write the folder of a skill of this name.
fn prefixes_of(name: &str) -> impl Iterator<Item = String> {
    let parents = ["./skills/", "skills/", "./", ""].into_iter();
    let parents = parents.filter(|_| !name.is_empty());
    parents.map(move |parent| format!("{parent}{name}/"))
}

/// The folder of a skill that was named by its `SKILL.md`. Any other path is returned as it is.
pub fn document_folder(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    match path.parent() {
        Some(parent) if name.eq_ignore_ascii_case("skill.md") && path.is_file() => {
            match parent.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => parent.to_owned(),
            }
        }
        _ => path.to_owned(),
    }
}

/// The real path of a skill's folder, and the handle through which it is read.
pub fn open(requested: &Path) -> Result<(PathBuf, Dir), SkillError> {
    let invalid = |why: String| SkillError::Invalid {
        path: requested.to_owned(),
        why,
    };
    let path = requested
        .canonicalize()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => SkillError::NotFound {
                name: requested.display().to_string(),
                hint: "check the path".into(),
            },
            _ => invalid(files::plain(&error)),
        })?;
    if !path.is_dir() {
        return Err(invalid(
            "it is a file; name the folder that contains SKILL.md".into(),
        ));
    }
    let root = Dir::open_ambient_dir(&path, ambient_authority())
        .map_err(|error| invalid(files::plain(&error)))?;
    Ok((path, root))
}

fn read_skill_md(root: &Dir) -> Result<String, String> {
    for name in ["SKILL.md", "skill.md"] {
        match files::read(root, Path::new(name), MAX_SKILL_MD) {
            Ok(bytes) => {
                return String::from_utf8(bytes).map_err(|_| "SKILL.md is not UTF-8 text".into());
            }
            Err(files::ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("SKILL.md {error}")),
        }
    }
    Err("it has no SKILL.md".into())
}
