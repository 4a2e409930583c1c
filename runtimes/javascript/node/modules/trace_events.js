// node:trace_events.

import { absentCall } from './refused.js';

export default { createTracing: absentCall('trace_events', 'createTracing', 'there is no tracing'), getEnabledCategories: () => undefined };
