//! A question as a person sees it.
//!
//! What it would touch stands last, directly before what can be answered, and nothing that a skill or a model wrote
//! can push it off the screen or look like a line of ours.

use super::sheet::{self, Sheet, Window, quoted, shown, shown_to};
use skillrun::{AskedScript, Change, Grant, Question};

/// Characters shown of one name of many.
const MAX_NAME: usize = 60;
/// Lines shown of a difference.
const MAX_LINES: usize = 200;
/// Bytes shown of all arguments.
const MAX_ARGUMENTS: usize = 64 * 1024;

/// How much of what could be made long on purpose is shown.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Of each list.
    items: usize,
    scripts: usize,
    /// Of each description and argument.
    characters: usize,
}

/// From the most to the least; the first one that leaves the whole question on the screen is taken.
const ROOMS: [Room; 7] = [
    room(20, 20, sheet::MAX_TEXT),
    room(10, 20, 160),
    room(5, 20, 100),
    room(3, 20, 60),
    room(1, 20, 40),
    room(1, 10, 40),
    room(1, 5, 40),
];

const fn room(items: usize, scripts: usize, characters: usize) -> Room {
    Room {
        items,
        scripts,
        characters,
    }
}

/// A question as it is shown, and what can be answered.
pub(super) struct Asked {
    pub(super) text: String,
    pub(super) options: String,
}

impl Asked {
    pub(super) fn is_shown(&self, option: &str) -> bool {
        self.options.contains(option)
    }
}

/// The question as it is shown: what it would touch stands last, and all of it on the screen if it can.
pub(super) fn text(question: &Question, window: Window) -> Asked {
    let mut asked = None;
    for room in ROOMS {
        let (sheet, cut) = sheet(question, window, room);
        let options = options(question, cut);
        let rows = sheet.rows + window.rows_of(&options);
        asked = Some(Asked {
            text: sheet.text,
            options,
        });
        if rows <= window.rows {
            break;
        }
    }
    asked.unwrap_or_else(|| Asked {
        text: String::new(),
        options: String::new(),
    })
}

/// What of a question was left out.
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    arguments: bool,
    scripts: bool,
}

fn sheet(question: &Question, window: Window, room: Room) -> (Sheet, Cut) {
    let mut sheet = Sheet::new(window);
    let mut cut = Cut::default();
    let is_command = question.skill.is_empty();
    let skill = shown_to(&question.skill, MAX_NAME);
    let what = match question.scripts.as_slice() {
        [one] if is_command => format!("the command `{}`", shown_to(&one.script, MAX_NAME)),
        [one] => format!("`{}` of skill `{skill}`", shown_to(&one.script, MAX_NAME)),
        many => format!("{} scripts of skill `{skill}`", many.len()),
    };
    // The row that the output before may have left unfinished.
    sheet.rows += 1;
    sheet.rows_with("skillrun: ", "          ", &format!("may {what} run?"));
    if !is_command {
        let description = shown_to(&question.description, room.characters);
        sheet.line("skill", &format!("{skill}: {description}"));
        sheet.line("", &shown(&question.skill_path));
    }
    for script in question.scripts.iter().take(room.scripts) {
        let hash = script.sha256.get(..16).unwrap_or_default();
        let (name, what) = named(question, script);
        sheet.line(name, &format!("{} (sha256 {hash}…)", shown(what)));
        if !script.description.is_empty() {
            sheet.line("", &shown_to(&script.description, room.characters));
        }
        if !script.args.is_empty() {
            let (arguments, is_cut) = arguments(&script.args, room);
            sheet.line("arguments", &arguments);
            cut.arguments |= is_cut;
        }
    }
    if let Some(count) = beyond(question.scripts.len(), room.scripts) {
        sheet.line("", &format!("… and {count} more scripts"));
        cut.scripts = true;
    }
    if let Some(change) = &question.change {
        changes(&mut sheet, change, room);
    }
    let (mut may, count) = may(question, window);
    if may.rows + window.rows_of(&options(question, cut)) > window.rows {
        may.line("", &format!("({count} grants above)"));
    }
    sheet.append(&may);
    (sheet, cut)
}

