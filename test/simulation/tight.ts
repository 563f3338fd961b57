import { sql } from 'kysely';
import type { OpenDatabase } from '../../src/books/databases/database.ts';
import type { Call } from './caller.ts';
import { createInvariants } from './invariants.ts';
import { tighterLimits } from './limits-model.ts';
import { makePlan } from './make-plan.ts';
import { runWorld, type WorldWatch } from './run-world.ts';
import { canary } from './searches.ts';
import type { World } from './world-view.ts';

/** A check, and a promise that is one unit tighter than the one that was made: it must fail. */
export interface TightCheck {
  readonly name: string;
  /** By how much the promise is tighter. */
  readonly unit: string;
  /** What the check then says: its invariant, a colon and a text. */
  readonly says: RegExp;
  readonly view?: (world: World) => Partial<World>;
  /** Changes the database at rest, behind the back of everyone. */
  readonly spoil?: (database: OpenDatabase) => Promise<unknown>;
}

/** The same world, in which each call is another one. */
function withCalls(world: World, change: (call: Call) => Partial<Call>): Partial<World> {
  const changed: Call[] = [];
  return {
    get calls() {
      for (const call of world.calls.slice(changed.length)) changed.push({ ...call, ...change(call) });
      return changed;
    },
  };
}

const withBody = (world: World, change: (body: string) => string): Partial<World> =>
  withCalls(world, (call) => ({ body: () => change(call.body()) }));
const withEvents = (world: World, change: (event: Call['event']) => Partial<Call['event']>): Partial<World> =>
  withCalls(world, ({ event }) => ({ event: { ...event, ...change(event) } }));
const withServices = (
  world: World,
  change: (service: NonNullable<World['services'][number]>) => Partial<NonNullable<World['services'][number]>>,
): Partial<World> => ({
  get services() {
    return world.services.map((service) => service && { ...service, ...change(service) });
  },
});
const withFactor = (world: World, more: number): Partial<World> => ({
  get catalogs() {
    return world.catalogs.map((catalog) => ({ ...catalog, factor: catalog.factor + more }));
  },
});
const withBudgets = (world: World, times: (limit: bigint) => bigint): Partial<World> => ({
  promised: {
    ...world.promised,
    keyPlans: world.promised.keyPlans.map((plan) =>
      plan.budget === undefined ? plan : { ...plan, budget: { ...plan.budget, limit: times(plan.budget.limit) } },
    ),
    workspaces: world.promised.workspaces.map((workspace) => ({ ...workspace, credit: times(workspace.credit) })),
  },
});

const twoSecondsLater = <Change extends { readonly fromMs: number; readonly doneMs: number }>(
  changes: readonly Change[],
): readonly Change[] =>
  changes.map((change) => ({ ...change, fromMs: change.fromMs + 2_000, doneMs: change.doneMs + 2_000 }));

/** The same world, in which the tokens of callers end at another time. */
const withTokenEnds = (world: World, byMs: number): Partial<World> =>
  withEvents(world, ({ token }) => ({
    token: token?.endsAt === undefined ? token : { ...token, endsAt: token.endsAt + byMs },
  }));

const onEngines = (event: Call['event'], dropped: number): Partial<Call['event']> =>
  event.directive === undefined
    ? {}
    : { directive: { ...event.directive, on: event.directive.on?.slice(dropped) ?? [] } };

