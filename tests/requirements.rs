//! The functional requirements, each by its number. `README.md` lists the further tests that cover
//! them.

use crate::env::{SKILL_MD, TestEnv};
use crate::library::{block_on, host, permitted, skill};
use crate::setup;
use serde_json::json;
use skillrun::{Policy, Request, Skill};
use std::path::Path;

tests! {
    fr_001_a_script_starts_in_the_skills_folder,
    fr_002_streams_exit_code_and_time_are_captured,
    fr_003_the_environment_names_the_skill_its_folder_and_both_versions,
    fr_004_a_path_out_of_the_skill_is_refused_and_an_odd_name_is_not,
    fr_005_the_time_limit_is_thirty_seconds_unless_set_and_ends_a_run,
    fr_006_setuid_and_setgid_scripts_are_refused,
    fr_007_every_run_is_logged_for_auditing,
    fr_008_without_bash_among_the_allowed_tools_no_script_runs,
    fr_009_scripts_are_found_on_first_use_with_their_descriptions,
    fr_010_links_are_resolved_and_must_end_inside_the_skill,
    fr_011_input_is_json_on_standard_input,
    fr_012_whatever_a_script_does_is_a_result,
    fr_013_the_time_limit_is_configured_in_the_policy,
    fr_014_a_script_runs_by_the_library_and_has_a_tool_name,
    fr_015_the_scripts_folder_comes_first_and_the_root_second,
    fr_016_scripts_are_found_five_levels_deep,
    fr_017_fifty_scripts_are_all_found,
    fr_018_the_result_is_structured,
    fr_019_a_missing_interpreter_is_an_error_of_its_own,
}

fn fr_001_a_script_starts_in_the_skills_folder() {
    let env = TestEnv::with_script("import os\nprint(os.getcwd(), open('SKILL.md').readline())\n");
    let end = env.run(&[]);
    assert_eq!(end.stdout, "{skill} ---\n\n");
}

fn fr_002_streams_exit_code_and_time_are_captured() {
    let env = TestEnv::with_script(
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(42)\n",
    );
    let outcome = env.outcome(&[]);
    for (key, value) in [
        ("stdout", json!("out\n")),
        ("stderr", json!("err\n")),
        ("exit_code", json!(42)),
        ("status", json!("exited")),
    ] {
        assert_eq!(outcome[key], value, "{key}");
    }
    assert!(outcome["execution_time_ms"].as_f64().unwrap() > 0.0);
}

fn fr_003_the_environment_names_the_skill_its_folder_and_both_versions() {
    let env = TestEnv::with_script(
        "import os\nfor name in ('NAME', 'BASE_DIR', 'VERSION'): print(os.environ['SKILL_' + name])\n\
         print(os.environ['SKILLKIT_VERSION'], os.environ['SKILLRUN_VERSION'])\n",
    );
    let version = env!("CARGO_PKG_VERSION");
    for front in ["version: 2.10", "metadata:\n  version: \"2.10\""] {
        let text = format!("---\nname: skill\ndescription: x\n{front}\n---\n");
        env.write("skill/SKILL.md", text);
        let wanted = format!("skill\n{{skill}}\n2.10\n{version} {version}\n");
        assert_eq!(env.run(&[]).stdout, wanted);
    }
}

fn fr_004_a_path_out_of_the_skill_is_refused_and_an_odd_name_is_not() {
    let env = TestEnv::with_script("print('inside')\n");
    env.write("outside.py", "print('outside')\n");
    env.write("skill/scripts/file [1] ü.py", "print('odd')\n");
    for path in [
        "../outside.py",
        "scripts/../../outside.py",
        "/etc/passwd",
        "../../etc/passwd",
    ] {
        let end = env.end(&["run", "./skill", path]);
        assert_eq!((end.stdout.as_str(), end.code), ("", 126), "{path}");
    }
    let end = env.end(&["run", "./skill", "scripts/file [1] ü.py"]);
    assert_eq!((end.stdout.as_str(), end.code), ("odd\n", 0));
}

