import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Started } from '../../../support/start.ts';

/** Where one life of a service has its metrics. */
interface Life {
  readonly pid: number;
  /** When the service said so, milliseconds since the Unix epoch. */
  readonly at: number;
  readonly url: string;
}

/**
 * Reads the metrics of each service, in the order of their numbers. A service that is replaced may have another port, for another
 * program may have taken its own meanwhile: the log has it. What is read rejects while a service is away.
 */
export function readsMetrics(
  gateway: Pick<Started, 'data' | 'processes'>,
  services: number,
): () => Promise<readonly string[]> {
  const lives = new Map<number, Life>();

  async function lifeOf(number: number): Promise<Life> {
    const pid = gateway.processes()[`service ${number}`];
    const known = lives.get(number);
    if (pid === undefined) throw new Error(`service ${number} is away`);
    if (known?.pid === pid) return known;
    const log = await readFile(join(gateway.data, 'logs', `service-${number}.log`), 'utf8');
    const line = log.split('\n').findLast((one) => one.includes('"opsPort":')) ?? '{}';
    const { time: at = 0, opsPort = 0 } = JSON.parse(line) as { readonly time?: number; readonly opsPort?: number };
    // The latest word may be of the life before.
    if (at <= (known?.at ?? 0)) throw new Error(`service ${number} does not serve yet`);
    const life = { pid, at, url: `http://127.0.0.1:${opsPort}/metrics` };
    lives.set(number, life);
    return life;
  }

  return () =>
    Promise.all(
      Array.from({ length: services }, async (_, index) => {
        const { url } = await lifeOf(index + 1);
        return (await fetch(url)).text();
      }),
    );
}
