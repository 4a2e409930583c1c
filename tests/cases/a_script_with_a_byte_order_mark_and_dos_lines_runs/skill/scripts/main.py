print("""a
b""")
if True:
    print("ok")
