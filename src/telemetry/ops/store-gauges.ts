import { Gauge, type Registry } from 'prom-client';

/** How the store fares, as far as gauges tell (`StoreStatus` of the store). */
export interface StoreFigures {
  readonly database: 'here' | 'behind' | 'away';
  readonly journalBytes: number;
  readonly hasRoom: boolean;
  /** Rows settled but not yet durable. */
  readonly waitingRows: number;
  /** Whether damage was found in the database file; undefined where a server keeps the data. */
  readonly isDamaged: boolean | undefined;
}

const states = ['here', 'behind', 'away'] as const;

/** Adds the gauges by which an operator sees that bills wait outside the database, and how many still may. */
export function addStoreGauges(registry: Registry, figures: () => StoreFigures): void {
  const registers = [registry];
  new Gauge({
    name: 'weir_store_database',
    help: '1 for how the database stands: here; away (rows go to the journal); behind (it is back, the journal comes first).',
    registers,
    labelNames: ['state'] as const,
    collect() {
      const { database } = figures();
      for (const state of states) this.set({ state }, state === database ? 1 : 0);
    },
  });
  new Gauge({
    ...{ name: 'weir_store_journal_bytes', help: 'Size of the rows that wait in the journal.', registers },
    collect() {
      this.set(figures().journalBytes);
    },
  });
  new Gauge({
    name: 'weir_store_journal_has_room',
    help: '0: the journal is nearly full, and new requests get 503.',
    registers,
    collect() {
      this.set(figures().hasRoom ? 1 : 0);
    },
  });
  new Gauge({
    ...{ name: 'weir_store_waiting_rows', help: 'Rows on their way to the disk.', registers },
    collect() {
      this.set(figures().waitingRows);
    },
  });
  if (figures().isDamaged === undefined) return;
  new Gauge({
    name: 'weir_store_damaged',
    help: '1: a check of the database file at the start found damage; restore a backup.',
    registers,
    collect() {
      this.set(figures().isDamaged === true ? 1 : 0);
    },
  });
}
