//! The model of a skill: a folder with a `SKILL.md`, its scripts, and the words for what a script may touch.
//!
//! A skill is untrusted. This crate only reads it, through one directory handle and up to fixed limits. It never runs,
//! writes or asks anything, and does not know about policies, sandboxes or terminals.
//!
//! `skillrun` runs skills and `skillrun-check` analyses them; both depend on this crate. It is separate from `skillrun` so
//! that the compiler keeps everything that runs out of the analysis.
//!
//! ```no_run
//! let skill = skillrun_skill::Skill::load("skills/word-count")?;
//! for script in skill.scripts() {
//!     println!("{}: {}", script.path(), skill.describe(script));
//! }
//! # Ok::<(), skillrun_skill::SkillError>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `text`, `suggest` | names in messages, the nearest word to a misspelt one |
//! | `files` | reading files that a skill's author controls |
//! | `grant` | one thing a script may touch |
//! | `file_map`, `archive` | files that are given as bytes, and tar archives of them |
//! | `front_matter`, `allowed_tools` | the fields of a `SKILL.md`, read leniently |
//! | `strict` | the same fields as the reference validator reads them |
//! | `language`, `describe`, `script` | the runnable files, what they are written in and what they say about themselves |
//! | `skill`, `content` | the folder, and the hash of everything in it |
//! | `library` | finding skills by name |
//! | `prompt` | the description of skills for a model |
//!
//! What is hidden from this documentation is public only for the other crates of skillrun. It is not part of the
//! interface and may change with any commit.

mod allowed_tools;
mod archive;
#[doc(hidden)]
pub mod content;
mod describe;
mod file_map;
#[doc(hidden)]
pub mod files;
mod front_matter;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod grant;
mod language;
mod library;
pub mod prompt;
mod script;
mod skill;
#[doc(hidden)]
pub mod strict;
#[doc(hidden)]
pub mod suggest;
pub mod text;
#[doc(hidden)]
pub mod utf8;

pub use allowed_tools::AllowedTools;
pub use file_map::{Bounds, FileMap, FileMapError};
pub use front_matter::{FrontMatter, Value};
#[doc(inline)]
pub use grant::{Grant, GrantError};
pub use language::{CustomLanguage, Language};
pub use library::{Found, Library, Skipped};
pub use script::Script;
#[doc(hidden)]
pub use script::{NoScript, OWN_VARIABLES, SKIPPED_FOLDERS, discover};
#[doc(hidden)]
pub use skill::{BASE_DIRECTORIES, MAX_SKILL_MD, PrivateDirectory, memory_path, open};
pub use skill::{Skill, SkillError, document_folder};
