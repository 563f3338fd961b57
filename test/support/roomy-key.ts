import { runWeir } from './run-weir.ts';
import type { Weir } from './weir.ts';

/** The text of a key that no limit of rate or concurrency stops, in a workspace of its own. */
export async function roomyKey({ data }: Pick<Weir, 'data'>): Promise<string> {
  const weir = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runWeir([...args, '--json', '--data', data]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  await weir('workspace', 'create', 'roomy', '--credit', '1000', '--max-in-flight', '100000');
  const made = await weir('key', 'create', '--workspace', 'roomy', '--rate', '100000', '--burst', '100000');
  return (JSON.parse(made) as { readonly key: string }).key;
}