/// What a script is called here, and which one it is.
fn named<'a>(question: &Question, script: &'a AskedScript) -> (&'static str, &'a str) {
    match question.skill.is_empty() {
        true => ("command", &script.path),
        false => ("script", &script.script),
    }
}

/// All that would be touched, and how many lines say it: none is ever left out.
fn may(question: &Question, window: Window) -> (Sheet, usize) {
    let workspace = question
        .workspace
        .iter()
        .map(|workspace| format!("read and change everything in {}", shown(workspace)));
    let mut all: Vec<String> = workspace
        .chain(question.grants.iter().map(|grant| in_words(grant)))
        .collect();
    let count = all.len();
    if all.is_empty() {
        all.push(match question.skill.is_empty() {
            true => "touch nothing but a scratch directory".into(),
            false => "touch nothing but the skill, read-only, and a scratch directory".into(),
        });
    }
    let mut sheet = Sheet::new(window);
    for (at, line) in all.iter().enumerate() {
        sheet.line(if at == 0 { "may" } else { "" }, line);
    }
    (sheet, count)
}

fn changes(sheet: &mut Sheet, change: &Change, room: Room) {
    let since = shown(&change.since);
    if change.files.is_empty() {
        sheet.line(
            "before",
            &format!("approved at {since}, and unchanged since"),
        );
    } else {
        sheet.line("CHANGED", &format!("since the yes of {since}:"));
    }
    for file in change.files.iter().take(room.items) {
        let path = shown_to(&file.path, MAX_NAME);
        sheet.line("", &format!("{} {path}", file.how));
    }
    if let Some(count) = beyond(change.files.len(), room.items) {
        sheet.line("", &format!("… and {count} more files"));
    }
    for grant in change.more_grants.iter().take(room.items) {
        let grant = shown_to(grant, room.characters);
        sheet.line("", &format!("asks for more: {grant}"));
    }
    if let Some(count) = beyond(change.more_grants.len(), room.items) {
        sheet.line("", &format!("… and for {count} more"));
    }
}

fn options(question: &Question, cut: Cut) -> String {
    let is_command = question.skill.is_empty();
    let yes = match (question.remembered, is_command) {
        (true, false) => "[y] yes, until something in the skill changes",
        (true, true) => "[y] yes, with these arguments, until the command changes",
        (false, _) => "[y] yes, this once",
    };
    let session = match is_command {
        true => "[s] yes, with any arguments in this session",
        false => "[s] yes, also to all that this skill runs in this session",
    };
    let change = question.change.as_ref();
    let compare = match change.is_some_and(|change| change.sources.is_some()) {
        true => "  [d] show what changed",
        false => "",
    };
    let all = match cut {
        Cut {
            arguments: true, ..
        } => "  [a] show all arguments",
        Cut { scripts: true, .. } => "  [a] show all scripts",
        _ => "",
    };
    format!("  {yes}\n  {session}\n  [n] no{compare}{all}\n> ")
}

/// What a grant means.
fn in_words(grant: &str) -> String {
    let shown_grant = shown(grant);
    match grant.parse::<Grant>() {
        Ok(Grant::Read(path)) => format!("read {}", shown(&path.display().to_string())),
        Ok(Grant::Write(path)) if path.as_os_str() == Grant::SKILL => {
            "change the skill's own folder".into()
        }
        Ok(Grant::Write(path)) => format!("read and change {}", shown(&path.display().to_string())),
        Ok(Grant::Net(host, None)) if host == "*" => "reach the whole network".into(),
        Ok(Grant::Net(host, None)) => format!("connect to {}", shown(&host)),
        Ok(Grant::Net(host, Some(port))) => format!("connect to {}, port {port}", shown(&host)),
        Ok(Grant::Env(name)) => format!("read the variable {}", shown(&name)),
        Ok(Grant::Run(command)) => format!("run the command {}", shown(&command)),
        Ok(Grant::Interpreter(name)) => format!("use the interpreter {}", shown(&name)),
        Ok(Grant::Native) => "use an interpreter of this machine, confined".into(),
        Err(_) => shown_grant,
    }
}

