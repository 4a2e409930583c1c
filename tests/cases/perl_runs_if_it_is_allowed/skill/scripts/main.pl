use strict; use warnings; use JSON::PP; use File::Basename;
print "perl: @ARGV\n", basename($0), "\n", JSON::PP->new->canonical->encode({ b => 1, a => [2] }), "\n";
die "an error\n" if @ARGV > 2;
