// @suite waits
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runWeir } from '../support/run-weir.ts';
import { modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { engineCertificates } from './support/sabotages/engine-certificates.ts';
import { glanceAt, type Line, linesOf, untilLines, withinMs } from './support/sabotages/problem-lines.ts';
import {
  goodTls,
  type SabotagedEngine,
  speak,
  startSabotagedEngine,
  well,
} from './support/sabotages/sabotaged-engine.ts';

// Every mistake in files, all at once on one gateway: each is a line of its own, and ends when the file is corrected.

interface FileSabotage {
  /** Name of the file, of the Backend and of the Model in it. */
  readonly name: string;
  /** The object that the line is about. */
  readonly object: string;
  readonly says: string;
  readonly good: () => string;
  /** Replaced in the good file. */
  readonly change: readonly [from: string | RegExp, to: string];
}

const { authority, expired, good, key } = engineCertificates;
const engines: SabotagedEngine[] = [];
const ports = (): { readonly plain: number; readonly tls: number } => ({
  plain: engines[0]?.port ?? 0,
  tls: engines[1]?.port ?? 0,
});

const document = (kind: string, name: string, rest: string, version = 'weir.dev/v1alpha1'): string =>
  [`apiVersion: ${version}`, `kind: ${kind}`, `metadata: {name: ${name}}`, rest, '---', ''].join('\n');
const secret = (name: string, data: Readonly<Record<string, string>>): string =>
  document('Secret', name, `stringData: ${JSON.stringify(data)}`, 'v1');
const backend = (name: string, more = ''): string =>
  document(
    'Backend',
    name,
    `spec: {engine: vllm, endpoint: {host: 127.0.0.1, port: ${ports().plain}, path: /v1}${more}}`,
  );
const backendWithTls = (name: string, more: string): string =>
  document(
    'Backend',
    name,
    `spec: {engine: vllm, endpoint: {host: 127.0.0.1, port: ${ports().tls}, path: /v1}, tls: {mode: Custom, ${more}}}`,
  );
const model = (name: string, backends: readonly string[] = [name]): string => modelManifest(`test/${name}`, backends);

const sabotages: readonly FileSabotage[] = [
  {
    name: 'no-yaml',
    object: 'manifest/no-yaml.yaml',
    says: 'Refused: ',
    good: () => backend('no-yaml') + model('no-yaml'),
    change: [/^[^]*$/, '{'],
  },
  {
    name: 'misspelt',
    object: 'Backend/misspelt',
    says: 'Refused: spec.engine: expected one of',
    good: () => backend('misspelt') + model('misspelt'),
    change: ['engine: vllm', 'engine: vlm'],
  },
  {
    name: 'no-host',
    object: 'Backend/no-host',
    says: 'nothing.invalid',
    good: () => backend('no-host') + model('no-host'),
    change: ['host: 127.0.0.1', 'host: nothing.invalid'],
  },
  {
    name: 'no-token',
    object: 'Backend/no-token',
    says: 'Refused: spec.credentials.secretRef',
    good: () =>
      secret('no-token', { token: 'sk-1' }) +
      backend('no-token', ', credentials: {secretRef: {name: no-token, key: token}}') +
      model('no-token'),
    change: ['{"token":"sk-1"}', '{"other":"sk-1"}'],
  },
  {
    name: 'old-authority',
    object: 'Backend/old-authority',
    says: 'expired',
    good: () =>
      secret('old-authority', { 'ca.crt': authority, 'next.crt': authority + expired, 'old.crt': expired }) +
      backendWithTls('old-authority', 'caSecretRef: {name: old-authority, key: next.crt}') +
      model('old-authority'),
    change: ['key: next.crt', 'key: old.crt'],
  },
  {
    name: 'unreadable-key',
    object: 'Backend/unreadable-key',
    says: 'tls.key',
    good: () =>
      secret('unreadable-key', { 'ca.crt': authority, 'tls.crt': good, 'tls.key': key }) +
      backendWithTls(
        'unreadable-key',
        'caSecretRef: {name: unreadable-key, key: ca.crt}, clientCertificateSecretRef: {name: unreadable-key}',
      ) +
      model('unreadable-key'),
    change: [/"tls.key":"[^"]*"/, '"tls.key":"no key"'],
  },
  {
    name: 'no-backend',
    object: 'Model/test-no-backend',
    says: 'Refused: spec.routes[0].backend: expected a Backend',
    good: () => backend('no-backend') + model('no-backend'),
    change: ['{backend: no-backend', '{backend: nobody'],
  },
];

/** The certificate of the edge. As Kubernetes mounts a Secret: links to a link that is replaced in one step. */
const mount = mkdtempSync(join(tmpdir(), 'weir-secret-'));
const edge = { object: 'certificate/localhost', says: 'The certificate that callers see expired' };
let version = 0;
function showCallers(certificate: string): void {
  version += 1;
  mkdirSync(join(mount, `..${version}`));
  writeFileSync(join(mount, `..${version}`, 'tls.crt'), certificate);
  writeFileSync(join(mount, `..${version}`, 'tls.key'), key);
  symlinkSync(`..${version}`, join(mount, '..data_tmp'));
  renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
}

let weir: Weir;
let whileGood: readonly Line[];
let whileBroken: readonly Line[];
let onceMended: readonly Line[];

const write = (change: (row: FileSabotage) => string): void => {
  for (const row of sabotages) writeFileSync(join(weir.manifests, `${row.name}.yaml`), change(row));
};
const listed = async (): Promise<readonly Line[]> =>
  linesOf(await runWeir(['problems', '--json', '--data', weir.data]));
const of = (lines: readonly Line[], { object, name }: FileSabotage): readonly Line[] =>
  lines.filter((line) => line.object === object || line.object.includes(name) || line.problem.includes(`test/${name}`));

beforeAll(async () => {
  engines.push(await startSabotagedEngine(speak(well)), await startSabotagedEngine(speak(well, goodTls)));
  const files = Object.fromEntries(sabotages.map(({ name, good: text }) => [`${name}.yaml`, text()]));
  showCallers(good);
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(mount, name));
  const env = {
    WEIR_TLS_CERTIFICATE_FILE: join(mount, 'tls.crt'),
    WEIR_TLS_KEY_FILE: join(mount, 'tls.key'),
  };
  weir = await startWeir({ manifests: files, env });
  whileGood = await listed();
  const nobody = async (): Promise<void> => undefined;
  const wait = { glance: await glanceAt(weir), meanwhile: nobody, withinMs };

  write(({ good: text, change: [from, to] }) => text().replace(from, to));
  showCallers(expired);
  const isNamed = (lines: readonly Line[]): boolean =>
    [edge, ...sabotages].every((row) =>
      lines.some(({ object, problem }) => object === row.object && problem.includes(row.says)),
    );
  whileBroken = await untilLines(listed, { ...wait, isSo: isNamed });

  write(({ good: text }) => text());
  showCallers(good);
  onceMended = await untilLines(listed, { ...wait, isSo: (lines) => lines.length === 0 });
});

afterAll(async () => {
  await weir.close();
  for (const engine of engines) await engine.close();
  rmSync(mount, { recursive: true });
});

test('files without a mistake are no line', () => {
  expect(whileGood).toEqual([]);
});

describe.each(sabotages)('a file with the mistake $name', (row) => {
  test(`is a line within 30 s: "${row.says}"`, () => {
    const { object, says } = row;
    expect(of(whileBroken, row)).toEqual([
      expect.objectContaining({ object, problem: expect.stringContaining(says) as string }),
    ]);
  });

  test('is none within 30 s of its correction', () => {
    expect(of(onceMended, row)).toEqual([]);
  });
});

test('an expired certificate of the edge is a line within 30 s, and none within 30 s of its renewal', () => {
  expect(whileBroken.filter(({ object }) => object === edge.object)).toEqual([
    expect.objectContaining({ problem: expect.stringContaining(edge.says) as string }),
  ]);
  expect(onceMended).toEqual([]);
});

test('there was no other line', () => {
  expect(whileBroken).toHaveLength(sabotages.length + 1);
});
