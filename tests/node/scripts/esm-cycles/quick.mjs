console.log('quick');
