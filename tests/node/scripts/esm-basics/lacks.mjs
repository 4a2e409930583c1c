import { nothing } from './values.mjs';
