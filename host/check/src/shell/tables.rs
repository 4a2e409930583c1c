//! The commands and variables of bash and of every Linux.

/// Builtins and keywords of bash.
pub(super) const BUILTINS: &str = "\
    . : [ [[ alias bg bind break builtin caller case cd command compgen complete continue coproc \
    declare dirs disown do done echo elif else enable esac eval exec exit export false fc fg fi for \
    function getopts hash help history if in jobs kill let local logout mapfile popd printf pushd \
    pwd read readarray readonly return select set shift shopt source \
    suspend test then time times trap true type typeset ulimit umask unalias unset until wait while \
    ! { } ]]";
/// Commands of every Linux: coreutils, findutils, grep, sed, awk, diffutils, tar, gzip.
pub(super) const COMMON: &str = "\
    awk b2sum base32 base64 basename basenc bash cat chgrp chmod chown chroot cksum cmp column comm \
    cp csplit cut date dd df diff dir dircolors dirname du egrep env expand expr factor fgrep find \
    fmt fold grep groups gunzip gzip head hostid hostname id install join link ln logname ls md5sum \
    mkdir mkfifo mknod mktemp mv nice nl nohup nproc numfmt od paste pathchk pr printenv ptx \
    readlink realpath rm rmdir sed seq setsid sh sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf \
    sleep sort split stat stdbuf stty sum sync tac tail tar tee timeout touch tr truncate tsort tty \
    uname unexpand uniq unlink users vdir wc which who whoami xargs yes zcat";
/// Words that come before a command.
pub(super) const BEFORE_COMMAND: &str = "\
    then do else if elif while until ! time { exec nohup sudo env";
/// Variables that the shell or the runtime sets.
pub(super) const PRESET: &str = "\
    BASH BASHPID COLUMNS DIRSTACK EUID FUNCNAME GROUPS HISTFILE HOSTNAME HOSTTYPE IFS LINENO LINES MACHTYPE \
    OLDPWD OPTARG OPTERR OPTIND OSTYPE PIPESTATUS PPID PS4 PWD RANDOM REPLY SECONDS SHELL SHELLOPTS \
    SHLVL SRANDOM TERM UID EPOCHSECONDS EPOCHREALTIME COMP_WORDS LC_ALL NO_COLOR";
