run --max-output 1MiB {skill} main.js -- 2
