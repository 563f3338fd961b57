import { Gauge, Counter, type Registry } from 'prom-client';
import type { ConnectionCounts } from '../core/port-bounds.ts';

/** Adds the metrics of the portal: the connections that are open, and those that were refused (docs/reference/limits.md). */
export function addPortalMetrics(
  registry: Registry,
  {
    connections,
    readers,
  }: {
    readonly connections: () => ConnectionCounts;
    readonly readers: () => number;
  },
): void {
  const registers = [registry];
  new Gauge({
    ...{ name: 'weir_portal_connections', help: 'Open connections of the portal.', registers },
    collect() {
      this.set(connections().open);
    },
  });
  new Gauge({
    ...{ name: 'weir_portal_event_readers', help: 'Open streams of live events.', registers },
    collect() {
      this.set(readers());
    },
  });
  new Counter({
    name: 'weir_portal_connections_refused_total',
    help: 'Connections refused because their address, or all addresses together, had too many (`limit`: address, total). Behind trusted proxies `address` counts requests.',
    labelNames: ['limit'],
    registers,
    collect() {
      const { address, total } = connections().refused;
      this.reset();
      this.inc({ limit: 'address' }, address);
      this.inc({ limit: 'total' }, total);
    },
  });
}
