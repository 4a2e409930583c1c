NAME = "my run"
