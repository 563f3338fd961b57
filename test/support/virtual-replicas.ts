import { expect } from 'vitest';
import type { LimitsAsk, Slot } from '../../src/core/limits.ts';
import { createValkeyLimits } from '../../src/gateway/rate-limits/valkey.ts';
import { createProgram } from '../simulation/program.ts';
import { createScheduler } from '../simulation/scheduler.ts';
import { createValkey } from '../simulation/valkey.ts';

/** Replicas that share their limits, by a model of Valkey in virtual time. */
export async function replicasOf(count: number) {
  const scheduler = createScheduler();
  const valkey = createValkey(scheduler);
  let names = 0;
  const programs = Array.from({ length: count }, (_, number) => createProgram(`replica-${number}`, scheduler, 0));
  const limits = programs.map((program) =>
    createValkeyLimits({
      address: { kind: 'server', url: 'redis://valkey' },
      connect: () => valkey.connect(program),
      clock: program.time,
      nextTurn: program.time.nextTurn,
      newId: () => `name${(names += 1)}`,
      expectedReplicas: count,
      onUp: () => undefined,
      onDown: () => undefined,
    }),
  );
  const run = (ms: number) => scheduler.runUntil(scheduler.now() + ms, () => undefined);
  /** Lets time go on until there is an answer. */
  async function answered<Value>(answer: Value | Promise<Value>): Promise<Value> {
    let isOver = false;
    void Promise.resolve(answer).finally(() => (isOver = true));
    while (!isOver) await run(1);
    return answer;
  }
  async function admitted(replica: number, ask: LimitsAsk): Promise<Slot> {
    const result = await answered(limits[replica]!.admit(ask));
    if (result.kind === 'refused') throw new Error(`refused for its ${result.by}`);
    return result.slot;
  }
  await run(3_000);
  expect(limits.map(({ link }) => [link.isUp(), link.replicas()])).toEqual(limits.map(() => [true, count]));
  /** The counts of Valkey, without those that are zero. */
  const counted = () =>
    Object.fromEntries(
      [...valkey.underWay()]
        .filter(([, { places, reserved }]) => places > 0 || reserved > 0)
        .map(([hash, sums]) => [hash, sums]),
    );
  return { limits, scheduler, valkey, programs, run, answered, admitted, counted };
}
