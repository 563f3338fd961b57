import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { sampleDemand } from '../../../test/support/sample-demand.ts';
import type { BackendDemand } from '../../gateway/core/backend-demand.ts';
import { addDemandMetrics } from './demand-metrics.ts';

describe('the metrics of the demand', () => {
  it('have each Backend, and forget one that is gone', async () => {
    let demands: readonly BackendDemand[] = [
      sampleDemand({ backend: 'a', endpoints: 2, work_tokens: 5000, refused_tokens: 2500, first_token_ms: 250 }),
      sampleDemand({ backend: 'b', endpoints: 0, refused_requests: 7 }),
    ];
    const registry = new Registry();
    addDemandMetrics(registry, () => demands);
    const lines = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('weir_'));
    expect(await lines()).toEqual([
      'weir_backend_needed_endpoints{backend="a"} 0.75',
      'weir_backend_needed_endpoints{backend="b"} 0',
      'weir_backend_work_tokens{backend="a"} 5000',
      'weir_backend_work_tokens{backend="b"} 0',
      'weir_backend_capacity_tokens{backend="a"} 20000',
      'weir_backend_capacity_tokens{backend="b"} 0',
      'weir_backend_first_token_wait_seconds{backend="a"} 0.25',
      'weir_backend_refused_requests_total{backend="a"} 0',
      'weir_backend_refused_requests_total{backend="b"} 7',
    ]);
    demands = [];
    expect(await lines()).toEqual([]);
  });
});
