echo gone > /dev/null
head -c 3 /dev/zero | od -An -tx1
[ "$(head -c 8 /dev/urandom | wc -c)" = 8 ] && echo random
echo out > /dev/stdout
echo err > /dev/stderr
echo in | cat /dev/stdin
exec 5<<< "five" && cat /dev/fd/5
{ echo x > /dev/tty; } 2>&1 | sed 's/.*: //'
wc -c < /dev/null
