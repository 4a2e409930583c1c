NAME = "my script"
