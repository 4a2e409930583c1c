//! What attempts meet without namespaces, where that is something else than in namespaces.
//!
//! Landlock decides what a path may open, so what does not exist in namespaces is denied here (`EACCES`). It does not cover
//! metadata: names, sizes and owners of files can be seen. It does not cover times either, so these can be set on open
//! files only (`EPERM` for paths).

/// An attempt and what it meets. After a bar, what it meets where the host is root, if that is something else.
pub(crate) const DIFFERENCES: &[(&str, &str)] = &[
    // What is possible, or visible, only here.
    ("read the type and size of /etc/passwd", "ok true"),
    ("read where the link /proc/self/exe leads", "ok true"),
    ("set the times of an open file of the skill", "ok |EPERM"),
    ("map a file of the skill as code", "ok "),
    // What an honest worker has to do without: it sets the times of open files instead, and resets no memory, because it
    // serves one run.
    ("set the times of a located file", "EPERM"),
    ("find the pages that were written", "EACCES"),
    // The worker is not the first process of a namespace, so signals without a handler end it.
    ("abort", "killed by signal 6"),
    // Denied in both, with other errors.
    ("read /etc/passwd", "EACCES"),
    ("list the root", "EACCES"),
    ("list /proc", "EACCES"),
    ("list /proc/self", "EACCES"),
    ("list .. of /proc/self/fd", "EACCES"),
    ("read .. of the skill", "EACCES"),
    ("read .. of the workspace", "EACCES"),
    (
        "read .. of the plain handle, which no host may send",
        "EACCES",
    ),
    ("read /etc/passwd over the skill", "EACCES"),
    ("the same over the workspace, with openat2", "EACCES"),
    ("read an absolute link out of the skill", "EACCES"),
    ("read a relative link out of the skill", "EACCES"),
    ("read /proc/1/root", "EACCES"),
    ("read /proc/self/root", "EACCES"),
    ("read /proc/self/cwd", "EACCES"),
    ("read /proc/self/exe", "EACCES"),
    ("write /proc/self/exe", "EACCES|ETXTBSY"),
    ("read where a link of the host leads", "EACCES"),
    ("read the host's environment", "EACCES"),
    ("set the times of the secret", "EPERM"),
    ("set the times of the secret, over ..", "EPERM"),
    ("remove the secret, over ..", "EACCES"),
    ("move the secret in, over ..", "EACCES"),
    ("link the secret in, over ..", "EXDEV"),
    ("make a directory above the workspace", "EACCES"),
    ("read the secret over a located parent", "EACCES"),
    ("set the times of /proc/self/exe", "EPERM"),
    ("write its own memory by name", "EACCES"),
    ("read /proc/self/environ", "EACCES"),
    ("read /proc/sys", "EACCES"),
    ("read the host's status", "EACCES"),
    ("create a file in the root", "EACCES"),
    ("create a file in /proc/self", "ENOENT"),
    ("create a file in the skill", "EACCES"),
    ("create a nameless file in the skill", "EACCES"),
    ("make a directory in the skill", "EACCES"),
    ("make a link in the skill", "EACCES"),
    ("remove a file of the skill", "EACCES"),
    ("move a file of the skill", "EACCES"),
    ("move a file of the skill out", "EACCES"),
    ("link a file of the skill", "EACCES"),
    ("link the workspace's file out, over ..", "EACCES"),
    ("set the times of a file of the skill", "EPERM"),
    ("write a file of the skill", "EACCES"),
    ("open a read file of the skill again to write it", "EACCES"),
    ("cut a file of the skill when it is opened", "EACCES"),
    ("write the single file", "EACCES"),
    ("write the code", "EACCES"),
    ("write a plain file, which no host may send", "EACCES"),
    ("list what is above the workspace", "EACCES"),
];
