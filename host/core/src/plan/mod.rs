//! Checks a request and turns it into a plan.
//!
//! The checks run in the order that `docs/policy.md` lists, and the first that fails is the refusal. A
//! [`Plan`] contains everything a run needs, already opened and read, so that what was checked is what
//! runs: directories are handles, the script is its bytes. It is not yet the right to run: that is a
//! [`Permit`](crate::Permit), which exists only once nobody has to be asked any more.

mod command;
mod mounts;
pub(crate) mod request;
mod script;

pub use mounts::Mount;

use crate::content::Content;
use crate::contents::Contents;
use crate::files::show;
use crate::grant::Grant;
use crate::limits::Limits;
use crate::policy::{ApprovalMode, NativeMode, Policy};
use crate::refusal::Refusal;
use crate::request::{COMMANDS, Request, RequestedBy, Target, Tier};
use crate::skill::{Language, Script, Skill};
use crate::text::hex;
use mounts::Mounts;
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A checked request: what will run, where, with which directories, limits and grants.
#[derive(Debug)]
pub struct Plan {
    pub(crate) run_id: String,
    pub(crate) target: Checked,
    /// The name of the runtime that executes it.
    pub(crate) runtime: &'static str,
    /// The SHA-256 of the script or the command.
    pub(crate) hash: String,
    pub(crate) args: Vec<String>,
    pub(crate) input: Vec<u8>,
    pub(crate) limits: Limits,
    /// The skill's folder; `None` for a command.
    pub(crate) skill_mount: Option<Mount>,
    /// The directory in which it starts, if the request names one.
    pub(crate) workspace: Option<Mount>,
    /// The other directories and files that were granted.
    pub(crate) granted: Vec<Mount>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) tenant: String,
    pub(crate) session: String,
    pub(crate) requested_by: RequestedBy,
    /// Everything in the skill when it was checked, if the policy demands a digest or a person's approval. It must
    /// still be there when the run starts.
    pub(crate) content: Option<Arc<Content>>,
    /// When the policy demands that a person is asked.
    pub(crate) approval: ApprovalMode,
    /// What the policy demands of native scripts.
    pub(crate) native: NativeMode,
}

/// The target of a plan, checked and read.
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

impl Plan {
    /// Identifies the run in the outcome and in the audit log.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The name of the runtime that executes it.
    pub fn runtime(&self) -> &str {
        self.runtime
    }

    /// The path of the script in its skill, or the name of the command.
    pub fn script(&self) -> &str {
        match &self.target {
            Checked::Script(script) => script.script.path(),
            Checked::Command(command) => &command.name,
        }
    }

    /// The script's real, absolute path, or the path at which the command was found.
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

    /// The bytes of the script that will run; `None` for a command.
    pub fn source(&self) -> Option<&[u8]> {
        match &self.target {
            Checked::Script(script) => Some(&script.source),
            Checked::Command(_) => None,
        }
    }

    /// The name of the skill; empty for a command.
    pub fn skill(&self) -> &str {
        match &self.target {
            Checked::Script(script) => script.skill.name(),
            Checked::Command(_) => COMMANDS,
        }
    }

    /// Its arguments.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// The bytes for its standard input, if the request has an `input`; otherwise empty.
    pub fn input(&self) -> &[u8] {
        &self.input
    }

    /// How much the run may use.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What it may touch, with the real paths of directories and files.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// The directory in which it starts, readable and writable, if the request names one.
    pub fn workspace(&self) -> Option<&Mount> {
        self.workspace.as_ref()
    }

