export { z } from './deep.js';