const tightChecks: readonly TightCheck[] = [
  {
    name: 'form of an answer',
    unit: 'without its last byte',
    says: /^format/,
    view: (world) => withBody(world, (body) => body.slice(0, -3)),
  },
  {
    name: 'text of a choice',
    unit: 'one word more',
    says: /^answer/,
    view: (world) => withEvents(world, ({ words }) => ({ words: words + 1 })),
  },
  {
    ...{ name: 'told counts', unit: 'one token more', says: /^usage: told/ },
    view: (world) =>
      withBody(world, (body) =>
        body.replaceAll(
          /"(completion|output)_tokens":(\d+)/g,
          (_, name: string, count: string) => `"${name}_tokens":${Number(count) + 1}`,
        ),
      ),
  },
  {
    ...{ name: 'billed cost', unit: '10⁻¹² USD more', says: /^money: a row of/ },
    view: ({ outcomes }) => ({
      outcomes: changedMap(outcomes ?? new Map(), (outcome) => ({ ...outcome, cost: outcome.cost + 1n })),
    }),
  },
  {
    name: 'price in force',
    unit: 'that of the next factor',
    says: /^bill: \d+ for/,
    view: (world) => withFactor(world, 1),
  },
  {
    name: 'billed output',
    unit: 'one word more',
    says: /^bill: \d+ output tokens/,
    view: (world) => withEvents(world, ({ words }) => ({ words: words + 1 })),
  },
  {
    ...{ name: 'window in force', unit: 'none at all', says: /^window/ },
    view: (world) => ({
      get catalogs() {
        return world.catalogs.map((catalog) => ({ ...catalog, window: 1 }));
      },
    }),
  },
  {
    ...{ name: 'searches', unit: 'one fewer is allowed', says: /^search/ },
    view: (world) =>
      withEvents(world, ({ search }) => ({ search: search && { ...search, maxUses: (search.maxUses ?? 1) - 1 } })),
  },
  {
    ...{ name: 'places of attempts', unit: 'each attempt once more', says: /^attempts/ },
    view: (world) => ({
      attempts: changedMap(world.attempts, (attempts) => attempts.flatMap((attempt) => [attempt, attempt])),
    }),
  },
  {
    name: 'availability',
    unit: 'no engine is excused',
    says: /^availability/,
    view: (world) => withEvents(world, (event) => onEngines(event, 3)),
  },
  {
    ...{ name: 'stopped key', unit: 'two seconds earlier', says: /^stopped key: is served$/ },
    view: ({ stoppedAt }) => ({ stoppedAt: changedMap(stoppedAt, (at) => at - 2_000) }),
  },
  {
    ...{ name: 'good key', unit: 'stopped two seconds later', says: /^refusal: status 40[13]/ },
    view: (world) => ({
      get changes() {
        return twoSecondsLater(world.changes);
      },
    }),
  },
  {
    ...{
      name: 'key without the database, no longer',
      unit: 'two minutes fewer',
      says: /^stopped key: is served although/,
    },
    view: ({ promised }) => ({ promised: { ...promised, graceMs: promised.graceMs - 120_000 } }),
  },
  {
    // A replica counts from its last answer of the database, and notices an outage up to two minutes late.
    ...{ name: 'key without the database, so long', unit: 'three minutes more', says: /^known key/ },
    view: ({ promised }) => ({ promised: { ...promised, graceMs: promised.graceMs + 180_000 } }),
  },
  {
    name: 'token that has ended',
    unit: 'two minutes earlier, for a leeway of one',
    says: /^token: is served/,
    view: (world) => withTokenEnds(world, -120_000),
  },
  {
    name: 'token that is good',
    unit: 'two minutes later',
    says: /^refusal: status 401/,
    view: (world) => withTokenEnds(world, 120_000),
  },
  {
    ...{ name: 'payer of an identity', unit: 'changed two seconds later', says: /^payer: workspace \d+ pays/ },
    view: (world) => ({
      get payerChanges() {
        return twoSecondsLater(world.payerChanges);
      },
    }),
  },
  {
    name: 'tags of an identity',
    unit: 'a row without tags',
    says: /^payer: the tags/,
    spoil: ({ queries }) => queries.updateTable('requests').set({ tags: '' }).execute(),
  },
  ...Object.keys(tighterLimits).map((tightened) => ({
    ...{ name: `model of limits: ${tightened}`, unit: 'one', says: /^limits: key/ },
    view: () => ({ tightened }),
  })),
  {
    name: 'places of an endpoint',
    unit: 'one fewer',
    says: /^limits: .*attempts at once/,
    view: () => ({ tightened: 'an attempt fewer' }),
  },
  {
    ...{ name: 'rate, from outside', unit: 'three tokens fewer, for a tolerance of two', says: /^rate/ },
    view: ({ promised }) => ({
      promised: {
        ...promised,
        keyPlans: promised.keyPlans.map((plan) => ({ ...plan, burst: Math.min(plan.burst, 8) - 3 })),
      },
    }),
  },
  {
    ...{ name: 'requests in flight, from outside', unit: 'one fewer', says: /^calls/ },
    view: ({ promised }) => ({
      promised: {
        ...promised,
        workspaces: promised.workspaces.map((workspace) => ({ ...workspace, maxInFlight: workspace.maxInFlight - 1 })),
      },
    }),
  },
  {
    ...{ name: 'a refusal by a limit, from outside', unit: 'nine places more', says: /^refusal: status 429/ },
    view: ({ promised }) => ({
      promised: {
        ...promised,
        workspaces: promised.workspaces.map((workspace) => ({ ...workspace, maxInFlight: workspace.maxInFlight + 9 })),
      },
    }),
  },
  {
    name: 'spent funds',
    unit: 'half of them',
    says: /^budget/,
    view: (world) => withBudgets(world, (limit) => limit / 2n),
  },
  {
    name: 'funds that are left',
    unit: 'twice of them',
    says: /^refusal: 402/,
    view: (world) => withBudgets(world, (limit) => 2n * limit),
  },
  {
    ...{ name: 'correction', unit: '10⁻¹² USD more is reserved', says: /^correction/ },
    view: (world) => ({
      get corrections() {
        return world.corrections.map((correction) => ({ ...correction, reserved: correction.reserved + 1n }));
      },
    }),
  },
  {
    ...{ name: 'funds that admission knows', unit: '10⁻¹² USD more', says: /^funds/ },
    view: (world) =>
      withServices(world, (service) => ({
        store: () => {
          const store = service.store();
          if (store === undefined) return undefined;
          return {
            ...store,
            findCredential: (hash) => {
              const known = store.findCredential(hash);
              if (known === undefined || known instanceof Promise) return known;
              return { ...known, workspace: { ...known.workspace, balance: known.workspace.balance + 1n } };
            },
          };
        },
      })),
  },
  {
    name: 'audit trail',
    unit: 'one change more',
    says: /^audit/,
    view: ({ mutations }) => ({ mutations: () => mutations() + 1 }),
  },
  {
    ...{ name: 'no content is stored', unit: 'one piece of a prompt', says: /^privacy/ },
    view: ({ disk }) => ({
      disk: { ...disk, contents: () => [...disk.contents(), ['/x', Buffer.from(canary)] as const] },
    }),
  },
  {
    ...{ name: 'a cost that was told has a row', unit: 'of another id', says: /^money: told a cost/ },
    view: (world) => withBody(world, (body) => body.replaceAll(/("id":"(?:chatcmpl-|msg_|resp_)?)[\w-]{4}/g, '$1none')),
  },
  {
    ...{ name: 'nothing is left behind', unit: 'one of each', says: /^rest: service/ },
    view: (world) =>
      withServices(world, ({ leftovers }) => ({
        leftovers: () => Object.fromEntries(Object.entries(leftovers()).map(([name, count]) => [name, count + 1])),
      })),
  },
  {
    ...{ name: 'each request ends', unit: 'the first one does not', says: /^rest: the request has no end/ },
    view: (world) => withCalls(world, ({ event, end }) => (event.id === 1 ? { end: () => 'open' } : { end })),
  },
  { name: 'surfaces', unit: 'off', says: /^surface/, view: ({ plan }) => ({ plan: { ...plan, responses: false } }) },
  {
    ...{ name: 'balances and rows agree', unit: '10⁻¹² USD', says: /^money: ws/ },
    spoil: ({ queries }) =>
      queries
        .updateTable('workspaces')
        .set((row) => ({ balance: sql`${row.ref('balance')} + 1` }))
        .execute(),
  },
];

/** A map whose values are others when they are read. */
function changedMap<Key, Value>(
  map: ReadonlyMap<Key, Value>,
  change: (value: Value) => Value,
): ReadonlyMap<Key, Value> {
  return {
    get size() {
      return map.size;
    },
    get: (key: Key) => {
      const value = map.get(key);
      return value === undefined ? undefined : change(value);
    },
    [Symbol.iterator]: () => [...map].map(([key, value]) => [key, change(value)] as const)[Symbol.iterator](),
  } as ReadonlyMap<Key, Value>;
}

/** The world, as a check sees it whose promise is tighter. */
function tightened(world: World, { view }: TightCheck): World {
  const { scheduler } = world;
  // What such a check finds is no part of the log.
  const silent = { ...scheduler, log: { ...scheduler.log, write: () => undefined } };
  const seen = Object.create(world, Object.getOwnPropertyDescriptors(view?.(world) ?? {})) as World;
  return Object.create(seen, { scheduler: { value: silent } }) as World;
}

/** Holds each of these checks against a world. `failed` is told of each that fails, once. */
function watchTightly(
  world: World,
  checks: readonly TightCheck[],
  failed: (check: TightCheck, text: string) => void,
): WorldWatch {
  const views = checks.map((check) => ({
    check,
    invariants: createInvariants(tightened(world, check), { maxViolations: 5_000 }),
    seen: 0,
    hasFailed: false,
  }));
  const open = () => views.filter(({ hasFailed }) => !hasFailed);
  function look(): void {
    for (const each of open()) {
      const violations = each.invariants.violations();
      for (; each.seen < violations.length && !each.hasFailed; each.seen += 1) {
        const { invariant, text } = violations[each.seen]!;
        if (!each.check.says.test(`${invariant}: ${text}`)) continue;
        each.hasFailed = true;
        failed(each.check, `${invariant}: ${text}`);
      }
    }
  }
  return {
    check: () => {
      for (const { invariants } of open()) invariants.check();
      look();
    },
    checkBooks: async (how) => {
      for (const { invariants, check } of open()) if (check.spoil === undefined) await invariants.checkBooks(how);
      look();
    },
    checkRest: async () => {
      for (const { invariants, check } of open()) if (check.spoil === undefined) await invariants.checkRest();
      const database = world.database();
      for (const { invariants, check } of database === undefined ? [] : open()) {
        if (check.spoil === undefined || database === undefined) continue;
        await check.spoil(database);
        await invariants.checkBooks('all');
      }
      look();
    },
  };
}

/**
 * Runs worlds from a seed on, at most so many, until each check has failed by a promise that is one unit tighter. Writes a table of
 * the checks, and returns those that have not failed.
 */
export async function tighten(
  { seed, worlds, requests }: { readonly seed: number; readonly worlds: number; readonly requests: number },
  say: (line: string) => void,
): Promise<readonly TightCheck[]> {
  let left = tightChecks;
  const failures = new Map<TightCheck, string>();
  for (let number = seed; number < seed + worlds && left.length > 0; number += 1) {
    const { violations } = await runWorld(makePlan(number, requests), undefined, (world) =>
      watchTightly(world, left, (check, text) => void failures.set(check, `${number} | ${text.slice(0, 90)}`)),
    );
    for (const { invariant, text } of violations) say(`seed ${number}: ${invariant}: ${text}`);
    left = tightChecks.filter((check) => !failures.has(check));
  }
  say('| check | tighter by | fails in seed | and says |');
  say('|---|---|---|---|');
  for (const check of tightChecks)
    say(`| ${check.name} | ${check.unit} | ${failures.get(check) ?? `none of ${worlds} | `} |`);
  return left;
}
