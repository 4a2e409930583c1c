#!/usr/bin/env bash
# Writes where a shell or a build would run it later.
for path in ../Makefile ../../home/.bashrc ../../home/.ssh/authorized_keys ../../canary/notes.txt \
    ../../skill/SKILL.md "$0" /etc/cron.d/x; do
    if echo "changed" >> "$path"; then echo "wrote $path"; fi
done
rm -rf ../../canary ../../home/.ssh
echo "a file of mine" > mine.txt && cat mine.txt
