//! Commands of this machine in a model's text: which run, with which grants, and after whose approval.

use crate::approval::answer;
use crate::env::{End, TestEnv};
use crate::expand::{EVENTS, env, events, expand, marker};
use crate::folder::needs;
use crate::library::{block_on, host, skill};
use libtest_mimic::Trial;
use skillrun::expand::Piece;
use skillrun::{Answer, Decision, Expander, Host, Policy, Request};
use std::path::Path;

/// All tests; ignored where commands cannot be confined.
pub(crate) fn tests() -> Vec<Trial> {
    let commands = commands::tests().into_iter();
    let git = git::tests().into_iter();
    let git = git.map(|test| needs(test, "git namespaces"));
    let commands = commands.map(|test| needs(test, "namespaces"));
    let traced = traced::tests().into_iter();
    let traced = traced.map(|test| needs(test, "strace namespaces"));
    commands.chain(git).chain(traced).collect()
}

mod git {
    use super::*;

    tests! {
        git_runs_no_program_from_the_settings_of_a_workspace,
        git_works_in_a_workspace_of_another_user,
    }
}

mod traced {
    use super::*;

    tests! {
        a_command_that_is_a_script_is_read_once,
    }
}

mod commands {
    use super::*;

    tests! {
        r9s_phase_3_a_command_runs_only_if_the_policy_names_it,
        a_command_gets_the_grants_of_every_skill_and_no_others,
        a_command_runs_without_a_shell,
        a_script_that_is_named_like_a_command_is_shown_with_its_path,
        a_command_that_is_a_script_runs_as_the_kernel_runs_it,
        a_command_that_other_users_may_write_is_refused,
        an_interpreter_that_other_users_may_write_is_refused_wherever_it_is_named,
        an_approval_of_a_command_is_valid_for_its_arguments_only,
        yes_in_session_to_a_command_is_valid_for_that_command_only,
        an_answers_file_can_approve_a_command,
        a_policy_that_refuses_native_scripts_refuses_commands,
        nothing_is_permitted_that_was_not_granted,
    }
}

fn a_script_that_is_named_like_a_command_is_shown_with_its_path() {
    let env = env();
    env.write("named/SKILL.md", crate::env::SKILL_MD);
    env.write("named/scripts/count.py", "print('counted')\n");
    let words = ["--skill", "./named", "-y"];
    let end = expand(&env, "!{count.py a} !{other.py}\n", &words);
    assert_eq!(
        end.stderr,
        "refused: `run:count.py` is not granted\n\
         hint: to run the script, write `scripts/count.py`\n\
         refused: `run:other.py` is not granted\n\
         hint: add \"run:other.py\" to `allow` in skillrun.toml, or pass --allow run:other.py\n"
    );
    let end = expand(&env, "!{count a}\n", &words);
    assert_eq!(
        end.stderr,
        "refused: `run:count` is not granted\n\
         hint: to run the script, write `scripts/count.py`; to run a command of this name, \
         add \"run:count\" to `allow` in skillrun.toml, or pass --allow run:count\n"
    );
    let end = expand(&env, "!{scripts/count.py a}\n", &words);
    assert_eq!((end.stdout.as_str(), end.code), ("counted\n", 0));
}

fn r9s_phase_3_a_command_runs_only_if_the_policy_names_it() {
    let env = env();
    let text = "a !{echo hi} b %{touch made} c\n";
    let words = [&["-w", "workspace", "-y"][..], &EVENTS].concat();
    let end = expand(&env, text, &words);
    assert_eq!((end.stdout.as_str(), end.code), ("a  b  c\n", 126));
    assert_eq!(
        end.stderr,
        "refused: `run:echo` is not granted\n\
         hint: add \"run:echo\" to `allow` in skillrun.toml, or pass --allow run:echo\n\
         refused: `run:touch` is not granted\n\
         hint: add \"run:touch\" to `allow` in skillrun.toml, or pass --allow run:touch\n"
    );
    assert!(!env.path("workspace/made").exists());
    assert!(
        events(&env)
            .iter()
            .all(|event| event["status"] == "refused")
    );
    let refused = env.audit();
    let refused: Vec<&str> = refused
        .iter()
        .map(|line| line["script"].as_str().unwrap())
        .collect();
    assert_eq!(refused, ["echo", "touch"]);
    // The twin: granted by the policy, and by a flag.
    env.write("skillrun.toml", "allow = [\"run:echo\"]\n");
    env.trust("skillrun.toml");
    let end = expand(
        &env,
        text,
        &["-w", "workspace", "-y", "--allow", "run:touch"],
    );
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("a hi b  c\n", "", 0)
    );
    assert!(env.path("workspace/made").exists());
    let last = env.audit().pop().unwrap();
    assert_eq!(last["script_path"], "/usr/bin/touch");
    assert_eq!(last["grants"], serde_json::json!(["run:touch"]));
    let end = expand(
        &env,
        "!{no-such-command}",
        &["-y", "--allow", "run:no-such-command"],
    );
    assert_eq!((end.stdout.as_str(), end.code), ("", 126));
    assert!(
        end.stderr
            .starts_with("error: the command `no-such-command` is not installed\n"),
        "{}",
        end.stderr
    );
}

