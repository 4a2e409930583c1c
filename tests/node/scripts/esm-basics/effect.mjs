console.log('effect first');
