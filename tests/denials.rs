//! What a run was denied: in the outcome, in the audit log, and as the last line of a failed run.

use crate::env::{SKILL_MD, TestEnv};
use serde_json::{Value, json};
use std::fs;

tests! {
    a_failed_run_ends_with_what_it_was_denied,
    a_grant_that_is_given_is_not_listed,
    denials_of_javascript_are_listed_too,
    a_program_is_listed_by_its_name_and_a_shell_line_by_its_first_word,
    what_succeeds_or_only_looks_is_no_denial,
    a_path_that_leads_out_of_its_directory_is_listed_as_its_target,
    protected_and_kernel_files_cannot_be_granted,
    denials_are_in_the_audit_log_and_not_printed_after_a_success,
    names_from_a_script_are_escaped_and_limited,
    a_script_that_reports_denials_itself_gets_nothing,
    no_advice_is_to_grant_a_home_or_the_system,
    markers_and_scripts_of_a_loaded_skill_that_fail_say_what_they_were_denied,
}

const SCRIPT: &str = r"
import os, socket, subprocess, sys, urllib.request

def attempt(what, do):
    try:
        do()
        print(what, 'done')
    except Exception as error:
        print(what, type(error).__name__)

outside = sys.argv[1]
attempt('read', lambda: open(f'{outside}/data.txt').read())
attempt('read again', lambda: open(f'{outside}/data.txt').read())
attempt('list', lambda: os.listdir(outside))
attempt('write', lambda: open(f'{outside}/new.txt', 'w').close())
attempt('make', lambda: os.mkdir(f'{outside}/folder'))
attempt('remove', lambda: os.remove(f'{outside}/data.txt'))
attempt('write skill', lambda: open(__file__, 'a').close())
attempt('run', lambda: subprocess.run(['/usr/bin/git', 'status']))
attempt('run', lambda: subprocess.run('git log', shell=True))
attempt('system', lambda: os.system('jq .'))
attempt('fetch', lambda: urllib.request.urlopen('https://api.github.com/'))
attempt('look up', lambda: socket.getaddrinfo('example.com', 'https'))
attempt('connect', lambda: socket.create_connection(('::1', 80)))
attempt('socket', lambda: socket.socket())
sys.exit(3)
";

/// What the outcome says. The line on stderr has the flags.
const NATIVE: &str = "run it natively and grant `native`";
const NETWORK: &str = "run it natively and grant `native` and `net:*`";
const NATIVE_FLAGS: &str = "pass --runtime native --allow native";

/// A directory that no run sees. The others are in `/tmp`, where a script has its own.
struct Outside(tempfile::TempDir);

