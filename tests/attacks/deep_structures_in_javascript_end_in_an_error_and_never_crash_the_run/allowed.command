run {skill} main.js -- 20
