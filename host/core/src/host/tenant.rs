//! A tenant of a host: one customer of a platform, with rules, skills, approvals and a quota of its own.
//!
//! Everything that a [`Tenant`] returns or changes belongs to it. Its questions cannot be seen or answered through another
//! tenant's handle, and its permits cannot be run there. [`Host`] itself is the operator's: it sees all of them.

use super::running::Run;
use super::{Batch, Host, Inner, run_info};
use crate::approval::{
    Answer, AnswerError, Approver, GivenAnswer, Question, QuestionEvents, Scope, SessionApproval,
    StoredApproval,
};
use crate::audit::{AuditFilter, AuditLine, Event};
use crate::decision::{Decision, Permit};
use crate::error::{Error, RunError};
use crate::files::show;
use crate::outcome::Outcome;
use crate::plan::{Plan, check_owner};
use crate::policy::Policy;
use crate::refusal::{Check, Refusal};
use crate::request::Request;
use crate::runtime::Live;
pub use crate::runtime::queue::Quota;
use crate::skill::{Bounds, CustomLanguage, FileMap, Library, Skill, SkillError};
use crate::workspace::{PrivateWorkspace, ReturnedFiles, WorkspaceError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, PoisonError};
use tokio::io::DuplexStream;

/// What a tenant may do.
#[derive(Debug, Clone, Default)]
pub struct TenantSettings {
    /// Its policy. The default grants nothing.
    pub policy: Policy,
    /// The directories in which its skills are found by name, in search order. No script of the tenant may write them.
    pub skill_dirs: Vec<PathBuf>,
    /// How much it may use at the same time.
    pub quota: Quota,
    /// What each line of the audit log about its runs, refusals and approvals says in `fields`: at most 16 keys of 64
    /// characters, with values of 256. A run keeps those that it was decided with.
    pub audit_fields: BTreeMap<String, String>,
}

/// Keys of the audit fields. They are in every line, and a line takes some hundred bytes without them.
const MAX_FIELDS: usize = 16;
/// Characters of a key.
const MAX_KEY: usize = 64;
/// Characters of a value: an address or a few ids.
const MAX_VALUE: usize = 256;

/// A tenant of a [`Host`]. Clones are the same tenant.
#[derive(Debug, Clone)]
pub struct Tenant {
    host: Host,
    name: Arc<str>,
}

impl Host {
    /// The tenant of this name. It has the default settings until [`Tenant::configure`] sets others.
    pub fn tenant(&self, name: impl Into<Arc<str>>) -> Tenant {
        Tenant {
            host: self.clone(),
            name: name.into(),
        }
    }
}

impl Tenant {
    /// Its name in approvals and in the audit log.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Replaces its settings, for all handles. Runs that have started keep what they were permitted. Fails, and changes
    /// nothing, if there are more audit fields than a line may have.
    pub fn configure(&self, settings: TenantSettings) -> Result<(), Error> {
        if let Err(why) = check_fields(&settings.audit_fields) {
            let tenant = self.name.to_string();
            return Err(Error::AuditFields { tenant, why });
        }
        let mut tenants = self.host.inner.tenants.write();
        let tenants = tenants
            .as_deref_mut()
            .unwrap_or_else(|poisoned| poisoned.get_mut());
        let settings = Arc::new(settings);
        tenants.insert(self.name.to_string(), Arc::clone(&settings));
        self.host.inner.queue.set_quota(&self.name, &settings.quota);
        Ok(())
    }

    /// Forgets its settings, for a tenant that is gone; from then on, it has the default ones. Its approvals stay until they
    /// are revoked.
    pub fn remove(&self) {
        let tenants = self.host.inner.tenants.write();
        let mut tenants = tenants.unwrap_or_else(PoisonError::into_inner);
        tenants.remove(&*self.name);
        // Runs that wait for the quota that it had would wait for ever.
        let queue = &self.host.inner.queue;
        queue.set_quota(&self.name, &Quota::default());
    }

    /// Its settings.
    pub fn settings(&self) -> Arc<TenantSettings> {
        self.host.inner.settings_of(&self.name)
    }