fn a_command_gets_the_grants_of_every_skill_and_no_others() {
    let env = env();
    env.write("data/file", "granted");
    env.write("outside/file", "secret");
    let policy = format!(
        "approval = \"never\"\nallow = [\"run:env\", \"run:cat\", \"run:pwd\", \"read:{}\", \"env:GIVEN\"]\n\
         [skill.skill]\nallow = [\"read:{}\"]\n",
        env.text("data"),
        env.text("outside")
    );
    env.write("policy.toml", policy);
    let text = format!(
        "!{{env}}|!{{cat {0}/data/file}}|!{{cat {0}/outside/file}}|!{{pwd}}",
        env.root().display()
    );
    let mut command = env.command(&["expand", "--policy", "policy.toml"]);
    command.env("GIVEN", "given").env("OTHER", "other");
    env.write("text", text);
    command.stdin(std::fs::File::open(env.path("text")).unwrap());
    let end = env.end_of(&mut command);
    let parts: Vec<&str> = end.stdout.split('|').collect();
    let mut variables: Vec<&str> = parts[0].lines().collect();
    variables.sort_unstable();
    let version = format!("SKILLRUN_VERSION={}", env!("CARGO_PKG_VERSION"));
    let scratch = parts[3];
    let (home, temporary) = (format!("HOME={scratch}"), format!("TMPDIR={scratch}"));
    assert_eq!(
        variables,
        [
            "GIVEN=given",
            &home,
            "LANG=C.UTF-8",
            "PATH=/usr/local/bin:/usr/bin:/bin",
            &version,
            &temporary,
            "TZ=UTC"
        ]
    );
    assert_eq!(parts[1..3], ["granted", ""]);
    assert!(
        end.stderr.contains("marker 3 `cat` ended with exit code 1"),
        "{}",
        end.stderr
    );
}

fn a_command_runs_without_a_shell() {
    let env = env();
    let text = "!{echo $HOME $(touch made) `touch made` * ~ a;touch b&&touch 'c d'}";
    let end = expand(
        &env,
        text,
        &["-w", "workspace", "-y", "--allow", "run:echo"],
    );
    assert_eq!(
        end.stdout,
        "$HOME $(touch made) `touch made` * ~ a;touch b&&touch c d"
    );
    assert_eq!(std::fs::read_dir(env.path("workspace")).unwrap().count(), 0);
}

/// A command that the test writes, in a mount namespace where `/usr/local/bin` is a directory of the test.
fn with_own_commands(env: &TestEnv, words: &[&str]) -> End {
    let mut command = env.program("/usr/bin/unshare");
    command.args(["--mount", "--propagation", "private"]);
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let bind = "mount --bind commands /usr/local/bin && exec \"$@\"";
    command
        .args(["/bin/sh", "-c", bind, "sh"])
        .arg(env!("CARGO_BIN_EXE_skillrun"))
        .args(words)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(std::fs::File::open(env.path("text")).unwrap());
    env.end_of(&mut command)
}

fn own_command(env: &TestEnv, script: &str, mode: u32) {
    env.write_program("commands/own-command", script, mode);
    env.write("text", "!{own-command 'a b'}");
}

