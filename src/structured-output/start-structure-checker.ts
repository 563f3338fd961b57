import type { StructureAsk, StructureChecker, StructureResult } from '../core/structure.ts';
import type { StartThread } from '../core/worker-thread.ts';
import type { CheckTask } from './check-task.ts';
import { startCheckThread } from './check-thread.ts';
import { judgeText } from './judge-text.ts';
import { type SchemaWeight, weighSchema } from './weigh-schema.ts';

export interface StructureCheckerOptions {
  readonly startThread: StartThread;
  /** Most time one check may take. Default 1000. */
  readonly allowanceMs?: number;
  /** Most time a check may wait for its turn. Default 3000. */
  readonly patienceMs?: number;
}

/** Parsing this much takes a third of a millisecond. */
const inlineCharacters = 64 * 1024;
/**
 * No model writes more. Parsed, a text can take a hundred times its size, and parsing cannot be broken off: eight times this
 * was seen to leave a thread collecting garbage for half a minute.
 */
const maxCharacters = 2 * 1024 * 1024;
/** A schema of so many steps compiles in some ten milliseconds, built to do harm in a hundred. */
const plainSchemaSteps = 4_000;
/** Steps that take a third of the allowance at worst, usually a hundredth. */
const plainSteps = 10_000_000;
/** How long a schema that has taken the thread with it is not tried again, and how many are remembered. */
const barredMs = 60_000;
const maxBarred = 64;

/** Schemas that took too long, by their text, for a while. */
function createBar(): { readonly add: (schema: string) => void; readonly has: (schema: string) => boolean } {
  const until = new Map<string, number>();
  return {
    add: (schema) => {
      until.delete(schema);
      until.set(schema, performance.now() + barredMs);
      for (const oldest of until.keys()) if (until.size > maxBarred) until.delete(oldest);
    },
    has: (schema) => (until.get(schema) ?? 0) > performance.now(),
  };
}

/**
 * Checks answers against schemas, both written by strangers. What has no schema is judged on the spot; everything else in
 * threads, of which there are two: one for schemas whose time is provably bounded by their size and the answer's, one for
 * all others, so that a hostile one holds up none but its like. They start when first needed.
 */
export function startStructureChecker(options: StructureCheckerOptions): StructureChecker {
  const { startThread, allowanceMs = 1_000, patienceMs = 3_000 } = options;
  const barred = createBar();
  const thread = {
    script: new URL('./check-worker.ts', import.meta.url),
    startThread,
    allowanceMs,
    patienceMs,
    stuck: ({ schema }: CheckTask) => {
      if (schema !== undefined) barred.add(schema);
    },
  };
  const plain = startCheckThread(thread);
  const wary = startCheckThread(thread);
  /** One request's schema is asked about for each of its choices, calls and attempts. */
  const weights = new WeakMap<object, SchemaWeight>();

  function weigh(schema: NonNullable<StructureAsk['schema']>): SchemaWeight {
    const weight = weights.get(schema) ?? weighSchema(schema);
    weights.set(schema, weight);
    return weight;
  }

  async function check({ text, schema, top = 'object' }: StructureAsk): Promise<StructureResult> {
    if (text.length > maxCharacters) return { kind: 'unknown', reason: 'time' };
    const weight = schema === undefined ? undefined : weigh(schema);
    if (weight === undefined || (weight.kind === 'any-object' && top === 'object')) {
      return text.length <= inlineCharacters ? judgeText(text, { top }) : plain.check({ text, top });
    }
    switch (weight.kind) {
      case 'too-large':
        return { kind: 'unknown', reason: 'schema' };
      case 'any-object':
        return plain.check({ text, top, schema: JSON.stringify(schema) });
      case 'schema': {
        const { text: schemaText, steps } = weight;
        if (barred.has(schemaText)) return { kind: 'unknown', reason: 'time' };
        const isPlain = steps !== undefined && steps <= plainSchemaSteps && steps * text.length <= plainSteps;
        return (isPlain ? plain : wary).check({ text, top, schema: schemaText });
      }
    }
  }

  return {
    check,
    close: async () => {
      await Promise.all([plain.close(), wary.close()]);
    },
  };
}
