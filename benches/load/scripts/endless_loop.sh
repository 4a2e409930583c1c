# Never ends and never waits.
while :; do :; done
