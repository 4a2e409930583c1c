//! The bytes that were checked are the bytes that run, whatever replaces the file meanwhile.
//!
//! A race needs luck, so none is run here. Each interpreter executes a hook of the test before it
//! opens its script: the hook prints `ready` and waits, the test replaces the script, and only then
//! does the interpreter continue. By then everything has been hashed, copied and mounted.

use super::scripts::without_namespaces;
use crate::env::{End, SKILL_MD, TestEnv};
use crate::folder::needs;
use libtest_mimic::Trial;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// How the binary is started.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// As the user who runs the tests.
    Own,
    /// As an ordinary user.
    User,
    /// As an ordinary user who can create no namespaces.
    Landlock,
}

const STARTS: [(&str, Start); 3] = [
    ("in_namespaces", Start::Own),
    ("in_namespaces_of_a_user", Start::User),
    ("under_landlock", Start::Landlock),
];

/// A language with a hook that its interpreter runs before it opens the script.
struct Language {
    name: &'static str,
    /// Words of the `needs` file.
    needs: &'static str,
    script: &'static str,
    /// Words of the command line besides the variables.
    words: &'static [&'static str],
    /// Names and values of variables; `{ws}` is the workspace.
    variables: &'static [&'static str],
    /// Where the hook is, in the workspace.
    hook: &'static str,
    waits: &'static str,
    prints: fn(&str) -> String,
    /// Prints what it finds out about itself, and fails.
    tells: &'static str,
    /// A file beside the script that it uses, with its name.
    beside: (&'static str, &'static str),
}

const LANGUAGES: [Language; 5] = [
    Language {
        name: "bash",
        needs: "namespaces bash",
        script: "main.sh",
        words: &[],
        variables: &["BASH_ENV={ws}/hook.sh"],
        hook: "hook.sh",
        waits: "if [ -z \"$HOOKED\" ]; then export HOOKED=1; echo ready; read -r _; fi\n",
        prints: |word| format!("echo {word}\n"),
        tells: r#"echo "$0|${BASH_SOURCE[0]}|$#|$1|$LINENO"
source "$(dirname "$0")/lib.sh"
. "${BASH_SOURCE[0]%/*}/lib.sh"
[[ ${BASH_SOURCE[0]} == "$0" ]] && echo top
wc -c < "$0"
tail -n 1 "$0"
f() { echo "${BASH_SOURCE[*]} ${BASH_LINENO[*]}"; }; f
cd / && ls -l "$0" > /dev/null && head -n 1 < "$0"
no-such-command
exit 3
"#,
        beside: (
            "lib.sh",
            "echo \"lib ${BASH_SOURCE[0]} of ${BASH_SOURCE[1]}\"\n",
        ),
    },
    Language {
        name: "perl",
        needs: "namespaces perl",
        script: "main.pl",
        words: &["--allow", "interpreter:perl"],
        variables: &["PERL5LIB={ws}", "PERL5OPT=-MHook"],
        hook: "Hook.pm",
        waits: "$| = 1; print \"ready\\n\"; scalar <STDIN>; 1;\n",
        prints: |word| format!("print \"{word}\\n\";\n"),
        tells: r#"use FindBin;
use lib $FindBin::Bin;
use Lib;
print join("|", $0, $FindBin::Bin, $FindBin::Script, __FILE__, __LINE__, @ARGV), "\n";
print Lib::name(), "\n";
open my $own, "<", $0 or die; my @lines = <$own>; print scalar(@lines), $lines[0];
print <DATA>;
warn "careful";
die "dead";
__DATA__
kept
"#,
        beside: ("Lib.pm", "package Lib; sub name { __FILE__ } 1;\n"),
    },
    Language {
        name: "ruby",
        needs: "namespaces ruby",
        script: "main.rb",
        words: &["--allow", "interpreter:ruby"],
        variables: &["RUBYOPT=-r{ws}/hook.rb"],
        hook: "hook.rb",
        waits: "$stdout.sync = true\nputs 'ready'\n$stdin.gets\n",
        prints: |word| format!("puts '{word}'\n"),
        tells: r#"puts [$0, $PROGRAM_NAME, __FILE__, __dir__, __LINE__, ARGV].inspect
require_relative 'lib'
puts name_of_lib
puts File.read(__FILE__).lines.first
puts DATA.read
warn 'careful', uplevel: 0
raise 'dead'
__END__
kept
"#,
        beside: ("lib.rb", "def name_of_lib = __FILE__\n"),
    },
    Language {
        name: "python",
        needs: "namespaces python3",
        script: "main.py",
        words: &["--runtime", "native", "--allow", "native"],
        variables: &["PYTHONUSERBASE={ws}"],
        hook: "usercustomize.py",
        waits: "import os\nos.write(1, b'ready\\n')\nos.read(0, 100)\n",
        prints: |word| format!("print('{word}')\n"),
        tells: r#"import inspect, sys
print(__file__, sys.argv, sys.path[0], __name__, __spec__)
import lib
print(lib.__file__)
print(open(__file__).readline())
def f():
    return inspect.currentframe().f_lineno
print(inspect.getsource(f), f())
raise ValueError("dead")
"#,
        beside: ("lib.py", ""),
    },
    Language {
        name: "node",
        needs: "namespaces node",
        script: "main.js",
        words: &[
            "--runtime",
            "native",
            "--allow",
            "native",
            "--memory",
            "1GiB",
        ],
        variables: &["NODE_OPTIONS=--require={ws}/hook.js"],
        hook: "hook.js",
        waits: "const fs = require('fs');\nfs.writeSync(1, 'ready\\n');\nfs.readSync(0, Buffer.alloc(100));\n",
        prints: |word| format!("console.log('{word}');\n"),
        tells: r#"console.log(__filename, __dirname, process.argv.slice(1), require.main === module);
console.log(require('./lib'));
console.log(require('fs').readFileSync(__filename, 'utf8').split('\n')[0]);
throw new Error('dead');
"#,
        beside: ("lib.js", "module.exports = __filename;\n"),
    },
];

