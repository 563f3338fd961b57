import type { StructureAsk, StructureChecker, StructureResult } from '../../core/structure.ts';
import { type StartThread, ThreadEnded } from '../../../core/worker-thread.ts';
import type { CheckTask, createFunctions } from './check-worker.ts';
import { validateText } from './validate-text.ts';
import { type SchemaCost, schemaCost } from './schema-cost.ts';
import { putNewest } from '../../../core/put-newest.ts';

export interface StructureCheckerOptions {
  readonly startThread: StartThread;
  /** Most time one check may take. Default 1000. */
  readonly allowanceMs?: number;
  /** Most time a check may wait for its turn. Default 3000. */
  readonly timeoutMs?: number;
}

/** A text of this length is parsed in a third of a millisecond. */
const inlineCharacters = 64 * 1024;
/**
 * Most characters of a text that is checked. No model writes more. A parsed text can take a hundred times its size, and parsing
 * cannot be interrupted: a text eight times as long has kept a thread collecting garbage for half a minute.
 */
const maxCharacters = 2 * 1024 * 1024;
/** A schema of so many steps compiles in about 10 ms, in 100 ms if it is built to do harm. */
const boundedSchemaSteps = 4_000;
/** Checking so many steps takes a third of the allowance at worst, usually a hundredth. */
const boundedSteps = 10_000_000;
/** How long a schema that ended its thread is not tried again, and how many such schemas are remembered. */
const blockedMs = 60_000;
const maxBlocked = 64;

/**
 * Checks answers against schemas, both written by strangers. A short text without a schema is parsed at once. All else is
 * checked in one of two threads: the first for schemas whose time is provably bounded by their size and the answer's, the
 * second for all others, so that a hostile schema delays only others of its kind. Threads start when first needed.
 */
export function startStructureChecker(options: StructureCheckerOptions): StructureChecker {
  const { startThread, allowanceMs = 1_000, timeoutMs = 3_000 } = options;
  const blocked = createBlockedSchemas();
  const thread = {
    ...{ startThread, allowanceMs, timeoutMs },
    stuck: ({ schema }: CheckTask) => {
      if (schema !== undefined) blocked.add(schema);
    },
  };
  const bounded = startCheckThread(thread);
  const unbounded = startCheckThread(thread);
  /** Costs are remembered, because the schema of one request is checked for each choice, call and attempt. */
  const costs = new WeakMap<object, SchemaCost>();

  function knownCost(schema: NonNullable<StructureAsk['schema']>): SchemaCost {
    return costs.getOrInsertComputed(schema, () => schemaCost(schema));
  }

  async function check({ text, schema, top = 'object' }: StructureAsk): Promise<StructureResult> {
    if (text.length > maxCharacters) return { kind: 'unknown', reason: 'time' };
    const cost = schema === undefined ? undefined : knownCost(schema);
    if (cost === undefined || (cost.kind === 'any-object' && top === 'object')) {
      return text.length <= inlineCharacters ? validateText(text, { top }) : bounded.check({ text, top });
    }
    switch (cost.kind) {
      case 'too-large':
        return { kind: 'unknown', reason: 'schema' };
      case 'any-object':
        return bounded.check({ text, top, schema: JSON.stringify(schema) });
      case 'schema': {
        const { text: schemaText, steps } = cost;
        if (blocked.has(schemaText)) return { kind: 'unknown', reason: 'time' };
        const isBounded = steps !== undefined && steps <= boundedSchemaSteps && steps * text.length <= boundedSteps;
        return (isBounded ? bounded : unbounded).check({ text, top, schema: schemaText });
      }
    }
  }

  return {
    check,
    close: async () => {
      await Promise.all([bounded.close(), unbounded.close()]);
    },
  };
}

/** Schemas that ended their thread a short while ago, by their text. */
function createBlockedSchemas(): { readonly add: (schema: string) => void; readonly has: (schema: string) => boolean } {
  const until = new Map<string, number>();
  return {
    add: (schema) => void putNewest(until, maxBlocked, [schema, performance.now() + blockedMs]),
    has: (schema) => (until.get(schema) ?? 0) > performance.now(),
  };
}

interface CheckThreadOptions extends Required<StructureCheckerOptions> {
  /** Called with a check that took too long, or that ended the thread. */
  readonly stuck: (task: CheckTask) => void;
}

/** Longest time for loading the thread. Loading takes a tenth of a second. If it takes longer than this, it will not succeed. */
const startMs = 10_000;
/** Most checks that wait. More would wait too long or take too much memory, so their result is `unknown` at once. */
const maxWaiting = 8_192;
const maxWaitingCharacters = 64 * 1024 * 1024;
/** Room for one check and the compiled schemas; a check that needs more ends the thread. */
const maxHeapMb = 256;

const late: StructureResult = { kind: 'unknown', reason: 'time' };

/** One thread, replaced when a check takes too long. Checks take turns, first come first served. Never rejects. */
function startCheckThread({ startThread, allowanceMs, timeoutMs, stuck }: CheckThreadOptions) {
  const thread = startThread<typeof createFunctions>({
    module: new URL('./check-worker.ts', import.meta.url),
    data: undefined,
    name: 'weir-structure',
    // Schemas become code in the thread, so the thread gets none of our environment variables.
    env: {},
    ...{ maxHeapMb, startMs, silenceMs: allowanceMs },
  });
  let turn: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let waitingCharacters = 0;
  /** Checks that were asked for until then are late: the thread cannot start, or is closed. */
  let lateUntil = 0;
  let isClosed = false;

  async function run(task: CheckTask, asked: number): Promise<StructureResult> {
    if (asked <= lateUntil || performance.now() - asked > timeoutMs) return late;
    try {
      return await thread.call('check', [task]);
    } catch (error) {
      if (error instanceof ThreadEnded && error.hadStarted) stuck(task);
      // A thread that cannot even start will not start for the next check either.
      else lateUntil = performance.now();
      return late;
    }
  }

  return {
    check: (task: CheckTask): Promise<StructureResult> => {
      const { length } = task.text;
      const isFull = waiting >= maxWaiting || waitingCharacters + length > maxWaitingCharacters;
      if (isClosed || isFull) return Promise.resolve(late);
      const asked = performance.now();
      waiting += 1;
      waitingCharacters += length;
      const checked = turn.then(() => {
        waiting -= 1;
        waitingCharacters -= length;
        return run(task, asked);
      });
      turn = checked;
      return checked;
    },
    close: async (): Promise<void> => {
      isClosed = true;
      lateUntil = performance.now();
      await thread.close();
    },
  };
}
