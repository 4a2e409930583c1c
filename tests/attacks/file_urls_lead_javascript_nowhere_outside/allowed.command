run --virtual-paths {skill} main.js -- file:///skill/scripts/helper.mjs file://localhost/skill/scripts/h%65lper.mjs file:/skill/x/%2e%2e/scripts/helper.mjs