fn a_command_that_is_a_script_runs_as_the_kernel_runs_it() {
    let env = env();
    let words = ["expand", "-y", "--allow", "run:own-command"];
    let script =
        "#! /bin/bash -u  \necho \"$0|$1|$-|${BASH_SOURCE[0]}\"; tail -n 1 \"$0\"\n# end\n";
    own_command(&env, script, 0o755);
    let end = with_own_commands(&env, &words);
    let own = "/usr/local/bin/own-command";
    let expected = format!("{own}|a b|huB|{own}\n# end");
    assert_eq!((end.stderr.as_str(), end.stdout), ("", expected));
    own_command(&env, "#!bash\n", 0o755);
    let end = with_own_commands(&env, &words);
    let why = "error: the command `own-command`: its first line does not name an interpreter by an absolute path\n";
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("", why));
}

/// The bytes that are hashed and approved are the bytes that run, because they are read once.
fn a_command_that_is_a_script_is_read_once() {
    let env = env();
    let script = format!("#!/bin/sh\necho ran\n# {}\n", "x".repeat(5000));
    own_command(&env, &script, 0o755);
    let mut command = env.program("/usr/bin/unshare");
    command.args(["--mount", "--propagation", "private"]);
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let bind = "mount --bind commands /usr/local/bin && exec \"$@\"";
    command
        .args(["/bin/sh", "-c", bind, "sh"])
        .args(["strace", "-y", "-o", "trace", "-e"])
        .args(["trace=read,pread64,readv,preadv,mmap,sendfile,copy_file_range"])
        .arg(env!("CARGO_BIN_EXE_skillrun"))
        .args(["expand", "-y", "--allow", "run:own-command"])
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(std::fs::File::open(env.path("text")).unwrap());
    let end = env.end_of(&mut command);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("ran", ""));
    let trace = env.read("trace");
    let reads = trace.lines().filter(|line| line.contains("/own-command>"));
    let count = |line: &str| -> usize { line.rsplit("= ").next().unwrap().trim().parse().unwrap() };
    let total: usize = reads.map(count).sum();
    assert_eq!(total, script.len(), "{trace}");
}

fn a_command_that_other_users_may_write_is_refused() {
    let env = env();
    let words = ["expand", "-y", "--allow", "run:own-command"];
    let script = "#!/bin/sh\necho ran\n";
    let is_root = rustix::process::geteuid().is_root();
    // A group with other members, everybody, and another owner.
    for (mode, group, owner) in [
        (0o775, Some(12345), None),
        (0o757, None, None),
        (0o755, None, Some(12345)),
    ] {
        if !is_root && (group.is_some() || owner.is_some()) {
            continue;
        }
        own_command(&env, script, mode);
        let path = env.path("commands/own-command");
        std::os::unix::fs::chown(&path, owner, group).unwrap();
        let end = with_own_commands(&env, &words);
        let why = "refused: the command `own-command`: other users can change \
                   `/usr/local/bin/own-command`\nhint: it must belong to root or to you, and only its owner may have write permission\n";
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str()),
            ("", why),
            "{mode:o}"
        );
        std::fs::remove_file(path).unwrap();
    }
    own_command(&env, script, 0o755);
    let end = with_own_commands(&env, &words);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("ran", ""));
}

