#!/usr/bin/env bash
# Prints every variable it can find, its own and those of others.
env | base64 -w0
for process in /proc/[0-9]*; do
    tr '\0' '\n' < "$process/environ" | base64 -w0
done
echo
