print("out")
raise KeyboardInterrupt
