import { Counter, Gauge, type Registry } from 'prom-client';
import { type BackendDemand, neededEndpoints } from '../../gateway/core/backend-demand.ts';

/** Adds what requests ask of each Backend. Each service counts its own requests, so that the sum over services is that of all. */
export function addDemandMetrics(registry: Registry, read: () => readonly BackendDemand[]): void {
  const registers = [registry];
  const labelNames = ['backend'] as const;
  // Metrics are rendered in the order of their declarations: the first of these reads the values of all.
  new Gauge({
    name: 'weir_backend_needed_endpoints',
    help: 'Endpoints that this service’s requests to the Backend, including refused ones, would keep fully busy. An autoscaler divides the sum over all services by the allowed utilization, such as 0.7.',
    registers,
    labelNames,
    collect() {
      for (const metric of [this, work, capacity, wait, refused]) metric.reset();
      for (const demand of read()) {
        const { backend } = demand;
        this.set({ backend }, neededEndpoints([demand]));
        work.set({ backend }, demand.work_tokens);
        capacity.set({ backend }, demand.endpoints * demand.endpoint_tokens);
        if (demand.first_token_ms !== null) wait.set({ backend }, demand.first_token_ms / 1000);
        refused.inc({ backend }, demand.refused_requests);
      }
    },
  });
  const work = new Gauge({
    name: 'weir_backend_work_tokens',
    help: 'Prompt tokens that wait at the endpoints, plus those expected within the first-token objective at the recent rate.',
    registers,
    labelNames,
  });
  const capacity = new Gauge({
    name: 'weir_backend_capacity_tokens',
    help: 'Prompt tokens that the Backend’s endpoints can process within the first-token objective, as measured.',
    registers,
    labelNames,
  });
  const wait = new Gauge({
    name: 'weir_backend_first_token_wait_seconds',
    help: 'Expected time to first token for a typical prompt at the fastest endpoint; absent until an endpoint has answered.',
    registers,
    labelNames,
  });
  const refused = new Counter({
    name: 'weir_backend_refused_requests_total',
    help: 'Requests refused because no Backend of their model had room, counted for each of these Backends.',
    registers,
    labelNames,
  });
}
