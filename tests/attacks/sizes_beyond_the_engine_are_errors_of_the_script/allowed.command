run {skill} main.js -- 8