impl Outside {
    fn new() -> Self {
        let made = tempfile::Builder::new()
            .prefix("skillrun-outside-")
            .tempdir_in("/var/tmp");
        let outside = Self(made.unwrap());
        std::fs::write(outside.0.path().join("data.txt"), "data").unwrap();
        outside
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    /// A text with the path of this directory replaced.
    fn named(&self, text: &str) -> String {
        text.replace(self.path(), "{outside}")
    }

    /// The denials of an outcome, with the paths of this directory and of the environment replaced.
    fn denied(&self, env: &TestEnv, outcome: &Value) -> Value {
        let denied = denied(env, outcome).to_string();
        serde_json::from_str(&self.named(&denied)).unwrap()
    }
}

/// The denials of an outcome, with the paths of the environment replaced.
fn denied(env: &TestEnv, outcome: &Value) -> Value {
    let text = outcome["denied"].to_string();
    serde_json::from_str(&env.named(text.as_bytes())).unwrap()
}

fn a_failed_run_ends_with_what_it_was_denied() {
    let (env, outside) = (TestEnv::with_script(SCRIPT), Outside::new());
    let end = env.run(&["--", outside.path()]);
    assert_eq!(
        end.stdout,
        "read FileNotFoundError\nread again FileNotFoundError\nlist FileNotFoundError\n\
         write FileNotFoundError\nmake FileNotFoundError\nremove FileNotFoundError\n\
         write skill PermissionError\nrun FileNotFoundError\nrun FileNotFoundError\nsystem done\n\
         fetch URLError\nlook up OSError\nconnect OSError\nsocket OSError\n"
    );
    assert_eq!(
        outside.named(&end.stderr),
        format!(
            "sh: processes cannot be started in this sandbox: jq .\n\
             denied: read:{{outside}}/data.txt ×2, read:{{outside}} ×1, \
             write:{{outside}}/new.txt ×1, write:{{outside}}/folder ×1, \
             write:{{outside}}/data.txt ×1 \
             (pass --allow read:{{outside}}/data.txt --allow read:{{outside}} \
             --allow write:{{outside}} --allow write:{{outside}}/data.txt); \
             write:{{skill}}/scripts/main.py ×1 (pass --allow write:skill); \
             run:git ×2, run:jq ×1 ({NATIVE_FLAGS}); 4 more\n"
        )
    );
    assert_eq!(end.code, 3);
    // The line is a note of ours.
    let quiet = env.run(&["-q", "--", outside.path()]);
    assert_eq!(
        quiet.stderr,
        "sh: processes cannot be started in this sandbox: jq .\n"
    );
    let outcome = env.outcome(&["--", outside.path()]);
    assert_eq!(
        outside.denied(&env, &outcome),
        json!([
            {"grant": "read:{outside}/data.txt", "count": 2},
            {"grant": "read:{outside}", "count": 1},
            {"grant": "write:{outside}/new.txt", "count": 1},
            {"grant": "write:{outside}/folder", "count": 1},
            {"grant": "write:{outside}/data.txt", "count": 1},
            {"grant": "write:{skill}/scripts/main.py", "count": 1, "hint": "grant `write:skill`"},
            {"grant": "run:git", "count": 2, "hint": NATIVE},
            {"grant": "run:jq", "count": 1, "hint": NATIVE},
            {"grant": "net:api.github.com:443", "count": 1, "hint": NETWORK},
            {"grant": "net:example.com:443", "count": 1, "hint": NETWORK},
            {"grant": "net:[::1]:80", "count": 1, "hint": NETWORK},
            {"grant": "net:*", "count": 1, "hint": NETWORK},
        ])
    );
}

fn no_advice_is_to_grant_a_home_or_the_system() {
    let create = "a file must exist to be granted; use a workspace for new ones: -w DIR";
    let narrower = "grant only what it needs in that directory";
    let write = "import sys\ntry: open(sys.argv[1], 'w')\nexcept OSError: sys.exit(3)\n";
    let list = "import os, sys\ntry: os.listdir(sys.argv[1])\nexcept OSError: sys.exit(3)\n";
    let outside = Outside::new();
    // The state directory and the home are in the directory of the test, but that one is in `/tmp`.
    let home = outside.path();
    fs::create_dir_all(format!("{home}/project")).unwrap();
    for (script, path, advice) in [
        (write, "/etc/skillrun-new".to_owned(), create.to_owned()),
        (write, "/var/skillrun-new".to_owned(), create.to_owned()),
        (write, "/usr/lib/skillrun-new".to_owned(), create.to_owned()),
        (write, "/skillrun-new".to_owned(), create.to_owned()),
        (write, format!("{home}/.newcache"), create.to_owned()),
        (list, home.to_owned(), narrower.to_owned()),
        (list, "/etc".to_owned(), narrower.to_owned()),
        (
            write,
            format!("{home}/project/new"),
            format!("pass --allow write:{home}/project"),
        ),
    ] {
        let env = TestEnv::with_script(script);
        let mut command = env.command(&["run", "./skill", "main.py", "--", &path]);
        let end = env.end_of(command.env("HOME", home));
        let word = if script == write { "write" } else { "read" };
        let wanted = format!("denied: {word}:{path} ×1 ({advice})\n");
        assert_eq!((end.stderr, end.code), (wanted, 3));
    }
}

/// The twin: the flags of the line allow what it lists.
fn a_grant_that_is_given_is_not_listed() {
    let (env, outside) = (TestEnv::with_script(SCRIPT), Outside::new());
    let write = format!("write:{}", outside.path());
    let words = ["--allow", &write, "--allow", "write:skill"];
    let outcome = env.outcome(&[&words[..], &["--", outside.path()]].concat());
    assert_eq!(
        outcome["stdout"],
        "read done\nread again done\nlist done\nwrite done\nmake done\nremove done\nwrite skill done\n\
         run FileNotFoundError\nrun FileNotFoundError\nsystem done\n\
         fetch URLError\nlook up OSError\nconnect OSError\nsocket OSError\n"
    );
    assert_eq!(
        outside.denied(&env, &outcome),
        json!([
            {"grant": "run:git", "count": 2, "hint": NATIVE},
            {"grant": "run:jq", "count": 1, "hint": NATIVE},
            {"grant": "net:api.github.com:443", "count": 1, "hint": NETWORK},
            {"grant": "net:example.com:443", "count": 1, "hint": NETWORK},
            {"grant": "net:[::1]:80", "count": 1, "hint": NETWORK},
            {"grant": "net:*", "count": 1, "hint": NETWORK},
        ])
    );
}

fn a_program_is_listed_by_its_name_and_a_shell_line_by_its_first_word() {
    let env = TestEnv::with_script(
        "import os, subprocess\n\
         def attempt(*args, **options):\n    try: subprocess.run(*args, **options)\n    except OSError: pass\n\
         attempt(['/opt/My Tool/x', 'a'])\n\
         attempt('/opt/My Tool/y')\n\
         attempt('FOO=1 BAR=2 /usr/bin/git a=b', shell=True)\n\
         attempt(['A=1 jq .'], shell=True)\n\
         os.system('X=1')\n",
    );
    let grants = |outcome: &Value| -> Vec<Value> {
        let denied = outcome["denied"].as_array().unwrap().iter();
        denied.map(|denial| denial["grant"].clone()).collect()
    };
    let outcome = env.outcome(&[]);
    let expected = ["run:x", "run:y", "run:git", "run:jq", "run:sh"];
    assert_eq!(grants(&outcome), expected);
    env.write(
        "skill/scripts/main.js",
        "const { execFileSync, execSync, spawnSync } = require('child_process');\n\
         const attempt = (run) => { try { run(); } catch {} };\n\
         attempt(() => spawnSync('/opt/My Tool/x', ['a']));\n\
         attempt(() => execFileSync('/opt/My Tool/y'));\n\
         attempt(() => execSync('FOO=1 BAR=2 /usr/bin/git a=b'));\n\
         attempt(() => execSync('A=1 jq .'));\n\
         attempt(() => execSync('X=1'));\n",
    );
    let end = env.end(&["run", "./skill", "main.js", "--json"]);
    let outcome: Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(grants(&outcome), expected);
}

fn denials_of_javascript_are_listed_too() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    let outside = Outside::new();
    env.write(
        "skill/scripts/main.mjs",
        r"
import fs from 'node:fs';
import net from 'node:net';
import https from 'node:https';
import dns from 'node:dns/promises';
import { execSync, spawnSync } from 'node:child_process';

const attempt = async (what, run) => {
  try {
    await run();
    console.log(what, 'done');
  } catch (error) {
    console.log(what, error.code ?? error.cause?.code);
  }
};
const outside = process.argv[2];
await attempt('read', () => fs.readFileSync(`${outside}/data.txt`));
await attempt('read by ..', () => fs.readFileSync(`/etc/..${outside}/data.txt`));
await attempt('write', () => fs.writeFileSync(`${outside}/new.txt`, ''));
await attempt('write skill', () => fs.writeFileSync('new.txt', ''));
await attempt('run', () => execSync('/usr/bin/git status'));
await attempt('run', () => spawnSync('git', ['log']));
await attempt('fetch', () => fetch('https://api.github.com/user'));
await attempt('get', () => https.get({ hostname: 'api.github.com' }));
await attempt('connect', () => net.connect(80, 'example.com'));
await attempt('look up', () => dns.lookup('example.com'));
await attempt('listen', () => net.createServer());
process.exitCode = 3;
",
    );
    let run = |words: &[&str]| {
        let words = [
            &["run", "./skill", "main.mjs", "--json"],
            words,
            &["--", outside.path()],
        ]
        .concat();
        let end = env.end(&words);
        serde_json::from_str::<Value>(&end.stdout).unwrap()
    };
    let others = [
        json!({"grant": "run:git", "count": 2, "hint": NATIVE}),
        json!({"grant": "net:api.github.com:443", "count": 2, "hint": NETWORK}),
        json!({"grant": "net:example.com:80", "count": 1, "hint": NETWORK}),
        json!({"grant": "net:example.com", "count": 1, "hint": NETWORK}),
        json!({"grant": "net:*", "count": 1, "hint": NETWORK}),
    ];
    let refused = "run ERR_ACCESS_DENIED\nrun ERR_ACCESS_DENIED\nfetch ERR_ACCESS_DENIED\n\
                   get ERR_ACCESS_DENIED\nconnect ERR_ACCESS_DENIED\nlook up ERR_ACCESS_DENIED\n\
                   listen ERR_ACCESS_DENIED\n";

