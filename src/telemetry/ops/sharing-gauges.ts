import { Counter, Gauge, type Registry } from 'prom-client';

/** How it stands with the limits that all replicas share. */
export interface SharingFigures {
  readonly isShared: boolean;
  readonly replicas: number;
  /** Answers of the server that did not come in time, since the start. */
  readonly late: number;
}

/** Adds the metrics by which an operator sees whether limits hold over all replicas. */
export function addSharingGauges(registry: Registry, figures: () => SharingFigures): void {
  const registers = [registry];
  new Gauge({
    ...{ name: 'weir_limits_shared', help: '1: limits hold over all replicas. 0: each keeps its share.', registers },
    collect() {
      this.set(figures().isShared ? 1 : 0);
    },
  });
  new Gauge({
    ...{ name: 'weir_replicas', help: 'Replicas alive when the shared limits last answered.', registers },
    collect() {
      this.set(figures().replicas);
    },
  });
  let counted = 0;
  new Counter({
    name: 'weir_limits_late_total',
    help: 'Answers on shared limits that came too late: this replica decided alone.',
    registers,
    collect() {
      const { late } = figures();
      this.inc(late - counted);
      counted = late;
    },
  });
}
