// Global set-up of the suite `stores`: one PostgreSQL server, in which every test makes schemas of its own.
import type { TestProject } from 'vitest/node';
import { startPostgres } from './postgres.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of a server for the tests of the store; absent in the unit suite, which runs the same tests on SQLite. */
    postgres?: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide('postgres', server.url);
  return server.close;
}
