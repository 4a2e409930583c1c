//! What `run`, `load` and `expand` share: the policy, the grants and the questions.

use crate::approver::{FLAG, approver};
use crate::args::{Agent, Skills};
use crate::ask::AnswerSource;
use crate::failure::{Failure, REFUSED, print_message};
use crate::own_file::{Access, OwnFile, Writable};
use crate::paths;
use crate::text::printable;
use skillrun::skill::Found;
use skillrun::{Check, Grant, Policy, Refusal, Request, RequestedBy, Skill};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Agent {
    /// Finds a skill by path or name, and warns about the skills it shadows.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Skill>, Failure> {
        let folders = &self.skills.folders;
        let found = crate::find::find(folders, name)?;
        warn_about_choice(&found, self.quiet, self.grants_something());
        Ok(found.skill)
    }

    /// Whether the command line gives scripts anything beyond their skill.
    pub(crate) fn grants_something(&self) -> bool {
        !self.allow.is_empty() || self.workspace.is_some()
    }

    /// Opens the answers file, if one was named. Fails if a script could have written it.
    pub(crate) fn answers(&self, writable: &[Writable]) -> Result<Option<OwnFile>, Failure> {
        let open = |path: &PathBuf| OwnFile::open("answers", path, Access::Read, writable);
        self.answers.as_ref().map(open).transpose()
    }

    /// Where the answers come from.
    pub(crate) fn answer_source(&self, answers: Option<OwnFile>) -> Result<AnswerSource, Failure> {
        AnswerSource::new(self.answers.as_deref().zip(answers))
    }

    /// Every path that commands and scripts of these skills may write, and the skills themselves, whose contents their
    /// authors wrote. The skills come first.
    pub(crate) fn writable(&self, policy: &Policy, skills: &[Arc<Skill>]) -> Vec<Writable> {
        let skill = |skill: &Arc<Skill>| Writable {
            what: "the skill".into(),
            path: skill.path().to_owned(),
        };
        let mut all: Vec<Writable> = skills.iter().map(skill).collect();
        all.extend(self.workspace.as_ref().map(|path| Writable {
            what: "the workspace".into(),
            path: path.clone(),
        }));
        // All commands have the same grants, whatever their name.
        let commands = [Request::command("")].into_iter();
        let requests = commands.chain(skills.iter().map(|skill| Request::new(skill, "")));
        for request in requests {
            for grant in request.with_all_grants(policy, |_| None).grants {
                if let Grant::Write(path) = &grant
                    && path.as_os_str() != Grant::SKILL
                {
                    all.push(Writable {
                        what: format!("`{}`", printable(&grant.to_string())),
                        path: path.clone(),
                    });
                }
            }
        }
        all
    }

    /// The directories other than skills that commands and scripts may write.
    pub(crate) fn writable_roots(&self, policy: &Policy, skills: &[Arc<Skill>]) -> Vec<PathBuf> {
        let all = self.writable(policy, skills).into_iter();
        all.skip(skills.len())
            .map(|writable| writable.path)
            .collect()
    }

    /// The policy, with the typed grants added. No policy inside one of the skills is read; one inside the workspace must
    /// be trusted.
    pub(crate) fn policy(&self, skills: &[Arc<Skill>]) -> Result<Policy, Failure> {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name()).collect();
        let names = names.join(" ");
        let skills: Vec<&Path> = skills.iter().map(|skill| skill.path()).collect();
        let typed = typed(&self.allow)?;
        let untrusted = paths::Untrusted {
            skills: &skills,
            workspace: self.workspace.as_deref(),
            writable: &writable_by(&typed),
        };
        let policy = paths::policy(self.policy.as_deref(), &self.skills, untrusted);
        let policy = policy.map_err(|failure| recorded(failure, &names))?;
        Ok(policy.and_allow(typed))
    }

    /// Completes a request with the options of this command.
    pub(crate) fn request(&self, policy: &Policy, request: Request) -> Request {
        let request = Request {
            workspace: self.workspace.clone().map(Into::into),
            follow: self.follow,
            requested_by: match self.yes {
                true => RequestedBy::Person,
                false => RequestedBy::Agent,
            },
            approver: self.yes.then(|| approver(FLAG)),
            tenant: self.tenant.clone(),
            session: self.session.clone(),
            // Neither a model nor a person reads them.
            list_artifacts: false,
            ..request
        };
        request.with_all_grants(policy, |name| std::env::var(name).ok())
    }
}

/// The paths that grants make writable.
pub(crate) fn writable_by(grants: &[Grant]) -> Vec<PathBuf> {
    let path = |grant: &Grant| match grant {
        Grant::Write(path) if path.as_os_str() != Grant::SKILL => Some(path.clone()),
        _ => None,
    };
    grants.iter().filter_map(path).collect()
}

/// Warns if the folder of a skill has another name, and about skills of the same name that it shadows.
///
/// The first warning is printed in spite of `quiet` if the command line grants something: any folder can have the name
/// that was typed in its `SKILL.md`, and would get the grants.
pub(crate) fn warn_about_choice(found: &Found, quiet: bool, grants: bool) {
    if found.by_front_matter && (grants || !quiet) {
        warn_by_front_matter(&found.skill, "no skill folder is named");
    }
    for hidden in found.shadowed.iter().filter(|_| !quiet) {
        let text = format!(
            "skill `{}` shadows `{}`",
            printable(&found.skill.path().display().to_string()),
            printable(&hidden.display().to_string())
        );
        print_message("warning", &text);
    }
}

/// Warns that a skill has its name from its `SKILL.md`; `missing` says where no folder has that name.
pub(crate) fn warn_by_front_matter(skill: &Skill, missing: &str) {
    let text = format!(
        "{missing} `{}`; using `{}`, whose SKILL.md has that name",
        printable(skill.name()),
        printable(&skill.path().display().to_string())
    );
    print_message("warning", &text);
}

/// Records a refusal that came before there was a policy to decide by, and returns it.
pub(crate) fn recorded(failure: Failure, name: &str) -> Failure {
    if failure.code != REFUSED {
        return failure;
    }
    let refusal = Refusal::new(Check::Policy, &failure.message);
    let written = paths::host(&Policy::default(), &Skills::default())
        .and_then(|host| Ok(host.blocking().record_refusal(name, &refusal)?));
    match written {
        Ok(_) => failure,
        Err(unwritten) => unwritten,
    }
}

/// Parses typed grants; relative paths are resolved against the current directory.
pub(crate) fn typed(texts: &[String]) -> Result<Vec<Grant>, Failure> {
    let here = std::env::current_dir()?;
    let each = texts.iter().map(|text| {
        let grant = text.parse::<Grant>();
        let grant = grant.map_err(|error| Failure::host(error.to_string()))?;
        Ok(grant.resolved(&here))
    });
    each.collect()
}
