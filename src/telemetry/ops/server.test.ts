import { describe, expect, it } from 'vitest';
import { startOps } from './server.ts';

const options = {
  port: 0,
  metrics: () => Promise.resolve('a 1\n'),
  metricsType: 'text/plain; version=0.0.4',
  unready: () => undefined,
};

async function get(
  port: number,
  path: string,
): Promise<{ readonly status: number; readonly text: string; readonly type: string | null }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, text: await response.text(), type: response.headers.get('content-type') };
}

describe('the ops server', () => {
  it('serves metrics, liveness and readiness, and nothing else', async () => {
    let reason: string | undefined = 'for a reason';
    const ops = await startOps({ ...options, unready: () => reason });
    expect(await get(ops.port, '/livez')).toMatchObject({ status: 200, text: 'ok\n' });
    expect(await get(ops.port, '/readyz')).toMatchObject({ status: 503, text: 'not ready: for a reason\n' });
    reason = undefined;
    expect(await get(ops.port, '/readyz')).toMatchObject({ status: 200 });
    expect(await get(ops.port, '/metrics')).toEqual({ status: 200, text: 'a 1\n', type: 'text/plain; version=0.0.4' });
    expect(await get(ops.port, '/')).toMatchObject({ status: 404 });
    await ops.close();
  });

  it('says so when the metrics cannot be had, and lives on', async () => {
    const ops = await startOps({ ...options, metrics: () => Promise.reject(new Error('x')) });
    expect(await get(ops.port, '/metrics')).toMatchObject({ status: 503 });
    expect(await get(ops.port, '/livez')).toMatchObject({ status: 200 });
    await ops.close();
  });

  it('listens where it is told to, and nowhere else', async () => {
    const ops = await startOps({ ...options, host: '127.0.0.2' });
    expect(await fetch(`http://127.0.0.2:${ops.port}/livez`)).toMatchObject({ status: 200 });
    await expect(fetch(`http://127.0.0.1:${ops.port}/livez`)).rejects.toThrow('fetch failed');
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
