# limits: disk=8 time=5
# Each orphan writes less than the limit and ends; what they wrote must not be forgotten with them.
echo "64 MiB by orphans"
for each in $(seq 64); do
    ( { head -c 1048576 /dev/zero > file$each; } & ) | cat
done
# It is looked at now and then.
sleep 1000
