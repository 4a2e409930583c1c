//! What a script will meet here, told without running it: its runtime, its imports, the grants it will
//! probably want.

use super::facts::Facts;
use super::resolve::Place;
use super::rules::{self, Rule};
use super::{javascript, python, shell};
use crate::files::show;
use crate::grant::Grant;
use crate::skill::{Language, Script};
use cap_std::fs::Dir;
use std::path::Path;

/// What a script will meet here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// The script, by its path in the skill.
    pub script: String,
    /// The language it is written in.
    pub language: Language,
    /// What will execute it.
    pub runtime: Runtime,
    /// What it imports, in the order of its source.
    pub imports: Vec<Import>,
    /// What it will probably want, in a fixed order.
    pub wants: Vec<Want>,
}

/// What will execute a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// An interpreter compiled to WebAssembly.
    Wasm,
    /// An interpreter of this machine, confined.
    Native,
    /// Nothing: its language does not run here.
    None,
}

impl Runtime {
    /// The word for it, everywhere.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Native => "native",
            Self::None => "none",
        }
    }
}

/// Something a script imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The module, as the script names it.
    pub name: String,
    /// Where it is imported first.
    pub line: usize,
    /// Where it comes from.
    pub state: Resolved,
    /// The script goes on without it.
    pub optional: bool,
    /// Why it is not all there, if it is not.
    pub why: Option<String>,
}

/// Where an import comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolved {
    /// The library of the language.
    Library,
    /// The library of the language, where a part of it is an error at its first use.
    Limited,
    /// A file of the skill.
    Skill,
    /// A package that the skill brings along.
    Package,
    /// The library of the language has it and the sandbox does not.
    Absent,
    /// A package that needs native code.
    Native,
    /// Nowhere.
    Missing,
}

impl Resolved {
    /// The word for it, everywhere.
    pub fn word(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Limited => "limited",
            Self::Skill => "skill",
            Self::Package => "package",
            Self::Absent => "absent",
            Self::Native => "native",
            Self::Missing => "missing",
        }
    }
}

/// A grant that a script will probably want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The grant; nothing where its kind is plain and its value cannot be told.
    pub grant: Option<Grant>,
    /// Where the source says so.
    pub line: usize,
    /// What the source does there.
    pub why: String,
}

