import './slow.mjs';
import './quick.mjs';
console.log('awaits runs last');
