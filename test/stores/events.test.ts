// @suite long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Kysely, sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { chanceFrom } from '../support/chance.ts';
import { openFaultyReceiver } from '../support/faulty-receiver.ts';
import { databaseUrl } from '../support/sample-store.ts';
import { newLocation, sampleAuthor, temporaryFolder } from '../support/sample-database.ts';
import type { SampleEvent } from '../support/sample-outbox.ts';
import { eventKinds } from '../../src/core/event-type.ts';
import { systemClock } from '../../src/process/clock.ts';
import { createKey } from '../../src/books/accounts/keys.ts';
import { createWorkspace } from '../../src/books/accounts/workspaces.ts';
import type { DatabaseLocation } from '../../src/books/databases/database.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import type { Schema } from '../../src/books/databases/schema.ts';
import { parseUsd } from '../../src/core/money.ts';
import { keepSubscriptions, replayEvents } from '../../src/books/outbox/subscriptions.ts';

/** `WEIR_TEST_EVENTS=10000000` is the long mode. */
const wanted = Number(process.env['WEIR_TEST_EVENTS'] ?? 20_000);
const kills = wanted >= 1_000_000 ? 60 : 8;
/** A failed message costs the wait of a back-off: in the long mode some 3,000 fail, not one in seven. */
const failing = Math.min(0.15, 150_000 / wanted);
const program = join(import.meta.dirname, '..', 'support', 'settle-and-send-until-killed.ts');
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const credit = 10n ** 15n;
const limitMs = 120_000 + wanted * 3;

/** What a receiver keeps: each event once, by its id. Compact, because there may be ten million of them. */
function createBooks() {
  const lives = new Map<
    string,
    { readonly seen: Set<number>; readonly lost: Set<number>; readonly last: Map<string, number> }
  >();
  const others = new Map<string, string>();
  const facts = { sum: 0n, unique: 0, doubled: 0, outOfOrder: 0, wrong: 0, checksOrder: true };
  function find(id: string) {
    const [life = '', number = ''] = id.split('/');
    const own = lives.get(life) ?? { seen: new Set(), lost: new Set(), last: new Map() };
    lives.set(life, own);
    return { own, row: Number(number) };
  }
  function receiveRequest({ id, subject = '', data }: SampleEvent): void {
    const { own, row } = find(id);
    if (data['id'] !== id || data['workspace'] !== subject) facts.wrong += 1;
    if (own.seen.has(row)) {
      facts.doubled += 1;
      return;
    }
    own.seen.add(row);
    facts.unique += 1;
    facts.sum += parseUsd(String(data['cost'])) ?? 0n;
    // What was accepted before and not kept may come again only because its sender died, after what followed it.
    if (facts.checksOrder && !own.lost.has(row) && row < (own.last.get(subject) ?? -1)) facts.outOfOrder += 1;
    own.last.set(subject, row);
  }
  return {
    ...{ facts, others },
    receive: (events: readonly SampleEvent[]): void => {
      for (const event of events) {
        if (event.type === 'dev.weir.request.settled') receiveRequest(event);
        else others.set(event.id, event.type);
      }
    },
    lose: (events: readonly SampleEvent[]): void => {
      for (const { id, type } of events) {
        if (type !== 'dev.weir.request.settled') continue;
        const { own, row } = find(id);
        own.lost.add(row);
      }
    },
  };
}

/** A database with a subscription to events, and three workspaces that pay from then on. */
async function openBooks(kind: DatabaseLocation['kind']) {
  const location: DatabaseLocation =
    kind === 'sqlite' ? { kind, file: join(temporaryFolder(), 'weir.db') } : await newLocation();
  const database = await openDatabase(location, { missing: 'create', user: 'operator' });
  onTestFinished(() => database.close());
  const { queries } = database;
  await keepSubscriptions(queries, [{ name: 'events', kinds: eventKinds }], systemClock.now());
  const owners: { readonly workspaceId: string; readonly keyId: string }[] = [];
  for (const name of ['one', 'two', 'three']) {
    const { id } = await createWorkspace(queries, { name, credit, maxInFlight: 1 }, sampleAuthor);
    const { key } = await createKey(queries, { workspace: name, rate: 1, burst: 1 }, sampleAuthor);
    owners.push({ workspaceId: id, keyId: key.id });
  }
  return { location, queries, owners };
}

