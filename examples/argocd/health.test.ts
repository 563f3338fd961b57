import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LuaFactory } from 'wasmoon';
import { parse } from 'yaml';
import * as z from 'zod';

const root = join(import.meta.dirname, '..', '..');
const read = (...path: readonly string[]): string => readFileSync(join(root, ...path), 'utf8');
const { data: scripts } = z
  .object({ data: z.record(z.string(), z.string()) })
  .parse(parse(read('examples', 'argocd', 'health.yaml')));
const healthSchema = z.strictObject({
  status: z.enum(['Healthy', 'Progressing', 'Degraded', 'Suspended']),
  message: z.string(),
});

/** `type`, `status`, `reason` and perhaps a message. */
type Said = readonly [string, 'True' | 'False' | 'Unknown', string, string?];

const good: Readonly<Record<string, readonly Said[]>> = {
  Backend: [
    ['Accepted', 'True', 'Accepted'],
    ['Programmed', 'True', 'Programmed', 'in Envoy'],
    ['Healthy', 'True', 'HealthCheckPassed'],
  ],
  Model: [
    ['Accepted', 'True', 'Accepted'],
    ['Servable', 'True', 'RoutesReady'],
    ['Priced', 'True', 'Priced', 'USD per token: prompt 0.1'],
    ['Listed', 'True', 'Listed'],
    ['Retiring', 'False', 'Staying'],
    ['SameVectors', 'True', 'SameVectors'],
  ],
  Workspace: [
    ['Accepted', 'True', 'Accepted'],
    ['Ready', 'True', 'Ready'],
  ],
  ApiKey: [
    ['Accepted', 'True', 'Accepted'],
    ['Ready', 'True', 'Ready'],
    ['WithinBudget', 'True', 'NoBudget'],
  ],
  Identity: [
    ['Accepted', 'True', 'Accepted'],
    ['Ready', 'True', 'Ready'],
  ],
  Credit: [
    ['Accepted', 'True', 'Accepted'],
    ['Booked', 'True', 'Booked', '25 USD as credit_1'],
  ],
};
const kindsOfObjects = Object.keys(good);

const lua = new LuaFactory();

async function healthOf(kind: string, status: unknown, generation = 3): Promise<z.infer<typeof healthSchema>> {
  const object = { apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name: 'a', generation }, spec: {} };
  // A new state for each object, as in Argo CD. Without proxies an object is a Lua table.
  const state = await lua.createEngine({ enableProxy: false });
  try {
    state.global.set('obj', status === undefined ? object : { ...object, status });
    return healthSchema.parse(await state.doString(scripts[`resource.customizations.health.weir.dev_${kind}`] ?? ''));
  } finally {
    state.global.close();
  }
}

/** The status of a good object in which some conditions are others. */
function statusWith(kind: string, others: readonly Said[]): unknown {
  const conditions = (good[kind] ?? [])
    .map((said) => others.find(([type]) => type === said[0]) ?? said)
    .map(([type, status, reason, message = '']) => ({ type, status, reason, message }));
  return { observedGeneration: 3, conditions };
}

