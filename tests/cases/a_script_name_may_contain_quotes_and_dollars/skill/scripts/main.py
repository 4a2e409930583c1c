import os, sys
print([os.path.basename(sys.argv[0]), *sys.argv[1:]], os.path.basename(__file__))