    /// Finds one of its skills by name.
    pub async fn skill(&self, name: &str) -> Result<Arc<Skill>, SkillError> {
        let (settings, name) = (self.settings(), name.to_owned());
        let find = move |_: &Inner| {
            let library = Library::new(settings.skill_dirs.iter().cloned());
            // A path could lead to the skill of another tenant.
            let skill = library.find_by_name(&name)?.skill;
            // On this thread, which may block.
            skill.scripts();
            Ok(skill)
        };
        self.task(find).await
    }

    /// Its skills, by directory and name.
    pub async fn skills(&self) -> Vec<Arc<Skill>> {
        let settings = self.settings();
        let list = move |_: &Inner| {
            let library = Library::new(settings.skill_dirs.iter().cloned());
            let skills = library.list().0;
            // On this thread, which may block.
            for skill in &skills {
                skill.scripts();
            }
            Ok::<_, std::convert::Infallible>(skills)
        };
        match self.task(list).await {
            Ok(skills) => skills,
            Err(never) => match never {},
        }
    }

    /// Loads a skill that is given as bytes, for runs of this tenant only. See [`Host::skill_from_files`].
    pub async fn skill_from_files(
        &self,
        name: impl Into<String>,
        files: FileMap,
    ) -> Result<Skill, SkillError> {
        self.skill_from_files_with(name, files, &[]).await
    }

    /// The same, where files in these languages are scripts too.
    pub async fn skill_from_files_with(
        &self,
        name: impl Into<String>,
        files: FileMap,
        languages: &'static [CustomLanguage],
    ) -> Result<Skill, SkillError> {
        let (tenant, name) = (Some(Arc::clone(&self.name)), name.into());
        self.task(move |inner| inner.skill_from_files(&name, files, languages, tenant))
            .await
    }

    /// A workspace that is given as bytes, for runs of this tenant only. See [`Host::workspace_from_files`].
    pub async fn workspace_from_files(&self, files: FileMap) -> Result<PrivateWorkspace, Error> {
        let tenant = Some(Arc::clone(&self.name));
        self.task(move |inner| inner.workspace_from_files(&files, tenant))
            .await
    }

    /// What is in a private workspace of this tenant, or of the operator, now. See [`Host::files_of`]. That of another
    /// tenant is refused with [`Check::Tenant`].
    pub async fn files_of(
        &self,
        workspace: &PrivateWorkspace,
        bounds: Bounds,
    ) -> Result<ReturnedFiles, WorkspaceError> {
        let (workspace, name) = (workspace.clone(), Arc::clone(&self.name));
        self.task(move |inner| {
            if let Err(refusal) = check_owner("workspace", workspace.tenant(), &name) {
                let shown = PrivateWorkspace::shown().display().to_string();
                inner.record_refusal_of(&name, &shown, &refusal)?;
                return Err(WorkspaceError::Refused(refusal));
            }
            Ok(workspace.files(bounds)?)
        })
        .await
    }

    /// Decides whether a request of this tenant may run under its policy. See [`Host::decide`].
    pub async fn decide(&self, request: Request) -> Result<Decision, Error> {
        let settings = self.settings();
        let request = self.owned(request);
        let decide = move |inner: &Inner| inner.decide(&settings.policy, &request);
        self.task(decide).await
    }

    /// Decides requests that belong together. See [`Host::decide_all`].
    pub async fn decide_all(&self, requests: Vec<Request>) -> Result<Batch, Error> {
        let settings = self.settings();
        let requests = requests.into_iter().map(|request| self.owned(request));
        let requests: Vec<Request> = requests.collect();
        let decide = move |inner: &Inner| inner.decide_all(&settings.policy, &requests);
        self.task(decide).await
    }

    /// Its open questions, the oldest first. See [`Host::questions`].
    pub async fn questions(&self) -> Result<Vec<Question>, Error> {
        let tenant = self.clone();
        let questions = move |inner: &Inner| inner.questions(tenant.scope());
        self.task(questions).await
    }