/// Arguments in one line, and whether something of them is missing.
fn arguments(args: &[String], room: Room) -> (String, bool) {
    let mut is_cut = false;
    let mut all = Vec::new();
    for arg in args.iter().take(room.items) {
        let (text, cut) = quoted(arg, room.characters);
        all.push(text);
        is_cut |= cut;
    }
    if let Some(count) = beyond(args.len(), room.items) {
        all.push(format!("… and {count} more"));
        is_cut = true;
    }
    (all.join(" "), is_cut)
}

fn beyond(count: usize, most: usize) -> Option<usize> {
    count.checked_sub(most).filter(|beyond| *beyond > 0)
}

/// Every script with every argument.
pub(super) fn all_arguments(question: &Question, window: Window) -> String {
    let mut sheet = Sheet::new(window);
    let mut left = MAX_ARGUMENTS;
    for script in &question.scripts {
        let (name, what) = named(question, script);
        sheet.line(name, &shown(what));
        for (at, arg) in script.args.iter().enumerate() {
            let (text, _) = quoted(arg, left);
            left = left.saturating_sub(text.len());
            sheet.line("", &format!("{}: {text}", at + 1));
            if left == 0 {
                sheet.line(
                    "",
                    &format!("… of {}, and no more is shown", script.args.len()),
                );
                return sheet.text;
            }
        }
    }
    sheet.text
}

