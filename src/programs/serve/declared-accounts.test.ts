/** Accounts that the objects of a manifest folder declare: what the ledger and the data folder have of them. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { openTestLedger, type TestLedger } from '../../../test/support/test-ledger.ts';
import type { CatalogReading } from '../../control/reconcilers/follow-catalog.ts';
import { type FolderAccounts, followFolderAccounts } from '../../control/reconcilers/folder-accounts.ts';
import { parseManifest } from '../../control/manifests/parse.ts';
import { readSettings } from '../../process/settings/read-settings.ts';
import { newKey } from '../../books/accounts/key-text.ts';
import { databaseLocation } from '../../books/databases/database-location.ts';
import { openDeclaredAccounts } from './declared-accounts.ts';

const usd = 10n ** 12n;
const dayMs = 86_400_000;

const workspace = 'kind: Workspace\nmetadata: {name: search-team}\nspec: {maxInFlight: 64}';
const apiKey =
  'kind: ApiKey\nmetadata: {name: search-prod}\nspec: {workspace: search-team, secretRef: {name: search-key}}';
const credit = 'kind: Credit\nmetadata: {name: order-8}\nspec: {workspace: search-team, usd: "25", note: order 8}';

const readingOf = (...documents: readonly string[]): CatalogReading => {
  const text = documents.map((one) => `apiVersion: weir.dev/v1alpha1\n${one}\n`).join('---\n');
  const entries = parseManifest('accounts.yaml', text);
  return {
    objects: entries.flatMap((entry) => (entry.kind === 'object' ? [entry.object] : [])),
    problems: entries.flatMap((entry) => (entry.kind === 'broken' ? [entry.problem] : [])),
  };
};

let ledger: TestLedger;
let clock: FakeClock;
let log: string[];
const ending: (() => Promise<void>)[] = [];

beforeEach(async () => {
  ledger = await openTestLedger();
  ending.push(ledger.close);
  clock = createFakeClock(Date.now());
  log = [];
});
afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end();
});

interface TestFolder extends FolderAccounts {
  readonly read: (reading: CatalogReading) => void;
}

/** A service with a manifest folder, as far as accounts need it. */
function serve(first: CatalogReading, now = clock.now): TestFolder {
  const settings = readSettings({ WEIR_DATA: ledger.data });
  const declared = openDeclaredAccounts(settings, databaseLocation({ data: ledger.data }), async () => undefined);
  if (declared === undefined) throw new Error('objects declare no accounts');
  let latest = first;
  const note = (facts: object): number => log.push(Object.values(facts).join(' '));
  const folder = followFolderAccounts({
    ...{ data: ledger.data, clock: { ...clock, now }, accounts: declared.parts, latest: () => latest },
    log: { info: note, warn: note, error: note },
  });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= folder.close().then(declared.close));
  ending.push(close);
  return {
    ...folder,
    close,
    read: (reading) => {
      latest = reading;
      folder.changed();
    },
  };
}

const keyFile = (): string => join(ledger.data, 'account-keys', 'search-key', 'key');
const keyText = (): string | undefined => (existsSync(keyFile()) ? readFileSync(keyFile(), 'utf8').trim() : undefined);
const stateOf = (text: string | undefined): Promise<string | undefined> => ledger.stateOf(text);

async function untilLogged(line: RegExp): Promise<void> {
  await expect.poll(() => log.join('\n')).toMatch(line);
}

/** Waits until the conditions `Ready` of objects have this status, reason and message. */
async function untilReady(expected: Readonly<Record<string, readonly [string, string, string]>>): Promise<void> {
  const read = (): unknown => {
    const { objects } = JSON.parse(readFileSync(join(ledger.data, 'accounts.json'), 'utf8'));
    return Object.fromEntries(
      objects.map(({ kind, status }: { kind: string; status?: { conditions: readonly Record<string, string>[] } }) => {
        const ready = status?.conditions.find(({ type }) => type === 'Ready');
        return [kind, [ready?.['status'], ready?.['reason'], ready?.['message']]];
      }),
    );
  };
  await expect.poll(read).toEqual(expected);
}

async function serveTeam(): Promise<{ readonly folder: TestFolder; readonly text: string }> {
  const folder = serve(readingOf(workspace, apiKey, credit));
  await untilLogged(/ApiKey search-prod Created/);
  await untilLogged(/Credit order-8 Booked/);
  return { folder, text: keyText() ?? '' };
}