/// The interpreter that `env` finds, and those of scripts that are interpreters, count like the one in the first line.
fn an_interpreter_that_other_users_may_write_is_refused_wherever_it_is_named() {
    let env = env();
    let words = ["expand", "-y", "--allow", "run:own-command"];
    let write = |name: &str, script: &str, mode: u32| {
        env.write_program(&format!("commands/{name}"), script, mode);
    };
    write("wrapper", "#!/usr/local/bin/shell -e\n", 0o755);
    for first in [
        "#!/usr/bin/env shell",
        "#!/usr/bin/env -S shell -e",
        "#!/usr/bin/env -S LANG=C shell",
        "#!/usr/local/bin/shell",
        "#!/usr/local/bin/wrapper",
        "#!/usr/bin/env wrapper",
    ] {
        own_command(&env, &format!("{first}\necho ran\n"), 0o755);
        write("shell", "#!/bin/sh\necho ran\n", 0o757);
        let end = with_own_commands(&env, &words);
        let why = "refused: the command `own-command`: other users can change `/usr/local/bin/shell`\n\
                   hint: it must belong to root or to you, and only its owner may have write permission\n";
        let printed = (end.stdout.as_str(), end.stderr.as_str());
        assert_eq!(printed, ("", why), "{first}");
        write("shell", "#!/bin/sh\necho ran\n", 0o755);
        let end = with_own_commands(&env, &words);
        let printed = (end.stdout.as_str(), end.stderr.as_str());
        assert_eq!(printed, ("ran", ""), "{first}");
    }
    for (first, why) in [
        (
            "#!/usr/bin/env -S PATH=/tmp sh",
            "its first line uses `env` in a way that skillrun does not check\n\
             hint: write `#!/usr/bin/env NAME` or `#!/usr/bin/env -S NAME ARGUMENTS`",
        ),
        (
            "#!/usr/bin/env no-such-shell",
            "its interpreter `no-such-shell` is not available",
        ),
        (
            "#!/usr/local/bin/own-command",
            "its interpreter is a script, and so is that one's, too many times",
        ),
    ] {
        own_command(&env, &format!("{first}\necho ran\n"), 0o755);
        let end = with_own_commands(&env, &words);
        let why = format!("error: the command `own-command`: {why}\n");
        assert_eq!((end.stdout.as_str(), end.stderr), ("", why), "{first}");
    }
}

/// The decision on a marker, under a policy that asks.
fn decide(host: &Host, text: &str) -> Decision {
    let policy = Policy::parse("allow = [\"run:echo\", \"run:date\"]", Path::new("/")).unwrap();
    let piece = Expander::new(vec![]).push(text.as_bytes()).pop().unwrap();
    let request = Request {
        session: "c".into(),
        ..marker(piece).request
    };
    host.blocking().decide(&policy, request).unwrap()
}

fn asks(host: &Host, text: &str) -> Option<Box<skillrun::Question>> {
    match decide(host, text) {
        Decision::Pending(question) => Some(question),
        Decision::Permitted(_) => None,
        other => panic!("{other:?}"),
    }
}

fn an_approval_of_a_command_is_valid_for_its_arguments_only() {
    let env = env();
    let host = host(&env);
    let question = asks(&host, "!{echo a 'b c'}").unwrap();
    assert_eq!((question.skill.as_str(), question.remembered), ("", true));
    assert_eq!(question.grants, ["run:echo"]);
    let [script] = &question.scripts[..] else {
        panic!()
    };
    assert_eq!(
        (script.script.as_str(), script.path.as_str()),
        ("echo", "/usr/bin/echo")
    );
    assert_eq!(script.args, ["a", "b c"]);
    let mut permitted = answer(&host, &question.id, Answer::YesOnce).unwrap();
    let permit = permitted.remove(0).unwrap();
    let outcome = block_on(host.run(permit)).unwrap();
    assert_eq!(
        (outcome.stdout.as_str(), outcome.skill.as_str()),
        ("a b c\n", "")
    );
    // The approval is remembered, for another process too, but not for any similar command line.
    let other = crate::library::host(&env);
    assert!(asks(&other, "!{echo a \"b c\"}").is_none());
    for different in [
        "!{echo a b c}",
        "!{echo a}",
        "!{echo}",
        "!{echo a 'b c' ''}",
        "!{date}",
    ] {
        assert!(asks(&other, different).is_some(), "{different}");
    }
    let listed = other.blocking().approvals().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].script, "echo 'a' 'b c'");
}

fn yes_in_session_to_a_command_is_valid_for_that_command_only() {
    let env = env();
    let host = host(&env);
    let question = asks(&host, "!{echo a}").unwrap();
    answer(&host, &question.id, Answer::YesInSession).unwrap();
    assert!(asks(&host, "!{echo b}").is_none());
    assert!(asks(&host, "!{date}").is_some());
    host.blocking().end_session("", "c").unwrap();
    assert!(asks(&host, "!{echo b}").is_some());
    // An approval of a script in a session does not cover a command, nor the other way round.
    let script = Request {
        session: "c".into(),
        ..Request::new(&skill(&env), "main.py")
    };
    let Decision::Pending(question) = host.blocking().decide(&Policy::default(), script).unwrap()
    else {
        panic!()
    };
    answer(&host, &question.id, Answer::YesInSession).unwrap();
    assert!(asks(&host, "!{echo b}").is_some());
}

