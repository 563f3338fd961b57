import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { internalToken } from '../../core/internal-token.ts';
import type { LogLevel } from '../../core/log-level.ts';
import { sampleProblem, sampleReport } from '../../../test/support/sample-problem.ts';
import { numberedStory, sampleStory } from '../../../test/support/sample-story.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { holdConnections } from '../../../test/support/held-connections.ts';
import { portBounds } from '../../core/port-bounds.ts';
import { startOps } from './server.ts';

const secret = 'f'.repeat(64);

let level: LogLevel = 'info';
const options = {
  port: 0,
  clock: createFakeClock(),
  metrics: (format: string) => Promise.resolve(`${format} 1\n`),
  unready: () => undefined,
  internal: {
    secret: () => secret,
    stories: {
      after: (after: number, limit: number) => ({
        ...{ process: 'p1', next_after: after + limit, has_more: false, missed: 0 },
        requests: [numberedStory(after + 1)],
      }),
      latest: () => ({ process: 'p1', seq: 0 }),
      onEnded: () => undefined,
      find: (id: string) => (id === 'a/b' ? [sampleStory({ id })] : []),
    },
    logLevel: { current: () => level, set: (next: LogLevel) => void (level = next) },
    problems: () => sampleReport([sampleProblem()]),
    catalog: async function* () {
      yield '{"process":';
      yield '"p1"}';
    },
  },
};

async function get(
  port: number,
  path: string,
  accept = '*/*',
): Promise<{ readonly status: number; readonly text: string; readonly type: string | null }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { accept } });
  return { status: response.status, text: await response.text(), type: response.headers.get('content-type') };
}