pub(crate) fn tests() -> Vec<Trial> {
    let mut trials = Vec::new();
    for language in &LANGUAGES {
        for (words, start) in STARTS {
            let mut add = |name: &str, run: fn(&Language, Start)| {
                let name = format!("{name}_by_{}_{words}", language.name);
                let trial = Trial::test(name, move || {
                    run(language, start);
                    Ok(())
                });
                trials.push(needs(trial.with_kind("native"), language.needs));
            };
            add("a_script_says_of_itself_what_it_says_unconfined", alike);
            // The others run their hook after they have opened the script.
            if ["bash", "python", "node"].contains(&language.name) {
                add(
                    "a_script_replaced_before_it_is_opened_is_not_what_runs",
                    replaced,
                );
                add(
                    "a_linked_script_replaced_before_it_is_opened_is_not_what_runs",
                    linked,
                );
                add("a_script_in_a_replaced_directory_is_not_what_runs", moved);
                add(
                    "a_directory_in_the_place_of_a_script_is_not_what_runs",
                    became_directory,
                );
                add(
                    "a_link_in_the_place_of_a_script_is_not_what_runs",
                    became_link,
                );
                add(
                    "a_file_whose_name_continues_the_scripts_is_not_what_runs",
                    continued,
                );
            } else {
                add(
                    "a_script_replaced_again_and_again_is_what_the_log_says",
                    flipped,
                );
            }
        }
    }
    let mut add = |name: String, run: Box<dyn Fn() + Send>| {
        let trial = Trial::test(name, move || {
            run();
            Ok(())
        });
        trials.push(needs(trial.with_kind("native"), "namespaces bash"));
    };
    for (words, start) in STARTS {
        add(
            format!("a_script_uses_its_own_file_as_it_does_unconfined_by_bash_{words}"),
            Box::new(move || uses(start)),
        );
        add(
            format!("a_script_copies_its_own_file_by_bash_{words}"),
            Box::new(move || copies(start)),
        );
        add(
            format!("a_script_that_may_change_its_skill_is_what_was_checked_{words}"),
            Box::new(move || writable(&LANGUAGES[0], start)),
        );
    }
    add(
        "a_script_in_the_workspace_is_what_was_checked_although_the_skill_was_moved".into(),
        Box::new(|| around(&LANGUAGES[0])),
    );
    for (words, start) in STARTS {
        let trial = Trial::test(
            format!("a_script_cannot_lease_its_own_file_from_the_supervisor_{words}"),
            move || {
                leases(start);
                Ok(())
            },
        );
        trials.push(needs(trial.with_kind("native"), LANGUAGES[3].needs));
    }
    trials
}

