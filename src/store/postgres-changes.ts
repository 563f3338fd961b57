import type { Client } from 'pg';
import type { OpenDatabase } from './open-database.ts';
import type { PostgresConnections } from './postgres-connections.ts';

/** What an operator's command says when it has changed accounts. */
export const changesChannel = 'weir_accounts';

/** Least time between two reports: a script that makes a thousand keys is a few changes. */
const everyMs = 50;
const retryMs = 1_000;

/**
 * Listens for changes to accounts. While it cannot (the connection is lost, a pooler in between passes nothing on), nothing
 * is told: who relies on it reads again within the second anyway.
 */
export function listenForChanges(
  connections: Pick<PostgresConnections, 'client'>,
  changed: () => void,
): ReturnType<OpenDatabase['watch']> {
  let stopped = false;
  let current: Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  let report: NodeJS.Timeout | undefined;

  async function listen(): Promise<void> {
    const client = connections.client();
    current = client;
    client.on('notification', () => {
      report ??= setTimeout(() => {
        report = undefined;
        changed();
      }, everyMs);
    });
    client.once('end', again);
    try {
      await client.connect();
      await client.query(`listen ${changesChannel}`);
      // What was said before is not repeated.
      changed();
    } catch {
      await client.end().catch(() => undefined);
      again();
    }
  }

  function again(): void {
    if (!stopped) retry ??= setTimeout(() => ((retry = undefined), void listen()), retryMs);
  }

  void listen();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(retry);
      clearTimeout(report);
      await current?.end().catch(() => undefined);
    },
  };
}
