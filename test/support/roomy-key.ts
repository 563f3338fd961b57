import { join } from 'node:path';
import { runScript } from './run-weir.ts';
import type { Weir } from './weir.ts';

const script = join(import.meta.dirname, 'make-roomy-key.ts');

/** The text of a key that no limit of rate or concurrency stops, in a workspace of its own. */
export async function roomyKey({ data }: Pick<Weir, 'data'>): Promise<string> {
  const { code, stdout, stderr } = await runScript(script, [data]);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}
