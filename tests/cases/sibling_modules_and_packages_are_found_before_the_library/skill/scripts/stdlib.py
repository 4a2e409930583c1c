NAME = "my stdlib"