fn command(env: &TestEnv, start: Start, words: &[&str]) -> Command {
    match start {
        Start::Own => env.command(words),
        Start::User => env.unprivileged_command(words),
        Start::Landlock => without_namespaces(env, words),
    }
}

/// Starts a script, runs `meanwhile` while its interpreter waits in the hook, and lets it continue.
fn hooked(language: &Language, start: Start, env: &TestEnv, meanwhile: impl FnOnce()) -> End {
    hooked_with(language, start, env, &["-w", "workspace"], meanwhile)
}

/// The same with these words.
fn hooked_with(
    language: &Language,
    start: Start,
    env: &TestEnv,
    more: &[&str],
    meanwhile: impl FnOnce(),
) -> End {
    let workspace = env.path("workspace");
    let workspace = workspace.to_str().unwrap();
    env.write(&format!("workspace/{}", language.hook), language.waits);
    if language.name == "python" {
        // Every version searches its own directory.
        for minor in 8..20 {
            let path = format!("workspace/lib/python3.{minor}/site-packages/usercustomize.py");
            env.write(&path, language.waits);
        }
    }
    let variables: Vec<String> = language
        .variables
        .iter()
        .map(|variable| variable.replace("{ws}", workspace))
        .collect();
    let mut words = vec!["run", "./skill", language.script];
    words.extend(language.words.iter().chain(more));
    for variable in &variables {
        words.extend(["--env", variable]);
    }
    let mut command = command(env, start, &words);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut ready = String::new();
    stdout.read_line(&mut ready).unwrap();
    if ready == "ready\n" {
        meanwhile();
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let end = env.end_of_child(child);
    assert_eq!(ready, "ready\n", "{}", end.stderr);
    End {
        stdout: env.named(rest.as_bytes()),
        ..end
    }
}

fn skill_of(language: &Language) -> TestEnv {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    let script = format!("skill/scripts/{}", language.script);
    env.write(&script, (language.prints)("decided"));
    env
}

fn replaced(language: &Language, start: Start) {
    let env = skill_of(language);
    let script = format!("skill/scripts/{}", language.script);
    let other = env.write("other", (language.prints)("other"));
    let end = hooked(language, start, &env, || {
        fs::rename(&other, env.path(&script)).unwrap();
    });
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(got, ("decided\n", "", 0));
    // The allowed twin: a new decision sees the new file.
    let again = hooked(language, start, &env, || {});
    assert_eq!((again.stdout.as_str(), again.code), ("other\n", 0));
}

/// The script is a link: some interpreters open what it leads to.
fn linked(language: &Language, start: Start) {
    let env = skill_of(language);
    let name = language.script.replace("main", "real");
    let (script, real) = (
        env.path(&format!("skill/scripts/{}", language.script)),
        env.path(&format!("skill/lib/{name}")),
    );
    let other = env.write("other", (language.prints)("other"));
    fs::create_dir(env.path("skill/lib")).unwrap();
    fs::rename(&script, &real).unwrap();
    std::os::unix::fs::symlink(format!("../lib/{name}"), &script).unwrap();
    let end = hooked(language, start, &env, || {
        fs::rename(&other, &real).unwrap();
    });
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(got, ("decided\n", "", 0));
}

/// Its directory is replaced by another with a script of the same name.
fn moved(language: &Language, start: Start) {
    let env = skill_of(language);
    let other = format!("other/{}", language.script);
    env.write(&other, (language.prints)("other"));
    let end = hooked(language, start, &env, || {
        fs::rename(env.path("skill/scripts"), env.path("aside")).unwrap();
        fs::rename(env.path("other"), env.path("skill/scripts")).unwrap();
    });
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(got, ("decided\n", "", 0));
}

/// Python runs `__main__.py` in a directory, Node `index.js`.
fn became_directory(language: &Language, start: Start) {
    let env = skill_of(language);
    let script = env.path(&format!("skill/scripts/{}", language.script));
    for name in ["__main__.py", "index.js", "main.sh"] {
        env.write(&format!("other/{name}"), (language.prints)("other"));
    }
    let end = hooked(language, start, &env, || {
        fs::remove_file(&script).unwrap();
        fs::rename(env.path("other"), &script).unwrap();
    });
    assert_eq!(end.stdout, "", "{}", end.stderr);
    assert_ne!(end.code, 0);
}

/// Node resolves links in the path of its script.
fn became_link(language: &Language, start: Start) {
    let env = skill_of(language);
    let script = env.path(&format!("skill/scripts/{}", language.script));
    env.write(
        &format!("workspace/other-{}", language.script),
        (language.prints)("other"),
    );
    let target = env.path(&format!("workspace/other-{}", language.script));
    let end = hooked(language, start, &env, || {
        fs::remove_file(&script).unwrap();
        std::os::unix::fs::symlink(&target, &script).unwrap();
    });
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(got, ("decided\n", "", 0));
}

/// Node tries names with an extension if there is no file.
fn continued(language: &Language, start: Start) {
    let env = skill_of(language);
    let script = env.path(&format!("skill/scripts/{}", language.script));
    let end = hooked(language, start, &env, || {
        fs::remove_file(&script).unwrap();
        for extension in ["js", "json", "node"] {
            let name = format!("skill/scripts/{}.{extension}", language.script);
            env.write(&name, (language.prints)("other"));
        }
    });
    // A process that opens the path itself gets the script.
    assert!(
        ["", "decided\n"].contains(&end.stdout.as_str()),
        "{}",
        end.stdout
    );
}

fn writable(language: &Language, start: Start) {
    let env = skill_of(language);
    let script = format!("skill/scripts/{}", language.script);
    let other = env.write("other", (language.prints)("other"));
    let words = ["-w", "workspace", "--allow", "write:skill"];
    let end = hooked_with(language, start, &env, &words, || {
        fs::rename(&other, env.path(&script)).unwrap();
    });
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(got, ("decided\n", "", 0));
}

/// The skill is inside the workspace, and its whole directory is replaced. This does not test whether the supervisor notices the move in time; if it does, it ends the run.
fn around(language: &Language) {
    let env = skill_of(language);
    let other = format!("other/scripts/{}", language.script);
    env.write(&other, (language.prints)("other"));
    let end = hooked_with(language, Start::Own, &env, &["-w", "."], || {
        fs::rename(env.path("skill"), env.path("aside")).unwrap();
        fs::rename(env.path("other"), env.path("skill")).unwrap();
    });
    let ended = "Stopped: another process replaced a protected path\n\
                 Signal: SIGKILL\n\
                 warning: `{skill}` is a protected path and was replaced during the run; moved to \
                 `{root}/skill.refused`\n";
    match end.code {
        // It may have printed before it was killed.
        137 => assert_eq!(
            (
                end.stdout.replace("decided\n", "").as_str(),
                end.stderr.as_str()
            ),
            ("", ended)
        ),
        code => assert_eq!((end.stdout.as_str(), code), ("decided\n", 0)),
    }
}

/// Two scripts alternate at one path as fast as they can. Which one the decision sees is luck; that
/// the same one runs is not.
fn flipped(language: &Language, start: Start) {
    let env = skill_of(language);
    let script = env.path(&format!("skill/scripts/{}", language.script));
    let other = env.write("other", (language.prints)("other"));
    let mut words = vec!["run", "./skill", language.script];
    words.extend(language.words);
    let mut command = command(&env, start, &words);
    // The hashes in the log.
    let mut known = Vec::new();
    for word in ["decided\n", "other\n"] {
        assert_eq!(env.end_of(&mut command).stdout, word);
        known.push((started(&env).pop().unwrap(), word));
        exchange(&script, &other);
    }
    let stop = AtomicBool::new(false);
    let printed = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                exchange(&script, &other);
            }
        });
        let _stop = Stop(&stop);
        let run = |_| env.end_of(&mut command);
        (0..12).map(run).collect::<Vec<End>>()
    });
    let logged = started(&env).into_iter().skip(known.len());
    let logged: Vec<&str> = logged
        .map(|hash| known.iter().find(|known| known.0 == hash).unwrap().1)
        .collect();
    // A decision during the exchange may refuse; then nothing ran.
    let ran = printed.iter().filter(|end| end.code != 126);
    let ran: Vec<(&str, &str)> = ran
        .map(|end| (end.stdout.as_str(), end.stderr.as_str()))
        .collect();
    let logged: Vec<(&str, &str)> = logged.into_iter().map(|word| (word, "")).collect();
    assert_eq!(ran, logged);
    assert!(!ran.is_empty());
}

