import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestProject } from 'vitest/node';
import { startProgrammableEngine } from '../../programmable-engine/engine.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { removeStarts, start } from '../../support/start.ts';
import { backendManifest } from '../../support/weir.ts';
import { stuckAfterMs } from '../../support/stuck-after.ts';

/** What the tests of the portal share: one gateway, as `npm start` starts it on a machine that has none yet. */
export interface SharedGateway {
  /** Where clients call it, with `/v1`. */
  readonly baseUrl: string;
  /** The key of the demo. */
  readonly key: string;
  /** `http://127.0.0.1:PORT` */
  readonly portal: string;
  /** The admin token. */
  readonly token: string;
  readonly data: string;
  /** The engine of `test/able`, which can do everything, and of `test/plain`, which can do the least. */
  readonly engine: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly gateway: SharedGateway;
  }
}

function modelsOfTest(engine: { readonly port: number }): string {
  const model = (name: string, fields: string, route = ''): string =>
    [
      'apiVersion: weir.dev/v1alpha1',
      'kind: Model',
      `metadata: {name: test-${name}}`,
      'spec:',
      `  id: test/${name}`,
      '  ownedBy: test',
      '  added: "2026-06-01T00:00:00Z"',
      '  contextLength: 8192',
      '  pricing: {prompt: "0.000001", completion: "0.000002", inputCacheRead: "0.0000001"}',
      fields,
      `  routes: [{backend: programmable, upstreamModel: ${name}${route}}]`,
      '---',
      '',
    ].join('\n');
  const able = '  inputModalities: [text, image]\n  reasoning: {mode: Optional, efforts: [low, high]}';
  return [
    backendManifest('programmable', engine),
    model('able', able),
    model('plain', '  reasoning: {mode: None}', ', capabilities: {tools: false, parameters: []}'),
  ].join('');
}

async function untilListed(baseUrl: string, id: string): Promise<void> {
  const until = Date.now() + stuckAfterMs;
  for (;;) {
    const { data } = (await (await fetch(`${baseUrl}/models`)).json()) as { readonly data: readonly { id: string }[] };
    if (data.some((one) => one.id === id)) return;
    if (Date.now() > until) throw new Error(`${id} is not listed: ${JSON.stringify(data)}`);
    await pause(50);
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The tests' issuers of tokens have this certificate.
  const authority = join(tmpdir(), `weir-portal-${process.pid}.pem`);
  writeFileSync(authority, selfSigned.certificate);
  const ports = { WEIR_ADMIN_PORT: '0', WEIR_OPS_PORT: '0' };
  const env = { ...ports, WEIR_IDENTITIES: 'on', NODE_EXTRA_CA_CERTS: authority };
  const started = await start([], { portal: true, env });
  const printed = /^portal:\s+(\S+)$/m.exec(started.stdout())?.[1];
  if (printed === undefined) throw new Error(`weir start printed no address of the portal:\n${started.stdout()}`);
  const { origin, hash } = new URL(printed);
  const engine = await startProgrammableEngine({ models: ['able', 'plain'], behaviour: { reasoning: 'never' } });
  writeFileSync(join(started.data, 'manifests-demo', 'programmable.yaml'), modelsOfTest(engine));
  await untilListed(started.baseUrl, 'test/plain');
  project.provide('gateway', {
    ...{ baseUrl: started.baseUrl, key: started.key, data: started.data },
    ...{ engine: engine.url, portal: origin, token: new URLSearchParams(hash.slice(1)).get('token') ?? '' },
  });
  return async () => {
    await removeStarts();
    await engine.close();
    rmSync(authority);
  };
}
