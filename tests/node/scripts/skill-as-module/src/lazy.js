import { setTimeout as sleep } from 'timers/promises';
export default async (n) => {
  await sleep(1);
  return Array.from({ length: n }, (_, i) => i ** 2);
};
