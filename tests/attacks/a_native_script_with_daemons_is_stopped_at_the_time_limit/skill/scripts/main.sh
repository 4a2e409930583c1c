trap '' TERM INT HUP
( setsid sleep 1000 & )
( bash -c 'kill -STOP $$' & )
( bash -c 'while :; do :; done' & )
echo "started"
[ "$1" = forever ] || exit 0
while :; do :; done
