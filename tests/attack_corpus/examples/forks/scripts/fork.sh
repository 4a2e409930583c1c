#!/usr/bin/env bash
# Leaves processes behind, in sessions of their own.
for number in {1..15}; do
    setsid sleep 30 >/dev/null 2>&1 < /dev/null &
done
echo done
