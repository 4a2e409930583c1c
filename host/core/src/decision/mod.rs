//! Whether a request may run.
//!
//! The checks come in the order of the contract and the first that fails is the answer. A [`Permit`]
//! is made here and nowhere else; it holds everything a run needs, opened and read, so that what was
//! checked is what runs: the directories are handles, the script is its bytes.

mod command;
mod mounts;
mod refusal;
mod request;
mod script;

pub(crate) use mounts::Mount;
pub use refusal::{Check, Refusal};

use crate::approval::Question;
use crate::audit::Asked;
use crate::files::show;
use crate::grant::Grant;
use crate::limits::Limits;
use crate::policy::{Approval, Native, Policy};
use crate::request::{COMMANDS, Request, Subject, Tier};
use crate::skill::{Language, Script, Skill};
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// The answer to a request.
#[derive(Debug)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "made once per run and moved once, straight into it"
)]
pub enum Decision {
    /// It may run.
    Permitted(Permit),
    /// It may run if a person says so: see [`crate::Host::answer`].
    Open(Box<Question>),
    /// It may not, and nothing ran.
    Refused(Refusal),
}

/// The right to one run. Only a decision under a [`Policy`] makes one.
///
/// ```compile_fail
/// let permit = skillrun::Permit { run_id: "mine".into(), ..todo!() };
/// ```
#[derive(Debug)]
pub struct Permit {
    pub(crate) run_id: String,
    pub(crate) subject: Checked,
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
    pub(crate) world: String,
    pub(crate) chat: String,
    /// The hash of all that the skill held when it was approved, if a person had to.
    pub(crate) approved: Option<String>,
    /// The hash of all that the policy demands the skill to hold, if it does.
    pub(crate) pinned: Option<String>,
    /// When the policy wants a person to be asked.
    pub(crate) approval: Approval,
    /// What the policy demands of native scripts.
    pub(crate) native: Native,
}

/// What a permit is for, checked and read.
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
    /// The script's path below the skill with its links resolved.
    pub(crate) real: PathBuf,
    pub(crate) source: Vec<u8>,
}

/// A command of this machine.
#[derive(Debug)]
pub(crate) struct CheckedCommand {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    /// The file that was hashed.
    pub(crate) file: File,
    /// What it is, if its first line names an interpreter.
    pub(crate) script: Option<CommandScript>,
}

/// A command that is a script.
#[derive(Debug)]
pub(crate) struct CommandScript {
    pub(crate) interpreter: PathBuf,
    /// The one argument that the first line may hold.
    pub(crate) argument: Option<OsString>,
    pub(crate) source: Vec<u8>,
}

impl Permit {
    /// Names the run in the outcome and in the audit log.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// What will run: the path of a script in its skill, or the name of a command.
    pub fn script(&self) -> &str {
        match &self.subject {
            Checked::Script(script) => script.script.path(),
            Checked::Command(command) => &command.name,
        }
    }

    /// Its real, absolute path.
    pub fn script_path(&self) -> PathBuf {
        match &self.subject {
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
        match &self.subject {
            Checked::Script(script) => script.skill.name(),
            Checked::Command(_) => COMMANDS,
        }
    }

    /// What approvals know it by: the name of its skill's folder, and nothing for a command.
    pub(crate) fn section(&self) -> &str {
        match &self.subject {
            Checked::Script(script) => script.skill.folder(),
            Checked::Command(_) => COMMANDS,
        }
    }

    /// What it is, for a message.
    pub(crate) fn title(&self) -> String {
        match &self.subject {
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

    pub(crate) fn asked(&self) -> Asked<'_> {
        Asked {
            run_id: &self.run_id,
            world: &self.world,
            chat: &self.chat,
            skill: self.skill(),
            script: self.script(),
            args: &self.args,
            grants: &self.grants,
        }
    }

    /// The real path of the workspace.
    pub(crate) fn workspace_path(&self) -> Option<String> {
        let guest = self.workspace.as_ref()?;
        let own = usize::from(self.skill_mount().is_some());
        let mut others = self.mounts.iter().skip(own);
        let mount = others.find(|mount| mount.guest == *guest)?;
        Some(mount.host.display().to_string())
    }

    /// The skill's folder, if it is for a script: the first of the mounts.
    pub(crate) fn skill_mount(&self) -> Option<&Mount> {
        match self.subject {
            Checked::Script(_) => self.mounts.first(),
            Checked::Command(_) => None,
        }
    }

    /// Where a script sees its skill's folder.
    pub(crate) fn skill_base(&self) -> Option<&str> {
        self.skill_mount().map(|mount| mount.guest.as_str())
    }
}

/// Whether and where scripts of a language run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// In a WASI interpreter.
    InWasm,
    /// In an interpreter of this machine.
    Natively,
    /// In an interpreter that this machine does not have.
    Uninstalled,
    /// Nowhere.
    Not,
}

/// Makes the decision. `runs` says where a language runs in a tier.
pub(crate) fn decide(
    policy: &Policy,
    request: Request,
    run_id: String,
    runs: impl Fn(Language, Tier) -> Runs,
) -> Result<Permit, Refusal> {
    let mut grants = request.grants.clone();
    let rules = &request.subject.rules(policy)?;
    let mut pinned = None;
    let (subject, hash) = match &request.subject {
        Subject::Script { skill, script } => {
            let skill = Arc::clone(skill);
            let script = script::find_script(&skill, script)?;
            let (source, real) = script::read_script(&skill, &script)?;
            let hash = hex(&Sha256::digest(&source));
            pinned = script::check_digest(rules, &skill, &real, &hash)?;
            script::check_interpreter(rules, &skill, &script)?;
            script::check_allowed_tools(&skill, &script, &request.args)?;
            let runs = request::check_runtime(&script, request.tier, runs)?;
            if runs == Runs::Natively && script.language().has_wasm() {
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
        Subject::Command(name) => {
            grants.push(command::check_granted(rules, name)?);
            let (command, hash) = command::find(name, request.tier)?;
            (Checked::Command(command), hash)
        }
        Subject::Unclear { refusal, .. } => return Err(refusal.clone()),
    };
    request::check_session(&request)?;
    let limits = request::check_limits(rules, &request)?;
    let input = request::check_arguments(&request, &limits)?;
    grants.extend(request.env.iter().map(|(name, _)| Grant::Env(name.clone())));
    grants.sort();
    grants.dedup();
    request::check_grants(rules, &request.subject, &grants)?;
    request::check_env(&request.subject, &request.env)?;
    let (mounts, workspace) = mounts::open_mounts(rules, &request, &mut grants)?;
    let (approval, native) = (rules.approval(), rules.native());

    let Request {
        args,
        env,
        tier,
        world,
        chat,
        ..
    } = request;
    Ok(Permit {
        run_id,
        subject,
        hash,
        args,
        input,
        limits,
        mounts,
        workspace,
        env,
        tier,
        grants,
        world,
        chat,
        approved: None,
        pinned,
        approval,
        native,
    })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
