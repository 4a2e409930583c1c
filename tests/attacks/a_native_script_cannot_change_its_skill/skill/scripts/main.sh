try() {
    local said
    said=$("$@" 2>&1) && echo "$1: done" || echo "$1: ${said##*: }"
}
cd "$SKILL_BASE_DIR"
try touch new
try rm scripts/data
try mv scripts moved
try chmod 777 scripts/data
try ln -s x link
try ln scripts/data hard
try mkdir folder
try bash -c 'echo x >> scripts/data'
try bash -c 'echo x >> "$0"' "$0"