fn exchange(one: &Path, other: &Path) {
    let (cwd, how) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
    rustix::fs::renameat_with(cwd, one, cwd, other, how).unwrap();
}

/// The hashes of the scripts that were started.
fn started(env: &TestEnv) -> Vec<String> {
    let log = env.audit();
    let started = log.iter().filter(|line| line["event"] == "started");
    let hashes = started.map(|line| line["script_hash"].as_str().unwrap().to_owned());
    hashes.collect()
}

/// Stops the other thread even if the test panics; the scope would wait for it forever.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What scripts do with their own file besides running it.
const USES: &str = r#"#!/bin/bash
case $STEP in
executed) echo "executed $0 $1"; exit;;
sourced) echo "sourced ${BASH_SOURCE[0]} by ${BASH_SOURCE[1]}"; return;;
esac
cat "$0" | wc -l
sha256sum "$0"
sha256sum < "$0"
diff "$0" <(cat "$0") && echo the same
cmp "$0" "${BASH_SOURCE[0]}" && echo the same
grep -c STEP "$0"
sed -n '/^# help/s/# //p' "$0"
# help for users
awk 'END { print NR }' "$0"
STEP=sourced; . "$0"; unset STEP
STEP=executed bash "$0" by bash
STEP=executed "$0" by itself
(STEP=executed; export STEP; exec "$0" in env)
stat -c %s "$0"
test -r "$0" -a -x "$0" -a ! -w "$0" && echo readable and executable, not writable
"#;