fn an_answers_file_can_approve_a_command() {
    let env = env();
    env.write(
        "answers.json",
        r#"[{"command": "echo", "answer": "yes_once"}, {"command": "date", "answer": "no"}]"#,
    );
    let words = [
        "--allow",
        "run:echo",
        "--allow",
        "run:date",
        "--allow",
        "run:id",
        "--answers",
        "answers.json",
    ];
    let end = expand(&env, "!{echo a}|!{date}|!{id}", &words);
    assert_eq!((end.stdout.as_str(), end.code), ("a||", 126));
    assert!(
        end.stderr
            .contains("the command `date` was not approved: a person answered `no`"),
        "{}",
        end.stderr
    );
    assert!(
        end.stderr
            .contains("the command `id` was not approved: the answers file does not answer it"),
        "{}",
        end.stderr
    );
    env.write(
        "answers.json",
        r#"[{"command": "echo", "skill": "x", "answer": "no"}]"#,
    );
    let end = expand(&env, "", &words);
    assert_eq!(
        end.stderr,
        "error: answers `answers.json`: answer 1: pass either `command`, or `skill` and `script`\n"
    );
}

fn a_policy_that_refuses_native_scripts_refuses_commands() {
    let env = env();
    env.write(
        "policy.toml",
        "native = \"refuse\"\nallow = [\"run:echo\"]\n",
    );
    let end = expand(&env, "!{echo a}", &["--policy", "policy.toml", "-y"]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 126));
    let why =
        "refused: the policy refuses native scripts, and `echo` is a command of this machine\n";
    assert!(end.stderr.starts_with(why), "{}", end.stderr);
}

