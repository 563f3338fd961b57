import type { Valkey } from 'iovalkey';
import { expect, it } from 'vitest';
import {
  admitScript,
  reportScript,
  reserveScript,
  takeTokensScript,
} from '../../src/gateway/rate-limits/limit-scripts.ts';
import type { Script } from '../../src/gateway/rate-limits/valkey-script.ts';
import {
  blockedScript,
  failureScript,
  heartbeatScript,
  leaveScript,
} from '../../src/gateway/rate-limits/valkey-scripts.ts';
import { type Chance, pick, seededChance } from '../programmable-engine/chance.ts';
import { createScheduler } from '../simulation/scheduler.ts';
import { createValkey } from '../simulation/valkey.ts';
import { startValkey } from '../support/valkey.ts';
import { forFile } from '../support/for-file.ts';

// The simulation runs the scripts on a model of the server. The model must decide as the server does.

const server = await forFile(startValkey());

interface Step {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

const replicas = ['one', 'two', 'three'] as const;
const networks = ['192.0.2.1', '192.0.2.2'] as const;
const amount = (chance: Chance, most: number): string => String(Math.floor(chance() * most));
/** Of a lease, which ends at an exact moment: a replica may be dead at the next step. */
const leaseMs = (chance: Chance): string => (chance() < 0.9 ? '1000000' : '3');
/** A server lets keys expire by whole milliseconds, so that a short time would be as long as chance has it. */
const longTimes = ['1000000', '2000000'] as const;

type MakeStep = (chance: Chance, tag: string) => Step;

/** The budget of the key, then those of up to two tags. */
const budgetsOf = (chance: Chance, tag: string): readonly string[] =>
  ['key', 'tag1', 'tag2'].slice(0, 1 + Math.floor(chance() * 3)).map((name) => `${tag}${name}`);
/** Up to two limits in tokens, with the tokens a minute of each. */
const tokensOf = (chance: Chance, tag: string): readonly (readonly [bucket: string, perMinute: string])[] =>
  (['key', 'ws', 'tag'] as const)
    .filter(() => chance() < 0.4)
    .map((kind) => [`${tag}tok:${kind}:1`, kind === 'ws' ? '90000' : '600'] as const);
const notEnforcedOf = (chance: Chance): string =>
  `,${['rate', 'concurrency', 'tokens', 'workspace-tokens', 'tag-tokens', 'budget', 'tag-budget'].filter(() => chance() < 0.2).join(',')},`;
const leftOf = (chance: Chance): string => (chance() < 0.5 ? '' : amount(chance, 3_000));

const kinds: readonly [MakeStep, ...MakeStep[]] = [
  (chance, tag) => {
    const [budgets, tokens] = [budgetsOf(chance, tag), tokensOf(chance, tag)];
    return {
      script: admitScript,
      keys: [`${tag}bucket`, `${tag}workspace`, `${tag}replicas`, ...budgets, ...tokens.map(([bucket]) => bucket)],
      args: [
        pick(replicas, chance),
        ...[pick(['2', '50'], chance), pick(['3', '100'], chance), pick(['4', '1000'], chance)],
        ...[leftOf(chance), '', String(tokens.length), notEnforcedOf(chance), ...budgets.map(() => leftOf(chance))],
        ...tokens.map(([, perMinute]) => perMinute),
      ],
    };
  },
  (chance, tag) => {
    const [budgets, cost] = [budgetsOf(chance, tag), Math.floor(chance() * 500)];
    const tokens = tokensOf(chance, tag);
    const reserved = (left: string): readonly string[] => {
      const others = Math.floor(chance() * 500);
      return [left, String(others), String(others + cost)];
    };
    return {
      script: reserveScript,
      keys: [`${tag}replicas`, `${tag}workspace`, ...budgets, ...tokens.map(([bucket]) => bucket)],
      args: [
        ...[pick(replicas, chance), String(tokens.length), amount(chance, 300), notEnforcedOf(chance)],
        ...reserved(amount(chance, 3_000)),
        ...budgets.flatMap(() => reserved(leftOf(chance))),
        ...tokens.map(([, perMinute]) => perMinute),
      ],
    };
  },
  (chance, tag) => {
    const [bucket, perMinute] = pick([`${tag}tok:key:1 600`, `${tag}tok:ws:1 90000`], chance).split(/ (?=\d+$)/);
    const tokens = Math.floor((chance() - 0.7) * 1_000);
    return { script: takeTokensScript, keys: [bucket ?? ''], args: [perMinute ?? '', String(tokens)] };
  },
  (chance, tag) => ({
    script: reportScript,
    keys: [`${tag}${pick(['workspace', 'key', 'tag1'], chance)}`],
    args: [
      ...[pick(replicas, chance), pick(['-1', '0', '1'], chance), chance() < 0.4 ? '0' : amount(chance, 500)],
      ...[chance() < 0.5 ? '' : amount(chance, 3_000), chance() < 0.1 ? '1' : ''],
    ],
  }),
  (chance, tag) => ({
    script: heartbeatScript,
    keys: [`${tag}replicas`],
    args: [pick(replicas, chance), leaseMs(chance), chance() < 0.8 ? '' : pick(replicas, chance)],
  }),
  (chance, tag) => ({ script: leaveScript, keys: [`${tag}replicas`], args: [pick(replicas, chance)] }),
  (chance, tag) => {
    const network = pick(networks, chance);
    return {
      script: failureScript,
      keys: [`${tag}failures ${network}`, `${tag}blocked`],
      args: [network, '3', ...[pick(longTimes, chance), pick(longTimes, chance)], 'channel'],
    };
  },
  (_, tag) => ({ script: blockedScript, keys: [`${tag}blocked`], args: ['100'] }),
];

/** Milliseconds since the scripts' first moment, and the answer of the script at that moment. */
async function onServer(client: Valkey, { script, keys, args }: Step): Promise<readonly [number, unknown]> {
  // The clock stands still for the script. A microsecond more decides a tie otherwise.
  const text = `local server, t = redis, redis.call('TIME')
    local redis = {pcall = server.pcall, call = function(...) if (...) == 'TIME' then return t end return server.call(...) end}
    local answer = (function() ${script.text} end)()
    return {string.format('%.17g', (t[1] - 1700000000) * 1000 + t[2] / 1000), answer}`;
  const [time, answer] = (await client.eval(text, keys.length, ...keys, ...args)) as [string, unknown];
  return [Number(time), answer];
}

/** The server lets blocks end by a clock of whole milliseconds. */
function comparable(script: Script, answer: unknown): unknown {
  if (script === admitScript || script === reserveScript) {
    const [result, would, ...numbers] = answer as [string, string, ...string[]];
    return [result, would, ...numbers.map(Number)];
  }
  if (script === blockedScript) {
    return (answer as readonly string[])
      .map((message) => message.replace(/^\d+/, (ms) => String(Math.round(Number(ms) / 100))))
      .toSorted();
  }
  return answer;
}

it.each([1, 2, 3, 4, 5, 6])('decides in 400 random steps as the server does, from seed %i', async (seed) => {
  const chance = seededChance(seed);
  const tag = `{model ${seed}} `;
  const scheduler = createScheduler();
  const model = createValkey(scheduler);
  await server.ask(async (client) => {
    for (let number = 0; number < 400; number += 1) {
      const step = pick(kinds, chance)(chance, tag);
      const [time, answer] = await onServer(client, step);
      await scheduler.runUntil(time - model.firstMs, () => undefined);
      const { script, ...given } = step;
      expect({ number, given, answer: comparable(script, model.run(script, step.keys, step.args)) }).toEqual({
        ...{ number, given },
        answer: comparable(script, answer),
      });
    }
  });
});
