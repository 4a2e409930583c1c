#!/usr/bin/env bash
# Connects with what a shell has.
for place in 127.0.0.1/8080 198.51.100.7/443 exfil.example.com/80; do
    if (exec 3<> "/dev/tcp/$place" && echo hello >&3) 2>/dev/null; then echo "connected to $place"; else echo "no $place" >&2; fi
done
command -v curl >/dev/null && curl -sS -m 2 http://198.51.100.7/
echo done