    let outcome = run(&[]);
    assert_eq!(
        outcome["stdout"],
        format!("read ENOENT\nread by .. ENOENT\nwrite ENOENT\nwrite skill EROFS\n{refused}")
    );
    let mut expected = vec![
        json!({"grant": "read:{outside}/data.txt", "count": 2}),
        json!({"grant": "write:{outside}/new.txt", "count": 1}),
        json!({"grant": "write:{skill}/new.txt", "count": 1, "hint": "grant `write:skill`"}),
    ];
    expected.extend(others.clone());
    assert_eq!(outside.denied(&env, &outcome), Value::Array(expected));

    let write = format!("write:{}", outside.path());
    let outcome = run(&["--allow", &write, "--allow", "write:skill"]);
    assert_eq!(
        outcome["stdout"],
        format!("read done\nread by .. done\nwrite done\nwrite skill done\n{refused}")
    );
    assert_eq!(
        outside.denied(&env, &outcome),
        Value::Array(others.to_vec())
    );
}

fn what_succeeds_or_only_looks_is_no_denial() {
    let env = TestEnv::with_script(
        "import os, shutil, json, pathlib\n\
         print(os.path.exists('/etc/hosts'), os.access('/etc/hosts', os.R_OK), shutil.which('git'))\n\
         print(pathlib.Path('/etc').is_dir(), pathlib.Path('/etc').resolve())\n\
         open('here.txt', 'w').close()\n\
         try:\n    open('missing.txt')\nexcept FileNotFoundError:\n    print('missing')\n\
         json.loads('{')\n",
    );
    std::fs::create_dir(env.path("workspace")).unwrap();
    let outcome = env.outcome(&["-w", &env.text("workspace")]);
    assert_eq!(outcome["stdout"], "False False None\nFalse /etc\nmissing\n");
    assert_eq!(
        (&outcome["exit_code"], &outcome["denied"]),
        (&json!(1), &json!([]))
    );

    env.write(
        "skill/scripts/main.js",
        "const fs = require('fs');\n\
         console.log(fs.existsSync('/etc/hosts'));\n\
         try { require('left-pad'); } catch (error) { console.log(error.code); }\n\
         throw new Error('end');\n",
    );
    let end = env.end(&["run", "./skill", "main.js", "--json"]);
    let outcome: Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(outcome["stdout"], "false\nMODULE_NOT_FOUND\n");
    assert_eq!(
        (&outcome["exit_code"], &outcome["denied"]),
        (&json!(1), &json!([]))
    );
}

