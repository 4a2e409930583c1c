run --virtual-paths {skill} main.js
