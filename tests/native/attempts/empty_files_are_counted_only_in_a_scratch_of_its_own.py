# limits: scratch=1 disk=8 time=20
# An empty file takes no bytes of a disk, so the watch over what is written does not see it; a file system
# in memory has a number of files, too.
def flood():
    for number in range(500):
        os.close(os.open(f"empty{number}", os.O_CREAT | os.O_WRONLY))
    return "500 files"


os.chdir(os.environ["TMPDIR"])
attempt("in the scratch directory", flood)
os.chdir(WORKSPACE)
attempt("in the workspace", flood)
