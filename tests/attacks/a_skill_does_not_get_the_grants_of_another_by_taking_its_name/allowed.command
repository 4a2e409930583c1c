run --policy {workspace}/folder.toml {skill} main.py