    /// Answers one of its questions. See [`Host::answer`].
    pub async fn answer(
        &self,
        question: &str,
        answer: Answer,
        approver: Approver,
    ) -> Result<Option<Vec<Result<Permit, Refusal>>>, AnswerError> {
        let (tenant, question) = (self.clone(), question.to_owned());
        let answer =
            move |inner: &Inner| inner.answer(tenant.scope(), &question, answer, &approver);
        self.task(answer).await
    }

    /// Answers one of its questions, for a caller that does not run what it approves. See [`Host::record_answer`].
    pub async fn record_answer(
        &self,
        question: &str,
        answer: Answer,
        approver: Approver,
    ) -> Result<(), AnswerError> {
        let (tenant, question) = (self.clone(), question.to_owned());
        let given = GivenAnswer { answer, approver };
        let record = move |inner: &Inner| inner.record_answer(tenant.scope(), &question, &given);
        self.task(record).await
    }

    /// Waits until one of its questions is answered. See [`Host::answered`].
    pub async fn answered(
        &self,
        question: &str,
    ) -> Result<Vec<Result<Permit, Refusal>>, AnswerError> {
        self.host.answered_in(self.scope(), question).await
    }

    /// What happens to its questions from now on. See [`Host::events`].
    pub fn events(&self) -> QuestionEvents {
        self.host.inner.approvals.events(self.scope())
    }

    /// Closes one of its questions with no. See [`Host::decline`].
    pub async fn decline(
        &self,
        question: &str,
        why: &str,
    ) -> Result<Vec<Result<Permit, Refusal>>, AnswerError> {
        let (tenant, question, why) = (self.clone(), question.to_owned(), why.to_owned());
        let decline = move |inner: &Inner| inner.decline(tenant.scope(), &question, &why);
        self.task(decline).await
    }

    /// Its stored approvals, the oldest first.
    pub async fn approvals(&self) -> Result<Vec<StoredApproval>, Error> {
        let tenant = self.clone();
        let approvals = move |inner: &Inner| inner.approvals(tenant.scope());
        self.task(approvals).await
    }

    /// The approvals for its sessions that are still valid, the oldest first.
    pub async fn sessions(&self) -> Result<Vec<SessionApproval>, Error> {
        let tenant = self.clone();
        let sessions = move |inner: &Inner| inner.sessions(tenant.scope());
        self.task(sessions).await
    }

    /// Its own lines of the audit log that match a filter, whatever tenant the filter names. See [`Host::audit`].
    pub async fn audit(&self, filter: AuditFilter) -> Result<Vec<AuditLine<'static>>, Error> {
        let filter = AuditFilter {
            tenant: Some(self.name.to_string()),
            ..filter
        };
        self.task(move |inner| inner.audit.lines(&filter)).await
    }

    /// Revokes some of its approvals by their numbers. Returns how many existed.
    pub async fn revoke(&self, ids: &[i64]) -> Result<usize, Error> {
        let (tenant, ids) = (self.clone(), ids.to_owned());
        let revoke = move |inner: &Inner| inner.revoke(tenant.scope(), &ids);
        self.task(revoke).await
    }

    /// Forgets what was approved for one of its sessions.
    pub async fn end_session(&self, session: &str) -> Result<(), Error> {
        self.host.end_session(&self.name, session).await
    }

    /// Runs what was permitted to this tenant, and waits until it has ended. See [`Host::run`].
    pub async fn run(&self, permit: Permit) -> Result<Outcome, RunError> {
        self.run_live(permit, Live::default()).await
    }

    /// Like [`Tenant::run`], with live input and output and a way to stop the script.
    pub async fn run_live(&self, permit: Permit, live: Live) -> Result<Outcome, RunError> {
        self.check_permit(&permit)?;
        self.host.run_live(permit, live).await
    }

    /// Starts what was permitted to this tenant. See [`Host::start`].
    pub fn start(&self, permit: Permit) -> Result<Run, RunError> {
        self.check_permit(&permit)?;
        Ok(self.host.start(permit))
    }

    /// Like [`Tenant::start`], with a standard input to write to.
    pub fn start_with_stdin(&self, permit: Permit) -> Result<(Run, DuplexStream), RunError> {
        self.check_permit(&permit)?;
        Ok(self.host.start_with_stdin(permit))
    }

    /// Runs work that may block, when the tenant has few enough such tasks.
    async fn task<T, E>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.host.tenant_task(&self.name, work).await
    }

    /// The request as one of this tenant.
    fn owned(&self, request: Request) -> Request {
        Request {
            tenant: self.name.to_string(),
            ..request
        }
    }

    /// Questions and approvals of other tenants do not exist for this handle.
    fn scope(&self) -> Scope<'_> {
        Scope::Tenant(&self.name)
    }

    /// Refuses a permit of another tenant, and records that.
    fn check_permit(&self, permit: &Permit) -> Result<(), RunError> {
        if permit.plan().tenant == *self.name {
            return Ok(());
        }
        let message = format!(
            "the permit belongs to another tenant, not to `{}`",
            show(&self.name)
        );
        // `start` cannot wait for the log. Nothing runs, whether or not it can be written.
        let event = Event::refused(run_info(permit.plan()), &message);
        self.host.inner.audit.post(event);
        let refusal = Refusal::new(Check::Tenant, message);
        Err(RunError::Refused(
            refusal.hint("run it through the tenant that decided it"),
        ))
    }
}