test('a Workspace, an ApiKey and a Credit become an account whose key is in a file that only its owner reads', async () => {
  const { folder, text } = await serveTeam();
  expect(await stateOf(text)).toBe('active');
  expect(statSync(keyFile()).mode & 0o077).toBe(0);
  expect(await ledger.balanceOf('search-team')).toBe(25n * usd);
  expect(log.join('\n')).not.toContain(text);
  const [key] = await ledger.accounts.listKeys(await ledger.accounts.findWorkspace('search-team'));
  const by = { actor: { kind: 'admin-token', name: 'test' }, now: clock.now() } as const;
  await expect(ledger.accounts.changeKey(key?.id ?? '', { status: 'suspended' }, by)).rejects.toThrow(
    /ApiKey "?(manifests\/)?search-prod/,
  );
  await folder.close();
  // Another start finds everything as it is.
  log.length = 0;
  const again = serve(readingOf(workspace, apiKey, credit));
  clock.advance(60_000);
  await expect.poll(() => existsSync(join(ledger.data, 'accounts.json'))).toBe(true);
  await again.close();
  expect(log).toEqual([]);
  expect(keyText()).toBe(text);
  expect(await ledger.balanceOf('search-team')).toBe(25n * usd);
});

test('changes of the folder change the account, a changed Credit no money', async () => {
  const { folder } = await serveTeam();
  const suspended = apiKey.replace('spec: {', 'spec: {status: Suspended, ');
  folder.read(readingOf(workspace, suspended, credit.replace('"25"', '"99"')));
  await expect.poll(() => stateOf(keyText())).toBe('suspended');
  await untilLogged(/Credit order-8 BookedOtherwise/);
  expect(await ledger.balanceOf('search-team')).toBe(25n * usd);
});

test('a Workspace and an ApiKey that a command has suspended are not ready, until they work again', async () => {
  const unmanaged = (object: string): string =>
    object.replace(/metadata: \{(.*?)\}/, 'metadata: {$1, annotations: {weir.dev/managed: "false"}}');
  serve(readingOf(unmanaged(workspace), unmanaged(apiKey)));
  await untilReady({ Workspace: ['True', 'Ready', ''], ApiKey: ['True', 'Ready', ''] });
  const [key] = await ledger.accounts.listKeys(await ledger.accounts.findWorkspace('search-team'));
  const by = { actor: { kind: 'command-line', name: 'test' }, now: clock.now() } as const;
  log.length = 0;

  await ledger.accounts.changeKey(key?.id ?? '', { status: 'suspended' }, by);
  await ledger.accounts.changeWorkspace('search-team', { status: 'suspended' }, by);
  clock.advance(60_000);
  const why =
    'spec.status: suspended in the ledger, and an object with weir.dev/managed: "false" does not change that; requests';
  await untilReady({
    Workspace: ['False', 'Suspended', `${why} of its keys get 403`],
    ApiKey: ['False', 'Suspended', `${why} with the key get 403`],
  });

  await ledger.accounts.changeKey(key?.id ?? '', { status: 'active' }, by);
  await ledger.accounts.changeWorkspace('search-team', { status: 'active' }, by);
  clock.advance(60_000);
  await untilReady({ Workspace: ['True', 'Ready', ''], ApiKey: ['True', 'Ready', ''] });
  await untilLogged(/ApiKey search-prod Ready/);
  expect(log.filter((line) => line.startsWith('ApiKey'))).toEqual([
    `ApiKey search-prod Suspended ${why} with the key get 403`,
    'ApiKey search-prod Resumed the key works again',
    'ApiKey search-prod Ready Ready is True now',
  ]);
});

test('an ApiKey that leaves the folder is revoked, and its file goes', async () => {
  const { folder, text } = await serveTeam();
  folder.read(readingOf(workspace, credit));
  await expect.poll(() => stateOf(text)).toBe('revoked');
  await expect.poll(() => existsSync(keyFile())).toBe(false);
  folder.read(readingOf(workspace, apiKey, credit));
  await expect.poll(() => stateOf(keyText())).toBe('active');
  expect(keyText()).not.toBe(text);
});

test('an ApiKey that left the folder while nothing ran is revoked at the next start', async () => {
  const { folder, text } = await serveTeam();
  await folder.close();
  expect(await stateOf(text)).toBe('active');
  serve(readingOf(workspace, credit));
  await expect.poll(() => stateOf(text)).toBe('revoked');
});

