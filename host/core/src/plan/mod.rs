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
pub(crate) use mounts::is_never_granted;
pub(crate) use request::check_owner;

use crate::approver::Approver;
use crate::content::Content;
use crate::contents::Contents;
use crate::files::show;
use crate::grant::Grant;
use crate::limits::Limits;
use crate::policy::{ApprovalMode, NativeMode, Policy, WorkerMode};
use crate::private::{Directory, Reachable};
use crate::refusal::Refusal;
use crate::request::{COMMANDS, Request, RequestedBy, Target};
use crate::skill::{Language, Script, Skill};
use crate::text::hex;
use crate::tier::Tier;
use crate::workspace::{PrivateWorkspace, Workspace};
use mounts::Mounts;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
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
    /// The same if it was given as bytes: its files stay until the run has ended.
    pub(crate) private_workspace: Option<PrivateWorkspace>,
    /// The other directories and files that were granted.
    pub(crate) granted: Vec<Mount>,
    /// The skill directories of its tenant, with the links in them: paths that it may not write.
    pub(crate) protected: Vec<PathBuf>,
    /// Whether the outcome lists the files that it created, changed or removed.
    pub(crate) list_artifacts: bool,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) tenant: String,
    /// What each of its audit lines says about the tenant.
    pub(crate) audit_fields: BTreeMap<String, String>,
    pub(crate) session: String,
    /// Who typed it, if that was all the approval it needed.
    pub(crate) approver: Option<Approver>,
    /// Everything in the skill when it was checked, if the policy demands a digest or a person's approval. It must
    /// still be there when the run starts.
    pub(crate) content: Option<Arc<Content>>,
    /// When a person is asked, given who requests it.
    pub(crate) approval: ApprovalMode,
    /// The enforcing policy that demands it, if there is one; a flag or another policy cannot replace the answer.
    pub(crate) approval_by: Option<String>,
    /// What the policy demands of native scripts.
    pub(crate) native: NativeMode,
    /// ` by FILE` if flags cannot change that demand, and what would.
    pub(crate) native_by: (String, String),
    /// Whose runs may use the same process in the wasm tier.
    pub(crate) workers: WorkerMode,
    /// ` by FILE` if flags cannot change that, and what would.
    pub(crate) workers_by: (String, String),
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

    /// The script's real, absolute path, or the path at which the command was found. In a skill that was given as bytes,
    /// it begins with `memory:/`.
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

    /// Whether the outcome should list the files that it created, changed or removed.
    pub fn lists_artifacts(&self) -> bool {
        self.list_artifacts
    }

    /// Every directory that it sees except its scratch directory: the skill, the workspace, the grants.
    pub fn mounts(&self) -> impl Iterator<Item = &Mount> {
        let own = self.skill_mount.iter().chain(&self.workspace);
        own.chain(&self.granted)
    }

    /// How many file descriptors it keeps open.
    pub(crate) fn descriptors(&self) -> usize {
        let command = matches!(self.target, Checked::Command(_));
        self.mounts().count() + usize::from(command)
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

    /// The real path of the workspace, as people and records see it: all private workspaces have the same.
    pub(crate) fn workspace_path(&self) -> Option<PathBuf> {
        let workspace = self.workspace.as_ref()?;
        Some(match self.private_workspace {
            Some(_) => PrivateWorkspace::shown(),
            None => workspace.host.clone(),
        })
    }

    /// The same as text.
    pub(crate) fn workspace_text(&self) -> Option<String> {
        let path = self.workspace_path()?;
        Some(path.display().to_string())
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
        self.approval != ApprovalMode::Never
    }

    /// Keeps private directories from being made where its script could reach them. Refused if its skill, its workspace or
    /// its grants contain some by now. May block.
    pub(crate) fn reach(&self) -> Result<Reachable, Refusal> {
        Reachable::new(&self.reachable()).map_err(|path| {
            let what = show(&path.display().to_string());
            mounts::contains_private(&format!("`{what}`"))
        })
    }

    /// The same if no private directory exists, without blocking.
    pub(crate) fn reach_without_private(&self) -> Option<Reachable> {
        Reachable::without_private(&self.reachable())
    }

    /// The directories that its script can reach, except what was given as bytes for it.
    fn reachable(&self) -> Vec<Directory> {
        let skill = self.skill_mount.as_ref().filter(|_| !self.is_in_memory());
        let workspace = self.workspace.as_ref();
        let workspace = workspace.filter(|_| self.private_workspace.is_none());
        let mounts = skill.into_iter().chain(workspace).chain(&self.granted);
        mounts.filter_map(Mount::directory).collect()
    }

    /// Whether its skill was given as bytes.
    fn is_in_memory(&self) -> bool {
        matches!(&self.target, Checked::Script(script) if script.skill.is_in_memory())
    }

    /// Whether the skill is still what was checked. Goes by the times of files instead of their content if they were read
    /// less than a second ago. What a script reads after it has started can still change:
    /// we cannot prevent another program from changing it.
    pub(crate) fn is_current(&self) -> Result<bool, String> {
        match (&self.content, &self.target) {
            (Some(content), Checked::Script(script)) => content.is_current(&script.skill.root()),
            _ => Ok(true),
        }
    }

    /// Whether the skill is still what was checked, however long ago. Reads all of it.
    pub(crate) fn is_unchanged(&self) -> Result<bool, String> {
        match (&self.content, &self.target) {
            (Some(content), Checked::Script(script)) => content.is_unchanged(&script.skill.root()),
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
    /// Whether a runtime can show a directory at another path than its own.
    fn shows_anywhere(&self, runtime: &str) -> bool;
    /// The runtime that executes commands of this machine.
    fn for_commands(&self) -> &'static str;
}

/// Checks a request. `contents` keeps the content of skills that were hashed for requests that belong together.
pub(crate) fn plan(
    policy: &Policy,
    request: &Request,
    run_id: String,
    runtimes: &impl Runtimes,
    contents: &mut Contents,
) -> Result<Plan, Refusal> {
    request::check_tenant(request)?;
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
            let tier = match request.tier {
                Tier::Auto => rules.runtime(),
                chosen => chosen,
            };
            let found = runtimes.find(script.language(), tier);
            let runtime = request::check_runtime(&script, tier, found)?;
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
            // The name may be that of a link to an interpreter.
            if let Some(program) = command.real.file_name().and_then(|name| name.to_str()) {
                command::check_interpreter(rules, name, program)?;
            }
            (Checked::Command(command), hash, runtimes.for_commands())
        }
        Target::Unresolved { refusal, .. } => return Err(refusal.clone()),
    };
    request::check_session(request)?;
    let limits = request::check_limits(rules, request)?;
    let input = request::check_arguments(request, &limits)?;
    grants.extend(request.env.iter().map(|(name, _)| Grant::Env(name.clone())));
    grants.sort();
    grants.dedup();
    request::check_grants(rules, &request.target, &grants)?;
    request::check_env(&request.target, &request.env)?;
    let anywhere = || runtimes.shows_anywhere(runtime);
    let mounts = mounts::open_mounts(rules, request, &mut grants, anywhere)?;
    let Mounts {
        skill: skill_mount,
        workspace,
        granted,
    } = mounts;
    let approval = match request.requested_by {
        RequestedBy::Agent => rules.approval(),
        RequestedBy::Person => rules.approval_of_person(),
    };
    let demand = rules.approval_demand();
    let approval_by = demand.map(|(policy_rules, _)| policy_rules.name());
    let (policy_rules, native) = rules.native_demand();
    let native_by = (
        policy_rules.by(),
        policy_rules.hint("set native = \"confined\""),
    );
    let (policy_rules, workers) = rules.workers_demand();
    let workers_by = (
        policy_rules.by(),
        policy_rules.hint("set workers = \"per-tenant\""),
    );

    let private_workspace = match &request.workspace {
        Some(Workspace::Private(private)) => Some(private.clone()),
        _ => None,
    };
    let is_typed = request.requested_by == RequestedBy::Person;
    let is_own_approval = is_typed && approval == ApprovalMode::Never;
    Ok(Plan {
        run_id,
        target,
        runtime,
        hash,
        args: request.args.clone(),
        input,
        limits,
        skill_mount,
        workspace,
        private_workspace,
        granted,
        protected: Vec::new(),
        list_artifacts: request.list_artifacts,
        env: request.env.clone(),
        grants,
        tenant: request.tenant.clone(),
        audit_fields: BTreeMap::new(),
        session: request.session.clone(),
        approver: request.approver.clone().filter(|_| is_own_approval),
        content,
        approval,
        approval_by,
        native,
        native_by,
        workers,
        workers_by,
    })
}
