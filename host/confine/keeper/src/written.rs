//! What the processes of a run have written to disks.
//!
//! The account of a process goes to the one that waits for its end. It goes to nobody if that one ignores
//! the ends of its children: then the kernel buries them, and what was last known of each is all that can
//! be. So what vanished is kept, less what those who may have waited for it have gained since.

use crate::tree::Process;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy)]
struct Known {
    parent: i32,
    bytes: u64,
    /// It was not listed, and is there.
    unlisted: bool,
}

/// The count, from one look to the next.
#[derive(Debug, Default)]
pub(crate) struct Written {
    known: BTreeMap<i32, Known>,
    /// The order in which parents come before their children.
    order: Vec<i32>,
    /// Written by processes that nobody waited for.
    lost: u64,
    /// Written by processes that only whoever buries orphans can have waited for, if anybody.
    orphaned: u64,
}

impl Written {
    /// Bytes written in all. `processes` come after their parents; `grave` buries orphans, and has
    /// `buried` in its account. `read` tells what is in that of another process, given what it was.
    pub(crate) fn look<'a>(
        &mut self,
        processes: impl Iterator<Item = &'a Process>,
        grave: i32,
        buried: u64,
        read: impl Fn(i32, u64) -> Option<u64>,
    ) -> u64 {
        let last = std::mem::take(&mut self.known);
        let order = std::mem::take(&mut self.order);
        let mut vanished = BTreeSet::new();
        for Process { id, parent } in processes {
            let before = last.get(id).map_or(0, |known| known.bytes);
            // Parents are read first: what is there afterwards is not yet in their accounts. Nor is what has
            // gone meanwhile, which is left for the next look.
            let bytes = read(*id, before).unwrap_or(before);
            if bytes < before {
                // Another process has got the number.
                vanished.insert(*id);
            }
            self.keep(*id, *parent, bytes, false);
        }
        for id in &order {
            let Some(known) = last.get(id).filter(|_| !self.known.contains_key(id)) else {
                continue;
            };
            // The kernel's list of children may pass one over when another ends.
            match read(*id, known.bytes) {
                Some(_) if !known.unlisted => self.keep(*id, known.parent, known.bytes, true),
                _ => {
                    vanished.insert(*id);
                }
            }
        }
        self.settle(&last, &order, &vanished, grave);
        let there = self.known.values().map(|known| known.bytes);
        let there = there.fold(0, u64::saturating_add);
        there
            .saturating_add(self.lost)
            .saturating_add(self.orphaned.max(buried))
    }

    /// Whether somebody leaves his children to nobody.
    pub(crate) fn loses(&self) -> bool {
        self.lost > 0
    }

    fn keep(&mut self, id: i32, parent: i32, bytes: u64, unlisted: bool) {
        let known = Known {
            parent,
            bytes,
            unlisted,
        };
        self.known.insert(id, known);
        self.order.push(id);
    }

    /// Finds out who has what the vanished had, the youngest first: they may have ended before their
    /// parents did.
    fn settle(
        &mut self,
        last: &BTreeMap<i32, Known>,
        order: &[i32],
        vanished: &BTreeSet<i32>,
        grave: i32,
    ) {
        let mut gains = BTreeMap::new();
        for (id, known) in &self.known {
            if let Some(before) = last.get(id).filter(|_| !vanished.contains(id)) {
                gains.insert(*id, known.bytes - before.bytes);
            }
        }
        // What children of the vanished had that vanished too.
        let mut inherited: BTreeMap<i32, u64> = BTreeMap::new();
        for id in order.iter().rev().filter(|id| vanished.contains(id)) {
            let Some(Known { parent, bytes, .. }) = last.get(id).copied() else {
                continue;
            };
            let below = inherited.get(id).copied().unwrap_or(0);
            if parent == grave {
                self.orphaned = self.orphaned.saturating_add(bytes).saturating_add(below);
            } else if let Some(gain) = gains.get_mut(&parent) {
                let mut claim = |bytes: u64| {
                    let had = bytes.min(*gain);
                    *gain -= had;
                    bytes - had
                };
                self.lost = self.lost.saturating_add(claim(bytes));
                // Those may have become orphans first.
                self.orphaned = self.orphaned.saturating_add(claim(below));
            } else {
                let sum = inherited.entry(parent).or_default();
                *sum = sum.saturating_add(bytes).saturating_add(below);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAVE: i32 = 1;

    /// What a look finds of processes, each with its number, parent and account; and the account of the grave.
    type Look<'a> = (&'a [(i32, i32, u64)], u64);

    /// The count after these looks.
    fn count(looks: &[Look<'_>]) -> u64 {
        let mut written = Written::default();
        let mut count = 0;
        for (there, buried) in looks {
            let process = |&(id, parent, _): &(i32, i32, u64)| Process { id, parent };
            let processes: Vec<Process> = there.iter().map(process).collect();
            let read = |id, _| there.iter().find(|one| one.0 == id).map(|one| one.2);
            count = written.look(processes.iter(), GRAVE, *buried, read);
        }
        count
    }

    #[test]
    fn what_was_waited_for_counts_once() {
        let first: &[_] = &[(2, 1, 1), (3, 2, 5), (4, 3, 7)];
        assert_eq!(count(&[(first, 0)]), 13);
        assert_eq!(count(&[(first, 0), (&[(2, 1, 1), (3, 2, 12)], 0)]), 13);
        assert_eq!(count(&[(first, 0), (&[(2, 1, 13)], 0)]), 13);
        assert_eq!(count(&[(first, 0), (&[(2, 1, 15)], 0)]), 15);
    }

    #[test]
    fn what_nobody_waited_for_is_not_forgotten() {
        let looks: &[Look<'_>] = &[
            (&[(2, 1, 0), (3, 2, 5)], 0),
            (&[(2, 1, 0), (4, 2, 6)], 0),
            (&[(2, 1, 0), (5, 2, 7)], 0),
            (&[(2, 1, 0)], 0),
        ];
        assert_eq!(count(looks), 18);
    }

    #[test]
    fn orphans_count_once_however_late_their_account_comes() {
        let there: Look<'_> = (&[(2, 1, 0), (3, 1, 5)], 0);
        let gone: Look<'_> = (&[(2, 1, 0)], 0);
        let told: Look<'_> = (&[(2, 1, 0)], 6);
        assert_eq!(count(&[there, gone]), 5);
        assert_eq!(count(&[there, gone, told]), 6);
        // Its parent ended with it.
        let family: Look<'_> = (&[(2, 1, 0), (3, 2, 1), (4, 3, 5)], 0);
        assert_eq!(count(&[family, (&[(2, 1, 1)], 0)]), 6);
        assert_eq!(count(&[family, (&[(2, 1, 1)], 5)]), 6);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let looks: &[Look<'_>] = &[(&[(2, 1, 0), (3, 2, 5)], 0), (&[(2, 1, 0), (3, 2, 1)], 0)];
        assert_eq!(count(looks), 6);
    }

    #[test]
    fn what_a_list_passed_over_counts_once() {
        let both = [Process { id: 2, parent: 1 }, Process { id: 3, parent: 2 }];
        let mut written = Written::default();
        let read = |id, _| Some(if id == 3 { 5 } else { 1 });
        assert_eq!(written.look(both.iter(), GRAVE, 0, read), 6);
        assert_eq!(written.look(both[..1].iter(), GRAVE, 0, read), 6);
        assert_eq!(written.look(both.iter(), GRAVE, 0, read), 6);
    }
}
