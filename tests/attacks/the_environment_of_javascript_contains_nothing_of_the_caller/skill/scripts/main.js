for (const name of Object.keys(process.env).sort()) console.log(`${name}=${process.env[name]}`);
console.log(process.env.SKILLRUN_TEST_SECRET, process.env.XDG_STATE_HOME, process.env.NODE_OPTIONS, require('node:os').homedir());
console.log(process.execPath, process.execArgv, process.pid, process.ppid, process.title);
console.log(require('node:os').hostname(), require('node:os').userInfo().username, require('node:os').networkInterfaces());
