run {skill} main.js -- plant
