// @suite long
/** Objects that were stored before a rule existed: the rules of the API server hold only for what is written. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { startKubeApiServer } from './support/api-server.ts';
import { installCrds } from './support/cluster.ts';
import { startDeclaredAccounts } from './support/declared-accounts.ts';

const polling = { interval: 50 };
const crds = join(import.meta.dirname, '..', '..', 'charts', 'weir', 'files', 'crds');

interface Schema {
  readonly properties: Record<string, object>;
}
interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: { readonly openAPIV3Schema: { readonly properties: { readonly spec: Schema } } };
    }[];
  };
}

/** The CRDs of a version that has no rule yet for the rate of an ApiKey. */
function writeLooseCrds(folder: string): void {
  for (const file of readdirSync(crds)) {
    const crd = parse(readFileSync(join(crds, file), 'utf8')) as Crd;
    for (const { schema } of file === 'apikeys.yaml' ? crd.spec.versions : []) {
      const { properties } = schema.openAPIV3Schema.properties.spec;
      properties['rate'] = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    }
    writeFileSync(join(folder, file), stringify(crd));
  }
}

test('an object that breaks a newer rule is named, and its deletion revokes its key', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-loose-crds-'));
  writeLooseCrds(folder);
  const server = await startKubeApiServer();
  await installCrds(server, folder);
  const { cluster, ledger, close } = await startDeclaredAccounts(server, () => 0);
  await cluster.workspace('search');
  await cluster.apiKey('old', 'search');
  await expect.poll(() => cluster.condition('apikeys', 'old', 'Ready'), polling).toBe('True Ready');
  const text = await cluster.secretText('old');
  const rate = { perSecond: 'many' };
  await cluster.apiKey('old', 'search', { rate });
  const accepted = () => cluster.condition('apikeys', 'old', 'Accepted');
  await expect.poll(accepted, polling).toMatch(/^False Invalid: spec\.rate\.perSecond: /);
  expect(await ledger.stateOf(text)).toBe('active');

  await installCrds(server);
  // The twin: the rule holds now.
  await expect
    .poll(() => cluster.apiKey('new', 'search', { rate }).then(String, String), polling)
    .toContain('spec.rate.perSecond: expected numeric');
  await cluster.touch('apikeys', 'old', 'again');
  await cluster.apiKey('neighbour', 'search');
  await expect.poll(() => cluster.condition('apikeys', 'neighbour', 'Ready'), polling).toBe('True Ready');
  await cluster.remove('apikeys', 'old');
  await expect.poll(() => ledger.stateOf(text), polling).toBe('revoked');
  await expect.poll(() => cluster.exists('apikeys', 'old'), polling).toBe(false);
  await close();
  await server.close();
  rmSync(folder, { recursive: true });
});
