run {skill} main.js -- 2
