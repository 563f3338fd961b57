// @suite long
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { get as getTls } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type ExtProcPolicy, startGatewayEnvoy } from './support/gateway-envoy.ts';
import { type Image, imageIn } from '../support/image.ts';
import { makeNamespace } from './support/cluster.ts';
import { objectsIn, template } from './support/helm.ts';
import { kubectl } from './support/kubectl.ts';
import { podOf } from './support/pod-shape.ts';
import { type Pod, startPod } from './support/pod.ts';
import { selfSigned } from '../support/self-signed.ts';
import { backendManifest, modelManifest } from '../support/weir.ts';

// The rendered pod as processes: what the chart says is run, by a user without rights, from the files of the image, as the
// chart's service account at a real API server.

const connection = inject('kubernetes');
const values = { crds: { install: false }, drain: { holdSeconds: 1, longestStreamSeconds: 60 } };
let image: Image;
let engine: ProgrammableEngine;
let namespace: string;
let pod: Pod;
const pods: Pod[] = [];
let key: string;

async function apply(manifest: string): Promise<void> {
  const { code, stderr } = await kubectl(connection, ['apply', '-n', namespace, '-f', '-'], manifest);
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

/** `kubectl exec … -- weir …`. */
async function weir(...parameters: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await pod.exec('service', ['node', '/app/src/main.ts', ...parameters, '--json']);
  return JSON.parse(stdout) as Readonly<Record<string, string>>;
}

beforeAll(async () => {
  [image, engine, namespace] = await Promise.all([
    imageIn(inject('imageFolder')),
    startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never' } }),
    makeNamespace(connection),
  ]);
  const manifest = await template(values, { namespace });
  await apply(manifest);
  pod = await startPod(podOf(objectsIn(manifest)), { connection, namespace, app: image.app });
  pods.push(pod);
}, 240_000);

afterAll(async () => {
  for (const one of pods) await one.remove();
  await engine.close();
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Resolves when the answer is complete, rejects when it was cut. */
  readonly body: Promise<string>;
}

/** One chat on a connection of its own. */
async function chat(directives: object, { stream = false, port = pod.port('edge') } = {}): Promise<Answer> {
  const sent = request({
    ...{ host: '127.0.0.1', port, method: 'POST', path: '/v1/chat/completions', agent: false },
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'keep-alive' },
  });
  const content = `Go on. [[demo ${JSON.stringify(directives)}]]`;
  sent.end(JSON.stringify({ model: 'test/model', stream, messages: [{ role: 'user', content }] }));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const body = text(response).finally(() => sent.destroy());
  body.catch(() => undefined);
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

test('is ready with an empty catalog', async () => {
  await expect.poll(() => pod.probe('service', 'readinessProbe')).toBe(200);
  expect(await pod.probe('envoy', 'readinessProbe')).toBe(200);
  expect(await pod.probe('envoy', 'livenessProbe')).toBe(200);
});

test('makes accounts where the service looks for them, with the commands of the notes', async () => {
  expect(await weir('workspace', 'create', 'acme', '--credit', '25')).toMatchObject({ name: 'acme', balance: '25' });
  ({ key = '' } = await weir('key', 'create', '--workspace', 'acme'));
  expect(key).toMatch(/^sk-weir-/);
});

test('serves a Model after `kubectl apply`', async () => {
  await apply(backendManifest('alpha', engine) + modelManifest('test/model', ['alpha']));
  const answer = async (): Promise<number> => {
    const { status, body } = await chat({ words: 3 });
    await body;
    return status;
  };
  await expect.poll(answer, { interval: 20 }).toBe(200);
});

test('tells Prometheus about the service and about Envoy, on their ops ports', async () => {
  const metrics = async (port: number): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { connection: 'close' } })).text();
  expect(await metrics(pod.port('ops'))).toContain('weir_requests_in_flight 0');
  expect(await metrics(pod.port('envoy-ops'))).toContain('envoy_server_live');
});

