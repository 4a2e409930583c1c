run --workspace {root} {skill} main.py -- own/skillrun.toml home/.config/other/skillrun.toml
