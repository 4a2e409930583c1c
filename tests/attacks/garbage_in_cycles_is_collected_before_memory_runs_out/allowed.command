run --timeout 100s {skill} main.js
