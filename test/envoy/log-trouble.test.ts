import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { readOpsAddresses } from '../../src/process/ops-addresses.ts';
import { droppedAfterRequests } from './support/dropped-records.ts';
import { runWeir } from '../support/run-weir.ts';
import { allGone, chat, newDataFolder, removeStarts, start, type Started } from '../support/start.ts';

afterEach(removeStarts);

/** A gateway that logs every request, to something in the place of its service's log. */
function startLoggingTo(target: string): Promise<Started> {
  const data = newDataFolder();
  mkdirSync(join(data, 'logs'));
  symlinkSync(target, join(data, 'logs', 'service.log'));
  return start([], { data, env: { WEIR_LOG_LEVEL: 'debug' } });
}

/** Where the service that runs now answers: while it was down, another gateway may have taken the port of the one before. */
const opsOf = ({ data }: Started): string =>
  readOpsAddresses(data, 'services')[0] ?? expect.fail('no service told its ops port');

async function expectServing(gateway: Started): Promise<void> {
  for (let request = 0; request < 5; request += 1) expect((await chat(gateway, {})).status).toBe(200);
  expect((await fetch(`${opsOf(gateway)}/livez`)).status).toBe(200);
}

async function expectEndByItself(gateway: Started): Promise<void> {
  const pids = gateway.processes();
  const { code, stderr } = await gateway.stop();
  // A service that its supervisor has to kill leaves its address.
  expect(readOpsAddresses(gateway.data, 'services')).toEqual([]);
  expect(code).toBe(0);
  expect(stderr).not.toContain('starting it again');
  await allGone(pids, 0);
}

test('a service whose log is on a full disk serves, counts what it drops and ends by itself', async () => {
  const gateway = await startLoggingTo('/dev/full');
  await expectServing(gateway);
  // Some records wait until the disk has room.
  await expect.poll(() => droppedAfterRequests(gateway, `${opsOf(gateway)}/metrics`)).toBeGreaterThan(0);
  await expectServing(gateway);
  await expectEndByItself(gateway);
});

/** A pipe that is full already. Nobody reads from it until the test does. */
function fullPipe(path: string) {
  execFileSync('sh', ['-c', 'mkfifo "$0"', path]);
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const page = Buffer.alloc(4096, ' ');
  const transfer = (move: () => number): string => {
    for (;;) {
      try {
        move();
      } catch (error) {
        return String(error);
      }
    }
  };
  expect(transfer(() => writeSync(pipe, page))).toContain('EAGAIN');
  return {
    /** Takes out all that is in it. */
    read: (): string => {
      let text = '';
      expect(transfer(() => readSync(pipe, page) && (text += page.toString()).length)).toContain('EAGAIN');
      return text;
    },
    close: () => closeSync(pipe),
  };
}

test('a service whose log is a pipe that nobody reads serves and ends by itself', async () => {
  const path = join(newDataFolder(), 'pipe');
  const pipe = fullPipe(path);
  const gateway = await startLoggingTo(path);
  await expectServing(gateway);
  await expectEndByItself(gateway);
  pipe.close();
});

test('a pipe that is read again gets the log from where it stopped', async () => {
  const path = join(newDataFolder(), 'pipe');
  const pipe = fullPipe(path);
  const gateway = await startLoggingTo(path);
  await expectServing(gateway);
  let text = '';
  await expect.poll(() => (text += pipe.read())).toContain('"msg":"ready"');
  await expectEndByItself(gateway);
  pipe.close();
});

test('the level of the log changes while the gateway serves, and a service that is started again keeps it', async () => {
  const gateway = await start([], { portal: true });
  const level = async (...change: readonly string[]): Promise<unknown> => {
    const { stdout } = await runWeir(['log-level', ...change, '--data', gateway.data, '--json']);
    return (JSON.parse(stdout) as readonly { readonly level: string }[]).map((one) => one.level);
  };
  const log = (): string => readFileSync(join(gateway.data, 'logs', 'service.log'), 'utf8');
  const records = (): number => log().split('"msg":"request ended"').length;
  expect(await level('error')).toEqual(['error', 'error']);
  const before = records();
  await expectServing(gateway);
  process.kill(gateway.processes()['the service'] ?? 0, 'SIGKILL');
  await gateway.said(/The service is back/);
  expect(await level()).toEqual(['error', 'error']);
  await expectServing(gateway);
  expect(await level('info')).toEqual(['info', 'info']);
  // Records are in order: this one shows that none of the requests is to come.
  await expect.poll(log).toContain('"before":"error","now":"info"');
  expect(records()).toBe(before);
  await expectServing(gateway);
  await expect.poll(records).toBe(before + 5);
});

test('logs that have grown large are put aside while the gateway runs, and go on', async () => {
  const gateway = await start([], { env: { WEIR_LOG_LEVEL: 'debug' } });
  const logs = ['service', 'envoy', 'demo-engine'].map((name) => join(gateway.data, 'logs', `${name}.log`));
  for (const log of logs) appendFileSync(log, `${'x'.repeat(17 * 1024 * 1024)}\n`);
  for (const log of logs) await expect.poll(() => existsSync(`${log}.1`)).toBe(true);
  await expectServing(gateway);
  // The file of before is there until its copy is whole.
  await expect.poll(() => readFileSync(logs[0] ?? '', 'utf8')).toMatch(/^\{.*"msg":"request ended"/s);
});
