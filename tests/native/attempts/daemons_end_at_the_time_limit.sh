# limits: time=1
cd "$TMPDIR"
mkfifo there
exec 3<>there
trap '' TERM HUP INT QUIT
( setsid bash -c 'trap "" TERM HUP INT; echo > there; exec sleep 1000' & )
( bash -c 'echo > there; kill -STOP $$; sleep 1000' & )
( bash -c 'echo > there; while :; do :; done' & )
for each in 1 2 3; do read <&3; done
echo "three daemons are there"
while :; do :; done