const states: readonly (readonly [kind: string, others: readonly Said[], health: string, message: string])[] = [
  ['Backend', [], 'Healthy', ''],
  ['Backend', [['Healthy', 'True', 'NothingFailed', 'no health check is declared']], 'Healthy', ''],
  ['Backend', [['Healthy', 'True', 'SomeEndpointsFail', '7 of 8']], 'Healthy', 'Healthy: SomeEndpointsFail: 7 of 8'],
  ['Backend', [['Healthy', 'True', 'DiffersFromManifest', 'm']], 'Healthy', 'Healthy: DiffersFromManifest: m'],
  ['Backend', [['Healthy', 'Unknown', 'NotTried', 'm']], 'Healthy', 'Healthy: NotTried: m'],
  ['Backend', [['Accepted', 'False', 'Invalid', 'spec.tls: no']], 'Degraded', 'Accepted: Invalid: spec.tls: no'],
  ['Backend', [['Accepted', 'False', 'SecretNotUsable', 'none']], 'Degraded', 'Accepted: SecretNotUsable: none'],
  ...['EnvoyRefused', 'ServiceNotUsable', 'InferencePoolNotUsable', 'LastGoodServes', 'NotAccepted'].map(
    (reason) => ['Backend', [['Programmed', 'False', reason, 'm']], 'Degraded', `Programmed: ${reason}: m`] as const,
  ),
  ['Backend', [['Programmed', 'False', 'Lagging', '1 of 2']], 'Progressing', 'Programmed: Lagging: 1 of 2'],
  ...['HealthCheckFailed', 'ConnectionRefused', 'CredentialRefused', 'RequestsFail', 'LastRequestsFailed'].map(
    (reason) => ['Backend', [['Healthy', 'False', reason, 'm']], 'Degraded', `Healthy: ${reason}: m`] as const,
  ),
  ...['NoReadyEndpoint', 'NoAddress'].map(
    (reason) => ['Backend', [['Healthy', 'False', reason, 'm']], 'Progressing', `Healthy: ${reason}: m`] as const,
  ),
  ['Backend', [['Healthy', 'Unknown', 'NotProgrammed']], 'Progressing', 'Healthy: NotProgrammed'],

  ['Model', [], 'Healthy', ''],
  ...['SomeRoutesRefused', 'SomeAliasesRefused', 'CacheNotDivided'].map(
    (reason) => ['Model', [['Accepted', 'True', reason, 'm']], 'Healthy', `Accepted: ${reason}: m`] as const,
  ),
  ...['SomeRoutesReady', 'StandbyReady', 'OnTrial'].map(
    (reason) => ['Model', [['Servable', 'True', reason, 'm']], 'Healthy', `Servable: ${reason}: m`] as const,
  ),
  ['Model', [['Accepted', 'False', 'Invalid', 'm']], 'Degraded', 'Accepted: Invalid: m'],
  ['Model', [['Accepted', 'False', 'IdTaken', 'm']], 'Degraded', 'Accepted: IdTaken: m'],
  ['Model', [['Priced', 'False', 'Invalid', 'm']], 'Degraded', 'Priced: Invalid: m'],
  ['Model', [['Servable', 'True', 'LastGoodServes', 'm']], 'Degraded', 'Servable: LastGoodServes: m'],
  ['Model', [['Servable', 'False', 'BackendNotUsable', 'm']], 'Degraded', 'Servable: BackendNotUsable: m'],
  ['Model', [['Servable', 'False', 'NotAccepted', 'm']], 'Degraded', 'Servable: NotAccepted: m'],
  ['Model', [['Servable', 'False', 'NoRouteReady', 'm']], 'Progressing', 'Servable: NoRouteReady: m'],
  ['Model', [['Listed', 'False', 'NotServable', 'm']], 'Progressing', 'Listed: NotServable: m'],
  ['Model', [['Listed', 'False', 'BelowServiceLevel', 'm']], 'Degraded', 'Listed: BelowServiceLevel: m'],
  ['Model', [['Listed', 'False', 'NotInCatalog', 'm']], 'Degraded', 'Listed: NotInCatalog: m'],
  ...['OtherVectors', 'VectorsChanged'].map(
    (reason) => ['Model', [['SameVectors', 'False', reason, 'm']], 'Degraded', `SameVectors: ${reason}: m`] as const,
  ),
  ['Model', [['SameVectors', 'Unknown', 'NotProbed', 'm']], 'Healthy', 'SameVectors: NotProbed: m'],
  ...['RetireAt', 'Deleted', 'NoticeWaived'].map(
    (reason) => ['Model', [['Retiring', 'True', reason, 'm']], 'Healthy', `Retiring: ${reason}: m`] as const,
  ),
  [
    'Model',
    [
      ['Retiring', 'True', 'Left', 'at noon'],
      ['Servable', 'False', 'Left'],
      ['Listed', 'False', 'NotInCatalog'],
    ],
    'Suspended',
    'Retiring: Left: at noon',
  ],

  ['Workspace', [], 'Healthy', ''],
  ['Workspace', [['Accepted', 'False', 'Invalid', 'm']], 'Degraded', 'Accepted: Invalid: m'],
  ['Workspace', [['Ready', 'False', 'HasKeys', '2 keys']], 'Progressing', 'Ready: HasKeys: 2 keys'],
  ['Workspace', [['Ready', 'True', 'Suspended', 'm']], 'Suspended', 'Ready: Suspended: m'],
  ['ApiKey', [], 'Healthy', ''],
  ['ApiKey', [['Accepted', 'False', 'WorkspaceNotReady', 'm']], 'Progressing', 'Accepted: WorkspaceNotReady: m'],
  ['ApiKey', [['Accepted', 'False', 'Refused', 'm']], 'Degraded', 'Accepted: Refused: m'],
  ['ApiKey', [['Ready', 'False', 'KeyTaken', 'm']], 'Degraded', 'Ready: KeyTaken: m'],
  ['ApiKey', [['Ready', 'True', 'Suspended', 'm']], 'Suspended', 'Ready: Suspended: m'],
  ['ApiKey', [['WithinBudget', 'False', 'BudgetSpent', 'm']], 'Healthy', 'WithinBudget: BudgetSpent: m'],
  ['Identity', [], 'Healthy', ''],
  ['Identity', [['Accepted', 'False', 'WorkspaceNotReady', 'm']], 'Progressing', 'Accepted: WorkspaceNotReady: m'],
  ['Identity', [['Accepted', 'False', 'NameTaken', 'm']], 'Degraded', 'Accepted: NameTaken: m'],
  ['Identity', [['Ready', 'False', 'Revoked', 'm']], 'Degraded', 'Ready: Revoked: m'],
  ['Identity', [['Ready', 'True', 'Suspended', 'm']], 'Suspended', 'Ready: Suspended: m'],
  ['Credit', [], 'Healthy', ''],
  ['Credit', [['Accepted', 'False', 'WorkspaceNotReady', 'm']], 'Progressing', 'Accepted: WorkspaceNotReady: m'],
  ['Credit', [['Accepted', 'False', 'BookedOtherwise', 'm']], 'Degraded', 'Accepted: BookedOtherwise: m'],
  ['Credit', [['Booked', 'False', 'BookedAsAnother', 'm']], 'Degraded', 'Booked: BookedAsAnother: m'],
];

