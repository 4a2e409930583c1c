# limits: processes=32 time=20
# A hundred daemons, one after another: each has ended before the next is made.
for each in $(seq 100); do
    ( { echo $each; } & ) | cat > "$TMPDIR/last"
done
cat "$TMPDIR/last"
