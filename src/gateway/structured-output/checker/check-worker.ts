/**
 * Checks texts against schemas in its own thread, one after another. The thread is ended when a pattern or a schema
 * takes too long.
 */
import { parentPort } from 'node:worker_threads';
import type { StructureResult } from '../../core/structure.ts';
import type { ThreadMessage } from '../../../core/worker-thread.ts';
import { compileSchema, createValidatorCache } from './compile-schema.ts';
import type { CheckTask } from './start-structure-checker.ts';
import { validateText } from './validate-text.ts';

// A compiled schema takes about fifty times the memory of its text: at worst 100 MB, of the 256 MB that the thread may
// use.
const cache = createValidatorCache({ compile: compileSchema, maxCount: 512, maxCharacters: 2_000_000 });

function validate({ text, schema, top }: CheckTask): StructureResult {
  if (schema === undefined) return validateText(text, { top });
  const validator = cache.get(schema);
  if (validator === undefined) return { kind: 'unknown', reason: 'schema' };
  try {
    return validateText(text, { top, validate: validator });
  } catch {
    // The value is nested deeper than the stack allows.
    return { kind: 'unknown', reason: 'time' };
  }
}

parentPort?.on('message', ({ id, ask }: ThreadMessage<CheckTask>) => {
  parentPort?.postMessage({ id, reply: validate(ask) });
});
// The time of a check counts from here.
parentPort?.postMessage('ready');