describe('the ops server', () => {
  it('serves the number of endpoints that a Backend needs, without a token, and an error rather than zero', async () => {
    const scale = { needed_endpoints: 1.5, active: true, replicas: 2, reporting_replicas: 2 };
    const ops = await startOps({
      ...options,
      scale: (backend) => {
        if (backend === 'vllm-a') return { backend, ...scale };
        return backend === 'late' ? 'incomplete' : backend === '' ? 'no-catalog' : 'no-backend';
      },
    });
    const read = async (path: string) => {
      const { status, text, type } = await get(ops.port, path);
      return [status, type, JSON.parse(text)];
    };
    const found = [200, 'application/json', { backend: 'vllm-a', ...scale }];
    expect(await read('/scale/vllm-a')).toEqual(found);
    expect(await read('/scale/vllm-a?key=x')).toEqual(found);
    const error = (containing: string) => ({ error: expect.stringContaining(containing) });
    expect(await read('/scale/vllm-b')).toEqual([404, 'application/json', error('"vllm-b"')]);
    expect(await read('/scale/late')).toEqual([503, 'application/json', error('"late"')]);
    expect(await read('/scale/')).toEqual([503, 'application/json', error('catalog')]);
    // A long name does not come back whole, and a poll leaves no connection behind.
    const long = await fetch(`http://127.0.0.1:${ops.port}/scale/${'x'.repeat(10_000)}`);
    expect([long.status, long.headers.get('connection')]).toEqual([404, 'close']);
    expect((await long.text()).length).toBeLessThan(300);
    await ops.close();
  });

  it('serves metrics, liveness and readiness, and nothing else', async () => {
    let reason: string | undefined = 'for a reason';
    const ops = await startOps({ ...options, unready: () => reason });
    expect(await get(ops.port, '/livez')).toMatchObject({ status: 200, text: 'ok\n' });
    expect(await get(ops.port, '/readyz')).toMatchObject({ status: 503, text: 'not ready: for a reason\n' });
    reason = undefined;
    expect(await get(ops.port, '/readyz')).toMatchObject({ status: 200 });
    expect(await get(ops.port, '/metrics')).toEqual({
      ...{ status: 200, text: 'prometheus 1\n', type: 'text/plain; version=0.0.4; charset=utf-8' },
    });
    expect(await get(ops.port, '/metrics', 'application/openmetrics-text;version=1.0.0')).toEqual({
      ...{ status: 200, text: 'openmetrics 1\n', type: 'application/openmetrics-text; version=1.0.0; charset=utf-8' },
    });
    expect(await get(ops.port, '/scale/vllm-a')).toMatchObject({ status: 404 });
    expect(await get(ops.port, '/')).toMatchObject({ status: 404 });
    await ops.close();
  });

  it('answers text that cannot be decoded, with and without the token', async () => {
    const ops = await startOps(options);
    const statusOf = async (path: string, more = ''): Promise<string> => {
      const socket = connect(ops.port, '127.0.0.1');
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${more}\r\n`);
      let text = '';
      for await (const bytes of socket) text += String(bytes);
      return text.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    };
    const token = `authorization: Bearer ${internalToken(secret)}\r\n`;
    for (const path of ['//', '///internal/x', '/%', '/internal%', 'http://[', '*', '/\\internal']) {
      expect([path, await statusOf(path, token)]).toEqual([path, '404']);
    }
    for (const path of ['/internal/requests/%', '/internal/requests/%ff', '/internal//', '/internal/%00']) {
      expect([path, await statusOf(path), await statusOf(path, token)]).toEqual([path, '401', '404']);
    }
    expect(await statusOf('/metrics', 'accept: ;;q=%,\r\n')).toBe('200');
    await ops.close();
  });

  it('says so when the metrics cannot be had, and lives on', async () => {
    const ops = await startOps({ ...options, metrics: () => Promise.reject(new Error('x')) });
    expect(await get(ops.port, '/metrics')).toMatchObject({ status: 503 });
    expect(await get(ops.port, '/livez')).toMatchObject({ status: 200 });
    await ops.close();
  });

  it('renders the metrics once for all who ask meanwhile, and again after a pause', async () => {
    const clock = createFakeClock();
    let renderings = 0;
    const metrics = async (): Promise<string> => {
      clock.advance(10);
      return `rendering ${(renderings += 1)}`;
    };
    const ops = await startOps({ ...options, clock, metrics });
    await get(ops.port, '/metrics');
    let arrived = 0;
    const countArrival = () => void (arrived += 1);
    subscribe('http.server.request.start', countArrival);
    const inPause = Array.from({ length: 30 }, () => get(ops.port, '/metrics'));
    // One that arrives after the pause would wait for the end of the next.
    await expect.poll(() => arrived).toBe(30);
    unsubscribe('http.server.request.start', countArrival);
    await expect.poll(clock.armed).toBe(1);
    expect(renderings).toBe(1);
    clock.advance(90);
    const texts = (await Promise.all(inPause)).map(({ text }) => text);
    expect(new Set(texts)).toEqual(new Set(['rendering 2']));
    expect(renderings).toBe(2);
    await ops.close();
  });

  it('listens where it is told to, and nowhere else', async () => {
    const ops = await startOps({ ...options, host: '127.0.0.2' });
    expect(await fetch(`http://127.0.0.2:${ops.port}/livez`)).toMatchObject({ status: 200 });
    await expect(fetch(`http://127.0.0.1:${ops.port}/livez`)).rejects.toThrow('fetch failed');
    await ops.close();
  });

  it('reports requests and the catalog only to clients with the token of the database', async () => {
    const ops = await startOps(options);
    const ask = async (path: string, authorization?: string, method = 'GET') => {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const response = await fetch(`http://127.0.0.1:${ops.port}${path}`, { headers, method });
      return { status: response.status, body: await response.json() };
    };
    const token = `Bearer ${internalToken(secret)}`;
    const refused = [
      undefined,
      '',
      'Bearer',
      `Bearer ${secret}`,
      `Bearer ${internalToken('x')}`,
      `${token}x`,
      'Basic eA==',
    ];
    for (const path of [
      '/internal/requests',
      '/internal/events',
      '/internal/catalog',
      '/internal/problems',
      '/internal/log-level',
      '/internal/requests/a%2Fb',
      '/internal/',
      '/internal/x',
    ]) {
      for (const authorization of refused) {
        expect(await ask(path, authorization)).toEqual({
          status: 401,
          body: { error: 'expected the token of this database' },
        });
      }
    }
    expect(await ask('/internal/requests/a%2Fb', token)).toMatchObject({
      status: 200,
      body: { requests: [{ id: 'a/b' }] },
    });
    expect(await ask('/internal/requests/other', token)).toMatchObject({ status: 404 });
    expect(await ask('/internal/catalog', token)).toEqual({ status: 200, body: { process: 'p1' } });
    expect(await ask('/internal/problems', token)).toEqual({ status: 200, body: sampleReport([sampleProblem()]) });
    expect(await ask('/internal/requests', token)).toMatchObject({ status: 404 });
    expect(await ask('/internal/events', token, 'POST')).toMatchObject({ status: 405 });
    expect(await ask('/internal/requests', token, 'POST')).toMatchObject({ status: 405 });
    expect(await ask('/internal/what', token)).toMatchObject({ status: 404 });
    await ops.close();
  });

  it('says the least level that is logged, and lets those that have the token change it', async () => {
    level = 'info';
    const ops = await startOps(options);
    const ask = async (init: RequestInit, token = internalToken(secret)) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`http://127.0.0.1:${ops.port}/internal/log-level`, { ...init, headers });
      return { status: response.status, body: await response.json() };
    };
    const put = (body: string) => ask({ method: 'PUT', body });
    expect(await ask({})).toEqual({ status: 200, body: { level: 'info' } });
    expect(await put('{"level":"debug"}')).toEqual({ status: 200, body: { level: 'debug' } });
    expect(await ask({})).toEqual({ status: 200, body: { level: 'debug' } });
    for (const body of ['{"level":"loud"}', '{}', '{"level":null}']) {
      expect(await put(body), body).toEqual({
        status: 400,
        body: { error: 'level: expected one of debug, info, warn, error' },
      });
    }
    for (const body of ['', 'debug', '[]', '"debug"', `{"level":"warn","x":"${'x'.repeat(2_000_000)}"}`]) {
      expect(await put(body), body.slice(0, 30)).toEqual({
        status: 400,
        body: { error: 'expected an object such as {"level": "debug"}' },
      });
    }
    expect(await ask({ method: 'PUT', body: '{"level":"error"}' }, 'x')).toMatchObject({ status: 401 });
    expect(await ask({ method: 'POST', body: '{"level":"error"}' })).toEqual({
      status: 405,
      body: { error: 'expected GET or PUT' },
    });
    expect(level).toBe('debug');
    await ops.close();
  });

  it.each([
    ['keeps to its connections beside silent ones, and answers a probe', { maxConnections: 4 }, 2],
    ['would hold every connection without a bound', { maxConnections: Infinity, maxPerAddress: Infinity }, 0],
  ])('%s', async (_, bounds, closed) => {
    const ops = await startOps({ ...options, bounds: { ...portBounds.ops, ...bounds } });
    const held = await holdConnections(ops.port, 5);
    expect(await get(ops.port, '/livez')).toMatchObject({ status: 200 });
    await held.closed(closed);
    expect(held.open()).toBe(5 - closed);
    held.release();
    await ops.close();
  });

  it('closes a silent connection after the time for a head', async () => {
    const ops = await startOps({ ...options, bounds: { ...portBounds.ops, maxHeadMs: 50, maxRequestMs: 50 } });
    const held = await holdConnections(ops.port, 3);
    await held.closed(3);
    expect(held.open()).toBe(0);
    await ops.close();
  });

  it('refuses a head that is too large', async () => {
    const ops = await startOps({ ...options, bounds: { ...portBounds.ops, maxHeadBytes: 1_000 } });
    const ask = (length: number) =>
      fetch(`http://127.0.0.1:${ops.port}/livez`, { headers: { 'x-large': 'x'.repeat(length) } });
    expect(await ask(100)).toMatchObject({ status: 200 });
    expect(await ask(1_500)).toMatchObject({ status: 431 });
    await ops.close();
  });

  it('moves to a free port when its own is taken', async () => {
    const first = await startOps(options);
    const second = await startOps({ ...options, port: first.port });
    expect(second.port).not.toBe(first.port);
    expect(await get(second.port, '/livez')).toMatchObject({ status: 200 });
    await Promise.all([first.close(), second.close()]);
  });
});
