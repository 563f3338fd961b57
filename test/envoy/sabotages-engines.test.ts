// @suite waits
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runWeir } from '../support/run-weir.ts';
import { modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { engineCertificates } from './support/sabotages/engine-certificates.ts';
import { type EngineSabotage, engineSabotages, wellConduct } from './support/sabotages/engine-rows.ts';
import { type SabotagedEngine, startSabotagedEngine } from './support/sabotages/sabotaged-engine.ts';
import { linesOf, type Line, untilLines, withinMs } from './support/sabotages/problem-lines.ts';

// Every way in which an engine breaks, all at once on one gateway: each is a line of its own, with its cause, and ends.

let weir: Weir;
const engines = new Map<string, SabotagedEngine>();
let whileWell: { readonly statuses: readonly number[]; readonly lines: readonly Line[] };
let whileBroken: readonly Line[];
let onceMended: readonly Line[];

function backendOf({ name, tls, spec = '' }: EngineSabotage): string {
  const port = engines.get(name)?.port ?? 0;
  const secured = tls === undefined ? '' : ', tls: {mode: Custom, caSecretRef: {name: authority, key: ca.crt}}';
  const more = spec === '' ? '' : `, ${spec}`;
  return [
    'apiVersion: weir.dev/v1alpha1',
    'kind: Backend',
    `metadata: {name: ${name}}`,
    `spec: {engine: vllm, endpoint: {host: 127.0.0.1, port: ${port}, path: /v1}${secured}${more}}`,
    '---',
    '',
  ].join('\n');
}

const secret = [
  ...['apiVersion: v1', 'kind: Secret', 'metadata: {name: authority}'],
  `stringData: ${JSON.stringify({ 'ca.crt': engineCertificates.authority })}`,
  ...['---', ''],
].join('\n');

/** Callers of every model, each with a prompt of its own: one that fails again and again would be at fault itself. */
let asked = 0;
async function askAll(): Promise<readonly number[]> {
  asked += 1;
  const content = `Hello ${asked}`;
  const answers = engineSabotages.map(async ({ name }) => {
    const body = { model: `test/${name}`, stream: true, messages: [{ role: 'user', content }] };
    const response = await weir.chat(body);
    await response.text().catch(() => '');
    return response.status;
  });
  return Promise.all(answers);
}

const listed = async (): Promise<readonly Line[]> =>
  linesOf(await runWeir(['problems', '--json', '--data', weir.data]));
const ofBackend = (lines: readonly Line[], { name }: EngineSabotage): readonly string[] =>
  lines
    .filter(({ object, problem }) => object === `Backend/${name}` || problem.includes(`test/${name}`))
    .map(({ problem }) => problem);

beforeAll(async () => {
  for (const row of engineSabotages) engines.set(row.name, await startSabotagedEngine(wellConduct(row)));
  const catalog = [
    secret,
    ...engineSabotages.map(backendOf),
    ...engineSabotages.map(({ name }) => modelManifest(`test/${name}`, [name], '  hedging: {mode: Disabled}')),
  ].join('');
  weir = await startWeir({ manifests: { 'catalog.yaml': catalog }, unlimited: true });
  whileWell = { statuses: await askAll(), lines: await listed() };

  for (const row of engineSabotages) await engines.get(row.name)?.turn(row.broken);
  const isNamed = (lines: readonly Line[]): boolean =>
    engineSabotages.every((row) => {
      const found = ofBackend(lines, row);
      return found.length === 1 && found[0]?.includes(row.says) === true;
    });
  whileBroken = await untilLines(listed, { isSo: isNamed, meanwhile: askAll, withinMs });

  for (const row of engineSabotages) await engines.get(row.name)?.turn(wellConduct(row));
  onceMended = await untilLines(listed, {
    isSo: (lines) => lines.length === 0,
    meanwhile: askAll,
    withinMs,
  });
});

afterAll(async () => {
  await weir.close();
  for (const engine of engines.values()) await engine.close();
});

test('engines that are well answer, and are no line', () => {
  expect(new Set(whileWell.statuses)).toEqual(new Set([200]));
  expect(whileWell.lines).toEqual([]);
});

describe.each(engineSabotages)('the engine $name', (row) => {
  test(`is a line within 30 s: "${row.says}"`, () => {
    expect(ofBackend(whileBroken, row)).toEqual([expect.stringContaining(row.says)]);
  });

  test('is none after its repair', () => {
    expect(ofBackend(onceMended, row)).toEqual([]);
  });
});

test('there was no other line', () => {
  const named = engineSabotages.flatMap((row) => ofBackend(whileBroken, row));
  expect(whileBroken.filter(({ problem }) => !named.includes(problem))).toEqual([]);
});
