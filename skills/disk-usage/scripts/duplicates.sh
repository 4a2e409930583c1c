#!/usr/bin/env bash
# Prints groups of files with the same contents below a folder, the largest first.
# Usage: duplicates.sh [FOLDER]
set -euo pipefail

folder=${1:-.}
if [[ ! -d $folder ]]; then
    echo "not a folder: $folder" >&2
    exit 2
fi

# Only files of the same size can be the same, so only those are read.
find "$folder" -name .git -prune -o -type f -size +0 -printf '%s\t%P\n' |
    sort -t $'\t' -k1,1nr -k2,2 |
    awk -F '\t' '
        $1 == size { if (!shown) print first; print; shown = 1; next }
        { size = $1; first = $0; shown = 0 }
    ' |
    while IFS=$'\t' read -r size name; do
        sum=$(sha256sum <"$folder/$name")
        printf '%s\t%s\t%s\n' "$size" "${sum%% *}" "$name"
    done |
    sort -t $'\t' -k1,1nr -k2,2 -k3,3 |
    awk -F '\t' '
        $2 == sum { if (!shown) { if (groups++) print ""; print size " bytes each:"; print "  " first } print "  " $3; shown = 1; next }
        { sum = $2; size = $1; first = $3; shown = 0 }
        END { if (!groups) print "no duplicates" }
    '
