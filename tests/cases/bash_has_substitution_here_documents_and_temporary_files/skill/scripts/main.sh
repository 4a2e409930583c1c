set -euo pipefail
diff <(printf 'a\nb\n') <(printf 'a\nc\n') || echo "differ"
cat <<END
here: $((6 * 7))
END
cat <<< "a string"
file=$(mktemp)
echo text > "$file"
folder=$(mktemp -d)
cp "$file" "$folder/copy"
cat "$folder/copy"
[[ $file == "$TMPDIR"/* && $HOME == "$TMPDIR" ]] && echo "in the scratch directory"
echo one two three | tr ' ' '\n' | sort -r | tee >(wc -l > "$folder/count") | head -1
seq 3 | xargs -n1 echo item
coproc tr a-z A-Z
echo upper >&"${COPROC[1]}"
exec {COPROC[1]}>&-
cat <&"${COPROC[0]}"
echo "$(date -u +%Y | grep -c ^20) $TZ $LANG"
sed -i 's/text/changed/' "$file" && cat "$file"
