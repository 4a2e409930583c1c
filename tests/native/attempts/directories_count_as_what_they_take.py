# limits: disk=1 time=20
def flood():
    for number in range(20000):
        os.mkdir(f"folder{number}")
    return "20000 directories"


attempt("directories of 4 KiB each", flood)
