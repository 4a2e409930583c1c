run {skill} main.js -- 10
