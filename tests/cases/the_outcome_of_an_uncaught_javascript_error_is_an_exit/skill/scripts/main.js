throw new Error('uncaught');
