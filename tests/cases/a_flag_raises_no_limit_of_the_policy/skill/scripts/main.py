print("it ran")
