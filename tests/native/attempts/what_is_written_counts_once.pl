# limits: disk=20 time=20
# The twin of what meets the limit: each way in which the account of a process goes to another.
$| = 1;
sub writes {
    my ($name, $mebibytes) = @_;
    open my $file, '>', $name or die "open: $!";
    syswrite $file, 'x' x (1 << 20) for 1 .. $mebibytes;
    select undef, undef, undef, 0.15;
}
for my $each (1 .. 2) {
    my $child = fork // die "fork: $!";
    if (!$child) { writes("waited$each", 3); exit 0 }
    waitpid $child, 0;
}
print "6 MiB by children that are waited for\n";
my $child = fork // die "fork: $!";
if (!$child) {
    my $grandchild = fork // die "fork: $!";
    if (!$grandchild) { writes("grandchild", 3); exit 0 }
    waitpid $grandchild, 0;
    exit 0;
}
waitpid $child, 0;
print "3 MiB by a grandchild\n";
pipe my $there, my $gone or die "pipe: $!";
$child = fork // die "fork: $!";
if (!$child) {
    close $there;
    exit 0 if fork;
    writes("orphan", 3);
    exit 0;
}
close $gone;
waitpid $child, 0;
sysread $there, my $nothing, 1;
print "3 MiB by an orphan\n";
$SIG{CHLD} = 'IGNORE';
$child = fork // die "fork: $!";
if (!$child) { writes("unwaited", 3); exit 0 }
select undef, undef, undef, 0.005 while kill 0, $child;
print "3 MiB by a child that nobody waits for\n";
select undef, undef, undef, 0.15;