fn a_path_that_leads_out_of_its_directory_is_listed_as_its_target() {
    let env = TestEnv::with_script(
        "import os, sys\n\
         def attempt(what, do):\n    try:\n        do()\n        print(what, 'done')\n    \
         except OSError as error:\n        print(what, type(error).__name__)\n\
         attempt('parent', lambda: open('../outside/data.txt'))\n\
         attempt('make', lambda: os.mkdir('../outside/new'))\n\
         attempt('link', lambda: open('link/data.txt'))\n",
    );
    env.write("outside/data.txt", "data");
    std::fs::create_dir(env.path("workspace")).unwrap();
    std::os::unix::fs::symlink("../outside", env.path("workspace/link")).unwrap();
    let outcome = env.outcome(&["-w", &env.text("workspace")]);
    assert_eq!(
        outcome["stdout"],
        "parent PermissionError\nmake PermissionError\nlink PermissionError\n"
    );
    let hint = "it leads out of a granted directory; grant its target, and name that directly";
    assert_eq!(
        denied(&env, &outcome),
        json!([
            {"grant": "read:{root}/outside/data.txt", "count": 1, "hint": hint},
            {"grant": "write:{root}/outside/new", "count": 1, "hint": hint},
            {"grant": "read:{workspace}/link/data.txt", "count": 1, "hint": hint},
        ])
    );
}

