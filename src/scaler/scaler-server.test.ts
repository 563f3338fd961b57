import { credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock, type FakeClock } from '../../test/support/fake-clock.ts';
import { sampleDemand } from '../../test/support/sample-demand.ts';
import { refOf, type ScalerClient, scalerClient } from '../../test/support/scaler-client.ts';
import { selfSigned } from '../../test/support/self-signed.ts';
import type { BackendDemand } from '../core/backend-demand.ts';
import { holdConnections } from '../../test/support/held-connections.ts';
import { portBounds } from '../core/port-bounds.ts';
import { listenScaler, type ScalerServer } from './scaler-server.ts';

let clock: FakeClock;
let server: ScalerServer;
let client: ScalerClient;
/** Undefined: no service answers. */
let demand: Partial<BackendDemand> | undefined;
/** Why none does. */
let problem: string;
let noted: string[];

const options = () => ({
  ...{ host: '127.0.0.1', port: 0, tls: undefined, clock },
  demand: () =>
    demand === undefined
      ? Promise.reject(new Error(problem))
      : Promise.resolve({ asked: 1, reports: [[sampleDemand(demand)]] }),
  onAnswered: (method: string, result: string) => void noted.push(`${method} ${result}`),
  onUnanswered: (scaledObject: string) => void noted.push(scaledObject),
});

beforeEach(async () => {
  clock = createFakeClock();
  demand = {};
  problem = 'no service of the gateway answers: http://10.0.0.1:9090: refused';
  noted = [];
  server = await listenScaler(options());
  client = scalerClient(server.port);
});
afterEach(async () => {
  client.close();
  await server.close();
});

const ref = refOf({ backend: 'vllm-a' });

describe('KEDA', () => {
  it('gets a target in percent of an endpoint, and the value to it, as whole numbers and as others', async () => {
    demand = { work_tokens: 12_345 };
    expect(await client.spec(ref)).toEqual([{ metricName: 'weir-vllm-a', targetSize: 70, targetSizeFloat: 70 }]);
    expect(await client.spec(refOf({ backend: 'vllm-a', targetPercent: '50' }))).toMatchObject([{ targetSize: 50 }]);
    expect(await client.metrics(ref, 'weir-vllm-a')).toEqual([
      { metricName: 'weir-vllm-a', metricValue: 123, metricValueFloat: 123 },
    ]);
    expect(noted).toEqual(['GetMetricSpec answered', 'GetMetricSpec answered', 'GetMetrics answered']);
  });

  it('gets whether requests come', async () => {
    expect(await client.isActive(ref)).toBe(false);
    demand = { endpoints: 0, refused_requests: 1, quiet_ms: 10 };
    expect(await client.isActive(ref)).toBe(true);
  });

  it('gets the target also while no service answers, and an error in place of a value', async () => {
    demand = undefined;
    expect(await client.spec(ref)).toHaveLength(1);
    const error = /^14: no service of the gateway answers: http:\/\/10\.0\.0\.1:9090: refused$/;
    await expect(client.isActive(ref)).rejects.toThrow(error);
    await expect(client.metrics(ref, 'weir-vllm-a')).rejects.toThrow(error);
    expect(noted).toContain('models/engines');
  });

  it('gets an error that names the field', async () => {
    const wrong = refOf({ backend: 'vllm-a', targetPercent: 'seventy' });
    const error = '3: metadata.targetPercent: expected a whole number from 1 to 100, in quotes, got "seventy"';
    for (const asked of [client.spec(wrong), client.isActive(wrong), client.metrics(wrong, 'weir-vllm-a')]) {
      await expect(asked).rejects.toThrow(error);
    }
    expect(await client.stream(wrong).failed).toBe(error);
    await expect(client.metrics(ref, 'weir-vllm-b')).rejects.toThrow(
      '3: metricName: expected "weir-vllm-a", got "weir-vllm-b"',
    );
    await expect(client.isActive(refOf({ backend: 'vllm-z' }))).rejects.toThrow(/^5: metadata\.backend: .*"vllm-z"/);
  });

  it.each([
    ['value of a field', (long: string) => client.isActive(refOf({ backend: long })), '3: metadata.backend: expected'],
    ['name of a metric', (long: string) => client.metrics(ref, long), '3: metricName: expected "weir-vllm-a", got "'],
    [
      'sentence of a service',
      (long: string) => {
        demand = undefined;
        problem = long;
        return client.isActive(ref);
      },
      '14: é',
    ],
  ])('gets an error of one short line for a very long %s, and the connection goes on', async (_, ask, begin) => {
    const error: unknown = await ask('é'.repeat(100_000)).catch((thrown: unknown) => thrown);
    const { message } = error as Error;
    expect(message.startsWith(begin)).toBe(true);
    expect(message.length).toBeLessThan(600);
    demand = {};
    expect(await client.isActive(ref)).toBe(false);
  });

  it('is logged with a short name, whatever a ScaledObject is called', async () => {
    const long = { ...refOf({ backend: 'vllm-z' }), name: 'x'.repeat(100_000) };
    await expect(client.isActive(long)).rejects.toThrow(/^5:/);
    expect(noted.at(-1)?.length).toBeLessThan(320);
  });

  it('is told at once when the Backend becomes active, and when it is idle again', async () => {
    const stream = client.stream(ref);
    await expect.poll(() => stream.said).toEqual([false]);
    demand = { quiet_ms: 5 };
    clock.advance(1000);
    await expect.poll(() => stream.said).toEqual([false, true]);
    // While no service answers, the last word holds.
    demand = undefined;
    clock.advance(1000);
    await expect.poll(clock.armed).toBe(1);
    demand = { quiet_ms: 60_000 };
    clock.advance(1000);
    await expect.poll(() => stream.said).toEqual([false, true, false]);
    expect(server.streams()).toBe(1);
    stream.cancel();
    await expect.poll(server.streams).toBe(0);
    expect(clock.armed()).toBe(0);
  });

  it('is answered over TLS where there is a certificate', async () => {
    const tls = { cert: selfSigned.certificate, key: selfSigned.key };
    const secure = await listenScaler({ ...options(), tls });
    const trusting = scalerClient(secure.port, {
      security: credentials.createSsl(Buffer.from(tls.cert)),
    });
    expect(await trusting.isActive(ref)).toBe(false);
    trusting.close();
    await secure.close();
  });
});

describe('strangers', () => {
  it.each([
    ['hold no more connections than one address may have', { maxPerAddress: 4 }, 2],
    ['would hold every connection without a bound', { maxPerAddress: Infinity }, 0],
  ])('%s', async (_, bounds, closed) => {
    const bounded = await listenScaler({ ...options(), bounds: { ...portBounds.scaler, ...bounds } });
    const held = await holdConnections(bounded.port, 6);
    await held.closed(closed);
    expect(held.open()).toBe(6 - closed);
    held.release();
    await bounded.close();
  });

  it.each(['none', 'tls'] as const)('with a silent connection are cut, and KEDA is answered: %s', async (security) => {
    const tls = security === 'tls' ? { cert: selfSigned.certificate, key: selfSigned.key } : undefined;
    const bounded = await listenScaler({ ...options(), tls, bounds: { ...portBounds.scaler, maxHeadMs: 50 } });
    const held = await holdConnections(bounded.port, 3);
    await held.closed(3);
    const keda = scalerClient(
      bounded.port,
      tls === undefined ? {} : { security: credentials.createSsl(Buffer.from(tls.cert)) },
    );
    expect(await keda.isActive(ref)).toBe(false);
    keda.close();
    await bounded.close();
  });
});
