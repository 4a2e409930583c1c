import { execSync, spawn } from 'node:child_process';
import fs from 'fs';
import { URLPattern } from 'node:url';
import { draw } from './draw.js';
import missing from './missing.mjs';
import chart from 'charts';
import left from 'left-pad';
import type { Shape } from 'only-types';

const { CHART_SIZE } = process.env;
await fetch(`https://${process.env.REGION}.tiles.acme.dev/x`);
execSync(`convert ${left} out.png`);
spawn(chart.tool);
