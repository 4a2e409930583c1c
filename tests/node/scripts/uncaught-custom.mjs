// An error of an own class, thrown in an async function that is awaited.
class ValidationError extends Error {
  constructor(message, field) {
    super(message);
    this.name = 'ValidationError';
    this.field = field;
  }
}
async function validate() {
  await null;
  throw new ValidationError('field is missing', 'name');
}
await validate();
