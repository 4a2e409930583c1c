try() {
    local said
    said=$("$@" 2>&1) && echo "$1: done" || echo "$1: ${said##*: }"
}
echo 'allow = []' > ready
try bash -c "echo > $1"
try mv ready "$1"
echo 'allow = []' > ready
try ln -f ready "$1"
try ln -sf ready "$1"
try mkdir "$1"
try rm -f "$1"
