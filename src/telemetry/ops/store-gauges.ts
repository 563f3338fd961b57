import { Gauge, type Registry } from 'prom-client';
import type { DatabaseState } from '../../core/account.ts';
import { addTotal, gaugesOf, labelledGaugesOf } from './declare.ts';

/** The values of the store's gauges, from its `StoreStatus`. */
export interface StoreFigures {
  readonly database: DatabaseState;
  readonly journalBytes: number;
  /** Most bytes that the journal may hold. */
  readonly journalLimitBytes: number;
  readonly hasRoom: boolean;
  /** Rows settled but not yet durable. */
  readonly waitingRows: number;
  /** Whether damage was found in the database file; undefined where a server keeps the data. */
  readonly isDamaged: boolean | undefined;
  /** Single requests are stored for this many days; 0: without end. */
  readonly retentionDays: number;
  readonly upkeep: {
    /** When upkeep last had nothing left to do, milliseconds since the Unix epoch; undefined: not yet. */
    readonly doneAt: number | undefined;
    readonly failures: number;
  };
}

/** The label of each state. Dashboards and alerts use these words. */
const databaseStates: readonly (readonly [DatabaseState, string])[] = [
  ['up', 'here'],
  ['replaying', 'behind'],
  ['down', 'away'],
];

/**
 * Adds gauges of the bills that are not in the database yet, of the room for more bills, and of the upkeep that deletes
 * old ones.
 */
export function addStoreGauges(registry: Registry, figures: () => StoreFigures): void {
  const gauge = gaugesOf(registry);
  labelledGaugesOf(registry)(
    'weir_ledger_database',
    '1 for the database state. here: it answers. away: it does not, and rows go to the journal. behind: it is back, and Weir replays the journal first.',
    ['state'],
    () => databaseStates.map(([state, label]) => [{ state: label }, Number(state === figures().database)]),
  );
  gauge('weir_journal_bytes', 'Size of the waiting rows in the journal.', () => figures().journalBytes);
  gauge('weir_journal_limit_bytes', 'Maximum size of the journal.', () => figures().journalLimitBytes);
  gauge('weir_journal_has_room', '0: the journal is nearly full, and new requests get 503.', () =>
    Number(figures().hasRoom),
  );
  gauge('weir_ledger_waiting_rows', 'Ledger rows that are not durable yet.', () => figures().waitingRows);
  gauge(
    'weir_ledger_retention_seconds',
    'Retention of single requests; 0: permanent.',
    () => figures().retentionDays * 86_400,
  );
  gauge(
    'weir_ledger_upkeep_done_timestamp_seconds',
    'End of the last complete ledger maintenance, seconds since the Unix epoch; 0: none since the start.',
    () => (figures().upkeep.doneAt ?? 0) / 1000,
  );
  addTotal(registry, {
    name: 'weir_ledger_upkeep_failures_total',
    help: 'Failed runs of ledger maintenance; the log contains the reason.',
    total: () => figures().upkeep.failures,
  });
  if (figures().isDamaged === undefined) return;
  gauge('weir_ledger_damaged', '1: a check of the database file at the start found damage; restore a backup.', () =>
    Number(figures().isDamaged === true),
  );
}

/** Adds the room on the disk of the data folder. `read`: undefined where it cannot be read. */
export function addDiskGauges(
  registry: Registry,
  read: () => Promise<{ readonly free: number; readonly size: number } | undefined>,
): void {
  const registers = [registry];
  // Metrics are rendered in the order of their declarations: the first of these two reads the values of both.
  new Gauge({
    name: 'weir_data_disk_size_bytes',
    help: 'Size of the data folder’s disk.',
    registers,
    async collect() {
      const found = await read();
      if (found === undefined) return;
      this.set(found.size);
      free.set(found.free);
    },
  });
  const free = new Gauge({
    name: 'weir_data_disk_free_bytes',
    help: 'Free space for the service on the data folder’s disk.',
    registers,
  });
}
