# Leaves processes behind that have left it, ignore requests to end, and stopped; then waits.
trap '' TERM HUP INT
for _ in 1 2 3; do
    (setsid bash -c 'trap "" TERM HUP INT; while :; do sleep 60; done' &)
done
(kill -STOP $BASHPID) &
sleep 60
