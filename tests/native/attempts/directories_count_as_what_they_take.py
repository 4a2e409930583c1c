# limits: disk=1 time=20
import time


def flood():
    for number in range(20000):
        os.mkdir(f"folder{number}")
    # It is looked at now and then.
    time.sleep(1000)


attempt("directories of 4 KiB each", flood)
