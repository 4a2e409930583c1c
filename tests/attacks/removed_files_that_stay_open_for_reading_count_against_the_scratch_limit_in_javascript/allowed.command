run {skill} main.js -- close