test('serves again after either of its containers crashed', async () => {
  for (const container of ['envoy', 'service']) {
    await pod.crash(container);
    await expect
      .poll(() =>
        chat({ words: 3 }).then(
          ({ status, body }) => body.then(() => status),
          () => 0,
        ),
      )
      .toBe(200);
    await expect.poll(() => pod.probe(container, 'readinessProbe')).toBe(200);
  }
});

test('is ready again when the service alone was started anew: Envoy does not go on saying that it ends', async () => {
  await pod.restart('service');
  await expect.poll(() => pod.probe('service', 'readinessProbe')).toBe(200);
  expect(await pod.probe('envoy', 'readinessProbe')).toBe(200);
  const { status, headers, body } = await chat({ words: 3 });
  expect({ status, connection: headers.connection }).toEqual({ status: 200, connection: undefined });
  await body;
});

describe('at its end', () => {
  test('says so, serves who comes, finishes the longest stream and its bill, and Envoy goes last', async () => {
    const stream = await chat({ words: 120, tokenDelayMs: 30 }, { stream: true });
    expect(stream.status).toBe(200);
    const over = pod.terminate();
    await expect.poll(() => pod.probe('envoy', 'readinessProbe'), { interval: 20 }).toBe(503);
    // Load balancers have not noticed yet.
    const late = await chat({ words: 3 });
    expect({ status: late.status, connection: late.headers.connection }).toEqual({ status: 200, connection: 'close' });
    await late.body;
    expect(await pod.probe('service', 'livenessProbe')).toBe(200);
    expect(await stream.body).toContain('data: [DONE]');
    expect(await over).toEqual({
      hooks: ['0 open request(s) are left.\n'],
      ends: [
        { name: 'service', code: 0, signal: null },
        { name: 'envoy', code: 0, signal: null },
      ],
    });
    const { stdout } = await pod.exec('service', ['node', '/app/src/main.ts', 'usage', '--requests', '--json']);
    const rows = JSON.parse(stdout) as readonly { readonly outcome: string }[];
    expect(rows.length).toBeGreaterThan(4);
    expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(['completed']));
    expect((await pod.exec('service', ['node', '/app/src/main.ts', 'ledger', 'verify', '--json'])).stdout).toBeTruthy();
    expect(pod.log('service')).not.toContain('"level":50');
    await pod.remove();
  });
});

/** A pod of its own for one test. */
async function otherPod(more: object, secrets: Readonly<Record<string, Readonly<Record<string, string>>>> = {}) {
  const manifest = await template({ ...values, ...more }, { namespace });
  const other = await startPod(podOf(objectsIn(manifest)), { connection, namespace, app: image.app, secrets });
  pods.push(other);
  return other;
}

test('without the hook, who comes while the last stream ends is refused', async () => {
  pod = await otherPod({});
  await expect.poll(() => pod.probe('service', 'readinessProbe')).toBe(200);
  await weir('workspace', 'create', 'acme', '--credit', '25');
  ({ key = '' } = await weir('key', 'create', '--workspace', 'acme'));
  const stream = await chat({ words: 120, tokenDelayMs: 30 }, { stream: true });
  const over = pod.terminate({ withoutHooks: true });
  const status = async (): Promise<number> => {
    const { status, body } = await chat({ words: 3 });
    await body;
    return status;
  };
  await expect.poll(status, { interval: 20 }).toBe(503);
  expect(await stream.body).toContain('data: [DONE]');
  await over;
  await pod.remove();
});

