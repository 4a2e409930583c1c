open("/skill/nothing.txt")
