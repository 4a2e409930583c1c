#!/usr/bin/env bash
# Prints how much each kind of file takes below a folder, and the largest files.
# Usage: usage.sh [FOLDER] [COUNT]
set -euo pipefail

folder=${1:-.}
count=${2:-10}
if [[ ! -d $folder ]]; then
    echo "not a folder: $folder" >&2
    exit 2
fi
if [[ ! $count =~ ^[0-9]+$ ]]; then
    echo "not a number: $count" >&2
    exit 2
fi

files=$(mktemp)
trap 'rm -f "$files"' EXIT
find "$folder" -name .git -prune -o -type f -printf '%s\t%P\n' >"$files"

echo "bytes	files	kind"
awk -F '\t' '
    {
        name = $2
        sub(/.*\//, "", name)
        kind = name ~ /.\./ ? name : "(none)"
        sub(/.*\./, ".", kind)
        bytes[kind] += $1
        files[kind]++
    }
    END { for (kind in bytes) printf "%d\t%d\t%s\n", bytes[kind], files[kind], kind }
' "$files" | sort -t $'\t' -k1,1nr -k3,3

echo
echo "bytes	file"
sort -t $'\t' -k1,1nr -k2,2 "$files" | sed -n "1,${count}p"
