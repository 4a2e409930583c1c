//! JavaScript where a folder is not enough: streams that stay open, files too large to keep.

use crate::env::{SKILL_MD, TestEnv};
use crate::limits::is_stopped_while_nothing_reads;
use std::process::Stdio;

tests! {
    javascript_that_waits_for_input_that_never_comes_is_stopped_at_the_time_limit,
    javascript_that_waits_for_a_reader_that_never_reads_is_stopped_at_the_time_limit,
    javascript_ends_when_the_reader_of_its_output_goes_away,
    javascript_gets_its_input_as_it_comes,
    javascript_that_runs_out_of_memory_says_so_in_its_outcome,
}

fn env(script: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    env.write("skill/scripts/main.mjs", script);
    env
}

fn javascript_that_waits_for_input_that_never_comes_is_stopped_at_the_time_limit() {
    for wait in [
        "fs.readFileSync(0)",
        "fs.readSync(0, Buffer.alloc(1))",
        "process.stdin.on('data', (part) => console.log(part))",
        "process.stdin.on('readable', () => console.log(process.stdin.read()))",
        "process.stdin.resume()",
        "await fs.promises.readFile('/dev/stdin')",
        "for await (const line of readline.createInterface({ input: process.stdin })) console.log(line)",
    ] {
        let env = env(&format!(
            "import fs from 'node:fs';\nimport readline from 'node:readline';\nconsole.log('waits');\n{wait};\n"
        ));
        let mut command = env.command(&["run", "./skill", "main.mjs", "--timeout", "1s"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let held_open = child.stdin.take();
        let end = env.end_of_child(child);
        drop(held_open);
        assert_eq!(end.stdout, "waits\n", "{wait}");
        assert_eq!(
            end.stderr,
            "warning: `scripts/main.mjs` was stopped at its time limit of 1s (limits.time)\n\
             hint: raise limits.time with --timeout\n",
            "{wait}"
        );
        assert_eq!(end.code, 124, "{wait}");
        env.check_left_behind().unwrap();
    }
}

fn javascript_that_waits_for_a_reader_that_never_reads_is_stopped_at_the_time_limit() {
    let env = env("for (;;) console.log('x'.repeat(1000));\n");
    is_stopped_while_nothing_reads(&env, "main.mjs");
}

fn javascript_ends_when_the_reader_of_its_output_goes_away() {
    use std::io::{BufRead as _, BufReader};
    for (prints, code) in [
        ("for (;;) console.log('more')", 1),
        ("for (;;) process.stdout.write(Buffer.from('more'))", 1),
        (
            "(function more() { console.log('more'); setImmediate(more); })()",
            1,
        ),
        (
            "process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 7 : 8));
(function more() { console.log('more'); setImmediate(more); })()",
            7,
        ),
    ] {
        let env = env(&format!("console.log('ready');\n{prints};\n"));
        let mut command = env.command(&["run", "./skill", "main.mjs", "--timeout", "100s"]);
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        drop(stdout);
        let end = env.end_of_child(child);
        assert_eq!(end.code, code, "{prints}: {}", end.stderr);
        let last = env.audit().pop().unwrap();
        assert_eq!(last["event"], "finished", "{prints}");
        assert_eq!(last["status"], "exited", "{prints}: {last}");
        env.check_left_behind().unwrap();
    }
}

/// The first answer is written before the second question is asked.
fn javascript_gets_its_input_as_it_comes() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let env = env(
        "import readline from 'node:readline';
for await (const line of readline.createInterface({ input: process.stdin })) console.log(`got ${line}`);
",
    );
    let mut command = env.command(&["run", "./skill", "main.mjs"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut questions = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    for word in ["one", "two"] {
        writeln!(questions, "{word}").unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, format!("got {word}\n"));
    }
    drop(questions);
    let end = env.end_of_child(child);
    assert_eq!((end.code, end.stderr.as_str()), (0, ""));
    env.check_left_behind().unwrap();
}

fn javascript_that_runs_out_of_memory_says_so_in_its_outcome() {
    let script = "const kept = [];\nfor (;;) kept.push(new Uint8Array(1e6).fill(1));\n";
    let env = env(script);
    env.write("skill/scripts/main.cjs", script);
    for name in ["main.mjs", "main.cjs"] {
        let end = env.end(&["run", "./skill", name, "--json", "--memory", "64MiB"]);
        let outcome: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
        assert_eq!(outcome["success"], false);
        assert_ne!(outcome["status"], "trapped");
        let stderr = outcome["stderr"].as_str().unwrap();
        assert!(stderr.contains(&format!("{name}:2")), "{stderr}");
        assert!(!stderr.contains("layer failed"), "{stderr}");
        let peak = outcome["usage"]["peak_memory_bytes"].as_u64().unwrap();
        assert!(peak <= 64 << 20, "{peak}");
    }
}
