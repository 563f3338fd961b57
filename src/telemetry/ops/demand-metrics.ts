import { Counter, Gauge, type Registry } from 'prom-client';
import { type BackendDemand, neededEndpoints } from '../../core/backend-demand.ts';

/** Adds what requests ask of each Backend. Each service counts its own requests, so that the sum over services is that of all. */
export function addDemandMetrics(registry: Registry, read: () => readonly BackendDemand[]): void {
  const labelNames = ['backend'] as const;
  const gauge = (name: string, help: string, of: (demand: BackendDemand) => number | null): void => {
    new Gauge({
      ...{ name, help, registers: [registry], labelNames },
      collect() {
        this.reset();
        for (const demand of read()) {
          const value = of(demand);
          if (value !== null) this.set({ backend: demand.backend }, value);
        }
      },
    });
  };
  gauge(
    'weir_backend_needed_endpoints',
    'How many endpoints would be busy all the time with the requests of this service to the Backend, the refused ones included. An autoscaler divides the sum over all services by the share of their time for which endpoints may be busy, such as 0.7.',
    (demand) => neededEndpoints([demand]),
  );
  gauge(
    'weir_backend_work_tokens',
    'Prompt tokens that wait at the endpoints, and those that come within the objective for the first token if as many come as lately.',
    ({ work_tokens: tokens }) => tokens,
  );
  gauge(
    'weir_backend_capacity_tokens',
    'Prompt tokens that the endpoints of the Backend were learned to compute within the objective for the first token.',
    ({ endpoints, endpoint_tokens: each }) => endpoints * each,
  );
  gauge(
    'weir_backend_first_token_wait_seconds',
    'Expected time to the first token of a usual prompt at the endpoint that answers soonest; absent until one has answered.',
    ({ first_token_ms: ms }) => (ms === null ? null : ms / 1000),
  );
  new Counter({
    name: 'weir_backend_refused_requests_total',
    help: 'Requests that were refused because no Backend of their model had room, counted at each of these Backends.',
    ...{ registers: [registry], labelNames },
    collect() {
      this.reset();
      for (const { backend, refused_requests: refused } of read()) this.inc({ backend }, refused);
    },
  });
}
