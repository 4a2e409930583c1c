//! Whether a request may run.
//!
//! The checks come in the order of the contract and the first that fails is the answer. A [`Permit`]
//! is made here and nowhere else; it holds everything a run needs, opened and read, so that what was
//! checked is what runs: the directories are handles, the script is its bytes.

mod mounts;
mod refusal;
mod request;
mod script;

pub(crate) use mounts::Mount;
pub use refusal::{Check, Refusal};

/// Where commands are looked for, and nowhere else: a person's own folders hold what only that person
/// chose, and shims that need his home.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

use crate::approval::Question;
use crate::audit::Asked;
use crate::grant::Grant;
use crate::limits::Limits;
use crate::policy::Policy;
use crate::request::{Request, Tier};
use crate::skill::{Language, Script, Skill};
use sha2::{Digest as _, Sha256};
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
    pub(crate) skill: Arc<Skill>,
    pub(crate) script: Script,
    /// The script's path below the skill with its links resolved.
    pub(crate) real: PathBuf,
    pub(crate) source: Vec<u8>,
    pub(crate) source_hash: String,
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
}

impl Permit {
    /// Names the run in the outcome and in the audit log.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The script that will run.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// The script's real, absolute path.
    pub fn script_path(&self) -> PathBuf {
        self.skill.path().join(&self.real)
    }

    /// The SHA-256 of the bytes that will run.
    pub fn script_hash(&self) -> &str {
        &self.source_hash
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
            skill: self.skill.name(),
            script: self.script.path(),
            args: &self.args,
            grants: &self.grants,
        }
    }

    /// The real path of the workspace.
    pub(crate) fn workspace_path(&self) -> Option<String> {
        let guest = self.workspace.as_ref()?;
        let mount = self
            .mounts
            .iter()
            .skip(1)
            .find(|mount| mount.guest == *guest)?;
        Some(mount.host.display().to_string())
    }

    /// Where the script sees the skill's folder.
    pub(crate) fn skill_base(&self) -> &str {
        &self.mounts[0].guest
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
    let skill = Arc::clone(&request.skill);
    let script = script::find_script(&skill, &request.script)?;
    let (source, real) = script::read_script(&skill, &script)?;
    script::check_interpreter(policy, &skill, &script)?;
    script::check_allowed_tools(&skill, &script, &request.args)?;
    let runs = request::check_runtime(&script, request.tier, runs)?;
    request::check_session(&request)?;
    let limits = request::check_limits(policy, &request)?;
    let input = request::check_arguments(&request, &limits)?;
    let mut grants = request.grants.clone();
    grants.extend(request.env.iter().map(|(name, _)| Grant::Env(name.clone())));
    if runs == Runs::Natively && script.language().has_wasm() {
        grants.push(Grant::Native);
    }
    grants.sort();
    grants.dedup();
    request::check_grants(policy, &skill, &grants)?;
    request::check_env(&request.env)?;
    let (mounts, workspace) = mounts::open_mounts(policy, &request, &grants)?;

    let source_hash = hex(&Sha256::digest(&source));
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
        skill,
        script,
        real,
        source,
        source_hash,
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
