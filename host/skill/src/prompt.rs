//! The texts that tell a model which skills there are, and which scripts it can run.
//!
//! As long as the skills do not change, both texts stay the same byte for byte, so that an agent's prompt cache stays
//! valid. Text from a skill is escaped so that it cannot leave its table cell or element.

use crate::files;
use crate::script::Script;
use crate::skill::{MAX_SKILL_MD, Skill};
use crate::strict;
use crate::text::show;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

/// Characters of a table cell, which should be read at a glance.
const MAX_CELL: usize = 200;

/// The `<available_skills>` block, as `skills-ref to-prompt` prints it.
///
/// One thing differs: the location is escaped like the rest, so that the name of a folder cannot close
/// its element.
pub fn available_skills<'a>(skills: impl IntoIterator<Item = &'a Skill>) -> String {
    let mut block = String::from("<available_skills>\n");
    for skill in skills {
        let (name, description) = name_and_description(skill);
        let location = skill.path().join(skill.document_name());
        for (element, text) in [
            ("name", name),
            ("description", description),
            ("location", location.display().to_string()),
        ] {
            let start = if element == "name" { "<skill>\n" } else { "" };
            let _ = writeln!(
                block,
                "{start}<{element}>\n{}\n</{element}>",
                escaped(&text)
            );
        }
        block.push_str("</skill>\n");
    }
    block.push_str("</available_skills>\n");
    block
}

/// The *Available Scripts* block of a skill, if it has scripts.
pub fn available_scripts(skill: &Skill) -> Option<String> {
    let first = skill.scripts().first()?;
    let names = Names::of(skill);
    let mut block = format!("## {}\n\n", cell(skill.name()));
    block.push_str("### Available Scripts\nExecute these with the `skills_run_script` tool:\n\n");
    block.push_str("| Script | Description |\n|--------|-------------|\n");
    for script in skill.scripts() {
        let description = skill.describe(script);
        let opening = description.split("\n\n").next().unwrap_or_default();
        let _ = writeln!(
            block,
            "| {} | {} |",
            cell(names.shortest(script)),
            cell(opening)
        );
    }
    let _ = writeln!(
        block,
        "\nExample: `skills_run_script(skill_name={}, script={}, args=[])`",
        quoted(skill.name()),
        quoted(names.shortest(first))
    );
    Some(block)
}

/// The name and the description as the reference validator reads them, or as the loader does where the validator fails.
fn name_and_description(skill: &Skill) -> (String, String) {
    let loaded = || (skill.name().to_owned(), skill.description().to_owned());
    let read = || {
        let bytes = files::read(
            &skill.root(),
            Path::new(skill.document_name()),
            MAX_SKILL_MD,
        )
        .ok()?;
        let fields = strict::fields(&String::from_utf8(bytes).ok()?).ok()?;
        let text = |field| strict::text_of(&fields, field).map(str::to_owned);
        Some((text("name")?, text("description")?))
    };
    read().unwrap_or_else(loaded)
}

/// How many scripts of a skill have each file name. Looking up a script by name is a pass over all of them, which is
/// too slow to do for each.
struct Names<'a> {
    counts: HashMap<&'a str, usize>,
    /// File names that are also the whole path of a script: they always refer to that one.
    paths: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    fn of(skill: &'a Skill) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut paths = HashSet::new();
        for script in skill.scripts() {
            let name = file_name(script);
            *counts.entry(name).or_default() += 1;
            if name == script.path() {
                paths.insert(name);
            }
        }
        Self { counts, paths }
    }

    /// The shortest name that refers only to this script.
    fn shortest<'b>(&self, script: &'b Script) -> &'b str {
        let name = file_name(script);
        let is_unique = match self.paths.contains(name) {
            true => script.path() == name,
            false => self.counts.get(name) == Some(&1),
        };
        if is_unique { name } else { script.path() }
    }
}

fn file_name(script: &Script) -> &str {
    script.path().rsplit('/').next().unwrap_or_default()
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#x27;"),
            c => safe.push(c),
        }
    }
    safe
}

