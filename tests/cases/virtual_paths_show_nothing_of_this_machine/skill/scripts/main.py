import os, sys
print(os.getcwd(), __file__, sys.argv[0], os.environ['SKILL_BASE_DIR'], sorted(os.listdir('/')) if os.path.isdir('/') else 'no root')
