//! What the operator allows, parsed strictly from `skillrun.toml`.
//!
//! The empty policy grants nothing beyond the default interpreters and limits. A skill can never
//! widen its own policy: the caller chooses the path of the file, and nothing inside a skill is read
//! as policy. An unknown key is an error, because a misspelt restriction would otherwise restrict nothing.
//!
//! A program can also make a policy from a [`Definition`], which has a field for every key of the file, and print any
//! policy as a file with [`Policy::to_toml`].

mod build;
mod definition;
mod effective;
mod error;
mod file;
pub(crate) mod machine;
mod overview;
mod section;
mod trust;
mod write;

pub use crate::refusal::Remedy;
pub use definition::{Definition, LimitRules, Rules, SkillRules};
pub use effective::EffectiveRules;
pub(crate) use effective::PolicyRules;
pub use error::PolicyError;
pub use overview::PolicyPart;
pub use trust::{Trust, TrustError, TrustedPolicies, TrustedPolicy};

use crate::files::{ReadError, show};
use crate::grant::Grant;
use crate::limits::Limits;
use section::{PROJECT_SKILL_DIRS, Section};
use std::path::{Path, PathBuf};

/// A path in a message.
fn shown(path: &Path) -> String {
    show(&path.display().to_string())
}

/// A policy is written by hand; a larger file is not a policy.
const MAX_BYTES: u64 = 1024 * 1024;

/// What the operator allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    source: Option<PathBuf>,
    /// Whether flags and other policies can only narrow it.
    enforce: bool,
    rules: Rules,
    /// The line of each grant in the file.
    lines: Written<Vec<usize>>,
    /// Sorted by their selectors.
    sections: Vec<Section>,
    /// The directories in which a section's bare name selects a skill.
    skill_dirs: Vec<PathBuf>,
    /// The home directory, for `~` in the path of a section.
    home: Option<PathBuf>,
    /// Grants that a person typed, for this run only.
    typed: Vec<Grant>,
    /// Policies that this one cannot widen.
    ceilings: Vec<Policy>,
}

/// Where something was written. It does not change what a policy means, so all places are equal.
#[derive(Debug, Clone, Default)]
struct Written<T>(T);

impl<T> PartialEq for Written<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Written<T> {}

/// When a person is asked. Typing a command counts as the person's approval, so only agent-facing
/// front ends ask, unless the policy is enforced. The later mode is the stricter one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ApprovalMode {
    /// Nobody is asked.
    Never,
    /// Before a script runs for the first time, and after its skill changed.
    #[default]
    FirstRun,
    /// Before each run.
    Always,
}

impl ApprovalMode {
    const ALL: [Self; 3] = [Self::Never, Self::FirstRun, Self::Always];

    /// Its name in a policy file.
    fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::FirstRun => "first-run",
            Self::Always => "always",
        }
    }
}

/// What happens to scripts that need an interpreter of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NativeMode {
    /// They do not run.
    Refuse,
    /// They run confined, as strictly as this machine can enforce.
    #[default]
    Confined,
    /// They run in namespaces of their own, or not at all.
    Namespaces,
}

impl NativeMode {
    const ALL: [Self; 3] = [Self::Refuse, Self::Confined, Self::Namespaces];

    /// The higher, the stricter.
    fn strictness(self) -> u8 {
        match self {
            Self::Confined => 0,
            Self::Namespaces => 1,
            Self::Refuse => 2,
        }
    }

    /// Its name in a policy file.
    fn word(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Confined => "confined",
            Self::Namespaces => "namespaces",
        }
    }
}

/// Whose runs may use the same process, one after the other, in the wasm tier. No process has two runs at the same time. The
/// later mode is the stricter one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WorkerMode {
    /// Those of all tenants whose policy says so. Between two runs the memory of the guest is reset; the process is the same.
    Shared,
    /// Those of one tenant.
    #[default]
    PerTenant,
    /// No others: each run has a process of its own.
    PerRun,
}

impl WorkerMode {
    const ALL: [Self; 3] = [Self::PerRun, Self::PerTenant, Self::Shared];

