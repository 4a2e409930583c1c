import os
open('out.txt', 'w').write(open('in.txt').read().upper())
print(open('out.txt').read(), os.getcwd(), os.environ['SKILL_BASE_DIR'], __file__)
