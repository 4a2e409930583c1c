// node:stream/promises.

import stream from '../stream.js';

export default { finished: stream.promises.finished, pipeline: stream.promises.pipeline };
