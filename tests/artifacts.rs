//! The files that a run created, changed or removed, and the raw bytes of its output.

use crate::env::TestEnv;
use crate::expand::{EVENTS, expand};
use crate::library::{block_on, host, permitted, skill};
use serde_json::{Value, json};
use skillrun::{Policy, Request};
use std::fs;

tests! {
    files_that_a_script_touched_are_listed,
    files_outside_of_the_workspace_have_their_whole_path,
    what_did_not_change_is_not_listed,
    the_list_is_limited_and_a_large_file_is_not_hashed,
    files_that_a_native_script_touched_are_listed,
    a_large_directory_is_not_compared_for_a_native_script,
    a_host_lists_artefacts_unless_it_is_told_not_to,
    the_events_of_expand_list_artefacts,
    output_that_is_no_text_is_kept_as_it_was,
}

/// SHA-256 of some contents.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const NEW: &str = "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437";
const OLD: &str = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4";
const OLD_NEW: &str = "76ecdaec0cc05ceaf5781f2731926d291107c1c2f2f9a2e229a89db2f2080ab3";

fn entry(path: &str, change: &str, content: Option<(u64, &str)>) -> Value {
    let (bytes, sha256) = content.unzip();
    json!({"path": path, "change": change, "bytes": bytes, "sha256": sha256})
}

/// An environment with files in its workspace, and a script.
fn env(script: &str) -> TestEnv {
    let env = TestEnv::with_script(script);
    for name in [
        "changed",
        "replaced",
        "kept",
        "gone",
        "moved",
        "folder/inner",
        "emptied",
    ] {
        env.write(&format!("workspace/{name}"), "old");
    }
    env
}

/// What each of the two scripts below does.
fn expected() -> Value {
    Value::Array(vec![
        entry("changed", "changed", Some((6, OLD_NEW))),
        entry("elsewhere/inner", "created", Some((3, OLD))),
        entry("emptied", "changed", Some((0, EMPTY))),
        entry("folder/inner", "removed", None),
        entry("gone", "removed", None),
        entry("moved", "removed", None),
        entry(
            "new",
            "created",
            Some((
                6,
                "9b21ec9dbe3dec76be9c39f673c8c8971f023be79e02aa3ad1f717aa00afb41c",
            )),
        ),
        entry("out/moved", "created", Some((3, OLD))),
        entry("out/report.csv", "created", Some((3, NEW))),
        entry("replaced", "changed", Some((3, NEW))),
    ])
}

fn files_that_a_script_touched_are_listed() {
    let env = env("import os, pathlib\n\
         pathlib.Path('new').write_text('new')\n\
         os.mkdir('out')\n\
         pathlib.Path('out/report.csv').write_text('new')\n\
         open('changed', 'a').write('new')\n\
         open('kept', 'a').close()\n\
         open('kept').read()\n\
         os.utime('kept', (1, 1))\n\
         os.remove('gone')\n\
         os.rename('moved', 'out/moved')\n\
         os.rename('folder', 'elsewhere')\n\
         open('temporary', 'w').close()\n\
         os.remove('temporary')\n\
         pathlib.Path('other').write_text('new')\n\
         os.replace('other', 'replaced')\n\
         open('emptied', 'w').close()\n\
         os.symlink('new', 'link')\n\
         open('link', 'a').write('new')\n\
         pathlib.Path('/tmp/scratch').write_text('new')\n");
    let outcome = env.outcome(&["-w", &env.text("workspace")]);
    assert_eq!(
        (&outcome["stderr"], &outcome["exit_code"]),
        (&json!(""), &json!(0))
    );
    assert_eq!(outcome["artifacts"], expected());
    assert_eq!(outcome["artifacts_truncated"], false);
}

fn files_outside_of_the_workspace_have_their_whole_path() {
    let env = env(
        "import pathlib, sys\nfor name in sys.argv[1:]:\n    pathlib.Path(name).write_text('new')\n",
    );
    env.write("other/file", "old");
    let (other, file) = (env.text("other"), env.text("other/file"));
    let (new, own) = (env.text("other/new"), env.text("skill/new"));
    let grant = format!("write:{other}");
    let workspace = env.text("workspace");
    let words = [
        "--allow",
        &grant,
        "--allow",
        "write:skill",
        "-w",
        &workspace,
    ];
    let outcome = env.outcome(&[&words[..], &["--", &file, &new, &own, "here"]].concat());
    assert_eq!(outcome["stderr"], "");
    let expected = [
        entry("{root}/other/file", "changed", Some((3, NEW))),
        entry("{root}/other/new", "created", Some((3, NEW))),
        entry("{skill}/new", "created", Some((3, NEW))),
        entry("here", "created", Some((3, NEW))),
    ];
    assert_eq!(outcome["artifacts"], Value::Array(expected.to_vec()));
}

