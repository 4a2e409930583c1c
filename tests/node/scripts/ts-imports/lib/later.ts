const text: string = 'later';
export default text;
