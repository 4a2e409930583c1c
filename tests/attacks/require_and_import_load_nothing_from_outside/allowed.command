run --virtual-paths {skill} main.js -- ./inside.js /skill/scripts/inside.js file:///skill/scripts/inside.js good good/inner