    /// Its name in a policy file.
    fn word(self) -> &'static str {
        match self {
            Self::PerRun => "per-run",
            Self::PerTenant => "per-tenant",
            Self::Shared => "shared",
        }
    }
}

impl Policy {
    /// The interpreters that are allowed by default.
    pub const INTERPRETERS: [&str; 3] = ["python3", "bash", "node"];

    /// Reads a policy file. Blocks: call it from a blocking thread.
    pub fn load(path: &Path) -> Result<Self, PolicyError> {
        PolicyFile::read(path)?.parse()
    }

    /// Parses a policy's text. Relative paths in it start at `base`, and bare names of sections select skills in the
    /// skill directories of the project there: see [`Policy::with_skill_dirs`].
    pub fn parse(text: &str, base: &Path) -> Result<Self, PolicyError> {
        let policy = file::parse(text, base)?;
        Ok(policy.with_skill_dirs(Self::project_skill_dirs(base)))
    }

    /// The directories in which the project at `base` has skills.
    pub fn project_skill_dirs(base: &Path) -> impl Iterator<Item = PathBuf> {
        PROJECT_SKILL_DIRS.into_iter().map(|dir| base.join(dir))
    }

    /// This policy with these directories as the only ones in which the bare name of a section selects a skill.
    #[must_use]
    pub fn with_skill_dirs(mut self, dirs: impl IntoIterator<Item = PathBuf>) -> Self {
        self.skill_dirs = dirs.into_iter().collect();
        self
    }

    /// This policy with a home directory for sections whose path begins with `~/`. Without one, a skill that such a
    /// section may be meant for is refused.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// The directories in which the bare name of a section selects a skill.
    pub fn skill_dirs(&self) -> &[PathBuf] {
        &self.skill_dirs
    }

    /// The file it was read from.
    pub fn source(&self) -> Option<&Path> {
        self.source.as_deref()
    }

    /// Whether it says `enforce = true`: flags and other policies can only narrow it.
    pub fn enforces(&self) -> bool {
        self.enforce
    }

    /// This policy below a ceiling: what `ceiling` does not allow is refused, whatever this policy says and a person types.
    /// Limits are the lower ones, approval and isolation the stricter ones. A key that the ceiling does not have restricts
    /// nothing, unless the ceiling says `enforce = true`: then it is a maximum as it stands, and grants only what it lists.
    ///
    /// ```
    /// # use skillrun::Policy;
    /// let ceiling = Policy::parse("native = \"refuse\"\n[limits]\ntime = \"10s\"", "/etc/agent".as_ref())?;
    /// let policy = Policy::parse("allow = [\"env:API_KEY\"]", "/home/ann".as_ref())?.bounded_by(ceiling);
    /// # Ok::<(), skillrun::policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn bounded_by(mut self, mut ceiling: Self) -> Self {
        let above = std::mem::take(&mut ceiling.ceilings);
        self.ceilings.push(ceiling);
        self.ceilings.extend(above);
        self
    }

    /// The policies that this one cannot widen.
    pub fn ceilings(&self) -> &[Self] {
        &self.ceilings
    }

    /// This policy with further grants, which a person typed. They do not count if it says `enforce = true`, and never
    /// for its ceilings.
    #[must_use]
    pub fn and_allow(mut self, grants: impl IntoIterator<Item = Grant>) -> Self {
        self.typed.extend(grants);
        self
    }

    /// This policy with limits that a person typed as the maximum, where the policy sets none itself. They do not count if
    /// it says `enforce = true`, and never for its ceilings.
    #[must_use]
    pub fn and_limits(mut self, typed: &Limits) -> Self {
        if self.enforce {
            return self;
        }
        let own = &mut self.rules.limits;
        own.time.get_or_insert(typed.time);
        own.fuel = own.fuel.or(typed.fuel);
        own.memory.get_or_insert(typed.memory);
        own.output.get_or_insert(typed.output);
        own.scratch.get_or_insert(typed.scratch);
        own.disk.get_or_insert(typed.disk);
        own.open_files.get_or_insert(typed.open_files);
        own.processes.get_or_insert(typed.processes);
        self
    }
}