test.each([
  ['a file that is broken', readingOf(workspace, credit, 'kind: [')],
  ['an empty folder', readingOf()],
])('%s revokes no key', async (_, reading) => {
  const { folder, text } = await serveTeam();
  folder.read(reading);
  const other = apiKey.replaceAll('search-', 'other-').replace('workspace: other-', 'workspace: search-');
  folder.read(readingOf(workspace, apiKey, credit, other));
  await untilLogged(/ApiKey other-prod Created/);
  expect(keyText()).toBe(text);
  expect(await stateOf(text)).toBe('active');
});

test('a Workspace that leaves the folder waits for its keys, and comes back with its balance', async () => {
  const { folder, text } = await serveTeam();
  const { id } = await ledger.accounts.findWorkspace('search-team');
  folder.read(readingOf(apiKey));
  await untilLogged(/Workspace search-team DeletionRefused/);
  await untilLogged(/Credit order-8 StaysBooked/);
  expect(await stateOf(text)).toBe('active');
  folder.read(readingOf(workspace, apiKey));
  await expect.poll(() => stateOf(keyText())).toBe('active');
  expect(await ledger.accounts.findWorkspace('search-team')).toMatchObject({ id, balance: 25n * usd });
});

test('a Secret of the folder is taken, and Weir writes no file', async () => {
  const text = newKey();
  const secret = {
    where: 'secret.yaml',
    value: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'search-key' }, stringData: { key: text } },
  };
  const { objects, problems } = readingOf(workspace, apiKey);
  serve({ objects: [...objects, secret], problems });
  await expect.poll(() => stateOf(text)).toBe('active');
  expect(existsSync(keyFile())).toBe(false);
  expect(readFileSync(join(ledger.data, 'accounts.json'), 'utf8')).not.toContain(text);
});

test('a rotation gives the file another key, and the one before works for the overlap', async () => {
  const rotating = apiKey.replace('spec: {', 'spec: {rotation: {everyDays: 90, overlapHours: 24}, ');
  serve(readingOf(workspace, rotating));
  await untilLogged(/ApiKey search-prod Created/);
  const before = keyText();
  clock.jump(91 * dayMs);
  clock.advance(60_000);
  await untilLogged(/ApiKey search-prod Rotated/);
  expect(keyText()).not.toBe(before);
  expect(await stateOf(before)).toBe('active');
  expect(await stateOf(keyText())).toBe('active');
  clock.jump(dayMs);
  clock.advance(60_000);
  await expect.poll(() => stateOf(before)).toBe('revoked');
});

test('a clock that is set forward while a key is looked at, at whatever moment, rotates it once at most', async () => {
  const rotating = apiKey.replace('spec: {', 'spec: {rotation: {everyDays: 90, overlapHours: 24}, ');
  for (let moment = 2; moment <= 6; moment += 1) {
    const name = `key-${moment}`;
    const reading = readingOf(workspace, rotating.replaceAll('search-prod', name));
    const first = serve(reading);
    // The key before may still have the file. Then this one is tried again.
    await expect.poll(() => (clock.advance(250), log.join('\n'))).toMatch(new RegExp(`ApiKey ${name} Created`));
    await first.close();
    // Each start looks at all objects once.
    let asked = 0;
    await serve(reading, () => clock.now() + ((asked += 1) >= moment ? 91 * dayMs : 0)).close();
    await serve(reading, () => clock.now() + 91 * dayMs).close();
    expect([moment, log.filter((line) => line.startsWith(`ApiKey ${name} Rotated`))]).toEqual([
      moment,
      [expect.any(String)],
    ]);
  }
});

test('of two services with one data folder one acts, and the other follows it', async () => {
  const { folder, text } = await serveTeam();
  const second = serve(readingOf(workspace, apiKey, credit));
  log.length = 0;
  second.read(readingOf(workspace, credit));
  clock.advance(2_000);
  expect(await stateOf(text)).toBe('active');
  await folder.close();
  clock.advance(2_000);
  await expect.poll(() => stateOf(text)).toBe('revoked');
});

test('a folder without accounts leaves nothing in the data folder', async () => {
  const folder = serve(readingOf('kind: Model\nmetadata: {name: m}\nspec: {}'));
  clock.advance(120_000);
  await folder.close();
  expect(existsSync(join(ledger.data, 'accounts.json'))).toBe(false);
  expect(existsSync(join(ledger.data, 'accounts.lock'))).toBe(false);
});
