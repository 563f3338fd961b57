import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { selfSigned } from '../support/self-signed.ts';
import { type PickerProcess, spawnPicker } from '../support/picker-process.ts';
import { type PickingEnvoy, type PickingEnvoyOptions, startPickingEnvoy } from './support/picking-envoy.ts';

/** An engine that streams the same chunks each time, and remembers what it was sent. */
interface Engine {
  readonly server: Server;
  readonly port: number;
  readonly name: string;
  /** The digest of each body. */
  readonly bodies: string[];
}

const digest = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');
const event = (body: object): string => `data: ${JSON.stringify(body)}\n\n`;
const chunks = [
  event({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }),
  ...['Water', ' runs', ' – über', ' the 🪨'].map((content) => event({ choices: [{ index: 0, delta: { content } }] })),
  event({
    choices: [],
    usage: { prompt_tokens: 400, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 390 } },
  }),
  'data: [DONE]\n\n',
];

/**
 * How long an engine computes before its first token. So what an endpoint holds is worth more than a pause of this process, on
 * cores that other programs use.
 */
const computesMs = 40;

async function startEngine(port = 0): Promise<Engine> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      bodies.push(digest(await buffer(request)));
      await pause(computesMs);
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-engine': name });
      for (const chunk of chunks) {
        response.write(chunk);
        await setImmediate();
      }
      response.end();
    };
    // A gateway may leave in the middle of a body.
    answer().catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const found = (server.address() as AddressInfo).port;
  const name = `127.0.0.1:${found}`;
  return { server, port: found, name, bodies };
}

async function end({ server }: Engine): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

let engines: readonly Engine[];
let picker: PickerProcess;
let envoy: PickingEnvoy;

const endpointFlags = (): readonly string[] => engines.flatMap(({ name }) => ['--endpoint', name]);
const isEngine = (name: string | null): boolean => engines.some((engine) => engine.name === name);

beforeEach(async () => {
  engines = [await startEngine(), await startEngine(), await startEngine()];
});
afterEach(async () => {
  await envoy.stop();
  await picker.close();
  for (const engine of engines) await end(engine);
});

async function start(
  options: Partial<PickingEnvoyOptions> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  picker = await spawnPicker(endpointFlags(), env);
  envoy = await startPickingEnvoy({ pickerPort: picker.port, upstream: 'header', ...options });
}

interface Ask {
  readonly path?: string | undefined;
  readonly subset?: string | undefined;
}

function post(
  body: string | Buffer<ArrayBuffer>,
  { path = '/v1/chat/completions', subset }: Ask = {},
): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(subset === undefined ? {} : { 'x-subset': subset }) };
  return fetch(`http://127.0.0.1:${envoy.port}${path}`, { method: 'POST', body, headers });
}

/** Asks, reads the whole answer, and returns the engine that gave it. */
async function engineFor(body: string, ask: Ask = {}): Promise<string | null> {
  const response = await post(body, ask);
  expect([response.status, await response.text()]).toEqual([200, chunks.join('')]);
  return response.headers.get('x-engine');
}

/** One turn of a conversation: its subject, and as many questions as there were. */
function turn(conversation: number, questions: number): string {
  const system = { role: 'system', content: `You know everything about river ${conversation}. `.repeat(60) };
  const asked = Array.from({ length: questions }, (_, at) => [
    { role: 'user', content: `Question ${at} about it: ${'how deep is it here? '.repeat(100)}` },
    { role: 'assistant', content: 'Water runs' },
  ]);
  return JSON.stringify({
    model: 'm',
    stream: true,
    messages: [system, ...asked.flat(), { role: 'user', content: 'And now?' }],
  });
}

