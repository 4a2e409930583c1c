# limits: processes=16 time=1
use strict; use warnings;
$| = 1;
my $limit = `bash -c 'ulimit -u'`;
chomp $limit;
# A bomb goes off only where it is held: not as root, and not without a limit.
exit 99 if $< == 0 or $limit eq 'unlimited' or $limit > 100;
print "held: yes\n";
# Each process lives only long enough to make the next one: whoever is to be killed is gone already.
for (1 .. 4) {
    # Where the limit is met already, this one goes on all the same.
    my $child = fork // next;
    $child or do { (fork // 0) and exit while 1 };
}
sleep 1000;
