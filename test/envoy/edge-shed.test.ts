import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEnvoyAdmin } from '../../src/control/envoy/runtime/admin.ts';
import { createLoadShedder, type LoadShedder, shedAtEnvoy } from '../../src/control/envoy/runtime/load-shedder.ts';
import { systemClock } from '../../src/process/clock.ts';
import { waitedMs } from '../../src/gateway/admission/overload.ts';
import type { RequestHead } from '../../src/core/exchange.ts';
import { startEnvoy } from './support/envoy.ts';
import { answerExtProc } from './support/extproc.ts';
import { sendRaw } from './support/raw-http.ts';
import { forFile } from '../support/for-file.ts';

let shedder: LoadShedder;
let admitRatio: number;
const heads: RequestHead[] = [];

const envoy = await forFile(startEnvoy());
const admin = await forFile(createEnvoyAdmin(envoy.files));
await forFile(
  answerExtProc(envoy.files.extprocSocket, (exchange) => {
    heads.push(exchange.head);
    exchange.reply(200, [], 'served');
  }),
);

beforeEach(() => {
  admitRatio = 1;
  heads.length = 0;
  shedder = createLoadShedder({ shed: shedAtEnvoy(admin), clock: systemClock, stepMs: 10, next: () => admitRatio });
});
afterEach(() => shedder.close());

const chat = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}';
const statusOf = async (bytes: string): Promise<number> => (await sendRaw(envoy.port, bytes)).status;

/** Has Envoy let this share through, and waits until it does. */
async function open(share: number): Promise<void> {
  admitRatio = share;
  const percent = Math.round((1 - share) * 100);
  await expect
    .poll(async () => JSON.parse(await envoy.admin('/runtime')) as object)
    .toMatchObject({ entries: { 'weir.shed.percent': { final_value: String(percent) } } });
}

describe('an edge that is closed', () => {
  it('refuses with 503 in the envelope, without Retry-After, and the service hears nothing', async () => {
    await open(0);
    await expect.poll(() => statusOf(chat)).toBe(503);
    heads.length = 0;
    const answer = await sendRaw(envoy.port, chat);
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body)).toEqual({
      error: { message: 'The service cannot take this request right now. It is safe to retry.', type: 'service_error' },
    });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.has('retry-after')).toBe(false);
    expect(heads).toEqual([]);
  });

  it('answers health checks and lists models all the same', async () => {
    await open(0);
    await expect.poll(() => statusOf(chat)).toBe(503);
    expect(await statusOf('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')).toBe(200);
    expect(await statusOf('GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n')).toBe(200);
  });

  it('keeps the connection, so that a flood is not one of handshakes', async () => {
    await open(0);
    await expect.poll(() => statusOf(chat)).toBe(503);
    const socket = connect(envoy.port, '127.0.0.1');
    for (let count = 0; count < 20; count += 1) {
      const answer = await askOn(socket);
      expect(answer).toMatch(/^HTTP\/1.1 503/);
      expect(answer).not.toContain('connection: close');
    }
    socket.destroy();
  });

  it('would close it without the millisecond for which it holds a request', async () => {
    await shedder.close();
    await admin.setRuntime({ 'weir.shed.hold': 0, 'weir.shed.percent': 100 });
    await expect.poll(async () => (await sendRaw(envoy.port, chat)).headers.get('connection')).toBe('close');
    await admin.setRuntime({ 'weir.shed.percent': 0 });
  });

  it('opens again', async () => {
    await open(0);
    await expect.poll(() => statusOf(chat)).toBe(503);
    await open(1);
    await expect.poll(() => statusOf(chat)).toBe(200);
  });

  it('is open after a restart of Envoy, and closed again as soon as it is told', async () => {
    await open(0);
    await expect.poll(() => statusOf(chat)).toBe(503);
    await envoy.restart();
    await expect.poll(() => statusOf(chat)).toBe(503);
  });
});

it('an edge that is half open lets half of the requests through', async () => {
  await open(0.5);
  let served = 0;
  for (let count = 0; count < 400; count += 1) if ((await statusOf(chat)) === 200) served += 1;
  expect(served).toBeGreaterThan(140);
  expect(served).toBeLessThan(260);
});

describe('the time at which a request came', () => {
  it('is told to the service, by the clock that both have', async () => {
    const before = Date.now();
    expect(await statusOf(chat)).toBe(200);
    const [head] = heads;
    if (head === undefined) throw new Error('the service was not asked');
    const received = Number(head.header('x-weir-received'));
    expect(received).toBeGreaterThanOrEqual(before);
    expect(received).toBeLessThanOrEqual(Date.now());
    expect(waitedMs(head, received + 30)).toBe(30);
  });

  it('cannot be told by a caller', async () => {
    await statusOf(chat.replace('host: x', 'host: x\r\nx-weir-received: 1'));
    expect(Number(heads[0]?.header('x-weir-received'))).toBeGreaterThan(1);
  });
});

/** One request on a connection, and its answer. */
async function askOn(socket: Socket): Promise<string> {
  socket.write(chat);
  let answer = '';
  while (!/\r\n\r\n.*\}\n$/s.test(answer)) {
    const [piece] = (await once(socket, 'data')) as [Buffer];
    answer += piece.toString();
  }
  return answer;
}
