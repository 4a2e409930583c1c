NAME = "my statistics"
