run --workspace {workspace} {skill} main.py -- other.toml
