/**
 * Checks texts against schemas in a thread of its own, one after another: a pattern or a schema that takes forever is
 * ended with the thread.
 */
import { parentPort } from 'node:worker_threads';
import type { StructureResult } from '../core/structure.ts';
import type { ThreadMessage } from '../core/worker-thread.ts';
import type { CheckTask } from './check-task.ts';
import { compileSchema } from './compile-schema.ts';
import { judgeText } from './judge-text.ts';
import { createValidatorCache } from './validator-cache.ts';

// Compiled, a schema takes some fifty times its text: 100 MB at worst, of the thread's 256.
const cache = createValidatorCache({ compile: compileSchema, maxCount: 512, maxCharacters: 2_000_000 });

function judge({ text, schema, top }: CheckTask): StructureResult {
  if (schema === undefined) return judgeText(text, { top });
  const validate = cache.get(schema);
  if (validate === undefined) return { kind: 'unknown', reason: 'schema' };
  try {
    return judgeText(text, { top, validate });
  } catch {
    // Nested deeper than the stack: it could be told with more of it.
    return { kind: 'unknown', reason: 'time' };
  }
}

parentPort?.on('message', ({ id, ask }: ThreadMessage<CheckTask>) => {
  parentPort?.postMessage({ id, reply: judge(ask) });
});
// The time of a check counts from here.
parentPort?.postMessage('ready');
