//! `skillrun list`: the skills that can be found.

use crate::args::List;
use crate::failure::{Failure, print_message};
use crate::text::{Table, columns};
use crate::{output, paths};
use serde_json::json;
use std::io::Write as _;

pub(crate) fn list(args: &List) -> Result<u8, Failure> {
    let library = paths::library(&args.skills.folders)?;
    let (skills, skipped) = library.list();
    let mut out = output::json_or_text(args.json);
    if args.json {
        let skills: Vec<_> = skills
            .iter()
            .map(|skill| {
                json!({
                    "name": skill.name(),
                    "description": skill.description(),
                    "version": skill.version(),
                    "path": skill.path(),
                    "scripts": skill.scripts().iter().map(|script| script.path()).collect::<Vec<_>>(),
                    "warnings": skill.warnings(),
                })
            })
            .collect();
        let skipped: Vec<_> = skipped
            .iter()
            .map(|skip| json!({"path": skip.path, "why": skip.why.to_string()}))
            .collect();
        writeln!(out, "{}", json!({"skills": skills, "skipped": skipped}))?;
        return Ok(0);
    }
    let names = skills.iter().map(|skill| skill.name());
    let table = Table::new(0, names, 32, columns());
    for skill in &skills {
        let scripts = match skill.scripts().len() {
            1 => "1 script".to_owned(),
            n => format!("{n} scripts"),
        };
        let row = table.row(skill.name(), &scripts, skill.description());
        writeln!(out, "{row}")?;
    }
    for skip in skipped {
        print_message("warning", &format!("skipped: {}", skip.why));
    }
    if skills.is_empty() {
        let folders: Vec<_> = library
            .folders()
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        print_message("warning", &format!("no skills in {}", folders.join(", ")));
    }
    Ok(0)
}
