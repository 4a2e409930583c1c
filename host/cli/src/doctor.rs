//! `skillrun doctor`: what this machine supports and what runs would use. It probes instead of assuming.

use crate::args::Doctor;
use crate::failure::{Failure, ignore_closed_pipe};
use crate::{paths, runtimes};
use serde_json::json;
use skillrun::runtime::Workers;
use skillrun::{Decision, Host, Policy, Request, Skill};
use std::io::Write as _;
use std::sync::Arc;

/// One thing that was checked.
struct Finding {
    name: &'static str,
    good: bool,
    text: String,
}

pub(crate) fn doctor(args: &Doctor) -> Result<u8, Failure> {
    let mut findings = vec![Finding {
        name: "skillrun",
        good: true,
        text: env!("CARGO_PKG_VERSION").into(),
    }];
    let policy = match paths::policy(
        args.policy.as_deref(),
        &args.skills,
        paths::Untrusted::default(),
    ) {
        Ok(policy) => {
            let source = policy.source().map(|path| path.display().to_string());
            let text = source.unwrap_or_else(|| "none: the empty policy grants nothing".into());
            findings.push(Finding {
                name: "policy",
                good: true,
                text,
            });
            findings.extend(policy.ceilings().iter().map(|ceiling| {
                let source = ceiling.source().map(|path| path.display().to_string());
                let text = format!(
                    "{}: flags and other policies can only narrow it",
                    source.unwrap_or_default()
                );
                Finding {
                    name: "ceiling",
                    good: true,
                    text,
                }
            }));
            policy
        }
        Err(failure) => {
            findings.push(Finding {
                name: "policy",
                good: false,
                text: with_hint(failure),
            });
            Policy::default()
        }
    };
    let library = paths::library(&args.skills.folders)?;
    let folders: Vec<_> = library
        .folders()
        .iter()
        .filter(|folder| folder.is_dir())
        .map(|folder| folder.display().to_string())
        .collect();
    let text = if folders.is_empty() {
        "none of the skill directories exists".into()
    } else {
        folders.join(", ")
    };
    findings.push(Finding {
        name: "skills",
        good: true,
        text,
    });

    let host = paths::host(&policy, &args.skills)?;
    let (good, text) = match host.blocking().check_audit() {
        Ok(()) => (true, paths::audit_log()?.display().to_string()),
        Err(error) => (false, with_hint(error.into())),
    };
    findings.push(Finding {
        name: "audit log",
        good,
        text,
    });
    let (good, text) = match host.blocking().approvals() {
        Ok(all) => (
            true,
            format!("{} in {}", all.len(), paths::approvals()?.display()),
        ),
        Err(error) => (false, error.to_string()),
    };
    findings.push(Finding {
        name: "approvals",
        good,
        text,
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let probes = runtime.block_on(async {
        // The findings below include what could not be stored.
        runtimes::prepare_all(&host).await?;
        let mut found = Vec::new();
        for probe in PROBES {
            found.push((probe.name, run_probe(&host, &probe).await));
        }
        Ok::<_, Failure>(found)
    })?;
    for state in host.blocking().runtimes_state()? {
        let good = state.prepared && state.file.is_file();
        let stored = match good {
            true => "stored in",
            false => "not stored in",
        };
        findings.push(Finding {
            name: "cache",
            good,
            text: format!("{stored} {}", state.file.display()),
        });
    }
    findings.extend(native(&host));
    findings.push(Finding {
        name: "workers",
        good: true,
        text: match Workers::probe() {
            Ok(wall) => match wall.without_namespaces {
                None => "confined by namespaces, landlock and seccomp".into(),
                Some(why) => {
                    format!("one for each run, confined by landlock and seccomp, without namespaces: {why}")
                }
            },
            Err(error) => format!("not used, guests run in this process: {error}"),
        },
    });
    for (name, result) in probes {
        let (good, text) = match result {
            Ok(text) => (true, text),
            Err(failure) => (false, with_hint(failure)),
        };
        findings.push(Finding { name, good, text });
    }

    let all_good = findings.iter().all(|finding| finding.good);
    let mut out = std::io::stdout().lock();
    if args.json {
        let all: Vec<_> = findings
            .iter()
            .map(
                |finding| json!({"name": finding.name, "good": finding.good, "text": finding.text}),
            )
            .collect();
        let object = json!({"good": all_good, "findings": all});
        ignore_closed_pipe(writeln!(out, "{object}"))?;
    } else {
        let mut each = findings.iter();
        ignore_closed_pipe(each.try_for_each(|Finding { name, good, text }| {
            let word = if *good { "ok  " } else { "FAIL" };
            writeln!(out, "{word} {name:<10} {text}")
        }))?;
    }
    Ok(u8::from(!all_good))
}

/// A failure's message, and its hint if it has one.
fn with_hint(failure: Failure) -> String {
    match failure.hint {
        Some(hint) => format!("{}; hint: {hint}", failure.message),
        None => failure.message,
    }
}

/// What this machine supports for native scripts.
fn native(host: &Host) -> Vec<Finding> {
    let state = host.blocking().native_state();
    let mut findings = Vec::new();
    let mut find = |name, good, text| findings.push(Finding { name, good, text });
    match state.backend {
        Some(backend) => {
            find("native", true, format!("scripts are confined by {backend}"));
            for reason in &state.reasons {
                find(
                    "native",
                    true,
                    format!("not the strongest backend: {reason}"),
                );
            }
        }
        None => {
            let reasons = state.reasons.join("; ");
            find("native", false, format!("scripts are refused: {reasons}"));
        }
    }
    let mut interpreters: Vec<String> = state
        .interpreters
        .iter()
        .map(|(_, path)| path.display().to_string())
        .collect();
    interpreters.extend(state.missing.iter().map(|name| format!("no {name}")));
    find("programs", true, interpreters.join(", "));
    findings
}

/// A script that tests a runtime. All but the TypeScript one try to escape.
struct Probe {
    name: &'static str,
    file: &'static str,
    source: &'static str,
}

/// Runs a script that tries to escape. Returns the layers and limits that confined it.
async fn run_probe(host: &Host, probe: &Probe) -> Result<String, Failure> {
    let folder = tempfile::tempdir()?;
    std::fs::write(
        folder.path().join("SKILL.md"),
        "---\nname: probe\ndescription: Probes the sandbox.\n---\n",
    )?;
    std::fs::write(folder.path().join(probe.file), probe.source)?;
    let skill = Arc::new(Skill::load(folder.path())?);
    let request = Request::typed(&skill, probe.file);
    let permit = match host.decide(&Policy::default(), request).await? {
        Decision::Permitted(permit) => permit,
        Decision::Refused(refusal) => return Err(refusal.into()),
        // What a person types needs no other approval.
        Decision::Pending(_) => {
            return Err(Failure::host("the request still waits for an approval"));
        }
    };
    let outcome = host.run(permit).await?;
    if !outcome.success {
        return Err(Failure::host(outcome.stderr));
    }
    let limits = outcome.isolation.limits;
    Ok(format!(
        "{}; layers {}; time {}, memory {}, disk {}, processes {}",
        outcome.stdout.trim(),
        outcome.isolation.layers.join(" + "),
        limits.time.word(),
        limits.memory.word(),
        limits.disk.word(),
        limits.processes.word()
    ))
}

const PROBES: [Probe; 4] = [
    Probe {
        name: "python",
        file: "probe.py",
        source: "\
import os, sys
for path in ('/etc/passwd', '/', os.path.expanduser('~/..')):
    try:
        os.listdir(path) if path.endswith('/') or path.endswith('..') else open(path).read()
    except OSError:
        continue
    sys.exit(f'the sandbox is open: {path} can be read')
try:
    open(__file__, 'a')
except OSError:
    print('CPython', sys.version.split()[0], 'runs and is confined')
else:
    sys.exit('the sandbox is open: the skill can be written')
",
    },
    Probe {
        name: "javascript",
        file: "probe.mjs",
        source: "\
import { appendFileSync, readFileSync, readdirSync } from 'node:fs';
const open = (what) => {
  console.error(`the sandbox is open: ${what}`);
  process.exit(1);
};
const fails = (attempt) => {
  try {
    attempt();
    return false;
  } catch {
    return true;
  }
};
if (!fails(() => readFileSync('/etc/passwd'))) open('/etc/passwd can be read');
if (!fails(() => readdirSync('/'))) open('/ can be read');
if (!fails(() => appendFileSync(import.meta.filename, ''))) open('the skill can be written');
console.log('QuickJS, as Node', process.version, 'runs and is confined');
",
    },
    Probe {
        name: "bash",
        file: "probe.sh",
        source: "\
open() { echo \"the sandbox is open: $1\" >&2; exit 1; }
! : 2>/dev/null </etc/shadow || open '/etc/shadow can be read'
! : 2>/dev/null >>\"$0\" || open 'the skill can be written'
! : 2>/dev/null </dev/tcp/127.0.0.1/1 || open 'the network can be reached'
echo \"bash ${BASH_VERSION%%[^0-9.]*} runs and is confined\"
",
    },
    Probe {
        name: "typescript",
        file: "probe.ts",
        source: "\
enum Words { Runs = 'runs' }
const word: Words = Words.Runs;
console.log('TypeScript', word as string);
",
    },
];
