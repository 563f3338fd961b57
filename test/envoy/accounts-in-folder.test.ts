/** Accounts that a manifest folder declares, through the whole gateway: the key in its file works, is rotated under load, and ends. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, canary, modelManifest, startWeir, teamManifest } from '../support/weir.ts';
import { untilHolds } from '../support/until-holds.ts';
import { forFile } from '../support/for-file.ts';

const dayMs = 86_400_000;

/** `mark`: another one has the gateway look at the key at once, not within a minute. */
const keyOf = (mark: string): string => `apiVersion: weir.dev/v1alpha1
kind: ApiKey
metadata: {name: search-prod, annotations: {weir.dev/looked-at: "${mark}"}}
spec:
  workspace: search-team
  secretRef: {name: search-key}
  rate: {perSecond: 1000, burst: 2000}
  rotation: {everyDays: 90, overlapHours: 24}
`;

const declareKey = (mark: string): void => writeFileSync(join(weir.manifests, 'key.yaml'), keyOf(mark));
const keyText = (): string => readFileSync(join(weir.data, 'account-keys', 'search-key', 'key'), 'utf8').trim();

async function statusWith(key: string): Promise<number> {
  const body = { model: 'test/model', messages: [{ role: 'user', content: canary }], max_tokens: 5 };
  const answer = await weir.chat(body, { authorization: `Bearer ${key}` });
  await answer.text();
  return answer.status;
}

const engine = await forFile(startProgrammableEngine({ behaviour: { reasoning: 'never', words: 3 } }));
const catalog = backendManifest('engine', engine) + modelManifest('test/model', ['engine']);
const weir = await forFile(
  startWeir({ engines: [engine], manifests: { 'catalog.yaml': catalog, 'team.yaml': teamManifest } }),
);
declareKey('first');
await untilHolds(keyText);

/** What ninety days do to the current key. */
function age(): void {
  using database = new DatabaseSync(join(weir.data, 'weir.db'), { timeout: 10_000 });
  database
    .prepare(`update declarations set since = since - ? where kind = 'ApiKey' and state = 'current'`)
    .run(91 * dayMs);
}

test('rotations under load refuse no request, neither of a program that reads the file each time nor of one that is a key behind', async () => {
  const statuses: number[] = [];
  let behind = keyText();
  let isOver = false;
  const lane = async (key: () => string): Promise<void> => {
    while (!isOver) statuses.push(await statusWith(key()));
  };
  const lanes = [lane(keyText), lane(keyText), lane(keyText), lane(() => behind)];
  for (let rotation = 1; rotation <= 5; rotation += 1) {
    const before = keyText();
    const asked = statuses.length;
    age();
    declareKey(`rotation ${rotation}`);
    await expect.poll(keyText).not.toBe(before);
    await expect.poll(() => statuses.length).toBeGreaterThan(asked + 40);
    behind = before;
  }
  isOver = true;
  await Promise.all(lanes);
  expect(new Set(statuses)).toEqual(new Set([200]));
  console.log(`5 rotations, ${statuses.length} requests, none refused`);
});

test('commands refuse to change what the folder declares, and a key that leaves it ends within a second', async () => {
  const data = ['--data', weir.data];
  const { stdout } = await runWeir(['key', 'list', '--workspace', 'search-team', '--json', ...data]);
  const [key] = JSON.parse(stdout) as readonly { readonly id: string }[];
  const refused = await runWeir(['key', 'suspend', key?.id ?? '', ...data]);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('ApiKey "search-prod" in namespace "manifests" declares this');

  const text = keyText();
  writeFileSync(join(weir.manifests, 'key.yaml'), '# no key any more\n');
  const begun = performance.now();
  await expect.poll(() => statusWith(text), { interval: 20 }).toBe(401);
  console.log(`revoked ${Math.round(performance.now() - begun)} ms after its manifest was gone`);
});
