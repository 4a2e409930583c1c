for file in state/skillrun/audit.jsonl skillrun.toml other/SKILL.md home/secret; do
    cat "$1/$file" 2>&1 | sed "s|$1/||"
done
env | grep -c leaked || true
