import { Gauge, type Registry } from 'prom-client';
import { type ConditionStatus, conditionStatuses } from '../../control/core/live-catalog.ts';
import type { EndpointCounts } from '../../core/observed-catalog.ts';

/** The values of the gauges of backends. */
export interface BackendFigures {
  /** The endpoints of each backend, by its name; backends that Envoy does not have are left out. */
  readonly endpoints: () => Promise<Iterable<readonly [string, EndpointCounts]>>;
  /** The condition `Healthy` of each backend, by its name. */
  readonly backendHealth: () => Promise<Iterable<readonly [string, ConditionStatus]>>;
}

/** Adds the gauges of each backend: its endpoints, and whether it is healthy. */
export function addBackendGauges(registry: Registry, { endpoints, backendHealth }: BackendFigures): void {
  new Gauge({
    name: 'weir_endpoints',
    help: 'Endpoints of each backend. healthy: they get requests. unhealthy: their health check fails. ejected: requests to them failed.',
    registers: [registry],
    labelNames: ['backend', 'state'] as const,
    async collect() {
      const found = await endpoints();
      this.reset();
      for (const [backend, { healthy, ejected, unhealthy }] of found) {
        this.set({ backend, state: 'healthy' }, healthy);
        this.set({ backend, state: 'unhealthy' }, unhealthy);
        this.set({ backend, state: 'ejected' }, ejected);
      }
    },
  });
  new Gauge({
    name: 'weir_backend_healthy',
    help: '1 for the status of the condition Healthy of each backend: True, False, or Unknown while nothing was tried.',
    registers: [registry],
    labelNames: ['backend', 'status'] as const,
    async collect() {
      const found = await backendHealth();
      this.reset();
      for (const [backend, is] of found) {
        for (const status of conditionStatuses) this.set({ backend, status }, Number(status === is));
      }
    },
  });
}
