//! A platform with two customers: each has its own policy, skills and quota.
//!
//! `cargo run --release --example platform` runs it. It creates everything it needs in a temporary directory.

use skillrun::approval::Approver;
use skillrun::running::RunEvent;
use skillrun::tenant::{Quota, Tenant, TenantSettings};
use skillrun::{
    Answer, Approvals, AuditLog, Decision, Host, Permit, Policy, Request, RunError, Settings,
};
use std::error::Error;
use std::path::Path;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let root = directory.path();
    write_skills(root)?;
    let host = Host::new(Settings {
        cache: root.join("cache"),
        audit: AuditLog::file(root.join("audit.jsonl")),
        approvals: Approvals::file(root.join("approvals.db")),
        protected: vec![],
        slots: Some(4),
        workers: Default::default(),
    });
    println!("compiling the interpreters");
    host.prepare().await?;

    // Acme is asked before a script runs for the first time. Globex trusts its skills, and may run one at a time.
    let acme = host.tenant("acme");
    acme.configure(TenantSettings {
        policy: Policy::parse("approval = \"first-run\"", root)?,
        skill_dirs: vec![root.join("acme/skills")],
        audit_fields: [("plan".into(), "pro".into())].into(),
        ..TenantSettings::default()
    })?;
    let globex = host.tenant("globex");
    globex.configure(TenantSettings {
        policy: Policy::parse("approval = \"never\"\n[limits]\ntime = \"5s\"", root)?,
        skill_dirs: vec![root.join("globex/skills")],
        quota: Quota {
            running: Some(1),
            waiting: 0,
            ..Quota::default()
        },
        ..TenantSettings::default()
    })?;

    ask_a_person(&acme, root).await?;
    stream_output(&globex).await?;
    cancel_and_refuse(&globex).await?;
    println!("\nthe audit log has a line for each step:");
    for line in std::fs::read_to_string(root.join("audit.jsonl"))?.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        println!("  {} {} {}", line["tenant"], line["event"], line["script"]);
    }
    Ok(())
}

/// Acme's policy asks a person. The answer comes from another task, as it would from a web page.
async fn ask_a_person(acme: &Tenant, root: &Path) -> Result<()> {
    println!("\nacme: ask a person");
    let workspace = root.join("acme/workspace");
    std::fs::create_dir_all(&workspace)?;
    let skill = acme.skill("report").await?;
    let request = Request {
        workspace: Some(workspace.into()),
        ..Request::new(&skill, "write.py")
    };
    let Decision::Pending(question) = acme.decide(request).await? else {
        return Err("nobody was asked".into());
    };
    let operator = tokio::spawn({
        let acme = acme.clone();
        async move {
            for open in acme.questions().await? {
                println!(
                    "  may skill `{}` run {:?}?",
                    open.skill, open.scripts[0].script
                );
                let approver = Approver::new("alice@acme.example", "web");
                let answer = acme.record_answer(&open.id, Answer::YesOnce, approver);
                answer.await?;
            }
            Ok::<_, skillrun::AnswerError>(())
        }
    });
    // The answer may also come from another process with the same approvals file.
    let permits = acme.answered(&question.id).await?;
    operator.await??;
    for permit in permits {
        let outcome = acme.run(permit?).await?;
        println!(
            "  exit code {}: {}",
            outcome.exit_code,
            outcome.stdout.trim()
        );
        for file in outcome.artifacts {
            println!(
                "  {:?} {} ({} bytes)",
                file.change,
                file.path,
                file.bytes.unwrap_or_default()
            );
        }
        for denial in outcome.denied {
            println!("  denied {} ×{}", denial.grant, denial.count);
        }
    }
    Ok(())
}

/// Globex sees output while the script writes it.
async fn stream_output(globex: &Tenant) -> Result<()> {
    println!("\nglobex: stream the output");
    let skill = globex.skill("counter").await?;
    let request = Request {
        args: vec!["3".into()],
        ..Request::new(&skill, "count.js")
    };
    let mut run = globex.start(permitted(globex.decide(request).await?)?)?;
    while let Some(event) = run.next_event().await {
        match event {
            RunEvent::Stdout(bytes) => print!("  {}", String::from_utf8_lossy(&bytes)),
            other => println!("  {other:?}"),
        }
    }
    let outcome = run.wait().await?;
    println!("  {} instructions", outcome.usage.fuel.unwrap_or_default());
    Ok(())
}

/// A run that never ends is cancelled. While it runs, the quota of Globex is used up.
async fn cancel_and_refuse(globex: &Tenant) -> Result<()> {
    println!("\nglobex: cancel a run");
    let skill = globex.skill("counter").await?;
    let decide = || globex.decide(Request::new(&skill, "forever.js"));
    let mut endless = globex.start(permitted(decide().await?)?)?;
    while let Some(event) = endless.next_event().await {
        if event == RunEvent::Started {
            break;
        }
    }
    match globex.run(permitted(decide().await?)?).await {
        Err(RunError::Refused(refusal)) => println!("  {refusal}"),
        other => return Err(format!("the quota did not hold: {other:?}").into()),
    }
    endless.cancel();
    println!("  {:?}", endless.wait().await?.status);
    Ok(())
}

fn permitted(decision: Decision) -> Result<Permit> {
    match decision {
        Decision::Permitted(permit) => Ok(permit),
        Decision::Pending(question) => Err(format!("a person must be asked: {question:?}").into()),
        Decision::Refused(refusal) => Err(refusal.into()),
    }
}

fn write_skills(root: &Path) -> Result<()> {
    let report = "open('report.txt', 'w').write('done')\n\
                  try: open('/etc/hosts')\n\
                  except OSError as error: print(error)\n";
    let files = [
        ("acme/skills/report", "write.py", report),
        (
            "globex/skills/counter",
            "count.js",
            "for (let i = 1; i <= Number(process.argv[2]); i++) console.log(i)\n",
        ),
        ("globex/skills/counter", "forever.js", "for (;;);\n"),
    ];
    for (skill, script, source) in files {
        let skill = root.join(skill);
        let name = skill.file_name().unwrap_or_default().to_string_lossy();
        let document = format!("---\nname: {name}\ndescription: An example.\n---\n");
        std::fs::create_dir_all(skill.join("scripts"))?;
        std::fs::write(skill.join("SKILL.md"), document)?;
        std::fs::write(skill.join("scripts").join(script), source)?;
    }
    Ok(())
}