/// Compares with bash, started without us on the same path.
fn uses(start: Start) {
    let env = skill_of(&LANGUAGES[0]);
    let script = env.write("skill/scripts/main.sh", USES);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o555);
    fs::set_permissions(&script, mode).unwrap();
    let confined = env.end_of(&mut command(&env, start, &["run", "./skill", "main.sh"]));
    let mut plain = env.program("/bin/bash");
    // Root may write whatever its mode says.
    if rustix::process::geteuid().is_root() {
        std::os::unix::process::CommandExt::uid(&mut plain, 65534);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(env.root(), open).unwrap();
    }
    let plain = env.end_of(plain.arg(script));
    assert_eq!(plain.stdout.lines().count(), 14, "{plain:?}");
    assert_eq!(confined, plain);
}

/// `cp` compares the file that it opened with what it found at the path before.
fn copies(start: Start) {
    let env = skill_of(&LANGUAGES[0]);
    let script = "cp \"$0\" copy && cmp \"$0\" copy && echo copied\n\
                  install -m 644 \"$0\" installed && cmp \"$0\" installed && echo installed\n\
                  cat \"$0\" > written && cmp \"$0\" written && echo written\n";
    env.write("skill/scripts/main.sh", script);
    env.write("workspace/x", "");
    let words = ["run", "./skill", "main.sh", "-w", "workspace"];
    let end = env.end_of(&mut command(&env, start, &words));
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    if matches!(start, Start::Landlock) {
        // Without namespaces nothing covers the file, so `stat` finds another file than `open`.
        let replaced = "cp: skipping file '{skill}/scripts/main.sh', as it was replaced while being copied\n\
                        install: skipping file '{skill}/scripts/main.sh', as it was replaced while being copied\n";
        assert_eq!(got, ("written\n", replaced, 0));
        return;
    }
    assert_eq!(got, ("copied\ninstalled\nwritten\n", "", 0));
    for copy in ["copy", "installed", "written"] {
        assert_eq!(env.read(&format!("workspace/{copy}")), script);
    }
}

