import './part.mjs';
