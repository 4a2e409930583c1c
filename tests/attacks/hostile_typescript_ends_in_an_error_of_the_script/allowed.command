run {skill} main.js -- 3