fn what_did_not_change_is_not_listed() {
    let env = env("import os\n\
         print(os.listdir('.') != [])\n\
         for name in ('kept', 'changed'):\n    open(name).read()\n    open(name, 'r+').close()\n\
         for change in (lambda: os.remove('missing'), lambda: os.rename('missing', 'kept'), \
         lambda: os.rmdir('folder'), lambda: open(__file__, 'w')):\n    \
         try:\n        change()\n        print('done')\n    except OSError as error:\n        print(type(error).__name__)\n");
    let outcome = env.outcome(&["-w", &env.text("workspace")]);
    assert_eq!(
        outcome["stdout"],
        "True\nFileNotFoundError\nFileNotFoundError\nOSError\nPermissionError\n"
    );
    assert_eq!(outcome["artifacts"], json!([]));
    assert_eq!(outcome["artifacts_truncated"], false);
}

fn the_list_is_limited_and_a_large_file_is_not_hashed() {
    let env = env(
        "for number in range(1100):\n    open(f'f{number:04}', 'w').close()\n\
         with open('a', 'w') as file:\n    file.truncate(65 << 20)\n\
         with open('b', 'w') as file:\n    file.write('new')\n",
    );
    let outcome = env.outcome(&["-w", &env.text("workspace")]);
    let listed = outcome["artifacts"].as_array().unwrap();
    assert_eq!(outcome["artifacts_truncated"], true);
    assert_eq!(listed.len(), 1000);
    assert_eq!(
        listed[0],
        json!({"path": "a", "change": "created", "bytes": 65 << 20, "sha256": null})
    );
    assert_eq!(listed[1], entry("b", "created", Some((3, NEW))));
    assert_eq!(listed[999], entry("f0997", "created", Some((0, EMPTY))));
}

fn files_that_a_native_script_touched_are_listed() {
    let env = env("");
    env.write(
        "skill/scripts/main.sh",
        "printf new > new; mkdir out; printf new > out/report.csv; printf new >> changed\n\
         cat kept >/dev/null; rm gone; mv moved out/moved; mv folder elsewhere\n\
         : > temporary; rm temporary; printf new > other; mv other replaced; : > emptied\n\
         ln -s new link; printf new >> link; printf new > /tmp/scratch; mkfifo fifo\n",
    );
    let workspace = env.text("workspace");
    let end = env.end(&["run", "./skill", "main.sh", "--json", "-w", &workspace]);
    let outcome: Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(
        (&outcome["stderr"], &outcome["exit_code"]),
        (&json!(""), &json!(0))
    );
    assert_eq!(outcome["artifacts"], expected());
    assert_eq!(outcome["artifacts_truncated"], false);
    assert!(env.path("workspace/fifo").exists());
}

fn a_large_directory_is_not_compared_for_a_native_script() {
    let env = env("");
    env.write("skill/scripts/main.sh", "printf new > new\n");
    for number in 0..10_000 {
        fs::File::create(env.path(&format!("workspace/f{number}"))).unwrap();
    }
    let workspace = env.text("workspace");
    let words = ["run", "./skill", "main.sh", "--json", "-w", &workspace];
    let end = env.end(&words);
    let outcome: Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    assert_eq!(
        (&outcome["artifacts"], &outcome["artifacts_truncated"]),
        (&json!([]), &json!(true))
    );
    // The twin in the wasm tier looks only at what was touched.
    env.write("skill/scripts/main.py", "open('newer', 'w').write('new')\n");
    let outcome = env.outcome(&["-w", &workspace]);
    assert_eq!(
        outcome["artifacts"],
        json!([entry("newer", "created", Some((3, NEW)))])
    );
    assert_eq!(outcome["artifacts_truncated"], false);
}

fn a_host_lists_artefacts_unless_it_is_told_not_to() {
    let env = env("open('new', 'w').write('new')\n");
    let host = host(&env);
    for (lists, expected) in [(false, vec![]), (true, vec!["new"])] {
        let _ = fs::remove_file(env.path("workspace/new"));
        let mut request = Request::typed(&skill(&env), "main.py");
        request.workspace = Some(env.path("workspace").into());
        request.list_artifacts = lists;
        let permit = permitted(&host, &Policy::default(), request);
        let outcome = block_on(host.run(permit)).unwrap();
        let paths: Vec<&str> = outcome
            .artifacts
            .iter()
            .map(|file| file.path.as_str())
            .collect();
        assert_eq!((paths, outcome.artifacts_truncated), (expected, false));
    }
}

fn the_events_of_expand_list_artefacts() {
    let env = env("open('new', 'w').write('new')\n");
    let words = ["--skill", "./skill", "-y", "-w", "workspace"];
    let end = expand(&env, "!{scripts/main.py}", &[&words[..], &EVENTS].concat());
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    let event: Value = serde_json::from_str(&env.read("events.jsonl")).unwrap();
    let artifacts = &event["artifacts"];
    assert_eq!(artifacts, &json!([entry("new", "created", Some((3, NEW)))]));
}

fn output_that_is_no_text_is_kept_as_it_was() {
    let env = env("import sys\nsys.stdout.buffer.write(b'a\\xffb')\nsys.stderr.write('é')\n");
    let host = host(&env);
    let request = Request::typed(&skill(&env), "main.py");
    let permit = permitted(&host, &Policy::default(), request);
    let outcome = block_on(host.run(permit)).unwrap();
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stdout_raw()),
        ("a\u{fffd}b", &b"a\xffb"[..])
    );
    assert_eq!(
        (outcome.stderr.as_str(), outcome.stderr_raw()),
        ("é", "é".as_bytes())
    );
}
