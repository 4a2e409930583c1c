use super::*;

fn found(source: &str) -> (Vec<String>, Vec<String>) {
    let facts = facts(source);
    (
        facts.commands.into_keys().collect(),
        facts.env.into_keys().collect(),
    )
}

#[test]
fn words_in_command_position_are_commands() {
    let source = "#!/bin/bash\nset -euo pipefail\n# git is not used\necho git 'jq' \"node\"\njq . x | sort | rg a && gh pr list; FOO=1 make all\nx=$(python3 -c 'import os')\nif ! command -v ffmpeg >/dev/null; then exit 1; fi\nfor f in *.c; do gcc \"$f\"; done\nhelper() { docker ps; }\nhelper\ncase \"$1\" in\n  start) systemctl start ;;\n  *) echo none ;;\nesac\ncat <<EOF\nnpm install\nEOF\ny=`hg id`\narray=(cargo build)\n(( a + b ))\ndiff <(svn info) b\nsudo apt-get update\n[ -f x ] || terraform plan\n\"$PROGRAM\" x\nwhile read -r line; do bc; done < <(psql -c x)\n";
    assert_eq!(
        found(source).0,
        [
            "apt-get",
            "bc",
            "docker",
            "gcc",
            "gh",
            "hg",
            "jq",
            "make",
            "psql",
            "python3",
            "rg",
            "svn",
            "systemctl",
            "terraform"
        ]
    );
}

#[test]
fn variables_that_the_script_reads_but_does_not_set_are_found() {
    let source = "A=1\necho $A ${B} \"${C:-x}\" $1 $HOME_DIR\nread -r D\nexport E=2\nfor F in a b; do echo $F $D $E; done\necho '$G' $lower $BASH_SOURCE $PWD $RANDOM\nlocal H=$I\necho $H ${#J} \"$(echo \"$K\")\"\ncat <<'X'\n$L\nX\n# $M\n";
    assert_eq!(found(source).1, ["B", "C", "HOME_DIR", "I", "J", "K"]);
}

#[test]
fn hosts_come_from_urls() {
    let facts = facts(
        "API=https://api.github.com\ncurl -s \"$API/x\" https://$X.acme.dev/y \"http://a.b.dev:8080/\"\n",
    );
    let hosts: Vec<_> = facts.hosts.keys().map(|(host, _)| host.as_str()).collect();
    assert_eq!(hosts, ["*.acme.dev", "a.b.dev", "api.github.com"]);
    assert_eq!(facts.network, Some(2));
}

#[test]
fn broken_sources_are_read_to_their_end() {
    for source in [
        "$(",
        "`",
        "\"",
        "'",
        "${",
        "((",
        "<<",
        "<<EOF\n",
        "case x in",
        "x=(",
        "$(((",
        "<(",
        "\\",
        ")",
        "esac",
        "${x:-${y:-",
    ] {
        let _ = facts(source);
    }
    for piece in ["$(", "${a:-", "\"$(", "`", "<(", "(", "x=(", "case a in "] {
        let _ = facts(&piece.repeat(20_000));
    }
}
