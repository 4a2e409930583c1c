export default 'plain JavaScript';
