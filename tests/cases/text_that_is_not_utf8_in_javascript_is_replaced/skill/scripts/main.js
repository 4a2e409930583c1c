console.log('café'.length, 'ÿ' === '\ufffd');
