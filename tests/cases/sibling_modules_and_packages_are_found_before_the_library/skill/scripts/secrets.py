NAME = "my secrets"
