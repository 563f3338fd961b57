import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { droppedAfterRequests } from './support/dropped-records.ts';
import { mountSmallDisk, type SmallDisk } from './support/small-disk.ts';
import { chat, newDataFolder, removeStarts, start } from '../support/start.ts';

// A real disk that fills up and is emptied, where this user may mount one. What a full disk does to the log is tested without
// one, too, in log-trouble.test.ts.

let disk: SmallDisk | undefined;
afterEach(async () => {
  disk?.free();
  disk?.remove();
  await removeStarts();
});

test('a disk that was full and has room again gets the log again, and in it how much is missing', async ({ skip }) => {
  const data = newDataFolder();
  const logs = join(data, 'logs');
  mkdirSync(logs);
  // Larger than what waits for it.
  disk = mountSmallDisk(logs, 8 * 1024);
  skip(disk === undefined, 'this user may not mount a disk');
  const gateway = await start([], { data, env: { WEIR_LOG_LEVEL: 'debug' } });
  disk?.fill();
  await expect.poll(() => droppedAfterRequests(gateway, gateway.opsUrl)).toBeGreaterThan(0);
  disk?.free();
  const log = (): string => readFileSync(join(logs, 'service.log'), 'utf8');
  await expect.poll(log).toMatch(/^\{.*"dropped":\d+,"msg":"records of this log were dropped/m);
  const size = log().length;
  expect((await chat(gateway, {})).status).toBe(200);
  await expect.poll(() => log().slice(size)).toContain('"msg":"request ended"');
  expect((await gateway.stop()).code).toBe(0);
});

test('a service that dies while the disk is full is started again until it can serve', async ({ skip }) => {
  const data = newDataFolder();
  disk = mountSmallDisk(data, 64 * 1024);
  skip(disk === undefined, 'this user may not mount a disk');
  const gateway = await start([], { data });
  disk?.fill();
  process.kill(gateway.processes()['the service'] ?? 0, 'SIGKILL');
  await gateway.said(/The service was killed by SIGKILL; starting it again/);
  await gateway.said(/Writing the pid of the service failed: ENOSPC/);
  disk?.free();
  const status = (): Promise<number> =>
    chat(gateway, {}).then(
      (answer) => answer.status,
      () => 0,
    );
  await expect.poll(status).toBe(200);
  expect((await gateway.stop()).code).toBe(0);
});
