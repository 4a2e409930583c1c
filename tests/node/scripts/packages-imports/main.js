// A package's own names: `imports`, and itself by its name.
const show = (name) => {
  try {
    console.log(name, require(name));
  } catch (error) {
    console.log(name, error.code, error.message.split('\n')[0]);
  }
};
for (const name of [
  '#config',
  '#utils/text',
  '#utils/absent',
  '#dep',
  '#unknown',
  '#',
  'own-name',
  'own-name/extra',
  'own-name/none',
])
  show(name);
import('#config').then(
  (module) => console.log('imported', module.default),
  (error) => console.log(error.code),
);
