# limits: time=20 disk=64 scratch=64
for what, start in (("the scratch", os.environ["TMPDIR"]), ("the workspace", WORKSPACE)):
    os.chdir(start)

    def deeper():
        for depth in range(300):
            os.mkdir("d" * 20)
            os.chdir("d" * 20)
        open("bottom", "w").close()
        return "300 deep"

    attempt(what, deeper)
attempt("its path", lambda: os.open(WORKSPACE + ("/" + "d" * 20) * 300, os.O_RDONLY))
