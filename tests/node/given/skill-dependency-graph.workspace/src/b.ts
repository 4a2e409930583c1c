import a from './a.ts';
import x from './gone';
