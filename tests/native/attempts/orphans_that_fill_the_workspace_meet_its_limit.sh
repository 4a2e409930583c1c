# limits: disk=8 time=60
# Each orphan writes less than the limit and ends; what they wrote must not be forgotten with them.
echo "64 MiB by orphans"
# When its processes are killed, bash may have the time to print that one was, or none. Only errors of `head` are shown.
exec 3>&2 2>/dev/null
for each in $(seq 64); do
    ( { head -c 1048576 /dev/zero > file$each 2>&3; } & ) | cat
done
# It is looked at now and then.
sleep 1000
