# limits: time=20
sleep 1000 & 
kill $!
wait $!
echo "TERM: $?"
timeout 0.1 sleep 1000
echo "timeout: $?"
{ bash -c 'kill -SEGV $$'; } 2>/dev/null
echo "SEGV: $?"
trap 'echo "trapped INT"' INT
kill -INT $$
grep -E '^Sig(Blk|Pnd):' /proc/self/status
kill -SEGV $$
