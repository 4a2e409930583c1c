//! Asking a person: at the terminal, or by a file of answers where there is none.
//!
//! What is shown comes from a skill and from a model, and wants to be believed. So it is asked only at a real
//! terminal, whatever was typed before the question is thrown away, every character that could steer the
//! terminal is shown as what it is, long texts are cut visibly, and whatever is not clearly a yes is a no.

mod answers;
mod terminal;

use crate::failure::{Failure, say};

use answers::Prepared;
use skillrun::{Answer, AnswerError, Change, Decision, Grant, Host, Question};
use std::path::PathBuf;
use std::time::Duration;
use terminal::{Heard, Terminal};

/// Characters shown of one text.
const MAX_TEXT: usize = 300;
/// Arguments, grants, files shown of one list.
const MAX_ITEMS: usize = 20;
/// Lines shown of a difference.
const MAX_LINES: usize = 200;

/// Where answers come from.
#[derive(Debug)]
pub(crate) enum Asks {
    /// From a person at the terminal.
    Person,
    /// From a file.
    Prepared(Vec<Prepared>),
}

impl Asks {
    pub(crate) fn new(file: Option<&PathBuf>) -> Result<Self, Failure> {
        match file {
            Some(path) => Ok(Self::Prepared(answers::read(path)?)),
            None => Ok(Self::Person),
        }
    }

    /// Has every open decision answered. Decisions that share a question are answered together.
    pub(crate) fn settle(
        &self,
        host: &Host,
        decisions: Vec<Decision>,
    ) -> Result<Vec<Decision>, Failure> {
        let mut settled = Vec::with_capacity(decisions.len());
        let mut answered: Vec<(String, std::vec::IntoIter<Decision>)> = Vec::new();
        for decision in decisions {
            let Decision::Open(question) = decision else {
                settled.push(decision);
                continue;
            };
            let known = answered.iter().position(|(id, _)| *id == question.id);
            let at = match known {
                Some(at) => at,
                None => {
                    let answers = self.answer(host, &question)?;
                    answered.push((question.id.clone(), answers.into_iter()));
                    answered.len() - 1
                }
            };
            settled.extend(answered[at].1.next());
        }
        Ok(settled)
    }

    fn answer(&self, host: &Host, question: &Question) -> Result<Vec<Decision>, Failure> {
        let decided = match self {
            Self::Prepared(all) => match answers::of(all, question) {
                Some(answer) => host.answer(&question.id, answer),
                None => host.decline(&question.id, "the answers hold none to it"),
            },
            Self::Person => match Terminal::open() {
                Some(mut terminal) => match ask(&mut terminal, question)? {
                    Said::Answer(answer) => host.answer(&question.id, answer),
                    Said::Nothing(why) => host.decline(&question.id, why),
                },
                None => host.decline(&question.id, "there is no terminal to ask at"),
            },
        };
        decided.map_err(|error| match error {
            AnswerError::Host(error) => error.into(),
            other => Failure::host(other.to_string()),
        })
    }
}

/// What a person made of a question.
enum Said {
    Answer(Answer),
    Nothing(&'static str),
}

fn ask(terminal: &mut Terminal, question: &Question) -> Result<Said, Failure> {
    let patience = Duration::from_secs(question.timeout_seconds);
    terminal.print(&text(question))?;
    let change = question.change.as_ref();
    let can_compare = change.is_some_and(|change| change.sources.is_some());
    let until = std::time::Instant::now() + patience;
    loop {
        let options = options(question, can_compare);
        let left = until.saturating_duration_since(std::time::Instant::now());
        let line = match terminal.hear(&options, left)? {
            Heard::Line(line) => line,
            Heard::Interrupted => return Ok(Said::Answer(Answer::No)),
            Heard::Nothing => return Ok(Said::Nothing("nobody answered in time")),
        };
        return Ok(Said::Answer(match line.as_str() {
            "y" | "Y" | "yes" => Answer::YesOnce,
            "s" | "S" => Answer::YesInSession,
            "d" | "D" if can_compare => {
                if let Some(change) = change {
                    terminal.print(&difference(change))?;
                }
                continue;
            }
            // Whatever is unclear is no.
            _ => Answer::No,
        }));
    }
}

/// The question as it is shown.
fn text(question: &Question) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        text.push_str(&format!("  {name:<9} {value}\n"));
    };
    let skill = shown(&question.skill);
    let is_command = question.skill.is_empty();
    if !is_command {
        line(
            "skill",
            &format!("{skill}: {}", shown(&question.description)),
        );
        line("", &shown(&question.skill_path));
    }
    for script in question.scripts.iter().take(MAX_ITEMS) {
        let hash = script.sha256.get(..16).unwrap_or_default();
        let (name, what) = match is_command {
            true => ("command", &script.path),
            false => ("script", &script.script),
        };
        line(name, &format!("{} (sha256 {hash}…)", shown(what)));
        if !script.description.is_empty() {
            line("", &shown(&script.description));
        }
        if !script.args.is_empty() {
            line("arguments", &arguments(&script.args));
        }
    }
    more(question.scripts.len(), |count| {
        line("", &format!("… and {count} more scripts"))
    });
    let mut name = "may";
    if let Some(workspace) = &question.workspace {
        line(
            name,
            &format!("read and change everything in {}", shown(workspace)),
        );
        name = "";
    }
    for grant in question.grants.iter().take(MAX_ITEMS) {
        line(name, &in_words(grant));
        name = "";
    }
    more(question.grants.len(), |count| {
        line("", &format!("… and {count} grants more"))
    });
    if name == "may" {
        line(
            name,
            match is_command {
                true => "touch nothing but a scratch directory",
                false => "touch nothing but the skill, read-only, and a scratch directory",
            },
        );
    }
    match &question.change {
        Some(change) => changes(change, &mut line),
        None if question.content_hash.is_none() => {
            line("note", "the skill is too large to remember a yes for it");
        }
        None => {}
    }
    let what = match question.scripts.as_slice() {
        [one] if is_command => format!("the command `{}`", shown(&one.script)),
        [one] => format!("`{}` of skill `{skill}`", shown(&one.script)),
        many => format!("{} scripts of skill `{skill}`", many.len()),
    };
    format!("\nskillrun: may {what} run?\n{text}")
}

