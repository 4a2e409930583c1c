print("y" * 5000)
