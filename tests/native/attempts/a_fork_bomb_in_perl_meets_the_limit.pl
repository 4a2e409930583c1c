# limits: processes=16 time=1
use strict; use warnings; use POSIX ();
$| = 1;
my $limit = `bash -c 'ulimit -u'`;
chomp $limit;
# A bomb goes off only where it is held: not as root, and not without a limit.
exit 99 if $< == 0 or $limit eq 'unlimited' or $limit > 100;
print "held: yes\n";
my ($count, $met) = (0, '');
for (1 .. 1000) {
    my $child = fork;
    if (!defined $child) { $met = $! + 0 == POSIX::EAGAIN ? 'EAGAIN' : "$!"; last }
    if (!$child) { sleep 1000; exit }
    $count++;
}
print "children: $count, then $met\n";
# Now each of them forks as fast as it can.
fork while 1;
