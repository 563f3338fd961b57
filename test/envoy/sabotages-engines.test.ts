// @suite waits
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runWeir } from '../support/run-weir.ts';
import { modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { engineCertificates } from './support/sabotages/engine-certificates.ts';
import { type EngineSabotage, engineSabotages, wellConduct } from './support/sabotages/engine-rows.ts';
import { type SabotagedEngine, startSabotagedEngine } from './support/sabotages/sabotaged-engine.ts';
import { glanceAt, type Line, linesOf, untilLines, withinMs } from './support/sabotages/problem-lines.ts';

// Every way in which an engine breaks, some at a time on one gateway: each is a line of its own, with its cause, and ends.

/** So many at once that one line could be taken for another, and so few that a busy machine serves the callers of all in time. */
const atOnce = 7;
const groups = Array.from({ length: Math.ceil(engineSabotages.length / atOnce) }, (_, index) =>
  engineSabotages.slice(index * atOnce, (index + 1) * atOnce),
);

interface Seen {
  readonly whileBroken: readonly Line[];
  readonly onceMended: readonly Line[];
}

let weir: Weir;
const engines = new Map<string, SabotagedEngine>();
let whileWell: { readonly statuses: readonly number[]; readonly lines: readonly Line[] };
/** By the name of the engine. */
const seen = new Map<string, Seen>();

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

/** Callers of some models, each with a prompt of its own: one that fails again and again would be at fault itself. */
let asked = 0;
async function ask(rows: readonly EngineSabotage[]): Promise<readonly number[]> {
  asked += 1;
  const content = `Hello ${asked}`;
  const answers = rows.map(async ({ name }) => {
    const body = { model: `test/${name}`, stream: true, messages: [{ role: 'user', content }] };
    const response = await weir.chat(body);
    await response.text().catch(() => '');
    return response.status;
  });
  return Promise.all(answers);
}

const listed = async (): Promise<readonly Line[]> =>
  linesOf(await runWeir(['problems', '--json', '--data', weir.data]));
/** The lines of a Backend and of its Model. */
const linesAbout = (lines: readonly Line[], { name }: EngineSabotage): readonly string[] => {
  const objects = [`Backend/${name}`, `Model/test-${name}`];
  return lines
    .filter(({ object, problem }) => objects.includes(object) || problem.includes(`test/${name}`))
    .map(({ problem }) => problem);
};

async function sabotage(rows: readonly EngineSabotage[], glance: () => Promise<readonly Line[]>): Promise<Seen> {
  const meanwhile = () => ask(rows);
  for (const row of rows) await engines.get(row.name)?.turn(row.broken);
  const isNamed = (lines: readonly Line[]): boolean =>
    rows.every((row) => {
      const [first, ...others] = linesAbout(lines, row);
      return others.length === 0 && [row.says, row.quotes ?? ''].every((part) => first?.includes(part) === true);
    });
  const whileBroken = await untilLines(listed, { isSo: isNamed, glance, meanwhile, withinMs });
  for (const row of rows) await engines.get(row.name)?.turn(wellConduct(row));
  const isNone = (lines: readonly Line[]): boolean => lines.length === 0;
  return { whileBroken, onceMended: await untilLines(listed, { isSo: isNone, glance, meanwhile, withinMs }) };
}

beforeAll(async () => {
  for (const row of engineSabotages) engines.set(row.name, await startSabotagedEngine(wellConduct(row)));
  const catalog = [
    secret,
    ...engineSabotages.map(backendOf),
    ...engineSabotages.map(({ name }) => modelManifest(`test/${name}`, [name], '  hedging: {mode: Disabled}')),
  ].join('');
  weir = await startWeir({ manifests: { 'catalog.yaml': catalog }, unlimited: true });
  whileWell = { statuses: await ask(engineSabotages), lines: await listed() };
  const glance = await glanceAt(weir);
  for (const rows of groups) {
    const found = await sabotage(rows, glance);
    for (const { name } of rows) seen.set(name, found);
  }
});

afterAll(async () => {
  await weir.close();
  for (const engine of engines.values()) await engine.close();
});

test('engines that are well answer, and are no line', () => {
  expect(new Set(whileWell.statuses)).toEqual(new Set([200]));
  expect(whileWell.lines).toEqual([]);
});

const seenOf = ({ name }: EngineSabotage): Seen => seen.get(name) ?? { whileBroken: [], onceMended: [] };

describe.each(engineSabotages)('the engine $name', (row) => {
  test(`is a line within 30 s: "${row.says}"`, () => {
    const lines = linesAbout(seenOf(row).whileBroken, row);
    expect(lines).toEqual([expect.stringContaining(row.says)]);
    expect(lines[0]).toContain(row.quotes ?? '');
  });

  test('is none after its repair', () => {
    expect(linesAbout(seenOf(row).onceMended, row)).toEqual([]);
  });
});

test('there was no other line', () => {
  const others = [...new Set(seen.values())].flatMap(({ whileBroken }) => {
    const named = engineSabotages.flatMap((row) => linesAbout(whileBroken, row));
    return whileBroken.filter(({ problem }) => !named.includes(problem));
  });
  expect(others).toEqual([]);
});
