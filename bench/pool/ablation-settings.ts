import type { Ablation } from './ablations.ts';
import { parallelLoad, parallelPool } from './parallel-table.ts';
import { halfPast, pastRates } from './past.ts';
import { poolOf } from './pool-policies.ts';
import type { Load } from './request.ts';
import { routePolicy } from './route-policies.ts';
import type { CreatePolicy, Pool, PoolChange } from './run.ts';
import { type Scenario, scenarios } from './scenarios.ts';
import type { AblatedPool } from './without.ts';

/** A load and a pool in which the product is compared with itself without a mechanism. */
export interface Setting {
  readonly name: string;
  /** Only these mechanisms can act here. */
  readonly at: Ablation['at'];
  readonly pool: Pool;
  readonly load: (seed: number) => Load;
  readonly policy: (ablated: AblatedPool) => CreatePolicy;
}

/** Of the rate near saturation. Below it, the 95th percentile of a first token depends less on the length of the run. */
const shareOfNear = 0.85;
/** The rate of chats while one of four endpoints is slow or fails. */
const chatsPerSecond = 5;

/** Of the scenarios with one replica and streams, those that differ most from each other. */
const alone = [
  ...['chat', 'documents', 'nothing shared', 'long answers', 'regime change'],
  ...['one slow of four', 'one added', 'few slots', 'agents'],
];
const whole = ['chat', 'documents', 'nothing shared', 'one slow of four', 'few slots'];
const shared = ['chat', 'nothing shared', 'regime change', 'burst'];
const routes = ['chat', 'documents', 'regime change'];

const scenarioNamed = (name: string): Scenario => {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`there is no scenario "${name}"`);
  return found;
};

function settingOf(name: string, fields: Partial<Setting>): Setting {
  const scenario = scenarioNamed(name);
  return {
    name,
    at: 'one',
    pool: scenario.pool,
    load: (seed) => scenario.load(scenario.near * shareOfNear, seed),
    policy: ({ createPools: create }) => poolOf('alone', { create }),
    ...fields,
  };
}

/** From the middle of the run on, and well again before its end. */
const forAWhile = (kind: PoolChange['kind']): readonly PoolChange[] => [
  { kind, index: 0, atMs: 35_000 },
  { kind: 'recovered', index: 0, atMs: 50_000 },
];

export function ablationSettings(): readonly Setting[] {
  const chat = scenarioNamed('chat');
  return [
    ...alone.map((name) => settingOf(name, {})),
    settingOf('chat', { name: 'at once', pool: parallelPool(Infinity), load: parallelLoad }),
    ...(['slowed', 'failing'] as const).map((kind) =>
      settingOf('chat', {
        name: `chat, one ${kind} for a while`,
        pool: { ...chat.pool, changes: forAWhile(kind) },
        load: (seed) => chat.load(chatsPerSecond, seed),
      }),
    ),
    ...whole.map((name) =>
      settingOf(name, {
        name: `${name}, whole answers`,
        at: 'whole',
        policy: ({ createPools: create }) => poolOf('alone', { create, stream: false }),
      }),
    ),
    ...[...pastRates].map(([name, rate]) =>
      settingOf(name, {
        name: `${name}, half past Weir`,
        at: 'past',
        load: (seed) => halfPast({ load: scenarioNamed(name).load(rate, seed), kind: 'in bursts' }),
        policy: ({ createPools: create }) => poolOf('alone', { create, asks: true }),
      }),
    ),
    ...shared.map((name) =>
      settingOf(name, {
        name: `${name}, 3 replicas, one lost`,
        at: 'replicas',
        pool: {
          ...scenarioNamed(name).pool,
          replicas: 3,
          changes: [{ kind: 'replica-lost', index: 1, atMs: 40_000 }],
        },
        policy: ({ createPools: create }) => poolOf('shared', { create }),
      }),
    ),
    ...routes.map((name) =>
      settingOf(name, {
        name: `${name}, two routes`,
        at: 'routes',
        policy: ({ createHealth: create }) => routePolicy(2, 'by-endpoints', create),
      }),
    ),
  ];
}
