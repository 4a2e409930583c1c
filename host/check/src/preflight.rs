//! What a script needs from skillrun, found without running it: its runtime, its imports, the grants it probably needs.

use super::facts::Facts;
use super::resolve::{Context, Import, Resolved};
use super::rules::{self, Rule};
use super::{javascript, python, shell};
use cap_std::fs::Dir;
use skillrun_skill::text::show;
use skillrun_skill::{Grant, Language, OWN_VARIABLES, Script};
use std::path::Path;

/// What a script needs from skillrun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// The script, by its path in the skill.
    pub script: String,
    /// The language it is written in.
    pub language: Language,
    /// What executes it.
    pub runtime: Runtime,
    /// What it imports, in the order of its source.
    pub imports: Vec<Import>,
    /// The grants it probably needs, in a fixed order.
    pub wants: Vec<Want>,
}

/// What executes a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// An interpreter compiled to WebAssembly.
    Wasm,
    /// An interpreter of this machine, confined.
    Native,
    /// Nothing: skillrun cannot run its language.
    None,
}

impl Runtime {
    /// Its name in every output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Native => "native",
            Self::None => "none",
        }
    }
}

/// A grant that a script probably needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The grant; `None` where its kind is known but its value is not.
    pub grant: Option<Grant>,
    /// The line of the source.
    pub line: usize,
    /// What the source does there.
    pub why: String,
}

/// A finding in a script: its rule, message and line.
pub(super) type ScriptFinding = (&'static Rule, String, usize);

/// Reads one script and finds what it needs.
pub(super) fn preflight(
    root: &Dir,
    scripts: &[Script],
    script: &Script,
    source: &str,
) -> (Preflight, Vec<ScriptFinding>) {
    let language = script.language();
    let facts = match language {
        Language::Python => python::facts(source),
        Language::JavaScript => javascript::facts(source),
        Language::Bash => shell::facts(source),
        _ => Facts::default(),
    };
    let context = Context {
        root,
        scripts,
        folder: Path::new(script.path()).parent().unwrap_or(Path::new("")),
        facts: &facts,
    };
    let imports: Vec<Import> = facts
        .imports
        .iter()
        .map(|import| match language {
            Language::Python => context.python(import),
            _ => context.javascript(import),
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
    // A native script does not use the sandbox's standard library.
    let matters = |import: &&Import| {
        let limited = matches!(import.state, Resolved::Limited | Resolved::Absent);
        runtime == Runtime::Wasm || !limited
    };
    let mut findings: Vec<ScriptFinding> = imports
        .iter()
        .filter(matters)
        .filter_map(import_finding)
        .collect();
    if runtime == Runtime::None {
        let message = format!("skillrun cannot run {} scripts", language.word());
        findings.push((&rules::RUNTIME_NONE, message, 1));
    }
    let wants = wants(&facts, language, native, runtime);
    findings.extend(wants.iter().map(|want| {
        let grant = want.grant.as_ref().map(|grant| format!("`{grant}`: "));
        let message = format!("probably needs {}{}", grant.unwrap_or_default(), want.why);
        (&rules::GRANT_WANTED, message, want.line)
    }));
    let preflight = Preflight {
        script: script.path().to_owned(),
        language,
        runtime,
        imports,
        wants,
    };
    (preflight, findings)
}

fn import_finding(import: &Import) -> Option<ScriptFinding> {
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
                "`{name}` is not available in the sandbox: {}",
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
                "`{name}` is neither in the skill nor in the standard library, and no packages are installed"
            ),
        ),
    };
    let finding = if import.optional && rule.level == super::Level::Warning {
        let rule = &rules::IMPORT_OPTIONAL;
        (
            rule,
            format!("{message}; the script can run without it"),
            import.line,
        )
    } else {
        (rule, message, import.line)
    };
    Some(finding)
}

/// Whether every script has this environment variable.
fn is_always_set(name: &str) -> bool {
    OWN_VARIABLES.contains(&name) || ["TZ", "PWD"].contains(&name)
}

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
        // Native confinement cannot tell hosts apart.
        let only_all = match runtime {
            Runtime::Native => "; a native script gets network access only with `net:*`",
            _ => "",
        };
        for ((host, port), line) in &facts.hosts {
            let grant = Grant::Net(host.clone(), *port);
            want(
                Some(grant),
                *line,
                format!("its source names this host{only_all}"),
            );
        }
        if facts.hosts.is_empty() {
            let why = format!("network access to hosts that its source does not name{only_all}");
            want(None, line, why);
        }
    }
    for (name, line) in &facts.env {
        if !is_always_set(name) && !facts.set.contains(name) {
            let why = "it reads this variable".to_owned();
            want(Some(Grant::Env(name.clone())), *line, why);
        }
    }
    for (name, line) in &facts.commands {
        match name.as_str() {
            "" => want(
                None,
                *line,
                "a command that its source does not name".into(),
            ),
            name => {
                let why = "it starts this command".to_owned();
                want(Some(Grant::Run(name.to_owned())), *line, why);
            }
        }
    }
    wants
}
