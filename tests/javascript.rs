//! JavaScript where a folder is not enough: streams that stay open, files too large to keep.

use crate::place::{Place, SKILL_MD};
use std::process::Stdio;

trials! {
    javascript_that_waits_for_input_that_never_comes_is_stopped_at_the_time_limit,
    javascript_that_waits_for_a_reader_that_never_reads_is_stopped_at_the_time_limit,
    javascript_gets_its_input_as_it_comes,
    the_outcome_of_javascript_beyond_its_memory_says_so,
}

fn place(script: &str) -> Place {
    let place = Place::new();
    place.write("skill/SKILL.md", SKILL_MD);
    place.write("skill/scripts/main.mjs", script);
    place
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
        let place = place(&format!(
            "import fs from 'node:fs';\nimport readline from 'node:readline';\nconsole.log('waits');\n{wait};\n"
        ));
        let mut command = place.command(&["run", "./skill", "main.mjs", "--timeout", "1s"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let held_open = child.stdin.take();
        let end = place.end_of_child(child);
        drop(held_open);
        assert_eq!(end.stdout, "waits\n", "{wait}");
        assert_eq!(
            end.stderr,
            "Timeout: stopped after 1s\nwarning: `scripts/main.mjs` was stopped at its time limit of 1s\n",
            "{wait}"
        );
        assert_eq!(end.code, 124, "{wait}");
        place.check_left_behind().unwrap();
    }
}

fn javascript_that_waits_for_a_reader_that_never_reads_is_stopped_at_the_time_limit() {
    let place = place("for (;;) console.log('x'.repeat(1000));\n");
    let mut command = place.command(&["run", "./skill", "main.mjs", "--timeout", "1s"]);
    let mut child = command.spawn().unwrap();
    let unread = child.stdout.take();
    let end = place.end_of_child(child);
    drop(unread);
    assert_eq!(end.code, 124);
    assert!(end.stderr.contains("stopped at its time limit of 1s"));
    place.check_left_behind().unwrap();
}

/// The first answer is written before the second question is asked.
fn javascript_gets_its_input_as_it_comes() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let place = place(
        "import readline from 'node:readline';
for await (const line of readline.createInterface({ input: process.stdin })) console.log(`got ${line}`);
",
    );
    let mut command = place.command(&["run", "./skill", "main.mjs"]);
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
    let end = place.end_of_child(child);
    assert_eq!((end.code, end.stderr.as_str()), (0, ""));
    place.check_left_behind().unwrap();
}

fn the_outcome_of_javascript_beyond_its_memory_says_so() {
    let script = "const kept = [];\nfor (;;) kept.push(new Uint8Array(1e6).fill(1));\n";
    let place = place(script);
    place.write("skill/scripts/main.cjs", script);
    for name in ["main.mjs", "main.cjs"] {
        let end = place.end(&["run", "./skill", name, "--json", "--memory", "64MiB"]);
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
