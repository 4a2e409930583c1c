//! Untrusted names: of files in messages, of requested scripts, and in instructions.
//!
//! A shown name is one line of visible characters. A script that is found is one that the skill has, and is inside it.
//! References in a document stay inside the skill. Loading shows nothing from outside the skill, and no elements other
//! than its own.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun::{Load, Skill};
use skillrun_check::fuzzing::references;
use skillrun_skill::text::show;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock};

const SECRET: &str = "from-outside-the-skill";

/// `around/secret`, and beside it a skill with scripts, references and links that lead out in every way.
static SKILL: LazyLock<PathBuf> = LazyLock::new(|| {
    let around = tempfile::tempdir().expect("a folder").keep();
    let skill = around.join("skill");
    fs::create_dir_all(skill.join("scripts/deep")).expect("a folder");
    fs::create_dir_all(skill.join("references")).expect("a folder");
    for outside in ["secret", "secret.py", "secret.md"] {
        fs::write(around.join(outside), format!("# {SECRET}\n")).expect("a file");
    }
    for inside in [
        "scripts/a.py",
        "scripts/b c.sh",
        "scripts/deep/a.py",
        "x.js",
        "references/r.md",
    ] {
        fs::write(skill.join(inside), "# inside\n").expect("a file");
    }
    for (target, link) in [
        ("../../secret.py", "scripts/out.py"),
        ("..", "scripts/up"),
        ("../..", "references/up"),
        ("../../secret.md", "references/out.md"),
        ("a.py", "scripts/in.py"),
        ("self.py", "scripts/self.py"),
    ] {
        symlink(target, skill.join(link)).expect("a link");
    }
    symlink(around.join("secret.py"), skill.join("scripts/absolute.py")).expect("a link");
    skill
});

fuzz_target!(|input: (&str, &str)| {
    let (wanted, body) = input;
    let shown = show(wanted);
    assert!(
        !shown
            .chars()
            .any(|c| c.is_control() || "\u{202e}\u{2028}\u{2029}\u{feff}\u{200b}".contains(c))
    );
    assert_eq!(show(&shown), shown);

    let inside = |path: &str| {
        let normal = |part| matches!(part, Component::Normal(_));
        assert!(Path::new(path).components().all(normal), "{path:?}");
    };
    for path in references(body, &["skill", wanted]).keys() {
        inside(path);
    }

    fs::write(
        SKILL.join("SKILL.md"),
        format!("---\nname: skill\ndescription: x\n---\n{body}"),
    )
    .expect("a file");
    let Ok(skill) = Skill::load(&*SKILL) else {
        return;
    };
    let skill = Arc::new(skill);
    if let Some(script) = skill.script(wanted) {
        inside(script.path());
        assert!(skill.scripts().contains(script));
        let real = SKILL
            .join(script.path())
            .canonicalize()
            .expect("a script is there");
        assert!(
            real.starts_with(&*SKILL),
            "{wanted:?} is {}",
            real.display()
        );
        assert!(!skill.describe(script).contains(SECRET));
    }
    let asked = [wanted.to_owned()];
    for only in [None, Some(&asked[..])] {
        let load = Load::new(&skill, only);
        for path in load.scripts() {
            inside(path);
            let name = path.rsplit('/').next().unwrap_or(path);
            assert!(body.contains(name), "{path:?} is not mentioned");
        }
        let text = load.render(vec![]);
        assert!(
            body.contains(SECRET) || wanted.contains(SECRET) || !text.contains(SECRET),
            "{text}"
        );
        balanced(&text);
    }
});

/// Every element is closed in the order in which it was opened.
fn balanced(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in text.split('<').skip(1) {
        let (tag, _) = part.split_once('>').expect("a tag ends");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split(' ').next().unwrap_or_default()),
        }
    }
    assert!(open.is_empty());
}
