// A view.
export default () => <p>x</p>;