    /// Every directory that it sees except its scratch directory: the skill, the workspace, the grants.
    pub fn mounts(&self) -> impl Iterator<Item = &Mount> {
        let own = self.skill_mount.iter().chain(&self.workspace);
        own.chain(&self.granted)
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

    /// The real path of the workspace.
    pub(crate) fn workspace_path(&self) -> Option<String> {
        let workspace = self.workspace.as_ref()?;
        Some(workspace.host.display().to_string())
    }

    /// The path at which a script sees its skill's folder.
    pub(crate) fn skill_base(&self) -> Option<&str> {
        self.skill_mount.as_ref().map(|mount| mount.guest.as_str())
    }

    /// The path at which it starts: the workspace, or else the skill's folder.
    pub(crate) fn directory(&self) -> Option<&str> {
        let workspace = self.workspace.as_ref();
        workspace
            .map(|mount| mount.guest.as_str())
            .or(self.skill_base())
    }

    /// Whether a person must approve it.
    pub(crate) fn needs_approval(&self) -> bool {
        self.requested_by == RequestedBy::Agent && self.approval != ApprovalMode::Never
    }

    /// Whether the skill is still what was checked. What a script reads after it has started can still change: we
    /// cannot prevent another program from changing it.
    pub(crate) fn is_current(&self) -> Result<bool, String> {
        match (&self.content, &self.target) {
            (Some(content), Checked::Script(script)) => content.is_current(script.skill.root()),
            _ => Ok(true),
        }
    }
}

/// Whether and where scripts of a language run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsIn {
    /// In a sandbox of its own that needs no grant.
    Wasm,
    /// In an interpreter of this machine.
    Native,
    /// In an interpreter that is not installed on this machine.
    NotInstalled,
    /// Nowhere.
    Nowhere,
}

/// The runtimes that a plan can name.
pub(crate) trait Runtimes {
    /// The runtime for a language in a tier, and where it runs. If none has the interpreter installed, the name is that
    /// of the one that would.
    fn find(&self, language: Language, tier: Tier) -> (&'static str, RunsIn);
    /// The runtime that executes commands of this machine.
    fn for_commands(&self) -> &'static str;
}

/// Checks a request. `contents` keeps the content of skills that were hashed for requests that belong together.
pub(crate) fn plan(
    policy: &Policy,
    request: Request,
    run_id: String,
    runtimes: &impl Runtimes,
    contents: &mut Contents,
) -> Result<Plan, Refusal> {
    let mut grants = request.grants.clone();
    let rules = &request.target.rules(policy)?;
    let mut content = None;
    let (target, hash, runtime) = match &request.target {
        Target::Script { skill, script } => {
            let skill = Arc::clone(skill);
            let script = script::find_script(&skill, script)?;
            let (source, real) = script::read_script(&skill, &script)?;
            let hash = hex(&Sha256::digest(&source));
            content = script::check_digest(rules, &skill, &real, &hash, contents)?;
            script::check_interpreter(rules, &skill, &script)?;
            script::check_allowed_tools(&skill, &script, &request.args)?;
            let found = runtimes.find(script.language(), request.tier);
            let runtime = request::check_runtime(&script, request.tier, found)?;
            if found.1 == RunsIn::Native && script.language().has_wasm() {
                grants.push(Grant::Native);
            }
            let script = CheckedScript {
                skill,
                script,
                real,
                source,
            };
            (Checked::Script(script), hash, runtime)
        }
        Target::Command(name) => {
            grants.push(command::check_granted(rules, name)?);
            let (command, hash) = command::find(name, request.tier)?;
            (Checked::Command(command), hash, runtimes.for_commands())
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
    let mounts = mounts::open_mounts(rules, &request, &mut grants)?;
    let Mounts {
        skill: skill_mount,
        workspace,
        granted,
    } = mounts;
    let (approval, native) = (rules.approval(), rules.native());

    let Request {
        args,
        env,
        tenant,
        session,
        requested_by,
        ..
    } = request;
    Ok(Plan {
        run_id,
        target,
        runtime,
        hash,
        args,
        input,
        limits,
        skill_mount,
        workspace,
        granted,
        env,
        grants,
        tenant,
        session,
        requested_by,
        content,
        approval,
        native,
    })
}