fn changes(change: &Change, line: &mut impl FnMut(&str, &str)) {
    let since = shown(&change.since);
    if change.files.is_empty() {
        line(
            "before",
            &format!("approved at {since}, and unchanged since"),
        );
    } else {
        line("CHANGED", &format!("since the yes of {since}:"));
    }
    for file in change.files.iter().take(MAX_ITEMS) {
        line("", &format!("{} {}", file.how, shown(&file.path)));
    }
    more(change.files.len(), |count| {
        line("", &format!("… and {count} more files"))
    });
    for grant in change.more_grants.iter().take(MAX_ITEMS) {
        line("", &format!("asks for more: {}", shown(grant)));
    }
}

fn options(question: &Question, can_compare: bool) -> String {
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
    let compare = if can_compare {
        "  [d] show what changed"
    } else {
        ""
    };
    format!("  {yes}\n  {session}\n  [n] no{compare}\n> ")
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

fn arguments(args: &[String]) -> String {
    let mut all: Vec<String> = args
        .iter()
        .take(MAX_ITEMS)
        .map(|arg| format!("{:?}", Shown(arg)))
        .collect();
    more(args.len(), |count| all.push(format!("… and {count} more")));
    all.join(" ")
}

/// A text in quotes, cut and escaped.
struct Shown<'a>(&'a str);

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", shown(self.0).replace('"', "\\\""))
    }
}

fn shown(text: &str) -> String {
    let mut cut: String = text.chars().take(MAX_TEXT).collect();
    let count = text.chars().count();
    cut = skillrun::show_name(&cut);
    if count > MAX_TEXT {
        cut.push_str(&format!("… ({count} characters)"));
    }
    cut
}

fn more(count: usize, mut tell: impl FnMut(usize)) {
    if count > MAX_ITEMS {
        tell(count - MAX_ITEMS);
    }
}

/// The script then and now, line by line.
fn difference(change: &Change) -> String {
    let Some((before, now)) = &change.sources else {
        return String::new();
    };
    let compared = similar::TextDiff::from_lines(before, now);
    let mut lines = Vec::new();
    for group in compared.grouped_ops(3) {
        lines.push("  ···".to_owned());
        for operation in group {
            for line in compared.iter_changes(&operation) {
                let text = line.value().trim_end_matches(['\n', '\r']);
                lines.push(format!("  {} {}", line.tag(), shown(text)));
            }
        }
    }
    let count = lines.len();
    lines.truncate(MAX_LINES);
    if count > MAX_LINES {
        lines.push(format!("  … and {} lines more", count - MAX_LINES));
    }
    lines.join("\n") + "\n"
}

/// Tells whoever cannot be asked what would help.
pub(crate) fn tell_refused(decisions: &[Decision]) {
    for decision in decisions {
        if let Decision::Refused(refusal) = decision {
            say(refusal.word(), &refusal.message);
            if let Some(hint) = &refusal.hint {
                say("hint", hint);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_would_steer_a_terminal_are_shown_as_what_they_are() {
        assert_eq!(
            shown("a\u{1b}[2Jb\u{202e}c\nd"),
            "a\\u{1b}[2Jb\\u{202e}c\\nd"
        );
        let long = shown(&"x".repeat(1000));
        assert!(long.ends_with("x… (1000 characters)"), "{long}");
        assert_eq!(
            arguments(&["a b".into(), "\"; rm".into()]),
            "\"a b\" \"\\\"; rm\""
        );
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
            difference(&change),
            "  ···\n    a\n  - b\n  + B\\u{7}\n    c\n"
        );
    }
}