/// The bytes of a policy file, read once: the bytes that are compared are those that are parsed.
#[derive(Debug, Clone)]
pub struct PolicyFile {
    /// The path as the caller passed it, for messages.
    named: PathBuf,
    /// The real path of its directory, joined with its name.
    path: PathBuf,
    is_link: bool,
    bytes: Vec<u8>,
}

impl PolicyFile {
    /// Reads a file of at most 1 MiB. A link must not lead out of its directory. Blocks: call it from a
    /// blocking thread.
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let fail = |why: String| PolicyError::new(why).in_file(path);
        let io = |error: std::io::Error| fail(crate::files::plain(&error));
        let directory = path
            .parent()
            .filter(|directory| !directory.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let name = path
            .file_name()
            .ok_or_else(|| fail("it is not a regular file".into()))?;
        let base = directory.canonicalize().map_err(io)?;
        let dir =
            cap_std::fs::Dir::open_ambient_dir(&base, cap_std::ambient_authority()).map_err(io)?;
        let is_link = dir.symlink_metadata(name).map_err(io)?.is_symlink();
        let bytes =
            crate::files::read(&dir, Path::new(name), MAX_BYTES).map_err(|error| match error {
                ReadError::Outside => fail("it is a link that leads out of its directory".into()),
                ReadError::Io(error) => io(error),
                other => fail(format!("it {other}")),
            })?;
        Ok(Self {
            named: path.to_owned(),
            path: base.join(name),
            is_link,
            bytes,
        })
    }

    /// Its absolute path, with links in its directory's path resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a link to another file of its directory.
    pub fn is_link(&self) -> bool {
        self.is_link
    }