/** Services that settle and send. `settled`: how many requests of all their lives are durable. */
function createServices(
  { location, owners }: { readonly location: DatabaseLocation; readonly owners: readonly object[] },
  url: string,
) {
  const folder = temporaryFolder();
  const counts = new Map<string, number>();
  const begin = (place: number, life: string) => {
    const given = [join(folder, `journal-${place}`), JSON.stringify(owners), life, url, secret];
    const child = spawn(process.execPath, [program, databaseUrl(location), ...given]);
    const exit = once(child, 'exit');
    const done = Promise.withResolvers<void>();
    let complaints = '';
    child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, count] = /^settled (\d+)$/.exec(line) ?? [];
      if (count !== undefined) counts.set(life, Number(count));
      if (line === 'done') done.resolve();
    });
    const kill = async (): Promise<void> => {
      child.kill('SIGKILL');
      await exit;
      expect(complaints).toBe('');
    };
    onTestFinished(kill);
    const endSettling = (): Promise<void> => {
      child.stdin.end();
      return done.promise;
    };
    return { kill, endSettling };
  };
  return { begin, settled: (): number => [...counts.values()].reduce((sum, count) => sum + count, 0) };
}

async function ledgerOf(queries: Kysely<Schema>) {
  const { rows } = await sql<{ count: bigint | number; sum: bigint | string }>`
    select count(*) as count, cast(coalesce(sum(cost), 0) as bigint) as sum from requests`.execute(queries);
  return { count: Number(rows[0]?.count), sum: BigInt(rows[0]?.sum ?? 0) };
}

it.each(['sqlite', 'postgres'] as const)(
  '%s: through deaths on both sides no event is lost, none has two ids, and the sum is the ledger',
  { timeout: limitMs * 2 },
  async (kind) => {
    const { location, queries, owners } = await openBooks(kind);
    const chance = chanceFrom(20_261_130);
    const books = createBooks();
    const receiver = await openFaultyReceiver(chance, { secret, ...books });
    onTestFinished(receiver.die);
    const { begin, settled } = createServices({ location, owners }, receiver.url);
    receiver.share.failing = failing;
    receiver.share.lying = 0.02;
    const services = [begin(0, 'p0-0'), begin(1, 'p1-0')];
    for (let kill = 1; kill <= kills; kill += 1) {
      await expect.poll(settled, { timeout: limitMs, interval: 5 }).toBeGreaterThanOrEqual((wanted * kill) / kills);
      const place = chance.below(2);
      await services[place]?.kill();
      if (kill % 3 === 0) await receiver.die();
      services[place] = begin(place, `p${place}-${kill}`);
      if (kill % 3 === 0) await receiver.rise();
    }
    await Promise.all(services.map(({ endSettling }) => endSettling()));
    const undelivered = async (): Promise<number> =>
      (await queries.selectFrom('outbox').select('seq').limit(1).execute()).length;
    /**
     * Durable requests that the database has not from a journal yet, and then the rows that are not delivered. Counting all requests
     * holds up the receiver, so they are counted once what was noted is delivered.
     */
    const waiting = async (): Promise<readonly number[]> => {
      if ((await undelivered()) > 0) return [];
      return [Math.max(0, settled() - (await ledgerOf(queries)).count), await undelivered()];
    };
    const drained = async (): Promise<void> => {
      await expect.poll(waiting, { timeout: limitMs, interval: 100 }).toEqual([0, 0]);
    };
    await drained();
    expect(books.facts.outOfOrder).toBe(0);
    const { doubled } = books.facts;
    // What the receiver has accepted and not kept comes again by a replay.
    expect(receiver.counts.lied).toBeGreaterThan(0);
    receiver.share.lying = 0;
    books.facts.checksOrder = false;
    const now = systemClock.now();
    await replayEvents(queries, { since: 0, until: now + 1e9, kinds: eventKinds }, now);
    await drained();

    const ledger = await ledgerOf(queries);
    expect(ledger.count).toBeGreaterThanOrEqual(wanted);
    expect([books.facts.unique, books.facts.sum, books.facts.wrong]).toEqual([ledger.count, ledger.sum, 0]);
    expect(receiver.problems).toEqual([]);
    const audits = (await queries.selectFrom('audit').select('id').execute()).map(({ id }) => `audit_${id}`);
    const credits = (await queries.selectFrom('credits').select('id').execute()).map(({ id }) => id);
    expect([...books.others.keys()].toSorted()).toEqual([...audits, ...credits].toSorted());
    const balances = await queries.selectFrom('workspaces').select('balance').execute();
    expect(balances.reduce((sum, { balance }) => sum + credit - balance, 0n)).toBe(books.facts.sum);
    console.log(JSON.stringify({ ...receiver.counts, requests: ledger.count, doubledBeforeReplay: doubled, kills }));
  },
);