fn fr_005_the_time_limit_is_thirty_seconds_unless_set_and_ends_a_run() {
    let env = TestEnv::with_script("while True: pass\n");
    let request = Request::typed(&skill(&env), "main.py");
    let permit = permitted(&host(&env), &Policy::default(), request);
    assert_eq!(permit.plan().limits().time.as_secs(), 30);
    let outcome = env.outcome(&["--timeout", "1s"]);
    assert_eq!(
        (&outcome["exit_code"], &outcome["timeout"]),
        (&124.into(), &true.into())
    );
    assert!(outcome["stderr"].as_str().unwrap().contains("Timeout"));
}

fn fr_006_setuid_and_setgid_scripts_are_refused() {
    for (mode, code) in [
        ("4755", 126),
        ("2755", 126),
        ("6755", 126),
        ("1755", 0),
        ("0755", 0),
    ] {
        let env = TestEnv::with_script("print('ran')\n");
        let step = format!("mode {mode} skill/scripts/main.py");
        setup::prepare(env.root(), &step).unwrap();
        let end = env.run(&[]);
        let stdout = if code == 0 { "ran\n" } else { "" };
        assert_eq!((end.stdout.as_str(), end.code), (stdout, code), "{mode}");
    }
}

fn fr_007_every_run_is_logged_for_auditing() {
    let env = TestEnv::with_script("import sys\nsys.exit(int(sys.argv[1]))\n");
    for code in 0..3 {
        env.run(&["--", &code.to_string()]);
    }
    let finished: Vec<_> = env
        .audit()
        .into_iter()
        .filter(|line| line["event"] == "finished")
        .map(|line| {
            json!([
                line["skill"],
                line["script"],
                line["arguments"],
                line["exit_code"]
            ])
        })
        .collect();
    let wanted = [0, 1, 2].map(|code| json!(["skill", "scripts/main.py", code.to_string(), code]));
    assert_eq!(finished, wanted);
}

fn fr_008_without_bash_among_the_allowed_tools_no_script_runs() {
    for (tools, code) in [
        ("", 0),
        ("allowed-tools: Read Write", 126),
        ("allowed-tools: Bash", 0),
        ("allowed-tools: Read, Bash", 0),
        ("allowed-tools: [Read, Write]", 126),
        ("allowed-tools:\n  - Read\n  - Bash", 0),
        ("allowed-tools: Bash(git:*)", 126),
        ("allowed-tools: Bash(python3:*)", 0),
        ("allowed-tools: Bash(python3 scripts/main.py)", 0),
        ("allowed-tools: BashOutput", 126),
    ] {
        let env = TestEnv::with_script("print('ran')\n");
        let text = format!("---\nname: skill\ndescription: x\n{tools}\n---\n");
        env.write("skill/SKILL.md", text);
        let end = env.run(&[]);
        assert_eq!(end.code, code, "`{tools}`: {}", end.stderr);
    }
}

fn fr_009_scripts_are_found_on_first_use_with_their_descriptions() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    let loaded = Skill::load(env.path("skill")).unwrap();
    for (name, text) in [
        ("a.py", "#!/usr/bin/env python3\n\"\"\"In Python.\"\"\"\n"),
        ("b.sh", "#!/bin/bash\n# In a shell.\n"),
        ("c.js", "// In JavaScript.\n"),
        ("d.rb", "# In Ruby.\n"),
        ("e.pl", "# In Perl.\n"),
        ("f.py", "print('no description')\n"),
        ("g", "#!/usr/bin/env python3\n# Without an extension.\n"),
        ("config.yaml", "a: 1\n"),
        ("README.md", "# Not a script\n"),
    ] {
        env.write(&format!("skill/scripts/{name}"), text);
    }
    let found: Vec<_> = loaded
        .scripts()
        .iter()
        .map(|script| (script.path(), script.interpreter(), loaded.describe(script)))
        .collect();
    let wanted = [
        ("scripts/a.py", "python3", "In Python."),
        ("scripts/b.sh", "bash", "In a shell."),
        ("scripts/c.js", "node", "In JavaScript."),
        ("scripts/d.rb", "ruby", "In Ruby."),
        ("scripts/e.pl", "perl", "In Perl."),
        ("scripts/f.py", "python3", ""),
        ("scripts/g", "python3", "Without an extension."),
    ];
    assert_eq!(
        found,
        wanted.map(|(path, by, text)| (path, by, text.to_owned()))
    );
    env.write("skill/scripts/late.py", "");
    assert_eq!(loaded.scripts().len(), wanted.len());
}

