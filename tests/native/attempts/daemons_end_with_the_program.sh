# limits: time=20
cd "$TMPDIR"
mkfifo there
exec 3<>there
( setsid bash -c 'trap "" TERM HUP INT; echo > there; exec sleep 1000' & )
( ( nohup bash -c 'echo > there; exec sleep 1000' >nohup.out 2>&1 & ) & )
( bash -c 'echo > there; kill -STOP $$; sleep 1000' & )
( exec >/dev/null 2>&1 </dev/null; bash -c 'echo > there; while :; do :; done' & )
( perl -e 'use POSIX; fork and exit; POSIX::setsid(); fork and exit; $SIG{$_} = "IGNORE" for qw(TERM HUP INT); open F, ">", "there"; print F "x\n"; close F; sleep 1000' & )
for each in 1 2 3 4 5; do read <&3; done
echo "five daemons are there"
exit 3
