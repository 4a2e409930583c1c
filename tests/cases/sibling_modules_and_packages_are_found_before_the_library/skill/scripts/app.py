NAME = "my app"
