run {skill} main.mjs -- 7