    /// Its content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Parses it as the policy of its directory.
    pub fn parse(&self) -> Result<Policy, PolicyError> {
        let fail = |error: PolicyError| error.in_file(&self.named);
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|_| fail(PolicyError::new("it is not UTF-8 text")))?;
        let base = self.path.parent().unwrap_or(Path::new("/"));
        let mut policy = Policy::parse(text, base).map_err(fail)?;
        policy.source = Some(self.path.clone());
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project with skills of these names.
    fn project(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let skill = folder.path().join("skills").join(name);
            std::fs::create_dir_all(&skill).unwrap();
            std::fs::write(skill.join("SKILL.md"), "---\ndescription: d\n---\n").unwrap();
        }
        folder
    }

    fn policy(text: &str, project: &tempfile::TempDir) -> Policy {
        Policy::parse(text, project.path()).unwrap_or_else(|e| panic!("{e}"))
    }

    fn rules<'p>(
        policy: &'p Policy,
        project: &tempfile::TempDir,
        name: &str,
    ) -> EffectiveRules<'p> {
        let skill = crate::Skill::load(project.path().join("skills").join(name)).unwrap();
        policy.rules_for(&skill).unwrap()
    }

    #[test]
    fn the_empty_policy_grants_nothing() {
        let project = project(&["any"]);
        let empty = policy("", &project);
        for rules in [rules(&empty, &project, "any"), empty.rules_for_commands()] {
            assert_eq!(rules.grants().len(), 0);
            assert_eq!(rules.interpreters(), ["python3", "bash", "node"]);
            assert_eq!(rules.limits(), Limits::default());
        }
    }

    #[test]
    fn a_section_applies_only_to_its_skill() {
        let project = project(&["deploy", "other"]);
        let policy = policy(
            "interpreters = [\"python3\"]\nallow = [\"read:/base/data\"]\n[limits]\ntime = \"10s\"\n\
             [skill.deploy]\nallow = [\"net:*.example.com\", \"interpreter:ruby\"]\nlimits.time = \"60s\"\n",
            &project,
        );
        let wanted = "net:a.example.com".parse().unwrap();
        let (deploy, other) = (
            rules(&policy, &project, "deploy"),
            rules(&policy, &project, "other"),
        );
        assert!(deploy.allows(&wanted));
        assert!(!other.allows(&wanted));
        assert!(!policy.rules_for_commands().allows(&wanted));
        assert!(other.allows(&"read:/base/data/x".parse().unwrap()));
        assert_eq!(deploy.interpreters(), ["python3", "ruby"]);
        assert_eq!(other.interpreters(), ["python3"]);
        assert_eq!(deploy.limits().time.as_secs(), 60);
        assert_eq!(other.limits().time.as_secs(), 10);
    }

    #[test]
    fn a_section_can_narrow_and_widen_everything() {
        let project = project(&["a", "b", "c"]);
        let policy = policy(
            "native = \"namespaces\"\nallow = [\"net:*\"]\n\
             [skill.a]\ninherit = false\nallow = [\"read:/x\"]\napproval = \"always\"\nnative = \"refuse\"\nworkers = \"per-run\"\n\
             [skill.b]\ninherit = true\napproval = \"never\"\nworkers = \"shared\"\n",
            &project,
        );
        let [a, b, c] = ["a", "b", "c"].map(|name| rules(&policy, &project, name));
        let shown = |rules: EffectiveRules<'_>| {
            let all = rules.grants();
            all.iter().map(Grant::to_string).collect::<Vec<_>>()
        };
        assert_eq!(shown(a.clone()), ["read:/x"]);
        assert_eq!(shown(b.clone()), ["net:*"]);
        assert_eq!(a.approval(), ApprovalMode::Always);
        assert_eq!(b.approval(), ApprovalMode::Never);
        assert_eq!(c.approval(), ApprovalMode::FirstRun);
        assert_eq!(a.native(), NativeMode::Refuse);
        assert_eq!(c.native(), NativeMode::Namespaces);
        assert_eq!(a.workers(), WorkerMode::PerRun);
        assert_eq!(b.workers(), WorkerMode::Shared);
        assert_eq!(c.workers(), WorkerMode::PerTenant);
        let typed = policy.clone().and_allow(["env:X".parse().unwrap()]);
        assert!(rules(&typed, &project, "a").allows(&"env:X".parse().unwrap()));
    }

    #[test]
    fn without_a_home_directory_a_section_below_it_refuses_the_skill_that_it_may_mean() {
        let project = project(&["deploy", "other"]);
        let policy = policy(
            "[skill.\"~/skills/deploy\"]\napproval = \"never\"\n",
            &project,
        );
        let skill = |name: &str| crate::Skill::load(project.path().join("skills").join(name));
        let why = policy.rules_for(&skill("deploy").unwrap()).unwrap_err();
        let real = project.path().canonicalize().unwrap();
        assert_eq!(
            why.message,
            format!(
                "the policy's section `[skill.\"~/skills/deploy\"]` cannot be compared with the skill in `{}`: \
                 the home directory is unknown",
                real.join("skills/deploy").display()
            )
        );
        assert!(policy.rules_for(&skill("other").unwrap()).is_ok());
        let policy = policy.with_home(Some(project.path().to_owned()));
        let rules = policy.rules_for(&skill("deploy").unwrap()).unwrap();
        assert_eq!(rules.approval(), ApprovalMode::Never);
    }

    #[test]
    fn errors_name_the_line_the_column_and_the_nearest_valid_word() {
        for (text, why) in [
            (
                "\n  alow = []",
                "line 2, column 3: `alow` is not a key; did you mean `allow`?",
            ),
            (
                "x = 1",
                "line 1, column 1: `x` is not a key; expected one of enforce, interpreters, approval, native, workers, allow, limits, skill",
            ),
            (
                "[limits]\ntimeout = \"1s\"",
                "line 2, column 1: `timeout` is not a limit; expected one of time, fuel, memory, output, scratch, disk, open_files, processes",
            ),
            (
                "[skill.x]\nlimit.time = \"1s\"",
                "line 2, column 1: `limit` is not a key of a section; did you mean `limits`?",
            ),
            (
                "allow = [\n  \"native\",\n  \"raed:/x\",\n]",
                "line 3, column 3: `raed:/x` is not a grant: it starts with none of \
                 `read: write: net: env: run: interpreter: native`, did you mean `read:`?",
            ),
            (
                "allow = [\"interpreter:rubby\"]",
                "line 1, column 10: `rubby` is not an interpreter; did you mean `ruby`?",
            ),
            (
                "interpreters = [\"pyton3\"]",
                "line 1, column 17: `pyton3` is not an interpreter; did you mean `python3`?",
            ),
            (
                "[limits]\ntime = \"0s\"",
                "line 2, column 8: time `0s` is out of range: 1s to 600s",
            ),
            (
                "[skill.x.limits]\nmemory = \"1MiB\"",
                "line 2, column 10: memory `1MiB` is out of range: 64MiB to 4GiB",
            ),
            (
                "[limits]\nmemory = \"1 parsec\"",
                "line 2, column 10: `1 parsec` is not a size: write `256MiB`, `1GiB`, `10MB`",
            ),
            (
                "[limits]\nfuel = -1",
                "line 2, column 8: expected a whole number",
            ),
            (
                "approval = \"firstrun\"",
                "line 1, column 12: `firstrun` is not a value of `approval`; did you mean `first-run`?",
            ),
            (
                "workers = \"per-tennant\"",
                "line 1, column 11: `per-tennant` is not a value of `workers`; did you mean `per-tenant`?",
            ),
            (
                "[skill.x]\nworker = \"shared\"",
                "line 2, column 1: `worker` is not a key of a section; did you mean `workers`?",
            ),
            (
                "approval = 1",
                "line 1, column 12: expected one of never, first-run, always in quotes",
            ),
            (
                "allow = \"native\"",
                "line 1, column 9: `allow` is not a list",
            ),
            ("skill = 1", "line 1, column 9: `skill` is not a table"),
            (
                "[skill.\"\"]\nallow = []",
                "line 1, column 8: `` is neither the name nor the path of a skill's folder",
            ),
            (
                "[skill.\"~user/b\"]\nallow = []",
                "line 1, column 8: `~user/b` is neither the name nor the path of a skill's folder",
            ),
            (
                "[skill.x]\ndigest = \"sha256:12\"",
                "line 2, column 10: `sha256:12` is not a digest: expected `sha256:` and 64 lowercase hexadecimal digits, as `skillrun show` prints them",
            ),
            (
                "[skill.x]\ninherit = \"no\"",
                "line 2, column 11: `inherit` must be `true` or `false`",
            ),
            (
                "a = ",
                "line 1, column 5: string values must be quoted, expected literal string",
            ),
        ] {
            let error = Policy::parse(text, Path::new("/")).unwrap_err();
            assert_eq!(error.to_string(), why, "{text}");
        }
    }

    #[test]
    fn the_parts_of_an_error_can_be_read_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("skillrun.toml");
        std::fs::write(&file, "allow = [\"\u{e4}\", \"native\"]\n").unwrap();
        let error = Policy::load(&file).unwrap_err();
        assert_eq!(error.path(), Some(file.as_path()));
        assert_eq!((error.line(), error.column()), (Some(1), Some(10)));
        assert!(error.message().starts_with("`\u{e4}` is not a grant"));
        let shown = format!("policy `{}`: line 1, column 10: `\u{e4}`", file.display());
        assert!(error.to_string().starts_with(&shown), "{error}");
        // A file that cannot be read has no position, and a text no file.
        let missing = Policy::load(&folder.path().join("none.toml")).unwrap_err();
        assert_eq!((missing.line(), missing.column()), (None, None));
        assert_eq!(missing.message(), "no such file or directory");
        let text = Policy::parse("inherit = false", Path::new("/")).unwrap_err();
        assert_eq!((text.path(), text.line()), (None, Some(1)));
        assert_eq!(
            text.message(),
            "`inherit` applies to one skill, not to every skill"
        );
        assert_eq!(
            text.hint(),
            Some("write it under the header of a section, as in [skill.deploy]")
        );
    }
}
