run {skill} main.sh --workspace {root} -- other.toml
