run --workspace {root} {skill} main.py -- own/policy.toml own/audit.jsonl
