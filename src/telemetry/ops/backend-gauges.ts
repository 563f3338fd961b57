import type { Registry } from 'prom-client';
import { type ConditionStatus, conditionStatuses } from '../../control/core/live-catalog.ts';
import type { EndpointCounts } from '../../core/observed-catalog.ts';
import { labelledGaugesOf } from './declare.ts';

const endpointStates = ['healthy', 'unhealthy', 'ejected'] as const;

/** The values of the gauges of backends. */
export interface BackendFigures {
  /** The endpoints of each backend, by its name; backends that Envoy does not have are left out. */
  readonly endpoints: () => Promise<Iterable<readonly [string, EndpointCounts]>>;
  /** The condition `Healthy` of each backend, by its name. */
  readonly backendHealth: () => Promise<Iterable<readonly [string, ConditionStatus]>>;
}

/** Adds the gauges of each backend: its endpoints, and whether it is healthy. */
export function addBackendGauges(registry: Registry, { endpoints, backendHealth }: BackendFigures): void {
  const labelledGauge = labelledGaugesOf(registry);
  labelledGauge(
    'weir_endpoints',
    'Endpoints of each backend. healthy: get requests; unhealthy: fail the health check; ejected: attempts on them failed or were slow.',
    ['backend', 'state'],
    async () =>
      [...(await endpoints())].flatMap(([backend, counts]) =>
        endpointStates.map((state) => [{ backend, state }, counts[state]] as const),
      ),
  );
  labelledGauge(
    'weir_backend_healthy',
    '1 for the status of each backend’s condition Healthy: True, False, or Unknown before the first request.',
    ['backend', 'status'],
    async () =>
      [...(await backendHealth())].flatMap(([backend, is]) =>
        conditionStatuses.map((status) => [{ backend, status }, Number(status === is)] as const),
      ),
  );
}
