import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Endpoint } from '../../../core/endpoint.ts';
import { type EndpointDiscovery, serveEndpoints } from './endpoint-discovery.ts';

const protoFile = fileURLToPath(new URL('../../../../protos/endpoint_discovery.proto', import.meta.url));
const typeUrl = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';

interface Response {
  readonly nonce: string;
  readonly resources: readonly {
    readonly name: string;
    readonly version: string;
    readonly resource: { readonly type_url: string; readonly value: object };
  }[];
}

/** What Envoy does: one stream, on which it subscribes to clusters and answers to what comes. */
interface Subscriber {
  readonly say: (request: object) => void;
  readonly received: Response[];
  readonly close: () => void;
}

let folder: string;
let socketPath: string;
let discovery: EndpointDiscovery;
let refused: string[];
const open: Subscriber[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-xds-'));
  socketPath = join(folder, 'xds.sock');
  refused = [];
  discovery = await serveEndpoints({
    socketPath,
    onRefused: (reason) => refused.push(reason),
  });
});

afterEach(async () => {
  for (const subscriber of open.splice(0)) subscriber.close();
  await discovery.close();
  rmSync(folder, { recursive: true });
});

function subscribe(...clusters: readonly string[]): Subscriber {
  const service = loadSync(protoFile, { keepCase: true })['envoy.service.discovery.v3.AggregatedDiscoveryService'];
  if (service === undefined || 'format' in service) throw new Error(`${protoFile} defines no service`);
  const { DeltaAggregatedResources: method } = service;
  if (method === undefined) throw new Error(`${protoFile} defines no method`);
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure());
  const stream: ClientDuplexStream<object, Response> = client.makeBidiStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize as (bytes: Buffer) => Response,
  );
  const received: Response[] = [];
  stream.on('data', (response: Response) => received.push(response));
  stream.on('error', () => undefined);
  const say = (request: object): void => void stream.write({ type_url: typeUrl, ...request });
  say({ resource_names_subscribe: clusters });
  const subscriber = {
    say,
    received,
    close: () => {
      stream.cancel();
      client.close();
    },
  };
  open.push(subscriber);
  return subscriber;
}

const endpoint = (address: string, more: Partial<Endpoint> = {}): Endpoint => ({
  ...{ name: `${address}:8000`, address, port: 8000, authority: 'engine.svc:8000', zone: undefined },
  ...more,
});

const clustersIn = (response: Response | undefined): readonly string[] =>
  (response?.resources ?? []).map(({ name }) => name);

/** Whether a promise has been resolved after everything that is under way. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

it('answers for the clusters that are asked for, and for those that are known', async () => {
  await discovery.set('a', [endpoint('10.0.0.1'), endpoint('10.0.0.2', { zone: 'z1' }), endpoint('fd00::1')]);
  await discovery.set('b', [endpoint('10.0.0.3')]);
  const { received } = subscribe('a', 'unknown');
  await expect.poll(() => received).toHaveLength(1);
  const address = (text: string) => ({
    endpoint: {
      address: { socket_address: { address: text, port_value: 8000 } },
      health_check_config: { hostname: 'engine.svc:8000' },
    },
  });
  expect(received[0]?.resources).toEqual([
    {
      name: 'a',
      version: '1',
      resource: {
        type_url: typeUrl,
        value: {
          cluster_name: 'a',
          endpoints: [
            { lb_endpoints: [address('10.0.0.1'), address('fd00::1')] },
            { locality: { zone: 'z1' }, lb_endpoints: [address('10.0.0.2')] },
          ],
        },
      },
    },
  ]);
});

it('tells a change of what is asked for, and is done when Envoy has answered', async () => {
  await discovery.set('a', [endpoint('10.0.0.1')]);
  const { received, say } = subscribe('a');
  await expect.poll(() => received).toHaveLength(1);
  say({ response_nonce: received[0]?.nonce });
  await discovery.set('b', [endpoint('10.0.0.2')]);
  const change = discovery.set('a', []);
  await expect.poll(() => received).toHaveLength(2);
  expect(clustersIn(received[1])).toEqual(['a']);
  expect(await isDone(change)).toBe(false);
  say({ response_nonce: received[1]?.nonce });
  await change;
});

it('sends one response at a time, and everything that has changed meanwhile with the next one', async () => {
  for (const cluster of ['a', 'b', 'c']) await discovery.set(cluster, []);
  const { received, say } = subscribe('a', 'b', 'c');
  await expect.poll(() => received).toHaveLength(1);
  const changes: Promise<void>[] = [];
  for (let count = 1; count <= 100; count += 1) {
    changes.push(discovery.set('a', [endpoint(`10.0.0.${count}`)]), discovery.set('b', [endpoint(`10.0.1.${count}`)]));
  }
  expect(await isDone(Promise.all(changes).then(() => undefined))).toBe(false);
  expect(received).toHaveLength(1);
  say({ response_nonce: received[0]?.nonce });
  await expect.poll(() => received).toHaveLength(2);
  expect(clustersIn(received[1])).toEqual(['a', 'b']);
  expect(JSON.stringify(received[1])).toContain('10.0.0.100');
  say({ response_nonce: received[1]?.nonce });
  await Promise.all(changes);
  expect(received).toHaveLength(2);
});

it('tells why endpoints were refused, and goes on', async () => {
  await discovery.set('a', []);
  const { received, say } = subscribe('a');
  await expect.poll(() => received).toHaveLength(1);
  say({ response_nonce: received[0]?.nonce, error_detail: { code: 13, message: 'malformed' } });
  await expect.poll(() => refused).toEqual(['malformed']);
  const change = discovery.set('a', [endpoint('10.0.0.1')]);
  await expect.poll(() => received).toHaveLength(2);
  say({ response_nonce: received[1]?.nonce });
  await change;
});

it('tells nothing more of what was unsubscribed or dropped, and again what is asked for again', async () => {
  for (const cluster of ['a', 'b']) await discovery.set(cluster, []);
  const { received, say } = subscribe('a', 'b');
  await expect.poll(() => received).toHaveLength(1);
  say({ response_nonce: received[0]?.nonce, resource_names_unsubscribe: ['a'] });
  discovery.drop('b');
  const other = subscribe('a', 'b');
  await expect.poll(() => other.received).toHaveLength(1);
  expect(clustersIn(other.received[0])).toEqual(['a']);
  other.close();
  await discovery.set('a', [endpoint('10.0.0.1')]);
  expect(received).toHaveLength(1);
  say({ resource_names_subscribe: ['a'] });
  await expect.poll(() => received).toHaveLength(2);
  expect(clustersIn(received[1])).toEqual(['a']);
});

it('does not wait for an Envoy that has left without an answer', async () => {
  await discovery.set('a', []);
  const gone = subscribe('a');
  await expect.poll(() => gone.received).toHaveLength(1);
  const change = discovery.set('a', [endpoint('10.0.0.1')]);
  gone.close();
  await change;
});

it('listens where a killed service has left its socket, and leaves no caller waiting when it closes', async () => {
  await discovery.set('a', []);
  const { received } = subscribe('a');
  await expect.poll(() => received).toHaveLength(1);
  const change = discovery.set('a', [endpoint('10.0.0.1')]);
  await discovery.close();
  await change;
  discovery = await serveEndpoints({ socketPath, onRefused: () => undefined });
});
