export default 'config esm';
