//! What runs because an agent wants it: under whose policy, with what, and asked for how.

use crate::args::{Agent, Skills};
use crate::ask::Asks;
use crate::failure::{Failure, REFUSED, say};
use crate::list::printable;
use crate::own_file::{Access, OwnFile, Writable};
use crate::places;
use skillrun::{
    AskedBy, Check, Found, Grant, Policy, Refusal, Request, Skill, SkillError, Subject,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Agent {
    /// The skill of a path or a name; whoever named it learns what it hides.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Skill>, SkillError> {
        let found = places::library(&self.skills.folders).find(name)?;
        if !self.quiet {
            warn_shadowed(&found);
        }
        Ok(found.skill)
    }

    /// Opens the answers file, if one was named. Fails if a script could have written it.
    pub(crate) fn answers(&self, writable: &[Writable]) -> Result<Option<OwnFile>, Failure> {
        let open = |path: &PathBuf| OwnFile::open("answers", path, Access::Read, writable);
        self.answers.as_ref().map(open).transpose()
    }

    /// Where the answers come from.
    pub(crate) fn asks(&self, answers: Option<OwnFile>) -> Result<Asks, Failure> {
        Asks::new(self.answers.as_deref().zip(answers))
    }

    /// All that commands and scripts of these skills may write, and the skills themselves, whose contents their
    /// authors wrote.
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
        // All commands hold the same grants, whatever their name.
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

    /// The directories besides skills that what runs may write.
    pub(crate) fn writable_roots(&self, policy: &Policy, skills: &[Arc<Skill>]) -> Vec<PathBuf> {
        let all = self.writable(policy, skills).into_iter();
        all.skip(skills.len())
            .map(|writable| writable.path)
            .collect()
    }

    /// The policy with what was typed. Nothing in one of the skills is read as one; what is inside the workspace counts
    /// only if it is trusted.
    pub(crate) fn policy(&self, skills: &[Arc<Skill>]) -> Result<Policy, Failure> {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name()).collect();
        let names = names.join(" ");
        let skills: Vec<&Path> = skills.iter().map(|skill| skill.path()).collect();
        let typed = typed(&self.allow)?;
        let untrusted = places::Untrusted {
            skills: &skills,
            workspace: self.workspace.as_deref(),
            writable: &writable_by(&typed),
        };
        let policy = places::policy(self.policy.as_deref(), &self.skills, untrusted);
        let policy = policy.map_err(|failure| recorded(failure, &names))?;
        Ok(policy.and_allow(typed))
    }

    /// A request as it is asked for here.
    pub(crate) fn request(&self, policy: &Policy, request: Request) -> Request {
        let request = Request {
            workspace: self.workspace.clone(),
            follow: self.follow,
            asked_by: match self.yes {
                true => AskedBy::Person,
                false => AskedBy::Agent,
            },
            world: self.world.clone(),
            chat: self.chat.clone(),
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

/// Tells which skills of the same name are hidden by the one that was found, and whether its folder has another name.
pub(crate) fn warn_shadowed(found: &Found) {
    if found.by_front_matter {
        let text = format!(
            "no folder has the name `{}`; the skill in `{}` calls itself so",
            printable(found.skill.name()),
            printable(&found.skill.path().display().to_string())
        );
        say("warning", &text);
    }
    for hidden in &found.shadowed {
        let text = format!(
            "skill `{}` hides `{}`",
            printable(&found.skill.path().display().to_string()),
            printable(&hidden.display().to_string())
        );
        say("warning", &text);
    }
}

/// A refusal that came before there was a policy to decide by, put on the record.
pub(crate) fn recorded(failure: Failure, name: &str) -> Failure {
    if failure.code != REFUSED {
        return failure;
    }
    let refusal = Refusal {
        check: Check::Policy,
        message: failure.message.clone(),
        hint: None,
    };
    let request = Request {
        subject: Subject::Unclear {
            name: name.to_owned(),
            refusal,
        },
        ..Request::command(name)
    };
    let written = places::host(&Policy::default(), &Skills::default())
        .and_then(|host| Ok(host.decide(&Policy::default(), request)?));
    match written {
        Ok(_) => failure,
        Err(unwritten) => unwritten,
    }
}

/// Grants that were typed; their paths are below the current directory.
pub(crate) fn typed(texts: &[String]) -> Result<Vec<Grant>, Failure> {
    let here = std::env::current_dir()?;
    let each = texts.iter().map(|text| {
        let grant = text.parse::<Grant>();
        let grant = grant.map_err(|error| Failure::host(error.to_string()))?;
        Ok(grant.resolved(&here))
    });
    each.collect()
}
