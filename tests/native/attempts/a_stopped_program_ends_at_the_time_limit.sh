# limits: time=1
echo "stops itself"
kill -STOP $$
echo "goes on"
