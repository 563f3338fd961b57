import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEnvoyAdmin } from '../../src/control/envoy/runtime/admin.ts';
import type { Cluster } from '../../src/core/catalog.ts';
import { startEnvoy, type TestEnvoy } from './support/envoy.ts';
import { at, clustersOf } from './support/give-clusters.ts';
import { answerExtProc } from './support/extproc.ts';
import { selfSigned } from '../support/self-signed.ts';
import { forFile } from '../support/for-file.ts';

// Made for these tests, valid for engine.example and 127.0.0.1 until 2126, its own authority.
const folder = join(import.meta.dirname, 'support', 'tls');
const certificateFile = join(folder, 'certificate.pem');
const keyFile = join(folder, 'key.pem');

const ca = await readFile(certificateFile, 'utf8');
const envoy = await forFile(startEnvoy({ edge: { address: '127.0.0.1', port: 0, tls: { certificateFile, keyFile } } }));
await forFile(answerExtProc(envoy.files.extprocSocket, (exchange) => exchange.reply(200, [], 'ok')));

describe('an edge with a certificate', () => {
  it('serves HTTP/1.1', async () => {
    const sent = get({ host: '127.0.0.1', port: envoy.port, path: '/healthz', ca, agent: false });
    const [response] = (await once(sent, 'response')) as [{ statusCode: number; resume: () => void }];
    expect(response.statusCode).toBe(200);
    response.resume();
    await once(sent, 'close');
  });

  it('serves HTTP/2', async () => {
    const session = connectHttp2(`https://127.0.0.1:${envoy.port}`, { ca });
    const stream = session.request({ ':path': '/healthz' });
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect(headers[':status']).toBe(200);
    stream.resume();
    await new Promise<void>((resolve) => session.close(resolve));
  });

  it('says until when its certificate is good, and for whom', async () => {
    const admin = createEnvoyAdmin(envoy.files);
    const { validToDate } = new X509Certificate(ca);
    expect(await admin.ownCertificates()).toEqual([
      { names: expect.arrayContaining(['engine.example']) as string[], expiresAt: validToDate.getTime() },
    ]);
    admin.close();
  });

  it('refuses TLS 1.1 and plain text', async () => {
    const old = connectTls({ host: '127.0.0.1', port: envoy.port, ca, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' });
    const [error] = (await once(old, 'error')) as [Error];
    expect(error).toBeInstanceOf(Error);
    const plain = request({ host: '127.0.0.1', port: envoy.port, path: '/healthz', agent: false });
    const failed = once(plain, 'error');
    plain.end();
    await expect(failed).resolves.toHaveLength(1);
  });
});

describe('a renewed certificate', () => {
  let mount: string;
  let renewing: TestEnvoy;

  // As Kubernetes mounts a Secret: links to a link that is replaced in one step.
  const put = async (version: string, pair: { readonly certificate: string; readonly key: string }): Promise<void> => {
    await mkdir(join(mount, version));
    await writeFile(join(mount, version, 'tls.crt'), pair.certificate);
    await writeFile(join(mount, version, 'tls.key'), pair.key);
    await symlink(version, join(mount, '..data_tmp'));
    await rename(join(mount, '..data_tmp'), join(mount, '..data'));
  };
  const fingerprint = async (): Promise<string> => {
    const socket = connectTls({ host: '127.0.0.1', port: renewing.port, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    await once(socket, 'close');
    return fingerprint256;
  };

  beforeAll(async () => {
    mount = await mkdtemp(join(tmpdir(), 'weir-secret-'));
    await put('..1', { certificate: ca, key: await readFile(keyFile, 'utf8') });
    for (const name of ['tls.crt', 'tls.key']) await symlink(join('..data', name), join(mount, name));
    const tls = { certificateFile: join(mount, 'tls.crt'), keyFile: join(mount, 'tls.key') };
    renewing = await startEnvoy({ edge: { address: '127.0.0.1', port: 0, tls } });
  });
  afterAll(async () => {
    await renewing.stop();
    await rm(mount, { recursive: true });
  });

  it('is shown to the next caller, and a broken one leaves the last good one', async () => {
    expect(await fingerprint()).toBe(new X509Certificate(ca).fingerprint256);
    await put('..2', selfSigned);
    await expect.poll(fingerprint).toBe(new X509Certificate(selfSigned.certificate).fingerprint256);
    await put('..3', { certificate: ca, key: selfSigned.key });
    await expect.poll(() => renewing.log()).toContain('KEY_VALUES_MISMATCH');
    expect(await fingerprint()).toBe(new X509Certificate(selfSigned.certificate).fingerprint256);
  });
});

describe('an engine behind TLS', () => {
  const answerOf = async (cluster: Cluster): Promise<{ readonly status: number; readonly flags: string }> => {
    const clusters = await clustersOf(envoy);
    await clusters.give([cluster]);
    await clusters.close();
    const sent = request({
      socketPath: envoy.files.egressSocket,
      agent: false,
      headers: { host: 'x', 'x-weir-cluster': cluster.name },
    });
    sent.end();
    const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
    response.resume();
    await once(sent, 'close');
    return { status: response.statusCode ?? 0, flags: String(response.headers['x-weir-egress-failure'] ?? '') };
  };

  it('is believed for the name and the authority it was given, and for nothing else', async () => {
    const names: (string | false)[] = [];
    const engine = createServer({ cert: ca, key: await readFile(keyFile) }, (message, response) => {
      if ('servername' in message.socket) names.push(String(message.socket.servername));
      response.end('ok');
    }).listen(0, '127.0.0.1');
    await once(engine, 'listening');
    const { port } = engine.address() as AddressInfo;
    const cluster = (name: string, tls: Cluster['tls']): Cluster => ({
      name,
      backend: name,
      endpoints: at(port, '127.0.0.1'),
      tls,
    });
    expect(await answerOf(cluster('right', { mode: 'Custom', serverName: 'engine.example', ca }))).toEqual({
      status: 200,
      flags: '',
    });
    expect(names).toEqual(['engine.example']);
    expect((await answerOf(cluster('by-address', { mode: 'Custom', serverName: '127.0.0.1', ca }))).status).toBe(200);
    const wrongName = await answerOf(cluster('wrong-name', { mode: 'Custom', serverName: 'other.example', ca }));
    expect(wrongName).toMatchObject({ status: 503, flags: expect.stringContaining('UF') as unknown });
    const wrongCa = await answerOf(cluster('public', { mode: 'System', serverName: 'engine.example' }));
    expect(wrongCa).toMatchObject({ status: 503, flags: expect.stringContaining('UF') as unknown });
    engine.closeAllConnections();
    await new Promise((resolve) => engine.close(resolve));
  });
});
