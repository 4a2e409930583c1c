// A string is thrown, in a module.
throw 'just text';
