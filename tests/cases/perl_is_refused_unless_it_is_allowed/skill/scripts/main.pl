print "ran\n";
