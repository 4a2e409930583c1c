run --workspace {root} {skill} main.py -- own/other.toml home/.config/other/settings.toml