test('behind a gateway’s own Envoy, by the rendered policy: short and long answers, and an end without a cut', async () => {
  const settings = { httpRoute: { enabled: true, parentRefs: [{ name: 'eg' }] }, envoyGateway: { enabled: true } };
  const objects = objectsIn(await template({ ...values, ...settings }, { namespace }));
  const policy = objects.find(({ kind }) => kind === 'EnvoyExtensionPolicy')?.spec as {
    readonly extProc: readonly [ExtProcPolicy];
  };
  pod = await otherPod(settings);
  await expect.poll(() => pod.probe('service', 'readinessProbe')).toBe(200);
  const gateway = await startGatewayEnvoy(policy.extProc[0], {
    ...{ extProcPort: pod.port('ext-proc'), edgePort: pod.port('edge') },
  });
  const { port } = gateway;
  await weir('workspace', 'create', 'acme', '--credit', '25');
  ({ key = '' } = await weir('key', 'create', '--workspace', 'acme'));
  const lane = async (): Promise<readonly number[]> => {
    const statuses: number[] = [];
    for (let count = 0; count < 25; count += 1) {
      const { status, body } = await chat({ words: 3 }, { port });
      await body;
      statuses.push(status);
    }
    return statuses;
  };
  const lanes = await Promise.all(Array.from({ length: 8 }, lane));
  expect(new Set(lanes.flat())).toEqual(new Set([200]));
  // Longer than the 10 s that the gateway gives to a gRPC call.
  const stream = await chat({ words: 400, tokenDelayMs: 30 }, { stream: true, port });
  const over = pod.terminate();
  expect(await stream.body).toContain('data: [DONE]');
  expect((await over).ends.map(({ name, code }) => [name, code])).toEqual([
    ['service', 0],
    ['envoy', 0],
  ]);
  await gateway.stop();
  await pod.remove();
});

const behindTls = { edge: { tls: { secretName: 'edge-tls' } } };

test('speaks TLS at the edge with a Secret’s certificate', async () => {
  const { certificate, key } = selfSigned;
  const secured = await otherPod(behindTls, { 'edge-tls': { 'tls.crt': certificate, 'tls.key': key } });
  await expect.poll(() => secured.probe('service', 'readinessProbe')).toBe(200);
  const where = { host: 'localhost', port: secured.port('edge'), path: '/healthz' };
  const sent = getTls({ ...where, ca: certificate, agent: false });
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  await text(response);
  expect(response.statusCode).toBe(200);
  await secured.remove();
});

test('does not start with a certificate that is no pair, and says why', async () => {
  const broken = otherPod(behindTls, { 'edge-tls': { 'tls.crt': selfSigned.certificate, 'tls.key': 'no key' } });
  await expect(broken).rejects.toThrow(
    /bootstrap ended with 1:\nweir: WEIR_TLS_CERTIFICATE_FILE and WEIR_TLS_KEY_FILE: .* do not match/,
  );
});

test('has a portal that reads the embedded store and asks the service beside it', async () => {
  const token = 'the-admin-token-of-a-secret-0123456789';
  const portal = { enabled: true, tokenSecret: { name: 'admin', key: 'secret' } };
  pod = await otherPod({ portal }, { admin: { secret: token } });
  expect(await pod.probe('portal', 'readinessProbe')).toBe(200);
  expect(await pod.probe('portal', 'livenessProbe')).toBe(200);
  await expect.poll(() => pod.probe('service', 'readinessProbe')).toBe(200);
  await weir('workspace', 'create', 'acme', '--credit', '25');
  ({ key = '' } = await weir('key', 'create', '--workspace', 'acme'));
  expect((await chat({ words: 3 })).status).toBe(200);
  const address = `http://127.0.0.1:${pod.port('portal')}`;
  const get = async (path: string, authorization = `Bearer ${token}`): Promise<unknown> => {
    const answer = await fetch(`${address}${path}`, { headers: { authorization, connection: 'close' } });
    return { status: answer.status, body: await answer.json() };
  };
  expect(await get('/api/v1/workspaces')).toMatchObject({ status: 200, body: { data: [{ name: 'acme' }] } });
  await expect
    .poll(() => get('/api/v1/requests'))
    .toMatchObject({ body: { data: [{ model: 'test/model', outcome: 'completed' }] } });
  expect(await get('/api/v1/models')).toMatchObject({
    body: { services: [{ answers: true }], data: [{ id: 'test/model', listed: true }] },
  });
  expect(await get('/api/v1/workspaces', 'Bearer wrong')).toMatchObject({ status: 401 });
  const page = await fetch(`${address}/keys`, { headers: { connection: 'close' } });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<div id="root">')]);
  await pod.terminate({ withoutHooks: true });
  await pod.remove();
});
