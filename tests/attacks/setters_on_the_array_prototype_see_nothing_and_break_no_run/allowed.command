run {skill} main.js
