NAME = "my calendar"
