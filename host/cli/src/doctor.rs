//! `skillrun doctor`: what this machine offers and what would be used, found out by trying.

use crate::args::Doctor;
use crate::failure::Failure;
use crate::{places, runtimes};
use serde_json::json;
use skillrun::{Decision, Host, Policy, Request, Skill};
use std::io::Write as _;
use std::sync::Arc;

/// One thing that was looked at.
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
    let policy = match places::policy(
        args.policy.as_deref(),
        &args.skills,
        places::Untrusted::default(),
    ) {
        Ok(policy) => {
            let source = policy.source().map(|path| path.display().to_string());
            let text = source.unwrap_or_else(|| "none: the empty policy grants nothing".into());
            findings.push(Finding {
                name: "policy",
                good: true,
                text,
            });
            policy
        }
        Err(failure) => {
            findings.push(Finding {
                name: "policy",
                good: false,
                text: failure.message,
            });
            Policy::default()
        }
    };
    let library = places::library(&args.skills.folders);
    let folders: Vec<_> = library
        .folders()
        .iter()
        .filter(|folder| folder.is_dir())
        .map(|folder| folder.display().to_string())
        .collect();
    let text = if folders.is_empty() {
        "no folder of the search path is there".into()
    } else {
        folders.join(", ")
    };
    findings.push(Finding {
        name: "skills",
        good: true,
        text,
    });

    let host = places::host(&policy, &args.skills)?;
    findings.push(Finding {
        name: "audit log",
        good: true,
        text: places::audit()?.display().to_string(),
    });
    let (good, text) = match host.approvals().list() {
        Ok(all) => (
            true,
            format!("{} in {}", all.len(), places::approvals()?.display()),
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
        runtimes::prepare_all(&host).await?;
        let mut found = Vec::new();
        for probe in PROBES {
            found.push((probe.name, try_out(&host, &probe).await));
        }
        Ok::<_, Failure>(found)
    })?;
    for state in host.runtimes_state()? {
        let kept = if state.prepared {
            "kept in"
        } else {
            "not kept in"
        };
        findings.push(Finding {
            name: "cache",
            good: state.prepared,
            text: format!("{kept} {}", state.file.display()),
        });
    }
    findings.extend(native(&host));
    for (name, held) in probes {
        let (good, text) = match held {
            Ok(text) => (true, text),
            Err(failure) => (false, failure.message),
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
        writeln!(out, "{}", json!({"good": all_good, "findings": all}))?;
    } else {
        for Finding { name, good, text } in findings {
            writeln!(
                out,
                "{} {name:<10} {text}",
                if good { "ok  " } else { "FAIL" }
            )?;
        }
    }
    Ok(u8::from(!all_good))
}

/// What this machine offers to native scripts.
fn native(host: &Host) -> Vec<Finding> {
    let state = host.native_state();
    let mut findings = Vec::new();
    let mut find = |name, good, text| findings.push(Finding { name, good, text });
    match state.backend {
        Some(backend) => {
            find("native", true, format!("scripts are held by {backend}"));
            for reason in &state.reasons {
                find("native", true, format!("weaker than it could be: {reason}"));
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

/// A script that tries to get out.
struct Probe {
    name: &'static str,
    file: &'static str,
    source: &'static str,
}

/// Runs a script that tries to get out, and tells what held it.
async fn try_out(host: &Host, probe: &Probe) -> Result<String, Failure> {
    let folder = tempfile::tempdir()?;
    std::fs::write(
        folder.path().join("SKILL.md"),
        "---\nname: probe\ndescription: Probes the sandbox.\n---\n",
    )?;
    std::fs::write(folder.path().join(probe.file), probe.source)?;
    let skill = Arc::new(Skill::load(folder.path())?);
    let request = Request::typed(&skill, probe.file);
    let permit = match host.decide(&Policy::default(), request)? {
        Decision::Permitted(permit) => permit,
        Decision::Refused(refusal) => return Err(refusal.into()),
        other => return Err(Failure::host(format!("unknown decision {other:?}"))),
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
    print('CPython', sys.version.split()[0], 'runs and is held')
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
const held = (attempt) => {
  try {
    attempt();
    return false;
  } catch {
    return true;
  }
};
if (!held(() => readFileSync('/etc/passwd'))) open('/etc/passwd can be read');
if (!held(() => readdirSync('/'))) open('/ can be read');
if (!held(() => appendFileSync(import.meta.filename, ''))) open('the skill can be written');
console.log('QuickJS, as Node', process.version, 'runs and is held');
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
echo \"bash ${BASH_VERSION%%[^0-9.]*} runs and is held\"
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