describe.each(['FULL_DUPLEX_STREAMED', 'BUFFERED'] as const)('an Envoy that sends bodies %s', (bodyMode) => {
  it('keeps each conversation at the endpoint that holds it', async () => {
    await start({ bodyMode });
    const homes = Array.from({ length: 12 }, (_, conversation) => engines[conversation % engines.length]?.name);
    // The first turns are spread by their subsets. No later turn has one.
    for (const [conversation, subset] of homes.entries()) await engineFor(turn(conversation, 0), { subset });
    for (let questions = 1; questions < 5; questions += 1) {
      for (const [conversation, home] of homes.entries()) {
        expect(await engineFor(turn(conversation, questions)), `conversation ${conversation}`).toBe(home);
      }
    }
    expect(await picker.metrics()).toMatch(/^weir_picker_picks_total\{why="holder"\} 48$/m);
  });

  it('gets the body and the answer through unchanged, whatever they are', async () => {
    await start({ bodyMode });
    const bodies = [turn(1, 3), '{"model": "m", "messages": "none"}', 'no JSON at all', turn(2, 400)];
    for (const body of bodies) expect(isEngine(await engineFor(body))).toBe(true);
    expect(isEngine(await engineFor(turn(3, 1), { path: '/v1/embeddings' }))).toBe(true);
    const received = engines.flatMap((engine) => engine.bodies).toSorted();
    expect(received).toEqual([...bodies, turn(3, 1)].map(digest).toSorted());
  });

  it('picks from the subset that it names, and gets 503 for a subset without endpoints', async () => {
    await start({ bodyMode });
    const [, second, third] = engines.map(({ name }) => name);
    for (let at = 0; at < 10; at += 1) {
      expect(await engineFor(turn(at, 0), { subset: `${second}, 10.9.9.9:80` })).toBe(second);
      expect(await engineFor(turn(at, 0), { subset: third })).toBe(third);
    }
    const refused = await post(turn(0, 0), { subset: '10.9.9.9:80' });
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { error: { message: 'The subset of pool of the given endpoints has no ready endpoint.', type: 'server_error' } },
    ]);
  });
});

describe('when the picked endpoint fails', () => {
  const retries = { WEIR_PICKER_RETRY_ENDPOINTS: '2' };

  /** The engines that answer a conversation after its first one is gone, and is back without what it held. */
  async function homesAfterFailure(options: Partial<PickingEnvoyOptions>): Promise<readonly (string | null)[]> {
    await start({ upstream: engines.map(({ port }) => port), ...options }, retries);
    const [first, ...others] = engines;
    if (first === undefined) throw new Error('there is no engine');
    expect(await engineFor(turn(0, 0), { subset: first.name })).toBe(first.name);
    await end(first);
    const homes = [await engineFor(turn(0, 1))];
    expect(others.map(({ name }) => name)).toContain(homes[0]);
    engines = [await startEngine(first.port), ...others];
    for (let questions = 2; questions < 5; questions += 1) homes.push(await engineFor(turn(0, questions)));
    return homes;
  }

  it('a gateway that reads lists goes on with the next one, and the picker learns which one has answered', async () => {
    const [home, ...later] = await homesAfterFailure({});
    expect(later).toEqual([home, home, home]);
  });

  it('a picker that is not told which one has answered goes back to the first', async () => {
    const first = engines[0]?.name;
    expect((await homesAfterFailure({ namesServed: false })).slice(1)).toEqual([first, first, first]);
  });

  it('a cluster of the type ORIGINAL_DST reads no list', async () => {
    await start({}, retries);
    const response = await post(turn(0, 0));
    expect([response.status, await response.text()]).toEqual([503, 'no healthy upstream']);
  });
});

describe('when the picker is killed', () => {
  it('a gateway that fails closed refuses', async () => {
    await start();
    expect(isEngine(await engineFor(turn(0, 0)))).toBe(true);
    await picker.close('SIGKILL');
    const response = await post(turn(0, 1));
    expect(response.status).toBe(500);
    expect(engines.flatMap(({ bodies }) => bodies)).toHaveLength(1);
  });

  it('a gateway that fails open chooses itself', async () => {
    await start({ bodyMode: 'BUFFERED', failOpen: true, upstream: engines.map(({ port }) => port) });
    expect(isEngine(await engineFor(turn(0, 0)))).toBe(true);
    await picker.close('SIGKILL');
    expect(isEngine(await engineFor(turn(0, 1)))).toBe(true);
  });

  it('a gateway that fails open cannot go on with a body that it has handed over', async () => {
    await start({ failOpen: true, upstream: engines.map(({ port }) => port) });
    expect(isEngine(await engineFor(turn(0, 0)))).toBe(true);
    await picker.close('SIGKILL');
    expect((await post(turn(0, 1))).status).toBe(500);
    // A request without a body has handed over nothing.
    expect((await fetch(`http://127.0.0.1:${envoy.port}/v1/models`)).status).toBe(200);
  });
});

it('a gateway that speaks TLS with the picker, as all are to, gets its endpoints', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-picker-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await Promise.all([writeFile(certificate, selfSigned.certificate), writeFile(key, selfSigned.key)]);
  await start({ tls: true }, { WEIR_TLS_CERTIFICATE_FILE: certificate, WEIR_TLS_KEY_FILE: key });
  expect(isEngine(await engineFor(turn(0, 3)))).toBe(true);
});

it('a body of more than the picker reads goes on unchanged', async () => {
  await start();
  const body = Buffer.alloc(11 * 1024 * 1024, 'x');
  const response = await post(body);
  expect([response.status, await response.text()]).toEqual([200, chunks.join('')]);
  expect(engines.flatMap((engine) => engine.bodies)).toEqual([digest(body)]);
});
