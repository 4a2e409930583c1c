//! The contents of skills, hashed at most once for each decision.

use skillrun_skill::Skill;
use skillrun_skill::content::Content;
use std::path::PathBuf;
use std::sync::Arc;

/// The contents of skills that were hashed for one decision: a skill is hashed once for all of its scripts.
#[derive(Debug, Default)]
pub(crate) struct Contents(Vec<(PathBuf, Result<Arc<Content>, String>)>);

impl Contents {
    pub(crate) fn of(&mut self, skill: &Skill) -> Result<Arc<Content>, String> {
        if let Some((_, known)) = self.0.iter().find(|(path, _)| path == skill.path()) {
            return known.clone();
        }
        let content = Content::of_folder(skill.root()).map(Arc::new);
        self.0.push((skill.path().to_owned(), content.clone()));
        content
    }
}
