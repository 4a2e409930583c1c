//! Decides whether a request may run.
//!
//! The checks run in the order that `docs/policy.md` lists, and the first that fails is the refusal. A
//! [`Permit`] is created here and nowhere else. It contains everything a run needs, already opened and
//! read, so that what was checked is what runs: directories are handles, the script is its bytes.

mod command;
mod mounts;
mod refusal;
pub(crate) mod request;
mod script;

pub(crate) use mounts::Mount;
pub use refusal::{Check, Refusal};
pub(crate) use skillrun_skill::text::hex;

use crate::approval::Question;
use crate::audit::RunInfo;
use crate::files::show;
use crate::grant::Grant;
use crate::limits::Limits;
use crate::policy::{ApprovalMode, NativeMode, Policy};
use crate::request::{COMMANDS, Request, Target, Tier};
use crate::skill::{Language, Script, Skill};
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The decision about a request.
#[derive(Debug)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "created once per run and moved once, straight into it"
)]
pub enum Decision {
    /// It may run.
    Permitted(Permit),
    /// It may run if a person approves it: see [`crate::Host::answer`].
    Pending(Box<Question>),
    /// It may not run, and nothing ran.
    Refused(Refusal),
}

/// The right to one run. Only a decision under a [`Policy`] creates one.
///
/// ```compile_fail
/// let permit = skillrun::Permit { run_id: "mine".into(), ..todo!() };
/// ```
#[derive(Debug)]
pub struct Permit {
    pub(crate) run_id: String,
    pub(crate) target: Checked,
    /// The SHA-256 of the script or the command.
    pub(crate) hash: String,
    pub(crate) args: Vec<String>,
    pub(crate) input: Vec<u8>,
    pub(crate) limits: Limits,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) workspace: Option<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) tier: Tier,
    pub(crate) grants: Vec<Grant>,
    pub(crate) tenant: String,
    pub(crate) session: String,
    /// The hash of everything in the skill when it was approved, if a person had to approve it.
    pub(crate) approved_content: Option<String>,
    /// The hash of everything in the skill that the policy demands, if it demands one.
    pub(crate) pinned_content: Option<String>,
    /// When the policy demands that a person is asked.
    pub(crate) approval: ApprovalMode,
    /// What the policy demands of native scripts.
    pub(crate) native: NativeMode,
}

/// The target of a permit, checked and read.
#[derive(Debug)]
pub(crate) enum Checked {
    Script(CheckedScript),
    Command(CheckedCommand),
}

/// A script of a skill.
#[derive(Debug)]
pub(crate) struct CheckedScript {
    pub(crate) skill: Arc<Skill>,
    pub(crate) script: Script,
    /// The script's path inside the skill, with links resolved.
    pub(crate) real: PathBuf,
    pub(crate) source: Vec<u8>,
}

/// A command of this machine.
#[derive(Debug)]
pub(crate) struct CheckedCommand {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    /// Where the file really is; `program` may be a link.
    pub(crate) real: PathBuf,
    /// The file that was hashed.
    pub(crate) file: File,
    /// The script, if its first line names an interpreter.
    pub(crate) script: Option<CommandScript>,
}

/// A command that is a script.
#[derive(Debug)]
pub(crate) struct CommandScript {
    pub(crate) interpreter: PathBuf,
    /// The one argument that the first line may contain.
    pub(crate) argument: Option<OsString>,
    pub(crate) source: Vec<u8>,
}

impl CommandScript {
    /// Whether its first line names the program `name`, directly or through `env`.
    pub(crate) fn is_for(&self, name: &str) -> bool {
        let is_named = |path: &Path| path.file_name().is_some_and(|file| file == name);
        let by_env = self
            .interpreter
            .file_name()
            .is_some_and(|file| file == "env")
            && self.argument.as_deref().is_some_and(|word| word == name);
        is_named(&self.interpreter) || by_env
    }
}

impl Permit {
    /// Identifies the run in the outcome and in the audit log.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The path of the script in its skill, or the name of the command.
    pub fn script(&self) -> &str {
        match &self.target {
            Checked::Script(script) => script.script.path(),
            Checked::Command(command) => &command.name,
        }
    }

    /// Its real, absolute path.
    pub fn script_path(&self) -> PathBuf {
        match &self.target {
            Checked::Script(script) => script.skill.path().join(&script.real),
            Checked::Command(command) => command.program.clone(),
        }
    }

    /// The SHA-256 of the bytes that will run.
    pub fn script_hash(&self) -> &str {
        &self.hash
    }