/// What is too much in audit fields.
fn check_fields(fields: &BTreeMap<String, String>) -> Result<(), String> {
    let count = fields.len();
    if count > MAX_FIELDS {
        return Err(format!("{count} audit fields are more than {MAX_FIELDS}"));
    }
    for (key, value) in fields {
        if key.is_empty() || key.chars().count() > MAX_KEY {
            let shown: String = key.chars().take(MAX_KEY).collect();
            return Err(format!(
                "the audit field `{}` has no name of 1 to {MAX_KEY} characters",
                show(&shown)
            ));
        }
        if value.chars().count() > MAX_VALUE {
            return Err(format!(
                "the audit field `{}` is longer than {MAX_VALUE} characters",
                show(key)
            ));
        }
    }
    Ok(())
}

impl Inner {
    /// The settings of a tenant, or the defaults.
    pub(super) fn settings_of(&self, tenant: &str) -> Arc<TenantSettings> {
        self.with_settings_of(tenant, Arc::clone)
    }

    /// Calls `work` with the settings of a tenant. They are not replaced meanwhile.
    pub(super) fn with_settings_of<T>(
        &self,
        tenant: &str,
        work: impl FnOnce(&Arc<TenantSettings>) -> T,
    ) -> T {
        static DEFAULT: LazyLock<Arc<TenantSettings>> = LazyLock::new(Arc::default);
        let tenants = self.tenants.read().unwrap_or_else(PoisonError::into_inner);
        work(tenants.get(tenant).unwrap_or(&DEFAULT))
    }

    /// The paths that decide what the names of skills refer to, as far as the script could write them: those of its own
    /// tenant, and the skill directories of all others. Theirs are compared as they are written: resolving those of a
    /// thousand tenants would take longer than the rest of a decision.
    pub(super) fn skill_paths(&self, plan: &Plan) -> Vec<PathBuf> {
        let writable: Vec<&Path> = plan
            .mounts()
            .filter(|mount| mount.writable)
            .map(|mount| mount.host.as_path())
            .collect();
        if writable.is_empty() {
            return Vec::new();
        }
        let settings = self.settings_of(&plan.tenant);
        let own = Library::new(settings.skill_dirs.iter().cloned());
        let mut paths = own.paths_to_protect();
        let tenants = self.tenants.read().unwrap_or_else(PoisonError::into_inner);
        let others = tenants.values().flat_map(|other| &other.skill_dirs);
        let others = others.filter_map(|path| std::path::absolute(path).ok());
        paths.extend(others.filter(|path| {
            let overlaps = |mount: &&Path| path.starts_with(mount) || mount.starts_with(path);
            writable.iter().any(overlaps)
        }));
        paths
    }
}
