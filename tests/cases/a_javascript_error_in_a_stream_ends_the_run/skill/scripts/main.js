require('node:fs').createReadStream('/nowhere');