fn protected_and_kernel_files_cannot_be_granted() {
    let env = TestEnv::with_script(
        "import os\n\
         def attempt(what, do):\n    try:\n        do()\n        print(what, 'done')\n    \
         except OSError as error:\n        print(what, type(error).__name__)\n\
         attempt('log', lambda: open('state/skillrun/audit.jsonl', 'a'))\n\
         attempt('kernel', lambda: open('/proc/self/environ'))\n\
         attempt('root', lambda: os.listdir('/'))\n",
    );
    let outcome = env.outcome(&["-w", env.root().to_str().unwrap()]);
    assert_eq!(
        outcome["stdout"],
        "log PermissionError\nkernel FileNotFoundError\nroot FileNotFoundError\n"
    );
    let hint = "no grant allows it";
    assert_eq!(
        denied(&env, &outcome),
        json!([
            {"grant": "write:{root}/state/skillrun/audit.jsonl", "count": 1, "hint": hint},
            {"grant": "read:/proc/self/environ", "count": 1, "hint": hint},
            {"grant": "read:/", "count": 1, "hint": hint},
        ])
    );
}

fn denials_are_in_the_audit_log_and_not_printed_after_a_success() {
    let env = TestEnv::with_script(
        "import subprocess\n\
         for n in range(20):\n    try:\n        subprocess.run([f'p{n}'])\n    except OSError:\n        pass\n\
         try:\n    open('/etc/hosts', 'w')\nexcept OSError:\n    pass\nprint('fine')\n",
    );
    let end = env.run(&[]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("fine\n", "", 0)
    );
    let finished = env.audit().pop().unwrap();
    let first: Vec<Value> = (0..16)
        .map(|n| json!({"grant": format!("run:p{n}"), "count": 1, "hint": NATIVE}))
        .collect();
    assert_eq!(finished["event"], "finished");
    assert_eq!(finished["denied"], Value::Array(first));
}

