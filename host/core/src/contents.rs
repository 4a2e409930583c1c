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
        if let Some((_, known)) = self.0.iter().find(|(path, _)| path == skill.directory()) {
            return known.clone();
        }
        let content = Content::of_folder(&skill.root()).map(Arc::new);
        // Two skills that were given as bytes may have the same name, so the name is not enough.
        self.0.push((skill.directory().to_owned(), content.clone()));
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_hashed_once_for_all_of_its_scripts() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("SKILL.md"), "---\ndescription: d\n---\n").unwrap();
        let skill = Skill::load(folder.path()).unwrap();
        let mut contents = Contents::default();
        let first = contents.of(&skill).unwrap();
        std::fs::write(folder.path().join("new"), "").unwrap();
        assert!(Arc::ptr_eq(&first, &contents.of(&skill).unwrap()));
        // The next decision hashes it again.
        assert_ne!(first.hash(), Contents::default().of(&skill).unwrap().hash());
    }
}