/// A lease on the file that the supervisor opens for the program would keep the supervisor from
/// watching it, and one on the log would keep the host from writing it. A lock keeps only those who ask for it.
fn leases(start: Start) {
    let language = &LANGUAGES[3];
    let env = skill_of(language);
    let script = "import errno, fcntl, os\n\
                  own = os.open(__file__, os.O_RDONLY)\n\
                  def lease(file, kind):\n\
                  \x20   try:\n\
                  \x20       fcntl.fcntl(file, fcntl.F_SETLEASE, kind)\n\
                  \x20       return 'granted'\n\
                  \x20   except OSError as error:\n\
                  \x20       return errno.errorcode[error.errno]\n\
                  print('own file:', lease(own, fcntl.F_WRLCK))\n\
                  print(open(__file__).readline(), end='')\n\
                  path = os.environ['TMPDIR'] + '/new'\n\
                  new = os.open(path, os.O_RDWR | os.O_CREAT)\n\
                  print('new file:', lease(new, fcntl.F_WRLCK))\n\
                  print('lock:', fcntl.lockf(new, fcntl.LOCK_EX))\n";
    env.write("skill/scripts/main.py", script);
    let words = [&["run", "./skill", "main.py"], language.words].concat();
    let end = env.end_of(&mut command(&env, start, &words));
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    let wanted = "own file: EPERM\nimport errno, fcntl, os\nnew file: EPERM\nlock: None\n";
    assert_eq!(got, (wanted, "", 0));
}

/// Compares with the interpreter, started without us on the same path.
fn alike(language: &Language, start: Start) {
    let env = skill_of(language);
    let script = env.write(
        &format!("skill/scripts/{}", language.script),
        language.tells,
    );
    let (name, text) = language.beside;
    env.write(&format!("skill/scripts/{name}"), text);
    let quiet = "PYTHONDONTWRITEBYTECODE=1";
    let mut words = vec!["run", "./skill", language.script, "--env", quiet];
    words.extend(language.words);
    words.extend(["--", "one", "two words"]);
    let confined = env.end_of(&mut command(&env, start, &words));
    let program = match language.name {
        "python" => "python3",
        other => other,
    };
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"].iter();
    let mut paths = folders.map(|folder| format!("{folder}/{program}"));
    let program = paths.find(|path| Path::new(path).is_file());
    let mut plain = Command::new(program.unwrap());
    plain
        .arg(script)
        .args(["one", "two words"])
        .current_dir(env.path("skill"))
        .env_clear()
        .envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("LANG", "C.UTF-8"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let plain = env.end_of(&mut plain);
    assert!(plain.stdout.lines().count() > 2, "{}", plain.stderr);
    assert_eq!(
        (confined.stdout, confined.stderr, confined.code),
        (plain.stdout, plain.stderr, plain.code)
    );
}