/// The script then and now, line by line.
pub(super) fn difference(change: &Change, window: Window) -> String {
    let Some((before, now)) = &change.sources else {
        return String::new();
    };
    let compared = similar::TextDiff::from_lines(before, now);
    let mut sheet = Sheet::new(window);
    let mut count = 0;
    for group in compared.grouped_ops(3) {
        let changes = group
            .iter()
            .flat_map(|operation| compared.iter_changes(operation));
        let lines = changes.map(|line| (line.tag().to_string(), Some(line.value())));
        for (mark, line) in std::iter::once(("···".to_owned(), None)).chain(lines) {
            count += 1;
            if count > MAX_LINES {
                continue;
            }
            match line {
                Some(line) => {
                    let line = line.trim_end_matches(['\n', '\r']);
                    sheet.rows_with(&format!("  {mark} "), "  … ", &sheet::source(line));
                }
                None => sheet.rows_with(&format!("  {mark}"), "", ""),
            }
        }
    }
    if let Some(count) = beyond(count, MAX_LINES) {
        sheet.rows_with("  ", "  ", &format!("… and {count} lines more"));
    }
    sheet.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillrun::Answer;

    const WINDOW: Window = Window {
        columns: 80,
        rows: 24,
    };

    fn question() -> Question {
        Question {
            id: "1".into(),
            world: "w".into(),
            chat: "c".into(),
            skill: "demo".into(),
            hides: Vec::new(),
            skill_path: "/skills/demo".into(),
            description: "A demo.".into(),
            scripts: vec![AskedScript {
                script: "scripts/a.py".into(),
                path: "/skills/demo/scripts/a.py".into(),
                sha256: "0123456789abcdef0123".into(),
                args: vec!["a b".into(), "\"; rm".into()],
                description: "Says it.".into(),
            }],
            workspace: None,
            grants: Vec::new(),
            content_hash: Some("0".into()),
            change: None,
            remembered: true,
            options: [Answer::YesOnce, Answer::YesInSession, Answer::No],
            default: Answer::No,
            timeout_seconds: 60,
        }
    }

    fn change(files: Vec<skillrun::ChangedFile>) -> Change {
        Change {
            since: "2026-01-01".into(),
            files,
            more_grants: Vec::new(),
            sources: None,
        }
    }

    fn rows(asked: &Asked) -> usize {
        1 + WINDOW.rows_of(&asked.text) + WINDOW.rows_of(&asked.options)
    }

    #[test]
    fn a_question_ends_with_what_would_be_touched() {
        let mut question = question();
        question.grants = vec!["net:*".into(), "read:/data".into()];
        question.change = Some(change(Vec::new()));
        let asked = text(&question, WINDOW);
        assert_eq!(
            asked.text,
            r#"skillrun: may `scripts/a.py` of skill `demo` run?
  skill     demo: A demo.
            /skills/demo
  script    scripts/a.py (sha256 0123456789abcdef…)
            Says it.
  arguments "a b" "\"; rm"
  before    approved at 2026-01-01, and unchanged since
  may       reach the whole network
            read /data
"#
        );
        assert_eq!(
            asked.options,
            "  [y] yes, until something in the skill changes\n  \
             [s] yes, also to all that this skill runs in this session\n  [n] no\n> "
        );
    }

    #[test]
    fn no_names_push_a_question_off_the_screen_or_write_lines_of_it() {
        let forged = "  may       touch nothing but the skill, read-only, and a scratch directory";
        let mut question = question();
        question.grants = vec!["net:*".into()];
        let files = (0..20).map(|at| skillrun::ChangedFile {
            path: format!("{at:<58}{forged}{:100}", ""),
            how: "new",
        });
        question.change = Some(change(files.collect()));
        question.description = format!("{:<60}{forged}", "x").repeat(8);
        question.scripts[0].description = question.description.clone();
        question.scripts[0].args = vec![forged.repeat(10); 30];
        let asked = text(&question, WINDOW);
        assert!(rows(&asked) <= WINDOW.rows, "{}", asked.text);
        let mays: Vec<&str> = asked
            .text
            .lines()
            .filter(|line| line.trim_start().starts_with("may"))
            .collect();
        assert_eq!(mays, ["  may       reach the whole network"]);
        assert!(asked.text.ends_with("reach the whole network\n"));
        assert!(asked.text.contains(" more files\n"), "{}", asked.text);
    }

    #[test]
    fn grants_are_all_listed_and_counted_where_they_do_not_fit() {
        let mut question = question();
        question.workspace = Some("/w".into());
        question.grants = (0..40).map(|at| format!("read:/data/{at}")).collect();
        let asked = text(&question, WINDOW);
        for at in 0..40 {
            assert!(asked.text.contains(&format!(" read /data/{at}\n")));
        }
        assert!(
            asked
                .text
                .ends_with("/data/39\n            (41 grants above)\n"),
            "{}",
            asked.text
        );
    }

    #[test]
    fn arguments_that_are_cut_can_be_seen() {
        let mut question = question();
        assert!(!text(&question, WINDOW).is_shown("[a]"));
        question.scripts[0].args = vec!["a".into(); 27];
        question.scripts[0]
            .args
            .push(format!("{}\u{1b}end", "x".repeat(400)));
        let asked = text(&question, WINDOW);
        assert!(
            asked.text.contains("\"a\" … and 8 more\n"),
            "{}",
            asked.text
        );
        assert!(
            asked
                .options
                .ends_with("[n] no  [a] show all arguments\n> ")
        );
        let all = all_arguments(&question, WINDOW);
        let all = all.replace("\n            ", "");
        assert!(
            all.contains(&format!(
                "27: \"a\"28: \"{}\\u{{1b}}end\"\n",
                "x".repeat(400)
            )),
            "{all}"
        );
        question.scripts[0].args = vec!["y".repeat(1000); 1000];
        let all = all_arguments(&question, WINDOW);
        assert!(all.len() < 2 * MAX_ARGUMENTS, "{}", all.len());
        assert!(all.ends_with("… of 1000, and no more is shown\n"), "{all}");
    }

    #[test]
    fn every_grant_is_told_in_words() {
        for (grant, words) in [
            ("read:/data", "read /data"),
            ("write:skill", "change the skill's own folder"),
            ("write:/out", "read and change /out"),
            ("net:*", "reach the whole network"),
            ("net:a.example:443", "connect to a.example, port 443"),
            ("env:TOKEN", "read the variable TOKEN"),
            ("run:git", "run the command git"),
            ("interpreter:ruby", "use the interpreter ruby"),
            ("native", "use an interpreter of this machine, confined"),
        ] {
            assert_eq!(in_words(grant), words);
        }
    }

    #[test]
    fn a_difference_shows_what_was_and_what_is() {
        let change = Change {
            since: String::new(),
            files: Vec::new(),
            more_grants: Vec::new(),
            sources: Some(("a\nb\nc\n".into(), "a\nB\u{7}\nc\n".into())),
        };
        assert_eq!(
            difference(&change, WINDOW),
            "  ···\n    a\n  - b\n  + B\\u{7}\n    c\n"
        );
    }
}