    /// The name of the skill; empty for a command.
    pub fn skill(&self) -> &str {
        match &self.target {
            Checked::Script(script) => script.skill.name(),
            Checked::Command(_) => COMMANDS,
        }
    }

    /// The key of its approvals: the name of its skill's folder; empty for a command.
    pub(crate) fn approval_key(&self) -> &str {
        match &self.target {
            Checked::Script(script) => script.skill.folder(),
            Checked::Command(_) => COMMANDS,
        }
    }

    /// The name of the target in messages.
    pub(crate) fn title(&self) -> String {
        match &self.target {
            Checked::Script(script) => format!(
                "`{}` of skill `{}`",
                show(script.script.path()),
                show(script.skill.name())
            ),
            Checked::Command(command) => format!("the command `{}`", show(&command.name)),
        }
    }

    /// How much the run may use.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The fields of its audit lines.
    pub(crate) fn run_info(&self) -> RunInfo<'_> {
        RunInfo {
            run_id: &self.run_id,
            tenant: &self.tenant,
            session: &self.session,
            skill: self.skill(),
            script: self.script(),
            script_path: Some(self.script_path().display().to_string()),
            script_hash: Some(&self.hash),
            args: &self.args,
            grants: &self.grants,
        }
    }

    /// The real path of the workspace.
    pub(crate) fn workspace_path(&self) -> Option<String> {
        let guest = self.workspace.as_ref()?;
        let own = usize::from(self.skill_mount().is_some());
        let mut mounts = self.mounts.iter().skip(own);
        let mount = mounts.find(|mount| mount.guest == *guest)?;
        Some(mount.host.display().to_string())
    }

    /// The mount of the skill's folder, which is the first one; `None` for a command.
    pub(crate) fn skill_mount(&self) -> Option<&Mount> {
        match self.target {
            Checked::Script(_) => self.mounts.first(),
            Checked::Command(_) => None,
        }
    }

    /// The path at which a script sees its skill's folder.
    pub(crate) fn skill_base(&self) -> Option<&str> {
        self.skill_mount().map(|mount| mount.guest.as_str())
    }
}

/// Whether and where scripts of a language run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunsIn {
    /// In a WASI interpreter.
    Wasm,
    /// In an interpreter of this machine.
    Native,
    /// In an interpreter that is not installed on this machine.
    NotInstalled,
    /// Nowhere.
    Nowhere,
}

/// Decides about a request. `runs` returns where a language runs in a tier.
pub(crate) fn decide(
    policy: &Policy,
    request: Request,
    run_id: String,
    runs: impl Fn(Language, Tier) -> RunsIn,
) -> Result<Permit, Refusal> {
    let mut grants = request.grants.clone();
    let rules = &request.target.rules(policy)?;
    let mut pinned_content = None;
    let (target, hash) = match &request.target {
        Target::Script { skill, script } => {
            let skill = Arc::clone(skill);
            let script = script::find_script(&skill, script)?;
            let (source, real) = script::read_script(&skill, &script)?;
            let hash = hex(&Sha256::digest(&source));
            pinned_content = script::check_digest(rules, &skill, &real, &hash)?;
            script::check_interpreter(rules, &skill, &script)?;
            script::check_allowed_tools(&skill, &script, &request.args)?;
            let runs = request::check_runtime(&script, request.tier, runs)?;
            if runs == RunsIn::Native && script.language().has_wasm() {
                grants.push(Grant::Native);
            }
            let script = CheckedScript {
                skill,
                script,
                real,
                source,
            };
            (Checked::Script(script), hash)
        }
        Target::Command(name) => {
            grants.push(command::check_granted(rules, name)?);
            let (command, hash) = command::find(name, request.tier)?;
            (Checked::Command(command), hash)
        }
        Target::Unresolved { refusal, .. } => return Err(refusal.clone()),
    };
    request::check_session(&request)?;
    let limits = request::check_limits(rules, &request)?;
    let input = request::check_arguments(&request, &limits)?;
    grants.extend(request.env.iter().map(|(name, _)| Grant::Env(name.clone())));
    grants.sort();
    grants.dedup();
    request::check_grants(rules, &request.target, &grants)?;
    request::check_env(&request.target, &request.env)?;
    let (mounts, workspace) = mounts::open_mounts(rules, &request, &mut grants)?;
    let (approval, native) = (rules.approval(), rules.native());

    let Request {
        args,
        env,
        tier,
        tenant,
        session,
        ..
    } = request;
    Ok(Permit {
        run_id,
        target,
        hash,
        args,
        input,
        limits,
        mounts,
        workspace,
        env,
        tier,
        grants,
        tenant,
        session,
        approved_content: None,
        pinned_content,
        approval,
        native,
    })
}
