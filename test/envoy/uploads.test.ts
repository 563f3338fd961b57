// @suite long
/** Request bodies that are declared and do not come, with the memory that a pod of the chart has. */
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { figuresOf } from './support/process-figures.ts';
import { runWeir } from '../support/run-weir.ts';
import { startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const MiB = 1024 * 1024;
/** With the rest of V8's heap 512 MiB: half of the chart's 1 GiB, as in a pod. */
const heapMiB = 416;

let open: Socket[] = [];
let trickle: NodeJS.Timeout | undefined;
let stopAsking: () => Promise<readonly number[]> = () => Promise.resolve([]);

/** The limits by which the service sheds load. */
const shedReasons = ['queue', 'event-loop', 'memory', 'open-files', 'open-requests'] as const;

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
const weir = await forFile(
  startWeir({
    engines: [engine],
    // The bystander asks without a pause.
    unlimited: true,
    env: {
      WEIR_TRUSTED_HOPS: '1',
      NODE_OPTIONS: `--max-old-space-size=${heapMiB} --import=${import.meta.resolve('./support/hold-memory.ts')}`,
    },
  }),
);
afterEach(async () => {
  clearInterval(trickle);
  await stopAsking();
  for (const socket of open) socket.destroy();
  open = [];
  await weir.settled();
});

/** The key of a new workspace with a cent. */
async function poorKey(workspace: string): Promise<string> {
  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runWeir([...args, '--json', '--data', weir.data]);
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  };
  await run('workspace', 'create', workspace, '--credit', '0.01');
  return (JSON.parse(await run('key', 'create', '--workspace', workspace)) as { readonly key: string }).key;
}

interface Uploading {
  readonly key: string;
  readonly address: string;
  readonly declared: number;
}

/** An upload that has sent what it was given to send, and its answer once there is one. */
interface OpenUpload {
  readonly socket: Socket;
  readonly answer: Promise<string>;
}

/** Begins an upload that goes on for as long as the socket does. */
function upload({ key, address, declared }: Uploading, first: string | Buffer): OpenUpload {
  const socket = connect(Number(new URL(weir.origin).port), '127.0.0.1');
  open.push(socket);
  let text = '';
  const answer = new Promise<string>((resolve) => {
    socket.on('data', (piece: Buffer) => {
      text += piece.toString();
      const [head = '', body = ''] = text.split('\r\n\r\n');
      // The edge waits for a while before it closes a connection on which a body was still coming.
      if (body.length >= Number(/\ncontent-length: (\d+)/.exec(head)?.[1] ?? Infinity)) resolve(text);
    });
    socket.once('close', () => resolve(text));
    socket.once('error', () => resolve(text));
  });
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: weir',
    `authorization: Bearer ${key}`,
    `x-forwarded-for: ${address}`,
    'content-type: application/json',
    `content-length: ${declared}`,
    '',
    '',
  ].join('\r\n');
  socket.write(head);
  socket.write(first);
  return { socket, answer };
}

const question = (padding = 0): string =>
  JSON.stringify({
    ...{ model: 'test/model', reasoning_effort: 'none' },
    messages: [{ role: 'user', content: `[[demo {"words": 1}]]${'x'.repeat(padding)}` }],
  });

/** Asks without a pause until `stopAsking`, which gives all statuses. */
function keepAsking(): void {
  let isOver = false;
  const statuses: number[] = [];
  const asked = (async () => {
    while (!isOver) {
      const answer = await weir.chat(question(), { 'x-forwarded-for': '203.0.113.99' });
      await answer.arrayBuffer();
      statuses.push(answer.status);
    }
  })();
  stopAsking = async () => {
    isOver = true;
    await asked;
    return statuses;
  };
}

const ready = async (): Promise<string> => {
  const answer = await fetch(weir.opsUrl.replace('/metrics', '/readyz'));
  return `${answer.status} ${await answer.text()}`;
};

const slowUploadSeconds = 24;

test(
  '130 uploads that declare 33 MB and send one byte hold up nobody, and are ended after 20 s; a slow and honest one is served',
  { timeout: 90_000 },
  async () => {
    const key = await poorKey('one-byte');
    const residentBefore = figuresOf(weir.pid('service')).residentBytes;
    keepAsking();
    const declared = [33_000_000, 33_554_432];
    const stalled = Array.from({ length: 130 }, (_, at) =>
      upload({ key, address: '203.0.113.1', declared: declared[at % 2] ?? 0 }, '{'),
    );
    const body = question(24 * slowUploadSeconds * 100);
    const slow = upload({ key: weir.key, address: '203.0.113.2', declared: body.length }, '');
    await expect.poll(() => weir.metric('weir_uploads_in_flight')).toBe(131);
    // The bystander's own may be among them.
    expect(await weir.metric('weir_upload_memory_bytes')).toBeLessThanOrEqual(132 * 64 * 1024);
    const grownMiB = (figuresOf(weir.pid('service')).residentBytes - residentBefore) / MiB;
    console.log(`130 uploads of one byte: ${grownMiB.toFixed(1)} MiB more resident`);
    expect(grownMiB).toBeLessThan(64);

    const step = Math.ceil(body.length / slowUploadSeconds);
    let sent = 0;
    await new Promise<void>((resolve) => {
      const pace = setInterval(() => {
        slow.socket.write(body.slice(sent, sent + step));
        sent += step;
        if (sent < body.length) return;
        clearInterval(pace);
        resolve();
      }, 1_000);
    });
    const answers = await Promise.all(stalled.map(({ answer }) => answer));
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('"The request body did not arrive in time."');
      expect(answer).toContain('"invalid_request_error"');
    }
    expect(await weir.metric('weir_limit_refusals_total', { limit: 'upload-time' })).toBe(130);
    await expect.poll(() => weir.metric('weir_uploads_in_flight')).toBe(0);
    const statuses = await stopAsking();
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(statuses.length).toBeGreaterThan(20);
    for (const limit of shedReasons) expect(await weir.metric('weir_limit_refusals_total', { limit })).toBe(0);
    // Who closes before the answer has come has left.
    expect(await slow.answer).toMatch(/^HTTP\/1\.1 200 /);
    slow.socket.end();
  },
);

