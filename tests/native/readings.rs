//! What the machine shows of its processes, read from `/proc`.

use std::fs;
use std::path::Path;

/// All processes of the machine that this user may see.
pub(crate) fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Processes that have `mark` in their environment.
pub(crate) fn marked(mark: &str) -> Vec<u32> {
    let mut processes = processes();
    processes.retain(|process| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry.ends_with(mark.as_bytes()))
    });
    processes
}

/// All descendants of a process.
pub(crate) fn descendants(of: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = children(of);
    while let Some(process) = open.pop() {
        found.push(process);
        open.extend(children(process));
    }
    found
}

/// The children of all threads of a process.
pub(crate) fn children(of: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{of}/task"))
        .into_iter()
        .flatten();
    let lists = threads
        .flatten()
        .map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let lists: Vec<String> = lists.collect();
    let words = lists.iter().flat_map(|list| list.split_whitespace());
    words.map(|word| word.parse().unwrap()).collect()
}

/// The state of a process (`S` sleeps, `T` is stopped, …) and its nice value.
pub(crate) fn state(process: u32) -> Option<(String, i32)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    Some((words.next()?.into(), words.nth(15)?.parse().ok()?))
}

/// Control groups of these supervisors that still exist.
pub(crate) fn groups(supervisors: &[u32]) -> Vec<String> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let paths = own.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let tops = ["memory", "unified", ""];
    let mut found = Vec::new();
    for path in paths {
        for top in tops {
            let here = Path::new("/sys/fs/cgroup").join(top);
            let here = here.join(path.trim_start_matches('/'));
            for above in here
                .ancestors()
                .take_while(|above| above.starts_with("/sys/fs/cgroup"))
            {
                for supervisor in supervisors {
                    let group = above.join(format!("skillrun-{supervisor}"));
                    if group.exists() {
                        found.push(group.display().to_string());
                    }
                }
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The mounts that this process sees.
pub(crate) fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap()
}
