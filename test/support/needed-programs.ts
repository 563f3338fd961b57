import { messageOf } from '../../src/core/failure.ts';
import { findPython } from '../clients/install.ts';
import { findBrowser } from './chromium.ts';
import { findLlama } from './llama.ts';
import { findPostgres } from './postgres.ts';
import { findValkey } from './find-valkey.ts';
import { findVllm } from './vllm.ts';

/** What npm does not bring, and the function that finds or installs it, or throws one line that says how to get it. */
const finders = {
  Chromium: findBrowser,
  PostgreSQL: findPostgres,
  Valkey: findValkey,
  Python: findPython,
  'llama-server': findLlama,
  vLLM: findVllm,
} as const;

/**
 * For the beginning of a program that people start: ends the process with one line if a program that it needs is missing,
 * before minutes of work that would be lost.
 */
export async function needPrograms(...names: readonly (keyof typeof finders)[]): Promise<void> {
  for (const name of names) {
    try {
      await finders[name]();
    } catch (error) {
      console.error(`${name} is missing: ${messageOf(error)}`);
      process.exit(1);
    }
  }
}