test('one that declares more than 32 MiB is refused before it sends anything', async () => {
  const declared = 33_554_433;
  expect(await upload({ key: weir.key, address: '203.0.113.2', declared }, '{').answer).toMatch(/^HTTP\/1\.1 413 /);
  expect(await weir.metric('weir_upload_memory_bytes')).toBe(0);
});

test(
  'what one workspace, one address and all hold is bounded by what has arrived, and free once they leave',
  { timeout: 120_000 },
  async () => {
    const [first, second, third] = [await poorKey('first'), await poorKey('second'), await poorKey('third')];
    const declared = 32 * MiB;
    const large = Buffer.alloc(24 * MiB, ' ');
    const one = { key: first, address: '203.0.113.1', declared };
    const held = (): Promise<number> => weir.metric('weir_upload_memory_bytes');
    const refusals = (bound: string): Promise<number> =>
      weir.metric('weir_limit_refusals_total', { limit: `upload-${bound}` });
    keepAsking();
    // None of them is to end for want of bytes, however slow the machine is.
    trickle = setInterval(() => {
      for (const socket of open) if (socket.writable) socket.write(' ');
    }, 1_000);

    // 112 of 128 MiB are for large bodies: four of them, and a little of a fifth.
    for (let count = 0; count < 4; count += 1) upload(one, large);
    await expect.poll(held).toBeGreaterThanOrEqual(96 * MiB);
    const refused = await upload(one, large).answer;
    expect(refused).toMatch(/^HTTP\/1\.1 429 /);
    for (const name of ['retry-after: 1', 'x-ratelimit-limit-requests: 100', 'x-ratelimit-remaining-requests: ']) {
      expect(refused).toContain(name);
    }
    expect(await refusals('workspace')).toBe(1);
    expect(await upload({ ...one, key: second }, large).answer).toMatch(/^HTTP\/1\.1 429 /);
    expect(await refusals('address')).toBe(1);

    const elsewhere = { key: second, address: '203.0.113.2', declared };
    for (let count = 0; count < 4; count += 1) upload(elsewhere, large);
    await expect.poll(held).toBeGreaterThanOrEqual(192 * MiB);
    const overall = { key: third, address: '203.0.113.3', declared };
    // There is room for one of them at most.
    const either = [upload(overall, large), upload(overall, large)].map(({ answer }) => answer);
    expect(await Promise.race(either)).toMatch(/^HTTP\/1\.1 503 /);
    expect(await refusals('total')).toBeGreaterThanOrEqual(1);

    for (const socket of open) socket.destroy();
    await expect.poll(held).toBeLessThanOrEqual(64 * 1024);
    const statuses = await stopAsking();
    expect(new Set(statuses)).toEqual(new Set([200]));
    for (const limit of shedReasons) expect(await weir.metric('weir_limit_refusals_total', { limit })).toBe(0);
  },
);

test(
  'bodies count until their answers end: the next one is refused by its declared length, and a short prompt is not',
  { timeout: 120_000 },
  async () => {
    const held = (): Promise<number> => weir.metric('weir_upload_memory_bytes');
    const message = { role: 'user', content: '[[demo {"words": 1, "firstTokenDelayMs": 1}]]' };
    const asked = { model: 'test/model', reasoning_effort: 'none', messages: [message] };
    const body = JSON.stringify({ ...asked, padding: 'x'.repeat(24 * MiB) });
    const one = { key: weir.key, address: '203.0.113.4', declared: body.length };
    const release = engine.holdPauses();
    const answers = Array.from({ length: 4 }, () => upload(one, body).answer);
    await expect.poll(held, { timeout: 60_000 }).toBeGreaterThanOrEqual(96 * MiB);
    await expect.poll(() => weir.metric('weir_uploads_in_flight'), { timeout: 60_000 }).toBe(0);
    expect(await upload(one, '{').answer).toMatch(/^HTTP\/1\.1 429 /);
    expect((await weir.chat(question(), { 'x-forwarded-for': one.address })).status).toBe(200);
    release();
    for (const answer of answers) expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
    await expect.poll(held).toBe(0);
  },
);

test(
  'readiness says so when all is shed for 5 s, and garbage alone is none: it recovers with nobody asking',
  { timeout: 60_000 },
  async () => {
    expect(await ready()).toBe('200 ok\n');
    const service = weir.pid('service');
    process.kill(service, 'SIGUSR2');
    await expect.poll(async () => (await weir.chat(question())).status).toBe(503);
    expect(await ready()).toBe('200 ok\n');
    await expect.poll(ready).toBe('503 not ready: overloaded, all requests are turned away\n');
    expect((await fetch(weir.opsUrl.replace('/metrics', '/livez'))).status).toBe(200);
    process.kill(service, 'SIGUSR2');
    await expect.poll(ready).toBe('200 ok\n');
    expect((await weir.chat(question())).status).toBe(200);
  },
);
