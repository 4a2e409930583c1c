run {skill} main.sh --timeout 20s -- once