fn names_from_a_script_are_escaped_and_limited() {
    let env = TestEnv::with_script(
        "import subprocess, sys\n\
         def attempt(do):\n    try:\n        do()\n    except (OSError, ValueError):\n        pass\n\
         attempt(lambda: subprocess.run(['\\x1b[2J\\u202e']))\n\
         attempt(lambda: open('/no\\nfile\\x1b[0m'))\n\
         attempt(lambda: open('/' + 'x' * 5000))\n\
         for n in range(100):\n    attempt(lambda: open(f'/missing/{n}'))\n\
         sys.exit(1)\n",
    );
    let outcome = env.outcome(&[]);
    let listed = outcome["denied"].as_array().unwrap();
    assert_eq!(listed.len(), 64);
    let grants: Vec<&str> = listed[..4]
        .iter()
        .map(|denial| denial["grant"].as_str().unwrap())
        .collect();
    let cut = format!("read:/{}…", "x".repeat(506));
    assert_eq!(
        grants,
        [
            "run:\\u{1b}[2J\\u{202e}",
            "read:/no\\nfile\\u{1b}[0m",
            &cut,
            "read:/missing/0"
        ]
    );
    assert_eq!(outcome["denied_truncated"], true);
    assert_eq!(
        env.run(&[]).stderr,
        format!("denied: 'run:\\u{{1b}}[2J\\u{{202e}}' ×1 ({NATIVE_FLAGS}); more\n")
    );
}

/// The guest reports network and processes, so a script can report what it likes. It is only printed.
fn a_script_that_reports_denials_itself_gets_nothing() {
    let env = TestEnv::with_script(
        "import sys\n\
         report = sys.modules['_skillrun.denials'].report\n\
         for grant in ('net:evil.example:1', 'write:/etc/shadow', 'native', '', 'run:' + 'x' * 1000):\n    report(grant)\n\
         try:\n    open('/etc/hosts')\nexcept OSError as error:\n    print(type(error).__name__)\n",
    );
    let outcome = env.outcome(&[]);
    assert_eq!(outcome["stdout"], "FileNotFoundError\n");
    assert_eq!(
        outcome["denied"],
        json!([
            {"grant": "net:evil.example:1", "count": 1, "hint": NETWORK},
            {"grant": format!("run:{}…", "x".repeat(508)), "count": 1, "hint": NATIVE},
            {"grant": "read:/etc/hosts", "count": 1},
        ])
    );
}

fn markers_and_scripts_of_a_loaded_skill_that_fail_say_what_they_were_denied() {
    let outside = Outside::new();
    let path = format!("{}/data.txt", outside.path());
    let script = format!("import os\nos.system('jq .')\nopen({path:?})\n");
    let env = TestEnv::with_script(&script);
    let text = format!("{SKILL_MD}Run `scripts/main.py`, then `scripts/other.py`.\n");
    env.write("skill/SKILL.md", text);
    env.write("skill/scripts/other.py", "print('fine')\n");
    let denied = "run:jq ×1 (run it natively and grant `native`); \
                  read:{outside}/data.txt ×1 (pass --allow read:{outside}/data.txt)";
    let skill = ["--skill", "./skill", "-y"];
    let words = [&skill[..], &crate::expand::EVENTS].concat();
    let end = crate::expand::expand(&env, "!{scripts/main.py} !{scripts/other.py}", &words);
    assert_eq!((end.stdout.as_str(), end.code), (" fine", 0));
    let expected = format!(
        "warning: marker 1 `scripts/main.py` ended with exit code 1\n\
         denied: marker 1 `scripts/main.py`: {denied}\n"
    );
    assert_eq!(outside.named(&end.stderr), expected);
    // The events have the denials of the outcome, without flags.
    let events = crate::expand::events(&env);
    assert_eq!(
        outside.denied(&env, &events[0]),
        json!([
            {"grant": "run:jq", "count": 1, "hint": NATIVE},
            {"grant": "read:{outside}/data.txt", "count": 1},
        ])
    );
    let end = env.end(&["load", "-y", "./skill"]);
    assert_eq!(end.code, 0);
    let expected = format!("denied: `scripts/main.py`: {denied}\n");
    assert_eq!(outside.named(&end.stderr), expected);
    assert!(!end.stdout.contains("denied: "), "{}", end.stdout);
    // The line is a note of ours.
    assert_eq!(env.end(&["load", "-q", "-y", "./skill"]).stderr, "");
    let quiet = crate::expand::expand(&env, "!{scripts/main.py}", &[&skill[..], &["-q"]].concat());
    assert_eq!(quiet.stderr, "");
}