fn fr_010_links_are_resolved_and_must_end_inside_the_skill() {
    let env = TestEnv::with_script("print('inside')\n");
    setup::prepare(
        env.root(),
        "text outside.py \"print('outside')\"\nsymlink main.py skill/scripts/inward.py\n\
         symlink ../../outside.py skill/scripts/outward.py",
    )
    .unwrap();
    let inward = env.end(&["run", "./skill", "inward.py"]);
    let outward = env.end(&["run", "./skill", "outward.py"]);
    assert_eq!((inward.stdout.as_str(), inward.code), ("inside\n", 0));
    assert_eq!((outward.stdout.as_str(), outward.code), ("", 126));
}

fn fr_011_input_is_json_on_standard_input() {
    let env = TestEnv::with_script("import json, sys\nprint(json.load(sys.stdin)['file_path'])\n");
    let end = env.run(&["--input", r#"{"file_path": "$(id) `x` \"q\" ü.pdf"}"#]);
    assert_eq!(
        (end.stdout.as_str(), end.code),
        ("$(id) `x` \"q\" ü.pdf\n", 0)
    );
}

fn fr_012_whatever_a_script_does_is_a_result() {
    for (script, code) in [
        ("raise ValueError('bad')", 1),
        ("this is no python", 1),
        ("import sys; sys.exit('reason')", 1),
        ("import sys; sys.exit(255)", 255),
        ("import os; os._exit(9)", 9),
        ("import os; os.abort()", 134),
        ("x = bytearray(1 << 31)", 1),
        ("def f(): f()\nf()", 1),
        ("raise KeyboardInterrupt", 130),
        ("import sys; sys.stdout.close(); sys.stderr.close()", 0),
        ("import gc, sys; sys.modules.clear(); gc.collect()", 0),
        ("\0", 1),
    ] {
        let env = TestEnv::with_script(script);
        let outcome = env.outcome(&[]);
        assert_eq!(outcome["exit_code"], code, "{script}: {outcome}");
        assert_eq!(outcome["success"], code == 0);
        env.check_left_behind().unwrap();
    }
}

fn fr_013_the_time_limit_is_configured_in_the_policy() {
    let env = TestEnv::with_script("");
    let request = || Request::typed(&skill(&env), "main.py");
    for (text, seconds) in [
        ("", 30),
        ("[limits]\ntime = \"1s\"", 1),
        ("[limits]\ntime = \"600s\"", 600),
        (
            "[limits]\ntime = \"60s\"\n[skill.\"./skill\"]\nlimits.time = \"90s\"",
            90,
        ),
    ] {
        let policy = Policy::parse(text, env.root()).unwrap();
        let permit = permitted(&host(&env), &policy, request());
        assert_eq!(permit.plan().limits().time.as_secs(), seconds, "{text}");
    }
    for text in ["[limits]\ntime = \"0s\"", "[limits]\ntime = \"601s\""] {
        assert!(Policy::parse(text, Path::new("/")).is_err(), "{text}");
    }
}

fn fr_014_a_script_runs_by_the_library_and_has_a_tool_name() {
    let env = TestEnv::with_script("import json, sys\nprint(json.load(sys.stdin))\n");
    env.write("skill/scripts/sub/main.py", "");
    env.write("skill/scripts/convert.sh", "");
    let (host, skill) = (host(&env), skill(&env));
    let request = Request {
        input: Some(json!({"any": [1, "structure"]})),
        ..Request::typed(&skill, "scripts/main.py")
    };
    let outcome = block_on(host.run(permitted(&host, &Policy::default(), request))).unwrap();
    assert_eq!(outcome.stdout, "{'any': [1, 'structure']}\n");
    let tools = skill.tool_names();
    assert_eq!(tools, ["skill.convert", "skill.main", "skill.sub.main"]);
}

fn fr_015_the_scripts_folder_comes_first_and_the_root_second() {
    let env = TestEnv::with_script("");
    env.write("skill/a_root.py", "");
    env.write("skill/tools/b.py", "");
    let skill = skill(&env);
    let paths: Vec<_> = skill.scripts().iter().map(|script| script.path()).collect();
    assert_eq!(paths, ["scripts/main.py", "a_root.py", "tools/b.py"]);
}

fn fr_016_scripts_are_found_five_levels_deep() {
    let env = TestEnv::with_script("");
    env.write("skill/scripts/a/b/c/d/five.py", "print('five')\n");
    env.write("skill/scripts/a/b/c/d/e/six.py", "print('six')\n");
    let skill = skill(&env);
    let paths: Vec<_> = skill.scripts().iter().map(|script| script.path()).collect();
    assert_eq!(paths, ["scripts/a/b/c/d/five.py", "scripts/main.py"]);
    assert_eq!(env.end(&["run", "./skill", "five"]).stdout, "five\n");
}

fn fr_017_fifty_scripts_are_all_found() {
    let env = TestEnv::with_script("");
    for n in 0..49 {
        env.write(
            &format!("skill/scripts/{:02}/script{n}.py", n % 7),
            "# One of many.\n",
        );
    }
    assert_eq!(skill(&env).scripts().len(), 50);
}

fn fr_018_the_result_is_structured() {
    let env = TestEnv::with_script("print('out')\n");
    let outcome = env.outcome(&[]);
    let keys: Vec<_> = outcome.as_object().unwrap().keys().cloned().collect();
    let wanted = "run_id skill script script_path runtime status exit_code signal signal_number \
                  stdout stderr stdout_truncated stderr_truncated stdout_bytes stderr_bytes \
                  execution_time_ms success timeout signaled usage denied denied_truncated artifacts artifacts_truncated isolation";
    assert_eq!(keys, wanted.split_whitespace().collect::<Vec<_>>());
    assert_eq!(outcome["script_path"], "{skill}/scripts/main.py");
}

fn fr_019_a_missing_interpreter_is_an_error_of_its_own() {
    let env = TestEnv::with_script("");
    env.write("skill/tool.pl", "print 1;\n");
    let words = ["run", "./skill", "tool.pl", "--allow", "interpreter:perl"];
    let allowed = env.end(&words);
    assert_eq!((allowed.stdout.as_str(), allowed.code), ("1", 0));
    // With /dev/null mounted over it there is nothing to execute, as if it were not installed.
    let hide = "/bin/mount --bind /dev/null /usr/bin/perl && exec \"$@\"";
    let run = env.command(&words);
    let mut command = env.program("/usr/bin/unshare");
    let own = [
        "--user",
        "--map-root-user",
        "--mount",
        "/bin/sh",
        "-c",
        hide,
        "sh",
    ];
    command.args(own);
    command.arg(run.get_program()).args(run.get_args());
    let end = env.end_of(&mut command);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            "error: interpreter `perl` for script `tool.pl` is not installed\n\
             hint: install the system package `perl`; searched in \
             /usr/local/bin, /usr/bin, /bin\n",
            127
        )
    );
}
