# limits: processes=32 time=20
# A hundred daemons, one after another: each has ended, and was reaped, before the next is made. One that was not reaped yet
# counts, and on a busy machine many could be.
mkfifo "$TMPDIR/never"
exec 7<> "$TMPDIR/never"
for each in $(seq 100); do
    ( { echo $BASHPID > "$TMPDIR/orphan"; echo $each; } & ) | cat > "$TMPDIR/last"
    read -r orphan < "$TMPDIR/orphan"
    while kill -0 "$orphan" 2> /dev/null; do read -r -t 0.001 <&7; done
done
cat "$TMPDIR/last"
