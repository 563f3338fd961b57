import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { ExtProcServer } from '../../src/gateway/extproc/server.ts';
import type { BootstrapOptions } from '../../src/control/envoy/config/bootstrap.ts';
import { startEnvoy, type TestEnvoy } from './support/envoy.ts';
import { answerExtProc } from './support/extproc.ts';
import { type RawAnswer, sendRaw } from './support/raw-http.ts';

let envoy: TestEnvoy;
let service: ExtProcServer;

async function start(options: Partial<BootstrapOptions>): Promise<void> {
  envoy = await startEnvoy(options);
  service = await answerExtProc(envoy.files.extprocSocket, (exchange) => exchange.reply(200, [], 'ok'));
}

afterEach(async () => {
  await service.close(0);
  await envoy.stop();
});

const get = (path: string, lines = ''): Promise<RawAnswer> =>
  sendRaw(envoy.port, `GET ${path} HTTP/1.1\r\nhost: x\r\n${lines}\r\n`);

async function statuses(count: number, send: () => Promise<RawAnswer>): Promise<readonly number[]> {
  const all: number[] = [];
  for (let sent = 0; sent < count; sent += 1) all.push((await send()).status);
  return all;
}

const from = (address: string): string => `x-forwarded-for: ${address}\r\n`;

function expectRefusal(answer: RawAnswer): void {
  expect(answer.status).toBe(429);
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(JSON.parse(answer.body)).toMatchObject({ error: { type: 'service_error' } });
  expect(answer.text).not.toMatch(/envoy|x-ratelimit/i);
}

describe('the catalog', () => {
  it('is shown 120 times at once to an address and then 429, with the seconds to wait, while other paths go on', async () => {
    await start({ trustedHops: 1 });
    const first = await statuses(120, () => get('/v1/models', from('203.0.113.1')));
    expect(first.every((status) => status === 200)).toBe(true);
    // At a token a second, one or two may have come back meanwhile.
    const more = await Promise.all(Array.from({ length: 20 }, () => get('/v1/models', from('203.0.113.1'))));
    const refused = more.find(({ status }) => status === 429);
    if (refused === undefined) throw new Error('nothing was refused');
    expectRefusal(refused);
    expect(refused.headers.get('access-control-allow-origin')).toBe('*');
    expect((await get('/healthz', from('203.0.113.1'))).status).toBe(200);
    expect((await get('/v1/models', from('203.0.113.2'))).status).toBe(200);
  });

  it('counts a /64 of IPv6 as one address, and preflights with the rest', async () => {
    await start({ trustedHops: 1, models: { perMinute: 60, burst: 6 } });
    let host = 0;
    const network = (): string => from(`2001:db8:0:1::${(host += 1).toString(16)}`);
    expect(await statuses(6, () => get('/v1/models', network()))).toEqual([200, 200, 200, 200, 200, 200]);
    const preflight = (): Promise<RawAnswer> =>
      sendRaw(envoy.port, `OPTIONS /v1/models HTTP/1.1\r\nhost: x\r\n${network()}\r\n`);
    expect(await statuses(6, preflight)).toContain(429);
    expect((await get('/v1/models', from('2001:db8:0:2::1'))).status).toBe(200);
  });

  it('is shown again after the time that Retry-After says', async () => {
    await start({ trustedHops: 1, models: { perMinute: 60, burst: 1 } });
    await get('/v1/models', from('203.0.113.1'));
    const refused = await get('/v1/models', from('203.0.113.1'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    await expect.poll(async () => (await get('/v1/models', from('203.0.113.1'))).status, { interval: 20 }).toBe(200);
  });
});

describe('a flood', () => {
  it('from one address is 429 on every path, and no other address is concerned', async () => {
    await start({ trustedHops: 1, flood: { perSecond: 1, burst: 5 } });
    expect(await statuses(5, () => get('/healthz', from('203.0.113.1')))).toEqual([200, 200, 200, 200, 200]);
    const refused = await Promise.all(
      ['/healthz', '/nope', '/v1/models', '/healthz'].map((path) => get(path, from('203.0.113.1'))),
    );
    const last = refused.findLast(({ status }) => status === 429);
    if (last === undefined) throw new Error('nothing was refused');
    expectRefusal(last);
    expect((await get('/healthz', from('203.0.113.2'))).status).toBe(200);
  });

  it('from one network of IPv6 counts as one address', async () => {
    await start({ trustedHops: 1, flood: { perSecond: 1, burst: 5 } });
    let host = 0;
    const all = await statuses(12, () => get('/healthz', from(`2001:db8:0:1::${(host += 1).toString(16)}`)));
    expect(all).toContain(429);
    expect((await get('/healthz', from('2001:db8:0:2::1'))).status).toBe(200);
  });

  it('is not hidden by an address that the caller makes up', async () => {
    await start({ trustedHops: 0, flood: { perSecond: 1, burst: 5 } });
    let made = 0;
    expect(await statuses(12, () => get('/healthz', from(`203.0.113.${(made += 1)}`)))).toContain(429);
  });
});

it('the address of a caller behind a trusted proxy is the one the proxy saw', async () => {
  envoy = await startEnvoy({ trustedHops: 1 });
  const addresses: (string | undefined)[] = [];
  service = await answerExtProc(envoy.files.extprocSocket, (exchange) => {
    addresses.push(exchange.head.header('x-weir-client-address'));
    exchange.reply(200, [], 'ok');
  });
  await get('/healthz', 'x-forwarded-for: 198.51.100.7, 203.0.113.9\r\n');
  expect(addresses).toEqual(['203.0.113.9']);
});

it('a connection above the limit is closed, and the service still reaches Envoy', async () => {
  await start({ maxConnections: 2 });
  const held = [connect(envoy.port, '127.0.0.1'), connect(envoy.port, '127.0.0.1')];
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  // Connected with the kernel is not yet accepted by Envoy, whose threads accept side by side.
  const accepted = (): Promise<string> => envoy.admin('/stats?filter=^http.edge.downstream_cx_active$');
  await expect.poll(accepted).toContain('active: 2');
  const third = await get('/healthz');
  expect(third.text).toBe('');
  expect(await envoy.admin('/ready')).toContain('LIVE');
  await Promise.all(
    held.map(async (socket) => {
      const closed = once(socket, 'close');
      socket.destroy();
      await closed;
    }),
  );
});
