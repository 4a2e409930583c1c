run {skill} main.sh --memory 64MiB -- 1000
