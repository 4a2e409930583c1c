import { b } from './b';
export * from "./util";
import fs from 'fs';