test.each(states)('a %s with %j is %s', async (kind, others, status, message) => {
  expect(await healthOf(kind, statusWith(kind, others))).toEqual({ status, message });
});

test.each(kindsOfObjects)('a %s that Weir has not judged is progressing', async (kind) => {
  const waits = { status: 'Progressing', message: 'Weir has not judged this version yet' };
  expect(await healthOf(kind, undefined)).toEqual(waits);
  expect(await healthOf(kind, {})).toEqual(waits);
  expect(await healthOf(kind, statusWith(kind, []), 4)).toEqual(waits);
});

test.each(kindsOfObjects)('a %s without its conditions is progressing', async (kind) => {
  const waits = { status: 'Progressing', message: 'Accepted is not known yet' };
  expect(await healthOf(kind, { observedGeneration: 3 })).toEqual(waits);
  expect(await healthOf(kind, { observedGeneration: 3, conditions: [] })).toEqual(waits);
});

test('every kind has a script, and no script is for a kind that does not exist', () => {
  const folder = join('charts', 'weir', 'files', 'crds');
  const kinds = readdirSync(join(root, folder)).map((file) => {
    const crd = z
      .object({ spec: z.object({ names: z.object({ kind: z.string() }) }) })
      .parse(parse(read(folder, file)));
    return `resource.customizations.health.weir.dev_${crd.spec.names.kind}`;
  });
  expect(Object.keys(scripts).toSorted()).toEqual(kinds.toSorted());
});

test('every reason of the page of conditions is in a state above', () => {
  const [, page = ''] = read('docs', 'reference', 'conditions.md').split('\n## Conditions\n');
  const rows = (page.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  const reasons = new Set(rows.flatMap((row) => [...row.matchAll(/`([A-Z][A-Za-z]+)`/g)].map(([, reason]) => reason)));
  const known = new Set(
    [...Object.values(good).flat(), ...states.flatMap(([, others]) => others)].flatMap(([type, , reason]) => [
      type,
      reason,
    ]),
  );
  expect(reasons.size).toBeGreaterThan(30);
  expect([...reasons].filter((reason) => reason !== undefined && !known.has(reason))).toEqual([]);
});