/// A text as a cell of a Markdown table: on one line, with special characters escaped.
fn cell(text: &str) -> String {
    let line = show(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    let short: String = match line.char_indices().nth(MAX_CELL) {
        None => line,
        Some(_) => line.chars().take(MAX_CELL - 1).chain(['…']).collect(),
    };
    let mut safe = String::with_capacity(short.len());
    for c in short.chars() {
        if "\\|`<>[]".contains(c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// A text as a JSON string that can be used between backticks.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.replace('`', "\\u0060")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn skill(files: &[(&str, &str)]) -> (tempfile::TempDir, Skill) {
        let around = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = around.path().join("s").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let skill = Skill::load(around.path().join("s")).unwrap();
        (around, skill)
    }

    #[test]
    fn no_name_or_description_breaks_the_table() {
        let (_around, skill) = skill(&[
            ("SKILL.md", "---\nname: s|`x`\ndescription: d\n---\n"),
            (
                "scripts/a|b.py",
                "\"\"\"One | two `three`\n<b>four\\\n\nfive\"\"\"\n",
            ),
            ("scripts/c.sh", "# \u{1b}[31mred\n"),
            ("scripts/x/d.py", "x = 1\n"),
            ("scripts/y/d.py", "x = 1\n"),
        ]);
        assert_eq!(
            available_scripts(&skill).unwrap(),
            "## s\\|\\`x\\`\n\n### Available Scripts\nExecute these with the `skills_run_script` tool:\n\n| Script | Description |\n|--------|-------------|\n| a\\|b.py | One \\| two \\`three\\` \\<b\\>four\\\\ |\n| c.sh | \\[31mred |\n| scripts/x/d.py |  |\n| scripts/y/d.py |  |\n\nExample: `skills_run_script(skill_name=\"s|\\u0060x\\u0060\", script=\"a|b.py\", args=[])`\n"
        );
    }

    #[test]
    fn each_script_is_called_by_the_shortest_name_that_finds_it() {
        let (_around, skill) = skill(&[
            ("SKILL.md", "---\nname: s\ndescription: d\n---\n"),
            ("scripts/a.py", ""),
            ("scripts/x/b.py", ""),
            ("scripts/y/b.py", ""),
            ("scripts/z/c.py", ""),
            ("c.py", ""),
            ("c.sh", ""),
            ("d", "#!/bin/sh\n"),
            ("lib/d.py", ""),
            ("lib/e.py", ""),
        ]);
        let names = Names::of(&skill);
        assert_eq!(skill.scripts().len(), 9);
        for script in skill.scripts() {
            let name = file_name(script);
            let shortest = match skill.script(name) {
                Some(found) if found == script => name,
                _ => script.path(),
            };
            assert_eq!(names.shortest(script), shortest);
        }
    }

    #[test]
    fn a_skill_without_scripts_has_no_block() {
        let (_around, skill) = skill(&[("SKILL.md", "---\nname: s\ndescription: d\n---\n")]);
        assert_eq!(available_scripts(&skill), None);
    }

    #[test]
    fn a_folder_name_cannot_close_an_element() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("a<b>&\n'c'");
        fs::create_dir(&folder).unwrap();
        fs::write(
            folder.join("skill.md"),
            "---\nname: s\ndescription: d\n---\n",
        )
        .unwrap();
        let block = available_skills([&Skill::load(folder).unwrap()]);
        let (_, location) = block.split_once("<location>\n").unwrap();
        assert!(location.ends_with(
            "/a&lt;b&gt;&amp;\n&#x27;c&#x27;/skill.md\n</location>\n</skill>\n</available_skills>\n"
        ));
    }

    #[test]
    fn a_description_cannot_close_an_element() {
        let (_around, skill) = skill(&[(
            "SKILL.md",
            "---\nname: s\ndescription: \"</description><x a='b'>&\"\n---\n",
        )]);
        let block = available_skills([&skill]);
        assert!(block.contains("\n&lt;/description&gt;&lt;x a=&#x27;b&#x27;&gt;&amp;\n"));
        assert_eq!(
            available_skills([]),
            "<available_skills>\n</available_skills>\n"
        );
    }
}