/// What is wrong or good to know, and in which line.
pub(super) type Remark = (&'static Rule, String, usize);

/// Reads one script and tells what it will meet.
pub(super) fn preflight(
    root: &Dir,
    scripts: &[Script],
    script: &Script,
    source: &str,
) -> (Preflight, Vec<Remark>) {
    let language = script.language();
    let facts = match language {
        Language::Python => python::facts(source),
        Language::JavaScript => javascript::facts(source),
        Language::Bash => shell::facts(source),
        _ => Facts::default(),
    };
    let place = Place {
        root,
        scripts,
        folder: Path::new(script.path()).parent().unwrap_or(Path::new("")),
        facts: &facts,
    };
    let imports: Vec<Import> = facts
        .imports
        .iter()
        .map(|import| match language {
            Language::Python => place.python(import),
            _ => place.javascript(import),
        })
        .collect();
    let native = imports
        .iter()
        .find(|import| import.state == Resolved::Native && !import.optional);
    let runtime = match language {
        Language::PowerShell | Language::Batch => Runtime::None,
        _ if !language.has_wasm() || native.is_some() => Runtime::Native,
        _ => Runtime::Wasm,
    };
    // What the sandbox lacks does not matter outside of it.
    let matters = |import: &&Import| {
        let lacks = matches!(import.state, Resolved::Limited | Resolved::Absent);
        runtime == Runtime::Wasm || !lacks
    };
    let mut remarks: Vec<Remark> = imports.iter().filter(matters).filter_map(remark).collect();
    if runtime == Runtime::None {
        let message = format!("{} does not run here", language.word());
        remarks.push((&rules::RUNTIME_NONE, message, 1));
    }
    let wants = wants(&facts, language, native, runtime);
    remarks.extend(wants.iter().map(|want| {
        let grant = want.grant.as_ref().map(|grant| format!("`{grant}`: "));
        let message = format!("probably wants {}{}", grant.unwrap_or_default(), want.why);
        (&rules::GRANT_WANTED, message, want.line)
    }));
    let preflight = Preflight {
        script: script.path().to_owned(),
        language,
        runtime,
        imports,
        wants,
    };
    (preflight, remarks)
}

fn remark(import: &Import) -> Option<Remark> {
    let name = show(&import.name);
    let (rule, message) = match import.state {
        Resolved::Library | Resolved::Skill | Resolved::Package => return None,
        Resolved::Limited => (
            &rules::IMPORT_LIMITED,
            format!(
                "`{name}` can be imported, but {}",
                import.why.as_deref().unwrap_or("not all of it works")
            ),
        ),
        Resolved::Absent => (
            &rules::IMPORT_ABSENT,
            format!(
                "`{name}` is not in the sandbox: {}",
                import.why.as_deref().unwrap_or("it was left out")
            ),
        ),
        Resolved::Native => (
            &rules::IMPORT_NATIVE,
            format!(
                "`{name}` needs native code: the script runs only where it is installed, with `native` granted"
            ),
        ),
        Resolved::Missing if name.starts_with('.') => (
            &rules::IMPORT_MISSING,
            format!("`{name}` is not in the skill"),
        ),
        Resolved::Missing => (
            &rules::IMPORT_MISSING,
            format!(
                "`{name}` is neither in the skill nor in the library of the language, and nothing is installed"
            ),
        ),
    };
    let remark = if import.optional && rule.level == super::Level::Warning {
        let rule = &rules::IMPORT_OPTIONAL;
        (
            rule,
            format!("{message}; the script goes on without it"),
            import.line,
        )
    } else {
        (rule, message, import.line)
    };
    Some(remark)
}

/// Variables that every script has.
const OURS: [&str; 11] = [
    "SKILL_NAME",
    "SKILL_BASE_DIR",
    "SKILL_VERSION",
    "SKILLKIT_VERSION",
    "SKILLRUN_VERSION",
    "HOME",
    "TMPDIR",
    "PATH",
    "LANG",
    "TZ",
    "PWD",
];

fn wants(
    facts: &Facts,
    language: Language,
    native: Option<&Import>,
    runtime: Runtime,
) -> Vec<Want> {
    let mut wants = Vec::new();
    let mut want = |grant: Option<Grant>, line: usize, why: String| {
        wants.push(Want { grant, line, why });
    };
    if let Some(import) = native {
        let why = format!("it imports `{}`", show(&import.name));
        want(Some(Grant::Native), import.line, why);
    }
    if matches!(language, Language::Ruby | Language::Perl) {
        let name = language.interpreter();
        let grant = Grant::Interpreter(name.into());
        want(
            Some(grant),
            1,
            format!("it is written in {}", language.word()),
        );
    }
    if let Some(line) = facts.network {
        // Nothing on the machine tells hosts apart for a native script.
        let whole = match runtime {
            Runtime::Native => ", which a native script gets by `net:*` alone",
            _ => "",
        };
        for ((host, port), line) in &facts.hosts {
            let grant = Grant::Net(host.clone(), *port);
            want(
                Some(grant),
                *line,
                format!("its source names that host{whole}"),
            );
        }
        if facts.hosts.is_empty() {
            let why = format!("the network, with hosts that its source does not tell{whole}");
            want(None, line, why);
        }
    }
    for (name, line) in &facts.env {
        if !OURS.contains(&name.as_str()) && !facts.set.contains(name) {
            let why = "it reads that variable".to_owned();
            want(Some(Grant::Env(name.clone())), *line, why);
        }
    }
    for (name, line) in &facts.commands {
        match name.as_str() {
            "" => want(
                None,
                *line,
                "a command that its source does not tell".into(),
            ),
            name => {
                let why = "it starts that command".to_owned();
                want(Some(Grant::Run(name.to_owned())), *line, why);
            }
        }
    }
    wants
}
