import atexit

class Noisy:
    def __del__(self):
        print("deleted")

noisy = Noisy()
report = open("report.txt", "w")
report.write("written without close")
# Still in the buffer here; the end of the run writes it to report.txt in the workspace.
atexit.register(lambda: print("at exit:", repr(open("report.txt").read())))