/// Random texts made of markers. Only the granted command or a script of the loaded skill is ever permitted,
/// and everything else is recorded.
fn nothing_is_permitted_that_was_not_granted() {
    let env = env();
    let (host, skill) = (host(&env), skill(&env));
    let policy = Policy::parse(
        "approval = \"never\"\nallow = [\"run:echo\"]",
        Path::new("/"),
    )
    .unwrap();
    let words = [
        "echo",
        "ECHO",
        "/bin/echo",
        "/usr/bin/echo",
        "./echo",
        "../echo",
        "sh",
        "bash",
        "-c",
        "id",
        "env",
        "python3",
        "scripts/main.py",
        "skill/scripts/main.py",
        "scripts/../scripts/main.py",
        "scripts/none.py",
        "{baseDir}/",
        "'",
        "\"",
        "\\",
        "{",
        "}",
        "|",
        ";",
        "$(id)",
        "\0",
        "\n",
        "echo\0",
        "'echo'",
        "e\"ch\"o",
        "é",
    ];
    let mut random = 0x5DEE_CE66_D1CE_5EEDu64;
    let mut next = |below: usize| {
        // xorshift: the same texts each time.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let (mut permitted, mut refused) = (0, 0);
    for _ in 0..300 {
        let mut text = String::new();
        for _ in 0..next(6) {
            text.push_str(["!{", "%{", "!{! ", "text "][next(4)]);
            for _ in 0..next(4) {
                text.push_str(words[next(words.len())]);
                text.push_str([" ", "", "  "][next(3)]);
            }
            text.push_str(["}", "} ", ""][next(3)]);
        }
        let mut expander = Expander::new(vec![skill.clone()]);
        let pieces = expander
            .push(text.as_bytes())
            .into_iter()
            .chain(expander.finish());
        let mut whole = String::new();
        for piece in pieces {
            let marker = match piece {
                Piece::Text(part) => {
                    whole.push_str(&part);
                    continue;
                }
                Piece::Marker(marker) => marker,
            };
            whole.push_str(&marker.source);
            match host
                .blocking()
                .decide(&policy, marker.request.clone())
                .unwrap()
            {
                Decision::Permitted(permit) => {
                    permitted += 1;
                    let what = (
                        permit.plan().skill().to_owned(),
                        permit.plan().script().to_owned(),
                    );
                    let granted = [("", "echo"), ("skill", "scripts/main.py")]
                        .map(|(a, b)| (a.to_owned(), b.to_owned()));
                    assert!(granted.contains(&what), "{what:?} by {text:?}");
                }
                Decision::Refused(_) => refused += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(whole, text);
    }
    assert!(permitted > 20 && refused > 100, "{permitted} {refused}");
    assert_eq!(env.audit().len(), refused);
}

/// A repository with one commit, whose settings name their own programs for every purpose for which `git` starts one.
fn hostile_repository() -> crate::env::TestEnv {
    let env = env();
    let git = |words: &[&str]| {
        let mut command = env.program("/usr/bin/git");
        let end = env.end_of(command.args(words).current_dir(env.path("workspace")));
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{words:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    env.write("workspace/file", "one\n");
    git(&["add", "file"]);
    let author = ["-c", "user.name=n", "-c", "user.email=n@example.com"];
    git(&[&author[..], &["commit", "-q", "-m", "first"]].concat());
    env.write("workspace/file", "one\ntwo\n");
    let evil = env.write_program(
        "workspace/evil",
        "#!/bin/sh\necho \"$0 $*\" >> ../canary\ntouch ran\n",
        0o755,
    );
    let hook = "#!/bin/sh\ntouch ran\n";
    env.write_program("workspace/.git/hooks/pre-commit", hook, 0o755);
    let mut config = env.read("workspace/.git/config");
    let evil = evil.display();
    config.push_str(&format!(
        "[core]\nfsmonitor = {evil}\neditor = {evil}\npager = {evil}\naskPass = {evil}\nsshCommand = {evil}\n\
         [credential]\nhelper = \"!{evil}\"\n[protocol \"ext\"]\nallow = always\n[user]\nname = n\n\
         email = n@example.com\n"
    ));
    env.write("workspace/.git/config", config);
    env
}

fn git_runs_no_program_from_the_settings_of_a_workspace() {
    let env = hostile_repository();
    let run = |text: &str| {
        let words = ["-w", "workspace", "-y", "-q", "--allow", "run:git"];
        let end = expand(&env, text, &[&words[..], &EVENTS].concat());
        let event = events(&env).pop().unwrap();
        let stderr = event["stderr"].as_str().unwrap_or_default().to_owned();
        (end.stdout, stderr)
    };
    for (text, stdout, stderr) in [
        ("!{git status --short}", " M file\n?? evil", ""),
        ("!{git log --format=%s}", "first", ""),
        ("!{git -p log --format=%s}", "first", ""),
        (
            "!{git commit -q -a}",
            "",
            "Aborting commit due to empty commit message.\n",
        ),
        ("!{git commit -q -a -m second}", "", ""),
        ("!{git log --format=%s}", "second\nfirst", ""),
        (
            "!{git ls-remote 'ext::touch ran'}",
            "",
            "fatal: transport 'ext' not allowed\n",
        ),
    ] {
        let (printed, errors) = run(text);
        assert_eq!(
            (printed.as_str(), errors.as_str()),
            (stdout, stderr),
            "{text}"
        );
        assert!(!env.path("workspace/ran").exists(), "{text}");
    }
    // A variable does not disable what prevents it.
    let mut command = env.command(&[
        "expand",
        "-y",
        "--allow",
        "run:git",
        "--allow",
        "env:GIT_CONFIG_COUNT",
    ]);
    env.write("text", "!{git status}");
    command.env("GIT_CONFIG_COUNT", "0");
    command.stdin(std::fs::File::open(env.path("text")).unwrap());
    let end = env.end_of(&mut command);
    assert_eq!(
        (end.stderr.as_str(), end.code),
        (
            "refused: the variable `GIT_CONFIG_COUNT` is reserved by skillrun\n",
            126
        )
    );
}

fn git_works_in_a_workspace_of_another_user() {
    let env = hostile_repository();
    let words = ["expand", "-w", "workspace", "-y", "--allow", "run:git"];
    env.write("text", "!{git status --short}");
    let mut command = env.unprivileged_command(&words);
    command.stdin(std::fs::File::open(env.path("text")).unwrap());
    let end = env.end_of(&mut command);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (" M file\n?? evil", "", 0)
    );
    // Now all of it belongs to that user, if there is another. An audit log of that user is not ours.
    std::fs::remove_dir_all(env.path("state")).unwrap();
    let end = expand(&env, "!{git status --short}", &words[1..]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (" M file\n?? evil", "", 0)
    );
    assert!(!env.path("workspace/ran").exists());
}
