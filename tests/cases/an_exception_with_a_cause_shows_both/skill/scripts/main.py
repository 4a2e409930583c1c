def read():
    try:
        return {}["key"]
    except KeyError as error:
        raise RuntimeError("no configuration") from error

try:
    read()
except RuntimeError:
    raise ValueError("cannot start")
