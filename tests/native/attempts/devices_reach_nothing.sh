# Devices by what opening them meets. Which of them there are is up to the machine; each has the first.
try() {
    local what=$1
    shift
    local said
    said=$("$@" 2>&1 </dev/null)
    echo "$what: exit $?, ${said##*: }"
}
for how in '<' '>'; do
    for device in /dev/ptmx /dev/mem /dev/kmsg /dev/port /dev/sda /dev/vda /dev/loop0 /dev/loop-control /dev/kvm /dev/fuse \
        /dev/net/tun /dev/pts/0 /dev/console /dev/tty0 /dev/vsock /dev/vhost-vsock /dev/hwrng /dev/rtc0 /dev/watchdog /dev/autofs; do
        [ -e $device ] && there="is there" || there="is not there"
        # A new file can only be tried for in a directory that there is.
        [ -d ${device%/*} ] || continue
        try "$how what $there" bash -c "exec 9$how$device && echo opened"
    done | sort -u
done
try "/dev/tty" bash -c 'exec 9</dev/tty'
try "/dev/tcp" bash -c 'exec 9<>/dev/tcp/127.0.0.1/$TCP'
try "/dev/udp" bash -c 'exec 9<>/dev/udp/127.0.0.1/$UDP'
try "/dev/shm" bash -c 'echo word > /dev/shm/new && cat /dev/shm/new'
try "a device of one's own" bash -c 'mknod node c 1 3'
try "a disk of one's own" bash -c 'mknod node b 254 0'
# The twins: those that reach nothing.
try "/dev/null" bash -c 'echo x > /dev/null && wc -c < /dev/null'
try "/dev/zero" bash -c 'head -c 4 /dev/zero | wc -c'
try "/dev/urandom" bash -c 'head -c 4 /dev/urandom | wc -c'
try "/dev/random" bash -c 'head -c 4 /dev/random | wc -c'
try "/dev/full" bash -c 'echo x > /dev/full'
try "/dev/fd" bash -c 'cat <(echo substituted)'
try "/dev/stdout" bash -c 'echo said > /dev/stdout'
try "/dev/stderr" bash -c 'echo said > /dev/stderr'
try "/dev/stdin" bash -c 'echo heard | cat /dev/stdin'
# Those of the program itself were made by the host.
echo "the host's /dev/stdout" > /dev/stdout
echo "the host's /dev/stderr" > /dev/stderr
cat /dev/stdin
